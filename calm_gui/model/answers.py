"""What a checkpoint of another program doesn't say: asked once, kept by the file's hash. Readable before torch is."""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

import platformdirs

from calm_gui.errors import CalmError, CheckpointError
from calm_gui.model.choices import Activation, AnsweredMethod, Outputs
from calm_gui.model.files import put_aside, read_bounded, write_text

__all__ = ["Answers", "AnswersNeeded", "answers_path", "identity", "recall_answers", "remember_answers"]

_MAX_BYTES = 50_000_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answers:
    """What a foreign file doesn't say.

    Attributes
    ----------
    method : {"calm-em", "calm-ml", "cam", "classifier"} or None
        A plain classifier is itself without it: its own p(y|x), and CAM where its head allows.
    saliency_activation : {"relu", "softplus"} or None
    large_feature_map : bool or None
        28x28 cells instead of 14x14 at 224 pixels.
    classes : tuple of str or None
        Names in the order of the outputs, each with its wnid before it where that is known: ``n02012849 crane``.
    averaged : bool or None
        Whether to take the slow average (a teacher, of its student) where the file holds both.
    architecture : str or None
        Name of a network of timm's or torchvision's.
    outputs : {"softmax", "sigmoid"} or None
        What makes probabilities of the outputs; softmax, or sigmoid of a single one, where nothing is said.
    """

    method: AnsweredMethod | None = None
    saliency_activation: Activation | None = None
    large_feature_map: bool | None = None
    classes: tuple[str, ...] | None = None
    averaged: bool | None = None
    architecture: str | None = None
    outputs: Outputs | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("method", get_args(AnsweredMethod)),
            ("saliency_activation", get_args(Activation)),
            ("outputs", get_args(Outputs)),
        ):
            if (value := getattr(self, name)) is not None and value not in allowed:
                raise CheckpointError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
        for name in ("large_feature_map", "averaged"):
            if not isinstance(getattr(self, name), bool | None):
                raise CheckpointError(f"{name} must be True, False or None, not {getattr(self, name)!r}")
        if not isinstance(self.architecture, str | None):
            raise CheckpointError(f"architecture must be the name of a network, not {self.architecture!r}")

    def over(self, others: "Answers") -> "Answers":
        """These answers, and others where there is none."""
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(others, **given)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form, without what wasn't answered."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def brief(self) -> dict[str, Any]:
        """As `to_json`, with a hash instead of the names of all classes: what an export writes down."""
        brief = self.to_json()
        if self.classes is not None:
            brief["classes"] = hashlib.sha256("\n".join(self.classes).encode()).hexdigest()
        return brief

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Answers":
        """Read what `to_json` gave; a `CheckpointError` for values that make no sense."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        if (names := known.get("classes")) is not None:
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise CheckpointError("classes must be a list of names")
            known["classes"] = tuple(names)
        return cls(**known)


class AnswersNeeded(CheckpointError):  # noqa: N818  a question to the user, not a fault
    """A file that can be used once its user has said what it is.

    Attributes
    ----------
    guess : Answers
        What is most likely.
    open_questions : tuple of str
        Names of the attributes of `Answers` that are missing.
    class_count : int
        Number of outputs; 0 where it isn't known yet.
    """

    def __init__(self, message: str, guess: Answers, open_questions: tuple[str, ...], class_count: int = 0) -> None:
        super().__init__(message)
        self.guess = guess
        self.open_questions = open_questions
        self.class_count = class_count


def answers_path() -> Path:
    """Where answers are kept: a JSON object of the file's SHA-256 to `Answers.to_json`."""
    return Path(platformdirs.user_data_dir("calm-gui", appauthor=False)) / "answers.json"


def recall_answers(sha256: str) -> Answers:
    """What was answered for a file; empty if nothing was, or if what was kept can't be used."""
    try:
        return Answers.from_json(_kept().get(sha256, {}))
    except (CheckpointError, TypeError, AttributeError) as error:
        _log.warning("answers for %s can't be used: %s", sha256, error)
        return Answers()


def remember_answers(sha256: str, answers: Answers) -> None:
    """Keep answers; a failure is logged, for they can be asked again."""
    try:
        answers_path().parent.mkdir(parents=True, exist_ok=True)
        _keep_damaged()
        write_text(answers_path(), json.dumps({**_kept(), sha256: answers.to_json()}, indent=1), overwrite=True)
    except (CalmError, OSError) as error:
        _log.warning("answers not saved: %s", error)


def _kept() -> dict[str, Any]:
    try:
        return _read()
    except (CheckpointError, OSError, ValueError, RecursionError) as error:
        _log.warning("answers %s can't be read (%s); asking again", answers_path(), error)
        return {}


def _read() -> dict[str, Any]:
    if not os.path.lexists(answers_path()):
        return {}
    kept = json.loads(read_bounded(answers_path(), _MAX_BYTES, CheckpointError))
    if not isinstance(kept, dict):
        raise ValueError("not a JSON object")
    return kept


def _keep_damaged() -> None:
    """Give kept answers that make no sense another name before new ones take their place.

    Raises
    ------
    CheckpointError
        If they can't be read at all; then nothing is written over them.
    """
    try:
        _read()
    except (ValueError, RecursionError) as error:
        aside = put_aside(answers_path())
        _log.warning("damaged answers (%s) are kept as %s", error, aside)
        if aside is None:
            raise CheckpointError(f"{answers_path()} is damaged and can't be put aside") from error


def identity(sha256: str, answers: Mapping[str, Any]) -> str:
    """What results of a checkpoint are kept by: its file's hash, and that of what was answered about it."""
    if not answers:
        return sha256
    return f"{sha256}+{hashlib.sha256(json.dumps(answers, sort_keys=True).encode()).hexdigest()[:16]}"
