"""What a metric has counted, as JSON: kept for each picture, so that an interrupted evaluation can go on."""

import base64
import copy
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts", "unpacked"]


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
            array += unpacked(state[name]).reshape(array.shape)
        self.images += int(state["images"])

    def resampled(self, states: Sequence[Mapping[str, Any] | None], times: NDArray[np.integer]) -> Iterator[Self]:
        """The metric over each resample of its pictures.

        Parameters
        ----------
        states : sequence of mapping or None
            ``to_json()`` of a metric that counted one picture, for each; None for one that isn't counted.
        times : ndarray (R,n) int
            How often each resample has each picture.

        Yields
        ------
        Counts
            Of the same settings as this one; its counts may be changed by what comes after.
        """
        each, weights = copy.copy(self), times.astype(np.float64)
        sums = {}
        for name in self.counted:
            array = getattr(self, name)
            rows = [np.zeros(array.size) if state is None else unpacked(state[name]) for state in states]
            sums[name] = (weights @ np.stack(rows).astype(np.float64)).reshape(len(times), *array.shape)
        images = weights @ np.array([0 if state is None else int(state["images"]) for state in states], np.float64)
        for number in range(len(times)):
            for name in self.counted:
                setattr(each, name, sums[name][number])
            each.images = int(images[number])
            yield each


def _pack(array: Any) -> str:
    return base64.b64encode(zlib.compress(np.asarray(array, "<i4").tobytes())).decode()


def unpacked(text: str) -> NDArray[np.integer]:
    """An array of `Counts.to_json`, flat.

    Raises
    ------
    ValueError
        If the text is damaged.
    """
    try:
        return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i4")
    except zlib.error as error:
        raise ValueError(f"counts are damaged: {error}") from error
