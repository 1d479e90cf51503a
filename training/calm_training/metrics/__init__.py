"""Metrics of the paper's section 5 as objects with update, compute and reset; they work on arrays alone."""

from calm_training.metrics.cue_localization import CueLocalization
from calm_training.metrics.max_box_acc import MaxBoxAcc
from calm_training.metrics.pxap import PxAP
from calm_training.metrics.remove_and_classify import RemoveAndClassify

__all__ = ["CueLocalization", "MaxBoxAcc", "PxAP", "RemoveAndClassify"]
