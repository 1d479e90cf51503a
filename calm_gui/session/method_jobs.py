"""Maps of methods, which take the network: asked of the runner, told pass by pass, cancelled."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from calm_gui.core.maps import Map
from calm_gui.errors import CalmError, ReadingError
from calm_gui.methods import Method
from calm_gui.session.cache import ExplanationCache
from calm_gui.session.failures import error_sentence
from calm_gui.session.front import Front
from calm_gui.session.jobs import Job, Runner
from calm_gui.session.scene import MethodRequest

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["MethodJobs", "Passes"]

_URGENCY = 2


class Passes(NamedTuple):
    """How far a method's map is.

    Attributes
    ----------
    title : str
        Of the method.
    done, total : int
        Forward passes; a total of 0 isn't known.
    """

    title: str
    done: int
    total: int


class MethodJobs:
    """Asks for the maps of methods that are shown and not at hand.

    Parameters
    ----------
    runner : Runner
    cache : ExplanationCache
    front : Front
    model_for : callable
        (checkpoint key, progress) -> LoadedModel, on the worker.

    Attributes
    ----------
    asked : set of MethodRequest
        What is on its way.
    passes : Passes or None
        Of the one that is being computed.
    """

    def __init__(
        self,
        runner: Runner,
        cache: ExplanationCache,
        front: Front,
        model_for: "Callable[[str, Callable[[str], None]], LoadedModel]",
    ) -> None:
        self.asked: set[MethodRequest] = set()
        self.passes: Passes | None = None
        self._runner, self._cache, self._front, self._model_for = runner, cache, front, model_for

    def run(self) -> None:
        """Ask for what is shown and not at hand; what is no longer shown is stopped."""
        wanted = self._front.scene.method_requests()
        for request in self.asked - set(wanted):
            self._stop(request)
        for request in wanted:
            if request not in self.asked:
                self._submit(request)
        self.asked = set(wanted)

    def cancel(self) -> None:
        """Stop all of them; their panes say so, until the method is chosen again."""
        for request in list(self.asked):
            self._stop(request)
            words = f"{request.method.title} was cancelled; choose it again in the pane's menu to compute it"
            self._keep(request, ReadingError(words))
        self._front.say("")
        self._front.changed()

    def pause(self) -> None:
        """Stop all of them; `run` asks again for what is still shown."""
        for request in list(self.asked):
            self._stop(request)

    def retry(self, method: Method) -> None:
        """Ask again for the maps of a method that failed or were cancelled."""
        if self._cache.forget_errors(method):
            self._front.changed()
            self.run()

    def _stop(self, request: MethodRequest) -> None:
        self._runner.cancel(_token(request))
        self.asked.discard(request)
        self.passes = None

    def _keep(self, request: MethodRequest, found: "Map | CalmError") -> None:
        explanation = self._cache.get((request.picture, request.checkpoint))
        if explanation is not None:
            self._cache.maps(explanation)[request.method, request.target, request.contrast] = found

    def _submit(self, request: MethodRequest) -> None:
        picture, checkpoint, method, target, contrast = request
        explanation = self._cache.get((picture, checkpoint))

        def work(job: Job) -> Map:
            def tick(number: int, of: int) -> None:
                job.check()
                job.progress("", number, of)

            model = self._model_for(checkpoint, job.progress)
            return method.map(model, picture, target, tick, explanation, contrast)

        def told(words: str, number: int = 0, of: int = 0) -> None:
            self.passes = Passes(method.title, number, of) if number else None
            self._front.say(words)

        def done(result: "Map | Exception") -> None:
            found = result if isinstance(result, Map) else CalmError(error_sentence(result))
            if explanation is not None:
                self._cache.maps(explanation)[method, target, contrast] = found
            self.asked.discard(request)
            self.passes = None
            self._front.changed()

        self._runner.submit(Job(_token(request), work, done, done, told, urgency=_URGENCY))


def _token(request: MethodRequest) -> object:
    return ("method", *request)
