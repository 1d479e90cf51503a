"""What a pane can show besides methods, in the order of panel and menu, with shortcuts."""

from calm_gui.core.readings import READINGS, Reading
from calm_gui.session.pane import PICTURE, Picture

__all__ = ["reading_keys"]


def reading_keys() -> list[tuple[Reading | Picture, str]]:
    """Each reading, and the picture alone, with its shortcut: Alt and a digit, or empty where digits have run out.

    The first six readings and the picture have had 1 to 7 since version 0.1.
    """
    readings = list(READINGS.values())
    shown: list[Reading | Picture] = [*readings[:6], PICTURE, *readings[6:]]
    return [(one, f"Alt+{number}" if number < 10 else "") for number, one in enumerate(shown, start=1)]
