"""A picture as Qt reads it: seen while NumPy is imported and our own decoder, whose pixels count, is at work."""

from functools import lru_cache
from pathlib import Path
from stat import S_ISREG

from PySide6.QtGui import QImage, QImageReader

__all__ = ["early_picture"]

_MOST_PIXELS = 2_000_000
"""Of what is read while a person waits."""

_FORMATS = ("jpeg", "png", "webp", "bmp")
"""Which are plain pixels; Qt also draws SVG, for example, which our decoder refuses."""


def early_picture(path: str) -> QImage:
    """The upright picture in a file; a null image where Qt can't read it, it has many pixels, or it is no plain file.

    Parameters
    ----------
    path : str
    """
    try:
        status = Path(path).stat()
    except OSError:
        return QImage()
    return _read(path, status.st_mtime_ns) if S_ISREG(status.st_mode) else QImage()  # a pipe would be waited for


@lru_cache(maxsize=1)
def _read(path: str, changed: int) -> QImage:
    reader = QImageReader(path)
    reader.setDecideFormatFromContent(True)
    reader.setAutoTransform(True)  # as its EXIF orientation says
    if reader.format().toStdString() not in _FORMATS:
        return QImage()
    size = reader.size()
    return reader.read() if 0 < size.width() * size.height() <= _MOST_PIXELS else QImage()
