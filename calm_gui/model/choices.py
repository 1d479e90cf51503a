"""The words that metadata, answers and command lines choose from; without imports, since help names them too."""

from typing import Literal

__all__ = ["ACOL_WIDTH", "CAM_METHODS", "Activation", "AnsweredMethod", "Context", "Interpolation", "Method", "Outputs"]

Activation = Literal["relu", "softplus"]
Context = Literal["none", "mean", "saliency"]
Interpolation = Literal["bilinear", "bicubic"]
AnsweredMethod = Literal["calm-em", "calm-ml", "cam", "classifier"]
"""What a file of another program may be."""

Outputs = Literal["softmax", "sigmoid"]
"""What makes probabilities of a classifier's outputs."""

Method = Literal["calm-em", "calm-ml", "cam", "acol", "classifier"]
"""Kinds of checkpoints; a classifier is one whose head gives neither p(y,z|x) nor a class score at a place."""

CAM_METHODS: tuple[Method, ...] = ("cam", "acol")
"""Methods without a saliency branch, whose maps are class scores."""

ACOL_WIDTH = 1024
"""Channels of the convolutions in ACoL's branches, in its paper."""
