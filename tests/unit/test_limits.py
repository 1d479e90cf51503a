"""Limits of scales: whose they are, what they do, and that sessions keep them."""

from types import SimpleNamespace

import numpy as np
import pytest

from calm_gui.core.maps import Map
from calm_gui.core.readings import ATTRIBUTION, COUNTERFACTUAL
from calm_gui.render.scale import Scale
from calm_gui.session.limits import Limits, limited, limits_for


def a_map(values: list[float], signed: bool = False) -> Map:
    kind = COUNTERFACTUAL if signed else ATTRIBUTION
    return Map(np.array([values], np.float32), kind, SimpleNamespace())  # type: ignore[arg-type]


def test_limits_belong_to_a_quantity_and_a_picture_or_to_all() -> None:
    limits = (Limits("joint", 0, 1, 0, "a.jpg"), Limits("counterfactual", -1, 1))
    assert limits_for(limits, "joint", "a.jpg") == limits[0]
    assert limits_for(limits, "joint", "b.jpg") is None
    assert limits_for(limits, "counterfactual", "b.jpg") == limits[1]
    assert limits[1].kept and not limits[0].kept and not Limits("joint", percent=99).kept


def test_typed_ends_replace_those_that_fit() -> None:
    own = Scale(0.0, 0.02)
    scale = limited(own, Limits("joint", 0.001, 0.01), [a_map([0.02])])
    assert (scale.low, scale.high) == (0.001, 0.01)
    assert limited(own, Limits("joint", 0.01, 0.01), [a_map([0.02])]) == own  # no range at all


def test_a_percentile_is_taken_over_all_maps_that_share_the_scale() -> None:
    maps = [a_map(list(np.linspace(0, 1, 51))), a_map(list(np.linspace(1, 2, 50)))]
    joined = np.concatenate([shown.values.ravel() for shown in maps])
    scale = limited(Scale(0.0, 2.0), Limits("joint", percent=95), maps)
    assert scale.high == pytest.approx(np.sort(joined)[95], rel=0.02) and scale.low == 0.0
    signed = limited(Scale(-2.0, 2.0), Limits("counterfactual", percent=50), [a_map([-2.0, 1.0, 0.5], signed=True)])
    assert (signed.low, signed.high) == (-1.0, 1.0)


def test_a_logarithmic_scale_starts_above_zero() -> None:
    scale = limited(Scale(2e-6, 0.02, "log"), Limits("joint", 0.0, 0.01), [a_map([0.02])])
    assert scale.low == pytest.approx(1e-6) and scale.high == 0.01
