"""One process or many: ranks as torchrun sets them, exact sums over processes, words from the first one only."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from calm_gui.torchrun import rank_number

__all__ = ["ALONE", "Processes", "processes", "wrap"]


@dataclass(frozen=True)
class Processes:
    """A process among those that train together.

    Attributes
    ----------
    rank, world, local_rank : int
    """

    rank: int = 0
    world: int = 1
    local_rank: int = 0

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and reports."""
        return self.rank == 0

    def sum(self, values: list[float], device: torch.device) -> list[float]:
        """Sums over all processes, in float64."""
        if self.world == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64, device=device)
        distributed.all_reduce(total)
        return [float(v) for v in total.tolist()]

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether the flag is set in any process; all must ask at the same point."""
        return self.sum([float(flag)], device)[0] > 0

    def gather(self, values: torch.Tensor) -> torch.Tensor:
        """The whole step's (world B,...) of each process's (B,...), in the order of its pictures; no gradient."""
        values = values.detach().contiguous()
        if self.world == 1:
            return values
        parts = [torch.empty_like(values) for _ in range(self.world)]
        distributed.all_gather(parts, values)
        return torch.stack(parts, 1).flatten(0, 1)

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """Sum of a tensor over all processes; no gradient."""
        values = values.detach().clone()
        if self.world > 1:
            distributed.all_reduce(values)
        return values

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            distributed.barrier()


ALONE = Processes()


@contextmanager
def processes(device_type: str) -> Iterator[Processes]:
    """Join the processes that torchrun started, if it did, and leave them again.

    Parameters
    ----------
    device_type : str
        ``cuda`` communicates through nccl, everything else through gloo.
    """
    if (rank_number("WORLD_SIZE") or 1) == 1:
        yield ALONE
        return
    distributed.init_process_group("nccl" if device_type == "cuda" else "gloo")
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size(), rank_number("LOCAL_RANK") or 0)
    finally:
        distributed.destroy_process_group()


def wrap(module: torch.nn.Module, group: Processes, device: torch.device) -> torch.nn.Module:
    """A module whose gradients are averaged over the processes; itself where there is one."""
    if group.world == 1:
        return module
    ids = [device.index] if device.type == "cuda" else None
    return DistributedDataParallel(module, device_ids=ids)
