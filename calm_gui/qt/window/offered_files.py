"""What is offered to the window by dialogs, drops and pastes: sorted by what each is, told where it is nothing."""

import base64
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import platformdirs
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QImage

from calm_gui.errors import ExportError
from calm_gui.model.files import atomic_path
from calm_gui.model.info import is_ours

__all__ = ["CHECKPOINT_SUFFIXES", "Offered", "from_mime", "offered"]

CHECKPOINT_SUFFIXES = (".safetensors", ".pth", ".pt", ".tar", ".ckpt")
_TABLES = (".csv", ".tsv")
_HEAD = 256


class Offered(NamedTuple):
    """Paths by what they are.

    Attributes
    ----------
    sessions, checkpoints, tables, pictures : tuple of str
        Folders count as pictures.
    refused : tuple of str
        A sentence for each that is nothing of these.
    """

    sessions: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def offered(paths: Sequence[str]) -> Offered:
    """Sort paths by their endings and, where these say nothing, by what the files hold."""
    sessions, checkpoints, tables, pictures, refused = [], [], [], [], []
    for path in paths:
        small = path.lower()
        if small.endswith(".calm.json"):
            sessions.append(path)
        elif small.endswith(CHECKPOINT_SUFFIXES) or is_ours(path):
            checkpoints.append(path)
        elif small.endswith(_TABLES):
            tables.append(path)
        elif _is_text(Path(path)):
            refused.append(f"{Path(path).name} is a text file, not a picture, checkpoint or session")
        else:
            pictures.append(path)
    one_each = (("session", sessions), ("checkpoint", checkpoints), ("table of ground truth", tables))
    refused += [
        f"{Path(p).name} isn't opened: only one {what} at a time" for what, found in one_each for p in found[1:]
    ]
    return Offered(tuple(sessions), tuple(checkpoints), tuple(tables), tuple(pictures), tuple(refused))


def _is_text(path: Path) -> bool:
    try:
        if not path.is_file():  # a pipe would block
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return False  # opening it says why
    return bool(head) and all(32 <= byte < 127 or byte in (9, 10, 13) for byte in head)


def from_mime(data: QMimeData, folder: Path | None = None) -> Offered:
    """What a drop or the clipboard offers.

    Pixels without a file, as browsers give, are written to a folder of the user's own, so that a session finds them
    again.
    """
    local = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    if local:
        return offered(local)
    image = data.imageData() if data.hasImage() else _inline(data)
    if isinstance(image, QImage) and not image.isNull():
        try:
            return Offered(pictures=(_written(image, folder),))
        except (ExportError, OSError) as error:
            return Offered(refused=(f"the picture can't be saved: {error}",))
    if data.hasUrls():
        address = data.urls()[0].toString()
        return Offered(refused=(f"{address} is a web address: save the picture, or copy it and paste it here",))
    if (text := data.text().strip()).startswith(("http://", "https://")):
        return Offered(refused=(f"{text} is a web address: save the picture, or copy it and paste it here",))
    return Offered(refused=("there is no picture on the clipboard or in what was dropped",))


def _inline(data: QMimeData) -> QImage | None:
    """The picture that an address of the kind ``data:image/png;base64,...`` holds itself."""
    address = data.urls()[0].toString() if data.hasUrls() else data.text().strip()
    head, comma, body = address.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        return None
    try:
        return QImage.fromData(base64.b64decode(unquote(body), validate=True))
    except ValueError:
        return None


def _written(image: QImage, folder: Path | None) -> str:
    folder = folder or Path(platformdirs.user_data_dir("calm-gui", appauthor=False)) / "pasted"
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"\W", "-", time.strftime("pasted %Y-%m-%d %H.%M.%S"))
    path = next(p for n in range(1, 1000) if not (p := folder / f"{stem}{f'-{n}' if n > 1 else ''}.png").exists())
    with atomic_path(path) as temporary:
        if not image.save(str(temporary)):
            raise ExportError(f"{path} can't be written")
    return str(path)
