"""Colours of what is drawn on pictures besides maps: one table for window, figures and contact sheets."""

__all__ = ["FOUND", "REGION", "TRUTH"]

TRUTH = "#39d353"
"""Boxes of the ground truth."""

FOUND = "#ffd33d"
"""Boxes around what a threshold chooses."""

REGION = "#4da3ff"
"""Regions that were drawn."""
