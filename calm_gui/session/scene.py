"""What a state shows: maps, titles, scales, sentences. All of it derived, none of it stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from calm_gui.core.classes import ClassSet
from calm_gui.core.explanation import AnyExplanation, Explanation
from calm_gui.core.hierarchy import Node
from calm_gui.core.map_kind import MapKind
from calm_gui.core.maps import AnyMap, Map, WinnerMap
from calm_gui.core.readings import ATTRIBUTION, WINNER, Reading
from calm_gui.core.region import Region
from calm_gui.errors import CalmError, ReadingError
from calm_gui.late import np
from calm_gui.methods import Method
from calm_gui.render.map_scale import quantity, scales_of
from calm_gui.render.naming import counted, map_formula, set_name
from calm_gui.render.ranks import rank_scale
from calm_gui.render.scale import Scale, remark
from calm_gui.session.expression import Expression
from calm_gui.session.failures import told_failure
from calm_gui.session.limits import limited, limits_for
from calm_gui.session.marked_cells import make_region
from calm_gui.session.pane import Pane, Picture, shown_by
from calm_gui.session.pane_content import PaneContent
from calm_gui.session.selected_sets import SelectedSets
from calm_gui.session.state import RegionShape

if TYPE_CHECKING:
    pass

__all__ = ["MethodRequest", "PaneContent", "Scene", "StripStep"]

_LETTER = {"target": "A", "contrast": "B", "superset": "S"}
"""What formulas call the set that a pane is about."""


class MethodRequest(NamedTuple):
    """A map that takes the network: what a pane that shows a method asks for."""

    picture: str
    checkpoint: str
    method: Method
    target: ClassSet
    contrast: ClassSet


@dataclass(frozen=True, eq=False)
class StripStep:
    """One step of the hierarchy strip.

    Attributes
    ----------
    node : Node
    probability : float
        p(node|x).
    area : float
        Share of the picture's cells in the smallest set that holds 90 % of the node's mass.
    shown : Map
    suggested : bool
        Whether this is the superset of the paper's table.
    chosen : bool
        Whether the target is this node.
    """

    node: Node
    probability: float
    area: float
    shown: Map
    suggested: bool
    chosen: bool


class Scene(SelectedSets):
    """Everything that one state and the explanations at hand show.

    Parameters
    ----------
    state : State
    infos : mapping of checkpoint key to CheckpointInfo
    cache : ExplanationCache
        What was computed; maps that are read for the scene go into it.
    failures : mapping of (picture, checkpoint) to str
        Why some explanations will not come.
    """

    @cached_property
    def _contents(self) -> tuple[PaneContent, ...]:
        return tuple(self._content(pane) for pane in self.state.panes)

    @cached_property
    def panes(self) -> tuple[PaneContent, ...]:
        """What each pane shows, with its scale."""
        return tuple(
            replace(content, scale=scale, fitted=fitted)
            for content, scale, fitted in zip(self._contents, self._scales, self._fitted, strict=True)
        )

    def _content(self, pane: Pane) -> PaneContent:
        picture, checkpoint = self.state.pane_keys(pane)
        explanation = self.explanation_of(picture, checkpoint)
        shows = shown_by(explanation, pane.shows)
        title = shows.title_in(explanation) if explanation and isinstance(shows, MapKind) else shows.title
        content = PaneContent(pane, shows, title, explanation=explanation, source=self.source_of(checkpoint))
        if picture is None:
            return replace(content, message="no picture is open")
        if explanation is None:
            early = self._cache.picture(picture)
            why = self._failures.get((picture, checkpoint), "")
            return replace(content, message=why, early=early.pixels if early else None)
        if isinstance(shows, Picture):
            return content
        try:
            shown, about = self._map(pane, shows, explanation)
            message = remark(shown.values) if isinstance(shown, Map) else ""
            if pane.picture is not None:
                title = Path(pane.picture).stem
            subtitle = self._subtitle(shown, pane.about)
        except Exception as error:  # the other panes go on
            return replace(content, message=told_failure(error))
        return replace(content, title=f"{title}{about}", subtitle=subtitle, shown=shown, message=message)

    def _map(self, pane: Pane, shows: Reading | Method, explanation: AnyExplanation) -> tuple[AnyMap, str]:
        """The pane's map and the words about what it is about."""
        if isinstance(shows, Reading) and (refusal := shows.refusal(explanation)):
            raise ReadingError(refusal)
        about = ""
        target, contrast = ClassSet(), ClassSet()
        depth = 0
        if shows.takes_target:
            target, name = self._about(pane, explanation)
            if not target:
                if pane.about == "contrast":
                    raise ReadingError("no contrast B is chosen; right-click a class or group on the left")
                raise ReadingError("no target is chosen; click a class or group on the left")
            about = f" — {name}"
        if shows.takes_contrast:
            contrast = self._set(self.state.selection.contrast, explanation)
            if not contrast:
                what = shows.title if isinstance(shows, Method) else f"the {shows.title.lower()}"
                raise ReadingError(f"{what} needs a contrast B: right-click a class or group on the left")
            against = self._name_in(self.state.selection.contrast, explanation)
            about = f" — {_bracketed(name)} − {_bracketed(against)}"
        if isinstance(shows, Method):
            return self._method_map(explanation, shows, target, contrast), about
        if shows.takes_depth:
            depth = self.winner_depth(explanation)
            about = f"{about} at depth {depth}"
        return self._cached(explanation, shows, target, contrast, depth), about

    def winner_depth(self, explanation: AnyExplanation) -> int:
        """The view's depth, within the hierarchy; if it has none, the first at which more than one group wins."""
        most = explanation.hierarchy.max_depth if explanation.hierarchy else 0
        if self.state.view.depth is not None:
            return min(self.state.view.depth, most)
        for depth in range(most):
            shown = self._cached(explanation, WINNER, ClassSet(), ClassSet(), depth)
            if isinstance(shown, WinnerMap) and len(shown.legend()) > 1:
                return depth
        return most

    def _method_map(self, explanation: AnyExplanation, method: Method, target: ClassSet, contrast: ClassSet) -> AnyMap:
        """A method's map, if it was computed.

        Raises
        ------
        CalmError
            That the map is on its way, or why there is none.
        """
        found = self._cache.maps(explanation).get((method, target, contrast))
        if found is None:
            raise ReadingError(f"computing {method.title} …")
        if isinstance(found, CalmError):
            raise found
        return found

    def method_requests(self) -> list[MethodRequest]:
        """What panes that show a method ask for and don't have yet."""
        found = []
        for pane in self.state.panes:
            picture, checkpoint = self.state.pane_keys(pane)
            explanation = self.explanation_of(picture, checkpoint)
            shows = shown_by(explanation, pane.shows)
            if isinstance(shows, Method) and picture and explanation is not None:
                contrast = ClassSet()
                try:
                    target = self._about(pane, explanation)[0]
                    if shows.takes_contrast:
                        contrast = self._set(self.state.selection.contrast, explanation)
                except CalmError:  # the pane says why it shows no map
                    continue
                asked = bool(target) and (bool(contrast) or not shows.takes_contrast)
                if asked and (shows, target, contrast) not in self._cache.maps(explanation):
                    found.append(MethodRequest(picture, checkpoint, shows, target, contrast))
        return list(dict.fromkeys(found))

    def _about(self, pane: Pane, explanation: AnyExplanation) -> tuple[ClassSet, str]:
        """The class set that a pane is about, and its name."""
        selection = self.state.selection
        expression = selection.contrast if pane.about == "contrast" else selection.target
        classes = self._set(expression, explanation)
        if pane.about == "superset" and classes:
            lead = int(classes.indices[int(np.argmax(explanation.class_probabilities[classes.indices]))])
            node = explanation.supersets.node(lead)
            classes = explanation.supersets[lead]
            return classes, f"superset {node.name if node else set_name(classes, explanation)}"
        return classes, self._name_in(expression, explanation)

    def names_in(self, content: PaneContent) -> tuple[str, str]:
        """What a pane's set and the contrast are called, as its own picture and checkpoint have them."""
        explanation = content.explanation
        if explanation is None:
            return "", ""

        def name(expression: Expression) -> str:
            try:
                return self._name_in(expression, explanation)
            except CalmError:  # the pane's checkpoint lacks it
                return self.name(expression)

        selection = self.state.selection
        if content.pane.about == "superset" and isinstance(content.shown, Map):
            own = set_name(content.shown.target or ClassSet(), explanation)
        elif content.pane.about == "superset":
            own = name(selection.target)
        else:
            own = name(selection.contrast if content.pane.about == "contrast" else selection.target)
        return own, name(selection.contrast)

    def _cached(
        self, explanation: AnyExplanation, reading: Reading, target: ClassSet, contrast: ClassSet, depth: int = 0
    ) -> AnyMap:
        maps = self._cache.maps(explanation)
        key = (reading, target, contrast, depth)
        if key not in maps:
            try:
                maps[key] = reading.map(explanation, explanation.asked(reading, target, contrast, depth=depth))
            except CalmError as error:
                maps[key] = error
        found = maps[key]
        if isinstance(found, CalmError):
            raise found
        return found

    @staticmethod
    def _subtitle(shown: AnyMap, about: str) -> str:
        if isinstance(shown, WinnerMap):
            words = counted(len(shown.legend()), "group")
            return f"some overlap · {words}" if shown.overlapping else words
        return map_formula(shown, _LETTER[about] if shown.kind.takes_target and not shown.kind.takes_contrast else "A")

    @cached_property
    def _fitted(self) -> list[Scale | None]:
        """Scales that fit the panes' maps, in the view's mode and unit."""
        view = self.state.view
        shown = [content.shown for content in self._contents]
        if view.ranks:
            return [rank_scale(one) if isinstance(one, Map) else None for one in shown]
        return scales_of(shown, view.scale_mode, view.spacing, view.relative)

    @cached_property
    def _scales(self) -> list[Scale | None]:
        """The same with the limits that were set, which shared scales alone can have."""
        view = self.state.view
        if view.ranks or view.scale_mode == "fit" or not view.limits:
            return self._fitted
        maps = [one for content in self._contents if isinstance(one := content.shown, Map)]
        found: list[Scale | None] = []
        for content, scale in zip(self._contents, self._fitted, strict=True):
            shown = content.shown
            limits = limits_for(view.limits, quantity(shown), self.state.picture) if isinstance(shown, Map) else None
            if limits is not None and scale is not None and isinstance(shown, Map):
                scale = limited(scale, limits, [other for other in maps if quantity(other) == quantity(shown)])
            found.append(scale)
        return found

    @cached_property
    def strip(self) -> tuple[StripStep, ...]:
        """The map at every step from the leading class up to the root, each class set once."""
        lead, explanation, hierarchy = self.lead_class, self.explanation, self.hierarchy
        if lead is None or not isinstance(explanation, Explanation) or hierarchy is None:
            return ()
        start = hierarchy.by_class.get(lead)
        if start is None:
            return ()
        suggested = explanation.supersets[lead]
        above = [hierarchy[key] for key in (start, *hierarchy.ancestors(start))]
        # Of a chain of nodes with one class set the deepest names the step.
        steps = {node.classes: node for node in sorted(above, key=lambda node: node.depth)}
        result = []
        for classes, node in sorted(steps.items(), key=lambda item: (len(item[0]), -item[1].depth, item[1].key)):
            shown = self._cached(explanation, ATTRIBUTION, classes, ClassSet())
            assert isinstance(shown, Map)
            p = self.node_probabilities[node.key]
            result.append(StripStep(node, p, shown.spread, shown, classes == suggested, classes == self.target))
        return tuple(result)

    @property
    def active(self) -> PaneContent:
        """What the active pane shows."""
        return self.panes[min(self.state.active, len(self.panes) - 1)]

    @cached_property
    def regions(self) -> tuple[tuple[RegionShape, Region], ...]:
        """The current picture's regions with their weights."""
        if self.explanation is None:
            return ()
        return tuple((shape, make_region(shape, self.explanation)) for shape in self.state.regions_here())

    @property
    def question(self) -> str:
        """What the active reading asks."""
        return self.active.shows.question


def _bracketed(name: str) -> str:
    """A name in brackets if it is a sum or difference itself."""
    return f"({name})" if " + " in name or "\N{MINUS SIGN} " in name else name
