"""The pixels of a panel: a picture at a size with a map over it; and their file."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.threshold import threshold_level
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.manifest import describe, write_export
from calm_gui.render.map_scale import scales_of
from calm_gui.render.overlay import map_picture, overlay_picture, unseen
from calm_gui.render.scale import Scale

if TYPE_CHECKING:
    pass


__all__ = ["compose", "save_overlay"]


def compose(
    explanation: ClassifiedPicture,
    shown: Map | WinnerMap | None,
    scale: Scale | None,
    spec: FigureSpec,
    size: tuple[int, int],
) -> NDArray[np.uint8]:
    """The pixels of one panel: the picture at this size with the map over it.

    Parameters
    ----------
    explanation : Explanation or CamExplanation
    shown : Map, WinnerMap or None
    scale : Scale or None
        None for a winner map or the picture alone.
    spec : FigureSpec
    size : (int, int)
        Height and width in pixels.

    Returns
    -------
    ndarray (height, width, 3), uint8
    """
    picture = _at_size(explanation, size)
    if shown is None:
        return picture
    opacity = spec.opacity if spec.overlay and explanation.picture is not None else 1.0
    if isinstance(shown, WinnerMap):
        return map_picture(picture, shown, None, None, opacity)
    if scale is None:
        raise ValueError("a map needs a scale")
    colour_map = spec.diverging if shown.signed else spec.sequential
    result = overlay_picture(picture, shown, scale, colour_map, opacity, spec.native)
    level = threshold_level(shown.values, spec.threshold, spec.threshold_value)
    if spec.mask and level is not None:
        outside = np.abs(shown.upsampled(size, spec.native)) < level
        outside &= ~unseen(shown.geometry, *size)
        result[outside] = picture[outside]
    return result


def _at_size(explanation: ClassifiedPicture, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The upright picture resampled; a light grey where an explanation has none."""
    if explanation.picture is None:
        return np.full((*size, 3), 235, dtype=np.uint8)
    pixels = explanation.picture
    if pixels.shape[:2] == size:
        return pixels
    # From four-fold on the pixels themselves are of interest, as in the window.
    enlarged = size[1] >= 4 * pixels.shape[1]
    how = Image.Resampling.NEAREST if enlarged else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(pixels).resize((size[1], size[0]), how))


def save_overlay(
    shown: Map | WinnerMap, path: str | Path, spec: FigureSpec | None = None, scale: Scale | None = None
) -> None:
    """Write the overlay alone as PNG, pixel for pixel of the upright picture's size.

    Parameters
    ----------
    shown : Map or WinnerMap
    path : str or Path
        Ends in ``.png``.
    spec : FigureSpec, optional
        Colour maps, opacity, scale and threshold; its size doesn't matter.
    scale : Scale, optional
        By default the one that the spec asks for.

    Raises
    ------
    ExportError
        If the file can't be written.
    """
    spec = spec or FigureSpec()
    width, height = shown.geometry.picture
    scale = scale or scales_of([shown], spec.scale, spec.spacing, spec.relative)[0]
    image = Image.fromarray(compose(shown.explanation, shown, scale, spec, (height, width)))
    manifest = describe(shown.explanation, [shown], [scale], threshold=spec.threshold_json)
    write_export(path, [".png"], "overlay", lambda temporary: image.save(temporary), manifest, figure=spec.to_json())
