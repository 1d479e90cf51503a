"""The window: lays out its parts, and wires them to the workspace."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMainWindow, QToolButton, QVBoxLayout, QWidget

from calm_gui.api import sample_pictures
from calm_gui.core.maps import Map
from calm_gui.model.answers import AnswersNeeded
from calm_gui.qt.adaptation import Adaptation
from calm_gui.qt.hub import Hub
from calm_gui.qt.icons import application_icon, icon
from calm_gui.qt.panes.empty_page import EmptyPage
from calm_gui.qt.panes.ledger_bar import LedgerBar
from calm_gui.qt.panes.pane_grid import PaneGrid
from calm_gui.qt.panes.scale_column import ScaleColumn
from calm_gui.qt.settings import Settings
from calm_gui.qt.shortcuts import apply_shortcuts
from calm_gui.qt.theme import DARK, LIGHT, apply_theme
from calm_gui.qt.widgets.screen import fit_to_screen
from calm_gui.qt.window.actions import add_menus, add_recent_menus
from calm_gui.qt.window.commands import window_commands
from calm_gui.qt.window.cursor_line import cursor_text
from calm_gui.qt.window.dialogs import Dialogs
from calm_gui.qt.window.dock_places import DockPlaces
from calm_gui.qt.window.file_actions import FileActions
from calm_gui.qt.window.menu_row import MenuRow
from calm_gui.qt.window.message_bar import MessageBar
from calm_gui.qt.window.pane_actions import PaneActions
from calm_gui.qt.window.question_bar import QuestionBar
from calm_gui.qt.window.recent_questions import RecentQuestions
from calm_gui.qt.window.side_stripe import SideStripe
from calm_gui.qt.window.status_strip import StatusStrip
from calm_gui.session.pane import MAX_PANES
from calm_gui.session.scene import Scene

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["MainWindow"]

_SIZE = (1440, 900)
_SMALLEST = (760, 520)
_TITLE_BAR = 25


class MainWindow(QMainWindow):
    """Menus and the question on top, docks around the panes, the scale at their right, the ledger below them.

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
        self.setMinimumSize(_SMALLEST[0], _SMALLEST[1] - _TITLE_BAR)
        self.question = QuestionBar(hub, settings)
        self.panes = PaneGrid(hub)
        self.scales = ScaleColumn(hub)
        self.ledger = LedgerBar(hub)
        self.empty = EmptyPage()
        self.messages = MessageBar()
        self.menu_row = MenuRow()
        self.docks = DockPlaces(self, hub, settings)
        self.stripes = [SideStripe(self.docks, "left"), SideStripe(self.docks, "right")]
        self.status = StatusStrip(hub, self.docks)
        self._lay_out()
        self._opened: tuple[object, ...] = ()
        self._alone = False
        self.actions_by_name: dict[str, QAction] = {}
        self.pane_actions = PaneActions(self, hub, self.panes, self.docks, self.actions_by_name)
        self.dialogs = Dialogs(self, hub, settings, self.actions_by_name, self.files.run)
        self.actions_by_name.update(add_menus(self, self.menu_row.menus, window_commands(self)))
        self.adaptation = Adaptation(hub, settings, self)
        add_recent_menus(self, self.menu_row.menus, settings, self.files.open)
        self.recent_questions = RecentQuestions(hub, settings)
        self.recent_questions.add_menu(self.menu_row.menus, "settings")
        dropped = apply_shortcuts(self.actions_by_name, settings)
        self.menu_row.add_tools(self.actions_by_name)
        self._wire()
        self._show_scene(hub.scene)
        for sentence in dropped:
            self.messages.say(sentence)
        self.docks.apply()

    def _lay_out(self) -> None:
        self._top = top = QWidget()
        above = QVBoxLayout(top)
        above.setContentsMargins(0, 0, 0, 0)
        above.setSpacing(0)
        above.addWidget(self.menu_row)
        above.addWidget(self.question)
        self.setMenuWidget(top)
        middle = QFrame()
        middle.setObjectName("middle")
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.messages)
        self.middle = QWidget()
        beside = QHBoxLayout(self.middle)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.setSpacing(0)
        beside.addWidget(self.panes, 1)
        beside.addWidget(self.scales)
        column.addWidget(self.middle, 1)
        column.addWidget(self.empty, 1)
        column.addWidget(self.ledger)
        self.setCentralWidget(middle)
        left, right = self.stripes
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, left)
        self.addToolBar(Qt.ToolBarArea.RightToolBarArea, right)
        self.statusBar().setSizeGripEnabled(False)
        self.statusBar().addPermanentWidget(self.status, 1)
        self.statusBar().setContentsMargins(0, 0, 0, 0)

    def _wire(self) -> None:
        hub = self.hub
        hub.scene_changed.connect(self._show_scene)
        hub.status_changed.connect(lambda _: self.status.show_words(self.workspace.status))
        hub.hovered.connect(self._show_cursor)
        hub.complained.connect(self.messages.say)
        hub.said.connect(self.status.say)
        hub.saved.connect(self.messages.wrote)
        self.adaptation.reached.connect(self.messages.wrote)
        hub.results_wanted.connect(self._show_results)
        hub.asked.connect(self._ask)
        hub.keep_wanted.connect(self.dialogs.keep_target)
        hub.enlarge_wanted.connect(self.actions_by_name["enlarge"].toggle)
        self.question.reading_chosen.connect(
            lambda reading: self.workspace.change_pane(self.workspace.state.active, shows=reading)
        )
        self.docks.changed.connect(self._follow_docks)
        self.docks.opened_unseen.connect(lambda: self.actions_by_name["pictures_alone"].setChecked(False))
        self.empty.pictures_wanted.connect(self.files.open_pictures)
        self.empty.folder_wanted.connect(self.files.open_folder)
        self.empty.samples_wanted.connect(lambda: self.workspace.open_pictures(sample_pictures()))
        self.empty.checkpoint_wanted.connect(self.files.open_checkpoint)
        self._settled = QTimer(self)  # once all parts have their sizes
        self._settled.setSingleShot(True)
        self._settled.timeout.connect(lambda: self.status.zoom.setText(self.pane_actions.zoom_text()))
        self.panes.menu_wanted.connect(self.pane_actions.open_menu)
        self.panes.resized.connect(lambda: self._settled.start(0))

    def panel(self, key: str) -> Any:
        """The panel of a dock, made if it wasn't, and up to date though its dock may be folded."""
        panel = self.docks.frames[key].panel
        if not panel.isVisible():
            panel.show_scene(self.hub.scene)
        return panel

    def restore(self) -> None:
        """Take the size and the docks of the last time, inside the screen."""
        self.resize(*_SIZE)
        geometry = self._settings.text("geometry")
        if geometry:
            self.restoreGeometry(QByteArray.fromBase64(geometry.encode("ascii", "ignore")))
        self.docks.restore()
        fit_to_screen(self)

    # State down

    def _show_scene(self, scene: Scene) -> None:
        state, shown = scene.state, scene.active.shown
        model = self.workspace.compute.models.get(state.selection.checkpoint)
        known = (scene.info, scene.explanation, model, self.workspace.truth, self.workspace.compute.forward_ms)
        opened = (state.pictures, state.current, state.selection.checkpoint, *known)
        if opened != self._opened:  # most changes are to what is chosen
            self._opened = opened
            self._show_what_is_open(scene, model)
        self.status.zoom.setText(self.pane_actions.zoom_text())
        if self.actions_by_name["ranks"].isChecked() != state.view.ranks:
            self.actions_by_name["ranks"].setChecked(state.view.ranks)
        self._enable(
            undo=self.workspace.store.can_undo,
            redo=self.workspace.store.can_redo,
            numbers=isinstance(shown, Map),
            copy_boxes=isinstance(shown, Map) and state.view.threshold.kind != "none",
            clear_regions=bool(state.regions_here()),
            close_pane=len(state.panes) > 1,
            add_pane=len(state.panes) < MAX_PANES,
            flicker=len(state.panes) > 1,
            slider=len(state.panes) > 1,
        )

    def _show_what_is_open(self, scene: Scene, model: "LoadedModel | None") -> None:
        state, picture = scene.state, scene.state.picture
        checkpoint = scene.source_of(state.selection.checkpoint) or Path(state.selection.checkpoint).stem
        self.setWindowTitle(f"{Path(picture).name} — {checkpoint} — calm-gui" if picture else "calm-gui")
        parts = [checkpoint]
        if model is not None:
            parts.append(str(model.device).upper())
        if self.workspace.compute.forward_ms is not None:
            parts.append(f"{self.workspace.compute.forward_ms:.0f} ms")
        self.status.device.setText(" · ".join(parts))
        self.status.device.setToolTip("Checkpoint, device, and the time of the last forward pass")
        self.menu_row.show_scene(scene)
        self.empty.name_checkpoint(checkpoint, len(scene.classes))
        self.empty.setVisible(picture is None)
        self.middle.setVisible(picture is not None)
        self.ledger.setVisible(picture is not None and not self._alone)
        for button in (*self.status.buttons, *self.stripes[0].buttons, *self.stripes[1].buttons):
            button.show_count(self.docks.frames[button.key].dock.count(scene))
        self._enable(
            previous=state.current > 0,
            next=0 <= state.current < len(state.pictures) - 1,
            export=scene.explanation is not None,
            annotate=scene.hierarchy is not None,
            make_calm=scene.info is not None and scene.info.is_plain,
            save_hierarchy=scene.hierarchy is not None,
            show_truth=picture is not None and self.workspace.true_class(picture) is not None,
        )

    def _enable(self, **possible: bool) -> None:
        for name, on in possible.items():
            self.actions_by_name[name].setEnabled(on)

    def _show_cursor(self, point: tuple[float, float] | None) -> None:
        """Tell what is under the cursor, in the pane that it is over."""
        self.status.show_words(cursor_text(self.hub.scene, point, self.panes.hovered) or self.workspace.status)

    def _follow_docks(self) -> None:
        for key in self.docks.frames:
            if action := self.actions_by_name.get(f"dock_{key}"):
                action.setChecked(self.docks.is_open(key))

    # Commands

    def step_picture(self, by: int) -> None:
        """Go to the next (1) or previous (-1) picture of those that the film's filter shows."""
        self.panel("pictures").list.step(by)

    def climb(self, up: bool) -> None:
        """Make the next larger or smaller group the target, and show it in the tree."""
        self.workspace.climb(up)
        if self.docks.frames["classes"].is_made:
            self.panel("classes").follow_target()

    def find_class(self) -> None:
        """Bring the keyboard to the search for classes."""
        self.actions_by_name["pictures_alone"].setChecked(False)
        if not self.docks.is_open("classes"):
            self.docks.open("classes")
        self.panel("classes").focus_search()

    def _show_results(self) -> None:
        self.docks.open("results")
        self.panel("results").table.setFocus()

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

    def set_pictures_alone(self, on: bool) -> None:
        """Show the panes and the scale and nothing else, or all again."""
        self._alone = on
        for widget in (self._top, self.statusBar(), self.ledger, *self.stripes):
            widget.setVisible(not on)
        self.docks.pictures_alone(on)

    def _ask(self, checkpoint: str, question: AnswersNeeded) -> None:
        """Ask what a checkpoint doesn't say, once, and open it with the answers."""
        from calm_gui.qt.dialogs.answers_dialog import AnswersDialog

        if self.findChild(AnswersDialog) is None:
            AnswersDialog(self.workspace, checkpoint, question, self).open()

    # Events

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():  # and not when it comes back from an icon
            self.panes.focus_active()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space, held while the keyboard is on a pane, shows the picture without its map; Escape ends what is on."""
        if event.key() == Qt.Key.Key_Space:
            self.workspace.update_view(undoable=False, overlay=False)
        elif event.key() == Qt.Key.Key_Escape:
            self.pane_actions.escape()  # a drawing that has begun is cancelled by the pane itself, which keeps the key
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
        elif event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit_text()
        super().changeEvent(event)

    def _fit_text(self) -> None:
        """Take anew the sizes that the letters ask for, after they or the style sheet have changed."""
        parts: tuple[Any, ...] = (self.menu_row, self.question, self.status, self.ledger, self.scales, *self.stripes)
        for part in (*parts, *self.panes.panes):
            part.fit_text()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls() or event.mimeData().hasImage() or event.mimeData().hasText():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.files.take(event.mimeData())

    def closeEvent(self, event: QCloseEvent) -> None:
        self.actions_by_name["pictures_alone"].setChecked(False)
        self._settings.set("geometry", self.saveGeometry().toBase64().toStdString())
        self.docks.save()
        self.hide()
        self.adaptation.close()
        self.workspace.close()
        super().closeEvent(event)
