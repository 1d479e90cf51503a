"""A picture as Qt reads it: seen while NumPy is imported and our own decoder, whose pixels count, is at work."""

from functools import lru_cache

from PySide6.QtGui import QImage, QImageReader

__all__ = ["early_picture"]

_MOST_PIXELS = 2_000_000
"""Of what is read while a person waits."""


@lru_cache(maxsize=1)
def early_picture(path: str) -> QImage:
    """The upright picture in a file; a null image where Qt can't read it, or it has many pixels.

    Parameters
    ----------
    path : str
    """
    reader = QImageReader(path)
    reader.setDecideFormatFromContent(True)
    reader.setAutoTransform(True)  # as its EXIF orientation says
    size = reader.size()
    return reader.read() if 0 < size.width() * size.height() <= _MOST_PIXELS else QImage()
