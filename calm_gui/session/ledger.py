"""The ledger: the active reading in a plain sentence with its number."""

from calm_gui.core.map_kind import Telling
from calm_gui.core.maps import AnyMap
from calm_gui.render.naming import number_text
from calm_gui.session.expression import SPECIAL
from calm_gui.session.scene import PaneContent, Scene

__all__ = ["hint", "sentence"]

_SPECIAL_IN_WORDS = {SPECIAL["@rest"]: "anything else", SPECIAL["@siblings"]: "one of its siblings"}


def sentence(scene: Scene) -> str:
    """What the active pane says, in words; empty before the picture is explained."""
    content = scene.active
    said = _sentence(scene, content)
    return f"{content.source}: {said}" if said and content.source else said


def _sentence(scene: Scene, content: PaneContent) -> str:
    if content.explanation is None:
        return ""
    if content.shown is not None:
        return content.shown.kind.sentence(_telling(scene, content, content.shown))
    if content.message:
        return content.message
    index, p = content.explanation.top(1)[0]
    return f"The most probable class is {content.explanation.classes.name_of(index)} with probability {number_text(p)}."


def hint(scene: Scene) -> str:
    """What must be known about every number in the ledger: whether p is calibrated, and what a cell sees."""
    info = scene.infos.get(scene.state.pane_keys(scene.active.pane)[1])
    on = info.calibrated_on if info else ""
    calibrated = f"is calibrated on {on}" if on else "is not calibrated"
    return (
        f"p is the model's own probability and {calibrated}. A cell sees a larger part of the picture than the square "
        "it is drawn on: its receptive field."
    )


def _telling(scene: Scene, content: PaneContent, shown: AnyMap) -> Telling:
    target, contrast = scene.names_in(content)
    inside = _inside(scene, shown)
    return Telling(shown, target, contrast, _with_article(target), inside, number_text, _with_article)


def _inside(scene: Scene, shown: AnyMap) -> tuple[str, str] | None:
    """Sum of the map in the last region drawn on its picture, and the region's name."""
    if not scene.regions or shown.explanation is not scene.explanation:
        return None
    shape, region = scene.regions[-1]
    if region.weights.shape != shown.values.shape:
        return None  # a method's map on a grid of its own
    return number_text(float((shown.values * region.weights).sum())), shape.name


def _with_article(name: str) -> str:
    """A name with its article; unions and counts become "one of"."""
    if name in _SPECIAL_IN_WORDS:
        return _SPECIAL_IN_WORDS[name]
    if name[:1].isdigit() or any(sign in name for sign in "+\N{MINUS SIGN}"):
        return f"one of {name}"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
