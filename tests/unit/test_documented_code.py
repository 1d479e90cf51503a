"""The code that README and notebook show does what they say."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import calm_gui

ROOT = Path(__file__).resolve().parents[2]


def run(source: str, names: dict) -> object:
    """Run a cell; the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


@pytest.mark.slow
def test_the_notebook_runs_and_its_values_show_themselves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs/notebook.ipynb").read_text(encoding="utf-8"))
    names: dict = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # none are kept in the repository
            shown.append(run("".join(cell["source"]), names))
    assert sum(bool(getattr(value, "_repr_png_", None) and value._repr_png_()) for value in shown) >= 4
    assert "Afghan hound" in shown[0]._repr_html_()
    upper, lower = next(value for value in shown if isinstance(value, tuple))
    assert upper + lower == pytest.approx(names["explanation"].probability(names["dogs"]), rel=1e-5)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dog.jpg").write_bytes((ROOT / "resources/calm_resources/samples/afghan_hound.jpg").read_bytes())
    assert blocks("python")
    names: dict = {}
    for source in blocks("python"):
        run(source, names)
    assert (tmp_path / "dogs.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "dogs.npz").exists()


def test_ten_lines_of_the_readme_explain_an_own_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dog.jpg").write_bytes((ROOT / "resources/calm_resources/samples/afghan_hound.jpg").read_bytes())
    (source,) = (block for block in blocks("python") if "from_module" in block)
    assert len(source.strip().splitlines()) <= 11
    torch.manual_seed(0)
    names: dict = {}
    run(source, names)
    network, ex = names["network"], names["ex"]
    inputs, _ = names["model"].prepare(calm_gui.model.picture.as_picture("dog.jpg"))
    logits = network(inputs)[0].detach()
    span = float(logits.max() - logits.min())
    assert ex.class_probabilities == pytest.approx(logits.softmax(0).tolist(), abs=1e-5)
    assert float(names["cam"].values.mean()) == pytest.approx(float(logits[1]), abs=1e-4 * span)
    assert names["grad"].values.max() == 1 and (tmp_path / "own.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_readmes_commands_run(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    picture = (ROOT / "resources/calm_resources/samples/afghan_hound.jpg").read_bytes()
    for path in (tmp_path / "dog.jpg", folder / "one.jpg", folder / "two.jpg"):
        path.write_bytes(picture)
    (tmp_path / "truth.csv").write_text("file,wnid,boxes\none.jpg,n02088094,0 0 50 50\n")
    commands = [
        line
        for block in blocks("sh")
        for line in block.replace("\\\n", " ").splitlines()
        if line.startswith("calm-explain")
    ]
    assert len(commands) >= 3
    for command in commands:
        line = command.replace("calm-explain", f'"{Path(sys.executable).with_name("calm-explain")}"', 1)
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs/api").glob("*.md")))
def test_examples_of_the_librarys_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/api" / page).read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert examples or page == "errors.md"
    names: dict = {}
    for source in examples:
        run(source, names)


def test_the_backbone_that_contributing_shows_is_one(monkeypatch):
    from calm_gui.model import backbones

    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (source,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Backbone" in block)
    names: dict = {}
    run(source, names)
    monkeypatch.setattr(backbones, "FAMILIES", [*backbones.FAMILIES, names["FAMILY"]])
    backbone = backbones.build_backbone("tiny", 8)
    features = backbone(torch.zeros(2, 3, 224, 224))
    assert features.shape == (2, backbone.channels, 28, 28)


def test_every_public_name_stands_on_a_page_of_the_site():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/api").glob("*.md"))
    for name in calm_gui.__all__:
        if name != "__version__":
            assert f".{name}\n" in pages or name == "CalmError", name
