"""Every pair of six checkpoints: each pane speaks with its own checkpoint's classes, or says what it lacks."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from inline_runner import InlineRunner
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import bundled_checkpoints
from calm_gui.core.classes import ClassSet
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.readings import READINGS
from calm_gui.errors import CalmError
from calm_gui.model.loaded import LoadedModel, load_model
from calm_gui.render.naming import set_name
from calm_gui.session.expression import Expression, evaluate
from calm_gui.session.ledger import sentence
from calm_gui.session.pane import Pane
from calm_gui.session.scene_figure import WHAT, scene_figure, view_spec
from calm_gui.session.workspace import Workspace

KINDS = ("own", "cam", "order a", "order b", "three others", "demo")
PAIRS = list(itertools.permutations(KINDS, 2))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Six checkpoints; those that were trained here are all called best.safetensors."""
    root = tmp_path_factory.mktemp("runs")
    made: dict[str, dict[str, Any]] = {
        "own": {},
        "cam": {"method": "cam", "seed": 1},
        "order a": {"names": ("ant", "bee", "cat")},
        "order b": {"names": ("bee", "cat", "ant")},
        "three others": {"names": ("bee", "car", "dog")},
    }
    for name, options in made.items():
        (root / name).mkdir()
        write_tiny_checkpoint(root / name / "best.safetensors", **options)
    paths = {name: root / name / "best.safetensors" for name in made}
    return {name: str(path.absolute()) for name, path in {**paths, "demo": bundled_checkpoints()["demo"]}.items()}


@pytest.fixture(scope="module")
def load() -> Callable[..., LoadedModel]:
    models: dict[str, LoadedModel] = {}

    def loaded(path: str, device: str, progress: object, answers: object) -> LoadedModel:
        if path not in models:
            models[path] = load_model(path, "cpu")
        return models[path]

    return loaded


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("pictures") / "p.png"
    Image.fromarray(np.random.default_rng(3).integers(0, 256, (96, 120, 3), dtype=np.uint8)).save(path)
    return str(path)


@pytest.fixture
def side_by_side(keys: dict[str, str], load: Any, picture: str) -> Callable[[str, str], Workspace]:
    """A workspace whose chosen checkpoint is the first, with the second one beside it."""

    def opened(first: str, second: str) -> Workspace:
        workspace = Workspace(keys[second], InlineRunner(), load)
        workspace.open_pictures([picture])
        workspace.open_checkpoint(keys[first])
        workspace.set_panes([Pane(checkpoint=keys[first]), Pane(checkpoint=keys[second])])
        return workspace

    return opened


def chosen(workspace: Workspace) -> list[Expression]:
    """Targets of every kind: following, a class, several, a difference, a group."""
    classes, hierarchy = workspace.scene.classes, workspace.scene.hierarchy
    first, second, last = (f"#{i}" for i in (0, 1, len(classes) - 1))
    keys = [classes[i].wnid or f"#{i}" for i in (1, len(classes) - 1)]
    groups = [node.key for node in (hierarchy or {}).values() if 1 < len(node.classes) < len(classes)][:2]
    return [
        *(Expression.of(key) for key in ("@predicted", "@superset", "@runner-up", "@rest", "@siblings")),
        Expression.of(keys[0]),
        Expression.of(first, last),
        Expression.of(first, second).excluding(second),
        *(Expression.of(key) for key in groups),
    ]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_reading_and_target_of_every_pair_has_its_own_checkpoints_names(
    side_by_side: Callable[[str, str], Workspace], keys: dict[str, str], first: str, second: str
) -> None:
    workspace = side_by_side(first, second)
    for target in chosen(workspace):
        workspace.set_target(target)
        for reading in READINGS.values():
            workspace.set_panes(
                [
                    Pane(reading, about, keys[name])
                    for name in (first, second)
                    for about in ("target", "superset", "contrast")
                ]
            )
            for position, content in enumerate(workspace.scene.panes):
                name = (first, second)[position // 3]
                explanation = content.explanation
                assert explanation is not None
                assert len(explanation.classes) == len(load_classes(workspace, keys[name]))
                assert content.source.endswith("demo" if name == "demo" else f"{name}/best.safetensors")
                workspace.activate(position)
                assert content.source in sentence(workspace.scene)
                if isinstance(content.shown, Map) and content.shown.target is not None:
                    same_sets(workspace, content.shown.target, explanation, content.pane.about)
                elif not isinstance(content.shown, (Map, WinnerMap)):
                    assert content.message


def load_classes(workspace: Workspace, key: str) -> Any:
    return workspace.compute.infos[key].classes


def same_sets(workspace: Workspace, shown: ClassSet, explanation: Any, about: str) -> None:
    """A pane under another checkpoint shows the classes of the same names, and calls them so."""
    scene = workspace.scene
    expression = scene.state.selection.contrast if about == "contrast" else scene.state.selection.target
    if about == "superset" or any(term.key.startswith("@") for term in expression.terms):
        return
    if any(scene.hierarchy is not None and term.key in scene.hierarchy for term in expression.terms):
        return  # a group holds what the other hierarchy says
    here = {scene.classes[i].name for i in evaluate(expression, scene.classes, scene.hierarchy)}
    assert {explanation.classes[i].name for i in shown} == here


def test_the_same_network_with_another_order_of_classes_shows_the_same_maps(
    side_by_side: Callable[[str, str], Workspace],
) -> None:
    workspace = side_by_side("order a", "order b")
    workspace.set_target(Expression.of("#1"))
    a, b = workspace.scene.panes
    assert isinstance(a.shown, Map) and isinstance(b.shown, Map)
    assert a.title == b.title == "Attribution — bee"
    np.testing.assert_allclose(a.shown.values, b.shown.values, rtol=1e-4)
    assert a.source != b.source


@pytest.mark.parametrize(("first", "second"), [("order a", "order b"), ("order b", "order a")])
def test_a_target_is_carried_by_name_when_another_checkpoint_is_opened(
    side_by_side: Callable[[str, str], Workspace], keys: dict[str, str], first: str, second: str
) -> None:
    workspace = side_by_side(first, second)
    workspace.set_target(workspace_class(workspace, "bee"))
    workspace.open_checkpoint(keys[second])
    assert set_name(workspace.scene.target, workspace.scene) == "bee"


def workspace_class(workspace: Workspace, name: str) -> Expression:
    return Expression.of(f"#{next(info.index for info in workspace.scene.classes if info.name == name)}")


def test_a_target_that_the_opened_checkpoint_lacks_is_told(
    side_by_side: Callable[[str, str], Workspace], keys: dict[str, str]
) -> None:
    workspace = side_by_side("order a", "three others")
    told: list[str] = []
    workspace.on_complaint(told.append)
    workspace.set_target(workspace_class(workspace, "cat"))
    pane = workspace.scene.panes[1]
    assert pane.message == "cat is not a class of three others/best.safetensors" and pane.shown is None
    workspace.open_checkpoint(keys["three others"])
    assert told[-1] == "cat is not a class of three others/best.safetensors; the predicted class is used instead"
    assert workspace.state.selection.target == Expression.of("@predicted")


def test_a_kept_set_is_the_same_classes_under_every_checkpoint(
    side_by_side: Callable[[str, str], Workspace], keys: dict[str, str]
) -> None:
    workspace = side_by_side("order a", "order b")
    workspace.keep_set("insects", Expression.of("#0", "#1"))
    workspace.open_checkpoint(keys["order b"])
    (kept,) = workspace.state.named_sets
    assert {workspace.scene.classes[i].name for i in workspace.scene.classes_of(kept)} == {"ant", "bee"}


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_export_and_session_of_every_pair_names_both(
    side_by_side: Callable[[str, str], Workspace], keys: dict[str, str], tmp_path: Path, first: str, second: str
) -> None:
    workspace = side_by_side(first, second)
    workspace.add_region("box", ((5.0, 5.0), (60.0, 60.0)))
    for what in WHAT:
        for active in (0, 1):
            workspace.activate(active)
            try:
                figure = scene_figure(workspace.scene, view_spec(workspace.scene, what, dpi=60), what)
            except CalmError as error:
                assert str(error)
                continue
            titles = " ".join(figure.options["titles"])
            shown = (keys[first], keys[second]) if what == "panes" else (keys[(first, second)[active]],)
            for key in shown if what in ("panes", "single", "pair", "regions") else (keys[first],):
                assert workspace.name_of(key) in titles
    path = tmp_path / "s.calm.json"
    workspace.save_session(path)
    before = workspace.state
    assert workspace.open_session(path) is not None
    assert workspace.state.panes == before.panes and workspace.state.selection == before.selection
    assert all(workspace.name_of(keys[name]) in path.read_text() for name in (first, second))


def test_a_single_checkpoint_is_not_named_in_every_pane(keys: dict[str, str], load: Any, picture: str) -> None:
    workspace = Workspace(keys["own"], InlineRunner(), load)
    workspace.open_pictures([picture])
    assert {content.source for content in workspace.scene.panes} == {""}
    assert len(workspace.scene.classes) == len(synthetic.CLASSES)


def test_a_class_with_a_wnid_is_carried_by_its_name_to_a_checkpoint_without_wnids(
    side_by_side: Callable[[str, str], Workspace], keys: dict[str, str], tmp_path: Path
) -> None:
    workspace = side_by_side("own", "order a")
    path = write_tiny_checkpoint(tmp_path / "best.safetensors", names=("tabby", "beagle", "crane"))
    workspace.set_target(Expression.of("n02088364"))  # the beagle
    workspace.open_checkpoint(path)
    assert set_name(workspace.scene.target, workspace.scene) == "beagle"
    workspace.open_checkpoint(keys["own"])
    assert workspace.scene.target == ClassSet([1])
    workspace.set_target(Expression.of("n02012849"))  # one of two cranes, of which a name alone can't tell
    workspace.open_checkpoint(path)
    assert workspace.state.selection.target == Expression.of("@predicted")
    workspace.open_checkpoint(keys["own"])
    workspace.set_target(Expression.of("n02088364"))
    workspace.set_panes([Pane(checkpoint=key) for key in (keys["own"], str(path))])
    assert [content.title for content in workspace.scene.panes] == ["Attribution — beagle"] * 2
