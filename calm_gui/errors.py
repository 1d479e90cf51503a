"""Every error that calm-gui raises on purpose.

A message is one sentence that names the thing, the reason and, where there is something to do, what to do.
"""

import json

__all__ = [
    "CalmError",
    "CheckpointError",
    "ClassLookupError",
    "DataError",
    "DeviceMemoryError",
    "ExportError",
    "HierarchyError",
    "NumericalError",
    "PictureError",
    "ReadingError",
    "SessionError",
    "why_unexpected",
    "why_unreadable",
]

MOST_LETTERS = 2000
"""Of a message."""


class CalmError(Exception):
    """Base of all errors whose message may be shown to a user as it is."""

    def __str__(self) -> str:
        """The message; names from a strange file may be endless, so its middle goes where it is over 2,000 letters."""
        text = super().__str__()
        return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 500]} … {text[-490:]}"


class PictureError(CalmError):
    """A picture can't be opened: missing, unreadable, not a picture, too large."""


class CheckpointError(CalmError):
    """A checkpoint can't be loaded or written: wrong format, wrong tensors, not a checkpoint."""


class ClassLookupError(CalmError):
    """A class, class set or hierarchy node was named that doesn't exist or isn't unique."""


class HierarchyError(CalmError):
    """A hierarchy is malformed: a cycle, an unknown class, a missing parent."""


class ReadingError(CalmError):
    """A reading isn't defined for this explanation or these class sets."""


class NumericalError(CalmError):
    """The network gave values that no probability can be made of (NaN, infinity, all-zero saliency)."""


class DeviceMemoryError(CalmError):
    """The device has too little memory for a forward pass."""


class ExportError(CalmError):
    """A file can't be written: unknown format, missing folder, no permission, full disk."""


class SessionError(CalmError):
    """A session file can't be read: not one, from a newer program, or with values that make no sense."""


class DataError(CalmError):
    """A data set or its annotations can't be used: missing files, malformed rows."""


def why_unexpected(error: BaseException) -> str:
    """An exception that nobody foresaw, on one line: what kind it is and what it says.

    Parameters
    ----------
    error : BaseException
        Of any kind; the message of a `CalmError` is given as it is.
    """
    if isinstance(error, CalmError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there isn't enough memory"
    text = " ".join(str(error).split())[:300]
    return f"something unexpected happened ({type(error).__name__}{': ' if text else ''}{text})"


def why_unreadable(error: Exception) -> str:
    """Why the content of a file can't be used, in words that need no knowledge of Python.

    Parameters
    ----------
    error : Exception
        What reading JSON raised, or taking values out of it.
    """
    if isinstance(error, json.JSONDecodeError):
        return f"it isn't JSON (line {error.lineno}, column {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return "it isn't text"
    if isinstance(error, RecursionError):
        return "its brackets are nested too deeply"
    if isinstance(error, KeyError):
        return f"{str(error)[:200]} is missing"
    if isinstance(error, (TypeError, AttributeError, IndexError)):
        return "it holds a value of the wrong kind, or too few of them"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)[:200]
