"""The ledger: the active reading in a plain sentence with its number."""

from calm_gui.core.explanation import Map, WinnerMap
from calm_gui.methods import METHODS, MethodMap
from calm_gui.render.naming import number_text
from calm_gui.session.expression import SPECIAL
from calm_gui.session.scene import PaneContent, Scene

__all__ = ["HINT", "sentence"]

HINT = (
    "p is the model's own probability and is not calibrated. A cell sees a larger part of the picture than the square "
    "it is drawn on: its receptive field."
)
"""What must be known about every number in the ledger."""

_SPECIAL_IN_WORDS = {SPECIAL["@rest"]: "anything else", SPECIAL["@siblings"]: "one of its siblings"}


def sentence(scene: Scene) -> str:
    """What the active pane says, in words; empty before the picture is explained."""
    content = scene.active
    if content.explanation is None:
        return ""
    if isinstance(content.shown, Map):
        return _of_map(scene, content, content.shown)
    if isinstance(content.shown, WinnerMap):
        return _of_winner(content.shown)
    if content.message:
        return content.message
    index, p = content.explanation.top(1)[0]
    return f"The model's first guess is {content.explanation.classes[index].name} with probability {number_text(p)}."


def _of_winner(shown: WinnerMap) -> str:
    legend = shown.legend()
    if not legend:
        return "No group has any probability anywhere."
    node, cells, mass = legend[0]
    return (
        f"With probability {number_text(mass)} this is {_with_article(node.name)} and its cue lies in one of the "
        f"{cells} cells where {node.name} has the most."
    )


def _of_map(scene: Scene, content: PaneContent, shown: Map) -> str:
    plain_a, b = scene.names_in(content)
    a = _with_article(plain_a)
    inside = _inside(scene, shown)
    match shown.reading:
        case "attribution" if inside:
            return (
                f"The model gives {inside[0]} that this is {a} and that its cue lies in {inside[1]}; "
                f"with {number_text(shown.sum)} it is {a} at all."
            )
        case "attribution":
            return f"The model gives {number_text(shown.sum)} that this is {a}; the map says where its cue lies."
        case "saliency" if inside:
            return f"The model gives {inside[0]} that the cue, of whatever class, lies in {inside[1]}."
        case "saliency":
            return "The cue, of whatever class, lies somewhere: the map adds up to 1."
        case "conditional":
            best = number_text(float(shown.values.max()))
            return (
                f"If the cue lay where {plain_a} is likeliest, the model would give it {best}; "
                f"weighted by where the cue lies, {number_text(shown.sum)}."
            )
        case "cue_posterior" if inside:
            return f"Given that this is {a}, its cue lies in {inside[1]} with probability {inside[0]}."
        case "cue_posterior":
            return f"Given that this is {a}, the map says where its cue lies; it adds up to 1."
        case "counterfactual":
            more = "more" if shown.sum >= 0 else "less"
            difference = number_text(abs(shown.sum))
            return (
                f"The model finds {plain_a} {difference} {more} probable than {b}; "
                f"red cells speak for {plain_a}, blue ones for {b}."
            )
        case _ if isinstance(shown, MethodMap):
            return (
                f"{METHODS[shown.method]} for {plain_a}, between its own extremes in this picture; "
                "the values are no probabilities and their sum means nothing."
            )
        case _:
            return (
                f"CAM scores {plain_a} between its own extremes in this picture; "
                "the values are no probabilities and their sum means nothing."
            )


def _inside(scene: Scene, shown: Map) -> tuple[str, str] | None:
    """Mass of the map in the last region drawn on its picture, and the region's name."""
    if not scene.regions or shown.explanation is not scene.explanation:
        return None
    shape, region = scene.regions[-1]
    return number_text(float((shown.values * region.weights).sum())), shape.name


def _with_article(name: str) -> str:
    """A name with its article; unions and counts become "one of"."""
    if name in _SPECIAL_IN_WORDS:
        return _SPECIAL_IN_WORDS[name]
    if name[:1].isdigit() or any(sign in name for sign in "+\N{MINUS SIGN}"):
        return f"one of {name}"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
