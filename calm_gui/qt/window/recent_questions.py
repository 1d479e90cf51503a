"""Questions that were asked lately (A, B, reading), to ask them again of another picture."""

from typing import Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QMenu, QMenuBar

from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.actions import first_menu
from calm_gui.session.expression import Expression
from calm_gui.session.pane import shows_from_text, shows_text
from calm_gui.session.scene import Scene

__all__ = ["RecentQuestions"]

_MOST = 10
_MILLISECONDS = 2000
"""A question that stands as long as this was asked; what is passed by on the way to it wasn't."""

_KEY = "recent questions"


class RecentQuestions(QObject):
    """Keeps them in the settings and fills a menu.

    Parameters
    ----------
    hub : Hub
    settings : Settings
    """

    def __init__(self, hub: Hub, settings: Settings) -> None:
        super().__init__(hub)
        self._hub, self._settings = hub, settings
        self._asked: object = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_MILLISECONDS)
        self._timer.timeout.connect(self.keep)
        hub.scene_changed.connect(self._on_scene)

    def add_menu(self, bar: QMenuBar, before: str) -> QMenu:
        """Add the menu to the first menu of a bar, before the action of that name."""
        first = first_menu(bar)
        menu = QMenu("Recent &questions", first)
        menu.aboutToShow.connect(lambda: self.fill(menu))
        place = next((action for action in first.actions() if action.objectName() == before), first.actions()[-1])
        first.insertMenu(place, menu)
        return menu

    def _on_scene(self, scene: Scene) -> None:
        asked = (scene.state.selection, scene.active.pane.shows)
        if asked != self._asked:
            self._asked = asked
            self._timer.start()

    def keep(self) -> None:
        """Keep the question that stands now."""
        from calm_gui.session.persistence import expression_to_json

        scene = self._hub.scene
        selection = scene.state.selection
        if scene.explanation is None or not selection.target.terms:
            return
        words = f"{scene.active.shows.label}: {scene.name(selection.target)}"
        if selection.contrast.terms:
            words += f" as opposed to {scene.name(selection.contrast)}"
        question = {
            "words": words,
            "A": expression_to_json(selection.target)["terms"],
            "B": expression_to_json(selection.contrast)["terms"],
            "reading": shows_text(scene.active.pane.shows),
        }
        same = ("A", "B", "reading")
        others = [q for q in self.kept if any(q[key] != question[key] for key in same)]
        self._settings.set(_KEY, [question, *others][:_MOST])

    @property
    def kept(self) -> list[dict[str, Any]]:
        """Those that can be asked again, the latest first."""
        found = self._settings.values.get(_KEY)
        return [q for q in found if _is_question(q)] if isinstance(found, list) else []

    def fill(self, menu: QMenu) -> None:
        """Fill the menu."""
        menu.clear()
        for question in self.kept:
            menu.addAction(question["words"].replace("&", "&&")).triggered.connect(
                lambda _=False, q=question: self.ask(q)
            )
        if not self.kept:
            menu.addAction("nothing yet").setEnabled(False)

    def ask(self, question: dict[str, Any]) -> None:
        """Ask a question again."""
        workspace = self._hub.workspace
        workspace.set_target(_expression(question["A"]))
        workspace.set_contrast(_expression(question["B"]))
        workspace.change_pane(workspace.state.active, shows=shows_from_text(question["reading"]))


def _expression(terms: list[list[str]]) -> Expression:
    from calm_gui.session.persistence import expression_from_json

    return expression_from_json({"terms": terms})


def _is_question(value: Any) -> bool:
    """Whether something that a settings file holds is a question."""
    try:
        _expression(value["A"])
        _expression(value["B"])
        shows_from_text(value["reading"])
    except Exception:  # whatever a damaged file holds is no question
        return False
    return isinstance(value["words"], str)
