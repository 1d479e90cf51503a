"""Ranks: from the definition, the share of cells below, with ties in the middle."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from calm_gui.core.maps import Map
from calm_gui.core.readings import ATTRIBUTION, COUNTERFACTUAL
from calm_gui.render.ranks import RANK_UNIT, rank_scale, ranked

VALUES = arrays.arrays(np.float32, (3, 4), elements=st.floats(0, 1, width=32))


def a_map(values: np.ndarray, signed: bool = False) -> Map:
    return Map(values, COUNTERFACTUAL if signed else ATTRIBUTION, SimpleNamespace())  # type: ignore[arg-type]


@given(values=VALUES)
def test_a_rank_is_the_share_of_cells_below_and_half_of_those_alike(values: np.ndarray) -> None:
    found = ranked(a_map(values)).values
    flat = values.ravel().tolist()
    for value, rank in zip(flat, found.ravel().tolist(), strict=True):
        below, alike = sum(v < value for v in flat), sum(v == value for v in flat)
        assert rank == pytest.approx(100 * (below + alike / 2) / len(flat), abs=1e-4)


@given(values=VALUES, power=st.sampled_from((0.5, 2.0)))
def test_ranks_know_no_scale(values: np.ndarray, power: float) -> None:
    coarse = (np.round(values * 100) / 100).astype(np.float32)
    np.testing.assert_array_equal(ranked(a_map(coarse)).values, ranked(a_map(coarse**power * 7)).values)


def test_differences_rank_by_magnitude_and_keep_their_sign() -> None:
    shown = ranked(a_map(np.array([[-0.3, 0.1], [0.0, 0.2]], np.float32), signed=True))
    np.testing.assert_allclose(shown.values, [[-87.5, 37.5], [0.0, 62.5]])
    assert shown.unit == RANK_UNIT and shown.check is None
    assert (rank_scale(shown).low, rank_scale(shown).high) == (-100.0, 100.0)
