"""One factor a scale: what is written is the number, and what is typed means it again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calm_gui.render.notation import Notation
from calm_gui.render.scale import Scale

POWERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def factor(notation: Notation) -> float:
    """What the factor beside the numbers says, read as a person does."""
    return 10.0 ** int(notation.factor.removeprefix("×10").translate(POWERS)) if notation.factor else 1.0


@given(high=st.floats(1e-12, 1e9), share=st.floats(0, 1), times=st.sampled_from((1.0, 196.0)))
def test_a_number_and_the_factor_are_the_value(high: float, share: float, times: float) -> None:
    notation = Notation.of(Scale(0.0, high, factor=times))
    value = share * high
    written = float(notation.text(value).replace("−", "-")) * factor(notation)
    assert written == pytest.approx(value * times, abs=0.006 * high * times)
    typed = notation.value(notation.text(value))
    assert typed is not None and typed == pytest.approx(value, abs=0.006 * high)


@given(high=st.floats(1e-12, 1e9))
def test_the_upper_limit_has_three_digits_and_all_numbers_its_decimals(high: float) -> None:
    notation = Notation.of(Scale(-high, high))
    text = notation.text(high)
    assert 3 <= len(text.replace(".", "").lstrip("0")) <= 4
    decimals = len(text.partition(".")[2])
    assert all(len(notation.text(v).partition(".")[2]) == decimals for v in (-high, 0.0, high / 3))
    assert notation.power % 3 == 0 and math.isfinite(notation.times)


def test_signs_exponents_and_commas_are_read() -> None:
    notation = Notation.of(Scale(-0.0158, 0.0158))
    assert (notation.text(-0.0158), notation.factor) == ("−15.8", "×10⁻³")
    assert notation.text(-1e-9) == "0.0"
    assert notation.value("−15,8") == pytest.approx(-0.0158)
    assert notation.value("2e-3") == pytest.approx(0.002)
    assert [notation.value(text) for text in ("", "x", "nan", "inf", "1 2")] == [None] * 5


def test_values_near_one_need_no_factor() -> None:
    assert Notation.of(Scale(0.0, 1.0)).whole(1.0) == "1.00"
    assert Notation.of(Scale(0.0, 0.357)).whole(0.357) == "0.357"
    assert Notation.of(Scale(0.0, 0.0)).whole(0.0) == "0.0"
