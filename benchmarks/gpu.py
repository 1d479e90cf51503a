"""The same measurements on a CUDA card, in one script of a few minutes: ``python -m benchmarks.gpu [--json FILE]``.

Forward pass, explain(), batch throughput and training step in fp32, bf16 and with torch.compile; memory; and the map of
another class against captum and pytorch-grad-cam. Nothing is asserted: the figures depend on the card. With ``--device
cpu`` it runs anywhere, to try the script itself.
"""

import argparse
import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import torch

import calm_gui
from benchmarks.model import peer_calls
from benchmarks.training import step_of
from calm_gui.api import sample_pictures
from calm_gui.model.picture import load_picture

__all__ = ["main"]

WAYS = ("fp32", "bf16", "bf16 compiled")


class Meter:
    """Measures calls on one device.

    Parameters
    ----------
    device : torch.device
    seconds : float
        How long each call is repeated.
    """

    def __init__(self, device: torch.device, seconds: float) -> None:
        self.device = device
        self.seconds = seconds
        self.figures: dict[str, float] = {}

    def wait(self) -> None:
        """Wait for the card."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def rate(self, call: Callable[[], object]) -> float:
        """Calls per second, after a warm-up."""
        for _ in range(3):
            call()
        self.wait()
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < self.seconds:
            call()
            self.wait()
            count += 1
        return count / (time.perf_counter() - start)

    def peak(self, name: str, call: Callable[[], object]) -> None:
        """Note the MiB that the card holds at most during a call."""
        if self.device.type != "cuda":
            return
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)
        call()
        self.wait()
        self.figures[f"{name}, peak MiB"] = torch.cuda.max_memory_allocated(self.device) / 2**20


def explaining(meter: Meter, options: Namespace) -> None:
    """Pictures per second: the forward pass in three ways, explain(), batches; and the map of another class."""
    model = calm_gui.load_checkpoint("demo", device=str(meter.device))
    picture = load_picture(sample_pictures()[0])
    inputs = torch.randn(options.batch, 3, 224, 224, device=meter.device).contiguous(memory_format=torch.channels_last)
    for way in options.ways:
        forward = torch.compile(model.network) if "compiled" in way else model.network

        def run(forward: Callable[..., object] = forward, way: str = way) -> None:
            with (
                torch.inference_mode(),
                torch.autocast(meter.device.type, torch.bfloat16, enabled=way.startswith("bf16")),
            ):
                forward(inputs)

        meter.figures[f"forward {way}, pictures/s"] = options.batch * meter.rate(run)
        meter.peak(f"forward {way}", run)
    pictures = [picture] * options.batch
    meter.figures["explain one, pictures/s"] = meter.rate(lambda: model.explain(picture))
    meter.figures["explain batch, pictures/s"] = options.batch * meter.rate(lambda: model.explain_batch(pictures))
    explanation = model.explain(picture)
    ours = 1000 / meter.rate(lambda: explanation.attribution(151))
    meter.figures["another class, ours, ms"] = ours
    for name, call in peer_calls(model, picture).items():
        theirs = 1000 / meter.rate(call)
        meter.figures[f"another class, {name}, ms"] = theirs
        meter.figures[f"another class, {name} over ours"] = theirs / ours


def training(meter: Meter, options: Namespace) -> None:
    """A training step of ResNet50 at 28x28, C = 200: CALM-EM against CAM in three ways."""
    for way in options.ways:
        for method in ("cam", "calm-em"):
            step = step_of(
                method,
                device=str(meter.device),
                batch=options.step_batch,
                bfloat16=way.startswith("bf16"),
                compiled="compiled" in way,
            )
            meter.figures[f"step {method} {way}, ms"] = 1000 / meter.rate(step)
            meter.peak(f"step {method} {way}", step)
        meter.figures[f"step calm-em over cam, {way}"] = (
            meter.figures[f"step calm-em {way}, ms"] / meter.figures[f"step cam {way}, ms"]
        )


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; 2 where there is no card."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batch", type=int, default=64, help="pictures of a forward pass")
    parser.add_argument("--step-batch", type=int, default=16, help="pictures of a training step")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each call is repeated")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    options = parser.parse_args(arguments)
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("there is no CUDA card here", file=sys.stderr)
        return 2
    meter = Meter(device, options.seconds)
    explaining(meter, options)
    training(meter, options)
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else "no card"
    print(f"{card}, torch {torch.__version__}")
    for name, value in meter.figures.items():
        print(f"{name:48s} {value:12.2f}")
    if options.json:
        content = {"card": card, "torch": torch.__version__, **meter.figures}
        options.json.write_text(json.dumps(content, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
