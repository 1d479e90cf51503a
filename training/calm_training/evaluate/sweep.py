"""Every picture of a set through a checkpoint into metrics: decoding and scoring in threads beside the network.

Whatever fails ends one picture.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from calm_gui.core.comparison import same_shape
from calm_gui.core.joint import ClassScores, Joint
from calm_gui.errors import DataError
from calm_gui.model.calm import check_raw_outputs
from calm_gui.model.choices import Activation
from calm_gui.model.input import prepare
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_training.datasets.masks import MaskedPicture
from calm_training.evaluate.failures import Failure, check_some_left, failure_of
from calm_training.evaluate.journal import Journal

__all__ = ["DEFAULT_OPTIONS", "Metric", "Outputs", "SweepOptions", "Swept", "sweep"]


class HasPath(Protocol):
    """An annotated picture."""

    @property
    def path(self) -> Path:
        """Its file."""


AnyPicture = TypeVar("AnyPicture", bound=HasPath)


class Metric(Protocol):
    """What can be counted for each picture and added up."""

    @property
    def images(self) -> int:
        """Pictures so far."""

    def to_json(self) -> dict[str, Any]:
        """What was counted."""

    def add_json(self, state: dict[str, Any]) -> None:
        """Add what another one counted."""

    def compute(self) -> Any:
        """The summary."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """One picture's raw outputs, and what else was computed beside the network.

    Attributes
    ----------
    inputs : Tensor (1,3,h,w)
    f : Tensor (1,C,H,W)
    a : Tensor (1,1,H,W) or None
        None for CAM.
    activation : {"relu", "softplus"} or None
        None for CAM.
    more : mapping
        What `beside` gave.
    """

    inputs: Tensor
    f: Tensor
    a: Tensor | None
    activation: Activation | None
    more: Mapping[Any, Any]

    @cached_property
    def evidence(self) -> Joint | ClassScores:
        """What readings are computed from, in torch."""
        return evidence_of(self.f[0], None if self.a is None else self.a[0, 0], self.activation)


def evidence_of(f: Tensor, a: Tensor | None, activation: Activation | None) -> Joint | ClassScores:
    """The joint, or for CAM the class scores, of one picture's raw outputs f (C,H,W) and a (H,W)."""
    if a is None or activation is None:
        return ClassScores(f, torch)
    return Joint(f, a, activation, xp=torch)


def picture_names(paths: Sequence[Path]) -> list[str]:
    """Names of different files: with as many of their folders, all alike, as tell each from the others."""
    deepest = max((len(path.parts) for path in paths), default=1)
    enough = (number for number in range(1, deepest) if len({path.parts[-number:] for path in paths}) == len(paths))
    number = next(enough, deepest)
    return ["/".join(path.parts[-number:]) for path in paths]


@dataclass(frozen=True, eq=False)
class Swept:
    """What `sweep` counted.

    Attributes
    ----------
    metrics : dict
        The metrics with all pictures counted, by name.
    counts : list of dict
        What every picture counted: ``to_json()`` of the metrics that it touched, by name, in the order of `pictures`.
    pictures : list
        Those that were counted.
    failed : tuple of Failure
        Those that weren't.
    """

    metrics: dict[str, Any]
    counts: list[dict[str, Any]]
    pictures: list[Any]
    failed: tuple[Failure, ...]

    @cached_property
    def names(self) -> list[str]:
        """What each picture is called among the others."""
        return picture_names([picture.path for picture in self.pictures])

    def of(self, name: str) -> list[dict[str, Any] | None]:
        """What every picture counted of one metric."""
        return [counts.get(name) for counts in self.counts]


@dataclass(frozen=True)
class SweepOptions:
    """How a set is gone through; results don't depend on any of it.

    Attributes
    ----------
    batch : int
        Pictures in a forward pass on a GPU. The CPU takes them one by one: that is as fast there, and the digits of
        a convolution change with the batch.
    workers : int
        Threads that decode pictures and score maps; 0 does all in one thread.
    journal : Journal, optional
        Pictures in it are taken from there, others are added.
    progress : callable
        Told after each picture, with 1.
    seconds : dict
        Gets the seconds of the last sweep: ``total``, and of the network's thread ``network``, unless scoring uses
        the network too.
    """

    batch: int = 32
    workers: int = 1
    journal: Journal | None = None
    progress: Callable[[int], object] = lambda _: None
    seconds: dict[str, float] = field(default_factory=dict)


DEFAULT_OPTIONS = SweepOptions()


@dataclass
class Sweep(Generic[AnyPicture]):
    """What `sweep` works with; see there."""

    model: LoadedModel
    fresh: Callable[[], dict[str, Any]]
    score: Callable[[dict[str, Any], AnyPicture, Outputs], None]
    beside: Callable[[AnyPicture], Mapping[Any, Any]]
    network_seconds: float = 0.0

    def count(self, picture: AnyPicture, outputs: Outputs | Failure) -> dict[str, Any] | Failure:
        """What one picture counts, as JSON; metrics that it doesn't touch are left out."""
        if isinstance(outputs, Failure):
            return outputs
        metrics = self.fresh()
        try:
            self.score(metrics, picture, outputs)
            return {name: metric.to_json() for name, metric in metrics.items() if metric.images}
        except Exception as error:
            return failure_of(picture.path, error)

    def run(
        self, pictures: Sequence[AnyPicture], batch: int, pool: ThreadPoolExecutor | None
    ) -> Iterator[dict[str, Any] | Failure]:
        """Counts of every picture, or why it has none, in order."""
        ahead = 4
        inputs: deque[tuple[AnyPicture, Future[Tensor | Failure]]] = deque()
        counts: deque[Future[dict[str, Any] | Failure]] = deque()
        waiting = iter(pictures)
        for start in range(0, len(pictures), batch):
            part = pictures[start : start + batch]
            while len(inputs) < ahead * batch and (picture := next(waiting, None)) is not None:
                inputs.append((picture, _submit(pool, self._load, picture)))
            loaded = [(picture, waiting_for.result()) for picture, waiting_for in (inputs.popleft() for _ in part)]
            began = time.perf_counter()
            found = iter(self._outputs([(p, tensor) for p, tensor in loaded if not isinstance(tensor, Failure)]))
            self.network_seconds += time.perf_counter() - began
            for picture, tensor in loaded:
                outputs = tensor if isinstance(tensor, Failure) else next(found)
                counts.append(_submit(pool, self.count, picture, outputs))
            while counts and (len(counts) > ahead * batch or counts[0].done()):
                yield counts.popleft().result()
        while counts:
            yield counts.popleft().result()

    def _load(self, picture: AnyPicture) -> Tensor | Failure:
        try:
            loaded = load_picture(picture.path)
            _refuse_other_size(picture, loaded.size)
            return prepare(loaded, self.model.info.input, self.model.grid)[0]
        except Exception as error:
            return failure_of(picture.path, error)

    def _outputs(self, loaded: Sequence[tuple[AnyPicture, Tensor]]) -> list[Outputs | Failure]:
        """The network's outputs of pictures in one pass; one by one if that fails, so that a single one is left out."""
        if not loaded:
            return []
        try:
            return self._passed(loaded)
        except Exception as error:
            if len(loaded) == 1:
                return [failure_of(loaded[0][0].path, error)]
            return [outputs for one in loaded for outputs in self._outputs([one])]

    def _passed(self, loaded: Sequence[tuple[AnyPicture, Tensor]]) -> list[Outputs | Failure]:
        activation = self.model.info.saliency_activation
        f, a = self.model.raw(torch.cat([tensor for _, tensor in loaded]))
        check_raw_outputs(f, a, activation)
        return [
            Outputs(tensor, f[i : i + 1], None if a is None else a[i : i + 1], activation, self.beside(picture))
            for i, (picture, tensor) in enumerate(loaded)
        ]


def sweep(
    model: LoadedModel,
    pictures: Sequence[AnyPicture],
    fresh: Callable[[], dict[str, Any]],
    score: Callable[[dict[str, Any], AnyPicture, Outputs], None],
    options: SweepOptions,
    *,
    beside: Callable[[AnyPicture], Mapping[Any, Any]] = lambda _: {},
    overlap: bool = True,
) -> Swept:
    """Count every picture.

    Parameters
    ----------
    model : LoadedModel
    pictures : sequence
        Annotated pictures; each has a `path`, and no two the same.
    fresh : callable
        Makes the metrics, by name (each a `Metric`).
    score : callable
        Updates fresh metrics with one picture and its outputs; in another thread if `overlap`.
    options : SweepOptions
    beside : callable
        What else the network has to compute for a picture, in the network's own thread.
    overlap : bool
        False where `score` uses the network itself.

    Returns
    -------
    Swept
        The metrics in the order of `fresh`.

    Raises
    ------
    NothingMeasuredError
        If every picture fails.
    """
    began = time.perf_counter()
    total, every = fresh(), []
    counted, failed = [], []
    known = options.journal.counts(model.identity) if options.journal else {}
    left = [picture for picture in pictures if str(picture.path) not in known]
    work = Sweep(model, fresh, score, beside)
    pool = ThreadPoolExecutor(options.workers) if options.workers and overlap else None
    try:
        results = work.run(left, 1 if model.device.type == "cpu" else options.batch, pool)
        for picture in pictures:
            counts = known.get(str(picture.path))
            if counts is None:
                # Through JSON either way, so that a resumed evaluation can't differ.
                result = next(results)
                if isinstance(result, Failure):
                    failed.append(result)
                    options.progress(1)
                    continue
                counts = result
                if options.journal:
                    options.journal.add(model.identity, str(picture.path), counts)
            counted.append(picture)
            every.append(counts)
            for name, state in counts.items():
                _add(total, name, state, options.journal)
            options.progress(1)
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
    options.seconds.clear()
    options.seconds.update(total=time.perf_counter() - began)
    if overlap:
        options.seconds.update(network=work.network_seconds)
    check_some_left(failed, len(counted))
    return Swept(total, every, counted, tuple(failed))


def _add(total: dict[str, Any], name: str, state: dict[str, Any], journal: Journal | None) -> None:
    try:
        total[name].add_json(state)
    except (KeyError, TypeError, ValueError) as error:
        where = journal.path if journal else "the evaluation"
        raise DataError(f"{where} holds counts of {name} that can't be used; leave --resume out") from error


def _refuse_other_size(picture: Any, real: tuple[int, int]) -> None:
    """Refuse boxes or a mask that can't be of a picture as it stands upright."""
    stated: tuple[int, int] | None = getattr(picture, "size", None)
    if stated is not None and not same_shape(stated, real):
        of = f"its mask {picture.mask_paths[0].name} has" if isinstance(picture, MaskedPicture) else "its boxes are of"
        raise DataError(
            f"{picture.path.name} has {real[0]} x {real[1]} pixels as it stands upright, but {of} "
            f"{stated[0]} x {stated[1]}; give those of the upright picture"
        )


def _submit(pool: ThreadPoolExecutor | None, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
    if pool:
        return pool.submit(work, *arguments)
    done: Future[Any] = Future()
    done.set_result(work(*arguments))
    return done
