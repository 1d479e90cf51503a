"""``calm-evaluate report``: everything that a data set allows for several checkpoints, on one page.

The page is written in Markdown, as one HTML file, and as PDF.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calm_gui.core.comparison import compare_values, say_changes
from calm_gui.errors import CheckpointError, DataError
from calm_gui.model.files import atomic_path, check_free, write_text
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.evaluation_set import AUTO, annotations_of, with_labels_of
from calm_training.evaluate.comparison import compared, comparison_table
from calm_training.evaluate.evaluation import EVALUATIONS, Plan
from calm_training.evaluate.examples import figures_of
from calm_training.evaluate.failures import NothingMeasuredError, failure_table, say_failures
from calm_training.evaluate.page import Block, Command, Heading, Paragraph, Picture, as_markdown
from calm_training.evaluate.page_html import as_html
from calm_training.evaluate.page_pdf import write_pdf
from calm_training.evaluate.plan import content_of, digest_of, files_of, journal_of, measure, read_set, versions
from calm_training.evaluate.plot import draw
from calm_training.evaluate.scores_table import scores_files, write_scores
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, SweepOptions
from calm_training.evaluate.table import Table

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
    compare : tuple of (str, str)
        Pairs whose differences are told beside, as `compared` takes them.
    """

    plan: Plan
    checkpoints: tuple[str, ...]
    name: str
    compare: tuple[tuple[str, str], ...] = ()

    @property
    def steps(self) -> int | None:
        """How many pictures are gone through, each once for each checkpoint; None if that isn't known.

        Raises
        ------
        DataError
            If the data has a fault.
        """
        found = read_set(self.plan)
        return None if self.plan.evaluation.reads == "cues" else len(found.pictures) * len(self.checkpoints)

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
            elif value != option.default and not isinstance(value, bool):
                words += [f"--{option.name.replace('_', '-')}", str(value)]
        words += [
            word for n, v in (("select", plan.select), ("report", plan.report)) if v for word in (f"--{n}", str(v))
        ]
        words += [word for pair in self.compare for word in ("--compare", *pair)]
        return shlex.join(words)


@dataclass(frozen=True)
class Section:
    """What a part gave, as its JSON file holds it."""

    part: Part
    tables: tuple[Table, ...]
    conventions: str
    failed: Mapping[str, str]
    unmeasured: Mapping[str, str]


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
    batch: int = DEFAULT_OPTIONS.batch,
    workers: int = 1,
    resume: bool = False,
    overwrite: bool = False,
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
        if content.get("settings") == settings and not _failed(content) and not content.get("unmeasured"):
            return _section(part, content)
        if not overwrite:
            _refuse_others(target, content.get("settings", {}), settings)
    journal = journal_of(
        part.plan, target.with_name(f"{target.name}.journal"), found, resume=resume, overwrite=overwrite
    )
    options = SweepOptions(batch=batch, workers=workers, journal=journal, progress=progress)
    results, unmeasured = {}, {}
    for name in part.checkpoints:
        try:
            results[name] = measure(part.plan, load(name), found, options)
        except (DataError, CheckpointError) as error:
            if len(part.checkpoints) == 1:
                raise
            unmeasured[name] = str(error)
    if not results:
        raise NothingMeasuredError("; ".join(f"{name}: {reason}" for name, reason in unmeasured.items()))
    shown = [*part.plan.evaluation.tables(results), *failure_table(results)]
    if part.compare:
        shown.append(comparison_table(compared(results, part.compare)))
    tables = [{"head": table.head, "rows": table.rows} for table in shown]
    content = {
        "settings": settings,
        **content_of(part.plan, results, found),
        "tables": tables,
        "unmeasured": unmeasured,
    }
    write_text(target, json.dumps(content, indent=1, allow_nan=False), overwrite=True)
    write_scores(results, target, overwrite=True)
    draw(part.plan.evaluation, results, target, overwrite=True)
    journal.discard()
    return _section(part, content)


def _section(part: Part, content: Mapping[str, Any]) -> Section:
    tables = tuple(Table.of(table["head"], table["rows"]) for table in content["tables"])
    return Section(part, tables, content["conventions"], _failed(content), content.get("unmeasured", {}))


def _refuse_others(target: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to replace results of another command, or of checkpoints by other names; what changed is measured anew."""
    asked = [{"command": said.get("command"), "checkpoints": [*said.get("checkpoints", ())]} for said in (before, now)]
    if changes := compare_values(*asked):
        raise DataError(
            f"{target} holds results of other settings ({say_changes(changes)}); give the same ones, another --out, or "
            "--overwrite"
        )


def _failed(content: Mapping[str, Any]) -> dict[str, str]:
    """Why pictures of a part failed, by their paths."""
    return {one["picture"]: one["reason"] for found in content["results"].values() for one in found.get("failed", ())}


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
    batch: int = DEFAULT_OPTIONS.batch,
    workers: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
) -> Path:
    """Measure everything and write ``report.md``, ``.html`` and ``.pdf`` with their figures into the folder `out`.

    Parameters
    ----------
    checkpoints : sequence of str
        Files or bundled names.
    data, out : Path
    split, layout, device : str
    most, slow
        As in `parts_of`.
    batch, workers : int
        As in `SweepOptions`.
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

    Raises
    ------
    DataError
        If something can't be used; once the page is written, if pictures of it failed.
    """
    from functools import cache

    from tqdm import tqdm

    from calm_gui.api import load_checkpoint

    page = out / "report.md"
    parts = parts_of(data, checkpoints, most=most, slow=slow, split=split, layout=layout)
    steps = [part.steps for part in parts]  # faults of the data come before any network
    data_files = (file for part in parts for file in files_of(part.plan, read_set(part.plan)))
    inputs: list[str | Path] = [*checkpoints, *data_files]
    for path in _written(out, parts):
        check_free(path, overwrite=overwrite or resume, inputs=inputs)
    out.mkdir(parents=True, exist_ok=True)
    load = cache(lambda name: load_checkpoint(name, device))
    models = {name: load(name) for name in checkpoints}  # before hours are spent on the others
    failed: dict[str, str] = {}
    unmeasured: list[str] = []
    blocks: list[Block] = [
        Heading("Evaluation", 1),
        Paragraph(f"Checkpoints: {', '.join(checkpoints)}. Data: {data.name}."),
    ]
    for part, total in zip(parts, steps, strict=True):
        title = part.plan.evaluation.title
        try:
            with tqdm(total=total, desc=title, unit="picture", disable=quiet) as bar:
                how: dict[str, Any] = {"batch": batch, "workers": workers, "resume": resume, "overwrite": overwrite}
                section = run_part(part, out, load, **how, progress=bar.update)
        except (DataError, CheckpointError) as error:
            unmeasured.append(f"{title}: {error}")
            blocks += [Heading(title), Command(part.command), Paragraph(f"Not measured: {error}.")]
            continue
        blocks += [Heading(title), Command(part.command), *section.tables, Paragraph(section.conventions)]
        blocks.append(Picture(out / f"{part.name}.png", title))
        failed.update(section.failed)
        for name, reason in section.unmeasured.items():
            unmeasured.append(f"{title}: {name}: {reason}")
            blocks.append(Paragraph(f"{name} isn't measured: {reason}."))
    if not any(isinstance(block, Picture) for block in blocks):
        raise NothingMeasuredError(f"nothing could be measured; {unmeasured[0]}")
    found = read_set(parts[0].plan)
    sets = {name: with_labels_of(found, model.classes, data.name) for name, model in models.items()}
    if not isinstance(found.pictures, CubCues):
        sets = {name: [p for p in pictures if str(p.path) not in failed] or pictures for name, pictures in sets.items()}
    blocks += figures_of(models, sets, out)
    blocks += [Heading("Settings"), Paragraph(_settings(parts))]
    blocks += [
        Heading("Versions"),
        Paragraph(", ".join(f"{name} {number}" for name, number in versions().items()) + "."),
    ]
    write_text(page, as_markdown(blocks), overwrite=True)
    write_text(page.with_suffix(".html"), as_html(blocks), overwrite=True)
    with atomic_path(page.with_suffix(".pdf"), overwrite=True) as temporary:
        write_pdf(blocks, temporary)
    if failed or unmeasured:
        said = [*([say_failures(failed)] if failed else []), *unmeasured]
        raise DataError(f"{page} is written, but {'; '.join(said)}")
    return page


def _written(out: Path, parts: Sequence[Part]) -> list[Path]:
    """What a report writes into its folder, and the figures that are there, whose names depend on what is found."""
    page = out / "report.md"
    found = [page, page.with_suffix(".html"), page.with_suffix(".pdf")]
    for part in parts:
        results = out / f"{part.name}.json"
        found += [results, *scores_files(results), results.with_suffix(".png"), results.with_suffix(".svg")]
    return found + sorted(path for suffix in ("png", "svg") for path in out.glob(f"figure-*.{suffix}"))


def _settings(parts: Sequence[Part]) -> str:
    """Settings of every part that has some, and whose files they are."""
    said = [
        f"{part.plan.evaluation.title}: {', '.join(f'{name} {_value(value)}' for name, value in settings.items())}"
        for part in parts
        if (settings := part.plan.settings)
    ]
    return f"{'; '.join(said)}. Every part's numbers, tables of pictures and plots are next to this page."


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "by default"
    return str(value)
