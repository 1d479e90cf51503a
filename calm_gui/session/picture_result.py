"""What a batch made of one picture."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["PictureResult", "Row"]

Row = dict[str, Any]


@dataclass(frozen=True)
class PictureResult:
    """What came of one picture.

    Attributes
    ----------
    path : str
    name : str
        What its files are called.
    top : tuple of dict
        ``{"index", "wnid", "name", "probability"}``, the most probable first.
    maps : tuple of dict
        ``{"reading" or "method", "target", "sum", "check_passed"}`` of each map.
    rows : tuple of dict
        Its rows of the summary.
    files : tuple of str
        Names of the files written.
    notes : tuple of str
        What was changed when the picture was opened, and what couldn't be asked of it.
    error : str
        Why there is nothing else; empty if all went well.
    warnings : tuple of str
        What is odd about it though all went well.
    sha256 : str
        Of the picture's file; empty where it couldn't be read.
    """

    path: str
    name: str
    top: tuple[Row, ...] = ()
    maps: tuple[Row, ...] = ()
    rows: tuple[Row, ...] = ()
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    warnings: tuple[str, ...] = ()
    sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "PictureResult":
        """Read what `to_json` wrote."""
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in data.items()}
        return cls(**values)
