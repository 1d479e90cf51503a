"""The window: lays out the panels and wires actions to the workspace."""

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QUrl
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QFrame,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMenu,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.errors import CalmError
from calm_gui.qt.about import AboutDialog
from calm_gui.qt.actions import Command, add_menus, add_tool_bar
from calm_gui.qt.classes_panel import ClassesPanel
from calm_gui.qt.cursor_line import cursor_text
from calm_gui.qt.elided_label import ElidedLabel
from calm_gui.qt.film_strip import FilmStrip
from calm_gui.qt.hierarchy_strip import HierarchyStrip
from calm_gui.qt.hub import Hub
from calm_gui.qt.icons import application_icon
from calm_gui.qt.ledger_bar import LedgerBar
from calm_gui.qt.message_bar import MessageBar
from calm_gui.qt.pane_grid import PaneGrid
from calm_gui.qt.pane_widget import READING_NAMES
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import DARK, LIGHT, apply_theme, current_theme
from calm_gui.qt.view_panel import ViewPanel
from calm_gui.session.ledger import sentence
from calm_gui.session.scene import Scene
from calm_gui.session.state import Pane, default_panes

__all__ = ["MainWindow"]

CHECKPOINT_SUFFIXES = (".safetensors", ".pth", ".pt", ".tar", ".ckpt")

TOOL_BAR = (
    *("!open", "!checkpoint", "", "previous", "next", "", "undo", "redo", ""),
    *("fit", "box", "lasso", "", "!export"),
)

LAYOUTS: dict[str, tuple[Pane, ...]] = {
    "&One pane": (Pane("attribution"),),
    "&Four readings": default_panes(),
    "Figure &1: A, B, A − B": (Pane("attribution"), Pane("attribution", "contrast"), Pane("counterfactual")),
    "Figure &3: all readings": (
        Pane("picture"),
        Pane("attribution"),
        Pane("conditional"),
        Pane("saliency"),
        Pane("attribution", "superset"),
        Pane("counterfactual"),
    ),
}


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
        self._settings = settings
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.resize(1440, 900)
        self.classes = ClassesPanel(hub)
        self.panes = PaneGrid(hub)
        self.view = ViewPanel(hub)
        self.strip = HierarchyStrip(hub)
        self.ledger = LedgerBar(hub)
        self.film = FilmStrip(hub)
        self.messages = MessageBar()
        self._lay_out()
        self.actions_by_name = add_menus(self, self._commands())
        add_tool_bar(self, self.actions_by_name, TOOL_BAR)
        self._cursor = ElidedLabel()
        self._device = QLabel()
        self.statusBar().addWidget(self._cursor, 1)
        self.statusBar().addPermanentWidget(self._device)
        self.statusBar().setSizeGripEnabled(False)
        hub.scene_changed.connect(self._show_scene)
        hub.hovered.connect(lambda point: self._cursor.setText(cursor_text(self.hub.scene, point) or self._resting()))
        hub.complained.connect(self.messages.say)
        application = QApplication.instance()
        assert application is not None
        application.installEventFilter(self)
        self._show_scene(hub.scene)
        self.classes.tree.setFocus()

    def _lay_out(self) -> None:
        middle = QWidget()
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.messages)
        column.addWidget(self.panes, 1)
        column.addWidget(self.strip)
        column.addWidget(self.ledger)
        column.addWidget(self.film.frame)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setHandleWidth(8)
        self.splitter.setChildrenCollapsible(True)
        for widget, stretch in ((self.classes, 0), (middle, 1), (self.view, 0)):
            self.splitter.addWidget(widget)
            self.splitter.setStretchFactor(self.splitter.count() - 1, stretch)
            widget.setMinimumWidth(160 if stretch == 0 else 240)
        self.splitter.setSizes([410, 810, 210])
        frame = QFrame()
        outer = QVBoxLayout(frame)
        outer.setContentsMargins(8, 2, 8, 2)
        outer.addWidget(self.splitter)
        self.setCentralWidget(frame)

    def _commands(self) -> dict[str, list[Command | None]]:
        w = self.workspace
        return {
            "&File": [
                Command("open", "&Open picture…", self.open_pictures, "Ctrl+O", "open", "Open pictures"),
                Command("folder", "Open &folder…", self.open_folder, "Ctrl+Shift+O"),
                Command("samples", "Open &sample pictures", lambda: w.open_pictures(sample_pictures())),
                Command("recent", "Recent pict&ures…", lambda: self._show_recent("pictures")),
                None,
                Command("checkpoint", "Open &checkpoint…", self.open_checkpoint, "Ctrl+K", "checkpoint"),
                Command("bundled", "&Bundled checkpoints…", self._show_bundled),
                Command("recent_checkpoints", "Recent chec&kpoints…", lambda: self._show_recent("checkpoints")),
                None,
                Command("export", "&Export figure…", self.export, "Ctrl+S", "export", "Save what the panes show"),
                Command("numbers", "Export &numbers…", self.export_numbers, "Ctrl+Shift+S"),
                None,
                Command("quit", "&Quit", self.close, "Ctrl+Q"),
            ],
            "&Edit": [
                Command("undo", "&Undo", w.store.undo, "Ctrl+Z", "undo"),
                Command("redo", "&Redo", w.store.redo, "Ctrl+Shift+Z; Ctrl+Y", "redo"),
                None,
                Command("swap", "&Exchange target and contrast", w.swap, "Ctrl+E", "swap"),
                Command("parent", "To the &larger group", lambda: w.climb(up=True), "Alt+Up"),
                Command("child", "To the &smaller group", lambda: w.climb(up=False), "Alt+Down"),
                None,
                Command("copy_picture", "&Copy pane as picture", self.copy_picture, "Ctrl+C"),
                Command("copy_sentence", "Copy &sentence", self.copy_sentence, "Ctrl+Shift+C"),
            ],
            "&View": [
                Command("previous", "&Previous picture", lambda: w.step_picture(-1), "Ctrl+Left; PgUp", "previous"),
                Command("next", "&Next picture", lambda: w.step_picture(1), "Ctrl+Right; PgDown", "next"),
                None,
                Command("fit", "&Fit picture", w.reset_view, "Ctrl+0", "fit"),
                Command("zoom_in", "Zoom &in", lambda: self._zoom(1.25), "Ctrl++; Ctrl+="),
                Command("zoom_out", "Zoom &out", lambda: self._zoom(0.8), "Ctrl+-"),
                Command("actual", "One pixel &to one", self._zoom_to_pixels, "Ctrl+1"),
                None,
                Command("box", "&Rectangle region", self._box_tool, "Ctrl+R", "rectangle", checked=False),
                Command("lasso", "&Lasso region", self._lasso_tool, "Ctrl+L", "lasso", checked=False),
                Command("clear_regions", "&Forget the regions", self._clear_regions, "Ctrl+Shift+R"),
                None,
                Command("theme", "&Dark", self._set_dark, "Ctrl+D", checked=current_theme() is DARK),
                Command("full_screen", "F&ull screen", self._set_full_screen, "F11", checked=False),
            ],
            "&Panes": [
                *(
                    Command(f"layout_{i}", title, lambda panes=panes: w.set_panes(panes), f"Ctrl+Alt+{i}")
                    for i, (title, panes) in enumerate(LAYOUTS.items(), start=1)
                ),
                None,
                Command("add_pane", "&Add pane", w.add_pane, "Ctrl+T"),
                Command("close_pane", "&Close pane", lambda: w.close_pane(w.state.active), "Ctrl+W"),
                Command("next_pane", "&Next pane", self._next_pane, "F6"),
                None,
                *(
                    Command(f"reading_{r}", n, lambda r=r: w.change_pane(w.state.active, reading=r), f"Alt+{i}")
                    for i, (r, n) in enumerate(READING_NAMES.items(), start=1)
                ),
            ],
            "&Help": [
                Command("keys", "&Keys", self._show_keys, "F1"),
                Command("about", "&About calm-gui", lambda: self._run(AboutDialog(self))),
            ],
        }

    # State down

    def _show_scene(self, scene: Scene) -> None:
        picture = scene.state.picture
        checkpoint = Path(scene.state.selection.checkpoint).stem
        self.setWindowTitle(f"{Path(picture).name} — {checkpoint} — calm-gui" if picture else "calm-gui")
        self.setWindowFilePath(picture or "")
        self._cursor.setText(self._resting())
        parts = [checkpoint]
        if model := self.workspace.models.get(scene.state.selection.checkpoint):
            parts.append(str(model.device))
        if self.workspace.forward_ms is not None:
            parts.append(f"explained in {self.workspace.forward_ms:.0f} ms")
        self._device.setText(" · ".join(parts))
        store, state = self.workspace.store, scene.state
        for name, on in (
            ("undo", store.can_undo),
            ("redo", store.can_redo),
            ("previous", state.current > 0),
            ("next", 0 <= state.current < len(state.pictures) - 1),
            ("export", scene.explanation is not None),
            ("numbers", scene.explanation is not None),
            ("clear_regions", bool(state.regions_here())),
            ("close_pane", len(state.panes) > 1),
            ("add_pane", len(state.panes) < 6),
        ):
            self.actions_by_name[name].setEnabled(on)

    def _resting(self) -> str:
        state = self.workspace.state
        place = f"picture {state.current + 1} of {len(state.pictures)} · " if len(state.pictures) > 1 else ""
        return place + self.workspace.status

    # Intents up

    def open_pictures(self) -> None:
        """Ask for pictures and open them."""
        paths, _ = QFileDialog.getOpenFileNames(self, "Open pictures", self._settings.text("folder"))
        if paths:
            self._open(paths)

    def open_folder(self) -> None:
        """Ask for a folder and open its pictures."""
        path = QFileDialog.getExistingDirectory(self, "Open a folder of pictures", self._settings.text("folder"))
        if path:
            self._open([path])

    def open_checkpoint(self) -> None:
        """Ask for a checkpoint and open it."""
        patterns = " ".join(f"*{suffix}" for suffix in CHECKPOINT_SUFFIXES)
        path, _ = QFileDialog.getOpenFileName(
            self,
            "Open a checkpoint",
            self._settings.text("checkpoint folder"),
            f"Checkpoints ({patterns});;All files (*)",
        )
        if path:
            self._open([path])

    def _open(self, paths: list[str]) -> None:
        """Open whatever these are: checkpoints by their ending, the rest as pictures."""
        checkpoints = [path for path in paths if path.lower().endswith(CHECKPOINT_SUFFIXES)]
        pictures = [path for path in paths if path not in checkpoints]
        if checkpoints:
            self._settings.set("checkpoint folder", str(Path(checkpoints[0]).parent))
            self._settings.add_recent("checkpoints", checkpoints[0])
            self.workspace.open_checkpoint(checkpoints[0])
        if pictures:
            self._settings.set("folder", str(Path(pictures[0]).parent))
            self._settings.add_recent("pictures", pictures[0])
            self.workspace.open_pictures(pictures)

    def export(self) -> None:
        """Ask for a place and save what the panes show."""
        from calm_gui.qt.export_dialog import ExportDialog

        self._run(ExportDialog(self.hub, self._settings, self))

    def export_numbers(self) -> None:
        """Ask for a place and save the active pane's map as numbers."""
        from calm_gui.qt.export_dialog import numbers_of

        start = str(Path(self._settings.text("export folder", str(Path.home()))) / "map.npz")
        path, _ = QFileDialog.getSaveFileName(self, "Export numbers", start, "NumPy (*.npz)")
        if path:
            try:
                numbers_of(self.hub.scene).save(path if Path(path).suffix else f"{path}.npz")
            except CalmError as error:
                self.workspace.complain(str(error))

    def copy_picture(self) -> None:
        """Put the active pane on the clipboard as it is seen."""
        pane = self.panes.panes[self.workspace.state.active]
        QGuiApplication.clipboard().setPixmap(pane.canvas.grab())
        self.statusBar().showMessage("copied", 2000)

    def copy_sentence(self) -> None:
        """Put the ledger's sentence on the clipboard."""
        QGuiApplication.clipboard().setText(sentence(self.hub.scene))

    def _show_recent(self, kind: str) -> None:
        menu = QMenu(self)
        for path in self._settings.recent(kind):
            menu.addAction(path).triggered.connect(lambda _=False, p=path: self._open([p]))
        if menu.isEmpty():
            menu.addAction("nothing yet").setEnabled(False)
        menu.exec(self.mapToGlobal(self.rect().topLeft()))

    def _show_bundled(self) -> None:
        menu = QMenu(self)
        for name, path in bundled_checkpoints().items():
            menu.addAction(name).triggered.connect(lambda _=False, p=path: self.workspace.open_checkpoint(p))
        menu.exec(self.mapToGlobal(self.rect().topLeft()))

    def _zoom(self, factor: float) -> None:
        self.panes.panes[self.workspace.state.active].canvas.zoom_by(factor)

    def _zoom_to_pixels(self) -> None:
        canvas = self.panes.panes[self.workspace.state.active].canvas
        explanation = self.hub.scene.active.explanation
        if explanation is not None:
            shown = canvas.picture_rect().width() * canvas.devicePixelRatioF()
            canvas.zoom_by(explanation.geometry.picture[0] / shown)

    def _box_tool(self, on: bool) -> None:
        if on:
            self.actions_by_name["lasso"].setChecked(False)
        self.panes.set_tool("box" if on else "pan")

    def _lasso_tool(self, on: bool) -> None:
        if on:
            self.actions_by_name["box"].setChecked(False)
        self.panes.set_tool("polygon" if on else "pan")

    def _clear_regions(self) -> None:
        state = self.workspace.state
        self.workspace.store.update(regions=tuple(r for r in state.regions if r.picture != state.picture))

    def _set_dark(self, on: bool) -> None:
        apply_theme(DARK if on else LIGHT)
        self._settings.set("theme", "dark" if on else "light")
        self.hub.scene_changed.emit(self.hub.scene)

    def _set_full_screen(self, on: bool) -> None:
        self.setWindowState(
            self.windowState() | Qt.WindowState.WindowFullScreen
            if on
            else self.windowState() & ~Qt.WindowState.WindowFullScreen
        )

    def _next_pane(self) -> None:
        state = self.workspace.state
        self.workspace.activate((state.active + 1) % len(state.panes))

    def _show_keys(self) -> None:
        from calm_gui.qt.keys_dialog import KeysDialog

        self._run(KeysDialog(self.actions_by_name, self))

    @staticmethod
    def _run(dialog: QDialog) -> None:
        """Show a dialog until it's closed, and forget it."""
        dialog.exec()
        dialog.deleteLater()

    # Events

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hold Space (outside text fields and lists) to see the picture without its map."""
        kinds = (QEvent.Type.KeyPress, QEvent.Type.KeyRelease)
        if event.type() in kinds and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space:
            focus = QApplication.focusWidget()
            free = focus is None or focus is self or self.panes.isAncestorOf(focus) or focus is self.panes
            if free and not isinstance(focus, QLineEdit) and QApplication.activeModalWidget() is None:
                if not event.isAutoRepeat():
                    self.workspace.update_view(undoable=False, overlay=event.type() == QEvent.Type.KeyRelease)
                return True
        return super().eventFilter(watched, event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = [QUrl(url).toLocalFile() for url in event.mimeData().urls()]
        self._open([path for path in paths if path])

    def closeEvent(self, event: QCloseEvent) -> None:
        application = QApplication.instance()
        if application is not None:
            application.removeEventFilter(self)
        self.hide()
        self.workspace.close()
        super().closeEvent(event)
