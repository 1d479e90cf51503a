"""The columns of a batch's summary, and what a cell of each says."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["COLUMNS", "MEANINGS"]

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "file": "path of the picture, as it was given",
        "name": "stem of the names of the picture's exports",
        "checkpoint": "name of the checkpoint",
        "predicted_index": "index of the most probable class",
        "predicted_wnid": "its WordNet id",
        "predicted_name": "its name",
        "p_predicted": "p of that class, 0 to 1",
        "truth_index": "index of the class that the ground truth names, or else the picture's folder",
        "truth_name": "its name",
        "p_truth": "p of that class, 0 to 1",
        "target": "the target A, as it was asked for",
        "target_name": "the classes of A in words",
        "target_size": "number of classes in A",
        "p": "p(A|x), 0 to 1",
        "contrast_name": "the classes of the contrast B in words",
        "p_contrast": "p(B|x), 0 to 1",
        "peak_x": "x of the middle of the cell with the largest p(A,z|x), pixels of the upright picture",
        "peak_y": "its y",
        "area": "share of the grid's cells in the smallest set that holds 90 % of p(A,z|x), 0 to 1",
        "box_x0": "left edge of the box around the largest part of that set, pixels of the upright picture",
        "box_y0": "its upper edge",
        "box_x1": "its right edge",
        "box_y1": "its lower edge",
        "mass_in_box": "p(A, z in G|x), where G is the union of the true boxes, 0 to 1",
        "share_in_box": "mass_in_box over p(A|x), 0 to 1",
        "iou": "intersection over union of the box and the true box that fits it best, 0 to 1",
    }
)
"""What a cell of each column says; a cell without a value is empty."""

COLUMNS = tuple(MEANINGS)
"""Columns of the summary, in their order; see `MEANINGS`."""
