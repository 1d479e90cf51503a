"""What random changes of good files have found, kept: each once came out as an error of Python's."""

import json
from pathlib import Path

import pytest
from synthetic import calm_explanation
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.errors import CalmError, CheckpointError
from calm_gui.model.checkpoint import read_checkpoint
from calm_gui.model.info import CheckpointInfo
from calm_gui.render.arrays import save_map
from calm_gui.session.reproduce import reproduce
from calm_training.datasets.csv_table import read_csv
from calm_training.recipes import load_config


@pytest.mark.parametrize("rows", ["a.png\n", "a.png,cat\nb.png\n", "a.png,cat\nb.png,dog,1,2,3\n", "\n", '"a.png\n'])
def test_rows_of_a_table_that_are_cut_off(tmp_path: Path, rows: str) -> None:
    for column in ("class", "class_index"):
        (tmp_path / "index.csv").write_text(f"file,{column}\n{rows}")
        try:
            read_csv(tmp_path, "")
        except CalmError as error:
            assert str(error)


@pytest.mark.parametrize("section", ["model", "data", "optimizer", "run", "methods", "model.input"])
def test_a_section_without_settings(tmp_path: Path, section: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(f'recipe = "folder"\n[{section}]\n')
    try:
        load_config(str(path), (), lambda _: None)
    except CalmError as error:
        assert str(error)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", ".", ""])
@pytest.mark.parametrize("what", ["picture", "checkpoint"])
def test_a_manifest_with_a_path_that_no_file_can_have(tmp_path: Path, name: str, what: str) -> None:
    save_map(calm_explanation().attribution(0), tmp_path / "x.npz")
    path = tmp_path / "x.json"
    manifest = json.loads(path.read_text())
    manifest[what]["path"] = name
    path.write_text(json.dumps(manifest))

    def load(name: str) -> None:
        raise CheckpointError(f"there is no checkpoint {name}")

    with pytest.raises(CalmError):
        reproduce(path, tmp_path, load)  # type: ignore[arg-type]


@pytest.mark.parametrize("stride", [0, -1, "0", None, 1e400])
def test_a_checkpoint_with_an_output_stride_that_makes_no_grid(tmp_path: Path, stride: object) -> None:
    info, _ = read_checkpoint(write_tiny_checkpoint(tmp_path / "tiny.safetensors"))
    with pytest.raises(CheckpointError):
        CheckpointInfo.from_json({**info.to_json(), "output_stride": stride})
