"""How well a checkpoint localizes validation pictures: what settings and epochs are chosen by."""

import json
from collections.abc import Sequence
from pathlib import Path

from calm_gui.model.files import write_text
from calm_gui.model.loaded import LoadedModel, load_model
from calm_training.datasets.evaluation_set import EvaluationSet, annotations_of, read_evaluation_set, with_labels_of
from calm_training.datasets.masks import MaskedPicture
from calm_training.evaluate.maps import own_map
from calm_training.evaluate.masks import mask_accuracy
from calm_training.evaluate.plan import digest_of
from calm_training.evaluate.wsol import box_accuracy

__all__ = ["localization_of", "measure_of", "read_validation", "scores_of"]


def read_validation(folder: Path, split: str = "val") -> EvaluationSet:
    """Pictures with boxes or masks, whichever a folder has, as ``calm-evaluate wsol`` and ``masks`` take them.

    Raises
    ------
    DataError
        With file, line and reason.
    """
    return read_evaluation_set("masks" if "masks" in annotations_of(folder, split) else "boxes", folder, split)


def measure_of(pictures: EvaluationSet) -> str:
    """The measure that the pictures allow: ``PxAP`` of masks, ``MaxBoxAccV2`` of boxes."""
    return "PxAP" if _have_masks(pictures) else "MaxBoxAccV2"


def localization_of(checkpoint: Path, pictures: EvaluationSet) -> float:
    """The measure of the true class's map; kept beside the checkpoint, so that the same isn't measured twice.

    What is kept holds for this checkpoint on these pictures, by their content.
    """
    model = load_model(checkpoint)
    measure, own = measure_of(pictures), own_map(model)
    made_from = {"sha256": model.identity, "pictures": digest_of(pictures), "map": own}
    kept = checkpoint.with_name(f"{checkpoint.stem}-localization.json")
    if (score := _kept_score(kept, made_from, measure)) is not None:
        return score
    score = scores_of(model, pictures, [own])[own]
    write_text(kept, json.dumps({**made_from, measure: score}), overwrite=True)
    return score


def _kept_score(kept: Path, made_from: dict[str, str], measure: str) -> float | None:
    """What was measured of the same before; None where it wasn't, or the file can't be used."""
    try:
        known = json.loads(kept.read_text("utf-8"))
        return float(known[measure]) if known.items() >= made_from.items() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def scores_of(model: LoadedModel, pictures: EvaluationSet, maps: Sequence[str]) -> dict[str, float]:
    """The measure of each of some maps of the true class, which is looked for among the checkpoint's by its name."""
    labelled = with_labels_of(pictures, model.classes, "the set with boxes or masks")
    if measure_of(pictures) == "PxAP":
        return dict(mask_accuracy(model, labelled, maps=maps).maps)
    return {name: one.max_box_acc_v2 for name, one in box_accuracy(model, labelled, maps=maps).maps.items()}


def _have_masks(pictures: EvaluationSet) -> bool:
    return bool(pictures.pictures) and isinstance(pictures.pictures[0], MaskedPicture)
