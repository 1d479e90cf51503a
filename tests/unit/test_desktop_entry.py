"""`calm-gui --install-desktop-file` and its removal, in a folder of the test's own."""

import configparser
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from calm_gui import desktop_entry
from calm_gui.__main__ import main
from calm_gui.errors import ExportError

ENTRY = "applications/calm-gui.desktop"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


def read(text: str) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser["Desktop Entry"]


def test_installed_and_removed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--install-desktop-file"]) == 0
    assert str(data / ENTRY) in capsys.readouterr().out
    entry = read((data / ENTRY).read_text("utf-8"))
    assert (entry["Type"], entry["Icon"], entry["Terminal"]) == ("Application", "calm-gui", "false")
    with Image.open(data / "icons/hicolor/256x256/apps/calm-gui.png") as icon:
        assert icon.size == (256, 256)
    assert (data / "icons/hicolor/scalable/apps/calm-gui.svg").read_text("utf-8").startswith("<svg")
    assert main(["--install-desktop-file"]) == 0  # once more is no fault
    assert main(["--remove-desktop-file"]) == 0
    assert not [path for path in data.rglob("*") if path.is_file() and path.suffix != ".cache"]
    capsys.readouterr()
    assert main(["--remove-desktop-file"]) == 0
    assert capsys.readouterr().out == "There was no desktop file of calm-gui.\n"


def test_what_it_starts_is_the_program(data: Path) -> None:
    desktop_entry.install_desktop_file()
    command = shlex.split(read((data / ENTRY).read_text("utf-8"))["Exec"])
    assert command.pop() == "%F"
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("calm-gui ")


def test_odd_paths_are_quoted(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = data / 'a "b" 100% $c\\d'
    place.mkdir()
    script = place / "calm-gui"
    script.write_text("")
    monkeypatch.setattr(sys, "executable", str(place / "python"))
    text = read(desktop_entry.desktop_text())["Exec"].removesuffix(" %F")
    argument = text.replace("\\\\", "\\")  # what a string of the file means
    argument = argument[1:-1].replace("%%", "%")
    for letter in ('"', "$", "`", "\\"):
        argument = argument.replace("\\" + letter, letter)
    assert argument == str(script)


def test_a_folder_that_cannot_be_written_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = data / "file"
    taken.write_text("")
    taken.chmod(stat.S_IRUSR)
    monkeypatch.setenv("XDG_DATA_HOME", str(taken))
    with pytest.raises(ExportError, match=str(taken)):
        desktop_entry.install_desktop_file()


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_elsewhere_it_says_so(data: Path, monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(ExportError, match="Linux"):
        desktop_entry.install_desktop_file()


def test_a_relative_data_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert desktop_entry.install_desktop_file()[0].is_relative_to(tmp_path / ".local/share")
