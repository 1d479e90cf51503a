"""The colour bar: which colour means which number, in which unit."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.qt.theme import current_theme
from calm_gui.render.colormap import colour_table, premultiplied_table
from calm_gui.render.scale import Scale

__all__ = ["ColourBar"]

_GAP = 5
"""Pixels from the bar to its numbers."""


class ColourBar(QWidget):
    """A vertical colour bar with ticks, and a mark at the value under the cursor."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scale: Scale | None = None
        self._table = ""
        self._mark: float | None = None
        self._ramp_of: tuple[str, QSize] = ("", QSize())
        self._colours = QImage()
        font = self.font()
        font.setPointSizeF(max(7.0, font.pointSizeF() - 1.5))
        self.setFont(font)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance("-8.8e-88") + 26, 100)

    def show_scale(self, scale: Scale | None, table: str) -> None:
        """Show a scale in a colour map; None hides the bar."""
        if (scale, table) == (self._scale, self._table):
            return
        self._scale, self._table = scale, table
        self.setVisible(scale is not None)
        if scale is not None:
            text = f"colours from {scale.text(scale.low)} to {scale.text(scale.high)} {scale.unit}, {scale.spacing}"
            self.setAccessibleName(text)
            self.setToolTip(text)
        self.update()

    def set_mark(self, value: float | None) -> None:
        """Mark a value."""
        if value != self._mark:
            self._mark = value
            self.update()

    def _ramp(self, size: QSize) -> QImage:
        """The colours from high to low, of a size in device pixels; kept, since all else changes more often."""
        if (self._table, size) != self._ramp_of:
            self._ramp_of = self._table, size
            words = premultiplied_table(self._table, 1.0)[::-1].copy()
            colours = QImage(words.data, 1, 256, 4, QImage.Format.Format_RGB32)
            self._colours = colours.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio)
            self._colours.setDevicePixelRatio(self.devicePixelRatioF())
        return self._colours

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, scale = current_theme(), self._scale
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.panel))
        if scale is None:
            return
        metrics = painter.fontMetrics()
        margin = metrics.height() / 2 + 2
        caption = metrics.height() + 2
        bar = QRectF(2, margin, 11, max(10.0, self.height() - 2 * margin - caption))
        if scale.high > scale.low:
            painter.drawImage(bar.topLeft(), self._ramp(bar.size().toSize() * self.devicePixelRatioF()))
        else:
            painter.fillRect(bar, QColor(*colour_table(self._table)[0].tolist()))
        painter.setPen(QColor(theme.border))
        painter.drawRect(bar)
        most = max(2, int(bar.height() / (metrics.height() * 1.8)))
        for position, text in scale.ticks(min(5, most)):
            if metrics.horizontalAdvance(text) > self.width() - bar.right() - _GAP:
                continue  # cut it would be another number
            y = bar.bottom() - position * bar.height()
            painter.setPen(QColor(theme.muted))
            painter.drawLine(int(bar.right()), int(y), int(bar.right()) + 3, int(y))
            painter.setPen(QColor(theme.text))
            area = QRectF(bar.right() + _GAP, y - metrics.height() / 2, self.width(), metrics.height())
            painter.drawText(area, int(Qt.AlignmentFlag.AlignVCenter), text)
        painter.setPen(QColor(theme.muted))
        words = "log10" if scale.spacing == "log" else "linear"
        if metrics.horizontalAdvance(words) <= self.width():
            painter.drawText(QRectF(0, self.height() - caption, self.width(), caption), words)
        if self._mark is not None:
            y = bar.bottom() - scale.position(self._mark) * bar.height()
            painter.setPen(QColor(theme.accent))
            painter.drawLine(int(bar.left()) - 2, int(y), int(bar.right()) + 3, int(y))
