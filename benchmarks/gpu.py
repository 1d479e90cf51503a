"""One prepared script for a CUDA card, of under eight minutes: ``python -m benchmarks.gpu [--json FILE]``.

It checks what only a card can show, and measures beside it: every reading's numbers against the CPU's; explain() and
batches against the bare network; the device switched in the window while it explains; memory that really runs out; a
training step with automatic mixed precision; a run that goes on from CPU to card and back; two processes with NCCL
where there are two cards. With ``--device cpu`` it runs anywhere, to try the script itself: then memory is said to run
out by the network, and the processes talk by gloo. The exit status is 1 where a check failed, 2 where there is no card.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image

import calm_gui
from benchmarks.training import step_of
from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.classes import ClassSet
from calm_gui.core.maps import Map
from calm_gui.model.checkpoint import build_network, save_checkpoint
from calm_gui.model.info import CheckpointInfo, InputSpec, read_info
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_training.config import Config, DataConfig, ModelConfig, OptimizerConfig, RunConfig
from calm_training.loop import RunInterruptedError, train
from calm_training.methods.calm_em import CalmEmSettings
from calm_training.run_folder import RunFolder

if TYPE_CHECKING:
    from calm_gui.qt.window.main_window import MainWindow

__all__ = ["Report", "main"]

TOLERANCE = 1e-4
"""Of a reading's largest magnitude, between devices."""

DEPTH = 6
A, B = 151, 207  # a chihuahua, a golden retriever


class Report:
    """What was checked and measured on one device.

    Parameters
    ----------
    options : Namespace

    Attributes
    ----------
    figures : dict of str to float
    failed : list of str
        What wasn't as it must be.
    """

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.device = torch.device(options.device)
        self.figures: dict[str, float] = {}
        self.failed: list[str] = []

    @property
    def on_card(self) -> bool:
        """Whether there is a card."""
        return self.device.type == "cuda"

    def figure(self, name: str, value: float, unit: str) -> None:
        """Note and print a figure."""
        self.figures[f"{name}, {unit}"] = value
        print(f"     {name:64s} {value:12.4g} {unit}", flush=True)

    def check(self, name: str, holds: bool, more: str = "") -> None:
        """Note and print whether something is as it must be."""
        if not holds:
            self.failed.append(name)
        print(f"{'ok  ' if holds else 'FAIL'} {name}{f' ({more})' if more else ''}", flush=True)

    def wait(self) -> None:
        """Wait for the card."""
        if self.on_card:
            torch.cuda.synchronize(self.device)

    def rate(self, call: Callable[[], object]) -> float:
        """Calls per second, after a warm-up."""
        for _ in range(self.options.warm_up):
            call()
        self.wait()
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < self.options.seconds:
            call()
            self.wait()
            count += 1
        return count / (time.perf_counter() - start)


def _resnet50(folder: Path) -> Path:
    """A ResNet50 at 28x28 with the demo's classes and random weights; its file."""
    demo = read_info(bundled_checkpoints()["demo"])
    torch.manual_seed(0)
    info = CheckpointInfo(
        "calm-em", "resnet50", 8, demo.classes, hierarchy=demo.hierarchy, supersets=demo.supersets, input=InputSpec(224)
    )
    path = folder / "resnet50.safetensors"
    save_checkpoint(path, build_network(info).eval(), info)
    return path


def readings(report: Report) -> None:
    """Every reading's numbers within 1e-4 of the CPU's."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("demo", "demo-cam", str(_resnet50(Path(folder)))):
            there = calm_gui.load_checkpoint(name, device=str(report.device)).explain(sample_pictures()[0])
            here = calm_gui.load_checkpoint(name, device="cpu").explain(sample_pictures()[0])
            for reading in here.readings:
                asked = here.asked(
                    reading, ClassSet([A]), ClassSet([B]), **({"depth": DEPTH} if reading.takes_depth else {})
                )
                maps = [reading.map(one, asked) for one in (there, here)]
                what = f"{Path(name).stem}: {reading.key} within {TOLERANCE:g} of the CPU's"
                if all(isinstance(one, Map) for one in maps):
                    values, expected = (one.values for one in maps)
                    apart = float(np.abs(values - expected).max() / max(float(np.abs(expected).max()), 1e-30))
                    report.check(what, apart <= TOLERANCE, f"{apart:.1e}")
                    if maps[0].check is not None:
                        report.check(f"{Path(name).stem}: {reading.key} adds up", bool(maps[0].check.passed))
                else:  # a winner may change only where two groups are as good as equal
                    same = float((maps[0].winner == maps[1].winner).mean())
                    report.check(
                        f"{Path(name).stem}: {reading.key} the CPU's in 99 % of the cells", same >= 0.99, f"{same:.2%}"
                    )


def explaining(report: Report) -> None:
    """explain() and batches against the bare network, each at the same number of pictures."""
    model = calm_gui.load_checkpoint("demo", device=str(report.device))
    picture, many = load_picture(sample_pictures()[0]), report.options.batch
    for count in dict.fromkeys((1, many)):
        pictures = [picture] * count
        inputs = torch.cat([model.prepare(one)[0] for one in pictures]).to(report.device)
        inputs = inputs.contiguous(memory_format=torch.channels_last)

        def bare(inputs: torch.Tensor = inputs) -> None:
            with torch.inference_mode():
                model.network(inputs)

        alone = count * report.rate(bare)
        ours = count * report.rate(lambda pictures=pictures: model.explain_batch(pictures))  # type: ignore[misc]
        report.figure(f"bare network, {count} at once", alone, "pictures/s")
        report.figure(f"explain(), {count} at once", ours, "pictures/s")
        report.figure(f"explain() over the bare network, {count} at once", alone / ours, "times")
    explanation = model.explain(picture)
    report.figure("another class", 1000 / report.rate(lambda: explanation.attribution(A)), "ms")


@contextmanager
def _window(device: str) -> Iterator["tuple[MainWindow, Callable[[], None], list[str]]"]:
    """A window without a screen, what waits until it has nothing to do, and its complaints."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from calm_gui.qt.app import build_window, make_application
    from calm_gui.qt.theme import LIGHT, apply_theme

    application = make_application()
    apply_theme(LIGHT)
    window, complaints = build_window("demo", device), []
    window.workspace.on_complaint(lambda sentence: complaints.append(sentence) if sentence else None)

    def settle() -> None:
        end = time.monotonic() + 120
        application.processEvents()
        while window.workspace.busy and time.monotonic() < end:
            application.processEvents()
            time.sleep(0.005)

    window.show()
    try:
        yield window, settle, complaints
    finally:
        window.close()


def _shown(window: "MainWindow") -> np.ndarray[Any, Any] | None:
    explanation = window.hub.scene.explanation
    return None if explanation is None else np.asarray(explanation.f)


def switching(report: Report) -> None:
    """The device switched in the window, to and fro, while it explains; what is shown at last is the CPU's."""
    pictures = sample_pictures()
    card = str(report.device)
    with _window(card) as (window, settle, complaints):
        workspace = window.workspace
        for i in range(6):
            workspace.open_pictures([pictures[i]])
            workspace.set_device("cpu" if i % 2 else card)  # at once, while the picture is being explained
        settle()
        shown = _shown(window)
        expected = calm_gui.load_checkpoint("demo", device="cpu").explain(pictures[5]).f
        near = shown is not None and float(np.abs(shown - expected).max()) <= TOLERANCE * float(np.abs(expected).max())
        report.check("device switched six times while explaining: the last picture is shown and right", near)
        report.check("no complaint while switching", not complaints, "; ".join(complaints))


def _fill(report: Report) -> list[torch.Tensor]:
    """Take the card's memory until there is none left."""
    hog, size = [], 2**30
    while size >= 2**20:
        try:
            hog.append(torch.empty(size, dtype=torch.uint8, device=report.device))
        except torch.OutOfMemoryError:
            size //= 2
    return hog


def out_of_memory(report: Report) -> None:
    """Where memory runs out the CPU goes on with a note; with memory again the card does."""
    card = str(report.device) if report.on_card else "auto"
    pictures = sample_pictures()
    with _window(card) as (window, settle, complaints):
        workspace = window.workspace
        workspace.open_pictures([pictures[0]])
        settle()
        model: LoadedModel = workspace.compute.models[workspace.state.selection.checkpoint]
        if report.on_card:
            torch.cuda.empty_cache()
            hog = _fill(report)
        else:
            hog, forward = [], model.folded_network.forward

            def none_left(_: torch.Tensor) -> object:
                raise torch.OutOfMemoryError("said by the script: there is no card")

            model.folded_network.forward = none_left
        workspace.open_pictures([pictures[1]])
        settle()
        note = "; ".join(complaints)
        report.check("memory ran out: the picture is explained all the same", _shown(window) is not None)
        report.check("memory ran out: a note says that the CPU computes", "the CPU computes" in note, note)
        hog.clear()
        if report.on_card:
            torch.cuda.empty_cache()
        else:
            model.folded_network.forward = forward
        complaints.clear()
        workspace.set_device(card)
        settle()
        workspace.open_pictures([pictures[2]])
        settle()
        back = workspace.compute.models[workspace.state.selection.checkpoint].device
        report.check("memory is free again: the card computes", back.type == report.device.type and not complaints)


def steps(report: Report) -> None:
    """A training step in float32 and with automatic mixed precision, CALM-EM and CAM."""
    times: dict[str, float] = {}
    for way in ("fp32", "bf16"):
        for method in ("cam", "calm-em"):
            step = step_of(method, device=str(report.device), batch=report.options.step_batch, bfloat16=way == "bf16")
            if report.on_card:
                torch.cuda.reset_peak_memory_stats(report.device)
            times[f"{method} {way}"] = 1000 / report.rate(step)
            report.figure(f"step {method} {way}", times[f"{method} {way}"], "ms")
            if report.on_card:
                report.figure(
                    f"step {method} {way}, peak", torch.cuda.max_memory_allocated(report.device) / 2**20, "MiB"
                )
        report.figure(f"step calm-em over cam, {way}", times[f"calm-em {way}"] / times[f"cam {way}"], "times")


def _config(device: str, epochs: int, precision: str = "float32") -> Config:
    return Config(
        recipe="card",
        data=DataConfig(layout="folder"),
        model=ModelConfig(
            backbone="timm:test_efficientnet", output_stride=16, dilated=True, weights="none", input=InputSpec(size=64)
        ),
        methods={"calm-em": CalmEmSettings()},
        optimizer=OptimizerConfig(
            learning_rate=1e-2,
            head_factor=1.0,
            epochs=epochs,
            batch=8,
            schedule="constant",
            precision=precision,  # type: ignore[arg-type]
        ),
        run=RunConfig(device=device, workers=0),
    )


def _pictures(root: Path) -> Path:
    """Two classes of noisy pictures, red and blue."""
    generator = np.random.default_rng(0)
    for split, number in (("train", 12), ("val", 4)):
        for name, channel in (("blue", 2), ("red", 0)):
            (root / split / name).mkdir(parents=True)
            for i in range(number):
                pixels = generator.integers(0, 120, (80, 90, 3), dtype=np.uint8)
                pixels[20:60, 20:60, channel] += 120
                Image.fromarray(pixels).save(root / split / name / f"{i}.png")
    return root


def runs(report: Report) -> None:
    """A run with automatic mixed precision; and one that goes on from the CPU to the card and back."""
    card = str(report.device)
    with tempfile.TemporaryDirectory() as folder:
        data, out = _pictures(Path(folder) / "data"), Path(folder) / "run"
        best = train(_config(card, 2, "bfloat16"), data, Path(folder) / "amp", quiet=True)
        f = calm_gui.load_checkpoint(best, device=card).explain(next(data.glob("val/red/*"))).f
        report.check("a run in bfloat16 ends with finite weights", bool(np.isfinite(f).all()))
        for device in ("cpu", card):
            _interrupted_after_an_epoch(_config(device, 3), data, out)
        train(_config("cpu", 3), data, out, resume=True, quiet=True)
        rows = (out / "log.csv").read_text("utf-8").splitlines()
        report.check("a run goes on from CPU to card and back", len(rows) == 4, f"{len(rows) - 1} epochs")
        alone = Path(folder) / "alone"
        train(_config("cpu", 3), data, alone, quiet=True)
        loss, expected = (_last_loss(one) for one in (out, alone))
        report.check(
            "its loss is that of a run on the CPU alone, within 5 %",
            math.isclose(loss, expected, rel_tol=0.05),
            f"{loss:.4g}, {expected:.4g}",
        )
        _two_processes(report, data, Path(folder) / "two")


def _interrupted_after_an_epoch(config: Config, data: Path, out: Path) -> None:
    """Begin a run, or go on with it, and interrupt it as Ctrl-C does once an epoch is done."""
    write_log = RunFolder.write_log

    def write_and_interrupt(self: RunFolder, history: list[dict[str, float]]) -> None:
        write_log(self, history)
        signal.raise_signal(signal.SIGINT)

    RunFolder.write_log = write_and_interrupt  # type: ignore[method-assign]
    try:
        train(config, data, out, resume=out.exists(), quiet=True)
    except RunInterruptedError:
        pass
    finally:
        RunFolder.write_log = write_log  # type: ignore[method-assign]


def _last_loss(run: Path) -> float:
    head, *_, last = (line.split(",") for line in (run / "log.csv").read_text("utf-8").splitlines())
    return float(dict(zip(head, last, strict=True))["loss"])


def _two_processes(report: Report, data: Path, out: Path) -> None:
    if report.on_card and torch.cuda.device_count() < 2:
        print("     one card, so two processes with NCCL aren't tried", flush=True)
        return
    code = "import sys; from benchmarks.gpu import two; two(*sys.argv[1:])"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "--no-python"]
    command = [*torchrun, sys.executable, "-c", code, report.device.type, str(data), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    network = "NCCL" if report.on_card else "gloo"
    report.check(
        f"two processes with {network} train",
        done.returncode == 0 and (out / "best.safetensors").exists(),
        done.stderr[-300:] if done.returncode else "",
    )


def two(device: str, data: str, out: str) -> None:
    """What each of two processes runs."""
    config = _config(device, 1)
    if device == "cuda":
        config = replace(config, run=replace(config.run, sync_batch_norm=True))
    else:
        config = replace(config, model=replace(config.model, freeze_statistics=True))
    train(config, Path(data), Path(out), quiet=True)


SECTIONS = {
    "readings": readings,
    "explaining": explaining,
    "switching": switching,
    "memory": out_of_memory,
    "steps": steps,
    "runs": runs,
}


def main(arguments: list[str] | None = None) -> int:
    """Print what holds and what was measured; 1 where a check failed, 2 where there is no card."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--json", type=Path, help="also write figures and failures to this file")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batch", type=int, default=64, help="pictures of a batch")
    parser.add_argument("--step-batch", type=int, default=16, help="pictures of a training step")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each call is repeated")
    parser.add_argument("--warm-up", type=int, default=3, help="calls before each measurement")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args(arguments)
    report = Report(options)
    if report.on_card and not torch.cuda.is_available():
        print("there is no CUDA card here", file=sys.stderr)
        return 2
    card = torch.cuda.get_device_name(report.device) if report.on_card else "no card"
    print(f"{card}, torch {torch.__version__}", flush=True)
    start = time.perf_counter()
    for name in options.only:
        began = time.perf_counter()
        SECTIONS[name](report)
        report.figure(f"section {name}", time.perf_counter() - began, "s")
    report.figure("all sections", time.perf_counter() - start, "s")
    if options.json:
        content = {"card": card, "torch": torch.__version__, "failed": report.failed, **report.figures}
        options.json.write_text(json.dumps(content, indent=1), "utf-8")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
