"""The window: lays out the panels, and wires commands to the workspace."""

from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, Qt
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QMainWindow,
    QSplitter,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.maps import Map
from calm_gui.core.threshold import component_boxes
from calm_gui.model.answers import AnswersNeeded
from calm_gui.qt.actions import add_menus, add_recent_menus, add_tool_bar, apply_shortcuts
from calm_gui.qt.classes_panel import ClassesPanel
from calm_gui.qt.commands import TOOL_BAR, window_commands
from calm_gui.qt.cursor_line import cursor_text
from calm_gui.qt.elided_label import ElidedLabel
from calm_gui.qt.file_actions import FileActions
from calm_gui.qt.hierarchy_strip import HierarchyStrip
from calm_gui.qt.hub import Hub
from calm_gui.qt.icons import application_icon, icon
from calm_gui.qt.ledger_bar import LedgerBar
from calm_gui.qt.map_canvas import Tool
from calm_gui.qt.message_bar import MessageBar
from calm_gui.qt.pane_grid import PaneGrid
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import DARK, LIGHT, apply_theme
from calm_gui.qt.view_panel import ViewPanel
from calm_gui.session.ledger import sentence
from calm_gui.session.pane import MAX_PANES
from calm_gui.session.scene import Scene, chosen_cells

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.qt.film_strip import FilmStrip
    from calm_gui.qt.region_panel import RegionPanel

__all__ = ["MainWindow"]

_TOOLS: dict[str, Tool] = {"box": "box", "lasso": "polygon", "brush": "brush"}


class MainWindow(QMainWindow):
    """Classes on the left, panes in the middle, view on the right, strip and ledger below.

    Parameters
    ----------
    hub : Hub
    settings : Settings
    """

    def __init__(self, hub: Hub, settings: Settings) -> None:
        super().__init__()
        self.hub = hub
        self.workspace = hub.workspace
        self.files = FileActions(self, hub, settings)
        self._settings = settings
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.resize(1440, 900)
        self.setMinimumWidth(740)
        self.classes = ClassesPanel(hub)
        self.panes = PaneGrid(hub)
        self.view = ViewPanel(hub)
        self.strip = HierarchyStrip(hub)
        self.ledger = LedgerBar(hub)
        self.messages = MessageBar()
        self._lay_out()
        self._opened: tuple[object, ...] = ()
        self.actions_by_name = add_menus(self, window_commands(self))
        add_recent_menus(self, settings, self.files.open)
        apply_shortcuts(self.actions_by_name, settings)
        add_tool_bar(self, self.actions_by_name, TOOL_BAR)
        self._cursor = ElidedLabel()
        self._device = QLabel()
        self.statusBar().addWidget(self._cursor, 1)
        self.statusBar().addPermanentWidget(self._device)
        self.statusBar().setSizeGripEnabled(False)
        hub.scene_changed.connect(self._show_scene)
        hub.status_changed.connect(lambda _: self._cursor.setText(self._resting()))
        hub.hovered.connect(lambda point: self._cursor.setText(cursor_text(self.hub.scene, point) or self._resting()))
        hub.complained.connect(self.messages.say)
        hub.asked.connect(self._ask)
        self._show_scene(hub.scene)
        self.classes.tree.setFocus()

    def _lay_out(self) -> None:
        middle = QWidget()
        self._middle = column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.messages)
        column.addWidget(self.panes, 1)
        for below in (self.strip, self.ledger):
            column.addWidget(below)
        self.side = QTabWidget()
        self.side.setDocumentMode(True)
        self.side.tabBar().setAccessibleName("View or regions")
        self.side.addTab(self.view, "View")
        self._regions_page = QWidget()
        self._regions_place = QVBoxLayout(self._regions_page)
        self._regions_place.setContentsMargins(0, 0, 0, 0)
        self.side.addTab(self._regions_page, "Regions")
        self.side.currentChanged.connect(self._on_side)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setHandleWidth(8)
        for widget, stretch in ((self.classes, 0), (middle, 1), (self.side, 0)):
            self.splitter.addWidget(widget)
            self.splitter.setStretchFactor(self.splitter.count() - 1, stretch)
        middle.setMinimumWidth(280)
        self.side.setMinimumWidth(190)
        self._widths_chosen = False
        self.splitter.splitterMoved.connect(self._keep_widths)
        self._share_width()
        frame = QFrame()
        outer = QVBoxLayout(frame)
        outer.setContentsMargins(8, 2, 8, 2)
        outer.addWidget(self.splitter)
        self.setCentralWidget(frame)

    @cached_property
    def regions(self) -> "RegionPanel":
        """The panel of regions, made when it's first asked for."""
        from calm_gui.qt.region_panel import RegionPanel

        panel = RegionPanel(self.hub)
        self._regions_place.addWidget(panel)
        for before, after in pairwise((self.side.tabBar(), *panel.in_tab_order)):
            self.setTabOrder(before, after)
        return panel

    @cached_property
    def film(self) -> "FilmStrip":
        """The film strip, made when there is a second picture."""
        from calm_gui.qt.film_strip import FilmStrip

        strip = FilmStrip(self.hub)
        self._middle.addWidget(strip)
        for before, after in pairwise((*self.strip.in_tab_order, *strip.in_tab_order)):
            self.setTabOrder(before, after)
        return strip

    def _on_side(self, _: int) -> None:
        if self.side.currentWidget() is self._regions_page:
            self.regions.show_scene(self.hub.scene)

    def _share_width(self) -> None:
        """Give the panels the widths that suit the window's own; the panes get what is left."""
        left = min(410, int(0.35 * self.width()))
        self.splitter.setSizes([left, self.width() - left - 220, 220])

    def _keep_widths(self) -> None:
        """From now on the panels have the widths that the user gave them."""
        self._widths_chosen = True

    def restore(self) -> None:
        """Take the size and the panels' widths of the last time."""
        geometry, widths = self._settings.text("geometry"), self._settings.text("widths")
        if geometry:
            self.restoreGeometry(QByteArray.fromBase64(geometry.encode("ascii", "ignore")))
        if widths:
            self._widths_chosen = self.splitter.restoreState(QByteArray.fromBase64(widths.encode("ascii", "ignore")))

    # State down

    def _show_scene(self, scene: Scene) -> None:
        state, shown = scene.state, scene.active.shown
        model = self.workspace.compute.models.get(state.selection.checkpoint)
        known = (scene.info, scene.explanation, model, self.workspace.truth, self.workspace.compute.forward_ms)
        opened = (state.pictures, state.current, state.selection.checkpoint, *known)
        if opened != self._opened:  # most changes are to what is chosen
            self._opened = opened
            self._show_what_is_open(scene, model)
        if len(state.pictures) > 1 or "film" in vars(self):
            self.film.show_scene(scene)
        self._enable(
            undo=self.workspace.store.can_undo,
            redo=self.workspace.store.can_redo,
            numbers=isinstance(shown, Map),
            values=isinstance(shown, Map),
            copy_boxes=isinstance(shown, Map) and state.view.threshold.kind != "none",
            clear_regions=bool(state.regions_here()),
            close_pane=len(state.panes) > 1,
            add_pane=len(state.panes) < MAX_PANES,
        )

    def _show_what_is_open(self, scene: Scene, model: "LoadedModel | None") -> None:
        state, picture = scene.state, scene.state.picture
        checkpoint = Path(state.selection.checkpoint).stem
        self.setWindowTitle(f"{Path(picture).name} — {checkpoint} — calm-gui" if picture else "calm-gui")
        parts = [checkpoint]
        if model is not None:
            parts.append(str(model.device))
        if self.workspace.compute.forward_ms is not None:
            parts.append(f"explained in {self.workspace.compute.forward_ms:.0f} ms")
        self._device.setText(" · ".join(parts))
        self._enable(
            previous=state.current > 0,
            next=0 <= state.current < len(state.pictures) - 1,
            export=scene.explanation is not None,
            annotate=scene.hierarchy is not None,
            save_hierarchy=scene.hierarchy is not None,
            show_truth=picture is not None and self.workspace.true_class(picture) is not None,
        )

    def _enable(self, **possible: bool) -> None:
        for name, on in possible.items():
            self.actions_by_name[name].setEnabled(on)

    def _resting(self) -> str:
        state = self.workspace.state
        place = f"picture {state.current + 1} of {len(state.pictures)} · " if len(state.pictures) > 1 else ""
        return place + self.workspace.status

    # Commands

    def climb(self, up: bool) -> None:
        """Make the next larger or smaller group the target, and show it in the tree."""
        self.workspace.climb(up)
        self.classes.follow_target()

    def copy_picture(self) -> None:
        """Put the active pane on the clipboard as it is seen."""
        QGuiApplication.clipboard().setPixmap(self.panes.panes[self.workspace.state.active].canvas.grab())
        self.statusBar().showMessage("copied", 2000)

    def copy_sentence(self) -> None:
        """Put the ledger's sentence on the clipboard."""
        QGuiApplication.clipboard().setText(sentence(self.hub.scene))

    def copy_boxes(self) -> None:
        """Put the boxes of the active pane's threshold on the clipboard: x0 y0 x1 y1, a line each."""
        shown = self.hub.scene.active.shown
        cells = chosen_cells(shown, self.workspace.state.view.threshold) if isinstance(shown, Map) else None
        if isinstance(shown, Map) and cells is not None:
            boxes = component_boxes(cells, shown.geometry)
            lines = [f"{box.x0:.2f} {box.y0:.2f} {box.x1:.2f} {box.y1:.2f}" for box in boxes]
            QGuiApplication.clipboard().setText("\n".join(lines))

    def zoom(self, factor: float) -> None:
        """Zoom all panes about their middle."""
        self.panes.panes[self.workspace.state.active].canvas.zoom_by(factor)

    def zoom_to_pixels(self) -> None:
        """Show each pixel of the picture as one of the screen."""
        canvas, explanation = self.panes.panes[self.workspace.state.active].canvas, self.hub.scene.active.explanation
        if explanation is not None:
            shown = canvas.picture_rect().width() * canvas.devicePixelRatioF()
            canvas.zoom_by(explanation.geometry.picture[0] / shown)

    def use_tool(self, tool: Tool, on: bool) -> None:
        """Let dragging draw regions, or pan again."""
        if on:
            for name, other in _TOOLS.items():
                if other != tool:
                    self.actions_by_name[name].setChecked(False)
            self.side.setCurrentWidget(self._regions_page)
        active: Tool = next((t for name, t in _TOOLS.items() if self.actions_by_name[name].isChecked()), "pan")
        self.panes.set_tool(active)

    def clear_regions(self) -> None:
        """Forget the regions of the current picture."""
        state = self.workspace.state
        self.workspace.store.update(regions=tuple(r for r in state.regions if r.picture != state.picture))

    def set_dark(self, on: bool) -> None:
        """Change between the light and the dark theme."""
        apply_theme(DARK if on else LIGHT)
        drawn: list[QAction | QToolButton] = [*self.findChildren(QAction), *self.findChildren(QToolButton)]
        for each in drawn:
            if name := each.property("icon name"):
                each.setIcon(icon(name))
        self._settings.set("theme", "dark" if on else "light")
        self.hub.scene_changed.emit(self.hub.scene)

    def set_full_screen(self, on: bool) -> None:
        """Fill the screen, or not."""
        full = Qt.WindowState.WindowFullScreen
        self.setWindowState(self.windowState() | full if on else self.windowState() & ~full)

    def next_pane(self) -> None:
        """Let the View panel speak of the next pane."""
        state = self.workspace.state
        self.workspace.activate((state.active + 1) % len(state.panes))

    def show_values(self) -> None:
        """Show the active map's values as a table."""
        from calm_gui.qt.values_dialog import ValuesDialog

        content = self.hub.scene.active
        if isinstance(content.shown, Map):
            self.files.run(ValuesDialog(content.shown, content.title, self))

    def show_checkpoint(self) -> None:
        """Show what the checkpoint is and where it computes."""
        from calm_gui.qt.checkpoint_dialog import CheckpointDialog

        self.files.run(CheckpointDialog(self.hub, self))

    def annotate(self) -> None:
        """Annotate supersets, beginning with the table at hand."""
        from calm_gui.qt.annotation_dialog import AnnotationDialog

        self.files.run(AnnotationDialog(self.hub, parent=self))

    def match_classes(self) -> None:
        """Match classes to WordNet's nouns."""
        from calm_gui.qt.matching_dialog import MatchingDialog

        self.files.run(MatchingDialog(self.hub, self))

    def show_about(self) -> None:
        """Show versions, licences and whose pictures the samples are."""
        from calm_gui.qt.about import AboutDialog

        self.files.run(AboutDialog(self))

    def show_keys(self) -> None:
        """Show all keys, and let them be changed."""
        from calm_gui.qt.keys_dialog import KeysDialog

        self.files.run(KeysDialog(self.actions_by_name, self._settings, self))

    def report_problem(self) -> None:
        """Collect what a report needs."""
        from calm_gui.qt.report_dialog import ReportDialog

        self.files.run(ReportDialog(self.hub, self._settings, self))

    def _ask(self, checkpoint: str, question: AnswersNeeded) -> None:
        """Ask what a checkpoint doesn't say, once, and open it with the answers."""
        from calm_gui.qt.answers_dialog import AnswersDialog

        if self.findChild(AnswersDialog) is None:
            AnswersDialog(self.workspace, checkpoint, question, self).open()

    # Events

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._widths_chosen:
            self._share_width()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space, held while the keyboard is on a pane, shows the picture without its map; Escape ends drawing."""
        if event.key() == Qt.Key.Key_Space:
            self.workspace.update_view(undoable=False, overlay=False)
        elif event.key() == Qt.Key.Key_Escape:
            for name in _TOOLS:  # a drawing that has begun is cancelled by the pane itself, which keeps the key
                self.actions_by_name[name].setChecked(False)
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self.workspace.update_view(undoable=False, overlay=True)
        else:
            super().keyReleaseEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            self.workspace.update_view(undoable=False, overlay=True)  # another window gets the key's release
        super().changeEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = [url.toLocalFile() for url in event.mimeData().urls()]
        self.files.open([path for path in paths if path])

    def closeEvent(self, event: QCloseEvent) -> None:
        self._settings.set("geometry", self.saveGeometry().toBase64().toStdString())
        if self._widths_chosen:
            self._settings.set("widths", self.splitter.saveState().toBase64().toStdString())
        self.hide()
        self.workspace.close()
        super().closeEvent(event)
