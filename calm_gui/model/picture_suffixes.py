"""Extensions of files that count as pictures."""

__all__ = ["PICTURE_SUFFIXES"]

PICTURE_SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in "jpg jpeg png webp tif tiff bmp gif avif jp2 ppm pgm tga ico".split()  # noqa: SIM905
)
"""What counts as a picture when a folder is opened; a file that is named is opened whatever it is called."""
