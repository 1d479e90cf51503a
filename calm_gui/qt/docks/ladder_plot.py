"""Spread and probability against the steps of the ladder."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.qt.theme import current_theme
from calm_gui.session.scene import StripStep

__all__ = ["LadderPlot"]


class LadderPlot(QWidget):
    """Two lines: the group's p, and the share of the picture that holds 90 % of its map."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._steps: tuple[StripStep, ...] = ()
        self.setAccessibleName("p and spread against the steps of the ladder")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(96)

    def sizeHint(self) -> QSize:
        return QSize(400, 96)

    def show_steps(self, steps: tuple[StripStep, ...]) -> None:
        """Plot other steps."""
        self._steps = steps
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if len(self._steps) < 2:
            return
        metrics = painter.fontMetrics()
        area = QRectF(34, 6, self.width() - 90, self.height() - 12 - metrics.height())
        painter.setPen(QColor(theme.border))
        for share in (0.0, 0.5, 1.0):
            y = area.bottom() - share * area.height()
            painter.setPen(QColor(theme.border))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(theme.muted))
            painter.drawText(
                QRectF(0, y - 8, 30, 16), int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), f"{share:g}"
            )
        step = area.width() / (len(self._steps) - 1)
        for values, colour, name, row in (
            ([s.probability for s in self._steps], theme.accent, "p", 0),
            ([s.area for s in self._steps], theme.muted, "spread", 1),
        ):
            points = [QPointF(area.left() + i * step, area.bottom() - v * area.height()) for i, v in enumerate(values)]
            painter.setPen(QPen(QColor(colour), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolyline(QPolygonF(points))
            painter.setBrush(QColor(colour))
            for point, each in zip(points, self._steps, strict=True):
                radius = 4.0 if each.chosen else 2.2
                painter.drawEllipse(point, radius, radius)
            painter.drawText(QPointF(area.right() + 8, area.top() + 12 + row * metrics.height()), name)
        painter.setPen(QColor(theme.muted))
        for i in (0, len(self._steps) - 1):
            align = Qt.AlignmentFlag.AlignLeft if i == 0 else Qt.AlignmentFlag.AlignRight
            painter.drawText(
                QRectF(area.left(), area.bottom() + 2, area.width(), metrics.height()),
                int(align),
                self._steps[i].node.name,
            )
