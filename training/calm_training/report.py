"""``calm-evaluate report``: everything that a data set allows for several checkpoints, on one Markdown page."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calm_gui.core.classes import ClassSet
from calm_gui.core.maps import Map
from calm_gui.core.readings import CAM
from calm_gui.errors import CalmError, DataError
from calm_gui.model.files import check_free, write_text
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.boxes import BoxedPicture
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.split import split_by_hash
from calm_training.evaluation import Command, Evaluation, EvaluationSet, conventions, measure, read_set, versions
from calm_training.plots import draw
from calm_training.sweep import SweepOptions
from calm_training.tables import table_of

__all__ = ["TITLES", "Part", "parts_of", "run_part", "write_report"]

TITLES: dict[Command, str] = {
    "accuracy": "Accuracy and calibration",
    "wsol": "Weakly supervised object localization",
    "masks": "Localization against masks",
    "removal": "Remove and classify",
    "cues": "Cue localization",
    "axioms": "Axioms",
}


@dataclass(frozen=True)
class Part:
    """One table of a report.

    Attributes
    ----------
    evaluation : Evaluation
    checkpoints : tuple of str
    name : str
        Of its files.
    """

    evaluation: Evaluation
    checkpoints: tuple[str, ...]
    name: str

    @property
    def command(self) -> str:
        """The command line that makes this part alone."""
        one = self.evaluation
        words = ["calm-evaluate", one.command]
        words += [word for name in self.checkpoints for word in ("--checkpoint", name)]
        words += ["--data", str(one.data)]
        words += [word for name in one.maps for word in ("--method", name)]
        words += [word for n, v in (("select", one.select), ("report", one.report)) if v for word in (f"--{n}", str(v))]
        return shlex.join(words)


def parts_of(
    data: Path, checkpoints: Sequence[str], *, most: int | None = None, slow: int = 20, split: str = "test"
) -> list[Part]:
    """The parts that a folder allows, by what lies in it.

    Parameters
    ----------
    data : Path
        A CUB root, a folder with ``index.csv`` (of boxes or masks), or one with ``metadata/<split>``.
    checkpoints : sequence of str
    most : int, optional
        At most so many pictures, those with the lowest SHA-256 of the file name.
    slow : int
        The same for remove-and-classify and the axioms.

    Raises
    ------
    DataError
        If the folder is none of these.
    """
    commands: tuple[Command, ...]
    if (data / "attributes").is_dir():
        commands = ("cues",)
    elif (data / "index.csv").is_file():
        with (data / "index.csv").open(encoding="utf-8-sig") as file:
            columns = file.readline().strip().split(",")
        commands = ("masks",) if "mask" in columns else ("accuracy", "wsol", "removal", "axioms")
    elif (data / "metadata" / split).is_dir():
        with_sizes = (data / "metadata" / split / "image_sizes.txt").is_file()
        commands = ("accuracy", "wsol", "removal", "axioms") if with_sizes else ("masks",)
    else:
        raise DataError(f"{data} holds no index.csv, no metadata/{split} and no CUB, so there is nothing to measure")
    parts = []
    for command in commands:
        select = (min(slow, most or slow)) if command in ("removal", "axioms") else most
        evaluation = Evaluation(command, data, split, select=None if command == "cues" else select)
        parts.append(Part(evaluation, tuple(checkpoints), command))
    return parts


def run_part(
    part: Part,
    out: Path,
    load: Callable[[str], LoadedModel],
    *,
    workers: int = 1,
    resume: bool = False,
    progress: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """Measure a part, write ``<name>.json``, ``.png`` and ``.svg`` into `out`, and return its content.

    With `resume` a finished part isn't measured again, and an unfinished one goes on, if its settings are the same.
    """
    target = out / f"{part.name}.json"
    settings = {"command": part.command, "versions": versions()}
    if resume and target.exists():
        try:
            content: dict[str, Any] = json.loads(target.read_text("utf-8"))
        except ValueError as error:
            raise DataError(f"{target} isn't JSON ({error}); delete it") from error
        if content.get("settings") == settings:
            return content
    found = read_set(part.evaluation)
    journal = part.evaluation.journal(target.with_name(f"{target.name}.journal"), found, resume=resume)
    options = SweepOptions(workers=workers, journal=journal, progress=progress)
    results = {name: measure(part.evaluation, load(name), found, options) for name in part.checkpoints}
    content = {"settings": settings, "conventions": conventions(part.evaluation, results), "results": results}
    write_text(target, json.dumps(content, indent=1), overwrite=True)
    draw(part.evaluation.command, results, target, overwrite=True)
    journal.discard()
    return json.loads(target.read_text("utf-8"))  # as a resumed report reads it: keys are text


def write_report(
    checkpoints: Sequence[str],
    data: Path,
    out: Path,
    *,
    device: str = "auto",
    most: int | None = None,
    slow: int = 20,
    workers: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
) -> Path:
    """Measure everything and write ``report.md`` with its figures into the folder `out`.

    Parameters
    ----------
    checkpoints : sequence of str
        Files or bundled names.
    data, out : Path
    device : str
    most, slow
        As in `parts_of`.
    workers : int
        Threads that decode and score.
    resume : bool
        Whether to go on with an interrupted report in `out`.
    overwrite : bool
        Whether a report that is there may be replaced.
    quiet : bool
        No progress bar.

    Returns
    -------
    Path
        The page.
    """
    from functools import cache

    from tqdm import tqdm

    from calm_gui.api import load_checkpoint

    page = out / "report.md"
    parts = parts_of(data, checkpoints, most=most, slow=slow)
    for path in (page, *(out / f"{part.name}.json" for part in parts)):
        check_free(path, overwrite=overwrite or resume)
    for part in parts:
        read_set(part.evaluation)  # faults of the data come before any network
    out.mkdir(parents=True, exist_ok=True)
    load = cache(lambda name: load_checkpoint(name, device))
    lines = ["# Evaluation", "", f"Checkpoints: {', '.join(checkpoints)}. Data: {data.name}.", ""]
    for part in parts:
        with tqdm(desc=TITLES[part.evaluation.command], unit="picture", disable=quiet) as bar:
            content = run_part(part, out, load, workers=workers, resume=resume, progress=bar.update)
        lines += [f"## {TITLES[part.evaluation.command]}", "", f"    {part.command}", ""]
        lines += [table_of(part.evaluation.command, content["results"], content["conventions"]), ""]
        lines += [f"![{TITLES[part.evaluation.command]}]({part.name}.png)", ""]
    lines += _figures({name: load(name) for name in checkpoints}, read_set(parts[0].evaluation), out)
    lines += ["## Versions", "", ", ".join(f"{name} {number}" for name, number in versions().items()), ""]
    write_text(page, "\n".join(lines), overwrite=True)
    return page


def _figures(models: Mapping[str, LoadedModel], found: EvaluationSet, out: Path) -> list[str]:
    """Figures of the first picture (lowest hash) as the paper's 1, 3, 4 and 6; its 5 is the removal plot."""
    drawn: list[str] = []
    for number, (name, model) in enumerate(models.items(), 1):
        try:
            on_birds = isinstance(found, CubCues)
            figures = _cue_figures(model, found) if on_birds else _reading_figures(model, found)
        except CalmError as error:  # a checkpoint without a hierarchy, say, has no figure 6
            drawn += [f"No pictures of {name}: {error}.", ""]
            continue
        for title, figure in figures:
            file = f"figure-{number}-{title.split(':')[0].replace(' ', '-').lower()}"
            for suffix in (".png", ".svg"):
                figure.savefig(out / f"{file}{suffix}")
            drawn += [f"{name}, {title}", "", f"![{title}]({file}.png)", ""]
    return ["## Pictures", "", *drawn] if drawn else []


def _reading_figures(model: LoadedModel, found: Any) -> list[tuple[str, Any]]:
    from calm_gui.render.figure import map_figure

    # Sets of masks list several classes for a picture; the first one stands for it here.
    labelled = [p if isinstance(p, BoxedPicture) else _with_label(p) for p in found]
    picture = split_by_hash(labelled, 1)[0][0]
    explanation, label = model.explain(picture.path), picture.label
    other = next(c for c, _ in explanation.top(2) if c != label)
    if model.info.is_cam:
        return [("Figure 3: CAM of the true class", map_figure(explanation, [None, explanation.cam(label)]))]
    superset = model.supersets[label]
    maps = [
        None,
        explanation.attribution(label),
        explanation.saliency(),
        explanation.conditional(label),
        explanation.attribution(superset),
        explanation.counterfactual(label, other),
    ]
    figures = [("Figure 3: attribution, saliency, conditional, subset, counterfactual", maps)]
    if model.hierarchy:
        steps = [explanation.attribution(node) for node in _path(model, label)]
        figures.append(("Figure 6: the class and the groups above it", [None, *steps]))
    return [(title, map_figure(explanation, shown, scale="fit", width=180.0)) for title, shown in figures]


def _with_label(picture: Any) -> BoxedPicture:
    """A picture with masks as one with a class, to be drawn."""
    import numpy as np

    return BoxedPicture(picture.path, picture.classes[0], (1, 1), np.empty((0, 4)))


def _path(model: LoadedModel, label: int) -> list[Any]:
    """Nodes from a class up to the root, at most five, evenly taken."""
    assert model.hierarchy is not None
    nodes = [model.hierarchy[key] for key in model.hierarchy]
    own = next(node for node in nodes if node.class_index == label)
    path = [model.hierarchy[key] for key in model.hierarchy.paths_to_root(own.key)[0]]
    step = max(1, (len(path) - 1) / 4)
    return [path[round(i * step)] for i in range(min(5, len(path)))]


def _cue_figures(model: LoadedModel, cub: Any) -> list[tuple[str, Any]]:
    """True mask, maps of A and B, their difference and A's input gradient, for the first pair (figures 1 and 4)."""
    from calm_gui.methods import attribute
    from calm_gui.render.figure import map_figure
    from calm_training.cues import cub_classes

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
        shown["p(A,z|x) - p(B,z|x)"] = explanation.counterfactual(a, b)
    shown["Gradient, A"] = attribute("gradient", model, path, ClassSet([a]))
    figure = map_figure(explanation, list(shown.values()), width=180.0, scale="fit", titles=list(shown))
    return [("Figures 1 and 4: a pair of classes", figure)]
