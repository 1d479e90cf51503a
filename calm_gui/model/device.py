"""Choosing and describing the device that computes."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from calm_gui.errors import CheckpointError

__all__ = ["available_devices", "choose_device", "describe_device", "full_float32"]


def available_devices() -> list[str]:
    """Names of the devices there are, best first; the CPU is always the last."""
    devices = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    if torch.backends.mps.is_available():
        devices.append("mps")
    return [*devices, "cpu"]


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """The device of a name.

    Parameters
    ----------
    name : str or torch.device
        In any case: ``auto`` (the best there is), ``cpu``, ``cuda``, ``cuda:1``, ``mps``.

    Raises
    ------
    CheckpointError
        If this machine has no such device.
    """
    devices = available_devices()
    name = str(name).lower()
    if name == "auto":
        return torch.device(devices[0])
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in devices:
        raise CheckpointError(f"there is no device {name!r} here; there are {', '.join(devices)}")
    return torch.device(wanted)


def describe_device(device: torch.device) -> str:
    """One line for the status bar: name, and free memory where the device tells it."""
    if device.type != "cuda":
        return str(device)
    free, total = torch.cuda.mem_get_info(device)
    return f"{device} {torch.cuda.get_device_name(device)}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free"


@contextmanager
def full_float32() -> Iterator[None]:
    """Convolutions on a card in float32 proper; with TF32, which PyTorch allows them, maps differ by a thousandth."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before
