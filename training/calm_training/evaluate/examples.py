"""Pictures of a report: figures like the paper's, and the best, median and worst examples by a measure."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calm_gui.core.classes import ClassSet
from calm_gui.core.maps import Map
from calm_gui.core.readings import CAM, COUNTERFACTUAL
from calm_gui.errors import CalmError
from calm_gui.methods import attribute
from calm_gui.model.loaded import LoadedModel
from calm_gui.render.figure import map_figure
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.split import split_by_hash
from calm_training.evaluate.cues import cub_classes
from calm_training.evaluate.page import Block, Heading, Paragraph, Picture
from calm_training.evaluate.sweep import picture_names

__all__ = ["chosen_examples", "figures_of"]

BY = (("energy", "energy-based pointing game"), ("entropy", "entropy"))
"""Measures that examples are chosen by: the first one that every picture has."""


def figures_of(models: Mapping[str, LoadedModel], sets: Mapping[str, Any], out: Path) -> list[Block]:
    """Figures of every checkpoint, written into a folder as PNG and SVG.

    Parameters
    ----------
    models : mapping
        By the checkpoint's name.
    sets : mapping
        For each checkpoint the pictures, with labels of its classes, or `CubCues`.
    out : Path
        Also where ``measures.csv`` lies, by which examples are chosen.
    """
    drawn: list[Block] = []
    for number, (name, model) in enumerate(models.items(), 1):
        try:
            found = sets[name]
            figures = _cue_figures(model, found) if isinstance(found, CubCues) else _reading_figures(model, found)
            figures += [] if isinstance(found, CubCues) else _example_figures(model, name, found, out)
        except CalmError as error:  # a checkpoint whose true class no map is of, say
            drawn.append(Paragraph(f"No pictures of {name}: {error}."))
            continue
        for title, figure in figures:
            file = out / f"figure-{number}-{title.split(':')[0].replace(' ', '-').lower()}.png"
            for target in (file, file.with_suffix(".svg")):
                figure.savefig(target)
            drawn.append(Picture(file, f"{name}, {title}"))
    return [Heading("Pictures"), *drawn] if drawn else []


def chosen_examples(table: Path, checkpoint: str) -> tuple[str, str, list[tuple[str, str, float]]]:
    """The best, median and worst picture of a checkpoint's first map.

    Parameters
    ----------
    table : Path
        Scores of every picture, as ``calm-evaluate measures`` writes them.
    checkpoint : str

    Returns
    -------
    str, str, list of (str, str, float)
        The map; the measure, in words; for each example what it is, the picture's name and its score. Empty where there
        is no such table.
    """
    if not table.is_file():
        return "", "", []
    with table.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["checkpoint"] == checkpoint]
    first = rows[0]["map"] if rows else ""
    for column, words in BY:
        scored = [(row["picture"], float(row[column])) for row in rows if row["map"] == first and row.get(column)]
        scored = sorted((pair for pair in scored if math.isfinite(pair[1])), key=lambda pair: -pair[1])
        if scored:
            places = {"best": 0, "median": len(scored) // 2, "worst": len(scored) - 1}
            if len(scored) < 3:
                places = {"best": 0}
            kinds = places if column == "energy" else {"largest": 0, **dict.fromkeys(["median"], len(scored) // 2)}
            return first, words, [(kind, *scored[place]) for kind, place in kinds.items()]
    return "", "", []


def _example_figures(model: LoadedModel, name: str, found: Sequence[Any], out: Path) -> list[tuple[str, Any]]:
    _, measure, examples = chosen_examples(out / "measures.csv", name)
    pictures = dict(zip(picture_names([picture.path for picture in found]), found, strict=True))
    figures = []
    for kind, file, value in examples:
        picture = pictures.get(file)
        if picture is None:
            continue
        explanation = model.explain(picture.path)
        if explanation.own_reading is None:
            return []
        shown = explanation.reading(explanation.own_reading.key, picture.classes)
        title = f"{kind} by the {measure}: {file}, {value:.3g}"
        figures.append((title, map_figure(explanation, [None, shown], scale="fit", width=120.0)))
    return figures


def _reading_figures(model: LoadedModel, found: Sequence[Any]) -> list[tuple[str, Any]]:
    """Readings of the first picture (lowest hash) as in the paper's figures 3 and 6."""
    # Sets of masks list several classes for a picture; the first one stands for it here.
    picture = split_by_hash(found, 1)[0][0]
    explanation, label = model.explain(picture.path), picture.classes[0]
    other = next((c for c, _ in explanation.top(2) if c != label), None)
    if model.info.is_cam:
        return [("Figure 3: CAM of the true class", map_figure(explanation, [None, explanation.cam(label)]))]
    superset = model.supersets[label]
    maps = [
        None,
        explanation.attribution(label),
        explanation.saliency(),
        explanation.conditional(label),
        *([explanation.attribution(superset)] if len(superset) > 1 else []),
        *([explanation.counterfactual(label, other)] if other is not None else []),
    ]
    subset = "subset, " if len(superset) > 1 else ""
    figures = [(f"Figure 3: attribution, saliency, conditional, {subset}counterfactual", maps)]
    if model.hierarchy and (steps := [explanation.attribution(node) for node in _path(model, label)]):
        figures.append(("Figure 6: the class and the groups above it", [None, *steps]))
    return [(title, map_figure(explanation, shown, scale="fit", width=180.0)) for title, shown in figures]


def _path(model: LoadedModel, label: int) -> list[Any]:
    """Nodes from a class up to the root, at most five, evenly taken."""
    assert model.hierarchy is not None
    nodes = [model.hierarchy[key] for key in model.hierarchy]
    own = next((node for node in nodes if node.class_index == label), None)
    if own is None:  # a hierarchy may lack classes
        return []
    path = [model.hierarchy[key] for key in model.hierarchy.paths_to_root(own.key)[0]]
    step = max(1, (len(path) - 1) / 4)
    return [path[round(i * step)] for i in range(min(5, len(path)))]


def _cue_figures(model: LoadedModel, cub: Any) -> list[tuple[str, Any]]:
    """True mask, maps of A and B, their difference and A's input gradient, for the first pair (figures 1 and 4)."""
    index = cub_classes(model)
    pairs = [p for n in (1, 2, 3) for p in cub.pairs(n) if all(c in index for c in p.classes)]
    pair, image, mask = next((p, i, m) for p in pairs for i in cub.pictures(p) if (m := cub.mask(i, p)) is not None)
    a, b = (index[c] for c in pair.classes)
    path = cub.root / "images" / cub.files[image]
    explanation = model.explain(path)
    reading = explanation.cam if model.info.is_cam else explanation.attribution
    true_mask = Map(mask.astype("float32"), CAM, explanation, unit="1 inside")
    shown: dict[str, Map] = {
        f"True mask: {', '.join(pair.parts)}": true_mask,
        f"A: {model.classes[a].name}": reading(a),
        f"B: {model.classes[b].name}": reading(b),
    }
    if not model.info.is_cam:
        shown[COUNTERFACTUAL.formula] = explanation.counterfactual(a, b)
    shown["Gradient, A"] = attribute("gradient", model, path, ClassSet([a]))
    figure = map_figure(explanation, list(shown.values()), width=180.0, scale="fit", titles=list(shown))
    return [("Figures 1 and 4: a pair of classes", figure)]
