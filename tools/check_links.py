"""Finds links that lead nowhere, in pages of Markdown or HTML; addresses of the network aren't followed.

    python tools/check_links.py build/site

prints each broken link and ends with status 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken_links", "main"]

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_HEADING = re.compile(r"^#+\s+(.+?)\s*#*\s*$", re.MULTILINE)


class _Page(HTMLParser):
    """Links of a page, and the places in it that a link can name."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := found.get(name)))
        for name in ("href", "src"):
            if (value := found.get(name)) and tag != "base":
                self.links.append(value)


def broken_links(pages: list[Path]) -> Iterator[str]:
    """Sentences about links of these pages that lead nowhere.

    Parameters
    ----------
    pages : list of Path
        Files that end in ``.md`` or ``.html``.
    """
    for page in pages:
        for link in _read(page)[0]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = page.parent / unquote(parts.path) if parts.path else page
            if not target.exists():
                yield f"{page}: {link} doesn't exist"
            elif parts.fragment and target.suffix in (".md", ".html") and not _has(target, unquote(parts.fragment)):
                yield f"{page}: {link} names no place of {target.name}"


def _has(page: Path, anchor: str) -> bool:
    return anchor in _read(page)[1] or anchor == "__skip"


@cache
def _read(page: Path) -> tuple[list[str], set[str]]:
    """Links and anchors of a page."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".html":
        parser = _Page()
        parser.feed(text)
        return parser.links, parser.anchors
    text = _FENCED.sub("", text)
    anchors = {_slug(heading) for heading in _HEADING.findall(text)}
    return _LINK.findall(_CODE.sub("", text)), anchors


def _slug(heading: str) -> str:
    """The anchor that Markdown pages give a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def main(arguments: list[str]) -> int:
    """Check all pages below the named folders, and the named pages."""
    pages: list[Path] = []
    for name in arguments:
        path = Path(name)
        pages += sorted([*path.rglob("*.html"), *path.rglob("*.md")]) if path.is_dir() else [path]
    found = list(broken_links(pages))
    print("\n".join(found) or f"{len(pages)} pages, no broken link")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
