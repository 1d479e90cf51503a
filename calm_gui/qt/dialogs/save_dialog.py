"""Asking where to save: the ending first, then the question whether a file may be replaced."""

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

__all__ = ["ask_where_to_save", "may_write"]


def ask_where_to_save(parent: QWidget, title: str, start: str, filters: str) -> str:
    """Ask for a file to write.

    Qt's own dialog asks about the name as it was typed. Here the ending comes first, so that the question is about
    the file that would be replaced.

    Parameters
    ----------
    parent : QWidget
    title : str
    start : str
        Folder and name to begin with.
    filters : str
        As Qt takes them; a name that ends as none of them asks gets the ending of the chosen one.

    Returns
    -------
    str
        The path, empty if there is nothing to be written.
    """
    unasked = QFileDialog.Option.DontConfirmOverwrite
    path, chosen = QFileDialog.getSaveFileName(parent, title, start, filters, options=unasked)
    if not path:
        return ""
    path = _with_ending(path, chosen or filters.split(";;")[0], filters)
    return path if may_write(parent, title, Path(path)) else ""


def may_write(parent: QWidget, title: str, path: Path) -> bool:
    """Whether there is no such file yet, or it may be replaced, which is asked."""
    if not path.is_file():
        return True
    question = f"{path.name} already exists. Replace it?"
    buttons = QMessageBox.StandardButton
    return QMessageBox.question(parent, title, question, buttons.Yes | buttons.No, buttons.No) == buttons.Yes


def _with_ending(path: str, chosen: str, filters: str) -> str:
    known = {Path(f"x{ending}").suffix for part in filters.split(";;") for ending in _endings(part)}
    wanted = _endings(chosen)
    return path if not wanted or Path(path).suffix.lower() in known else path + wanted[0]


def _endings(part: str) -> list[str]:
    patterns = part.rpartition("(")[2].rstrip(")").split()
    return [pattern[1:] for pattern in patterns if pattern.startswith("*.")]
