"""One measurement of checkpoints on one set: what every command of ``calm-evaluate`` and the report are made of."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calm_gui.errors import DataError
from calm_gui.model.files import content_hash
from calm_training.datasets.boxes import BoxedPicture
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.evaluation_set import AUTO, EvaluationSet, layout_of, read_evaluation_set, with_labels_of
from calm_training.datasets.layouts import LAYOUTS
from calm_training.datasets.split import split_by_hash
from calm_training.evaluate.evaluation import Plan, Result, Results, first_of
from calm_training.evaluate.failures import failed_of
from calm_training.evaluate.journal import Journal

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel
    from calm_training.evaluate.sweep import SweepOptions

__all__ = [
    "content_of",
    "conventions",
    "digest_of",
    "files_of",
    "journal_of",
    "measure",
    "origin_of",
    "read_set",
    "versions",
]


def journal_of(plan: Plan, path: Path, found: EvaluationSet, *, resume: bool, overwrite: bool = False) -> Journal:
    """The journal of an evaluation of a set."""
    settings = {**origin_of(plan, found), "versions": versions()}
    return Journal(path, settings, resume=resume, overwrite=overwrite)


def origin_of(plan: Plan, found: EvaluationSet) -> dict[str, Any]:
    """What results are made from besides the checkpoints, JSON-ready: what was asked, and a hash of the set."""
    return {
        "command": plan.command,
        "data": str(plan.data.resolve()),
        "split": plan.split,
        "layout": plan.layout,
        "select": plan.select,
        "report": plan.report,
        "maps": list(plan.maps),
        **plan.settings,
        "pictures": digest_of(found),
    }


def digest_of(found: EvaluationSet) -> str:
    """A hash of a set: its pictures' paths below the folder of all, classes and boxes, and what is in all files."""
    if isinstance(found.pictures, CubCues):
        of_pictures = [("", found.pictures.all_files)]
    else:
        of_pictures = [(f"{p.classes} {_boxes(p)} ", getattr(p, "files", [p.path])) for p in found.pictures]
    places = [path.absolute() for _, files in of_pictures for path in files]
    root = os.path.commonpath(path.parent for path in places) if places else ""
    known = [f"{said}{_contents(files, root)}" for said, files in of_pictures]
    return hashlib.sha256("\n".join(known).encode(errors="backslashreplace")).hexdigest()


def files_of(plan: Plan, found: EvaluationSet) -> list[Path]:
    """The files of a set: tables, pictures and masks."""
    if isinstance(found.pictures, CubCues):
        return found.pictures.all_files
    tables = [plan.data / f"{name}.csv" for name in (plan.split, "index")]
    return [*tables, *(path for picture in found.pictures for path in getattr(picture, "files", [picture.path]))]


def _contents(files: Iterable[Path], root: str) -> str:
    return " ".join(f"{os.path.relpath(path.absolute(), root)} {content_hash(path)}" for path in files)


def _boxes(picture: Any) -> str:
    return f"{picture.size} {picture.boxes.tolist()}" if isinstance(picture, BoxedPicture) else ""


def read_set(plan: Plan) -> EvaluationSet:
    """The annotated pictures, read and checked.

    Raises
    ------
    DataError
        With file, line and reason.
    """
    found = read_evaluation_set(plan.evaluation.reads, plan.data, plan.split, plan.layout)
    if isinstance(found.pictures, CubCues):
        return found
    seen: set[Path] = set()
    for picture in found.pictures:
        if picture.path in seen:
            raise DataError(f"{plan.data.name} lists {picture.path.name} twice ({picture.path}); leave one of them out")
        seen.add(picture.path)
    number = plan.select or plan.report
    if not number:
        return found
    chosen = split_by_hash(found.pictures, number)[0 if plan.select else 1]
    if not chosen:
        raise DataError(f"{plan.data} has {len(found.pictures)} pictures, so that none is left besides {number}")
    return replace(found, pictures=chosen)


def measure(plan: Plan, model: LoadedModel, found: EvaluationSet, options: SweepOptions) -> Result:
    """Results of a checkpoint on a set, with its method and hash.

    Raises
    ------
    DataError
        If the checkpoint doesn't fit the set.
    """
    pictures = with_labels_of(found, model.classes, plan.data.name)
    result = plan.evaluation.measure(plan, model, pictures, options)
    info = model.info
    return replace(result, method=info.method, backbone=info.backbone, sha256=model.sha256, answers=model.answers)


UNDIVIDED = "of an undivided set: pictures that a checkpoint was trained on may be among them"


def _is_divided(plan: Plan) -> bool:
    """Whether the pictures measured are a split's, or have annotations that nothing was trained with."""
    layout = layout_of(plan.data, plan.split) if plan.layout == AUTO else plan.layout
    return plan.evaluation.reads != "labels" or bool(LAYOUTS[layout].splits(plan.data, [plan.split]))


def conventions(plan: Plan, results: Results) -> str:
    """What the numbers mean: the set, its size, what was skipped, and how they were computed."""
    images = first_of(results).images
    if which := plan.evaluation.which(results):
        skipped = ""
    else:
        failed = len(failed_of(results))
        skipped = "; no picture skipped" if not failed else f"; {failed} more failed, listed above, and aren't counted"
        which = "all pictures" if _is_divided(plan) else f"all pictures {UNDIVIDED}"
        if plan.select:
            which = f"the {plan.select} pictures with the lowest SHA-256 of the file name"
        elif plan.report:
            which = f"all pictures but the {plan.report} with the lowest SHA-256 of the file name"
    return (
        f"Set: {plan.data.name}, {which}; {images} pictures{skipped}. {plan.evaluation.conventions(plan, results)} "
        "Intervals: 95 %, by bootstrap over pictures, or of shares Wilson's. "
        "Numbers marked as the paper's are of other backbones and the full data sets."
    )


def content_of(plan: Plan, results: Results, found: EvaluationSet) -> dict[str, Any]:
    """What the JSON file of results holds; undefined numbers are None, as JSON has no others."""
    content = {
        "conventions": conventions(plan, results),
        "made_from": origin_of(plan, found),
        "results": {name: result.to_json() for name, result in results.items()},
        "versions": versions(),
    }
    cleaned: dict[str, Any] = _finite(content)
    return cleaned


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {name: version(name) for name in ("calm-gui", "torch", "timm", "captum", "numpy", "scipy")}
