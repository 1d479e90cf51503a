"""A page of a report: its blocks in order, and the page in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from calm_training.evaluate.table import Table, markdown

__all__ = ["Block", "Command", "Heading", "Paragraph", "Picture", "as_markdown"]


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True)
class Command:
    """A command line."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture file, PNG, with what it shows."""

    path: Path
    caption: str


Block = Heading | Paragraph | Command | Picture | Table


def as_markdown(blocks: Sequence[Block]) -> str:
    """The page in Markdown; pictures are named by their files, which lie beside it."""
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Command(text):
            return f"    {text}"
        case Picture(path, caption):
            return f"![{caption}]({path.name})"
        case Table():
            return markdown(block)
