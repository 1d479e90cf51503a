"""The stripe at one edge of the window: a button for each dock of that side, read from top to bottom."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolBar, QToolButton, QWidget

from calm_gui.qt.docks import DOCKS, Area
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.measure import scaled
from calm_gui.qt.window.dock_places import DockPlaces

__all__ = ["DockButton", "SideStripe"]


class DockButton(QToolButton):
    """Opens or folds one dock; with Ctrl the others of its area stay.

    Parameters
    ----------
    places : DockPlaces
    key : str
        Of the dock.
    turn : int
        Degrees by which the text is turned: 0, 90 or -90.
    """

    def __init__(self, places: DockPlaces, key: str, turn: int = 0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._places, self._key, self._turn = places, key, turn
        self._count: int | None = None
        self.setCheckable(True)
        self.setObjectName("dockButton")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(f"Dock {DOCKS[key].title}")
        self.show_count(None)
        self.setToolTip(f"{DOCKS[key].tip}. Ctrl+click keeps the others open")
        self.clicked.connect(lambda: self._press(False))
        places.changed.connect(self.follow)

    @property
    def key(self) -> str:
        """Of the dock."""
        return self._key

    def show_count(self, count: int | None) -> None:
        """Show how much is in the dock."""
        self._count = count
        text = DOCKS[self._key].title + (f" {count}" if count else "")
        if text != self.text():
            self.setText(text)
            self.updateGeometry()

    def follow(self) -> None:
        """Look pressed while the dock is open."""
        self.setChecked(self._places.is_open(self._key))

    def _press(self, keep: bool) -> None:
        self._places.toggle(self._key, keep)
        self.follow()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and self.rect().contains(event.position().toPoint()):
            self.setDown(False)
            self._press(keep=True)
            event.accept()
            return
        super().mouseReleaseEvent(event)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        along, across = metrics.horizontalAdvance(self.text()) + 20, max(scaled(self, 22), metrics.height() + 6)
        return QSize(across, along) if self._turn else QSize(along, across)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isChecked() or self.underMouse() or self.hasFocus():
            painter.setPen(QColor(theme.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.bar if self.isChecked() else theme.hover))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -2, -2), 4, 4)
        painter.setPen(QColor(theme.text if self.isChecked() else theme.muted))
        area = self.rect()
        if self._turn:
            painter.translate(area.center().x() + 0.5, area.center().y() + 0.5)
            painter.rotate(self._turn)
            area = area.transposed().translated(-area.transposed().center())
        painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), self.text())


class SideStripe(QToolBar):
    """The buttons of one side, always in sight."""

    def __init__(self, places: DockPlaces, area: Area, parent: QWidget | None = None) -> None:
        super().__init__(f"Docks on the {area}", parent)
        self.setObjectName(f"stripe {area}")
        self.setMovable(False)
        self.setFloatable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setOrientation(Qt.Orientation.Vertical)
        self.buttons = [DockButton(places, key, -90 if area == "left" else 90) for key in places.keys_in((area,))]
        for button in self.buttons:
            self.addWidget(button)
        self.fit_text()

    def fit_text(self) -> None:
        """Take the width that the letters ask for."""
        self.setFixedWidth(max(scaled(self, 28), self.fontMetrics().height() + 12))
