"""Numbers as files: maps as `.npz`, masks as PNG, boxes as COCO JSON, tables as CSV, each with its manifest."""

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.explanation import AnyExplanation, Explanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.region import Region, region_from_box
from calm_gui.errors import ReadingError
from calm_gui.model.files import write_bytes
from calm_gui.render.manifest import check_suffix, describe, describe_map, to_bytes, write_export

__all__ = [
    "describe_map",
    "save_boxes",
    "save_map",
    "save_mask",
    "save_probabilities",
    "save_region_table",
]

_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
"""One date for all members, so that equal arrays give equal files."""


def save_map(
    shown: Map | WinnerMap,
    path: str | Path,
    regions: Sequence[Region] = (),
    manifest: dict[str, Any] | None = None,
) -> None:
    """Write a map's numbers to an `.npz` file, and `<name>.json` that says what they are.

    Arrays of a map: ``values`` (H,W) float32 on the native grid; ``upsampled`` (height,width) float32 over the
    upright picture, NaN where the network saw nothing; ``target`` and ``contrast``, class indices; ``regions``
    (n,H,W) float64 weights and ``region_names``; ``grid``, ``picture``, ``input``, ``scale``, ``offset``, the
    geometry (input = picture coordinate * scale + offset). Of a winner map: ``winner`` (H,W), index into
    ``node_keys`` and ``node_names``, -1 for none, and ``values``, ``share``, ``depth``.

    Parameters
    ----------
    shown : Map or WinnerMap
    path : str or Path
        Ends in ``.npz``.
    regions : sequence of Region
        Stored along.
    manifest : dict, optional
        What to write beside; by default that of `describe_map`.

    Raises
    ------
    ExportError
        If the file can't be written. An existing one is then as it was.
    """
    arrays = _winner_arrays(shown) if isinstance(shown, WinnerMap) else _map_arrays(shown)
    arrays |= {key: np.array(value) for key, value in shown.geometry.to_json().items()}
    if regions:
        arrays["regions"] = np.stack([region.weights for region in regions])
        arrays["region_names"] = np.array([region.name for region in regions])
    manifest = manifest or describe_map(shown, regions=regions)
    write_export(path, [".npz"], "arrays", lambda temporary: _write_npz(temporary, arrays), manifest)


def _map_arrays(shown: Map) -> dict[str, NDArray[Any]]:
    sets = {"target": shown.target, "contrast": shown.contrast}
    return {
        "values": shown.values,
        "upsampled": shown.upsampled(),
        **{name: chosen.indices for name, chosen in sets.items() if chosen is not None},
    }


def _winner_arrays(shown: WinnerMap) -> dict[str, NDArray[Any]]:
    return {
        "winner": shown.winner,
        "values": shown.values,
        "share": shown.share,
        "depth": np.array(shown.depth),
        "node_keys": np.array([node.key for node in shown.nodes]),
        "node_names": np.array([node.name for node in shown.nodes]),
    }


def _write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _ZIP_DATE), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def save_mask(shown: Map, cells: NDArray[np.bool_], path: str | Path, threshold: dict[str, Any] | None = None) -> None:
    """Write chosen cells as a PNG of the upright picture's size, 255 inside and 0 outside.

    Parameters
    ----------
    shown : Map
        What they were chosen from.
    cells : ndarray (H,W), bool
    path : str or Path
        Ends in ``.png``.
    threshold : dict, optional
        How they were chosen, ``{"kind", "value"}``.

    Raises
    ------
    ExportError
        If the file can't be written.
    """
    from PIL import Image

    as_map = replace(shown, values=cells.astype(np.float32))
    inside = as_map.upsampled(nearest=True) > 0.5  # False where nothing was seen (NaN)
    image = Image.fromarray((inside * np.uint8(255)).astype(np.uint8))
    manifest = describe(shown.explanation, [shown], threshold=threshold)
    write_export(path, [".png"], "mask", lambda temporary: image.save(temporary, format="PNG"), manifest)


def save_boxes(shown: Map, boxes: Sequence[Box], path: str | Path, threshold: dict[str, Any] | None = None) -> None:
    """Write boxes as COCO JSON; what they are stands under its ``info``.

    Parameters
    ----------
    shown : Map
        What they were drawn around. Its target becomes the category.
    boxes : sequence of Box
        In pixels of the upright picture; each gets the share of the map's mass inside it as its score.
    path : str or Path
        Ends in ``.json``.
    threshold : dict, optional
        How they were chosen, ``{"kind", "value"}``.

    Raises
    ------
    ExportError
        If the file can't be written.
    """
    path = Path(path)
    check_suffix(path, [".json"])
    explanation = shown.explanation
    width, height = shown.geometry.picture
    classes = [explanation.classes[i] for i in (shown.target or ())]
    mass = np.abs(shown.values).astype(np.float64)
    annotations = []
    for number, box in enumerate(boxes, 1):
        region = region_from_box(shown.geometry, box)
        annotations.append(
            {
                "id": number,
                "image_id": 1,
                "category_id": 1,
                "bbox": [box.x0, box.y0, box.width, box.height],
                "area": box.width * box.height,
                "iscrowd": 0,
                "score": float((mass * region.weights).sum() / mass.sum()) if mass.any() else 0.0,
            }
        )
    data = {
        "info": describe(explanation, [shown], threshold=threshold),
        "images": [{"id": 1, "file_name": str(_picture_name(explanation)), "width": width, "height": height}],
        "categories": [{"id": 1, "name": " + ".join(info.label for info in classes) or shown.reading}],
        "annotations": annotations,
    }
    write_bytes(path, to_bytes(data), overwrite=True, inputs=[_picture_name(explanation)])


def save_probabilities(explanation: AnyExplanation, path: str | Path) -> None:
    """Write p(y|x) of every class as CSV, the most probable first.

    Raises
    ------
    ExportError
        If the file can't be written.
    """
    header = ("rank", "class_index", "wnid", "name", "probability")
    rows = [
        (rank, index, explanation.classes[index].wnid or "", explanation.classes[index].name, repr(p))
        for rank, (index, p) in enumerate(explanation.top(len(explanation.classes)), 1)
    ]
    _save_table(path, header, rows, "class probabilities", describe(explanation, []))


def save_region_table(explanation: AnyExplanation, regions: Sequence[Region], path: str | Path) -> None:
    """Write p(y, z in R|x) of every region and class as CSV, by region, the most probable class first.

    A region's first row, without a class, is p(z in R|x), the sum of the others.

    Raises
    ------
    ReadingError
        For a CAM explanation, which gives no probability of a place.
    ExportError
        If the file can't be written.
    """
    if not isinstance(explanation, Explanation):
        raise ReadingError("CAM gives no probability of a region; use a CALM checkpoint")
    header = ("region", "cells", "class_index", "wnid", "name", "probability_in_region", "probability")
    rows: list[tuple[Any, ...]] = []
    p = explanation.class_probabilities
    for region in regions:
        inside = explanation.region_probabilities(region)
        rows.append((region.name, repr(region.cells), "", "", "any class", repr(float(inside.sum())), "1.0"))
        for index in np.argsort(-inside, kind="stable").tolist():
            info = explanation.classes[index]
            numbers = (repr(float(inside[index])), repr(float(p[index])))
            rows.append((region.name, repr(region.cells), index, info.wnid or "", info.name, *numbers))
    _save_table(path, header, rows, "region table", describe(explanation, [], regions=regions))


def _save_table(
    path: str | Path, header: Sequence[str], rows: Sequence[Sequence[Any]], kind: str, manifest: dict[str, Any]
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    data = text.getvalue().encode()
    write_export(path, [".csv"], kind, lambda temporary: _write(temporary, data), manifest)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _picture_name(explanation: ClassifiedPicture) -> str:
    picture = explanation.source.get("picture", {})
    return str(picture.get("path") or picture.get("name") or "picture")
