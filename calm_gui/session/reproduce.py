"""Making an export again from the manifest beside it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from calm_gui.core.classes import ClassSet
from calm_gui.core.comparison import compare_values, say_changes
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import AnyMap, Map
from calm_gui.core.readings import CAM, READINGS
from calm_gui.core.readings.cam import UNITS
from calm_gui.core.region import Region
from calm_gui.core.threshold import ThresholdKind, threshold_cells
from calm_gui.errors import CheckpointError, DataError, PictureError, ReadingError, why_unreadable
from calm_gui.methods import METHODS
from calm_gui.model.files import sha256_of
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.manifest import read_manifest
from calm_gui.render.scale import Scale
from calm_gui.session.former_demo import FORMER_DEMO, REPLACED
from calm_gui.session.output_names import free_name

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["reproduce"]


def reproduce(
    manifest: str | Path,
    out: str | Path,
    load: "Callable[[str], LoadedModel]",
    checkpoint: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write the exports that a manifest lists once more.

    Parameters
    ----------
    manifest : str or Path
        The `.json` beside an export.
    out : str or Path
        Folder to write to.
    load : callable
        Checkpoint name or path -> LoadedModel.
    checkpoint : str, optional
        Where the checkpoint lies now, if it isn't where it was.
    overwrite : bool
        Whether files are replaced; otherwise new ones get a number.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    CalmError
        If picture or checkpoint are gone or have changed, or the manifest makes no sense.
    """
    path = Path(manifest)
    data = read_manifest(path)
    maker = _Maker(path.parent, load, checkpoint)
    try:
        explanation = maker.explanation(data)
        maps = [maker.map(entry, data) for entry in data["maps"]]
        scales = [Scale(**entry["scale"]) if entry.get("scale") else None for entry in data["maps"]]
        regions = [Region(np.array(entry["weights"], dtype=np.float64), entry["name"]) for entry in data["regions"]]
        written = []
        for export in data["exports"]:
            target = Path(out) / free_name(Path(export["file"]).name, Path(out), overwrite)
            _write(export, target, explanation, maps, scales, regions, data["threshold"])
            written.append(target)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, StopIteration) as error:
        raise DataError(
            f"{path.name} lacks what is needed to make its exports again: {why_unreadable(error)}"
        ) from error
    return written


class _Maker:
    """Loads each picture and checkpoint of a manifest once, and sees that they are the same as then."""

    def __init__(self, folder: Path, load: "Callable[[str], LoadedModel]", checkpoint: str | None) -> None:
        self._folder = folder
        self._load = load
        self._checkpoint = checkpoint
        self._models: dict[str, LoadedModel] = {}
        self._explanations: dict[tuple[str, str], AnyExplanation] = {}

    def explanation(self, origin: Mapping[str, Any]) -> AnyExplanation:
        picture, checkpoint = origin["picture"], origin["checkpoint"]
        key = (str(picture["sha256"]), str(checkpoint["sha256"]))
        if key not in self._explanations:
            source = self._picture(picture)
            self._explanations[key] = self._model(checkpoint).explain(source)
        return self._explanations[key]

    def _picture(self, picture: Mapping[str, Any]) -> Path:
        name = str(picture["name"])
        if not picture.get("path"):
            raise PictureError(f"{name} was no file but an array, so it can't be explained again")
        places = [Path(picture["path"]), self._folder / picture["path"], self._folder / name]
        found = [place for place in places if _is_there(place)]
        if not found:
            raise PictureError(f"the picture {picture['path']} is gone; put it back, or into the manifest's folder")
        same = [place for place in found if sha256_of(place) == picture["sha256"]]
        if not same:
            raise PictureError(f"{found[0]} isn't the picture that was explained: its content has changed")
        return same[0]

    def _model(self, checkpoint: Mapping[str, Any]) -> "LoadedModel":
        sha256 = str(checkpoint["sha256"])
        if sha256 not in self._models:
            recorded = str(checkpoint.get("path") or "")
            fallback = str(checkpoint["name"]).removesuffix(".safetensors")
            place = self._checkpoint or (recorded if _is_there(Path(recorded)) else fallback)
            model = self._load(place)
            if model.sha256 != sha256 and sha256 == FORMER_DEMO:
                raise CheckpointError(f"the export can't be made again with {model.name}: {REPLACED} (--checkpoint)")
            if model.sha256 != sha256:
                raise CheckpointError(
                    f"{model.name} isn't the checkpoint {checkpoint['name']} that made the export (its content "
                    "differs); give the right one with --checkpoint"
                )
            _refuse_other_answers(checkpoint, model)
            self._models[sha256] = model
        return self._models[sha256]

    def map(self, entry: Mapping[str, Any], main: Mapping[str, Any]) -> AnyMap:
        """The map of an entry; picture and checkpoint are the manifest's unless the entry has its own."""
        origin = entry if "checkpoint" in entry else main
        explanation = self.explanation(origin)
        target, contrast = _set(entry.get("target")), _set(entry.get("contrast"))
        if "method" in entry:
            if target is None:
                raise ReadingError(f"the manifest doesn't say what {entry['method']} is of")
            model, picture = self._model(origin["checkpoint"]), self._picture(origin["picture"])
            method = METHODS.described(str(entry["method"]), entry.get("parameters", {}))
            return method.map(model, picture, target, explanation=explanation, contrast=contrast)
        reading = READINGS[str(entry["reading"])]
        if reading.takes_target and target is None:
            raise ReadingError(f"the manifest doesn't say what the {reading.title.lower()} is of")
        options: dict[str, Any] = {"depth": int(entry["depth"])} if reading.takes_depth else {}
        if reading is CAM:
            options["normalisation"] = next(name for name, unit in UNITS.items() if unit == entry["unit"])
        return reading.map(explanation, explanation.asked(reading, target or ClassSet(), contrast, **options))


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _refuse_other_answers(checkpoint: Mapping[str, Any], model: "LoadedModel") -> None:
    """Refuse a checkpoint that is read in another way than when the export was made; its map would be another."""
    before: Mapping[str, Any]
    if "answers" in checkpoint or not model.answers:
        before, now = checkpoint.get("answers", {}), json.loads(json.dumps(model.answers))
    else:  # of version 0.1, which wrote down less
        before, now = {"assumed": checkpoint.get("assumed", [])}, {"assumed": list(model.info.assumed)}
    if changes := compare_values(before, now):
        raise CheckpointError(
            f"{model.name} is read in another way than when the export was made ({say_changes(changes)}); answer as "
            "then, by the options for what a file of another program doesn't say"
        )


def _set(entries: list[Mapping[str, Any]] | None) -> ClassSet | None:
    return None if entries is None else ClassSet(int(entry["index"]) for entry in entries)


def _write(
    export: Mapping[str, Any],
    path: Path,
    explanation: AnyExplanation,
    maps: list[AnyMap],
    scales: list[Scale | None],
    regions: list[Region],
    threshold: dict[str, Any] | None,
) -> None:
    from calm_gui.render import arrays
    from calm_gui.render.figure import map_figure
    from calm_gui.render.figure_file import save_figure
    from calm_gui.render.panel import save_overlay

    kind = export["kind"]
    if kind == "figure":
        spec = FigureSpec.from_json(export["figure"])
        drawn = map_figure(
            explanation,
            _with_picture_panes(maps, export),
            spec,
            titles=export["titles"],
            captions=export["captions"],
            boxes=[Box(*corners) for corners in export["boxes"]],
            outlines=[(name, [(x, y) for x, y in points]) for name, points in export["outlines"]],
            regions=regions,
            table=export["table"],
            scales=_with_picture_panes(scales, export),
        )
        save_figure(drawn, path)
    elif kind == "overlay":
        save_overlay(maps[0], path, FigureSpec.from_json(export["figure"]), scales[0])
    elif kind == "arrays":
        arrays.save_map(maps[0], path, regions)
    elif kind == "class probabilities":
        arrays.save_probabilities(explanation, path)
    elif kind == "region table":
        arrays.save_region_table(explanation, regions, path)
    elif kind == "mask" and isinstance(maps[0], Map) and threshold and threshold["kind"] in get_args(ThresholdKind):
        cells = threshold_cells(maps[0].values, threshold["kind"], float(threshold["value"]))
        if cells is None:
            raise DataError("the manifest's threshold chooses nothing")
        arrays.save_mask(maps[0], cells, path, threshold)
    else:
        raise DataError(f"an export of the kind {kind!r} can't be made again from its manifest")


def _with_picture_panes(items: list[Any], export: Mapping[str, Any]) -> list[Any]:
    """None again in the places of panels that showed the picture alone, which the manifest doesn't list."""
    result = list(items)
    for position in export.get("pictures_at", ()):
        result.insert(int(position), None)
    return result
