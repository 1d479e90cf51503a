"""State down to the widgets: one signal for what is shown, one for where the cursor is."""

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
    complained : str
        A sentence that the user must see.
    hovered : object
        Picture coordinates (x, y) under the cursor, or None.
    """

    scene_changed = Signal(object)
    complained = Signal(str)
    hovered = Signal(object)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        workspace.listen(self._tell)
        workspace.on_complaint(self.complained.emit)

    @property
    def scene(self) -> Scene:
        """What is shown now."""
        return self.workspace.scene

    def _tell(self) -> None:
        self.scene_changed.emit(self.workspace.scene)
