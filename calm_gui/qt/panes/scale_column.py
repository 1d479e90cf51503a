"""The column of scales at the right of the panes: one bar for each quantity that they show."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QFrame, QMenu, QVBoxLayout, QWidget

from calm_gui.core.maps import Map
from calm_gui.qt.hub import Hub
from calm_gui.qt.panes.scale_bar import ScaleBar, Shown
from calm_gui.qt.widgets.measure import scaled
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.render.map_scale import quantity
from calm_gui.render.units import unit_of, units_of
from calm_gui.session.limits import Limits, limits_for
from calm_gui.session.scene import PaneContent, Scene
from calm_gui.session.state import View

__all__ = ["ScaleColumn", "fill_scale_menu"]

_PERCENTS = (99.0, 95.0)


class ScaleColumn(QFrame):
    """Bars in the order of the panes; where each pane has its own scale, or none has one, the column is away.

    Attributes
    ----------
    bars : list of ScaleBar
        Those in use first.
    """

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.bars: list[ScaleBar] = []
        self._groups: list[list[PaneContent]] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 2, 0, 2)
        self._layout.setSpacing(4)
        self._pane = -1
        self._before: View | None = None
        hub.scene_changed.connect(self.show_scene)
        hub.hovered_pane.connect(self._on_pane)
        hub.hovered.connect(self._on_hover)
        self.fit_text()
        self.show_scene(hub.scene)

    def fit_text(self) -> None:
        """Take the width that the letters ask for."""
        self.setFixedWidth(scaled(self, 92))
        for bar in self.bars:
            bar.fit_text()

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's scales."""
        view = scene.state.view
        groups: dict[object, list[PaneContent]] = {}
        if view.scale_mode != "fit":
            for content in scene.panes:
                if isinstance(content.shown, Map) and content.scale is not None:
                    key = (content.scale, content.shown.signed) if view.ranks else quantity(content.shown)
                    groups.setdefault((key, content.scale.unit), []).append(content)
        self._groups = list(groups.values())
        while len(self.bars) < len(self._groups):
            self._add(len(self.bars))
        for position, bar in enumerate(self.bars):
            used = position < len(self._groups)
            if bar.isHidden() == used:
                bar.setVisible(used)
            if used:
                bar.show_scale(self._shown(self._groups[position], scene))
        # While maps are on their way the room for their scales is kept, so that no picture moves when they come.
        awaited = view.scale_mode != "fit" and any(content.explanation is None for content in scene.panes)
        shown = bool(self._groups) or awaited
        if self.isHidden() == shown:
            self.setVisible(shown)

    @staticmethod
    def _shown(group: list[PaneContent], scene: Scene) -> Shown:
        content, view = group[0], scene.state.view
        shown = content.shown
        assert isinstance(shown, Map) and content.scale is not None and content.fitted is not None
        title = "rank" if view.ranks else shown.kind.scale_title or shown.kind.label
        if view.relative and shown.kind.times_uniform and not view.ranks:
            title = "× uniform"
        limits = None if view.ranks else limits_for(view.limits, quantity(shown), scene.state.picture)
        table = view.diverging if shown.signed else view.sequential
        return Shown(title, quantity(shown), content.scale, content.fitted, limits, table, units_of(shown))

    def _add(self, position: int) -> None:
        bar = ScaleBar(self)
        bar.fit_text()
        bar.limits_wanted.connect(lambda low, high, done, at=position: self._set(at, low, high, done))
        bar.fit_wanted.connect(lambda at=position: self._fit(at))
        bar.lock_wanted.connect(lambda on, at=position: self._lock(at, on))
        bar.menu_wanted.connect(lambda place, at=position: self._show_menu(at, place))
        self.bars.append(bar)
        self._layout.addWidget(bar, 1)

    # Up

    def _set(self, position: int, low: float, high: float, finished: bool) -> None:
        workspace, shown = self._hub.workspace, self.bars[position].shown
        assert shown is not None
        kept = shown.limits is not None and shown.limits.kept
        picture = None if kept else workspace.state.picture
        limits = Limits(shown.quantity, low, high, 0.0, picture)
        if not finished and self._before is None:
            self._before = workspace.state.view
        elif finished and self._before is not None:  # undo shall come back to what was before the drag
            before, self._before = self._before, None
            workspace.update_view(undoable=False, limits=before.limits)
        workspace.set_limits(shown.quantity, limits, undoable=finished)

    def _fit(self, position: int) -> None:
        shown = self.bars[position].shown
        assert shown is not None
        self._hub.workspace.set_limits(shown.quantity, None)

    def _lock(self, position: int, on: bool) -> None:
        workspace, shown = self._hub.workspace, self.bars[position].shown
        assert shown is not None
        picture = None if on else workspace.state.picture
        limits = Limits(shown.quantity, shown.scale.low, shown.scale.high, 0.0, picture)
        workspace.set_limits(shown.quantity, limits)

    def _show_menu(self, position: int, place: QPoint) -> None:
        menu = QMenu(self)
        shown = self.bars[position].shown
        assert shown is not None
        fill_scale_menu(menu, self._hub, shown, self.bars[position])
        show_menu(menu, place)

    # Cursor

    def _on_pane(self, position: int) -> None:
        self._pane = position

    def _on_hover(self, point: tuple[float, float] | None) -> None:
        panes = self._hub.scene.panes
        under = panes[self._pane] if 0 <= self._pane < len(panes) else None
        for bar, group in zip(self.bars, self._groups, strict=False):
            content = under if under in group else group[0]
            drawn = content.drawn if content is not None else None
            cell = drawn.geometry.cell_at(*point) if point and isinstance(drawn, Map) else None
            bar.set_mark(float(drawn.values[cell]) if cell is not None and isinstance(drawn, Map) else None)


def fill_scale_menu(menu: QMenu, hub: Hub, shown: Shown, bar: ScaleBar) -> None:
    """Fill the menu of one scale: limits, sharing, spacing, unit."""
    workspace, view = hub.workspace, hub.workspace.state.view
    limits = shown.limits

    def choice(text: str, on: bool, run: object, enabled: bool = True) -> None:
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(on)
        action.setEnabled(enabled)
        action.triggered.connect(run)

    values = not view.ranks
    choice("Fit to the maps\tdouble click", limits is None, lambda: bar.fit_wanted.emit(), values)
    for percent in _PERCENTS:
        rule = Limits(shown.quantity, percent=percent)
        on = limits is not None and limits.percent == percent
        choice(
            f"{percent:g} % of the cells", on, lambda _=False, r=rule: workspace.set_limits(shown.quantity, r), values
        )
    menu.addAction("Type limits…", bar.type_limits).setEnabled(values)
    menu.addSeparator()
    shared = view.scale_mode == "shared"
    choice("Shared by all panes", shared, lambda on: workspace.update_view(scale_mode="shared" if on else "fit"))
    kept = limits is not None and limits.kept
    choice("Keep for all pictures", kept, lambda on: bar.lock_wanted.emit(on), values)
    menu.addSeparator()
    for spacing, words in (("linear", "Linear"), ("log", "Logarithmic")):
        choice(words, view.spacing == spacing, lambda _=False, s=spacing: workspace.update_view(spacing=s), values)
    menu.addSeparator()
    chosen = unit_of(shown.units, view.relative, view.ranks)
    for unit in shown.units:
        words, relative, ranks = unit
        choice(words, unit == chosen, lambda _=False, r=relative, k=ranks: workspace.update_view(relative=r, ranks=k))
