"""The formats that an export may have; the command line's help names them."""

__all__ = ["FORMATS"]

FORMATS = {
    "png": "a figure as PNG",
    "svg": "a figure as SVG",
    "pdf": "a figure as PDF",
    "tiff": "a figure as TIFF",
    "jpeg": "a figure as JPEG",
    "overlay": "the picture with the map, in the picture's own pixels, as PNG",
    "npz": "the map's numbers",
    "csv": "the probability of every class",
    "mask": "what the threshold chooses, as PNG",
    "coco": "boxes around what the threshold chooses, as COCO JSON",
}
"""By name, what each gives."""
