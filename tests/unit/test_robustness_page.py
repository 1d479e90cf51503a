"""The page on faults names every one of them, and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "robustness.md").read_text("utf-8")
KNOWN = "01 02 03 05 06 08 09 10 11 13 15 16 17 19 21 22 24 25 26 28 29 31 32 34 36 37 39 41 42 44 45 47 48".split()  # noqa: SIM905


def test_every_fault_has_a_row() -> None:
    rows = re.findall(r"^\| ([BU]\d+) \|", PAGE, flags=re.MULTILINE)
    assert rows == [f"B{number}" for number in KNOWN] + [f"U{i}" for i in range(1, 9)]


def test_the_tests_that_are_named_exist() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    there = {name for source in sources for name in re.findall(r"def (test_\w+)", source)}
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named - there == set() and len(named) > 60
