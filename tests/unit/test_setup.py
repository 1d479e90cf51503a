"""The set-up: make targets, its scripts' refusals, sizes of files, and what the wheel holds."""

import os
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from zipfile import ZipFile

import pytest

import calm_gui

ROOT = Path(__file__).resolve().parents[2]
TARGETS = [
    "app",
    "test",
    "test-slow",
    "test-all",
    "lint",
    "bench",
    "figures",
    "results",
    "docs",
    "dist",
    "release-check",
    "bundle",
    "clean",
    "help",
]
PACKAGES = {
    "calm_gui": "calm_gui",
    "calm_training": "training/calm_training",
    "calm_resources": "resources/calm_resources",
}


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(command, cwd=cwd, env=inherited | environment, capture_output=True, text=True)


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def tracked() -> list[Path]:
    listed = run("git", "ls-files", "-z")
    assert listed.returncode == 0, listed.stderr
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("kind", [UserWarning, RuntimeWarning, FutureWarning, DeprecationWarning])
def test_warnings_are_errors_in_tests(kind):
    with pytest.raises(kind):
        warnings.warn("something goes away", kind, stacklevel=1)


@pytest.mark.parametrize("target", TARGETS)
def test_make_knows_what_to_do(target):
    planned = run("make", "-n", target)
    assert (planned.returncode, planned.stderr) == (0, "")
    assert planned.stdout.strip()


def test_plain_make_lists_the_targets():
    listed = run("make").stdout
    assert re.findall(r"^  make (\S+)", listed, re.MULTILINE) == [
        *("help", "app", "test", "test-slow", "test-all", "lint", "bench"),
        *("figures", "results", "docs", "docs-serve", "dist", "release-check", "bundle", "clean"),
    ]


def test_make_passes_arguments_on_to_the_window():
    assert "calm-gui dog.jpg --device cpu" in run("make", "-n", "app", "ARGS=dog.jpg --device cpu").stdout


def test_tests_that_need_data_are_left_out_where_there_is_none(tmp_path):
    without = run("make", "-n", "test", CALM_SHARED=str(tmp_path)).stdout
    assert without.count('-m "not slow and not shared"') == 2
    (tmp_path / "reference").mkdir()
    with_data = run("make", "-n", "test", CALM_SHARED=str(tmp_path)).stdout
    assert with_data.count('-m "not slow"') == 2


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (
            'if [ "$1" = -V ]; then echo Python 3.8.1; else exit 1; fi',
            "is Python 3.8.1, but calm-gui needs Python 3.11",
        ),
        (
            f'if [ "$2" = venv ]; then mkdir -p "$3/bin"; exit 1; fi; exec {sys.executable} "$@"',
            "sudo apt-get install python3-venv",
        ),
    ],
    ids=["old Python", "no venv module"],
)
def test_an_environment_that_cannot_be_made_is_explained_and_not_left_half_made(tmp_path, script, complaint):
    python = program(tmp_path, "python", script)
    made = run(ROOT / "tools/environment.sh", tmp_path / "venv", "app", PYTHON=str(python))
    assert made.returncode == 1
    assert complaint in made.stderr
    assert not (tmp_path / "venv").exists()


def test_a_missing_python_is_named(tmp_path):
    made = run(ROOT / "tools/environment.sh", tmp_path / "venv", "app", PYTHON="python9")
    assert made.returncode == 1
    assert "There is no python9 here" in made.stderr


@pytest.mark.parametrize("left", ["nothing", "a Python of elsewhere", "a Python that doesn't start"])
def test_a_half_made_environment_is_made_anew(tmp_path, left):
    binaries = tmp_path / "venv" / "bin"
    binaries.mkdir(parents=True)
    if left == "a Python of elsewhere":
        (binaries / "python").symlink_to(sys.executable)
    elif left == "a Python that doesn't start":
        program(binaries, "python", "exit 127")
    python = program(tmp_path, "python", f'if [ "$2" = venv ]; then ls "$3"; exit 1; fi; exec {sys.executable} "$@"')
    made = run(ROOT / "tools/environment.sh", tmp_path / "venv", "app", PYTHON=str(python))
    assert "Making the environment" in made.stdout
    assert "bin" not in made.stdout.split("\n")


@pytest.mark.parametrize(("purpose", "extra"), [("app", False), ("test", True)])
def test_a_user_is_told_the_one_line_that_installs_the_libraries(tmp_path, purpose, extra):
    program(tmp_path, "id", "echo 1000")
    program(tmp_path, "dpkg-query", "exit 1")
    if not Path("/etc/debian_version").exists():
        pytest.skip("Debian's and Ubuntu's libraries are seen to there only")
    told = run(ROOT / "tools/system-libraries.sh", purpose, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert told.returncode == 0
    line = told.stderr.splitlines()[-1]
    assert line.startswith("  sudo apt-get install ")
    assert {"libegl1", "libxcb-cursor0", "python3-venv"} <= set(line.split())
    assert ("xvfb" in line.split()) is extra


@pytest.mark.parametrize("name", ["libglib2.0-0", "libglib2.0-0t64"])
def test_a_package_goes_by_its_name_in_this_release(tmp_path, name):
    if not Path("/etc/debian_version").exists():
        pytest.skip("Debian's and Ubuntu's libraries are seen to there only")
    program(tmp_path, "id", "echo 1000")
    program(tmp_path, "apt-cache", f'[ "$2" = {name} ]')
    path = f"{tmp_path}:{os.environ['PATH']}"
    script = ROOT / "tools/system-libraries.sh"
    program(tmp_path, "dpkg-query", "exit 1")
    line = run(script, "app", PATH=path).stderr.splitlines()[-1]
    assert [word for word in line.split() if "glib" in word] == [name]
    program(tmp_path, "dpkg-query", f'for last; do :; done; [ "$last" = {name} ] && echo installed')
    assert "glib" not in run(script, "app", PATH=path).stderr


def test_no_tracked_file_is_large():
    large = {path.name: path.stat().st_size for path in tracked() if path.stat().st_size > 16_000_000}
    assert large == {}


def test_scripts_can_be_run():
    for path in [*ROOT.glob("tools/*.sh"), ROOT / ".ci/run"]:
        assert os.access(path, os.X_OK), path
        assert run("bash", "-n", path).returncode == 0, path


def test_every_dependency_has_a_lower_bound_and_no_upper_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    for requirement in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        # A release that is known to be broken may be left out, for the Pythons on which it is.
        assert re.fullmatch(r"[A-Za-z0-9_.-]+(\[[a-z]+\])?>=[0-9.]+(,!=[0-9.]+)*(; .+)?", requirement), requirement


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel):
    assert wheel.stat().st_size < 60_000_000
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names}
    (metadata,) = (top for top in tops if top.endswith(".dist-info"))
    assert tops == {*PACKAGES, metadata}
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]
    assert {f"{metadata}/licenses/LICENSE", f"{metadata}/licenses/NOTICE"} <= names


def test_the_wheel_lacks_no_tracked_file(wheel):
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for package, folder in PACKAGES.items():
        expected = {
            f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
            for path in tracked()
            if (ROOT / folder) in path.parents
        }
        assert expected
        assert expected <= names


def test_the_wheel_installs_its_commands(wheel):
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        commands = set(re.findall(r"^([\w-]+) = ", archive.read(name).decode(), re.MULTILINE))
    assert commands == {"calm-gui", "calm-explain", "calm-train", "calm-evaluate"}


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert calm_gui.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest and re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", newest[1])
