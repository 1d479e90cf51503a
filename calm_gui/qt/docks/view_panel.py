"""The dock of the view: scale, colours and outline of the maps, and what lies on the picture."""

from functools import cached_property
from math import floor, log10
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.readings import Reading
from calm_gui.qt.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import PAIRS, current_pair
from calm_gui.qt.widgets.calm_fields import CalmComboBox, CalmDoubleSpinBox, CalmSlider, CalmSpinBox
from calm_gui.qt.widgets.icon_button import IconButton
from calm_gui.qt.widgets.segments import Segments
from calm_gui.render.colormap import DIVERGING, SEQUENTIAL
from calm_gui.render.map_scale import quantity
from calm_gui.render.units import Unit, after_number, unit_of, units_of
from calm_gui.session.limits import Limits, limits_for
from calm_gui.session.scene import Scene
from calm_gui.session.state import Threshold, View

if TYPE_CHECKING:
    from calm_gui.qt.docks.winner_legend import WinnerLegend

__all__ = ["VIEW", "ViewPanel"]

_SHARED = {"shared": "all panes", "fit": "none"}
_LIMITS = {0.0: "fit to the maps", 99.0: "99 % of the cells", 95.0: "95 % of the cells", -1.0: "typed"}
_SPACINGS = {"linear": "linear", "log": "logarithmic"}
_CELLS = {False: "smooth", True: "as computed"}
_OUTLINES = {"none": "nothing", "mass": "a share of the map", "min-max": "above a level (τ)", "value": "above a value"}
_FLAGS = {
    "contour": ("Contour", "a line around the cells that are chosen"),
    "mask": ("Hide the rest", "show the map only in the chosen cells"),
    "boxes": ("Boxes", "a box around each part that is chosen"),
    "ground_truth": ("True boxes", "boxes of the ground truth, where there are any"),
    "regions": ("Regions", "regions that were drawn on the picture"),
    "linked": ("Linked cursor", "a cross-hair at the cursor's position in all panes"),
}
_OF_OUTLINE = ("contour", "mask", "boxes")

_TIPS = {
    "Winner": "Which group has the most probability at each cell, at a depth of the hierarchy",
    "Scale": "Which colour stands for which value; the bar right of the panes shows it",
    "Colours": "Tables of colours for maps from 0 up, and for differences",
    "Outline": "A line around a part of the map",
    "On the picture": "What else is drawn on the pictures",
    "shared by": "All panes that show one quantity share a scale, or each has its own",
    "limits": "The values at the ends of the scale",
    "spacing": "Even steps, or logarithmic over four decades",
    "unit": "The map's own unit; for probabilities also times uniform; or the share of cells below",
    "maps": "Of maps from 0 up",
    "differences": "Of A − B",
    "cells": "Smooth, or the model's own cells",
}
"""Of headings and labels."""


class ViewPanel(DockPanel):
    """Controls of the view that all panes share."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._workspace = hub.workspace
        self.scroller = QScrollArea()
        self.scroller.setWidgetResizable(True)
        self.scroller.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it has
        self.scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroller.setFrameShape(QFrame.Shape.NoFrame)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(self.scroller)
        reset = IconButton("reset", "The view as at the first start")
        reset.clicked.connect(
            lambda: self._workspace.store.update(view=View(diverging=PAIRS[current_pair()].diverging))
        )
        self.tools = (reset,)
        content = QFrame()
        content.setObjectName("panel")
        self._page = QVBoxLayout(content)
        self._page.setContentsMargins(12, 8, 12, 8)
        self._page.setSpacing(4)
        self._add_winner()
        self._add_scale()
        self._add_colours()
        self._add_outline()
        self._add_picture()
        self._page.addStretch(1)
        self.scroller.setWidget(content)
        self._told: tuple[object, ...] = ()

    @cached_property
    def legend(self) -> "WinnerLegend":
        """The legend of the winner map, made when there is the first."""
        from calm_gui.qt.docks.winner_legend import WinnerLegend

        legend = WinnerLegend(self._hub)
        self._legend_place.addWidget(legend)
        self.setTabOrder(self.winner_depth, legend.groups)
        return legend

    def _form(self, title: str) -> QFormLayout:
        """A heading with a form below."""
        label = QLabel(title)
        label.setObjectName("heading")
        label.setToolTip(_TIPS[title])
        if self._page.count():
            self._page.addSpacing(8)
        self._page.addWidget(label)
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(4)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._page.addLayout(form)
        return form

    def _add_winner(self) -> None:
        self.winner = QWidget()
        place = QVBoxLayout(self.winner)
        place.setContentsMargins(0, 0, 0, 0)
        heading = QLabel("Winner")
        heading.setObjectName("heading")
        heading.setToolTip(_TIPS["Winner"])
        self.winner_depth = CalmSpinBox()
        self.winner_depth.setPrefix("depth ")
        self.winner_depth.setAccessibleName("Depth of the winner map")
        self.winner_depth.setToolTip("Depth of the groups that compete: the longest path from the root")
        self.winner_depth.valueChanged.connect(lambda value: self._workspace.update_view(depth=value))
        self._legend_place = QVBoxLayout()
        place.addWidget(heading)
        place.addWidget(self.winner_depth)
        place.addLayout(self._legend_place)
        self._page.addWidget(self.winner)
        self.winner.hide()

    def _add_scale(self) -> None:
        update = self._workspace.update_view
        form = self._form("Scale")
        self.scale_mode = Segments("Shared by", _SHARED)
        self.scale_mode.chosen.connect(lambda mode: update(scale_mode=mode))
        self.limits = _combo(_LIMITS, "Limits of the scale")
        self.limits.activated.connect(lambda _: self._set_limits(self.limits.currentData()))
        self.spacing = Segments("Spacing", _SPACINGS)
        self.spacing.chosen.connect(lambda spacing: update(spacing=spacing))
        self.unit = _combo({}, "Unit of the scale")
        self.unit.activated.connect(
            lambda _: update(relative=self.unit.currentData()[0], ranks=self.unit.currentData()[1])
        )
        self.kept = QCheckBox("Keep for all pictures")
        self.kept.setToolTip("Use the present limits for every picture, as the lock on the bar does")
        self.kept.clicked.connect(self._keep_limits)
        for name, widget in (
            ("shared by", self.scale_mode),
            ("limits", self.limits),
            ("spacing", self.spacing),
            ("unit", self.unit),
        ):
            form.addRow(_muted(name, widget.toolTip() or _TIPS[name]), widget)
        self._page.addWidget(self.kept)

    def _add_colours(self) -> None:
        update = self._workspace.update_view
        form = self._form("Colours")
        self.sequential = _combo({name: name for name in SEQUENTIAL}, "Colours of maps")
        self.sequential.activated.connect(lambda _: update(sequential=self.sequential.currentData()))
        self.diverging = _combo({name: name for name in DIVERGING}, "Colours of differences")
        self.diverging.activated.connect(lambda _: update(diverging=self.diverging.currentData()))
        self.cells = Segments("Cells", _CELLS)
        self.cells.setToolTip("As computed: the model's own cells instead of a smooth map")
        self.cells.chosen.connect(lambda native: update(native=native))
        for name, widget in (("maps", self.sequential), ("differences", self.diverging), ("cells", self.cells)):
            form.addRow(_muted(name, widget.toolTip() or _TIPS[name]), widget)

    def _add_outline(self) -> None:
        form = self._form("Outline")
        self.threshold = _combo(_OUTLINES, "What the outline encloses")
        self.threshold.setToolTip(
            "A share of the map: the smallest set of cells that holds it. "
            "Above a level: that fraction of the way from the map's minimum to its maximum."
        )
        self.threshold.activated.connect(lambda _: self._set_threshold(self.threshold.currentData()))
        form.addRow(_muted("encloses", self.threshold.toolTip()), self.threshold)
        self.level: QDoubleSpinBox = CalmDoubleSpinBox()
        self.level.setAccessibleName("Threshold")
        self.level.setKeyboardTracking(False)
        self.level.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.level.valueChanged.connect(self._set_level)
        self.level_slider: QSlider = CalmSlider(Qt.Orientation.Horizontal)
        self.level_slider.setRange(0, 1000)
        self.level_slider.setAccessibleName("Threshold slider")
        self.level_slider.valueChanged.connect(self._slide_level)
        self._page.addWidget(self.level)
        self._page.addWidget(self.level_slider)
        self.flags: dict[str, QCheckBox] = {}
        for flag in _OF_OUTLINE:
            self._add_flag(flag)

    def _add_picture(self) -> None:
        self._form("On the picture")
        for flag in _FLAGS:
            if flag not in _OF_OUTLINE:
                self._add_flag(flag)

    def _add_flag(self, flag: str) -> None:
        name, tip = _FLAGS[flag]
        box = QCheckBox(name)
        box.setToolTip(tip)
        box.toggled.connect(lambda on: self._workspace.update_view(**{flag: on}))
        self.flags[flag] = box
        self._page.addWidget(box)

    # Down

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's view."""
        shown, shows, view = scene.active.shown, scene.active.shows, scene.state.view
        if self._legend_place.count() or isinstance(shown, WinnerMap):
            self.legend.show_scene(scene)
        scale = scene.active.scale if view.threshold.kind == "value" else None
        limits = limits_for(view.limits, quantity(shown), scene.state.picture) if isinstance(shown, Map) else None
        depth = shown.depth if isinstance(shown, WinnerMap) else 0
        units = units_of(shown)
        told = (view, shows, scale, limits, depth, scene.hierarchy, isinstance(shown, Map), units)
        if told == self._told:
            return  # another class was chosen, or another picture
        self._told = told
        controls: tuple[QObject, ...] = (self.winner_depth, self.level, self.level_slider, *self.flags.values())
        blockers = [QSignalBlocker(widget) for widget in controls]
        self.winner.setVisible(isinstance(shows, Reading) and shows.takes_depth)
        self.winner_depth.setRange(0, scene.hierarchy.max_depth if scene.hierarchy else 0)
        self.winner_depth.setValue(depth)
        self.scale_mode.show_choice(view.scale_mode)
        self.spacing.show_choice(view.spacing)
        self.cells.show_choice(view.native)
        _select(self.limits, (limits.percent or -1.0) if limits else 0.0)
        self._show_units(units, view)
        _select(self.sequential, view.sequential)
        _select(self.diverging, view.diverging)
        self.kept.setChecked(limits is not None and limits.kept)
        for widget in (self.limits, self.kept):
            widget.setEnabled(isinstance(shown, Map) and view.scale_mode == "shared" and not view.ranks)
        self._show_threshold(view.threshold, scene)
        for flag, box in self.flags.items():
            box.setChecked(getattr(view, flag))
        for flag in _OF_OUTLINE:
            self.flags[flag].setEnabled(view.threshold.kind != "none")
        del blockers

    def _show_units(self, units: tuple[Unit, ...], view: View) -> None:
        if [unit.words for unit in units] != [self.unit.itemText(row) for row in range(self.unit.count())]:
            with QSignalBlocker(self.unit):
                self.unit.clear()
                for unit in units:
                    self.unit.addItem(unit.words, unit[1:])
        _select(self.unit, unit_of(units, view.relative, view.ranks)[1:])
        self.unit.setToolTip(f"{self.unit.currentText()}: {_TIPS['unit'][0].lower()}{_TIPS['unit'][1:]}")

    def _show_threshold(self, threshold: Threshold, scene: Scene) -> None:
        _select(self.threshold, threshold.kind)
        self.level.setVisible(threshold.kind != "none")
        self.level_slider.setVisible(threshold.kind != "none")
        if threshold.kind == "value":
            scale = scene.active.fitted
            low, high = (min(0.0, scale.low), scale.high) if scale else (0.0, 1.0)
            factor = scale.factor if scale else 1.0
            self.level.setSuffix(f" {after_number(scale.unit)}" if scale else "")
            self.level.setToolTip(scale.unit if scale else "")
            self.level.setDecimals(min(18, max(2, 3 - floor(log10(high * factor)))) if high > 0 else 2)
            self.level.setRange(low * factor, max(1.0, high) * factor)
            self.level.setSingleStep(high * factor / 50 or 0.01)
            self.level.setValue(threshold.value * factor)
            # The value may be another map's, and far above this one's.
            self.level_slider.setValue(round(1000 * min(1.0, threshold.value / high)) if high > 0 else 0)
        else:
            self.level.setToolTip("")
            self.level.setDecimals(1)
            self.level.setRange(0.1 if threshold.kind == "mass" else 0.0, 100.0)
            self.level.setSingleStep(1.0)
            self.level.setSuffix(" %")
            self.level.setValue(threshold.value * 100)
            self.level_slider.setValue(round(1000 * threshold.value))

    # Up

    def _set_limits(self, percent: float) -> None:
        """Fit the active map's limits, take a percentile, or keep what is shown to be changed."""
        content, workspace = self._hub.scene.active, self._workspace
        if not isinstance(content.shown, Map) or content.scale is None:
            return
        of = quantity(content.shown)
        if percent > 0:
            workspace.set_limits(of, Limits(of, percent=percent))
        elif percent < 0:
            scale = content.scale
            workspace.set_limits(of, Limits(of, scale.low, scale.high, 0.0, workspace.state.picture))
        else:
            workspace.set_limits(of, None)

    def _keep_limits(self, on: bool) -> None:
        """Keep the limits of all quantities that are shown for all pictures, or let them go."""
        if on:
            self._workspace.lock_scales()
        else:
            self._workspace.update_view(limits=())

    def _set_threshold(self, kind: str) -> None:
        high = self._workspace.scene.active.fitted
        values = {"mass": 0.9, "min-max": 0.5, "value": high.high / 2 if high else 0.5, "none": 0.9}
        self._workspace.update_view(threshold=Threshold(kind, values[kind]))  # type: ignore[arg-type]

    def _set_level(self, value: float) -> None:
        kind, scale = self._workspace.state.view.threshold.kind, self._workspace.scene.active.fitted
        unit = (scale.factor if scale else 1.0) if kind == "value" else 100
        self._workspace.update_view(undoable=False, threshold=Threshold(kind, value / unit))

    def _slide_level(self, position: int) -> None:
        kind, scale = self._workspace.state.view.threshold.kind, self._workspace.scene.active.fitted
        share = max(position, 1 if kind == "mass" else 0) / 1000
        value = share * scale.high if kind == "value" and scale else share
        self._workspace.update_view(undoable=False, threshold=Threshold(kind, value))


def _muted(text: str, tip: str) -> QLabel:
    label = QLabel(text)
    label.setObjectName("muted")
    label.setToolTip(tip)
    return label


def _combo(choices: dict, name: str) -> CalmComboBox:
    box = CalmComboBox()
    box.setAccessibleName(name)
    box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)  # its longest choice would widen the panel
    for data, text in choices.items():
        box.addItem(text, data)
    return box


def _select(box: CalmComboBox, data: object) -> None:
    position = next((row for row in range(box.count()) if box.itemData(row) == data), -1)
    if position != box.currentIndex():
        with QSignalBlocker(box):
            box.setCurrentIndex(position)


VIEW = DOCKS.register(
    Dock(
        key="view",
        title="View",
        tip="Scale, colours and outline of the maps",
        area="right",
        size=272,
        least=264,  # what its rows need, with the scroll bar
        make=lambda hub, _: ViewPanel(hub),
    )
)
