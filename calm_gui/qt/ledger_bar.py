"""The ledger: the active reading in a sentence, and whether its sum is right."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from calm_gui.core.explanation import Map
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.session.ledger import HINT, sentence
from calm_gui.session.scene import Scene

__all__ = ["LedgerBar"]


class LedgerBar(QFrame):
    """Sentence on the left, sum check on the right."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.sentence = QLabel()
        self.sentence.setWordWrap(True)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.sentence.setToolTip(HINT)
        self.check = QLabel()
        self._colour = ""
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.addWidget(self.sentence, 1)
        layout.addWidget(self.check)
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's sentence and check."""
        text = sentence(scene)
        self.sentence.setText(text)
        self.sentence.setAccessibleName(text)
        shown = scene.active.shown
        check = shown.check if isinstance(shown, Map) else None
        if check is None:
            self.check.setText("")
            return
        theme = current_theme()
        mark, colour = ("✓ sum", theme.good) if check.passed else ("✗ sum is wrong:", theme.bad)
        self.check.setText(f"{mark} {check.total:.6g} = {check.expected:.6g}, error {check.error:.0e}")
        if colour != self._colour:
            self._colour = colour
            self.check.setStyleSheet(f"color: {colour};")
        self.check.setToolTip(
            "The map's float32 sum against p computed anew from the raw branches in float64; "
            "a relative error above 1e-4 is marked"
        )
