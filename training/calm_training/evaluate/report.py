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
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.evaluation_set import AUTO, annotations_of
from calm_training.datasets.split import split_by_hash
from calm_training.evaluate.evaluations import EVALUATIONS
from calm_training.evaluate.pictures import pictures_csv
from calm_training.evaluate.plan import Plan, content_of, digest_of, measure, read_set, versions
from calm_training.evaluate.plot import draw
from calm_training.evaluate.sweep import SweepOptions
from calm_training.evaluate.table import Table, markdown

__all__ = ["Part", "parts_of", "run_part", "write_report"]


@dataclass(frozen=True)
class Part:
    """One section of a report.

    Attributes
    ----------
    plan : Plan
    checkpoints : tuple of str
    name : str
        Of its files.
    """

    plan: Plan
    checkpoints: tuple[str, ...]
    name: str

    @property
    def command(self) -> str:
        """The command line that makes this part alone."""
        plan = self.plan
        words = ["calm-evaluate", plan.command]
        words += [word for name in self.checkpoints for word in ("--checkpoint", name)]
        words += ["--data", str(plan.data)]
        words += ["--split", plan.split] if plan.split != "test" else []
        words += ["--layout", plan.layout] if plan.layout != AUTO else []
        words += [word for name in plan.maps for word in ("--map", name)]
        for option in plan.evaluation.options:
            value = plan.settings[option.name]
            if isinstance(option.default, tuple):
                words += [word for one in value for word in (f"--{option.name.replace('_', '-')}", str(one))]
        words += [
            word for n, v in (("select", plan.select), ("report", plan.report)) if v for word in (f"--{n}", str(v))
        ]
        return shlex.join(words)


@dataclass(frozen=True)
class Section:
    """What a part gave, as its JSON file holds it."""

    part: Part
    tables: tuple[Table, ...]
    conventions: str


def parts_of(
    data: Path,
    checkpoints: Sequence[str],
    *,
    most: int | None = None,
    slow: int = 20,
    split: str = "test",
    layout: str = AUTO,
) -> list[Part]:
    """The parts that a folder allows, by what lies in it.

    Parameters
    ----------
    data : Path
        A data set in one of the layouts that training takes.
    checkpoints : sequence of str
    most : int, optional
        At most so many pictures, those with the lowest SHA-256 of the file name.
    slow : int
        The same for evaluations that take many passes a picture.
    split, layout : str

    Raises
    ------
    DataError
        If the folder is no data set.
    """
    there = annotations_of(data, split, layout)
    parts = []
    for evaluation in EVALUATIONS.values():
        if evaluation.reads in there:
            select = min(slow, most or slow) if evaluation.slow else most
            plan = Plan(evaluation.key, data, split, layout, None if evaluation.reads == "cues" else select)
            parts.append(Part(plan, tuple(checkpoints), evaluation.key))
    return parts


def run_part(
    part: Part,
    out: Path,
    load: Callable[[str], LoadedModel],
    *,
    workers: int = 1,
    resume: bool = False,
    progress: Callable[[int], object] = lambda _: None,
) -> Section:
    """Measure a part, and write ``<name>.json``, ``.csv``, ``.png`` and ``.svg`` into `out`.

    With `resume` a finished part isn't measured again, and an unfinished one goes on, if settings, checkpoints and
    pictures are the same.
    """
    target, found = out / f"{part.name}.json", read_set(part.plan)
    settings = {
        "command": part.command,
        "versions": versions(),
        "checkpoints": {name: load(name).identity for name in part.checkpoints},
        "pictures": digest_of(found),
    }
    if resume and target.exists():
        try:
            content: dict[str, Any] = json.loads(target.read_text("utf-8"))
        except ValueError as error:
            raise DataError(f"{target} isn't JSON ({error}); delete it") from error
        if content.get("settings") == settings:
            return _section(part, content)
    journal = part.plan.journal(target.with_name(f"{target.name}.journal"), found, resume=resume)
    options = SweepOptions(workers=workers, journal=journal, progress=progress)
    results = {name: measure(part.plan, load(name), found, options) for name in part.checkpoints}
    tables = [{"head": table.head, "rows": table.rows} for table in part.plan.evaluation.tables(results)]
    content = {"settings": settings, **content_of(part.plan, results), "tables": tables}
    write_text(target, json.dumps(content, indent=1, allow_nan=False), overwrite=True)
    write_text(target.with_suffix(".csv"), pictures_csv(results), overwrite=True)
    draw(part.plan.evaluation, results, target, overwrite=True)
    journal.discard()
    return _section(part, content)


def _section(part: Part, content: Mapping[str, Any]) -> Section:
    tables = tuple(Table.of(table["head"], table["rows"]) for table in content["tables"])
    return Section(part, tables, content["conventions"])


def write_report(
    checkpoints: Sequence[str],
    data: Path,
    out: Path,
    *,
    split: str = "test",
    layout: str = AUTO,
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
    split, layout, device : str
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
    parts = parts_of(data, checkpoints, most=most, slow=slow, split=split, layout=layout)
    for path in (page, *(out / f"{part.name}.json" for part in parts)):
        check_free(path, overwrite=overwrite or resume)
    for part in parts:
        read_set(part.plan)  # faults of the data come before any network
    out.mkdir(parents=True, exist_ok=True)
    load = cache(lambda name: load_checkpoint(name, device))
    lines = ["# Evaluation", "", f"Checkpoints: {', '.join(checkpoints)}. Data: {data.name}.", ""]
    for part in parts:
        title = part.plan.evaluation.title
        with tqdm(desc=title, unit="picture", disable=quiet) as bar:
            section = run_part(part, out, load, workers=workers, resume=resume, progress=bar.update)
        lines += [f"## {title}", "", f"    {part.command}", ""]
        lines += ["\n\n".join(map(markdown, section.tables)), "", section.conventions, ""]
        lines += [f"![{title}]({part.name}.png)", ""]
    lines += _figures({name: load(name) for name in checkpoints}, read_set(parts[0].plan).pictures, out)
    lines += ["## Versions", "", ", ".join(f"{name} {number}" for name, number in versions().items()), ""]
    write_text(page, "\n".join(lines), overwrite=True)
    return page


def _figures(models: Mapping[str, LoadedModel], found: Any, out: Path) -> list[str]:
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
    picture = split_by_hash(found, 1)[0][0]
    explanation, label = model.explain(picture.path), picture.classes[0]
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
    from calm_training.evaluate.cues import cub_classes

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
