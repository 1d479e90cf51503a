"""The entry in the menu of a Linux desktop: a desktop file and the program's icon, for one user."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import calm_resources
from calm_gui.errors import ExportError
from calm_gui.model.files import write_bytes

__all__ = ["desktop_text", "install_desktop_file", "remove_desktop_file"]

_TYPES = ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/bmp", "image/gif")

_ICONS = {
    "icons/hicolor/scalable/apps/calm-gui.svg": "icons/calm-gui.svg",
    "icons/hicolor/256x256/apps/calm-gui.png": "icons/calm-gui.png",
}
"""Places below the data folder, and the bundled files that go there."""

_ENTRY = "applications/calm-gui.desktop"


def _data_folder() -> Path:
    """Where the user's desktop looks for entries (XDG base directory specification)."""
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".local" / "share"


def _command() -> list[str]:
    """What starts this program again, by its whole path."""
    if getattr(sys, "frozen", False):
        return [sys.executable]
    script = Path(sys.executable).with_name("calm-gui")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "calm_gui"]


def _quoted(argument: str) -> str:
    """An argument of the key Exec: quoted, and escaped once as an argument and once as a string of the file."""
    for letter in ("\\", '"', "`", "$"):
        argument = argument.replace(letter, f"\\{letter}")
    return '"' + argument.replace("%", "%%").replace("\\", "\\\\") + '"'


def desktop_text() -> str:
    """The desktop file.

    Returns
    -------
    str
        As https://specifications.freedesktop.org/desktop-entry-spec/ describes it.
    """
    lines = {
        "Type": "Application",
        "Name": "calm-gui",
        "GenericName": "Attribution viewer",
        "Comment": "See where in a picture a classifier finds its evidence",
        "Exec": " ".join(map(_quoted, _command())) + " %F",
        "Icon": "calm-gui",
        "Terminal": "false",
        "Categories": "Science;Education;",
        "MimeType": ";".join(_TYPES) + ";",
        "StartupWMClass": "calm-gui",
    }
    return "[Desktop Entry]\n" + "".join(f"{key}={value}\n" for key, value in lines.items())


def install_desktop_file() -> list[Path]:
    """Put desktop file and icon where the user's desktop finds them; what an earlier version left is replaced.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ExportError
        If the system has no such desktops, or a file can't be written.
    """
    if sys.platform in ("win32", "darwin"):
        raise ExportError("desktop files are for Linux desktops; make a shortcut to calm-gui instead")
    folder = _data_folder()
    files = {name: calm_resources.path(source).read_bytes() for name, source in _ICONS.items()}
    files[_ENTRY] = desktop_text().encode()
    for name, data in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExportError(f"{path.parent} can't be made: {error.strerror or error}") from error
        write_bytes(path, data, overwrite=True)
    _tell_desktop(folder)
    return [folder / name for name in files]


def remove_desktop_file() -> list[Path]:
    """Remove what `install_desktop_file` put there.

    Returns
    -------
    list of Path
        What was removed; none where nothing was installed.

    Raises
    ------
    ExportError
        If a file can't be removed.
    """
    folder = _data_folder()
    removed = []
    for name in (*_ICONS, _ENTRY):
        path = folder / name
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ExportError(f"{path} can't be removed: {error.strerror or error}") from error
        removed.append(path)
    if removed:
        _tell_desktop(folder)
    return removed


def _tell_desktop(folder: Path) -> None:
    """Let file managers know which pictures the program opens, where the desktop has the tool for that."""
    if tool := shutil.which("update-desktop-database"):
        subprocess.run([tool, str(folder / "applications")], capture_output=True, check=False)
