"""Ready-made arrangements of panes."""

from collections.abc import Callable
from pathlib import Path

from calm_gui.api import bundled_checkpoints
from calm_gui.core.readings import ATTRIBUTION, CONDITIONAL, COUNTERFACTUAL, SALIENCY
from calm_gui.methods import METHODS
from calm_gui.session.pane import MAX_PANES, PICTURE, Pane
from calm_gui.session.workspace import Workspace

__all__ = ["LAYOUTS", "Layout"]

Layout = Callable[[Workspace], tuple[Pane, ...]]


def _pictures(workspace: Workspace) -> tuple[Pane, ...]:
    """The active reading of the current picture and those after it."""
    state = workspace.state
    pane = state.panes[state.active]
    following = state.pictures[state.current : state.current + MAX_PANES] or (None,)
    return tuple(Pane(pane.shows, pane.about, pane.checkpoint, picture) for picture in following)


def _methods(workspace: Workspace) -> tuple[Pane, ...]:
    """The attribution beside methods of others."""
    others = ("grad_cam", "gradient", "integrated_gradients", "smoothgrad", "occlusion")
    return (Pane(ATTRIBUTION), *(Pane(METHODS[name]) for name in others))


def _checkpoints(workspace: Workspace) -> tuple[Pane, ...]:
    """The attribution under each checkpoint that was opened, and under the bundled ones."""
    bundled = (str(Path(path).absolute()) for path in bundled_checkpoints().values())
    keys = dict.fromkeys((workspace.state.selection.checkpoint, *workspace.compute.infos, *bundled))
    return tuple(Pane(ATTRIBUTION, "target", key) for key in list(keys)[:MAX_PANES])


LAYOUTS: dict[str, Layout] = {
    "One pane": lambda _: (Pane(ATTRIBUTION),),
    "Four readings": lambda workspace: workspace.default_panes,
    "Figure 1: A, B, A − B": lambda _: (Pane(ATTRIBUTION), Pane(ATTRIBUTION, "contrast"), Pane(COUNTERFACTUAL)),
    "Figure 3: all readings": lambda _: (
        Pane(PICTURE),
        Pane(ATTRIBUTION),
        Pane(CONDITIONAL),
        Pane(SALIENCY),
        Pane(ATTRIBUTION, "superset"),
        Pane(COUNTERFACTUAL),
    ),
    "Checkpoints side by side": _checkpoints,
    "Pictures side by side": _pictures,
    "Methods side by side": _methods,
}
"""Names and what they show."""
