"""What one pane shows: a reading, a method of others, or the picture alone; of which sets, checkpoint and picture."""

from typing import Literal, NamedTuple, TypeAlias

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.readings import ATTRIBUTION, CAM, COUNTERFACTUAL, READINGS, SALIENCY, Reading
from calm_gui.methods import METHODS, Method

__all__ = [
    "CLASSIFIER_MAP",
    "MAX_PANES",
    "PICTURE",
    "About",
    "Pane",
    "Picture",
    "Shows",
    "default_panes",
    "shown_by",
    "shows_from_text",
    "shows_text",
]

MAX_PANES = 6

About = Literal["target", "contrast", "superset"]


class Picture:
    """The picture without a map; there is one, `PICTURE`."""

    key = "picture"
    title = "Picture"
    label = "Picture"
    meaning = "the picture without a map"
    question = ""
    takes_target = False
    takes_contrast = False
    takes_depth = False
    times_uniform = False

    def __repr__(self) -> str:
        return "<Picture>"


PICTURE = Picture()

Shows: TypeAlias = Reading | Method | Picture
"""What a pane shows."""

_METHOD = "method:"

_GRADIENT = METHODS["gradient"]
CLASSIFIER_MAP = METHODS["grad_cam"]
"""What is shown of a classifier that has no reading."""


def shows_text(shows: Shows) -> str:
    """What a pane shows, as sessions and requests write it: a reading's key, ``method:<key>`` or ``picture``."""
    return (_METHOD if isinstance(shows, Method) else "") + shows.key


def shows_from_text(text: str) -> Shows:
    """What `shows_text` wrote.

    Raises
    ------
    ReadingError
        If there is no such reading or method.
    """
    if text == PICTURE.key:
        return PICTURE
    return METHODS[text.removeprefix(_METHOD)] if text.startswith(_METHOD) else READINGS[text]


def shown_by(explanation: AnyExplanation | None, shows: Shows) -> Shows:
    """What an explanation shows in the place of what a pane is set to, where that is a reading of another kind."""
    if explanation is None or not isinstance(shows, Reading):
        return shows
    return explanation.answerable(shows) if explanation.own_reading else CLASSIFIER_MAP


class Pane(NamedTuple):
    """One view of one explanation.

    Attributes
    ----------
    shows : Reading, Method or Picture
    about : {"target", "contrast", "superset"}
        Which class set it is about; superset is that of the most probable class in the target.
    checkpoint : str or None
        Key of the checkpoint; None for the selection's.
    picture : str or None
        Key of the picture; None for the current one.
    """

    shows: Shows = ATTRIBUTION
    about: About = "target"
    checkpoint: str | None = None
    picture: str | None = None

    @classmethod
    def of(
        cls, text: str, about: About = "target", checkpoint: str | None = None, picture: str | None = None
    ) -> "Pane":
        """A pane of what a text names; see `shows_from_text`."""
        return cls(shows_from_text(text), about, checkpoint, picture)


def default_panes(calm: bool = True) -> tuple[Pane, ...]:
    """The panes of the first start; of checkpoints without CALM's branches CAM and the gradient, of A and of B."""
    if not calm:
        return (Pane(CAM), Pane(CAM, "contrast"), Pane(_GRADIENT), Pane(_GRADIENT, "contrast"))
    return (Pane(ATTRIBUTION), Pane(ATTRIBUTION, "superset"), Pane(SALIENCY), Pane(COUNTERFACTUAL))
