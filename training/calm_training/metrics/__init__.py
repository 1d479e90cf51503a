"""Metrics of the paper's section 5 as objects with update, compute and reset; they work on arrays alone."""

from calm_training.metrics.max_box_acc import MaxBoxAcc
from calm_training.metrics.pxap import PxAP

__all__ = ["MaxBoxAcc", "PxAP"]
