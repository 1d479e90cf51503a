"""Colour tables: those of matplotlib, from a file, so that the window needn't import it."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import colormaps

from calm_gui.render import colormap
from calm_gui.render.colormap import DIVERGING, SEQUENTIAL, colour_table


@pytest.mark.parametrize("name", SEQUENTIAL + DIVERGING)
def test_tables_are_matplotlibs_the_warm_end_of_differences_positive(name: str) -> None:
    of = colormaps[name + "_r" if name in DIVERGING else name](np.arange(256))[:, :3]
    np.testing.assert_array_equal(colour_table(name), np.round(255 * of))
    assert not colour_table(name).flags.writeable


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="inferno"):
        colour_table("rainbow")


def test_a_first_map_needs_neither_matplotlib_nor_scipy() -> None:
    """Each would take a third of the time to the first frame."""
    code = """
import sys
import numpy as np
from calm_gui.api import bundled_checkpoints
from calm_gui.model.info import read_info
from calm_gui.render import colormap
from calm_gui.render.colormap import premultiplied_table
premultiplied_table("inferno", 0.6)
read_info(bundled_checkpoints()["demo"]).hierarchy.probabilities(np.full(1000, 1e-3))
print([name for name in ("matplotlib", "scipy", "torch") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_colour_map_is_added_by_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colormap, "SEQUENTIAL", (*SEQUENTIAL, "plasma"))
    colour_table.cache_clear()
    try:
        np.testing.assert_array_equal(colour_table("plasma")[[0, 255]], [[13, 8, 135], [240, 249, 33]])
        assert not colour_table("plasma").flags.writeable
    finally:
        colour_table.cache_clear()
