"""The before/after slider: a second picture over the first, right of a line that can be dragged."""

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from calm_gui.qt.panes.map_canvas import MapCanvas
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.elided_label import ElidedLabel

__all__ = ["BeforeAfter"]

_GRIP = 9
_STEP = 0.02


class _Grip(QWidget):
    """The line; it is dragged, or moved by Left and Right."""

    def __init__(self, over: "BeforeAfter", parent: QWidget) -> None:
        super().__init__(parent)
        self._over = over
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Line between the two maps")
        self.setToolTip("Drag it, or press Left or Right")

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._over.split = self.mapToParent(event.position().toPoint()).x() / self._over.whole_width

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Left: -_STEP, Qt.Key.Key_Right: _STEP}
        if event.key() in by:
            self._over.split += by[Qt.Key(event.key())]
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, middle = QPainter(self), self.width() // 2
        painter.fillRect(middle - 1, 0, 3, self.height(), QColor(0, 0, 0, 140))
        painter.fillRect(middle, 0, 1, self.height(), QColor("#ffffff"))
        painter.setBrush(QColor(current_theme().accent if self.hasFocus() else "#ffffff"))
        painter.setPen(QColor(0, 0, 0, 140))
        painter.drawEllipse(1, self.height() // 2 - 4, _GRIP - 3, _GRIP - 3)


class BeforeAfter(QWidget):
    """Lies over a canvas and clips a second one.

    Attributes
    ----------
    canvas : MapCanvas
        The second one.
    label : ElidedLabel
        What it shows, at the right of the line; what is left of it stands in the pane's header.
    """

    def __init__(self, below: MapCanvas) -> None:
        super().__init__(below)
        self._below = below
        self._split = 0.5
        self.canvas = MapCanvas(self)
        self.label = ElidedLabel()
        self.label.setParent(self)
        self.label.setObjectName("overPicture")
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.label.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)  # it paints its text itself
        self.label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._grip = _Grip(self, below)
        below.installEventFilter(self)
        self._place()

    @property
    def whole_width(self) -> int:
        """Of the canvas below."""
        return max(1, self._below.width())

    @property
    def split(self) -> float:
        """Where the line is, as a share of the width."""
        return self._split

    @split.setter
    def split(self, value: float) -> None:
        self._split = min(1.0, max(0.0, value))
        self._place()

    def name(self, text: str, shorter: str) -> None:
        """Say what the second canvas shows, or where there is less room what is different about it."""
        self.label.setText(text, *([shorter] if shorter else []))
        self._place()

    def _place(self) -> None:
        whole = self._below.rect()
        x = round(self._split * whole.width())
        self.setGeometry(QRect(x, 0, whole.width() - x, whole.height()))
        self.canvas.setGeometry(QRect(-x, 0, whole.width(), whole.height()))
        self._grip.setGeometry(QRect(x - _GRIP // 2, 0, _GRIP, whole.height()))
        metrics = self.label.fontMetrics()
        width = min(metrics.horizontalAdvance(self.label.text()) + 12, self.width() - 2 * _GRIP)
        self.label.setGeometry(_GRIP, 4, max(0, width), metrics.height() + 4)
        self._grip.raise_()

    def showEvent(self, event: object) -> None:
        self._grip.show()
        self._place()

    def hideEvent(self, event: object) -> None:
        self._grip.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the canvas below."""
        if watched is self._below and event.type() == QEvent.Type.Resize:
            self._place()
        return False
