"""What the window says about panes, in names, letters and sentences."""

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.classes import ClassSet
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.render.colormap import colour_table
from calm_gui.session.expression import Expression, Term
from calm_gui.session.ledger import sentence
from calm_gui.session.pane import Pane


def test_a_pane_with_its_own_picture_is_told_with_its_own_classes(window: MainWindow, settle) -> None:
    workspace = window.workspace
    workspace.open_pictures(sample_pictures()[:2])
    workspace.set_panes([Pane.of("attribution", picture=str(sample_pictures()[0])), Pane.of("counterfactual")])
    workspace.change_pane(1, picture=str(sample_pictures()[0]))
    workspace.show_picture(1)
    settle()
    hound = window.hub.scene.panes[0].explanation
    first, second = (hound.classes[index].name for index, _ in hound.top(2))
    p = hound.top(1)[0][1]
    assert sentence(window.hub.scene) == f"The map splits the {p:.3f} for {first} over the picture."
    workspace.activate(1)
    difference = p - hound.top(2)[1][1]
    expected = f"Cells above 0 speak for {first}, cells below 0 for {second}; they add up to +{difference:.3f}."
    assert sentence(window.hub.scene) == expected
    assert window.hub.scene.panes[1].title.endswith(f"{first} − {second}")


def test_a_region_belongs_to_the_picture_it_is_drawn_on(window: MainWindow, settle) -> None:
    workspace = window.workspace
    workspace.open_pictures(sample_pictures()[:3])
    workspace.set_panes(LAYOUTS["Pictures side by side"](workspace))
    settle()
    other = next(i for i, pane in enumerate(workspace.state.panes) if pane.picture == str(sample_pictures()[1]))
    window.panes.panes[other].canvas.drawn.emit("box", ((20.0, 20.0), (80.0, 90.0)), 0.0)
    (region,) = workspace.state.regions
    assert region.picture == str(sample_pictures()[1])
    drawn_on = [i for i, pane in enumerate(window.panes.panes) if pane.canvas._regions]
    assert drawn_on == [other]


def test_the_status_names_the_picture_that_is_shown(window: MainWindow, settle) -> None:
    workspace = window.workspace
    workspace.open_pictures(sample_pictures()[:3])
    settle()
    while workspace.compute._pending:  # the next one, computed ahead
        QApplication.processEvents()
    workspace.step_picture(1)
    settle()
    assert workspace.status == "balloon.jpg"
    for name in ("demo-cam", "demo"):
        workspace.open_checkpoint(bundled_checkpoints()[name])
        settle()
    workspace.step_picture(1)
    settle()
    assert workspace.status == sample_pictures()[2].name


def test_a_difference_of_nothing_is_neutral(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("counterfactual")])
    window.workspace.set_contrast(Expression.of("@predicted"))
    content = window.hub.scene.active
    assert not content.shown.values.any() and "no variation" in content.message
    colours = colour_table("RdBu")[content.scale.indices(content.shown.values)]
    assert np.ptp(colours[..., :3].astype(int), axis=-1).max() < 12  # grey, neither red nor blue


def test_formulas_name_the_set_that_a_pane_is_about(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution", about) for about in ("target", "contrast", "superset")])
    subtitles = [content.subtitle for content in window.hub.scene.panes]
    assert [text.split(",")[0] for text in subtitles] == ["p(A", "p(B", "p(S"]
    assert [text.rsplit("= ")[-1] for text in subtitles] == ["p(A|x)", "p(B|x)", "p(S|x)"]


def test_relative_terms_of_the_target_stand_against_the_first_guess(window: MainWindow) -> None:
    order = [index for index, _ in window.hub.scene.explanation.top(2)]
    names = [window.hub.scene.classes[index].name for index in order]
    window.workspace.set_target(Expression.of("@runner-up"))
    scene = window.hub.scene
    assert scene.target == ClassSet([order[1]])
    assert names[1] in scene.active.title and names[1] in sentence(scene)
    assert names[1] in window.question.target.name and names[0] not in window.question.target.name
    window.workspace.set_target(Expression.of("@rest"))
    assert window.hub.scene.target == ClassSet([order[0]]).complement(1000)
    assert "for everything else over the picture" in sentence(window.hub.scene)


def test_sums_and_differences_stand_in_brackets(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("counterfactual")])
    window.workspace.set_target(Expression((Term("n02084071"), Term("n02088094", "-"))))
    window.workspace.set_contrast(Expression.of("n02121808", "n02119789"))
    assert window.hub.scene.active.title == "Counterfactual — (dog − Afghan hound) − (domestic cat + kit fox)"


@pytest.mark.parametrize(
    ("about", "words"), [("target", "no target is chosen"), ("contrast", "no contrast B is chosen")]
)
def test_what_is_missing_is_named(window: MainWindow, about: str, words: str) -> None:
    window.workspace.set_panes([Pane.of("attribution", about)])
    (window.workspace.set_contrast if about == "contrast" else window.workspace.set_target)(Expression())
    assert window.hub.scene.active.message.startswith(words)


def test_a_locked_range_takes_another_spacing_and_unit(window: MainWindow) -> None:
    workspace = window.workspace
    workspace.set_panes([Pane.of("attribution")])
    workspace.lock_scales()
    locked = window.hub.scene.active.scale
    workspace.update_view(spacing="log")
    scale = window.hub.scene.active.scale
    assert scale.spacing == "log" and scale.high == locked.high and scale.low == pytest.approx(locked.high / 1e4)
    workspace.update_view(spacing="linear", relative=True)
    scale = window.hub.scene.active.scale
    assert (scale.low, scale.high, scale.factor) == (0.0, locked.high, 196.0)
    workspace.step_picture(1)
    workspace.update_view(relative=False)
    assert window.hub.scene.active.scale in (None, locked)
