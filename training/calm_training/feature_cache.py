"""Frozen first stages of a backbone, and their outputs cached on disk, so that two CPU cores can train the rest."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from calm_gui.errors import CheckpointError, DataError
from calm_gui.model.backbones import Backbone

__all__ = ["FeatureCache", "split_backbone", "stages"]


def stages(backbone: Backbone) -> dict[str, nn.Module]:
    """Modules which, one after the other, are the backbone; by name.

    Raises
    ------
    CheckpointError
        If the backbone isn't such a chain (Inception isn't, nor are most transformers).
    """
    trunk = getattr(backbone, "trunk", backbone)
    chain: dict[str, nn.Module] = {}
    for name, child in trunk.named_children():
        if name in ("global_pool", "classifier", "fc", "head"):
            continue
        if isinstance(child, nn.Sequential) and name in ("blocks", "features"):
            chain.update({f"{name}.{inner}": module for inner, module in child.named_children()})
        else:
            chain[name] = child
    training, parameter = backbone.training, next(backbone.parameters())
    with torch.no_grad():
        probe = torch.linspace(-1, 1, 3 * 64 * 64, device=parameter.device).reshape(1, 3, 64, 64)
        backbone.eval()
        try:
            same = torch.equal(nn.Sequential(*chain.values())(probe), backbone(probe))
        except (RuntimeError, TypeError):
            same = False
        backbone.train(training)
    if not same:
        raise CheckpointError(
            "this backbone isn't a chain of stages, so its first ones can't be frozen and cached; train it whole"
        )
    return chain


def split_backbone(backbone: Backbone, last_frozen: str) -> tuple[nn.Sequential, nn.Sequential]:
    """The stages up to and with `last_frozen`, and those behind it; both share the backbone's parameters.

    Raises
    ------
    CheckpointError
        If there is no such stage or the backbone isn't a chain.
    """
    chain = stages(backbone)
    if last_frozen not in chain:
        raise CheckpointError(f"there is no stage {last_frozen!r} to freeze up to; stages are {', '.join(chain)}")
    cut = list(chain).index(last_frozen) + 1
    modules = list(chain.values())
    return nn.Sequential(*modules[:cut]), nn.Sequential(*modules[cut:])


class FeatureCache:
    """Outputs of a frozen module for every picture of a set, float16 in a file that goes when the process does.

    Parameters
    ----------
    frozen : torch.nn.Module
        In evaluation mode; maps inputs (B,3,h,w) to features (B,L,H,W).
    inputs : callable
        Gives the network inputs (n,3,h,w) of a sequence of picture numbers.
    count : int
        Number of pictures.
    folder : Path
        Where the file goes; needs count * L * H * W * 2 bytes.
    batch : int
        Pictures in one forward pass.
    progress : callable
        Told after each forward pass how many pictures it was.
    """

    def __init__(
        self,
        frozen: nn.Module,
        inputs: Callable[[Sequence[int]], Tensor],
        count: int,
        folder: Path,
        batch: int = 32,
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        if not count:
            raise DataError("there are no pictures to compute features of")
        for left in folder.glob("features-*.npy"):  # of a run that version 0.1 began and something killed
            left.unlink(missing_ok=True)
        # It has no name, so that nothing is left of it however the process ends.
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        frozen.eval()
        for start in range(0, count, batch):
            numbers = range(start, min(start + batch, count))
            with torch.inference_mode():
                features = frozen(inputs(numbers)).permute(0, 2, 3, 1).half().cpu().numpy()
            if start == 0:
                shape = (count, *features.shape[1:])
                self._features: NDArray[np.float16] = np.memmap(self._file, np.float16, "w+", shape=shape)
            self._features[start : numbers.stop] = features
            progress(len(numbers))

    def __len__(self) -> int:
        return len(self._features)

    def __getitem__(self, numbers: NDArray[np.int64]) -> Tensor:
        """Features (n,L,H,W), float32, channels last in memory."""
        return torch.from_numpy(self._features[numbers].astype(np.float32)).permute(0, 3, 1, 2)

    def __enter__(self) -> "FeatureCache":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._features
        self._file.close()
