"""What maps of one kind are: their words, and the sentence that tells one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MapKind", "Shown", "Telling", "missing_words"]


class Shown(Protocol):
    """A map as sentences about it see it."""

    @property
    def values(self) -> NDArray[np.float32]:
        """What is shown, (H,W)."""

    @property
    def sum(self) -> float:
        """What the values add up to."""

    @property
    def explanation(self) -> ClassifiedPicture:
        """What the map was read from."""


@dataclass(frozen=True)
class Telling:
    """What a sentence about a map is made of; the names are those that the user sees.

    Attributes
    ----------
    shown : Map or WinnerMap
    target, contrast : str
        Names of A and B.
    a : str
        A with its article: ``an Afghan hound``, ``one of 12 classes``.
    inside : (str, str) or None
        The map's sum in the region that was drawn last, as text, and that region's name.
    number : callable
        A number as people read it.
    article : callable
        A name with its article.
    """

    shown: Shown
    target: str
    contrast: str
    a: str
    inside: tuple[str, str] | None
    number: Callable[[float], str]
    article: Callable[[str], str]

    @property
    def total(self) -> float:
        """The map's sum; of a winner map, what its winners have."""
        return self.shown.sum


class MapKind(ABC):
    """What maps of one kind are: a reading, or a method of others.

    Attributes
    ----------
    family : str
        What its key stands under in manifests: ``reading`` or ``method``.
    key : str
        In files and on command lines.
    title : str
        For people.
    short : str
        The same where there is little room; empty where the title will do.
    formula : str
        With A for the target and B for the contrast.
    question : str
        What the map answers.
    meaning : str
        The same in a few words.
    unit : str
        What one value is.
    quantity : str
        Only maps of one quantity share a scale.
    scale_title : str
        Above a scale of the quantity; empty for the label.
    takes_target, takes_contrast : bool
        Whether it is about A, about B too.
    signed : bool
        Whether values below zero have a meaning.
    times_uniform : bool
        Whether values may be written as multiples of the uniform probability.
    sum_text : str
        What a map's sum is, with ``{}`` in the number's place; empty where it means nothing.
    """

    family: str = ""
    key: str = ""
    title: str = ""
    short: str = ""
    formula: str = ""
    question: str = ""
    meaning: str = ""
    unit: str = ""
    quantity: str = ""
    scale_title: str = ""
    takes_target: bool = True
    takes_contrast: bool = False
    signed: bool = False
    times_uniform: bool = False
    sum_text: str = ""

    @abstractmethod
    def sentence(self, telling: Telling) -> str:
        """A map in a plain sentence with its number."""

    def title_in(self, explanation: ClassifiedPicture) -> str:
        """The title of an explanation's map."""
        return self.title

    def label_in(self, explanation: ClassifiedPicture) -> str:
        """The label of an explanation's map: its title, where that is one of its own."""
        title = self.title_in(explanation)
        return self.label if title == self.title else title

    def signed_in(self, unit: str) -> bool:
        """Whether values below zero have a meaning in one of the units that the kind has."""
        return self.signed

    def ends_in(self, unit: str) -> tuple[float, float] | None:
        """Ends of the scale that maps in a unit have whatever their values; None to fit it to them."""
        return None

    @property
    def label(self) -> str:
        """What stands on a button: the short title, or the title."""
        return self.short or self.title

    @property
    def details(self) -> dict[str, Any]:
        """What else descriptions of exports say of the kind."""
        return {}

    @property
    def slug(self) -> str:
        """The key as it stands in names of files."""
        return self.key

    def formula_of(self, letter: str) -> str:
        """The formula with another letter for the target."""
        return self.formula.replace("A", letter)

    def sum_words(self, total: str, letter: str = "A") -> str:
        """What a map's sum is, in numbers; empty where it means nothing."""
        return self.sum_text.replace("A", letter).format(total)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key}>"


def missing_words(kind: MapKind) -> str:
    """Which words a kind lacks, in words; empty if none."""
    words = ("key", "title", "formula", "question", "meaning", "unit", "quantity")
    return ", ".join(f"its {word}" for word in words if not getattr(kind, word))
