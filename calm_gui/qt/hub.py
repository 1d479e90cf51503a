"""State down to the widgets: one signal for what is shown, one for what is being done, one for the cursor."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal

from calm_gui.session.scene import Scene
from calm_gui.session.workspace import Workspace

if TYPE_CHECKING:
    from calm_gui.session.batch_run import BatchRun
    from calm_gui.session.method_jobs import Passes

__all__ = ["Hub", "Progress"]


class Progress(NamedTuple):
    """How far something is that takes long.

    Attributes
    ----------
    words : str
        What is being done.
    done, total : int
        A total of 0 where it isn't known.
    cancel : callable or None
        Ends it.
    """

    words: str
    done: int = 0
    total: int = 0
    cancel: Callable[[], object] | None = None


class Hub(QObject):
    """Turns the workspace's calls into Qt signals.

    Attributes
    ----------
    workspace : Workspace
    batches : list of BatchRun
        All runs over many pictures, the last one last.
    fades : bool
        Whether maps that were waited for fade in.

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
    hovered_pane : int
        The pane that the cursor is over, before `hovered`.
    progressed : object
        A `Progress`, or None when what took long is over.
    said : str
        A short message for the status bar, such as that something was copied.
    keep_wanted
        A shall be kept under a name.
    pictures_wanted : object
        The film strip shall show these open pictures only (their keys), or all (None).
    enlarge_wanted
        The active pane shall be shown alone, or all again.
    batch_changed
        A run over many pictures has begun, come further, or ended.
    results_wanted
        The results shall be seen.
    saved : str
        A file was written; its path.
    """

    scene_changed = Signal(object)
    status_changed = Signal(str)
    complained = Signal(str)
    asked = Signal(str, object)
    hovered = Signal(object)
    hovered_pane = Signal(int)
    progressed = Signal(object)
    said = Signal(str)
    keep_wanted = Signal()
    enlarge_wanted = Signal()
    pictures_wanted = Signal(object)
    batch_changed = Signal()
    results_wanted = Signal()
    saved = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.batches: list[BatchRun] = []
        self.fades = False
        self._told: Scene | None = None
        self._passes: Passes | None = None
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
        self._tell_passes()

    def _tell_passes(self) -> None:
        """Tell how far a method is; a run over many pictures, whose progress is shown already, goes before."""
        methods = self.workspace.compute.methods
        if methods.passes != self._passes and not any(run.running for run in self.batches):
            self._passes = now = methods.passes
            words = f"{now.title}, pass" if now else ""
            self.progressed.emit(Progress(words, now.done, now.total, methods.cancel) if now else None)
