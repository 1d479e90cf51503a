"""What takes longer than a frame: loading checkpoints, forward passes and methods' maps, asked of the runner.

More than 400 lines: what the worker does and what becomes of it when it comes back are read together.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import CalmError, CheckpointError, DeviceMemoryError, PictureError
from calm_gui.methods import Method
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.info import CheckpointInfo, read_info
from calm_gui.session.cache import ExplanationCache, Pair
from calm_gui.session.explanation_disk import ExplanationDisk
from calm_gui.session.failures import error_sentence
from calm_gui.session.front import Front
from calm_gui.session.jobs import Job, Runner
from calm_gui.session.method_jobs import MethodJobs
from calm_gui.session.open_models import OpenModels, give_back_memory
from calm_gui.session.state import State
from calm_gui.session.trials import Trials

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.model.picture import Picture

__all__ = ["Compute", "LoadCheckpoint", "wanted_pairs"]

LoadCheckpoint = Callable[[str, str, Callable[[str], None], Answers], "LoadedModel"]
"""(checkpoint path, device, progress, answers) -> LoadedModel; runs on the worker."""

_AT_ONCE, _NOW, _NEXT, _WHOLE_FOLDER, _WHEN_IDLE = -1, 0, 1, 2, 9
"""Urgencies of jobs."""

_log = logging.getLogger(__name__)


def wanted_pairs(state: State) -> list[Pair]:
    """Pictures under checkpoints that a state shows, the current picture's first."""
    pairs = [(state.picture, state.selection.checkpoint), *(state.pane_keys(pane) for pane in state.panes)]
    return list(dict.fromkeys((picture, checkpoint) for picture, checkpoint in pairs if picture))


@dataclass(frozen=True, eq=False)
class _Found:
    """An explanation, and of one that was computed just now by what, in how long, and why on the CPU."""

    explanation: AnyExplanation
    model: "LoadedModel | None" = None
    milliseconds: float | None = None
    short_of_memory: str = ""


class Compute:
    """Asks the runner for what is shown and not at hand, and keeps what comes.

    Parameters
    ----------
    runner : Runner
    load : callable
        See `LoadCheckpoint`.
    device : str
    cache : ExplanationCache
    front : Front

    Attributes
    ----------
    infos : dict of checkpoint key to CheckpointInfo
        Of all checkpoints that were opened.
    models : OpenModels
        Those that are loaded.
    failures : dict of (picture, checkpoint) to str
        Why some explanations will not come.
    predictions : dict of (picture, checkpoint) to (class index, p)
        Of all pictures that were explained.
    forward_ms : float or None
        Duration of the last forward pass.
    loading : str or None
        Key of the checkpoint that is being opened.
    disk : ExplanationDisk
        What explanations of earlier days are found in, and kept.
    methods : MethodJobs
        Maps of methods of others.
    later : callable
        Does what can wait until what was just found has been drawn.
    """

    def __init__(
        self, runner: Runner, load: LoadCheckpoint, device: str, cache: ExplanationCache, front: Front
    ) -> None:
        self.runner = runner
        self.device = device
        self.infos: dict[str, CheckpointInfo] = {}
        self.models = OpenModels(unloaded=self._give_back_memory)
        self.failures: dict[Pair, str] = {}
        self.predictions: dict[Pair, tuple[int, float]] = {}
        self.forward_ms: float | None = None
        self.loading: str | None = None
        self.disk = ExplanationDisk(None)
        self.later: Callable[[Callable[[], None]], object] = lambda call: call()
        self._imported_ahead = False
        self.trials = Trials(runner, cache, front, lambda key: self._load_picture(key), lambda: self.device)
        self._load = load
        self._cache = cache
        self._front = front
        self._told: set[Pair] = set()
        self._pending: dict[Pair, int] = {}
        self.methods = MethodJobs(runner, cache, front, self.model_for)
        self._own_hierarchies: dict[str, tuple[Hierarchy | None, tuple[str, ...]]] = {}
        self._fresh: tuple[str, LoadedModel] | None = None  # the worker's, until the window has heard of it

    # What is going on

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being loaded, or something that is shown is still being computed."""
        return (
            self.loading is not None
            or self.trials.busy
            or bool(self.methods.asked)
            or any(pair not in self.failures and pair not in self._cache for pair in wanted_pairs(self._front.state))
        )

    @property
    def bad_pictures(self) -> set[str]:
        """Keys of pictures whose failure was told."""
        return {picture for picture, _ in self._told}

    def forget_failures(self, picture: str | None = None, checkpoint: str | None = None) -> None:
        """Try again what failed: of a picture, of a checkpoint, or all of it."""
        self.failures = {
            pair: why
            for pair, why in self.failures.items()
            if picture not in (None, pair[0]) or checkpoint not in (None, pair[1])
        }
        if picture is None and checkpoint is None:
            self._told.clear()

    # Checkpoints

    def read_info(self, checkpoint: str) -> None:
        """Read a checkpoint's metadata ahead of loading it; a failure is told when it is loaded."""
        try:
            self.infos[checkpoint] = read_info(checkpoint)
        except CheckpointError as error:
            _log.info("metadata not read ahead: %s", error)

    def open(self, key: str, answers: Answers, done: Callable[[], None]) -> None:
        """Load a checkpoint, anew if it is loaded, and call `done`; a failure leaves everything as it was."""

        def failed(error: Exception) -> None:
            self.loading = None
            self._failed(error, key)

        def loaded(model: "LoadedModel") -> None:
            self.loading = None
            if key == self._front.state.selection.checkpoint and key in self._own_hierarchies:
                del self._own_hierarchies[key]
                self._cache.forget(checkpoint=key)
            self._keep_model(key, model)
            self.forget_failures(checkpoint=key)
            done()

        self.loading = key
        self._front.say(f"loading {Path(key).name}")
        self.runner.submit(
            Job(
                "checkpoint",
                lambda job: self._load(key, self.device, job.progress, answers),
                loaded,
                failed,
                self._front.say,
            )
        )

    def set_hierarchy(self, key: str, hierarchy: Hierarchy | None, supersets: tuple[str, ...]) -> None:
        """Use another hierarchy and superset table with a checkpoint's classes, until it is opened anew."""
        self._own_hierarchies[key] = hierarchy, supersets
        self.infos[key] = replace(self.infos[key], hierarchy=hierarchy, supersets=supersets)
        if model := self.models.get(key):
            self._keep_model(key, model)
        self._cache.forget(checkpoint=key)

    def pass_on_hierarchy(self, old: str, new: str) -> None:
        """Give a checkpoint made from another one the hierarchy that the other was given here."""
        if own := self._own_hierarchies.get(old):
            self.set_hierarchy(new, *own)

    def set_device(self, device: str) -> None:
        """Compute on another device from now on."""
        self.device = device
        self.models.clear()
        self._cache.forget()

    def ask_again(self, key: str) -> None:
        """Ask what a file of another program doesn't say, beginning with what was answered."""

        def ask(question: AnswersNeeded) -> None:
            self._front.ask(key, question)

        self.trials.question(key, self.infos.get(key), ask, lambda error: self._failed(error, key))

    def open_pictures(
        self, pictures: Sequence[str], first: int, done: Callable[[int, str], None], failed: Callable[[str], None]
    ) -> None:
        """As `Trials.first_that_opens`; what takes long gives way, and is asked again by what comes."""
        self.methods.pause()
        self.trials.first_that_opens(pictures, first, done, failed)

    # Explanations

    def run(self) -> None:
        """Ask for every explanation that is shown but not at hand, then for the next picture's."""
        state = self._front.state
        wanted = wanted_pairs(state)
        for picture in self._cache.forget_changed({picture for picture, _ in wanted}):
            self.forget_failures(picture=picture)
        for pair in [pair for pair, urgency in self._pending.items() if urgency == _NOW and pair not in wanted]:
            self.runner.cancel(("explain", *pair))
            del self._pending[pair]
        for pair in wanted:
            if pair in self._cache:
                self._cache.use(pair)
            else:
                if pair not in self.failures and self._cache.picture(pair[0]) is None:
                    self._show_ahead(pair[0])
                self._request(pair, _NOW)
        following = state.current + 1
        if 0 < following < len(state.pictures):
            self._request((state.pictures[following], state.selection.checkpoint), _NEXT)
        self.methods.run()

    def predict(self, pictures: Iterable[str], checkpoint: str) -> None:
        """Find the predicted class of pictures, when there is nothing more urgent."""
        for picture in pictures:
            if (picture, checkpoint) not in self.predictions:
                self._request((picture, checkpoint), _WHOLE_FOLDER)

    def _request(self, pair: Pair, urgency: int) -> None:
        known = pair in self.failures or (pair in self._cache and urgency != _WHOLE_FOLDER)
        if known or self._pending.get(pair, urgency + 1) <= urgency:
            return  # it failed, it's at hand, or it's on its way and soon enough
        self._pending[pair] = urgency
        self.runner.submit(
            Job(
                ("explain", *pair),
                lambda job: self._explain(job, pair, urgency),
                lambda found: self._explained(pair, urgency, found),
                lambda error: self._explain_failed(pair, error),
                self._front.say,
                urgency,
            )
        )

    def _explain(self, job: Job, pair: Pair, urgency: int) -> "_Found":
        """On the worker: an explanation, from the disk or the network."""
        picture, checkpoint = pair
        pixels = self._load_picture(picture)
        loaded = self.models.get(checkpoint)
        if (kept := self.disk.find(checkpoint, self.infos.get(checkpoint), self.device, pixels, loaded)) is not None:
            kept.node_probabilities  # noqa: B018  computed here, so that no click waits for it
            return _Found(kept)
        model = self.model_for(checkpoint, job.progress if urgency == _NOW else lambda _: None)
        job.check()
        if urgency == _NOW:
            job.progress(f"explaining {Path(picture).name}")
        short_of_memory = ""
        start = perf_counter()
        explanation: AnyExplanation
        try:
            explanation = model.explain(pixels)
        except DeviceMemoryError as error:
            _log.warning("%s; continuing on the CPU", error)
            model = self._load(checkpoint, "cpu", job.progress, Answers())
            explanation = model.explain(pixels)
            short_of_memory = str(error)
        duration = (perf_counter() - start) * 1000
        explanation.node_probabilities  # noqa: B018  computed here, so that no click waits for it
        self.disk.keep(model, self.device, explanation)
        return _Found(explanation, model, duration, short_of_memory)

    def _load_picture(self, key: str) -> "Picture":
        """A picture's pixels, on the worker; decoded once for being shown and explained."""
        from calm_gui.model.picture import load_picture

        return self._cache.picture(key) or load_picture(key)

    def _show_ahead(self, picture: str) -> None:
        """Show a picture before its explanation comes; that it can't be opened is told by explaining it."""

        def done(pixels: "Picture") -> None:
            self._cache.keep_picture(picture, pixels)
            self._front.changed()

        job = Job(("picture", picture), lambda _: self._load_picture(picture), done, lambda _: None, urgency=_AT_ONCE)
        self.runner.submit(job)

    def _load_when_idle(self, checkpoint: str) -> None:
        """Load the network of an explanation that came from the disk, so that what comes next needn't wait."""

        def done(model: "LoadedModel") -> None:
            expected = self.disk.device_of(self.device)
            self._keep_model(checkpoint, model)
            if expected != str(model.device):  # what is shown was computed on a device that isn't there any more
                self.disk.remember(self.device, model)
                self._cache.forget(checkpoint=checkpoint)
            self._front.changed()
            self.run()

        def failed(error: Exception) -> None:
            _log.info("the network isn't loaded ahead: %s", error)

        if checkpoint in self.models:
            return
        token = ("load", checkpoint)
        self.runner.submit(
            Job(token, lambda _: self.model_for(checkpoint, lambda _: None), done, failed, urgency=_WHEN_IDLE)
        )

    def _explained(self, pair: Pair, urgency: int, found: "_Found") -> None:
        explanation, model = found.explanation, found.model
        self._pending.pop(pair, None)
        if not self._imported_ahead:
            self._imported_ahead = True
            self.later(self._import_ahead)
        if model is not None:
            self._keep_model(pair[1], model)
        elif pair[1] not in self.models:
            self.later(lambda: self._load_when_idle(pair[1]))
        if found.short_of_memory and self.device != "cpu":
            self.device = "cpu"
            self._front.complain(f"{found.short_of_memory}; the CPU computes from now on")
        wanted = wanted_pairs(self._front.state)
        if urgency < _WHOLE_FOLDER or pair in wanted:
            info = self.infos[pair[1]]
            if explanation.hierarchy is not info.hierarchy:  # which was changed while the worker explained
                explanation.give_hierarchy(info.hierarchy, info.superset_table)
            self._cache.keep(pair, explanation, wanted)
        self.predictions[pair] = explanation.top(1)[0]
        if found.milliseconds is not None:
            self.forward_ms = found.milliseconds
        if pair in wanted:
            self._front.changed()
            self.run()
        elif urgency == _WHOLE_FOLDER:
            self._front.changed()

    def _explain_failed(self, pair: Pair, error: Exception) -> None:
        self._pending.pop(pair, None)
        self.failures[pair] = error_sentence(error)
        if pair in wanted_pairs(self._front.state):
            self._told.add(pair)
            self._failed(error, pair[1])
            self._back_from(pair[0], error)

    def _back_from(self, picture: str, error: Exception) -> None:
        """After a picture that can't be opened, show the last good one again."""
        state, good = self._front.state, self._cache.pictures
        if isinstance(error, PictureError) and picture == state.picture:
            positions = [i for i, key in enumerate(state.pictures) if key in good]
            if positions:
                self._front.show_picture(min(positions, key=lambda i: abs(i - state.current)))

    def _failed(self, error: Exception, checkpoint: str) -> None:
        if isinstance(error, AnswersNeeded) and self._front.ask(checkpoint, error):
            return
        if not isinstance(error, CalmError):
            _log.error("unexpected failure", exc_info=error)
        self._front.changed()
        self._front.say("")
        self._front.complain(error_sentence(error))

    def _import_ahead(self) -> None:
        """Import on the worker what the first threshold would otherwise wait for: a sixth of a second."""
        self.runner.submit(
            Job("import", lambda _: import_module("scipy.ndimage"), lambda _: None, lambda _: None, urgency=_WHEN_IDLE)
        )

    def model_for(self, key: str, progress: Callable[[str], None]) -> "LoadedModel":
        """A checkpoint's model, on the worker: loaded once, though jobs that wait already want it too."""
        if model := self.models.get(key):
            return model
        fresh = self._fresh
        if fresh is None or fresh[0] != key:
            self._fresh = fresh = key, self._load(key, self.device, progress, Answers())
        return fresh[1]

    def _keep_model(self, key: str, model: "LoadedModel") -> None:
        if own := self._own_hierarchies.get(key):
            model.give_hierarchy(*own)
        changed = self.models.keep(key, model)
        self.infos[key] = model.info
        self._fresh = None
        if changed:  # what was explained with other weights or answers is no longer true
            self._forget_explained(key)
            self._front.complain(f"{Path(key).name} has changed; its pictures are explained again")

    def _give_back_memory(self) -> None:
        def failed(error: Exception) -> None:
            _log.warning("memory not given back: %s", error)

        self.runner.submit(Job("give back", lambda _: give_back_memory(), lambda _: None, failed, urgency=_WHEN_IDLE))

    def _forget_explained(self, key: str) -> None:
        self._cache.forget(checkpoint=key)
        self.predictions = {pair: best for pair, best in self.predictions.items() if pair[1] != key}
        self.forget_failures(checkpoint=key)

    def close(self, key: str) -> None:
        """Unload a checkpoint and forget all that is known of it."""
        for pair in [pair for pair in self._pending if pair[1] == key]:
            self.runner.cancel(("explain", *pair))
            del self._pending[pair]
        self.runner.cancel(("load", key))
        self.models.forget(key)
        self.infos.pop(key, None)
        self._own_hierarchies.pop(key, None)
        self._forget_explained(key)

    # Methods of others

    def shows_methods(self, state: State) -> bool:
        """Whether a pane shows a method."""
        return any(isinstance(pane.shows, Method) for pane in state.panes)
