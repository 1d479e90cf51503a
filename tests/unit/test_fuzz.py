"""A few hundred broken files of every kind, the same each time; `python tools/fuzz.py` makes thousands."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "tools" / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module  # the process that does the work finds it by this name
    spec.loader.exec_module(module)
    return module


def test_equal_seeds_give_equal_inputs_and_others_others(fuzz: ModuleType) -> None:
    first = [fuzz.input_of(i, 7) for i in range(len(fuzz.KINDS))]
    assert first == [fuzz.input_of(i, 7) for i in range(len(fuzz.KINDS))]
    assert first != [fuzz.input_of(i, 8) for i in range(len(fuzz.KINDS))]
    assert {kind for kind, _ in first} == set(fuzz.KINDS)


def test_good_files_open(fuzz: ModuleType, tmp_path: Path) -> None:
    for kind, (seeds, load, suffix) in fuzz.KINDS.items():
        for i, data in enumerate(seeds()):
            if kind == "pickle" and i % 3 != 2:
                continue  # these hold a head alone, and are refused once they were read
            if kind == "manifest":
                continue  # of an array in memory, which can't be explained again
            path = tmp_path / f"{kind}{i}{suffix}"
            path.write_bytes(data)
            if not (kind == "class names" and i == 3):
                load(path)


@pytest.mark.slow
def test_broken_files_are_refused_in_words(fuzz: ModuleType) -> None:
    report = fuzz.run(range(820), seed=1)
    assert not report.faults
    assert report.growth < fuzz.MOST_GROWTH and report.slowest < fuzz.MOST_SECONDS
    opened = {kind for (kind, verdict) in report.counts if verdict == "opened"}
    refused = {kind for (kind, verdict) in report.counts if verdict == "refused"}
    assert len(opened) >= 8 and refused == set(fuzz.KINDS) - {"settings"}
