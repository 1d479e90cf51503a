"""The right side: what the active pane reads, and how maps are drawn."""

from functools import cached_property
from math import floor, log10
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QLabel,
    QRadioButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.maps import WinnerMap
from calm_gui.core.readings import READINGS, Reading
from calm_gui.methods import Method
from calm_gui.qt.docks.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.steady_label import SteadyLabel
from calm_gui.qt.window.reading_keys import reading_keys
from calm_gui.render.colormap import DIVERGING, SEQUENTIAL
from calm_gui.session.pane import PICTURE, Picture
from calm_gui.session.scene import Scene
from calm_gui.session.state import Threshold

if TYPE_CHECKING:
    from calm_gui.qt.docks.winner_legend import WinnerLegend

__all__ = ["VIEW", "ViewPanel"]

_SCALES = {"shared": "Shared by panes", "fit": "Each pane its own"}
_SPACINGS = {"linear": "Linear", "log": "Logarithmic"}
_UNITS = {False: "Probability per cell", True: "Times uniform"}
_SUFFIXES = {"probability per cell": " per cell", "times uniform": " × uniform"}
_THRESHOLDS = {"none": "None", "mass": "Credible mass", "min-max": "Min–max (paper's τ)", "value": "Value"}
_FLAGS = {
    "mask": ("Mask", "show the map only where the threshold is reached"),
    "contour": ("Contour", "a line around the cells that reach the threshold"),
    "boxes": ("Boxes", "a box around each part that reaches the threshold"),
    "native": ("Native cells", "the model's own cells instead of a smooth map"),
    "ground_truth": ("Ground truth", "boxes from annotations, where there are any"),
}


class ViewPanel(DockPanel):
    """Controls of the active pane's reading and of the view that all panes share."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._workspace = hub.workspace
        self.scroll = QScrollArea()
        self.scroll.setWidgetResizable(True)
        self.scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it has
        self.scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroll.setFrameShape(QFrame.Shape.NoFrame)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(self.scroll)
        content = QFrame()
        content.setObjectName("panel")
        self._layout = QVBoxLayout(content)
        self._layout.setContentsMargins(10, 8, 10, 8)
        self._layout.setSpacing(4)
        self._add_readings()
        self._add_scale()
        self._add_look()
        self._add_threshold()
        self._layout.addStretch(1)
        self.scroll.setWidget(content)
        self._told: tuple[object, ...] = ()

    @cached_property
    def legend(self) -> "WinnerLegend":
        """The legend of the winner map, made when there is the first."""
        from calm_gui.qt.docks.winner_legend import WinnerLegend

        legend = WinnerLegend(self._hub)
        self._legend_place.addWidget(legend)
        self.setTabOrder(self.winner_depth, legend.groups)
        return legend

    def _heading(self, text: str) -> None:
        label = QLabel(text)
        label.setObjectName("heading")
        if self._layout.count():
            self._layout.addSpacing(6)
        self._layout.addWidget(label)

    def _add_readings(self) -> None:
        self._heading("Reading")
        self.readings = QButtonGroup(self)
        self.reading_buttons: dict[str, QRadioButton] = {}
        self._tips: dict[str, str] = {}
        for shows, key in reading_keys():
            button = QRadioButton("Picture only" if shows is PICTURE else shows.title)
            self._tips[shows.key] = f"{shows.meaning} ({key})" if key else shows.meaning
            button.setAccessibleDescription(shows.meaning)
            button.clicked.connect(lambda _=False, s=shows: self._set_reading(s))
            self.readings.addButton(button)
            self.reading_buttons[shows.key] = button
            self._layout.addWidget(button)
        self.meaning = QLabel()
        self.meaning.setObjectName("muted")
        self.meaning.setWordWrap(True)
        self._layout.addWidget(self.meaning)
        self.about = _combo({"target": "of target A", "superset": "of A's superset", "contrast": "of contrast B"})
        self.about.setAccessibleName("Which set")
        self.about.activated.connect(
            lambda _: self._workspace.change_pane(self._workspace.state.active, about=self.about.currentData())
        )
        self._layout.addWidget(self.about)
        self.winner_depth = QSpinBox()
        self.winner_depth.setPrefix("depth ")
        self.winner_depth.setAccessibleName("Depth of the winner map")
        self.winner_depth.setToolTip("Depth of the groups that compete: the longest path from the root")
        self.winner_depth.valueChanged.connect(lambda value: self._workspace.update_view(depth=value))
        self._layout.addWidget(self.winner_depth)
        self._legend_place = QVBoxLayout()
        self._layout.addLayout(self._legend_place)

    def _add_scale(self) -> None:
        self._heading("Scale")
        self.scale_mode = _combo(_SCALES)
        self.scale_mode.setAccessibleName("Scale of the colours")
        self.scale_mode.activated.connect(lambda _: self._set_scale_mode(self.scale_mode.currentData()))
        self.spacing = _combo(_SPACINGS)
        self.spacing.setAccessibleName("Linear or logarithmic colours")
        self.spacing.activated.connect(lambda _: self._workspace.update_view(spacing=self.spacing.currentData()))
        self.unit = _combo(_UNITS)
        self.unit.setAccessibleName("Unit of the colour bar")
        self.unit.activated.connect(lambda _: self._workspace.update_view(relative=self.unit.currentData()))
        for widget in (self.scale_mode, self.spacing, self.unit):
            self._layout.addWidget(widget)

    def _add_look(self) -> None:
        self._heading("Colours")
        self.sequential = _combo({name: name for name in SEQUENTIAL})
        self.sequential.setAccessibleName("Colour map")
        self.sequential.activated.connect(
            lambda _: self._workspace.update_view(sequential=self.sequential.currentData())
        )
        self.diverging = _combo({name: name for name in DIVERGING})
        self.diverging.setAccessibleName("Colour map of differences")
        self.diverging.activated.connect(lambda _: self._workspace.update_view(diverging=self.diverging.currentData()))
        self.opacity = QSlider(Qt.Orientation.Horizontal)
        self.opacity.setRange(0, 100)
        self.opacity.setAccessibleName("Opacity in percent")
        self.opacity_label = SteadyLabel("Opacity 60 %")
        self.opacity.valueChanged.connect(
            lambda value: self._workspace.update_view(undoable=False, opacity=value / 100)
        )
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(4)
        form.addRow("Maps", self.sequential)
        form.addRow("Differences", self.diverging)
        form.addRow(self.opacity_label, self.opacity)
        self._layout.addLayout(form)

    def _add_threshold(self) -> None:
        self._heading("Threshold")
        self.threshold = _combo(_THRESHOLDS)
        self.threshold.setAccessibleName("Kind of threshold")
        self.threshold.setToolTip(
            "Credible mass: the smallest set of cells that holds this share of the map. "
            "Min–max: that part of the way from the map's minimum to its maximum."
        )
        self.threshold.activated.connect(lambda _: self._set_threshold(self.threshold.currentData()))
        self.level = QDoubleSpinBox()
        self.level.setAccessibleName("Threshold")
        self.level.setKeyboardTracking(False)
        self.level.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.level.valueChanged.connect(self._set_level)
        self.level_slider = QSlider(Qt.Orientation.Horizontal)
        self.level_slider.setRange(0, 1000)
        self.level_slider.setAccessibleName("Threshold slider")
        self.level_slider.valueChanged.connect(self._slide_level)
        self._layout.addWidget(self.threshold)
        self._layout.addWidget(self.level)
        self._layout.addWidget(self.level_slider)
        self.flags: dict[str, QCheckBox] = {}
        for flag, (name, tip) in _FLAGS.items():
            box = QCheckBox(name)
            box.setToolTip(tip)
            box.toggled.connect(lambda on, f=flag: self._workspace.update_view(**{f: on}))
            self.flags[flag] = box
            self._layout.addWidget(box)

    # Down

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's active reading and view."""
        if self._legend_place.count() or isinstance(scene.active.shown, WinnerMap):
            self.legend.show_scene(scene)
        view, pane = scene.state.view, scene.active.pane
        shows, kind = scene.active.shows, type(scene.active.explanation)
        scale = scene.active.scale if view.threshold.kind == "value" else None
        if (view, pane, shows, kind, scale, scene.hierarchy) == self._told:
            return  # another class was chosen, or another picture
        self._told = (view, pane, shows, kind, scale, scene.hierarchy)
        controls: tuple[QObject, ...] = (
            self.winner_depth,
            self.opacity,
            self.level,
            self.level_slider,
            *self.flags.values(),
        )
        blockers = [QSignalBlocker(widget) for widget in controls]
        self.readings.setExclusive(False)  # a method is none of them
        for key, button in self.reading_buttons.items():
            button.setChecked(not isinstance(shows, Method) and key == shows.key)
            self._show_refusal(button, key, scene.active.explanation)
        self.readings.setExclusive(True)
        self.meaning.setText(shows.meaning)
        _select(self.about, pane.about)
        self.about.setVisible(shows.takes_target and not shows.takes_contrast)
        self.winner_depth.setVisible(isinstance(shows, Reading) and shows.takes_depth)
        self.winner_depth.setRange(0, scene.hierarchy.max_depth if scene.hierarchy else 0)
        self.winner_depth.setValue(scene.active.shown.depth if isinstance(scene.active.shown, WinnerMap) else 0)
        _select(self.scale_mode, view.scale_mode)
        _select(self.spacing, view.spacing)
        _select(self.unit, view.relative)
        self.unit.setVisible(shows.times_uniform)
        _select(self.sequential, view.sequential)
        _select(self.diverging, view.diverging)
        self.opacity.setValue(round(view.opacity * 100))
        self.opacity_label.setText(f"Opacity {round(view.opacity * 100)} %")
        self._show_threshold(view.threshold, scene)
        for flag, box in self.flags.items():
            box.setChecked(getattr(view, flag))
        for flag in ("mask", "contour", "boxes"):
            self.flags[flag].setEnabled(view.threshold.kind != "none")
        del blockers

    def _show_refusal(self, button: QRadioButton, key: str, explanation: AnyExplanation | None) -> None:
        """Grey a reading that the active pane's checkpoint can't answer, and say why."""
        refusal = READINGS[key].refusal(explanation) if explanation and key != PICTURE.key else ""
        button.setEnabled(not refusal)
        button.setToolTip(refusal or self._tips[key])

    def _show_threshold(self, threshold: Threshold, scene: Scene) -> None:
        _select(self.threshold, threshold.kind)
        self.level.setVisible(threshold.kind != "none")
        self.level_slider.setVisible(threshold.kind != "none")
        if threshold.kind == "value":
            scale = scene.active.scale
            low, high = (min(0.0, scale.low), scale.high) if scale else (0.0, 1.0)
            factor = self._factor(scene)
            self.level.setSuffix(_SUFFIXES.get(scale.unit, "") if scale else "")
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

    @staticmethod
    def _factor(scene: Scene) -> float:
        """What values are multiplied by in the unit that the active pane's scale is written in."""
        return scene.active.scale.factor if scene.active.scale else 1.0

    # Up

    def _set_reading(self, shows: Reading | Picture) -> None:
        self._workspace.change_pane(self._workspace.state.active, shows=shows)

    def _set_scale_mode(self, mode: str) -> None:
        self._workspace.update_view(scale_mode=mode)

    def _set_threshold(self, kind: str) -> None:
        high = self._workspace.scene.active.scale
        values = {"mass": 0.9, "min-max": 0.5, "value": high.high / 2 if high else 0.5, "none": 0.9}
        self._workspace.update_view(threshold=Threshold(kind, values[kind]))  # type: ignore[arg-type]

    def _set_level(self, value: float) -> None:
        kind = self._workspace.state.view.threshold.kind
        unit = self._factor(self._workspace.scene) if kind == "value" else 100
        self._workspace.update_view(undoable=False, threshold=Threshold(kind, value / unit))

    def _slide_level(self, position: int) -> None:
        kind = self._workspace.state.view.threshold.kind
        scale = self._workspace.scene.active.scale
        share = max(position, 1 if kind == "mass" else 0) / 1000
        value = share * scale.high if kind == "value" and scale else share
        self._workspace.update_view(undoable=False, threshold=Threshold(kind, value))


def _combo(choices: dict) -> QComboBox:
    box = QComboBox()
    box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)  # its longest choice would widen the panel
    for data, text in choices.items():
        box.addItem(text, data)
    return box


def _select(box: QComboBox, data: object) -> None:
    position = box.findData(data)
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
        least=190,
        make=lambda hub, _: ViewPanel(hub),
    )
)
