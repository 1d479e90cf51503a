"""What papers and sources say about each other: decisions, and what a source may cite."""

import re
import subprocess
from pathlib import Path

import pytest

from calm_gui.session.summary_columns import MEANINGS

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = sorted((ROOT / "docs/decisions").glob("*.md"))
CITED = re.compile(r"decisions?[ /]\[?(\d{4})\b")


def texts() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith((".py", ".md", ".toml"))]


def test_decisions_are_numbered_without_gaps() -> None:
    assert [path.name[:4] for path in DECISIONS] == [f"{number:04d}" for number in range(1, len(DECISIONS) + 1)]
    for number, path in enumerate(DECISIONS, 1):
        assert path.read_text("utf-8").startswith(f"# {number}. "), path.name


def test_decisions_that_are_cited_exist() -> None:
    known = {path.name[:4] for path in DECISIONS}
    cited = {number: path for path in texts() for number in CITED.findall(path.read_text("utf-8"))}
    assert len(cited) > 5
    assert not {number: path for number, path in cited.items() if number not in known}


def test_no_source_cites_a_document_that_is_not_here() -> None:
    name = "DESIGN" + ".md"
    assert not [path for path in texts() if name in path.read_text("utf-8")]


def test_lines_of_documents_are_under_120_columns() -> None:
    """All but rows of tables, pages that a command writes, and what can't be broken."""
    for path in texts():
        if path.suffix != ".md" or path.name == "results.md":
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            table = line.lstrip().startswith("|")
            assert len(line) <= 120 or table or " " not in line.strip(), f"{path.relative_to(ROOT)}:{number}"


def test_the_page_of_formats_holds_every_column_of_the_summary() -> None:
    """In the repository too, not only on the site."""
    page = (ROOT / "docs/formats.md").read_text("utf-8")
    for name, meaning in MEANINGS.items():
        assert f"| `{name}` | {meaning.replace('|', chr(92) + '|')} |" in page, "python tools/site_pages.py"
