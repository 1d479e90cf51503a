"""No link of the documentation leads nowhere; the site's pages are checked by `make docs` with the same code."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md"), *ROOT.glob("resources/**/*.md")]


@pytest.fixture(scope="module")
def links() -> ModuleType:
    spec = spec_from_file_location("check_links", ROOT / "tools/check_links.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_page_has_a_broken_link(links: ModuleType) -> None:
    made = ("commands.md", "tutorial.md")  # by tools/site_pages.py
    found = [line for line in links.broken_links(PAGES) if not line.split(": ")[1].startswith(made)]
    assert found == []
    assert sum(len(links._read(page)[0]) for page in PAGES) > 30


def test_broken_links_are_found(links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One *two*, `three`\n[x](b.html#here) [y](#one-two-three) `[z](none.md)`\n")
    (tmp_path / "b.html").write_text('<p id="here"><a href="a.md">a</a> <a href="https://nowhere.invalid/x">b</a>')
    pages = sorted(tmp_path.iterdir())
    assert list(links.broken_links(pages)) == []
    links._read.cache_clear()
    (tmp_path / "a.md").write_text("[x](b.html#there) ![y](c.png) [z](#nothing)\n")
    (tmp_path / "b.html").write_text('<img src="missing.png">')
    found = [line.rpartition("/")[2] for line in links.broken_links(pages)]
    assert found == [
        "a.md: b.html#there names no place of b.html",
        "a.md: c.png doesn't exist",
        "a.md: #nothing names no place of a.md",
        "b.html: missing.png doesn't exist",
    ]
    assert links.main([str(tmp_path)]) == 1
