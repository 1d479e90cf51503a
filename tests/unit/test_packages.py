"""sdist and wheel as `make dist` builds them, installed into clean environments: what is inside, and that it works."""

import os
import shutil
import subprocess
import sys
import tarfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]


def module(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both packages, built from the tracked files and a page that stands for the documentation site."""
    source = tmp_path_factory.mktemp("source")
    for name in run("git", "ls-files", "-z", cwd=ROOT).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    page = source / "resources/calm_resources/site/index.html"
    page.parent.mkdir()
    page.write_text("<h1>calm-gui</h1>")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, cwd=source)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["*.tar.gz", "*.whl"])
def test_installed_it_explains_a_picture(dist: Path, tmp_path: Path, kind: str) -> None:
    (package,) = dist.glob(kind)
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=tmp_path)
    (packages,) = venv.glob("lib/python3*/site-packages")
    # Libraries are those of this environment. A line of a .pth file isn't read for more of them, so that the editable
    # installation in it doesn't come along.
    (packages / "libraries.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    python = venv / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", package, cwd=tmp_path)
    where = "import calm_gui, calm_training, calm_resources as r; print(calm_gui.__file__, r.path('site/index.html'))"
    for path in run(python, "-c", where, cwd=tmp_path).stdout.split():
        assert Path(path).is_relative_to(venv)
    assert run(venv / "bin/calm-gui", "--version", cwd=tmp_path).stdout.startswith("calm-gui ")
    picture = packages / "calm_resources/samples/afghan_hound.jpg"
    options = ("--target", "n02084071", "--format", "png,npz", "--out", "out", "--device", "cpu")
    run(venv / "bin/calm-explain", picture, *options, cwd=tmp_path)
    assert {path.suffix for path in (tmp_path / "out").iterdir()} >= {".png", ".npz", ".json"}


@pytest.mark.slow
def test_the_sdist_holds_what_building_and_testing_need(dist: Path) -> None:
    (package,) = dist.glob("*.tar.gz")
    with tarfile.open(package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "Makefile",
        "README.md",
        "docs/guide.md",
        "tests/conftest.py",
        "tools/site_pages.py",
    } <= names
    assert not [name for name in names if name.startswith(("resources/candidates", ".ci", ".venv", "build/"))]


def test_packages_without_a_site_or_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = module("check_dist")
    assert "none" in check.faults(tmp_path)[0]
    with ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("calm_resources/site/index.html", "x" * 100)
    page = tmp_path / "page"
    page.write_text("x")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as sdist:
        sdist.add(page, "a/README.md")
    assert check.faults(tmp_path) == ["a.tar.gz lacks the documentation site"]
    monkeypatch.setattr(check, "MOST_SITE", 99)
    assert any("the site in a.whl" in fault for fault in check.faults(tmp_path))
    monkeypatch.setattr(check, "MOST_WHEEL", 99)
    assert any(fault.startswith("a.whl has") for fault in check.faults(tmp_path))
