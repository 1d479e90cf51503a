"""Limits of scales: whose they are, what they do, and that sessions keep them."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from calm_gui.core.maps import Map
from calm_gui.core.readings import ATTRIBUTION, COUNTERFACTUAL
from calm_gui.errors import SessionError
from calm_gui.render.scale import Scale
from calm_gui.session.limits import Limits, limited, limits_for
from calm_gui.session.persistence import load_session, save_session
from calm_gui.session.state import Selection, State, View


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


def saved(tmp_path: Path, view: View) -> tuple[Path, str]:
    """A session of one picture with a view; its path and the picture's key."""
    picture = tmp_path / "a.png"
    picture.write_bytes(b"")
    state = State(Selection("bundled:demo"), (str(picture),), 0, view=view)
    path = tmp_path / "s.calm.json"
    save_session(path, state)
    return path, str(picture)


def test_sessions_keep_limits_and_whose_they_are(tmp_path: Path) -> None:
    picture = str(tmp_path / "a.png")
    limits = (
        Limits("joint", 0.0, 0.01, 0.0, picture),
        Limits("counterfactual", -0.02, 0.02),
        Limits("cam", percent=99.0),
    )
    path, _ = saved(tmp_path, View(limits=limits, ranks=True, depth=None, linked=False))
    view = load_session(path).state.view
    assert view.limits == limits and view.ranks and view.depth is None and not view.linked
    data = json.loads(path.read_text("utf-8"))
    assert data["view"]["limits"][0]["picture"] == "a.png"  # relative, as the picture itself
    data["view"]["limits"][0]["picture"] = "gone.png"
    path.write_text(json.dumps(data), "utf-8")
    assert load_session(path).state.view.limits == limits[1:]


def test_locked_scales_of_version_0_1_are_limits_for_all_pictures(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, View())
    data = json.loads(path.read_text("utf-8"))
    scale = {"low": 0.0, "high": 0.02, "spacing": "linear", "factor": 1.0, "unit": "probability per cell"}
    for field in ("limits", "ranks", "regions", "linked"):
        del data["view"][field]
    data["calm_session"] = 1
    data["view"] |= {"scale_mode": "locked", "locked": [["joint", scale]], "depth": 6}
    path.write_text(json.dumps(data), "utf-8")
    view = load_session(path).state.view
    assert view.scale_mode == "shared" and view.limits == (Limits("joint", 0.0, 0.02),) and view.depth == 6


@pytest.mark.parametrize("broken", [{"quantity": "joint"}, {"quantity": "joint", "low": "x"}, 3, {"percent": 101}])
def test_limits_that_make_no_sense_are_a_sentence(tmp_path: Path, broken: object) -> None:
    path, _ = saved(tmp_path, View())
    data = json.loads(path.read_text("utf-8"))
    whole = {"quantity": "joint", "low": 0, "high": 1, "percent": 0, "picture": None}
    data["view"]["limits"] = [{**whole, **broken} if isinstance(broken, dict) and "percent" in broken else broken]
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(SessionError, match="invalid value"):
        load_session(path)


@pytest.mark.parametrize("factor", [1.0, 49.0, 196.0])
def test_ticks_of_a_logarithmic_scale_are_powers_of_ten_as_written(factor: float) -> None:
    scale = Scale(2.35e-6, 0.0235, "log", factor=factor)
    values = [value * factor for value in scale.round_values()]
    assert len(values) == 4
    assert [10.0 ** round(math.log10(value)) for value in values] == pytest.approx(values)
