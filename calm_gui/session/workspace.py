"""The user's intents: open, choose, arrange. Loading and forward passes go to the runner; the rest happens at once."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.core.maps import AnyMap, Map
from calm_gui.errors import CalmError, CheckpointError, ClassLookupError, DeviceMemoryError, PictureError
from calm_gui.methods import Method
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.info import CheckpointInfo, read_info
from calm_gui.render.map_scale import quantity
from calm_gui.render.naming import counted
from calm_gui.session.expression import Expression, Term, class_key, evaluate, shortest_expression
from calm_gui.session.jobs import Job, Runner
from calm_gui.session.ledger import sentence
from calm_gui.session.limits import Limits
from calm_gui.session.pane import MAX_PANES, Pane
from calm_gui.session.scene import MethodRequest, Scene
from calm_gui.session.state import RegionShape, Selection, State, View
from calm_gui.session.store import Store
from calm_gui.session.truth import GroundTruth, class_of_folder, read_truth

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["PICTURE_SUFFIXES", "Workspace", "pictures_in"]

PICTURE_SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in "jpg jpeg png webp tif tiff bmp gif avif jp2 ppm pgm tga ico".split()  # noqa: SIM905
)
"""What counts as a picture when a folder is opened; a file that is named is opened whatever it is called."""

_CACHE_BYTES = 96 * 2**20
_MOST_METHOD_MAPS = 64
_log = logging.getLogger(__name__)


def _key_of(path: str | Path) -> str:
    """Absolute path of a file, by which it is known; links keep their names, but no file has two keys by ``..``."""
    path = Path(path).absolute()
    if ".." in path.parts:
        with suppress(OSError, RuntimeError, ValueError):  # a circle of links, a zero byte in the name
            return str(path.parent.resolve() / path.name)
    return str(path)


def pictures_in(paths: Iterable[str | Path]) -> list[str]:
    """Absolute paths of files, and of the pictures in folders, in order and each once.

    Hidden files (such as the side files that macOS leaves) are passed over in folders.
    """
    found: dict[str, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURE_SUFFIXES and p.name[0] != ".")
            found.update(dict.fromkeys(map(_key_of, inside)))
        else:
            found[_key_of(path)] = None
    return list(found)


class Workspace:
    """What is open, and what the user does with it.

    Parameters
    ----------
    checkpoint : str
        Key (path) of the checkpoint to begin with.
    runner : Runner
    load : callable
        (checkpoint path, device, progress, answers) -> LoadedModel; runs on the worker.
    device : str

    Attributes
    ----------
    store : Store
    infos : dict of checkpoint key to CheckpointInfo
        Of all checkpoints that were opened.
    models : dict of checkpoint key to LoadedModel
        Of those that are loaded.
    forward_ms : float or None
        Duration of the last forward pass.
    truth : GroundTruth
    predictions : dict of (picture, checkpoint) to (class index, p)
        Of all pictures that were explained.
    """

    def __init__(
        self,
        checkpoint: str,
        runner: Runner,
        load: "Callable[[str, str, Callable[[str], None], Answers], LoadedModel]",
        device: str = "auto",
    ) -> None:
        self.store = Store(State(Selection(checkpoint)))
        self.runner = runner
        self.device = device
        self.infos: dict[str, CheckpointInfo] = {}
        self.models: dict[str, LoadedModel] = {}
        self._doing = ""
        self.forward_ms: float | None = None
        self.failures: dict[tuple[str, str], str] = {}
        self._told: set[tuple[str, str]] = set()
        self._pending: dict[tuple[str, str], int] = {}
        self._loading: str | None = None
        self._stamps: dict[str, tuple[int, int]] = {}
        self._method_maps: dict[MethodRequest, AnyMap | CalmError] = {}
        self._asked_methods: set[MethodRequest] = set()
        self.truth = GroundTruth()
        self.predictions: dict[tuple[str, str], tuple[int, float]] = {}
        self._load = load
        self._own_hierarchies: dict[str, tuple[Hierarchy | None, tuple[str, ...]]] = {}
        self._fresh: tuple[str, LoadedModel] | None = None  # the worker's, until the window has heard of it
        self._explanations: OrderedDict[tuple[str, str], AnyExplanation] = OrderedDict()
        self._maps: dict[tuple[object, ...], AnyMap | CalmError] = {}
        self._scene: Scene | None = None
        self._listeners: list[Callable[[], None]] = []
        self._complaints: list[Callable[[str], None]] = []
        self._questions: list[Callable[[str, AnswersNeeded], None]] = []
        self.store.observe(self._on_state)
        self._read_info(checkpoint)

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
    def state(self) -> State:
        """The state."""
        return self.store.state

    @property
    def scene(self) -> Scene:
        """What the state shows."""
        if self._scene is None:
            self._scene = Scene(self.state, self.infos, self.explanation, self._method_maps, self._maps, self.failures)
        return self._scene

    def explanation(self, picture: str | None, checkpoint: str) -> AnyExplanation | None:
        """The explanation at hand, or None."""
        return self._explanations.get((picture, checkpoint)) if picture else None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being loaded, or something that is shown is still being computed."""
        return (
            self._loading is not None
            or bool(self._asked_methods)
            or any(
                picture and (picture, checkpoint) not in self.failures and not self.explanation(picture, checkpoint)
                for picture, checkpoint in self._wanted()
            )
        )

    def _changed(self) -> None:
        self._scene = None
        if not self.busy:
            self._doing = ""
        for listener in self._listeners:
            listener()

    def _say(self, status: str) -> None:
        self._doing = status
        for listener in self._listeners:
            listener()

    def complain(self, sentence: str) -> None:
        """Tell the user what went wrong; an empty sentence takes the last one back."""
        if sentence:
            _log.warning(sentence)
        for listener in self._complaints:
            listener(sentence)

    def _on_state(self, old: State, new: State) -> None:
        if new.selection is not old.selection and (known := self._known(new.selection)) != new.selection:
            self.store.update(undoable=False, selection=known)  # undo may lead to groups of a hierarchy that is gone
            return
        self._changed()
        if new.current != old.current or new.pictures != old.pictures:
            # What failed while computing ahead is tried again, and told, once it is looked at.
            self.failures = {pair: why for pair, why in self.failures.items() if pair[0] != new.picture}
        if set(self._wanted(new)) != set(self._wanted(old)) or new.current != old.current:
            self.compute()
        elif any(isinstance(pane.shows, Method) for pane in new.panes):
            self._compute_methods()

    # Opening

    def open_pictures(self, paths: Iterable[str | Path], current: str | None = None) -> None:
        """Show pictures (and the pictures of folders) instead of the open ones; the first, or `current`, is shown."""
        try:
            keys = pictures_in(paths)
        except OSError as error:
            self.complain(f"{error.filename} can't be opened: {error.strerror}")
            return
        missing = [key for key in keys if not Path(key).exists()]
        if missing:
            self.complain(f"there is no file {missing[0]}" + (f" (and {len(missing) - 1} more)" if missing[1:] else ""))
        keys = [key for key in keys if key not in missing]
        if not keys:
            if not missing:
                self.complain("there are no pictures in what was opened")
            return
        self.failures.clear()
        self._told.clear()
        self.complain("")
        position = keys.index(_key_of(current)) if current else 0
        self.store.update(undoable=False, pictures=tuple(keys), current=position)
        self.compute()

    def show_picture(self, position: int) -> None:
        """Go to an open picture by its position; out of range is ignored."""
        if 0 <= position < len(self.state.pictures):
            self.store.update(undoable=False, current=position)

    def step_picture(self, by: int, shown: Callable[[int], bool] = lambda _: True) -> None:
        """Go to the next (1) or previous (-1) picture of those `shown`, by position, passing those known to be bad."""
        position = self.state.current + by
        bad = {picture for picture, _ in self._told}
        while 0 <= position < len(self.state.pictures) and (
            self.state.pictures[position] in bad or not shown(position)
        ):
            position += by
        self.show_picture(position)

    def open_checkpoint(self, path: str | Path, **answers: Any) -> None:
        """Explain with another checkpoint from now on; a failure leaves the one at hand as it was.

        The one at hand is read anew, and has its own hierarchy again. Others keep the one that they were given here.
        `answers` are the attributes of `calm_gui.model.answers.Answers` for a file that doesn't say what it is.
        """
        key = _key_of(path)

        def failed(error: Exception) -> None:
            self._loading = None
            self._failed(error, key)

        def done(model: "LoadedModel") -> None:
            self._loading = None
            if key == self.state.selection.checkpoint and key in self._own_hierarchies:
                del self._own_hierarchies[key]
                self._forget_explanations(key)
            self._keep_model(key, model)
            self.failures = {pair: why for pair, why in self.failures.items() if pair[1] != key}
            selection = self._translated(key)
            self.store.update(selection=selection)
            self._changed()
            self.compute()

        self.complain("")
        self._loading = key
        self._say(f"loading {Path(path).name}")
        given = Answers(**answers)
        self.runner.submit(
            Job("checkpoint", lambda job: self._load(key, self.device, job.progress, given), done, failed, self._say)
        )

    def preview(self, path: str, answers: Answers, done: Callable[[str], None]) -> None:
        """Tell what a checkpoint with these answers would predict for the current picture, without opening it."""

        def work(job: Job) -> str:
            from calm_gui.model.loaded import load_model

            model = load_model(path, self.device, None, job.progress, answers)
            job.check()
            top = model.explain(self.state.picture).top(5) if self.state.picture else []
            return "\n".join(f"{p:.4f}  {model.classes[index].name}" for index, p in top) or "no picture is open"

        def told(text: str) -> None:
            self._say("")
            done(text)

        self.runner.submit(Job("preview", work, told, lambda error: told(_sentence(error)), self._say))

    def save_session(self, path: str | Path) -> None:
        """Write what is open and chosen; errors as for `calm_gui.model.files.atomic_path`."""
        from calm_gui.session.persistence import save_session

        shown = tuple(f"{content.title} · {content.subtitle}" for content in self.scene.panes)
        save_session(path, self.state, shown, sentence(self.scene))

    def open_session(self, path: str | Path) -> None:
        """Open what a session file says; a file that can't be used leaves everything as it was."""
        from calm_gui.session.persistence import load_session

        try:
            saved = load_session(path)
        except CalmError as error:
            self.complain(str(error))
            return
        checkpoint = saved.state.selection.checkpoint
        if saved.missing:
            names = ", ".join(Path(name).name for name in saved.missing[:3])
            many = f"{counted(len(saved.missing), 'picture')} of the session"
            self.complain(f"{many} can't be found ({names}); put what is missing beside it")
        if not Path(checkpoint).exists() and checkpoint not in self.infos:
            was = "; ".join((*saved.shown, saved.sentence))
            self.complain(f"the session's checkpoint {checkpoint} isn't here. When it was saved it showed: {was}")
            return
        if checkpoint not in self.infos:
            self._read_info(checkpoint)
        self.failures.clear()
        self.store.reset(saved.state)
        self.compute()

    def _translated(self, checkpoint: str) -> Selection:
        """The selection in another checkpoint's classes; terms that it lacks fall back to the first guess."""
        info = self.infos[checkpoint]
        known = {class_key(i, info.classes) for i in range(len(info.classes))} | set(info.hierarchy or ())

        def translate(expression: Expression, default: str) -> Expression:
            same = all(t.key.startswith("@") or t.key in known for t in expression.terms)
            return expression if same else Expression.of(default)

        old = self.state.selection
        return Selection(checkpoint, translate(old.target, "@predicted"), translate(old.contrast, "@runner-up"))

    def _known(self, selection: Selection) -> Selection:
        """A selection with its first guesses in the place of sets whose names mean nothing to its checkpoint now."""
        info = self.infos.get(selection.checkpoint)
        if info is None:
            return selection

        def known(expression: Expression, default: str) -> Expression:
            named = Expression(tuple(term for term in expression.terms if not term.key.startswith("@")))
            try:
                evaluate(named, info.classes, info.hierarchy)
            except ClassLookupError:
                return Expression.of(default)
            return expression

        return selection._replace(
            target=known(selection.target, "@predicted"), contrast=known(selection.contrast, "@runner-up")
        )

    def _read_info(self, checkpoint: str) -> None:
        try:
            self.infos[checkpoint] = read_info(checkpoint)
        except CheckpointError as error:
            # The load on the worker says it again, to a window that's there by then.
            _log.info("metadata not read ahead: %s", error)

    # Computing

    def _wanted(self, state: State | None = None) -> list[tuple[str, str]]:
        """(picture, checkpoint) pairs that a state shows, the current picture's first."""
        state = state or self.state
        pairs = [(state.picture, state.selection.checkpoint), *(state.pane_keys(pane) for pane in state.panes)]
        return list(dict.fromkeys((p, c) for p, c in pairs if p))

    def compute(self) -> None:
        """Ask for every explanation that is shown but not at hand, then for the next picture's."""
        wanted = self._wanted()
        self._forget_changed({picture for picture, _ in wanted})
        for pair in [pair for pair, urgency in self._pending.items() if urgency == 0 and pair not in wanted]:
            self.runner.cancel(("explain", *pair))
            del self._pending[pair]
        for pair in wanted:
            if pair not in self._explanations and pair not in self.failures:
                self._submit(pair, urgency=0)
            elif pair in self._explanations:
                self._explanations.move_to_end(pair)
        following = self.state.current + 1
        if 0 < following < len(self.state.pictures):
            pair = (self.state.pictures[following], self.state.selection.checkpoint)
            if pair not in self._explanations and pair not in self.failures:
                self._submit(pair, urgency=1)
        self._compute_methods()

    def _forget_changed(self, pictures: set[str]) -> None:
        """Forget the explanations of pictures whose files aren't what they were."""
        for picture in pictures:
            stamp = _stamp(picture)
            if self._stamps.setdefault(picture, stamp) != stamp:
                self._stamps[picture] = stamp
                for pair in [pair for pair in self._explanations if pair[0] == picture]:
                    del self._explanations[pair]
                self.failures = {pair: why for pair, why in self.failures.items() if pair[0] != picture}
                self._maps.clear()
                self._method_maps.clear()
                self._scene = None

    def _compute_methods(self) -> None:
        """Ask for the maps of methods that are shown and not at hand; those that are no longer shown are stopped."""
        wanted = [request for request in self.scene.method_requests() if request not in self._method_maps]
        for request in self._asked_methods - set(wanted):
            self.runner.cancel(("method", *request))
        for request in wanted:
            if request not in self._asked_methods:
                self._submit_method(request)
        self._asked_methods = set(wanted)

    def _submit_method(self, request: MethodRequest) -> None:
        picture, checkpoint, method, target = request
        model = self.models[checkpoint]
        explanation = self.explanation(picture, checkpoint)

        def work(job: Job) -> Map:
            passes = 0

            def tick() -> None:
                nonlocal passes
                job.check()
                passes += 1
                job.progress(f"{method.title}: pass {passes}")

            return method.map(model, picture, target, tick, explanation)

        def done(result: "Map | Exception") -> None:
            if len(self._method_maps) > _MOST_METHOD_MAPS:
                self._method_maps.clear()
            self._method_maps[request] = result if isinstance(result, Map) else CalmError(_sentence(result))
            self._asked_methods.discard(request)
            self._doing = ""
            self._changed()

        self.runner.submit(Job(("method", *request), work, done, done, self._say, urgency=2))

    def _submit(self, pair: tuple[str, str], urgency: int) -> None:
        if self._pending.get(pair, urgency + 1) <= urgency:
            return  # on its way, and soon enough
        self._pending[pair] = urgency
        picture, checkpoint = pair
        short_of_memory: list[str] = []

        def work(job: Job) -> "tuple[LoadedModel, AnyExplanation, float]":
            from calm_gui.model.picture import load_picture

            model = self._model_for(checkpoint, job.progress if urgency == 0 else lambda _: None)
            job.check()
            if urgency == 0:
                job.progress(f"explaining {Path(picture).name}")
            pixels = load_picture(picture)
            job.check()
            start = perf_counter()
            explanation: AnyExplanation
            try:
                explanation = model.explain(pixels)
            except DeviceMemoryError as error:
                _log.warning("%s; going on with the CPU", error)
                model = self._load(checkpoint, "cpu", job.progress, Answers())
                explanation = model.explain(pixels)
                short_of_memory.append(str(error))
            duration = (perf_counter() - start) * 1000
            explanation.node_probabilities  # noqa: B018  computed here, so that no click waits for it
            return model, explanation, duration

        def done(result: "tuple[LoadedModel, AnyExplanation, float]") -> None:
            self._pending.pop(pair, None)
            model, explanation, duration = result
            if self.forward_ms is None:
                self._import_ahead()
            self._keep_model(checkpoint, model)
            if short_of_memory and self.device != "cpu":
                self.device = "cpu"
                self.complain(f"{short_of_memory[0]}; the CPU computes from now on")
            if urgency < 2 or pair in self._wanted():
                self._keep_explanation(pair, explanation)
            self.predictions[pair] = explanation.top(1)[0]
            self.forward_ms = duration
            if pair in self._wanted():
                self._doing = ""
                self._changed()
                self.compute()
            elif urgency == 2:
                self._changed()

        def failed(error: Exception) -> None:
            self._pending.pop(pair, None)
            self.failures[pair] = _sentence(error)
            if pair in self._wanted():
                self._told.add(pair)
                self._failed(error, checkpoint)
                self._back_from(picture, error)

        self.runner.submit(Job(("explain", *pair), work, done, failed, self._say, urgency))

    def _back_from(self, picture: str, error: Exception) -> None:
        """After a picture that can't be opened, show the last good one again."""
        if isinstance(error, PictureError) and picture == self.state.picture:
            good = {p for p, _ in self._explanations}
            positions = [i for i, key in enumerate(self.state.pictures) if key in good]
            if positions:
                nearest = min(positions, key=lambda i: abs(i - self.state.current))
                self.store.update(undoable=False, current=nearest)

    def _failed(self, error: Exception, checkpoint: str) -> None:
        if isinstance(error, AnswersNeeded) and self._questions:
            self._changed()
            self._say(f"{Path(checkpoint).name} waits for answers")
            for listener in self._questions:
                listener(checkpoint, error)
            return
        if not isinstance(error, CalmError):
            _log.error("unexpected failure", exc_info=error)
        self._changed()
        self._say("")
        self.complain(_sentence(error))

    def _import_ahead(self) -> None:
        """Import on the worker what the first threshold would otherwise wait for: a sixth of a second."""
        self.runner.submit(
            Job("import", lambda _: import_module("scipy.ndimage"), lambda _: None, lambda _: None, urgency=9)
        )

    def _model_for(self, key: str, progress: Callable[[str], None]) -> "LoadedModel":
        """A checkpoint's model, on the worker: loaded once, though jobs that wait already want it too."""
        if model := self.models.get(key):
            return model
        fresh = self._fresh
        if fresh is None or fresh[0] != key:
            self._fresh = fresh = key, self._load(key, self.device, progress, Answers())
        return fresh[1]

    def _keep_model(self, key: str, model: "LoadedModel") -> None:
        if own := self._own_hierarchies.get(key):
            hierarchy, supersets = own
            model.info = replace(model.info, hierarchy=hierarchy, supersets=supersets)
            model.hierarchy, model.supersets = hierarchy, model.info.superset_table
        self.models[key] = model
        self.infos[key] = model.info
        self._fresh = None

    def _forget_explanations(self, checkpoint: str) -> None:
        for pair in [pair for pair in self._explanations if pair[1] == checkpoint]:
            del self._explanations[pair]
        self._maps.clear()

    def _keep_explanation(self, pair: tuple[str, str], explanation: AnyExplanation) -> None:
        info = self.infos[pair[1]]
        if explanation.hierarchy is not info.hierarchy:  # which was changed while the worker explained
            explanation.give_hierarchy(info.hierarchy, info.superset_table)
        if pair in self._explanations:
            self._maps.clear()  # its keys name the explanation that goes
        self._explanations[pair] = explanation
        size = sum(_bytes_of(e) for e in self._explanations.values())
        wanted = set(self._wanted())
        for old in list(self._explanations):
            if size <= _CACHE_BYTES:
                break
            if old not in wanted and old != pair:
                size -= _bytes_of(self._explanations.pop(old))
                self._maps.clear()

    def close(self) -> None:
        """Stop the worker."""
        self._listeners.clear()
        self._complaints.clear()
        self._questions.clear()
        self.runner.close()

    # Choosing

    def set_target(self, expression: Expression) -> None:
        """Make an expression the target A."""
        self.store.update(selection=self.state.selection._replace(target=expression))

    def set_contrast(self, expression: Expression) -> None:
        """Make an expression the contrast B."""
        self.store.update(selection=self.state.selection._replace(contrast=expression))

    def toggle(self, key: str) -> None:
        """Add a node or class to the target, or take it away if the target holds all of it."""
        scene = self.scene
        classes = scene._set(Expression.of(key))
        target = self.state.selection.target
        if target.terms and target.terms[0].key.startswith("@") and len(target.terms) == 1:
            # A set that follows the picture is pinned before it's edited.
            target = shortest_expression(scene.target, scene.classes, scene.hierarchy)
        kept = Expression(tuple(term for term in target.terms if term.key != key))
        if classes <= scene.target:
            target = target.excluding(key)
            if scene._set(target) & classes:  # other terms hold some of it too
                target = Expression((*kept.terms, Term(key, "-")))
        else:
            target = kept if classes <= scene._set(kept) else target.including(key)
        self.set_target(target)

    def swap(self) -> None:
        """Exchange target and contrast, as they are now."""
        selection = self.state.selection
        target, contrast = self._pinned(selection.target), self._pinned(selection.contrast)
        self.store.update(selection=selection._replace(target=contrast, contrast=target))

    def _pinned(self, expression: Expression) -> Expression:
        """The expression with a term that follows the other set replaced by the classes it stands for."""
        if not any(term.key in ("@runner-up", "@rest", "@siblings") for term in expression.terms):
            return expression
        classes = self.scene._set(expression)
        return shortest_expression(classes, self.scene.classes, self.scene.hierarchy)

    def climb(self, up: bool) -> None:
        """Make the next larger (or smaller) step of the hierarchy strip the target."""
        steps = self.scene.strip
        if not steps:
            return
        size = len(self.scene.target)
        if up:
            larger = [step for step in steps if len(step.node.classes) > size]
            goal = larger[0] if larger else None
        else:
            smaller = [step for step in steps if len(step.node.classes) < size]
            goal = smaller[-1] if smaller else None
        if goal:
            self.set_target(Expression.of(goal.node.key))

    # Arranging

    def update_view(self, undoable: bool = True, **changes: Any) -> None:
        """Change attributes of the view."""
        self.store.update(undoable, view=self.state.view._replace(**changes))

    def lock_scales(self) -> None:
        """Keep the limits that are shown now for all pictures to come."""
        scales = {quantity(c.shown): c.scale for c in self.scene.panes if isinstance(c.shown, Map) and c.scale}
        limits = tuple(Limits(name, scale.low, scale.high) for name, scale in scales.items())
        self.update_view(scale_mode="shared", limits=limits)

    def set_limits(self, of: str, limits: Limits | None, undoable: bool = True) -> None:
        """Set the limits of the colours of one quantity; None fits them to the maps again."""
        others = tuple(one for one in self.state.view.limits if one.quantity != of)
        self.update_view(undoable, limits=(*others, limits) if limits else others)

    def set_panes(self, panes: Iterable[Pane]) -> None:
        """Show other panes, at most `MAX_PANES`."""
        panes = tuple(panes)[:MAX_PANES]
        if panes:
            self.store.update(panes=panes, active=min(self.state.active, len(panes) - 1))

    def change_pane(self, index: int, **changes: Any) -> None:
        """Change attributes of one pane."""
        panes = list(self.state.panes)
        panes[index] = panes[index]._replace(**changes)
        self.store.update(panes=tuple(panes))

    def add_pane(self) -> None:
        """Add a copy of the active pane and make it active."""
        if len(self.state.panes) < MAX_PANES:
            panes = (*self.state.panes, self.state.panes[self.state.active])
            self.store.update(panes=panes, active=len(panes) - 1)

    def close_pane(self, index: int) -> None:
        """Close a pane; the last one stays."""
        panes = self.state.panes[:index] + self.state.panes[index + 1 :]
        if panes:
            active = self.state.active - (self.state.active > index)
            self.store.update(panes=panes, active=min(active, len(panes) - 1))

    def activate(self, index: int) -> None:
        """Let the View panel speak of another pane."""
        self.store.update(undoable=False, active=index)

    def add_region(
        self, kind: str, points: Iterable[tuple[float, float]], radius: float = 0.0, picture: str | None = None
    ) -> None:
        """Mark a region on a picture, by default the current one; one that holds no area is ignored."""
        picture = picture or self.state.picture
        if picture is None:
            return
        taken = {region.name for region in self.state.regions_of(picture)}
        name = next(f"region {i}" for i in range(1, len(taken) + 2) if f"region {i}" not in taken)
        shape = RegionShape(name, picture, kind, tuple(points), radius)  # type: ignore[arg-type]
        if shape.holds_area:
            self.store.update(regions=(*self.state.regions, shape))

    def rename_region(self, shape: RegionShape, name: str) -> None:
        """Give a region another name."""
        renamed = shape._replace(name=name)
        self.store.update(regions=tuple(renamed if r == shape else r for r in self.state.regions))

    def remove_region(self, shape: RegionShape) -> None:
        """Forget a region."""
        self.store.update(regions=tuple(r for r in self.state.regions if r != shape))

    def keep_set(self, name: str, expression: Expression) -> None:
        """Keep a set under a name; an older one of that name goes."""
        kept = tuple(e for e in self.state.named_sets if e.name != name)
        self.store.update(undoable=False, named_sets=(*kept, expression._replace(name=name)))

    def forget_set(self, name: str) -> None:
        """Forget a kept set."""
        self.store.update(undoable=False, named_sets=tuple(e for e in self.state.named_sets if e.name != name))

    # Ground truth, hierarchy, device

    def load_truth(self, path: str | Path) -> None:
        """Take classes and boxes of pictures from a table."""
        info = self.infos.get(self.state.selection.checkpoint)
        if info is None:
            return
        try:
            self.truth = read_truth(path, info.classes)
        except CalmError as error:
            self.complain(str(error))
        else:
            self.complain("")
            self._changed()
            self._say(self.truth.coverage(self.state.pictures))

    def true_class(self, picture: str) -> int | None:
        """The class that a picture shows, from the table or its folder's name; None if it isn't known."""
        info = self.infos.get(self.state.selection.checkpoint)
        if info is None:
            return None
        known = self.truth.class_of(picture)
        return class_of_folder(picture, info.classes) if known is None else known

    def set_hierarchy(self, hierarchy: Hierarchy | None, supersets: tuple[str, ...] = ()) -> None:
        """Use another hierarchy and superset table with the chosen checkpoint's classes."""
        key = self.state.selection.checkpoint
        info = self.infos.get(key)
        if info is None:
            return
        self._own_hierarchies[key] = hierarchy, supersets
        self.infos[key] = replace(info, hierarchy=hierarchy, supersets=supersets)
        if model := self.models.get(key):
            self._keep_model(key, model)
        self._forget_explanations(key)
        self.store.update(selection=self._translated(key))
        self._changed()
        self.compute()

    def set_device(self, device: str) -> None:
        """Compute on another device from now on."""
        self.device = device
        self.models.clear()
        self._method_maps.clear()
        self._explanations.clear()
        self._maps.clear()
        self._changed()
        self.compute()

    def predict_all(self) -> None:
        """Find the predicted class of every open picture, when there is nothing more urgent."""
        checkpoint = self.state.selection.checkpoint
        for picture in self.state.pictures:
            pair = (picture, checkpoint)
            if pair not in self.predictions and pair not in self.failures:
                self._submit(pair, urgency=2)

    def reset_view(self) -> None:
        """Zoom so that the whole picture fits."""
        self.update_view(undoable=False, zoom=1.0, centre=View().centre)


def _sentence(error: Exception) -> str:
    if isinstance(error, CalmError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is too little memory for that; close other programs or use a smaller picture"
    return f"something unexpected failed ({type(error).__name__}: {error}); the log file has the details"


def _stamp(picture: str) -> tuple[int, int]:
    """What changes when a file is replaced; zeros where there is none."""
    try:
        status = Path(picture).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _bytes_of(explanation: AnyExplanation) -> int:
    picture = explanation.picture.nbytes if explanation.picture is not None else 0
    return 2 * explanation.f.nbytes + picture
