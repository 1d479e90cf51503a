"""Readings, one file each: their words, their arithmetic, what they need. Importing this registers them in order."""

from calm_gui.core.readings.reading import READINGS, Asked, Reading  # isort: skip
from calm_gui.core.readings.attribution import ATTRIBUTION  # isort: skip
from calm_gui.core.readings.saliency import SALIENCY  # isort: skip
from calm_gui.core.readings.conditional import CONDITIONAL  # isort: skip
from calm_gui.core.readings.cue_posterior import CUE_POSTERIOR  # isort: skip
from calm_gui.core.readings.counterfactual import COUNTERFACTUAL  # isort: skip
from calm_gui.core.readings.winner import WINNER  # isort: skip
from calm_gui.core.readings.cam import CAM  # isort: skip

__all__ = [
    "ATTRIBUTION",
    "CAM",
    "CONDITIONAL",
    "COUNTERFACTUAL",
    "CUE_POSTERIOR",
    "READINGS",
    "SALIENCY",
    "WINNER",
    "Asked",
    "Reading",
]
