"""The same measurements on a CUDA card, in one script of a few minutes: ``python -m benchmarks.gpu [--json FILE]``.

Forward pass, explain(), batch throughput and training step in fp32, bf16 and with torch.compile; memory; and the map of
another class against captum and pytorch-grad-cam. Nothing is asserted: the figures depend on the card.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import calm_gui
from calm_gui.api import sample_pictures
from calm_gui.model.checkpoint import build_network
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.picture import load_picture

BATCH = 64
SECONDS = 3.0


def per_second(call: Callable[[], object], items: int) -> float:
    """Items per second of a call, after a warm-up, with the card waited for."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        call()
        torch.cuda.synchronize()
        count += 1
    return items * count / (time.perf_counter() - start)


def throughput(device: torch.device) -> dict[str, float]:
    """Pictures per second: forward pass in three ways, and explain()."""
    model = calm_gui.load_checkpoint("demo", device=str(device))
    inputs = torch.randn(BATCH, 3, 224, 224, device=device).contiguous(memory_format=torch.channels_last)
    network = model.network
    found = {}
    with torch.inference_mode():
        found["forward fp32"] = per_second(lambda: network(inputs), BATCH)
        with torch.autocast("cuda", torch.bfloat16):
            found["forward bf16"] = per_second(lambda: network(inputs), BATCH)
        compiled = torch.compile(network)
        with torch.autocast("cuda", torch.bfloat16):
            found["forward bf16 compiled"] = per_second(lambda: compiled(inputs), BATCH)
    picture = load_picture(sample_pictures()[0])
    found["explain one"] = per_second(lambda: model.explain(picture), 1)
    found["explain batch"] = per_second(lambda: model.explain_batch([picture] * 16), 16)
    return found


def training_step(device: torch.device) -> dict[str, float]:
    """Milliseconds and MiB of a training step of ResNet50 at 28x28, C = 200: CAM against CALM-EM."""
    from calm_gui.core.classes import ClassInfo, ClassTable
    from calm_training.objectives import calm_em, cam

    classes = ClassTable(ClassInfo(i, f"class {i}") for i in range(200))
    found = {}
    for name, activation in (("cam", None), ("calm-em", "softplus")):
        method = "cam" if activation is None else "calm-em"
        info = CheckpointInfo(method, "resnet50", 8, classes, saliency_activation=activation)  # type: ignore[arg-type]
        network = build_network(info).to(device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
        inputs = torch.randn(16, 3, 224, 224, device=device).contiguous(memory_format=torch.channels_last)
        labels = torch.randint(200, (16,), device=device)

        def step(network=network, optimizer=optimizer, inputs=inputs, labels=labels) -> None:  # type: ignore[no-untyped-def]
            with torch.autocast("cuda", torch.bfloat16):
                f, a = network(inputs)
                loss = cam(f, labels) if a is None else calm_em(f, a, labels)
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()

        torch.cuda.reset_peak_memory_stats()
        found[f"step {name}, ms"] = 1000 / per_second(step, 1)
        found[f"step {name}, peak MiB"] = torch.cuda.max_memory_allocated() / 2**20
    found["step calm-em over cam"] = found["step calm-em, ms"] / found["step cam, ms"]
    return found


def main() -> int:
    """Print the figures; 2 where there is no card."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("there is no CUDA card here", file=sys.stderr)
        return 2
    device = torch.device("cuda:0")
    figures: dict[str, float] = {}
    for measure in (throughput, training_step):
        figures |= measure(device)
    for name, value in figures.items():
        print(f"{name:32s} {value:12.2f}")
    if options.json:
        options.json.write_text(json.dumps({"card": torch.cuda.get_device_name(device), **figures}, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
