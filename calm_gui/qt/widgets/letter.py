"""The letters A and B as everyone sees them: white on red, white on blue."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QPainter

from calm_gui.qt.theme import current_theme

__all__ = ["draw_letter", "letter_colour"]


def letter_colour(letter: str) -> QColor:
    """The colour of A or B."""
    return QColor(current_theme().target if letter == "A" else current_theme().contrast)


def draw_letter(painter: QPainter, area: QRect, letter: str, filled: bool = True) -> None:
    """Draw a letter in its square; hollow where it only offers itself."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    colour = letter_colour(letter)
    painter.setPen(colour)
    painter.setBrush(colour if filled else QColor(current_theme().field))
    painter.drawRoundedRect(area.adjusted(0, 0, -1, -1), 3, 3)
    font = QFont(painter.font())
    font.setBold(True)
    font.setPixelSize(max(8, round(area.height() * 0.7)))
    painter.setFont(font)
    painter.setPen(QColor("#ffffff") if filled else colour)
    painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), letter)
    painter.restore()
