"""The menu of a pane: what it shows, of which set, picture and checkpoint."""

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from calm_gui.core.readings import ATTRIBUTION, READINGS
from calm_gui.methods import METHODS, Method
from calm_gui.qt.hub import Hub
from calm_gui.qt.panes.method_dialog import MethodDialog
from calm_gui.session.pane import PICTURE, About, Pane, Shows
from calm_gui.session.scene import PaneContent
from calm_gui.session.workspace import Workspace

__all__ = ["fill_pane_menu"]

_ABOUT_NAMES: dict[About, str] = {"target": "of A", "contrast": "of B", "superset": "of A's suggested group"}


def fill_pane_menu(menu: QMenu, hub: Hub, content: PaneContent | None, position: int) -> None:
    """Fill the menu of the pane at a position for what it shows now."""
    menu.clear()
    workspace, pane = hub.workspace, content.pane if content else Pane()
    explanation = content.explanation if content else None

    def choice(into: QMenu, text: str, shows: Shows, about: About) -> QAction:
        now = (content.shows, content.pane.about if shows is ATTRIBUTION else about) if content else None
        action = into.addAction(text)
        action.setCheckable(True)
        action.setChecked(now == (shows, about))
        action.triggered.connect(lambda: workspace.change_pane(position, shows=shows, about=about))
        return action

    for reading in READINGS.values():
        refusal = reading.refusal(explanation) if explanation else ""
        for about, words in _ABOUT_NAMES.items() if reading is ATTRIBUTION else (("target", ""),):
            action = choice(menu, f"{reading.label} {words}".rstrip(), reading, about)
            action.setEnabled(not refusal)
            action.setToolTip(refusal or reading.meaning)
    choice(menu, "Picture only", PICTURE, "target")
    menu.setToolTipsVisible(True)
    methods = menu.addMenu("Other method")
    methods.setToolTipsVisible(True)
    shown = content.shows if content else None
    for method in METHODS.values():
        # With the parameters that were chosen, where this pane shows it.
        here = shown if isinstance(shown, Method) and shown.plain is method else method
        choice(methods, here.title, here, pane.about).setToolTip(f"{method.source}; {method.meaning}")
    if isinstance(shown, Method) and shown.parameters:
        parameters = menu.addAction(f"Parameters of {shown.plain.title}…")
        parameters.triggered.connect(lambda: _ask_for_parameters(menu, workspace, shown, position))
    menu.addSeparator()
    checkpoints = menu.addMenu("Checkpoint")
    first = checkpoints.addAction("the chosen one")
    first.setCheckable(True)
    first.setChecked(pane.checkpoint is None)
    first.triggered.connect(lambda: workspace.change_pane(position, checkpoint=None))
    for key, name in hub.scene.checkpoint_names.items():
        action = checkpoints.addAction(name.replace("&", "&&"))
        action.setCheckable(True)
        action.setChecked(pane.checkpoint == key)
        action.triggered.connect(lambda _=False, k=key: workspace.change_pane(position, checkpoint=k))
    pin = menu.addAction("Keep this picture")
    pin.setCheckable(True)
    pin.setChecked(pane.picture is not None)
    pin.triggered.connect(lambda on: workspace.change_pane(position, picture=workspace.state.picture if on else None))
    menu.addSeparator()
    menu.addAction("Add a pane like this").triggered.connect(
        lambda: workspace.set_panes((*workspace.state.panes, pane))
    )
    close = menu.addAction("Close pane")
    close.setEnabled(len(workspace.state.panes) > 1)
    close.triggered.connect(lambda: workspace.close_pane(position))


def _ask_for_parameters(parent: QWidget, workspace: Workspace, method: Method, position: int) -> None:
    dialog = MethodDialog(method, parent.window())
    if dialog.exec() == MethodDialog.DialogCode.Accepted:
        workspace.change_pane(position, shows=dialog.chosen)
