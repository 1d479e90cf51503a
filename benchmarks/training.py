"""A training step of CALM-EM against one of CAM: whole ResNet50 at 28x28, class convolution before pooling in both."""

import subprocess
import sys

from benchmarks.timing import Row, interleaved

__all__ = ["training_rows"]

BATCH = 4
CLASSES = 200

_PEAK = """
from benchmarks.training import step_of
step = step_of({method!r}); step(); step()
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def step_of(  # type: ignore[no-untyped-def]
    method: str,
    classes: int = CLASSES,
    *,
    device: str = "cpu",
    batch: int = BATCH,
    bfloat16: bool = False,
    compiled: bool = False,
):
    """A call that makes one training step: forward, loss, backward, SGD."""
    import torch

    from calm_gui.core.classes import ClassInfo, ClassTable
    from calm_gui.model.checkpoint import build_network
    from calm_gui.model.info import CheckpointInfo
    from calm_training.objectives import calm_em, calm_ml, cam

    torch.manual_seed(0)
    table = ClassTable(ClassInfo(i, f"class {i}") for i in range(classes))
    activation = None if method == "cam" else "softplus"
    info = CheckpointInfo(method, "resnet50", 8, table, saliency_activation=activation)  # type: ignore[arg-type]
    network = build_network(info).to(device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    forward = torch.compile(network) if compiled else network
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, nesterov=True, weight_decay=1e-4)
    inputs = torch.randn(batch, 3, 224, 224, device=device).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(classes, (batch,), device=device)
    losses = {"calm-em": calm_em, "calm-ml": calm_ml}

    def step() -> None:
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bfloat16):
            f, a = forward(inputs)
            loss = cam(f, labels) if a is None else losses[method](f, a, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _peak(method: str) -> float:
    command = [sys.executable, "-c", _PEAK.format(method=method)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]) / 1024


def training_rows(repeat: int = 5) -> list[Row]:
    """Time and peak memory of a step, CALM-EM over CAM."""
    time_ratio = interleaved(step_of("calm-em"), step_of("cam"), repeat)
    many = interleaved(step_of("calm-em", 1000), step_of("cam", 1000), max(2, repeat // 2))
    ours, theirs = _peak("calm-em"), _peak("cam")
    sizes = f"{ours:.0f} / {theirs:.0f} MiB"
    return [
        Row("training step, CALM-EM over CAM, 200 classes", time_ratio, "times", 1.05),
        Row("training step, CALM-EM over CAM, 1,000 classes", many, "times", 1.25, True, "reported, not asked for"),
        Row("peak memory of a step, CALM-EM over CAM", ours / theirs, "times", 1.10, True, sizes),
    ]
