"""The one way by which a picture file becomes pixels: upright, sRGB, 8 bits, three channels.

What had to be changed on the way is said in `Picture.notes`.

Scaling rule for more than 8 bits: integers up to 16 bits are divided by the largest value of the smallest of 8,
10, 12, 14 or 16 bits that holds the picture's maximum; 32-bit integers and floats are stretched from their finite
minimum to their finite maximum. NaN becomes the minimum.
"""

import hashlib
import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from calm_gui.errors import PictureError

__all__ = ["MAX_PIXELS", "REDUCED_SIDE", "Picture", "as_picture", "load_picture", "picture_from_array"]

MAX_PIXELS = 200_000_000
"""Pictures with more pixels are refused before they're decoded."""

REDUCED_SIDE = 6000
"""Pictures with a longer side are reduced to it after decoding."""

BACKGROUND = (255, 255, 255)
"""What transparent pixels are laid upon."""

_MAX_FILE_BYTES = 2_000_000_000


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
    data = _read(path)
    notes: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pixels = _decode(data, path.name, notes)
    except PictureError:
        raise
    except MemoryError as error:
        raise PictureError(f"{path.name} needs more memory than there is") from error
    except Image.DecompressionBombError as error:
        raise PictureError(f"{path.name} is too large: {error}") from error
    except UnidentifiedImageError as error:
        raise PictureError(f"{path.name} isn't a picture that can be read ({_what_it_looks_like(data)})") from error
    except Exception as error:  # decoders of damaged files raise anything from SyntaxError to struct.error
        raise PictureError(f"{path.name} is damaged or incomplete ({error or type(error).__name__})") from error
    return Picture(pixels, path.name, path, hashlib.sha256(data).hexdigest(), tuple(notes))


def picture_from_array(pixels: NDArray[Any], name: str = "array") -> Picture:
    """A picture from pixels already decoded.

    Parameters
    ----------
    pixels : ndarray (h,w,3), uint8
    name : str

    Raises
    ------
    PictureError
        For another shape or type.
    """
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise PictureError(f"{name} must be a uint8 array (h,w,3), not {pixels.dtype} {pixels.shape}")
    pixels = np.ascontiguousarray(pixels)
    return Picture(pixels, name, None, hashlib.sha256(pixels.tobytes()).hexdigest())


def as_picture(source: "str | Path | Picture | Image.Image | NDArray[np.uint8]") -> Picture:
    """A picture from a path, a PIL image, a uint8 array (h,w,3) or a picture."""
    if isinstance(source, Picture):
        return source
    if isinstance(source, (str, Path)):
        return load_picture(source)
    if isinstance(source, Image.Image):
        notes: list[str] = []
        pixels = _to_rgb(ImageOps.exif_transpose(source), notes)
        return Picture(pixels, "PIL image", None, hashlib.sha256(pixels.tobytes()).hexdigest(), tuple(notes))
    return picture_from_array(source)


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise PictureError(f"{path.name} is a folder, not a picture")
        size = path.stat().st_size
        if size > _MAX_FILE_BYTES:
            raise PictureError(f"{path.name} is {size / 1e9:.1f} GB; pictures over 2 GB are refused")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise PictureError(f"there is no file {path}") from error
    except OSError as error:
        raise PictureError(f"{path} can't be read: {error.strerror or error}") from error
    if not data:
        raise PictureError(f"{path.name} is empty (0 bytes)")
    return data


def _decode(data: bytes, name: str, notes: list[str]) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise PictureError(
                f"{name} says it is {width} x {height} pixels ({width * height / 1e6:.0f} megapixels); "
                f"the limit is {MAX_PIXELS / 1e6:.0f} megapixels, so reduce it first"
            )
        if (frames := getattr(image, "n_frames", 1)) > 1:
            notes.append(f"first of {frames} frames")
        icc = image.info.get("icc_profile")
        adobe = "adobe" in image.info
        if image.format == "JPEG" and max(width, height) > 2 * REDUCED_SIDE:
            image.draft("RGB", (REDUCED_SIDE, REDUCED_SIDE))
        image.load()
        upright = _turn_upright(image, notes)
        if upright.mode == "CMYK" and image.format == "JPEG" and not adobe:
            notes.append("CMYK without Adobe marker, colours may be inverted")
        pixels = _from_profile(upright, icc, notes)
    if max(pixels.shape[:2]) > REDUCED_SIDE:
        full = f"{pixels.shape[1]} x {pixels.shape[0]}"
        reduced = Image.fromarray(pixels)
        reduced.thumbnail((REDUCED_SIDE, REDUCED_SIDE), Image.Resampling.BOX)
        pixels = np.array(reduced)
        notes.append(f"reduced from {full} to {pixels.shape[1]} x {pixels.shape[0]}")
    return pixels


def _turn_upright(image: Image.Image, notes: list[str]) -> Image.Image:
    try:
        orientation = image.getexif().get(0x0112, 1)
        turned = ImageOps.exif_transpose(image)
    except Exception:  # a broken EXIF block opens as if it had none
        notes.append("EXIF unreadable, ignored")
        return image
    if orientation in range(2, 9):
        notes.append("turned upright by EXIF")
    return turned


def _from_profile(image: Image.Image, icc: bytes | None, notes: list[str]) -> NDArray[np.uint8]:
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
        return _scaled_gray(np.asarray(image), notes)
    if image.mode == "CMYK":
        notes.append("CMYK converted to sRGB")
    if "transparency" in image.info or image.mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        rgba = image.convert("RGBA")
        ground = Image.new("RGBA", rgba.size, (*BACKGROUND, 255))
        if rgba.getchannel("A").getextrema() != (255, 255):
            notes.append("transparency laid on white")
        image = Image.alpha_composite(ground, rgba)
    return np.array(image.convert("RGB"))


def _scaled_gray(values: NDArray[Any], notes: list[str]) -> NDArray[np.uint8]:
    if values.dtype.kind == "u" or (values.dtype.kind == "i" and values.min() >= 0 and values.max() < 2**16):
        peak = int(values.max())
        bits = next(b for b in (8, 10, 12, 14, 16) if peak < 2**b)
        scaled = values.astype(np.float64) / (2**bits - 1)
        notes.append(f"{bits}-bit gray divided by {2**bits - 1}")
    else:
        finite = np.isfinite(values)
        low = float(values[finite].min()) if finite.any() else 0.0
        high = float(values[finite].max()) if finite.any() else 0.0
        clean = np.nan_to_num(values.astype(np.float64), nan=low, posinf=high, neginf=low)
        scaled = (clean - low) / (high - low) if high > low else np.zeros(values.shape)
        notes.append(f"values stretched from {low:g}..{high:g}")
        if not finite.all():
            notes.append(f"{int((~finite).sum())} pixels aren't finite")
    gray = np.round(scaled * 255).astype(np.uint8)
    return np.repeat(gray[:, :, None], 3, axis=2)


def _what_it_looks_like(data: bytes) -> str:
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
