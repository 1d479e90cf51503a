"""One measurement of one checkpoint on one set: what every command of ``calm-evaluate`` and the report are made of."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

from calm_gui.errors import DataError
from calm_gui.model.loaded import LoadedModel
from calm_training.axioms import BLOCKS, SHIFTS, TOLERANCE, axiom_numbers
from calm_training.cues import cue_localization
from calm_training.datasets.boxes import BoxedPicture, read_boxes_csv, read_boxes_wsol
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.masks import MaskedPicture, read_masks_csv, read_masks_wsol
from calm_training.datasets.split import split_by_hash
from calm_training.journal import Journal
from calm_training.localize import ALL_MAPS, accuracy, box_accuracy, mask_accuracy
from calm_training.metrics.max_box_acc import Contours
from calm_training.metrics.remove_and_classify import Erasure
from calm_training.removal import removal_curves
from calm_training.sweep import SweepOptions

__all__ = ["COMMANDS", "Command", "Evaluation", "EvaluationSet", "conventions", "measure", "read_set", "versions"]

Command = Literal["accuracy", "wsol", "masks", "removal", "cues", "axioms"]
COMMANDS: tuple[Command, ...] = get_args(Command)

EvaluationSet = Sequence[BoxedPicture] | Sequence[MaskedPicture] | CubCues


@dataclass(frozen=True)
class Evaluation:
    """What is measured, on what.

    Attributes
    ----------
    command : str
        One of `COMMANDS`.
    data : Path
        Folder with ``index.csv``, or with ``metadata/<split>`` and ``images``; a CUB root for cues.
    split : str
    select, report : int or None
        Only the pictures with the lowest SHA-256 of the file name, or all but those.
    maps : tuple of str
        Readings and methods; none means the readings that the paper reports.
    contours, mode, erasure
        As in the metrics; a mode of None is the one quoted first (`benchmark` for boxes, `exact` for cues).
    pixels : bool
        Whether the axioms are tested over input pixels too.
    """

    command: Command
    data: Path
    split: str = "test"
    select: int | None = None
    report: int | None = None
    maps: tuple[str, ...] = ()
    contours: Contours = "all"
    mode: Literal["benchmark", "exact"] | None = None
    erasure: Erasure = "blur"
    pixels: bool = True

    def __post_init__(self) -> None:
        for name in self.maps:
            if name not in ALL_MAPS:
                raise DataError(f"there is no map {name!r}; there are {', '.join(ALL_MAPS)}")

    def journal(self, path: Path, found: EvaluationSet, *, resume: bool) -> Journal:
        """The journal of this evaluation of a set."""
        names = [str(p.path) for p in found] if not isinstance(found, CubCues) else [str(found.root)]
        settings = {
            **asdict(replace(self, data=Path(self.data.resolve()))),
            "data": str(self.data.resolve()),
            "pictures": hashlib.sha256("\n".join(names).encode()).hexdigest(),
            "versions": versions(),
        }
        return Journal(path, settings, resume=resume)


def read_set(evaluation: Evaluation) -> EvaluationSet:
    """The annotated pictures, read and checked.

    Raises
    ------
    DataError
        With file, line and reason.
    """
    data, table = evaluation.data, evaluation.data / "index.csv"
    metadata = data / "metadata" / evaluation.split
    if evaluation.command == "cues":
        return CubCues(data)
    if evaluation.command == "masks":
        masked = read_masks_csv(table) if table.exists() else read_masks_wsol(metadata, data / "images")
        return _half(masked, evaluation)
    return _half(read_boxes_csv(table) if table.exists() else read_boxes_wsol(metadata, data / "images"), evaluation)


def _half(pictures: list[Any], evaluation: Evaluation) -> list[Any]:
    number = evaluation.select or evaluation.report
    if not number:
        return pictures
    chosen = split_by_hash(pictures, number)[0 if evaluation.select else 1]
    if not chosen:
        raise DataError(f"{evaluation.data} has {len(pictures)} pictures, so that none is left beside {number}")
    return chosen


def measure(evaluation: Evaluation, model: LoadedModel, found: EvaluationSet, options: SweepOptions) -> dict[str, Any]:
    """Results of a checkpoint on a set, with its method and hash.

    Raises
    ------
    DataError
        If the checkpoint doesn't fit the set.
    """
    results = _measure(evaluation, model, found, options)
    return {**results, "method": model.info.method, "backbone": model.info.backbone, "sha256": model.sha256}


def _measure(evaluation: Evaluation, model: LoadedModel, found: Any, options: SweepOptions) -> dict[str, Any]:
    maps = evaluation.maps or None
    match evaluation.command:
        case "accuracy":
            return accuracy(model, found, options)
        case "wsol":
            mode = evaluation.mode or "benchmark"
            return box_accuracy(model, found, maps=maps, contours=evaluation.contours, mode=mode, options=options)
        case "masks":
            return mask_accuracy(model, found, maps=maps, options=options)
        case "removal":
            return removal_curves(model, found, maps=maps, erasure=evaluation.erasure, options=options)
        case "cues":
            return cue_localization(model, found, maps=maps, mode=evaluation.mode or "exact", options=options)
        case "axioms":
            return axiom_numbers(model, found, pixels=evaluation.pixels, options=options)


def conventions(evaluation: Evaluation, results: Mapping[str, Mapping[str, Any]]) -> str:
    """What the numbers mean: the set, its size, what was skipped, and how they were computed."""
    result = next(iter(results.values()))
    which = "all pictures"
    if evaluation.command == "cues":
        which = f"test pictures, {result['skipped']} cases of picture and pair skipped as no differing part is visible"
    elif evaluation.select:
        which = f"the {evaluation.select} pictures with the lowest SHA-256 of the file name"
    elif evaluation.report:
        which = f"all pictures but the {evaluation.report} with the lowest SHA-256 of the file name"
    skipped = "" if evaluation.command == "cues" else "; no picture skipped"
    text = f"Set: {evaluation.data.name}, {which}; {result['images']} pictures{skipped}. "
    scaled = "Maps enlarged bilinearly to the input's size and scaled to 0..1 each; true class given."
    match evaluation.command:
        case "accuracy":
            text += "ECE over 15 bins of equal width, each weighted by its pictures."
        case "wsol":
            text += (
                f"Mode {evaluation.mode or 'benchmark'}, {evaluation.contours} contours, 1,000 thresholds, the best "
                "one of the whole set for each IoU level (as the reference chooses it, on the set that it reports). "
                f"{scaled}"
            )
        case "masks":
            text += f"PxAP over 1,000 even thresholds, all pixels pooled. {scaled}"
        case "removal":
            text += (
                f"Erased by {evaluation.erasure}; accuracy in percent of erasing as many pixels at random (three "
                f"seeds), with 95 % intervals; lower is better. Each checkpoint classifies the erased pictures itself. "
                f"{scaled}"
            )
        case "cues":
            text += (
                f"Mode {evaluation.mode or 'exact'}: PxAP over the released code's logarithmic thresholds, "
                f"{'every pixel counted' if evaluation.mode != 'benchmark' else 'pixels below the lowest dropped'}; "
                f"each pair on its own; masks within the {result['within']}. Differences of probabilities as they are, "
                "other maps' differences scaled to 0..1 in each picture."
            )
        case "axioms":
            text += (
                f"True class given. Terms: each location left out of the model's sum. Pixels: {BLOCKS} x {BLOCKS} "
                f"blocks set to the mean colour; attribution and effect up to {TOLERANCE:g} of the whole count as "
                "none. Missed: changes p but has no attribution; unfounded: the other way round. "
                f"c = {', '.join(f'{c:g}' for c in SHIFTS)}."
            )
    return f"{text} Numbers marked as the paper's are of other backbones and the full data sets."


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {name: version(name) for name in ("calm-gui", "torch", "timm", "captum", "numpy", "scipy")}
