"""TIFFs that Pillow reads wrongly or not at all: decoded by tifffile, or refused for what they are."""

import io
import logging
import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import PictureError

__all__ = ["TIFF_SIGNATURES", "TiffContent", "tiff_content", "which_page"]

TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""Of TIFF and BigTIFF."""

_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _SEPARATED = 0, 1, 2, 5
_RAW = (32803, 34892)
"""Photometric interpretations of camera raw: a colour filter array, and linear raw."""

_DNG_VERSION, _ORIENTATION, _PROFILE = 50706, 274, 34675
_REDUCED, _MASK = 1, 4
_PREMULTIPLIED = 1
_ALPHA = (_PREMULTIPLIED, 2)
_MODES = ("RGB", "RGBA", "RGBa", "CMYK")
_MOST_LOOKED_AT = 16
"""Directories in which a raw picture, or the one that isn't a copy, is looked for."""


@dataclass(frozen=True)
class TiffContent:
    """What the tags say that Pillow doesn't.

    Attributes
    ----------
    image : PIL.Image.Image or None
        The first picture where Pillow would get it wrong; None where Pillow reads it right.
    white_is_zero : bool
        Whether deep values are to be inverted after Pillow has read them.
    notes : tuple of str
        What was done, a phrase each.
    page : int
        Number of the directory that holds the picture, from 0.
    kind : str
        What whole values of a kind that isn't decoded here are, for Pillow may not know them either.
    """

    image: Image.Image | None = None
    white_is_zero: bool = False
    notes: tuple[str, ...] = ()
    page: int = 0
    kind: str = ""


def tiff_content(data: bytes, name: str, most_pixels: int) -> TiffContent:
    """Look at the tags of a TIFF and decode what is deeper than 8 bits.

    Pillow has no reader for planes of 16-bit samples, doesn't invert deep grey whose zero is white, and takes the
    preview that a camera's raw file begins with for the picture.

    Parameters
    ----------
    data : bytes
    name : str
        For messages.
    most_pixels : int
        Larger ones are left to be refused.

    Raises
    ------
    PictureError
        With what it is, for camera raw and for numbers of channels that no picture to look at has.
    """
    import tifffile  # off the start-up path

    _hush()
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            if _DNG_VERSION in file.pages.first.tags or _holds_raw(file):
                raise PictureError(f"{name} is camera raw, of which only a preview could be shown; develop it first")
            number, page = _picture_in(file)
            _refuse_channels(page, name)
            deep = max(_bits(page)) > 8 or int(page.sampleformat or 1) != 1 or int(page.samplesperpixel) == 2
            if not deep or page.imagewidth * page.imagelength > most_pixels:
                return TiffContent(page=number, kind="a mask before its picture" if number else "")
            if not _is_whole(page):
                raise PictureError(f"{name} lacks some of its strips or tiles; it is a TIFF that is cut off or damaged")
            try:
                values = page.asarray()
            except Exception:  # a compression that tifffile has no codec for, or a damaged strip: Pillow's turn
                return TiffContent(white_is_zero=page.photometric == _WHITE_IS_ZERO, page=number)
            content = replace(_decoded(page, values, name), page=number)
            if content.image and (frames := len(file.pages)) > 1:
                return replace(content, notes=(which_page(number, frames), *content.notes))
            return content
    except PictureError:
        raise
    except Exception:  # damaged tags raise anything; Pillow says what is wrong
        return TiffContent()


def which_page(number: int, count: int) -> str:
    """A phrase that says which of several pictures in a file is shown."""
    before = ", after a reduced copy or a mask" if number else ""
    return f"page {number + 1} of {count}{before}" if number else f"first of {count} frames"


def _picture_in(file: Any) -> tuple[int, Any]:
    """The first directory that is neither a reduced copy nor a mask of another; the first where all are."""
    for number, page in enumerate(islice(file.pages, _MOST_LOOKED_AT)):
        if not int(getattr(page, "subfiletype", 0)) & (_REDUCED | _MASK):
            return number, page
    return 0, file.pages.first


@cache
def _hush() -> None:
    """Keep tifffile's remarks about odd tags off stderr."""
    logging.getLogger("tifffile").addHandler(logging.NullHandler())
    logging.getLogger("tifffile").propagate = False


def _bits(page: Any) -> tuple[int, ...]:
    bits = page.bitspersample
    return tuple(bits) if isinstance(bits, tuple) else (int(bits),)


def _holds_raw(file: Any) -> bool:
    looked_at = 0
    for page in file.pages:
        for each in (page, *(page.pages or ())):
            looked_at += 1
            if looked_at > _MOST_LOOKED_AT:
                return False
            if getattr(each, "photometric", None) in _RAW:
                return True
    return False


def _refuse_channels(page: Any, name: str) -> None:
    samples = int(page.samplesperpixel)
    colours = {_RGB: 3, _SEPARATED: 4}.get(page.photometric, 1)
    alpha = len(page.extrasamples) == 1 and page.extrasamples[0] in _ALPHA
    deep, kind = max(_bits(page)) > 8, int(page.sampleformat or 1)
    what = ""
    if colours == 1 and samples > 1 and not (samples == 2 and alpha):
        what = f"{samples} channels"
    elif deep and samples > colours and not (samples == colours + 1 and alpha):
        what = f"{samples} channels of {max(_bits(page))} bits"
    elif samples > 1 and kind == 3:
        what = "floating-point colour"
    elif kind in (5, 6):
        what = "complex numbers"
    if what:
        raise PictureError(f"{name} holds {what}, which isn't read; save it as 8- or 16-bit RGB or grey")


def _is_whole(page: Any) -> bool:
    """Whether there are bytes of every strip or tile, for which tifffile would put zeros."""
    return len(page.databytecounts) >= math.prod(page.chunked) and all(page.databytecounts)


def _decoded(page: Any, values: NDArray[Any], name: str) -> TiffContent:
    planar = values.ndim == 3 and int(page.planarconfig) == 2
    if planar:
        values = np.moveaxis(values, 0, -1)
    what, channels = "colour", values.shape[2] if values.ndim == 3 else 1
    if page.photometric in (_WHITE_IS_ZERO, _BLACK_IS_ZERO) and channels == 2:
        what, (grey, alpha) = "grey", np.moveaxis(values, -1, 0)
        grey = np.iinfo(values.dtype).max - grey if page.photometric == _WHITE_IS_ZERO else grey
        values = np.dstack([grey, grey, grey, alpha])
    if values.ndim == 2 and page.photometric in (_WHITE_IS_ZERO, _BLACK_IS_ZERO):
        image = _grey(values, page.photometric == _WHITE_IS_ZERO)
    elif values.dtype in (np.uint8, np.uint16) and (page.photometric in (_RGB, _SEPARATED) or what == "grey"):
        eight = np.ascontiguousarray((values >> 8 if values.itemsize == 2 else values).astype(np.uint8))
        with_alpha = "RGBa" if _PREMULTIPLIED in page.extrasamples else "RGBA"
        modes = {(False, 3): "RGB", (False, 4): with_alpha, (True, 4): "CMYK"}
        mode = modes.get((page.photometric == _SEPARATED, values.shape[2]))
        if mode is None:
            raise PictureError(f"{name} holds {values.shape[2]} channels; save it as 8- or 16-bit RGB or grey")
        image = Image.frombytes(mode, (values.shape[1], values.shape[0]), eight.tobytes())
    else:  # palettes, Lab, signed colour: Pillow reads them or doesn't know them
        return TiffContent(kind=f"{channels} {'channel' if channels == 1 else 'channels'} of type {values.dtype}")
    if orientation := page.tags.get(_ORIENTATION):
        image.getexif()[_ORIENTATION] = int(orientation.value)
    if profile := page.tags.get(_PROFILE):
        image.info["icc_profile"] = bytes(profile.value)
    notes = (f"16-bit {what} read at 8 bits",) if image.mode in _MODES and values.itemsize == 2 else ()
    return TiffContent(image, notes=notes)


def _grey(values: NDArray[Any], white_is_zero: bool) -> Image.Image:
    """One channel as an image of mode I;16, I or F, brighter where the picture is."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "u" and size <= 2:
        turned = np.iinfo(values.dtype).max - values if white_is_zero else values
        return Image.fromarray(np.ascontiguousarray(turned.astype("<u2")))
    if kind == "i" and size <= 2:
        return Image.fromarray(-values.astype(np.int32) if white_is_zero else values.astype(np.int32))
    floats = values.astype(np.float32)
    return Image.fromarray(-floats if white_is_zero else floats)
