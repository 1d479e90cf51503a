"""The page of settings: colours of A and B, decimals, keys; what is set counts at once and is kept."""

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from calm_gui.qt.classes.hierarchy_model import PROBABILITY
from calm_gui.qt.dialogs.settings_dialog import SettingsDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import DARK, LIGHT, PAIRS, apply_theme, current_pair, current_theme
from calm_gui.qt.widgets import numbers
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.render.colormap import DIVERGING
from calm_gui.render.naming import number_text, probability_text


@pytest.fixture
def page(window: MainWindow) -> Iterator[SettingsDialog]:
    dialog = SettingsDialog(window.hub, Settings(None), window)
    yield dialog
    dialog.deleteLater()
    numbers.write_decimals(3)
    apply_theme(LIGHT, "red-blue")


def seen_by(colour: str, lacking: str) -> np.ndarray:
    """Linear RGB as eyes without one kind of cones see it (Viénot, Brettel and Mollon 1999)."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    lost = {
        "protan": [[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]],
        "deutan": [[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]],
        "tritan": [[1, 0, 0], [0, 1, 0], [-0.395913, 0.801109, 0]],
        "nothing": np.eye(3),
    }
    return np.linalg.solve(to_lms, np.array(lost[lacking]) @ to_lms @ linear).clip(0, 1)


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """The difference in CIE L*a*b* (1976) of two linear colours."""

    def lab(linear: np.ndarray) -> np.ndarray:
        to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        t = to_xyz @ linear / np.array([0.9505, 1.0, 1.089])
        f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    return float(np.linalg.norm(lab(one) - lab(other)))


@pytest.mark.parametrize("eyes", ["nothing", "protan", "deutan", "tritan"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_and_b_can_be_told_apart_by_all_eyes(theme: str, pair: str, eyes: str) -> None:
    a, b = getattr(PAIRS[pair], theme)
    assert apart(seen_by(a, eyes), seen_by(b, eyes)) > 25


def test_a_pair_colours_letters_and_differences_in_both_themes(page: SettingsDialog, window: MainWindow) -> None:
    page.colours.setCurrentIndex(page.colours.findData("orange-purple"))
    assert (current_theme().target, current_theme().contrast) == PAIRS["orange-purple"].light
    assert window.workspace.state.view.diverging == "PuOr"
    assert page._settings.text("colours") == current_pair() == "orange-purple"
    apply_theme(DARK)
    assert (current_theme().target, current_theme().contrast) == PAIRS["orange-purple"].dark
    apply_theme(LIGHT, "made up")
    assert current_pair() == "orange-purple"
    assert {pair.diverging for pair in PAIRS.values()} <= {*DIVERGING}


def test_decimals_count_in_the_whole_window_and_not_in_exports(page: SettingsDialog, window: MainWindow) -> None:
    scene, tree = window.hub.scene, window.panel("classes").tree
    p = scene.probability(scene.target)
    assert p is not None
    width = tree.header().sectionSize(PROBABILITY)
    page.decimals.setValue(5)
    assert window.question.target.number == window.panes.panes[0].header.texts.number == f"{p:.5f}"
    assert tree.header().sectionSize(PROBABILITY) > width
    assert number_text(p) == f"{p:.3f}" and f"{p:.3f}" in window.ledger.sentence
    assert page._settings.number("decimals", 3) == 5
    page.decimals.setValue(2)
    assert window.question.target.number == f"{p:.2f}"


@pytest.mark.parametrize(
    ("p", "decimals", "expected"),
    [(0.35654, 3, "0.357"), (0.35654, 5, "0.35654"), (0.0004, 3, "<0.001"), (0.0004, 4, "0.0004"), (0.0, 2, "0.00"),
     (0.99999, 3, ">0.999"), (0.99999, 6, "0.999990"), (1.0, 4, "1.0000"), (1 - 1e-9, 3, "1.000")],
)  # fmt: skip
def test_probabilities_of_a_row_in_every_number_of_decimals(p: float, decimals: int, expected: str) -> None:
    assert probability_text(p, decimals) == expected
    assert len(probability_text(p, decimals)) <= len(probability_text(1 - 0.5 * 10.0**-decimals, decimals))


def test_numbers_below_the_last_decimal_become_powers() -> None:
    assert number_text(3.24e-5) == "3.2 ×10⁻⁵" and number_text(3.24e-5, 5) == "0.00003"
    assert number_text(-3.2416e-7, 5) == "\N{MINUS SIGN}3.242 ×10⁻⁷" and number_text(0.0, 2) == "0.00"


def test_every_setting_has_a_name_and_keys_lead_on(page: SettingsDialog) -> None:
    wanted: list[int] = []
    page.keys_wanted.connect(lambda: wanted.append(1))
    next(button for button in page.findChildren(QPushButton) if button.text() == "Change keys…").click()
    assert wanted == [1]
    for field in (page.theme, page.letters, page.colours, page.decimals, page.cache):
        assert field.accessibleName() and field.focusPolicy() & Qt.FocusPolicy.TabFocus
