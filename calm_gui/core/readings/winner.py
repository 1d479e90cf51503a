"""Winner: at each cell the node, at a chosen depth, with the largest p(node,z|x)."""

from __future__ import annotations

from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.joint import Array, Joint
from calm_gui.core.map_kind import Telling
from calm_gui.core.maps import WinnerMap
from calm_gui.core.readings.reading import READINGS, Asked, Reading
from calm_gui.errors import ReadingError
from calm_gui.late import np

__all__ = ["WINNER"]


class Winner(Reading):
    """Which group has the most probability at z; see `Hierarchy.cut` for what depth is."""

    key = "winner"
    title = "Winner"
    short = "Winner"
    formula = "the node with the largest p(node,z|x)"
    question = "Which group has the most probability here?"
    meaning = "which group has the most here"
    unit = "probability per cell"
    quantity = "winner"
    takes_target = False
    takes_depth = True

    def values(self, source: Joint, asked: Asked) -> Array:
        """Not one node's values: the map comes from `map`, which knows the hierarchy.

        Raises
        ------
        ReadingError
            Always.
        """
        raise ReadingError("the winner map needs a hierarchy, not the joint alone")

    def map(self, explanation: ClassifiedPicture, asked: Asked) -> WinnerMap:
        """The winner at each cell; ties go to the lower key, "none" where h = 0."""
        if refusal := self.refusal(explanation):
            raise ReadingError(refusal)
        hierarchy, joint = explanation.hierarchy, explanation.evidence
        assert hierarchy is not None and isinstance(joint, Joint)
        if not 0 <= asked.depth <= hierarchy.max_depth:
            raise ReadingError(f"depth must lie between 0 and {hierarchy.max_depth}, not at {asked.depth}")
        nodes = hierarchy.cut(asked.depth)
        stacked = np.stack([joint.rows(node.classes) for node in nodes])
        best = stacked.argmax(axis=0)
        share = np.stack([joint.conditional(node.classes).astype(np.float32) for node in nodes])
        return WinnerMap(
            winner=np.where(joint.h > 0, best, -1),
            values=np.take_along_axis(stacked, best[None], axis=0)[0].astype(np.float32),
            share=np.take_along_axis(share, best[None], axis=0)[0],
            nodes=nodes,
            depth=asked.depth,
            overlapping=sum(len(node.classes) for node in nodes) > len(frozenset().union(*(n.classes for n in nodes))),
            kind=self,
            explanation=explanation,
        )

    def refusal(self, explanation: ClassifiedPicture) -> str:
        """Also where there is no hierarchy."""
        if explanation.hierarchy is None:
            return "the winner map needs a hierarchy, and this checkpoint has none"
        return super().refusal(explanation)

    def sentence(self, telling: Telling) -> str:
        """The group with the most mass."""
        assert isinstance(telling.shown, WinnerMap)
        legend = telling.shown.legend()
        if not legend:
            return "No group has any probability anywhere."
        node, cells, mass = legend[0]
        return (
            f"With probability {telling.number(mass)} this is {telling.article(node.name)} and its cue lies in one of "
            f"the {cells} cells where {node.name} has the most."
        )


WINNER = READINGS.register(Winner())
