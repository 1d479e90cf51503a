"""What lies beside every export: a JSON file that says what was exported, from what, and how to make it again."""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.region import Region
from calm_gui.errors import DataError, ExportError
from calm_gui.model.files import atomic_path, sha256_of, write_bytes
from calm_gui.render.scale import Scale, fit_scale, remark
from calm_gui.version import __version__

__all__ = [
    "FORMAT",
    "check_suffix",
    "describe",
    "describe_map",
    "describe_pictures",
    "read_manifest",
    "set_to_json",
    "to_text",
    "write_export",
]

FORMAT = 1
"""Version of the manifest that this program writes."""

_KIND = "calm-gui export"


def describe_map(shown: Map | WinnerMap, scale: Scale | None = None, regions: Sequence[Region] = ()) -> dict[str, Any]:
    """What one map is, JSON-ready; see `describe`."""
    return describe(shown.explanation, [shown], [scale], regions)


def describe(
    explanation: ClassifiedPicture,
    maps: Sequence[Map | WinnerMap],
    scales: Sequence[Scale | None] = (),
    regions: Sequence[Region] = (),
    threshold: dict[str, Any] | None = None,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """What maps of one explanation are, JSON-ready.

    Parameters
    ----------
    explanation : Explanation or CamExplanation
    maps : sequence of Map or WinnerMap
        None at all for a table of probabilities.
    scales : sequence of Scale or None
        One for each map; by default, or for None, the scale that fits the map.
    regions : sequence of Region
    threshold : dict, optional
        ``{"kind", "value"}``.
    warnings : iterable of str
        What a reader must know besides what the maps themselves tell.

    Returns
    -------
    dict
        Keys ``format``, ``kind``, ``picture``, ``checkpoint``, ``geometry``, ``predictions``, ``maps``,
        ``threshold``, ``regions``, ``warnings``, ``versions``. Class sets are listed by index, wnid and name.
    """
    scales = [*scales, *[None] * (len(maps) - len(scales))]
    return {
        "kind": _KIND,
        "format": FORMAT,
        **_origin(explanation),
        "geometry": explanation.geometry.to_json(),
        "predictions": [
            {**_class_to_json(index, explanation.classes), "probability": p} for index, p in explanation.top(5)
        ],
        "maps": [
            _map_to_json(shown, scale) | (_origin(shown.explanation) if shown.explanation is not explanation else {})
            for shown, scale in zip(maps, scales, strict=True)
        ],
        "threshold": threshold,
        "regions": [_region_to_json(region, explanation) for region in regions],
        "warnings": [*dict.fromkeys([*_warnings(explanation, maps), *warnings])],
        "versions": _versions(),
    }


def _origin(explanation: ClassifiedPicture) -> dict[str, Any]:
    """Picture and checkpoint of an explanation; maps of another one than the manifest's carry their own."""
    return {
        "picture": {**explanation.source.get("picture", {}), "size": list(explanation.geometry.picture)},
        "checkpoint": explanation.source.get("checkpoint", {}),
    }


def _map_to_json(shown: Map | WinnerMap, scale: Scale | None) -> dict[str, Any]:
    if isinstance(shown, WinnerMap):
        return {
            **_kind_to_json(shown),
            "depth": shown.depth,
            "legend": [
                {
                    "node": node.key,
                    "name": node.name,
                    "cells": cells,
                    "mass": mass,
                    "classes": node.classes.indices.tolist(),
                }
                for node, cells, mass in shown.legend()
            ],
        }
    classes = shown.explanation.classes
    check = shown.check
    return {
        **_kind_to_json(shown),
        "target": None if shown.target is None else set_to_json(shown.target, classes),
        "contrast": None if shown.contrast is None else set_to_json(shown.contrast, classes),
        "unit": shown.unit,
        "minimum": _finite(float(shown.values.min())),
        "maximum": _finite(float(shown.values.max())),
        "sum": _finite(shown.sum),
        "check": check
        and {
            "sum": _finite(check.total),
            "expected_float64": _finite(check.expected),
            "relative_error": _finite(check.error),
            "passed": bool(check.passed),
        },
        "scale": (scale or fit_scale(shown.values, shown.signed, unit=shown.unit)).to_json(),
    }


def _kind_to_json(shown: Map | WinnerMap) -> dict[str, Any]:
    return {shown.kind.family: shown.kind.key, "question": shown.kind.question, **shown.kind.details}


def _class_to_json(index: int, classes: ClassTable) -> dict[str, Any]:
    return {"index": index, "wnid": classes[index].wnid, "name": classes[index].name}


def set_to_json(chosen: ClassSet, classes: ClassTable) -> list[dict[str, Any]]:
    """A class set as a list of classes, each with index, wnid and name."""
    return [_class_to_json(index, classes) for index in chosen]


def _region_to_json(region: Region, explanation: ClassifiedPicture) -> dict[str, Any]:
    weights = region.weights
    return {
        "name": region.name,
        "cells": region.cells,
        "share_of_grid": region.cells / math.prod(explanation.geometry.grid),
        "weights": weights.tolist(),
    }


def _warnings(explanation: ClassifiedPicture, maps: Sequence[Map | WinnerMap]) -> list[str]:
    found = [f"picture: {note}" for note in explanation.source.get("picture", {}).get("notes", ())]
    found += [
        f"assumed of the checkpoint: {answer}" for answer in explanation.source.get("checkpoint", {}).get("assumed", ())
    ]
    for shown in maps:
        if isinstance(shown, WinnerMap):
            if shown.overlapping:
                found.append(
                    "some groups share classes; each counts them in full, so their masses may add up to more than 1"
                )
            continue
        if text := remark(shown.values):
            found.append(text)
        if shown.check is None:
            found.append("the sum of this map means nothing")
        elif not shown.check.passed:
            found.append(
                f"the sum check failed: {shown.check.total:.6g} instead of {shown.check.expected:.6g}; "
                "don't trust this map"
            )
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _versions() -> dict[str, str]:
    versions = {"calm-gui": __version__}
    for package in ("torch", "numpy", "matplotlib"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def write_export(
    path: str | Path,
    suffixes: Iterable[str],
    kind: str,
    write: Callable[[Path], None],
    manifest: dict[str, Any],
    *,
    overwrite: bool = True,
    **options: Any,
) -> Path:
    """Write an export and the manifest beside it, both or neither.

    The manifest is `<name>.json`. Exports of the same maps under one name share it; where it is taken by
    something else it is `<name>.<extension>.json`, so that no file is lost. A file that is replaced is no longer in
    the manifest of what it was before.

    Parameters
    ----------
    path : str or Path
    suffixes : iterable of str
        Extensions that fit, such as ``.npz``.
    kind : str
        What sort of export this is.
    write : callable
        Gets a temporary path with the same extension, to write to.
    manifest : dict
        As `describe` gives it. The files that it names are never replaced.
    overwrite : bool
        Whether an existing file is replaced; who calls this has asked, or found a free name.
    **options
        How it was drawn; written into the manifest's list of exports.

    Returns
    -------
    Path
        Of the manifest.

    Raises
    ------
    ExportError
        If the extension doesn't fit or the file can't be written. An existing file is then as it was.
    """
    path = Path(path)
    check_suffix(path, suffixes)
    beside, others = _place_of_manifest(path, manifest)
    sources = _sources(manifest)
    with (
        atomic_path(beside, overwrite=True, inputs=sources) as temporary_json,
        atomic_path(path, overwrite=overwrite, inputs=sources) as temporary,
    ):
        write(temporary)
        entry = {"file": path.name, "kind": kind, "sha256": sha256_of(temporary), **options}
        exports = sorted([*others, entry], key=lambda e: str(e["file"]))
        temporary_json.write_bytes(to_bytes({**manifest, "exports": exports}))
        for written in (temporary, temporary_json):  # a full disk shows here, before either file takes its place
            with written.open("rb+") as file:
                os.fsync(file.fileno())
    _forget_elsewhere(path, beside)
    return beside


def check_suffix(path: Path, suffixes: Iterable[str]) -> None:
    """Refuse a path that no export can be written to, before anything is computed.

    Raises
    ------
    ExportError
        If the extension isn't one of these (in any case), or the path is a folder, lies in no folder or is too long.
    """
    wanted = tuple(suffixes)
    if "\0" in str(path):
        raise ExportError("a file name can't hold a zero byte; choose another")
    if path.suffix.lower() not in wanted:
        what = f"the extension {path.suffix!r}" if path.suffix else "no extension"
        raise ExportError(f"{path.name} has {what}, which names no format for this; use {', '.join(wanted)}")
    try:
        if path.is_dir():
            raise ExportError(f"{path} is a folder; choose a file name")
        if not path.parent.is_dir():
            raise ExportError(f"{path} can't be written: there is no folder {path.parent}")
    except OSError as error:
        raise ExportError(f"{path} can't be written: {error.strerror or error}") from error


def to_text(manifest: dict[str, Any]) -> str:
    """JSON as it is written: readable, any alphabet, without NaN."""
    return json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_bytes(manifest: dict[str, Any]) -> bytes:
    """`to_text` in UTF-8; characters that stand for bytes of a file name that isn't UTF-8 stay JSON's escapes."""
    return to_text(manifest).encode("utf-8", errors="backslashreplace")


def _sources(manifest: Mapping[str, Any]) -> list[str]:
    """The picture and checkpoint files that a manifest names."""
    origins = [manifest, *manifest.get("maps", ())]
    found = (origin.get(what, {}).get("path") for origin in origins for what in ("picture", "checkpoint"))
    return [path for path in found if path]


def _place_of_manifest(path: Path, manifest: dict[str, Any]) -> tuple[Path, list[dict[str, Any]]]:
    """Where the manifest goes, and the exports that it already describes."""
    for beside in _places(path):
        known = _read_ours(beside)
        if known is None:
            if not beside.exists():
                return beside, []
            continue
        exports = known.pop("exports", [])
        others = [
            entry
            for entry in exports
            if entry.get("file") != path.name and (path.parent / str(entry.get("file"))).exists()
        ]
        if not others or known == json.loads(to_text(manifest)):
            return beside, others
    raise ExportError(f"{path.name}.json next to {path} is another file; rename it or choose another name")


def _places(path: Path) -> tuple[Path, Path]:
    return path.with_suffix(".json"), path.with_name(path.name + ".json")


def _forget_elsewhere(path: Path, beside: Path) -> None:
    """Take a file that was replaced out of the manifest of what it was before."""
    for other in _places(path):
        known = _read_ours(other) if other != beside else None
        if known is None or all(entry.get("file") != path.name for entry in known.get("exports", [])):
            continue
        known["exports"] = [entry for entry in known["exports"] if entry.get("file") != path.name]
        if known["exports"]:
            write_bytes(other, to_bytes(known), overwrite=True)
        else:
            other.unlink(missing_ok=True)


def read_manifest(path: str | Path) -> dict[str, Any]:
    """An export's manifest.

    Raises
    ------
    DataError
        If the file is anything else, or of a newer version.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    data = _read_ours(path)
    if data is None:
        raise DataError(f"{path.name} isn't the manifest of an export of calm-gui")
    if not isinstance(data.get("format"), int) or data["format"] > FORMAT:
        raise DataError(
            f"{path.name} has format {data.get('format')}, this program reads up to {FORMAT}; update calm-gui"
        )
    return data


def _read_ours(path: Path) -> dict[str, Any] | None:
    """An existing manifest, or None for anything else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data.get("kind") == _KIND else None


def describe_pictures(listed: dict[str, Any]) -> dict[str, Any]:
    """What an export about several pictures shows, JSON-ready."""
    return {"kind": _KIND, "format": FORMAT, **listed, "versions": _versions()}
