"""Metrics of the paper's section 5 as objects with update, compute and reset; they work on arrays alone.

``to_json`` and ``add_json`` keep what was counted and add it up, for interrupted and divided evaluations.
"""

from calm_training.metrics.axioms import Completeness, Invariance, Sensitivity
from calm_training.metrics.calibration import Calibration
from calm_training.metrics.max_box_acc import MaxBoxAcc
from calm_training.metrics.pxap import PxAP
from calm_training.metrics.remove_and_classify import RemoveAndClassify
from calm_training.metrics.top_one import TopOne

__all__ = [
    "Calibration",
    "Completeness",
    "Invariance",
    "MaxBoxAcc",
    "PxAP",
    "RemoveAndClassify",
    "Sensitivity",
    "TopOne",
]
