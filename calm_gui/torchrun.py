"""Which of several processes this is, as torchrun tells it in the environment."""

import os
from typing import Literal

from calm_gui.errors import CalmError

__all__ = ["rank_number"]


def rank_number(name: Literal["WORLD_SIZE", "RANK", "LOCAL_RANK"]) -> int | None:
    """The number in a variable of torchrun's; None where it's unset or empty.

    Raises
    ------
    CalmError
        If it holds anything else than a number from 0 on.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise CalmError(f"the environment variable {name} is {text!r}, not a number; unset it")
    return int(text)
