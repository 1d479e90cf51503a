"""What an evaluation is: a measure of a checkpoint on a set, its conventions, tables and plot, in one object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from calm_gui.core.registry import Registry
from calm_gui.errors import DataError
from calm_training.datasets.evaluation_set import AUTO
from calm_training.evaluate.failures import Failure
from calm_training.evaluate.intervals import Estimate
from calm_training.evaluate.maps import map_of

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel
    from calm_training.evaluate.sweep import SweepOptions
    from calm_training.evaluate.table import Table

__all__ = ["EVALUATIONS", "Evaluation", "Option", "Plan", "Reads", "Result", "Results", "first_of"]

Reads = Literal["labels", "boxes", "masks", "regions", "cues"]
"""What pictures must carry: a class; boxes too; a mask; boxes or a mask where there are any; CUB's attributes."""


@dataclass(frozen=True)
class Option:
    """A setting of an evaluation, and its option on the command line.

    Attributes
    ----------
    name : str
    default : str, bool, int or tuple
        A bool is switched by ``--name`` or, if it is True, by ``--no-name``; a tuple takes several.
    help : str
    choices : collection
        What it may be; anything if empty. A registry may grow.
    """

    name: str
    default: Any
    help: str
    choices: Collection[Any] = ()

    def check(self, value: Any) -> None:
        """Refuse a value that the setting can't have.

        Raises
        ------
        DataError
            With the values it can have.
        """
        for one in value if isinstance(value, tuple) else (value,):
            if self.choices and one not in self.choices:
                raise DataError(f"{self.name} must be one of {', '.join(map(str, self.choices))}, not {one!r}")


@dataclass(frozen=True)
class Result:
    """What an evaluation found for one checkpoint.

    Attributes
    ----------
    images : int
        Pictures that were measured.
    method, backbone, sha256 : str
        The checkpoint's.
    answers : mapping
        What was said about it where its file doesn't say it.
    estimates : mapping
        Figures with their intervals: by the map's name ("" where a figure is of no map), then by the figure's.
    pictures : tuple of mapping
        Scores of every picture, as rows of a table: ``picture``, ``map`` and the scores by name.
    failed : tuple of Failure
        Pictures that couldn't be measured, and why.
    """

    images: int
    method: str = field(default="", kw_only=True)
    backbone: str = field(default="", kw_only=True)
    sha256: str = field(default="", kw_only=True)
    answers: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    estimates: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict, kw_only=True)
    pictures: tuple[Mapping[str, Any], ...] = field(default=(), kw_only=True, repr=False)
    failed: tuple[Failure, ...] = field(default=(), kw_only=True)

    def figures(self) -> dict[str, Any]:
        """The figures as JSON has them, with their order."""
        return {"images": self.images}

    def to_json(self) -> dict[str, Any]:
        """Figures, checkpoint and intervals as JSON has them; NaN stands where a figure is undefined."""
        intervals = {
            shown: {name: one.interval for name, one in of_map.items() if one.interval}
            for shown, of_map in self.estimates.items()
        }
        checkpoint = {"method": self.method, "backbone": self.backbone, "sha256": self.sha256}
        return {
            **self.figures(),
            **checkpoint,
            **({"answers": dict(self.answers)} if self.answers else {}),
            "intervals": {name: found for name, found in intervals.items() if found},
            **({"failed": [one.to_json() for one in self.failed]} if self.failed else {}),
        }


Results = Mapping[str, Any]
"""Results by the name of the checkpoint, each of the evaluation's own kind of `Result`."""


class Evaluation(ABC):
    """One evaluation; its key is its command.

    To add one: a class with these attributes and methods in a file of its own, and ``EVALUATIONS.register(...)``, or an
    entry point of the group ``calm_training.evaluations`` that names an object of it.

    Attributes
    ----------
    key : str
        The command.
    title : str
        Of its section in a report.
    summary : str
        What the command's help says.
    reads : Reads
        What its pictures must carry.
    takes_maps : bool
        Whether it measures maps that a user chooses.
    slow : bool
        Whether it takes many passes a picture, so that a report gives it few pictures.
    options : tuple of Option
    """

    key: str = ""
    title: str = ""
    summary: str = ""
    reads: Reads = "labels"
    takes_maps: bool = False
    slow: bool = False
    options: tuple[Option, ...] = ()
    needed: ClassVar[tuple[str, ...]] = ("key", "title", "summary")

    @abstractmethod
    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> Result:
        """What a checkpoint gives on the pictures.

        Parameters
        ----------
        plan : Plan
            Its `settings` has a value for each of `options`.
        model : LoadedModel
        pictures : sequence, or CubCues
            As `reads` says, their classes being the checkpoint's.
        options : SweepOptions

        Raises
        ------
        DataError
            If the checkpoint doesn't fit the set.
        """

    @abstractmethod
    def conventions(self, plan: Plan, results: Results) -> str:
        """How the numbers were computed, in sentences; the set is said already."""

    @abstractmethod
    def tables(self, results: Results) -> list[Table]:
        """The results in tables."""

    @abstractmethod
    def plot(self, axes: Any, results: Results) -> None:
        """Draw the results into matplotlib Axes."""

    def which(self, results: Results) -> str:
        """Which pictures were measured, where the plan doesn't say it; else empty."""
        return ""


def first_of(results: Results) -> Any:
    """The first checkpoint's result."""
    return next(iter(results.values()))


def _lacking(evaluation: Evaluation) -> str:
    return ", ".join(f"its {name}" for name in evaluation.needed if not getattr(evaluation, name))


EVALUATIONS: Registry[Evaluation] = Registry("evaluation", DataError, _lacking, group="calm_training.evaluations")
"""All evaluations, in the order of the help."""


@dataclass(frozen=True)
class Plan:
    """What is measured, on what.

    Attributes
    ----------
    command : str
        Key of an evaluation.
    data : Path
        Folder of a data set in one of the layouts that training takes; a CUB root for cues.
    split : str
    layout : str
        Of the data set; "auto" goes by the files.
    select, report : int or None
        Only the pictures with the lowest SHA-256 of the file name, or all but those.
    maps : tuple of str
        Readings and methods; none means the readings that the paper reports.
    settings : mapping
        Values of the evaluation's options; those left out have their defaults.

    Raises
    ------
    DataError
        If there is no such evaluation, map or setting, or it can't have the value.
    """

    command: str
    data: Path
    split: str = "test"
    layout: str = AUTO
    select: int | None = None
    report: int | None = None
    maps: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.maps:
            map_of(name)
        options = {option.name: option for option in self.evaluation.options}
        for name, value in self.settings.items():
            if name not in options:
                raise DataError(f"{self.command} has no setting {name!r}; it has {', '.join(options) or 'none'}")
            options[name].check(value)
        defaults = {name: option.default for name, option in options.items()}
        object.__setattr__(self, "settings", {**defaults, **self.settings})

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation itself."""
        return EVALUATIONS[self.command]


def checked_labels(model: LoadedModel, pictures: Sequence[Any]) -> None:
    """Refuse pictures of classes that the checkpoint lacks.

    Raises
    ------
    DataError
        With the first such picture.
    """
    for picture in pictures:
        if max(picture.classes) >= len(model.classes):
            found, there = max(picture.classes), len(model.classes)
            raise DataError(f"{picture.path.name} is of class {found}, the checkpoint has {there} classes")
