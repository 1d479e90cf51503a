"""The page about formats names every key that files really have, and no other."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import calm_gui
from calm_gui.core.explanation import Explanation
from calm_gui.model.loaded import LoadedModel
from calm_gui.session.persistence import session_to_json
from calm_gui.session.state import Selection, State

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text("utf-8")


def keys(heading: str, table: int = 0) -> set[str]:
    """Names in the first column of a section's table."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (text,) = (part for part in section if part.startswith(heading))
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    rows = tables[table].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return calm_gui.load_checkpoint("demo", device="cpu")


@pytest.fixture(scope="module")
def explanation(model: LoadedModel) -> Explanation:
    return model.explain(calm_gui.sample_pictures()[0])


def test_keys_of_a_checkpoint(model: LoadedModel) -> None:
    optional = {"context", "saliency_power", "temperature", "width", "assumed", "hierarchy", "supersets"}
    assert keys("Checkpoints") - optional == set(model.info.to_json()) - optional


def test_arrays_of_maps(explanation: Explanation, tmp_path: Path) -> None:
    from calm_gui.render.arrays import save_map

    region = explanation.region_from_box(0, 0, 50, 50)
    save_map(explanation.counterfactual("n02084071", "tabby"), tmp_path / "map.npz", [region])
    save_map(explanation.winner(depth=6), tmp_path / "winner.npz")
    written = set(np.load(tmp_path / "map.npz")) | set(np.load(tmp_path / "winner.npz"))
    assert keys("Maps as numbers") == written


def test_keys_of_a_manifest(explanation: Explanation, tmp_path: Path) -> None:
    shown = explanation.counterfactual("n02084071", "tabby")
    shown.save(str(tmp_path / "map.npz"))
    explanation.winner(depth=6).save(str(tmp_path / "winner.npz"))
    manifest, winner = (json.loads((tmp_path / f"{name}.json").read_text("utf-8")) for name in ("map", "winner"))
    assert keys("The manifest") == set(manifest)
    assert keys("The manifest", 1) - {"method"} == set(manifest["maps"][0]) | set(winner["maps"][0])


def test_keys_of_a_session() -> None:
    data = session_to_json(State(Selection("demo")), Path.cwd(), (), "")
    assert keys("Sessions") == set(data)


def test_made_tables_are_asked_for() -> None:
    for name in ("columns", "view", "figure options", "recipe keys"):
        assert f"<!-- {name} -->" in PAGE
