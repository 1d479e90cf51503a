"""The user's intents: open, choose, arrange. A front over actions, cache and compute."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calm_gui.core.classes import ClassTable
from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.hierarchy import Hierarchy, Node
from calm_gui.core.readings import ATTRIBUTION
from calm_gui.errors import CalmError, ClassLookupError
from calm_gui.methods import Method
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.render.naming import counted
from calm_gui.session.actions.arranging import Arranging
from calm_gui.session.actions.browsing import Browsing
from calm_gui.session.actions.choosing import Choosing
from calm_gui.session.actions.marking import Marking
from calm_gui.session.as_saved import AsSaved, hashes_of
from calm_gui.session.cache import ExplanationCache
from calm_gui.session.carrying import carried
from calm_gui.session.checkpoint_names import checkpoint_names
from calm_gui.session.compute import Compute, LoadCheckpoint, wanted_pairs
from calm_gui.session.expression import SPECIAL, Expression, evaluate, with_sets
from calm_gui.session.jobs import Runner
from calm_gui.session.ledger import sentence
from calm_gui.session.pane import Pane, default_panes
from calm_gui.session.picture_files import file_key
from calm_gui.session.scene import Scene
from calm_gui.session.state import Selection, State
from calm_gui.session.store import Store
from calm_gui.session.truth import GroundTruth, read_truth, true_class

if TYPE_CHECKING:
    from calm_gui.session.persistence import SavedSession

__all__ = ["Workspace"]

_log = logging.getLogger(__name__)


class Workspace(Browsing, Choosing, Arranging, Marking):
    """What is open, and what the user does with it.

    It has more than 30 methods, being the one front that widgets and commands act through.

    Parameters
    ----------
    checkpoint : str
        Key (path) of the checkpoint to begin with.
    runner : Runner
    load : callable
        See `LoadCheckpoint`.
    device : str

    Attributes
    ----------
    store : Store
    cache : ExplanationCache
    compute : Compute
        Holds what is known of checkpoints, and what failed.
    truth : GroundTruth
    """

    def __init__(self, checkpoint: str, runner: Runner, load: LoadCheckpoint, device: str = "auto") -> None:
        self.store = Store(State(Selection(checkpoint)))
        self.cache = ExplanationCache()
        self.compute = Compute(runner, load, device, self.cache, self)
        self.truth = GroundTruth()
        self._truth_for: tuple[str | None, ClassTable | None] = (None, None)
        self._doing, self._as_saved = "", AsSaved()
        self._scene: Scene | None = None
        self._listeners: list[Callable[[], None]] = []
        self._complaints: list[Callable[[str], None]] = []
        self._questions: list[Callable[[str, AnswersNeeded], None]] = []
        self.compute.read_info(checkpoint)
        self.store.reset(self.state._replace(panes=self.default_panes))
        self.store.observe(self._on_state)

    @property
    def default_panes(self) -> tuple[Pane, ...]:
        """The panes that the checkpoint at hand begins with."""
        return self._panes_for(self.state.selection.checkpoint)

    def _panes_for(self, checkpoint: str) -> tuple[Pane, ...]:
        info = self.compute.infos.get(checkpoint)
        return default_panes(info is None or info.method.startswith("calm"))

    # What widgets listen to

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever `scene` or `status` has changed."""
        self._listeners.append(listener)

    def on_complaint(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with each sentence that the user must see."""
        self._complaints.append(listener)

    def on_question(self, listener: Callable[[str, AnswersNeeded], None]) -> None:
        """Call `listener` with each checkpoint that doesn't say what it is; `open_checkpoint` takes the answers."""
        self._questions.append(listener)

    @property
    def status(self) -> str:
        """What is being done; otherwise the current picture's name, and what was changed on its way in."""
        picture = self.state.picture
        if self._doing or picture is None:
            return self._doing
        explanation = self.explanation(picture, self.state.selection.checkpoint)
        notes = explanation.source.get("picture", {}).get("notes", ()) if explanation else ()
        return f"{Path(picture).name}" + (f" · {', '.join(notes)}" if notes else "")

    @property
    def scene(self) -> Scene:
        """What the state shows."""
        if self._scene is None:
            self._scene = Scene(self.state, self.compute.infos, self.cache, self.compute.failures)
        return self._scene

    def explanation(self, picture: str | None, checkpoint: str) -> AnyExplanation | None:
        """The explanation at hand, or None."""
        return self.cache.get((picture, checkpoint)) if picture else None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being loaded, or something that is shown is still being computed."""
        return self.compute.busy

    def changed(self) -> None:
        """Show anew, since something was computed or has failed."""
        self._scene = None
        self._follow_truth()
        self._as_saved.compare(self.cache.explanations, self.complain)
        if not self.busy:
            self._doing = ""
        for listener in self._listeners:
            listener()

    def say(self, status: str) -> None:
        """Say what is being done; an empty text ends it."""
        self._doing = status
        for listener in self._listeners:
            listener()

    def complain(self, sentence: str) -> None:
        """Tell the user what went wrong; an empty sentence takes the last one back."""
        if sentence:
            _log.warning(sentence)
        for listener in self._complaints:
            listener(sentence)

    def ask(self, checkpoint: str, question: AnswersNeeded) -> bool:
        """Ask the user what a checkpoint is; whether anybody listens."""
        if not self._questions:
            return False
        self.changed()
        self.say(f"{Path(checkpoint).name} waits for answers")
        for listener in self._questions:
            listener(checkpoint, question)
        return True

    def ask_again(self, checkpoint: str) -> None:
        """Ask anew what a file of another program doesn't say, beginning with what was answered."""
        self.compute.ask_again(checkpoint)

    def _on_state(self, old: State, new: State) -> None:
        if new.selection is not old.selection and (known := self._known(new.selection)) != new.selection:
            self.store.update(undoable=False, selection=known)  # undo may lead to groups of a hierarchy that is gone
            return
        self.changed()
        if new.picture is not None and (new.current != old.current or new.pictures != old.pictures):
            # What failed while computing ahead is tried again, and told, once it is looked at.
            self.compute.forget_failures(picture=new.picture)
        if set(wanted_pairs(new)) != set(wanted_pairs(old)) or new.current != old.current:
            self.compute.run()
        elif self.compute.shows_methods(new):
            self.compute.methods.run()

    def change_pane(self, index: int, **changes: Any) -> None:
        """Change attributes of one pane; a method that is chosen again is computed again where it had failed."""
        super().change_pane(index, **changes)
        if isinstance(shows := changes.get("shows"), Method):
            self.compute.methods.retry(shows)

    # Opening

    def open_checkpoint(self, path: str | Path, **answers: Any) -> None:
        """Explain with another checkpoint from now on; a failure leaves the one at hand as it was.

        The one at hand is read anew, and has its own hierarchy again. Others keep the one that they were given here.
        `answers` are the attributes of `calm_gui.model.answers.Answers` for a file that doesn't say what it is.
        """
        key = file_key(path)

        def done() -> None:
            self._speak(key)
            self.compute.run()

        self.complain("")
        self.compute.open(key, Answers(**answers), done)

    def close_checkpoint(self, key: str) -> None:
        """Unload a checkpoint that isn't the chosen one; panes that showed it go, the last one shows the chosen one."""
        if key == self.state.selection.checkpoint:
            self.complain(f"{self.name_of(key)} is the chosen checkpoint; open another one first")
            return
        panes = tuple(pane for pane in self.state.panes if pane.checkpoint != key)
        panes = panes or (self.state.panes[0]._replace(checkpoint=None),)
        self.compute.close(key)
        self.store.update(panes=panes, active=min(self.state.active, len(panes) - 1))
        self.changed()
        self.compute.run()

    def open_beside(self, old: str, path: str | Path) -> None:
        """Open what was made from a checkpoint and show both: the map of the old one, and the new one's attribution."""
        key = file_key(path)

        def done() -> None:
            self.compute.pass_on_hierarchy(old, key)
            state, shown = self.state, self.scene.active
            checkpoint = None if state.selection.checkpoint == old else old
            first = shown.pane._replace(shows=shown.shows, checkpoint=checkpoint)
            second = first._replace(shows=ATTRIBUTION, checkpoint=key)
            self.store.update(panes=(first, second), active=1)
            self.compute.run()

        self.compute.open(key, Answers(), done)

    def save_session(self, path: str | Path) -> None:
        """Write what is open and chosen; errors as for `calm_gui.model.files.atomic_path`."""
        from calm_gui.session.persistence import save_session

        shown = tuple(content.heading for content in self.scene.panes)
        save_session(path, self.state, shown, sentence(self.scene), hashes_of(self.cache.explanations))

    def open_session(self, path: str | Path) -> "SavedSession | None":
        """Open what a session file says; what was opened.

        A file that can't be used leaves everything as it was. The user's named sets stay; those of the session are
        added to them, under another name where the user has another set of that name.
        """
        from calm_gui.session.persistence import load_session

        try:
            saved = load_session(path)
        except CalmError as error:
            self.complain(str(error))
            return None
        checkpoint = saved.state.selection.checkpoint
        if saved.note:
            self.complain(saved.note)
        if saved.missing:
            names = ", ".join(Path(name).name for name in saved.missing[:3])
            many = f"{counted(len(saved.missing), 'picture')} of the session"
            self.complain(f"{many} can't be found ({names}); put what is missing into the session's folder")
            if not saved.state.pictures and self.state.pictures:
                return None
        if not Path(checkpoint).exists() and checkpoint not in self.compute.infos:
            was = "; ".join((*saved.shown, saved.sentence))
            self.complain(f"the session's checkpoint {checkpoint} isn't here. When it was saved it showed: {was}")
            return None
        if checkpoint not in self.compute.infos:
            self.compute.read_info(checkpoint)

        def reset() -> None:
            self.compute.forget_failures()
            self._as_saved.begin(saved.hashes)
            self.store.reset(saved.state._replace(named_sets=with_sets(self.state.named_sets, saved.state.named_sets)))
            self.compute.run()

        if self.state.pictures and checkpoint not in self.compute.models:
            self.compute.open(checkpoint, Answers(), reset)  # what is open stays where this fails
        else:
            reset()
        return saved

    def _speak(self, checkpoint: str) -> None:
        """Let the selection speak of a checkpoint's classes, and say what they lack."""
        selection, lacking = self._translated(checkpoint)
        untouched = self.state.panes == self.default_panes
        self.store.update(selection=selection, panes=self._panes_for(checkpoint) if untouched else self.state.panes)
        self.changed()
        if lacking:
            self.complain(lacking)

    def name_of(self, checkpoint: str) -> str:
        """What a checkpoint is called among those that are open."""
        return checkpoint_names((*self.compute.infos, checkpoint))[checkpoint]

    def _translated(self, checkpoint: str) -> tuple[Selection, str]:
        """The selection in another checkpoint's classes; a set that it lacks falls back to the first guess, and why."""
        there, old = self.compute.infos[checkpoint], self.state.selection
        here = self.compute.infos.get(old.checkpoint, there)
        lacking: list[str] = []

        def translate(expression: Expression, default: str) -> Expression:
            try:
                moved = carried(expression, here, there, whose=self.name_of(checkpoint))
                evaluate(moved, there.classes, there.hierarchy)
            except ClassLookupError as error:
                lacking.append(f"{error}; the {SPECIAL[default]} is used instead")
                return Expression.of(default)
            return moved

        target, contrast = translate(old.target, "@predicted"), translate(old.contrast, "@runner-up")
        return Selection(checkpoint, target, contrast), "; ".join(lacking)

    def _known(self, selection: Selection) -> Selection:
        """A selection with its first guesses in the place of sets whose names mean nothing to its checkpoint now."""
        info = self.compute.infos.get(selection.checkpoint)
        if info is None:
            return selection

        def known(expression: Expression, default: str) -> Expression:
            named = Expression(tuple(term for term in expression.terms if not term.key.startswith("@")))
            try:
                evaluate(named, info.classes, info.hierarchy)
            except ClassLookupError as error:
                self.complain(f"{error}; the {SPECIAL[default]} is used instead")
                return Expression.of(default)
            return expression

        return selection._replace(
            target=known(selection.target, "@predicted"), contrast=known(selection.contrast, "@runner-up")
        )

    def close(self) -> None:
        """Stop the worker."""
        for listeners in (self._listeners, self._complaints, self._questions):
            listeners.clear()
        self.compute.runner.close()

    # Ground truth, hierarchy, device

    def load_truth(self, path: str | Path) -> None:
        """Take classes and boxes of pictures from a table; one that can't be used leaves the one at hand."""
        info = self.compute.infos.get(self.state.selection.checkpoint)
        key = file_key(path)
        if info is not None:
            try:
                self.truth = read_truth(key, info.classes)
            except CalmError as error:
                self.complain(str(error))
                return
            self._truth_for = key, info.classes
        self.complain("")
        self.store.update(undoable=False, truth_table=key)
        self.changed()
        self.say(self.truth.coverage(self.state.pictures) if info else f"{Path(path).name} waits for the checkpoint")

    def _follow_truth(self) -> None:
        """Read the table of ground truth for classes that it was not read for: of a checkpoint or a session."""
        info = self.compute.infos.get(self.state.selection.checkpoint)
        wanted = self.state.truth_table, info.classes if info else None
        if info is None or (wanted[0] == self._truth_for[0] and wanted[1] is self._truth_for[1]):
            return
        read_before, self._truth_for = self._truth_for[0], wanted
        if wanted[0] is None:
            self.truth = GroundTruth() if read_before is not None else self.truth
            return
        try:
            self.truth = read_truth(wanted[0], info.classes)
        except CalmError as error:
            self.truth = GroundTruth()
            self.complain(str(error))

    def true_class(self, picture: str) -> int | None:
        """The class that a picture shows, from the table or its folder's name; None if it isn't known."""
        info = self.compute.infos.get(self.state.selection.checkpoint)
        return None if info is None else true_class(self.truth, picture, info.classes)

    def set_target_of(self, node: Node, explanation: ClassifiedPicture) -> None:
        """Make a group of an explanation the target, whichever checkpoint's classes the selection speaks of."""
        there = self.compute.infos[self.state.selection.checkpoint]
        try:
            named = carried(Expression.of(node.key), explanation, there, self.name_of(self.state.selection.checkpoint))
        except ClassLookupError as error:
            self.complain(str(error))
            return
        self.set_target(named)

    def set_hierarchy(self, hierarchy: Hierarchy | None, supersets: tuple[str, ...] = ()) -> None:
        """Use another hierarchy and superset table with the chosen checkpoint's classes."""
        key = self.state.selection.checkpoint
        if key in self.compute.infos:
            self.compute.set_hierarchy(key, hierarchy, supersets)
            self._speak(key)
            self.compute.run()

    def set_device(self, device: str) -> None:
        """Compute on another device from now on."""
        self.compute.set_device(device)
        self.changed()
        self.compute.run()

    def predict_all(self) -> None:
        """Find the predicted class of every open picture, when there is nothing more urgent."""
        self.compute.predict(self.state.pictures, self.state.selection.checkpoint)
