"""Which pictures each process sees at each step of an epoch."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["global_batches"]


def global_batches(
    count: int, batch: int, seed: int, epoch: int, rank: int = 0, world: int = 1
) -> list[NDArray[np.int64]]:
    """Picture numbers of every step of an epoch for one process, in random order.

    The global batches don't depend on the number of processes; each process takes an equal part of each. What is
    left over at the end of the epoch is dropped unless it is the only batch.

    Parameters
    ----------
    count : int
        Pictures in the set.
    batch : int
        Global batch, a multiple of `world`.
    seed, epoch : int
        Of the order.
    rank, world : int
        This process and the number of processes.
    """
    order = np.random.default_rng((seed, epoch)).permutation(count)
    size = min(batch, count - count % world)
    return [order[start : start + size][rank::world] for start in range(0, count - size + 1, size)]
