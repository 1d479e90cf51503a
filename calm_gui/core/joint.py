"""What readings are sums of: the joint p(y,z|x) of a CALM network, the class scores of a CAM network; or logits alone.

The same code takes NumPy arrays, as explanations do, and torch tensors, as evaluation does: `xp` is the one or the
other module. Nothing here imports torch.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from calm_gui.errors import NumericalError
from calm_gui.late import np

if TYPE_CHECKING:
    from calm_gui.core.classes import ClassSet

__all__ = ["ClassLogits", "ClassScores", "Evidence", "Joint"]

Array = Any
"""numpy.ndarray or torch.Tensor."""


def _writable(classes: ClassSet) -> Array:
    """Indices of a class set; torch warns of arrays that can't be written to."""
    return classes.indices.copy()


class Joint:
    """p(y,z|x) = g * h of one picture (paper, section 4.1).

    Parameters
    ----------
    f : array (C,H,W), float32
        Raw class branch.
    a : array (H,W), float32
        Raw saliency branch.
    activation : {"softplus", "relu"}
    xp : module
        numpy or torch, to which the arrays belong.

    Attributes
    ----------
    values : array (C,H,W), float32
        p(y,z|x); sums to 1.
    h : array (H,W), float32
        p(z|x); sums to 1.

    Raises
    ------
    NumericalError
        If the saliency branch isn't finite or is zero everywhere.
    """

    def __init__(
        self,
        f: Array,
        a: Array,
        activation: Literal["softplus", "relu"],
        xp: ModuleType = np,
    ) -> None:
        self.f, self.a, self.activation, self.xp = f, a, activation, xp
        if not xp.isfinite(a).all():
            raise NumericalError("the saliency branch holds NaN or infinity; the checkpoint's weights are broken")
        self.h = xp.asarray(self._h64, dtype=xp.float32)
        peak = xp.amax(f, 0)
        values = f - peak
        xp.exp(values, out=values)
        normaliser = values.sum(0)
        self._log_normaliser = peak + xp.log(normaliser)
        values *= self.h / normaliser
        self.values = values

    @cached_property
    def _h64(self) -> Array:
        """p(z|x) in float64, in which a branch far below zero, where softplus is tiny, keeps its shape."""
        xp = self.xp
        a = xp.asarray(self.a, dtype=xp.float64)
        zero = xp.zeros_like(a)
        active = xp.maximum(a, zero) if self.activation == "relu" else xp.logaddexp(a, zero)
        total = active.sum()
        if not total > 0:
            raise NumericalError(
                "the saliency branch is zero everywhere, so p(z|x) is undefined; the checkpoint's saliency "
                "branch is dead, or it was trained with softplus instead of ReLU"
            )
        return active / total

    @cached_property
    def class_probabilities(self) -> Array:
        """p(y|x) of every class, (C,), in float64 from raw f and a alone: what the sum check compares with."""
        scores, weights = self._factors64()
        return scores.reshape(len(scores), -1) @ weights.reshape(-1)

    def _factors64(self) -> tuple[Array, Array]:
        """Two factors of the joint in float64: (C,H,W), exp of f less each cell's largest; and the rest, (H,W)."""
        xp = self.xp
        scores = xp.asarray(self.f, dtype=xp.float64) - xp.amax(self.f, 0)
        xp.exp(scores, out=scores)
        return scores, self._h64 / scores.sum(0)

    def probability(self, classes: ClassSet) -> float:
        """p(A|x) in float64, from raw f and a."""
        return float(self.class_probabilities[_writable(classes)].sum())

    def rows(self, classes: ClassSet) -> Array:
        """Sum of the joint's rows of a class set, (H,W), float64."""
        values = self.values if len(classes) == len(self.values) else self.values[_writable(classes)]
        return values.sum(0, dtype=self.xp.float64)

    def rows64(self, classes: ClassSet) -> Array:
        """The same from raw f and a, for probabilities too small for float32."""
        scores, weights = self._factors64()
        return scores[_writable(classes)].sum(0) * weights

    def conditional(self, classes: ClassSet) -> Array:
        """p(A|x,z), (H,W), float64: from the class branch alone, so that it is defined where h = 0 too."""
        xp = self.xp
        return xp.exp(self.f[_writable(classes)] - self._log_normaliser).sum(0, dtype=xp.float64)


class ClassScores:
    """Class scores at each location of a CAM network, whose mean is the logit (paper, equation 1).

    Parameters
    ----------
    f : array (C,H,W), float32
    xp : module
        numpy or torch.
    """

    def __init__(self, f: Array, xp: ModuleType = np) -> None:
        self.f, self.xp = f, xp

    @cached_property
    def class_probabilities(self) -> Array:
        """p(y|x), (C,), float64: softmax of the mean scores."""
        xp = self.xp
        return _softmax(self.f.mean((1, 2), dtype=xp.float64), xp)

    def probability(self, classes: ClassSet) -> float:
        """p(A|x) in float64."""
        return float(self.class_probabilities[_writable(classes)].sum())

    def rows(self, classes: ClassSet) -> Array:
        """Sum of the scores of a class set, (H,W), float64."""
        return self.f[_writable(classes)].sum(0, dtype=self.xp.float64)


class ClassLogits:
    """Logits of a classifier that says nothing about places.

    Parameters
    ----------
    logits : array (C,), float32
    xp : module
        numpy or torch.
    """

    def __init__(self, logits: Array, xp: ModuleType = np) -> None:
        self.logits, self.xp = logits, xp

    @cached_property
    def class_probabilities(self) -> Array:
        """p(y|x), (C,), float64: softmax of the logits."""
        return _softmax(self.xp.asarray(self.logits, dtype=self.xp.float64), self.xp)

    def probability(self, classes: ClassSet) -> float:
        """p(A|x) in float64."""
        return float(self.class_probabilities[classes.indices].sum())


def _softmax(logits: Array, xp: ModuleType) -> Array:
    logits = logits - logits.max()
    return xp.exp(logits - xp.log(xp.exp(logits).sum()))


Evidence = Joint | ClassScores | ClassLogits
"""What an explanation of any kind of checkpoint holds."""
