"""What a metric has counted, as JSON: kept for each picture, so that an interrupted evaluation can go on."""

import base64
import zlib
from typing import Any, ClassVar

import numpy as np

__all__ = ["Counts"]


class Counts:
    """Base of metrics whose whole state is integer counts that add up over pictures, in any order.

    Attributes
    ----------
    counted : tuple of str
        Names of the attributes that hold integers or arrays of integers.
    images : int
        Pictures so far; counted too.
    """

    counted: ClassVar[tuple[str, ...]] = ()
    images: int = 0

    def to_json(self) -> dict[str, Any]:
        """The counts so far; arrays as base64 of their compressed bytes."""
        packed = {name: _pack(getattr(self, name)) for name in self.counted}
        return {"images": self.images, **packed}

    def add_json(self, state: dict[str, Any]) -> None:
        """Add the counts of `to_json` to those so far.

        Raises
        ------
        ValueError, KeyError
            If they aren't those of such a metric.
        """
        for name in self.counted:
            array = getattr(self, name)
            array += _unpack(state[name]).reshape(array.shape)
        self.images += int(state["images"])


def _pack(array: Any) -> str:
    return base64.b64encode(zlib.compress(np.asarray(array, "<i4").tobytes())).decode()


def _unpack(text: str) -> Any:
    try:
        return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i4")
    except zlib.error as error:
        raise ValueError(f"counts are damaged: {error}") from error
