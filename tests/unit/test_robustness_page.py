"""The page on faults names every one of them, and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "robustness.md").read_text("utf-8")
KNOWN = "01 02 03 05 06 08 09 10 11 13 15 16 17 19 21 22 24 25 26 28 29 31 32 34 36 37 39 41 42 44 45 47 48".split()  # noqa: SIM905


def test_every_fault_has_a_row() -> None:
    first = PAGE[: PAGE.index("## Faults of the second round")]
    rows = re.findall(r"^\| ([BU]\d+) \|", first, flags=re.MULTILINE)
    assert rows == [f"B{number}" for number in KNOWN] + [f"U{i}" for i in range(1, 9)]


SECOND_ROUND = {
    *(f"B{number}" for number in (14, 20, 23, 27, 30, 33, 35, 38, 40, 43)),
    *(
        f"F{number:02}"
        for number in (
            1,
            2,
            3,
            4,
            6,
            8,
            9,
            10,
            11,
            12,
            14,
            15,
            16,
            18,
            19,
            20,
            22,
            23,
            24,
            25,
            26,
            28,
            30,
            31,
            32,
            33,
            34,
        )
    ),
}


def test_every_fault_of_the_second_round_has_a_row_with_a_test() -> None:
    rows = re.findall(r"^\| ((?:[BF]\d+(?:, )?)+) \|.*`test_\w+`", PAGE, flags=re.MULTILINE)
    named = [fault for row in rows for fault in row.split(", ")]
    assert SECOND_ROUND - set(named) == set()


def test_the_tests_that_are_named_exist() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    there = {name for source in sources for name in re.findall(r"def (test_\w+)", source)}
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named - there == set() and len(named) > 60
