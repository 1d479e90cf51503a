"""What is tried before anything changes: whether pictures open, what a checkpoint would predict and what it lacks."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calm_gui.errors import CalmError
from calm_gui.model.answers import Answers, AnswersNeeded, recall_answers
from calm_gui.model.files import sha256_of
from calm_gui.model.info import CheckpointInfo
from calm_gui.session.cache import ExplanationCache
from calm_gui.session.failures import error_sentence
from calm_gui.session.front import Front
from calm_gui.session.jobs import Job, Runner

if TYPE_CHECKING:
    from calm_gui.model.picture import Picture

__all__ = ["Trials"]

_URGENCY = -1
_log = logging.getLogger(__name__)


class Trials:
    """Tries things on the runner, and tells what came of it.

    Parameters
    ----------
    runner : Runner
    cache : ExplanationCache
    front : Front
    load_picture : callable
        Gives a picture's pixels, on the worker.
    device : callable
        Gives the device that is computed on.

    Attributes
    ----------
    busy : bool
        Whether pictures are being looked through.
    """

    def __init__(
        self,
        runner: Runner,
        cache: ExplanationCache,
        front: Front,
        load_picture: "Callable[[str], Picture]",
        device: Callable[[], str],
    ) -> None:
        self.busy = False
        self._runner, self._cache, self._front = runner, cache, front
        self._load_picture, self._device = load_picture, device

    def first_that_opens(
        self, pictures: Sequence[str], first: int, done: Callable[[int, str], None], failed: Callable[[str], None]
    ) -> None:
        """Find a picture that can be decoded, the one at a position or the next.

        `done` gets its position, and why the first one couldn't be decoded (empty if it could); `failed` gets why none
        could.
        """
        order = [*range(first, len(pictures)), *range(first)]

        def work(job: Job) -> "tuple[int, Picture, str]":
            fault: Exception | None = None
            for position in order:
                job.check()
                try:
                    return position, self._load_picture(pictures[position]), error_sentence(fault) if fault else ""
                except Exception as error:
                    fault = fault or error
            assert fault is not None
            raise fault

        def found(result: "tuple[int, Picture, str]") -> None:
            self.busy = False
            position, pixels, why = result
            self._cache.keep_picture(pictures[position], pixels)
            done(position, why)

        def none_found(error: Exception) -> None:
            self.busy = False
            if not isinstance(error, CalmError):
                _log.error("unexpected failure", exc_info=error)
            more = f" ({len(order) - 1} more can't be opened either)" if len(order) > 1 else ""
            failed(f"{error_sentence(error)}{more}")

        self.busy = True
        self._runner.submit(Job("opening", work, found, none_found, self._front.say, urgency=_URGENCY))

    def preview(self, path: str, answers: Answers, done: Callable[[str], None]) -> None:
        """Tell what a checkpoint with these answers would predict for the current picture, without opening it."""
        picture = self._front.state.picture

        def work(job: Job) -> str:
            from calm_gui.model.loaded import load_model

            model = load_model(path, self._device(), None, job.progress, answers)
            job.check()
            top = model.explain(picture).top(5) if picture else []
            return "\n".join(f"{p:.4f}  {model.classes.name_of(index)}" for index, p in top) or "no picture is open"

        def told(text: str) -> None:
            self._front.say("")
            done(text)

        self._runner.submit(Job("preview", work, told, lambda error: told(error_sentence(error)), self._front.say))

    def question(
        self,
        path: str,
        info: CheckpointInfo | None,
        done: Callable[[AnswersNeeded], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Find what a file of another program doesn't say, with what was answered for it."""

        def work(job: Job) -> AnswersNeeded:
            from calm_gui.model.loaded import load_model

            known, told = recall_answers(sha256_of(path)), info
            words, guess, count = f"what {Path(path).name} is was answered", Answers(), len(told.classes) if told else 0
            asked: tuple[str, ...] = ()
            try:
                load_model(path, "cpu", None, job.progress, Answers())
            except AnswersNeeded as question:
                words, guess, asked = str(question), question.guess, question.open_questions
                count = question.class_count or count
            given = (name for name in known.to_json() if name not in ("classes", "outputs"))
            return AnswersNeeded(words, known.over(guess), tuple(dict.fromkeys((*asked, *given))), count)

        self._runner.submit(Job("question", work, done, failed, self._front.say))
