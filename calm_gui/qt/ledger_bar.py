"""The ledger: the active reading in a sentence, and whether its sum is right."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from calm_gui.core.maps import Map
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.session.ledger import HINT, sentence
from calm_gui.session.scene import Scene

__all__ = ["LedgerBar"]

_MARGIN = 10


class LedgerBar(QFrame):
    """Sentence on the left, sum check on the right; painted here, so that a click lays nothing out anew.

    Attributes
    ----------
    sentence, check : str
        The texts that are shown.
    passed : bool
        Whether the sum check passed, where there is one.
    """

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.sentence = ""
        self.check = ""
        self.passed = True
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)

    def sizeHint(self) -> QSize:
        return QSize(300, 2 * self.fontMetrics().height() + 12)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's sentence and check."""
        shown = scene.active.shown
        check = shown.check if isinstance(shown, Map) else None
        words, mark = sentence(scene), ""
        if check is not None:
            mark = f"✓ sum {check.total:.4g}, error {check.error:.0e}"
            if not check.passed:
                mark = f"✗ sum {check.total:.4g} instead of {check.expected:.4g}"
        if (words, mark) == (self.sentence, self.check):
            return
        self.sentence, self.check = words, mark
        self.passed = check is None or check.passed
        self.setAccessibleName(f"{words} {mark}")
        self.setToolTip(
            f"{words}\n\n{HINT}\n\nThe sum check holds the map's float32 sum against p computed anew from the raw "
            "branches in float64; a relative error above 1e-4 is marked."
        )
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        theme = current_theme()
        painter = QPainter(self)
        area = self.rect().adjusted(_MARGIN, 2, -_MARGIN, -2)
        painter.setPen(QColor(theme.good if self.passed else theme.bad))
        painter.drawText(area, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), self.check)
        room = self.fontMetrics().horizontalAdvance(self.check) + 16 if self.check else 0
        words = QRect(area.left(), area.top(), area.width() - room, area.height())
        painter.setPen(QColor(theme.text))
        flags = int(Qt.AlignmentFlag.AlignVCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.drawText(words, flags, self._fitting(words, flags))

    def _fitting(self, area: QRect, flags: int) -> str:
        """The sentence, or as many of its words as there is room for; the tool tip has all."""
        words = self.sentence.split(" ")
        text = self.sentence
        while len(words) > 1 and self.fontMetrics().boundingRect(area, flags, text).height() > area.height():
            words.pop()
            text = " ".join(words) + " …"
        return text
