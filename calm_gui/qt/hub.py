"""State down to the widgets: one signal for what is shown, one for what is being done, one for the cursor."""

from PySide6.QtCore import QObject, Signal

from calm_gui.session.scene import Scene
from calm_gui.session.workspace import Workspace

__all__ = ["Hub"]


class Hub(QObject):
    """Turns the workspace's calls into Qt signals.

    Attributes
    ----------
    workspace : Workspace

    Signals
    -------
    scene_changed : Scene
        What is shown has changed.
    status_changed : str
        What is being done has changed.
    complained : str
        A sentence that the user must see.
    asked : str, object
        A checkpoint's key and the `AnswersNeeded` that it raised.
    hovered : object
        Picture coordinates (x, y) under the cursor, or None.
    """

    scene_changed = Signal(object)
    status_changed = Signal(str)
    complained = Signal(str)
    asked = Signal(str, object)
    hovered = Signal(object)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self._told: Scene | None = None
        workspace.listen(self._tell)
        workspace.on_complaint(self.complained.emit)
        workspace.on_question(self.asked.emit)

    @property
    def scene(self) -> Scene:
        """What is shown now."""
        return self.workspace.scene

    def _tell(self) -> None:
        scene = self.workspace.scene
        if scene is not self._told:
            self._told = scene
            self.scene_changed.emit(scene)
        self.status_changed.emit(self.workspace.status)
