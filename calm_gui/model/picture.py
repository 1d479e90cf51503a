"""The one way by which a picture file becomes pixels: upright, sRGB, 8 bits, three channels.

What had to be changed on the way is said in `Picture.notes`.

Scaling rule for more than 8 bits: integers up to 16 bits are divided by the largest value of the smallest of 8,
10, 12, 14 or 16 bits that holds the picture's maximum; 32-bit integers and floats are stretched from their finite
minimum to their finite maximum. NaN becomes the minimum.
"""

import ctypes
import hashlib
import io
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageCms, ImageOps, UnidentifiedImageError, _imaging

from calm_gui.errors import PictureError
from calm_gui.model.files import read_bounded
from calm_gui.model.pixels import is_tensor, rgb_pixels
from calm_gui.model.png import PNG_SIGNATURE, without_long_chunks
from calm_gui.model.tiff import TIFF_SIGNATURES, TiffContent, tiff_content, which_page

__all__ = ["MAX_PIXELS", "REDUCED_SIDE", "Picture", "as_picture", "load_picture", "picture_from_array"]

MAX_PIXELS = 2 * 89_478_485
"""Pictures with more pixels are refused before they're decoded: 179 megapixels, where Pillow refuses too."""

REDUCED_SIDE = 6000
"""Pictures with a longer side are reduced to it, by means over whole pixels, before anything else is done."""

BACKGROUND = (255, 255, 255)
"""What transparent pixels are laid upon."""

_MAX_FILE_BYTES = 2_000_000_000
_SIGNATURES = {
    b"II*\0": "a TIFF",
    b"MM\0*": "a TIFF",
    b"\x89PNG": "a PNG",
    b"\xff\xd8\xff": "a JPEG",
    b"GIF8": "a GIF",
}


@dataclass(frozen=True, eq=False)
class Picture:
    """An upright picture.

    Attributes
    ----------
    pixels : ndarray (h,w,3), uint8, sRGB
    name : str
        File name, or what the caller calls it.
    path : Path or None
    sha256 : str
        Of the file's bytes (of the pixels, for arrays).
    notes : tuple of str
        What was changed on the way in, a phrase each.
    """

    pixels: NDArray[np.uint8]
    name: str
    path: Path | None = None
    sha256: str = ""
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]


def load_picture(path: str | Path) -> Picture:
    """Decode a picture file, whatever its extension says.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Picture

    Raises
    ------
    PictureError
        If the file is missing, unreadable, not a picture, damaged, or larger than `MAX_PIXELS`.
    """
    path = Path(path)
    if "://" in str(path) or str(path).startswith(("http:/", "https:/")):
        raise PictureError(f"{path} is a web address, not a file; download it first, or give the bytes")
    return _decoded(_read(path), path.name, path)


def _decoded(data: bytes, name: str, path: Path | None) -> Picture:
    """The picture in the bytes of a file; errors as for `load_picture`."""
    notes: list[str] = []
    if not data:
        raise PictureError(f"{name} is empty (0 bytes)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pixels = _decode(data, name, notes)
    except PictureError:
        raise
    except MemoryError as error:
        raise PictureError(f"{name} needs more memory than there is") from error
    except Image.DecompressionBombError as error:
        pixels_said = next(iter(re.findall(r"[0-9]+", str(error))), "0")
        raise PictureError(_too_large(name, int(pixels_said))) from error
    except UnidentifiedImageError as error:
        raise PictureError(f"{name} isn't a picture that can be read ({_what_it_looks_like(data)})") from error
    except Exception as error:  # decoders of damaged files raise anything from SyntaxError to struct.error
        reason = f" ({error})" if str(error) else ""
        raise PictureError(f"{name} is damaged or incomplete{reason}") from error
    return Picture(pixels, name, path, hashlib.sha256(data).hexdigest(), tuple(notes))


def picture_from_array(pixels: NDArray[Any], name: str = "array") -> Picture:
    """A picture from pixels already decoded.

    Parameters
    ----------
    pixels : ndarray or Tensor
        As `calm_gui.model.pixels.rgb_pixels` takes it.
    name : str

    Raises
    ------
    PictureError
        For a shape, type or range that no picture has.
    """
    pixels = rgb_pixels(pixels, name)
    return Picture(pixels, name, None, hashlib.sha256(pixels.tobytes()).hexdigest())


def as_picture(source: Any) -> Picture:
    """A picture from a path, bytes of a file, a file object, a PIL image, an array or tensor of pixels, or a picture.

    Raises
    ------
    PictureError
        For anything else, and for what can't be read.
    """
    if isinstance(source, Picture):
        return source
    if isinstance(source, (str, Path)):
        return load_picture(source)
    if isinstance(source, Image.Image):
        notes: list[str] = []
        try:
            pixels = _from_profile(_reduced(_turn_upright(source, notes)), source.info.get("icc_profile"), notes)
        except (OSError, SyntaxError, ValueError) as error:  # a file that is damaged behind its header
            raise PictureError(f"the PIL image can't be read: {' '.join(str(error).split())}") from error
        return Picture(pixels, "PIL image", None, hashlib.sha256(pixels.tobytes()).hexdigest(), tuple(notes))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _decoded(bytes(source), "bytes", None)
    if hasattr(source, "read"):
        return _from_file_object(source)
    if not (isinstance(source, np.ndarray) or is_tensor(source)):
        raise PictureError(
            f"a {type(source).__name__} is no picture; give a path, bytes, a file object, a PIL image, an array or a "
            "tensor of pixels"
        )
    return picture_from_array(source, "tensor" if is_tensor(source) else "array")


def _from_file_object(source: Any) -> Picture:
    named = getattr(source, "name", "")
    name = Path(named).name if isinstance(named, str) and named else type(source).__name__
    try:
        data = source.read()
    except (OSError, ValueError) as error:
        raise PictureError(f"{name} can't be read: {error}") from error
    if not isinstance(data, bytes):
        raise PictureError(f"{name} was opened as text; open it with mode 'rb'")
    return _decoded(data, name, None)


def _read(path: Path) -> bytes:
    data = read_bounded(path, _MAX_FILE_BYTES, PictureError, "pictures")
    if not data:
        raise PictureError(f"{path.name} is empty (0 bytes)")
    return data


def _decode(data: bytes, name: str, notes: list[str]) -> NDArray[np.uint8]:
    content = TiffContent()
    if data.startswith(TIFF_SIGNATURES):
        content = tiff_content(data, name, MAX_PIXELS)
        notes += content.notes
    try:
        return _from_file(data, name, notes, content)
    except ValueError as error:
        if not (data.startswith(PNG_SIGNATURE) and "text" in str(error).lower()):
            raise
        data, left_out = without_long_chunks(data)
        notes[:] = left_out
        return _from_file(data, name, notes, content)


def _from_file(data: bytes, name: str, notes: list[str], content: TiffContent) -> NDArray[np.uint8]:
    with content.image or _opened(data, name, content) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise PictureError(_too_large(name, width * height))
        if (frames := getattr(image, "n_frames", 1)) > 1:
            notes.append(which_page(content.page, frames))
        turned_by_pillow = image.format == "TIFF" and image.getexif().get(0x0112, 1) in range(2, 9)
        if image.format == "TIFF":
            _hush_libtiff()
        icc = image.info.get("icc_profile")
        adobe = "adobe" in image.info
        if image.format == "JPEG" and max(width, height) > 2 * REDUCED_SIDE:
            image.draft("RGB", (REDUCED_SIDE, REDUCED_SIDE))
        tiles = getattr(image, "tile", ())
        if image.mode in ("RGB", "RGBA", "LA") and any("16" in _raw_mode(tile[-1]) for tile in tiles):
            notes.append("16-bit colour read at 8 bits")
        image.load()
        if turned_by_pillow:
            notes.append("turned upright by EXIF")
        whole = _turn_upright(_inverted(image) if content.white_is_zero else image, notes)
        upright = _reduced(whole)
        if upright.size != whole.size:
            notes.append(f"reduced from {whole.width} x {whole.height} to {upright.width} x {upright.height}")
        if upright.mode == "CMYK" and image.format == "JPEG" and not adobe:
            # Pillow takes every CMYK JPEG for one of Adobe's, which are stored inverted.
            upright = ImageChops.invert(upright)
            notes.append("CMYK without Adobe marker, taken as not inverted")
        return _from_profile(upright, icc, notes)


def _opened(data: bytes, name: str, content: TiffContent) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(data))
    except UnidentifiedImageError:
        if not content.kind:
            raise
        raise PictureError(
            f"{name} holds {content.kind}, which isn't read; save it as 8- or 16-bit RGB or grey"
        ) from None
    if content.page:
        image.seek(content.page)
    return image


def _inverted(image: Image.Image) -> Image.Image:
    """Deep grey whose zero is white, inverted."""
    if not image.mode.startswith("I;16"):
        return image
    turned = Image.fromarray((65535 - np.asarray(image)).astype("<u2"))
    turned.info, orientation = image.info, image.getexif().get(0x0112)
    if orientation:
        turned.getexif()[0x0112] = orientation
    return turned


@cache
def _hush_libtiff() -> None:
    """Keep libtiff from writing its own lines about a damaged file to stderr, beside the sentence that is raised."""
    with suppress(OSError, AttributeError):  # a Pillow that hides its libtiff goes on as before
        libtiff = ctypes.CDLL(_imaging.__file__)  # names of libraries that it is linked with are found too
        for handler in (libtiff.TIFFSetErrorHandler, libtiff.TIFFSetWarningHandler):
            handler(None)


def _too_large(name: str, pixels: int) -> str:
    return (
        f"{name} says it has {pixels / 1e6:.0f} megapixels; the limit is {MAX_PIXELS / 1e6:.0f} megapixels, "
        "so reduce it first"
    )


def _raw_mode(arguments: Any) -> str:
    """How a decoder is told the pixels lie in the file; what comes after it may be an offset with 16 in it."""
    return str(arguments[0] if isinstance(arguments, tuple) else arguments)


def _reduced(image: Image.Image) -> Image.Image:
    """A picture whose sides are over `REDUCED_SIDE` made smaller while it's still in its own, smaller, mode."""
    longest = max(image.size)
    if longest <= REDUCED_SIDE:
        return image
    size = tuple(max(1, round(side * REDUCED_SIDE / longest)) for side in image.size)
    if image.mode == "1":
        image = image.convert("L")
    elif image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode.startswith("I;16") and image.mode != "I;16":
        image = Image.fromarray(np.asarray(image).astype("<u2"))
    reduced = image.resize((size[0], size[1]), Image.Resampling.BOX)
    reduced.info = image.info
    return reduced


def _turn_upright(image: Image.Image, notes: list[str]) -> Image.Image:
    try:
        if image.getexif().get(0x0112, 1) not in range(2, 9):
            return image
        turned = ImageOps.exif_transpose(image)
    except Exception:  # a broken EXIF block opens as if it had none
        notes.append("EXIF unreadable, ignored")
        return image
    notes.append("turned upright by EXIF")
    return turned


def _from_profile(image: Image.Image, icc: bytes | None, notes: list[str]) -> NDArray[np.uint8]:
    if icc and image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if icc and image.mode in ("RGB", "RGBA", "CMYK", "L"):
        try:
            profile = ImageCms.ImageCmsProfile(io.BytesIO(icc))
            flat = image if image.mode != "RGBA" else image.convert("RGB")
            alpha = image.getchannel("A") if image.mode == "RGBA" else None
            converted = ImageCms.profileToProfile(flat, profile, ImageCms.createProfile("sRGB"), outputMode="RGB")
            if converted is not None:
                if not _is_srgb(profile):
                    notes.append("colour profile converted to sRGB")
                if alpha is not None:
                    converted.putalpha(alpha)
                return _to_rgb(converted, notes)
        except (ImageCms.PyCMSError, OSError, ValueError):
            notes.append("colour profile unreadable, not applied")
    return _to_rgb(image, notes)


def _is_srgb(profile: ImageCms.ImageCmsProfile) -> bool:
    return "srgb" in (ImageCms.getProfileDescription(profile) or "").casefold()


def _to_rgb(image: Image.Image, notes: list[str]) -> NDArray[np.uint8]:
    if image.mode in ("I;16", "I;16B", "I;16L", "I;16N", "I", "F"):
        return _scaled_grey(np.asarray(image), notes)
    if image.mode == "CMYK":
        notes.append("CMYK converted to sRGB")
    if "transparency" in image.info or image.mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        rgba = image.convert("RGBA")
        ground = Image.new("RGBA", rgba.size, (*BACKGROUND, 255))
        if rgba.getchannel("A").getextrema() != (255, 255):
            notes.append("transparency laid on white")
        image = Image.alpha_composite(ground, rgba)
    return np.array(image.convert("RGB"))


def _scaled_grey(values: NDArray[Any], notes: list[str]) -> NDArray[np.uint8]:
    if values.dtype.kind == "u" or (values.dtype.kind == "i" and values.min() >= 0 and values.max() < 2**16):
        peak = int(values.max())
        bits = next(b for b in (8, 10, 12, 14, 16) if peak < 2**b)
        scaled = values.astype(np.float64) / (2**bits - 1)
        notes.append(f"{bits}-bit grey divided by {2**bits - 1}")
    else:
        finite = np.isfinite(values)
        low = float(values[finite].min()) if finite.any() else 0.0
        high = float(values[finite].max()) if finite.any() else 0.0
        clean = np.nan_to_num(values.astype(np.float64), nan=low, posinf=high, neginf=low)
        scaled = (clean - low) / (high - low) if high > low else np.zeros(values.shape)
        notes.append(f"values stretched from {low:g}..{high:g}")
        if not finite.all():
            notes.append(f"{int((~finite).sum())} pixels aren't finite")
    grey = np.round(scaled * 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def _what_it_looks_like(data: bytes) -> str:
    if begun := next((kind for signature, kind in _SIGNATURES.items() if data.startswith(signature)), None):
        return f"{begun} that is cut off or damaged"
    head = data[:256].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "it is a web page"
    if head.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer; fetch the real file with git lfs pull"
    if b"ftyphei" in head or b"ftypmif" in head:
        return "it is HEIC; save it as JPEG or PNG"
    if all(32 <= c < 127 or c in (9, 10, 13) for c in data[:256]):
        return "it is a text file"
    return f"{len(data)} bytes of an unknown format"
