"""What a form of checkpoint files of other programs is: what one holds, and what opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from calm_gui.model.answers import Answers
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.classifier import Classifier
from calm_gui.model.info import CheckpointInfo

__all__ = ["Content", "Form", "Opened"]


@dataclass(frozen=True)
class Content:
    """What a file of another program holds.

    Attributes
    ----------
    name : str
        What to call the file.
    weights : mapping of name to Tensor
        Without the prefixes of wrappers.
    architecture : str
        What the file, or a description beside it, calls its network; empty if nothing does.
    input : mapping
        Of timm's description beside the file, such as ``mean``, ``std`` and ``input_size``.
    """

    name: str
    weights: Mapping[str, Tensor]
    architecture: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)


class Opened(NamedTuple):
    """A file of another program as a network that explains.

    Attributes
    ----------
    info : CheckpointInfo
    network : HeadNetwork or Classifier
    answers : Answers
        All by which it was read.
    """

    info: CheckpointInfo
    network: HeadNetwork | Classifier
    answers: Answers = Answers()


@dataclass(frozen=True)
class Form:
    """Files that one module of this package opens.

    Attributes
    ----------
    key : str
    recognises : callable
        Whether a content is of this form.
    open : callable
        From a content and the answers given to what opens; raises `AnswersNeeded` where something is missing.
    """

    key: str
    recognises: Callable[[Content], bool]
    open: Callable[[Content, Answers], Opened]
