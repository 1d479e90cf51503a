"""From an upright picture to the network's input, with the geometry that leads back."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from calm_gui.core.geometry import Geometry, Resize
from calm_gui.errors import CheckpointError
from calm_gui.model.picture import Picture

__all__ = ["InputSpec", "Interpolation", "prepare"]

Interpolation = Literal["bilinear", "bicubic"]
_FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


@dataclass(frozen=True)
class InputSpec:
    """How pictures are brought to the network (checkpoint metadata key ``input``).

    Attributes
    ----------
    size : int
        Side of the square input in pixels.
    resize : {"squash", "crop", "pad"}
    interpolation : {"bilinear", "bicubic"}
    mean, std : (float, float, float)
        Of RGB in 0..1: what is taken away, then divided by.
    """

    size: int = 224
    resize: Resize = "squash"
    interpolation: Interpolation = "bilinear"
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "InputSpec":
        """Read the metadata; unknown values are a `CheckpointError`."""
        try:
            spec = cls(
                size=int(data["size"]),
                resize=data.get("resize", "squash"),
                interpolation=data.get("interpolation", "bilinear"),
                mean=tuple(float(v) for v in data["mean"]),  # type: ignore[arg-type]
                std=tuple(float(v) for v in data["std"]),  # type: ignore[arg-type]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the checkpoint's input description can't be read: {error!r}") from error
        if (
            not 16 <= spec.size <= 4096
            or spec.resize not in get_args(Resize)
            or spec.interpolation not in get_args(Interpolation)
            or len(spec.mean) != 3
            or len(spec.std) != 3
            or min(spec.std) <= 0
        ):
            raise CheckpointError(f"the checkpoint's input description makes no sense: {data}")
        return spec

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def prepare(picture: Picture, spec: InputSpec, grid: tuple[int, int]) -> tuple[Tensor, Geometry]:
    """Network input and geometry of a picture.

    Parameters
    ----------
    picture : Picture
    spec : InputSpec
    grid : (int, int)
        Rows and columns of the network's native grid.

    Returns
    -------
    Tensor (1,3,size,size), float32, and Geometry
        Padding is the mean colour, so 0 after normalisation.
    """
    geometry = Geometry.fit(picture.size, (spec.size, spec.size), grid, spec.resize)
    seen = geometry.seen
    x0, y0 = (
        round(seen.x0 * geometry.scale[0] + geometry.offset[0]),
        round(seen.y0 * geometry.scale[1] + geometry.offset[1]),
    )
    width = max(1, round(seen.width * geometry.scale[0]))
    height = max(1, round(seen.height * geometry.scale[1]))
    resized = Image.fromarray(picture.pixels).resize(
        (width, height), _FILTERS[spec.interpolation], box=(seen.x0, seen.y0, seen.x1, seen.y1)
    )
    mean, std = np.array(spec.mean, np.float32), np.array(spec.std, np.float32)
    values = (np.asarray(resized, dtype=np.float32) / 255 - mean) / std
    canvas = np.zeros((spec.size, spec.size, 3), dtype=np.float32)
    canvas[y0 : y0 + height, x0 : x0 + width] = values[: spec.size - y0, : spec.size - x0]
    return torch.from_numpy(canvas).permute(2, 0, 1)[None].contiguous(), geometry
