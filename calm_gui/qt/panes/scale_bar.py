"""A live scale: which colour means which number, with limits that are dragged, typed, kept and taken back."""

from dataclasses import replace
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.qt.panes.limit_field import LimitField
from calm_gui.qt.panes.scale_painter import Ruler, paint_arrows, paint_ruler
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.icon_button import IconButton
from calm_gui.qt.widgets.measure import scaled
from calm_gui.render.notation import Notation
from calm_gui.render.ranks import RANK_UNIT
from calm_gui.render.scale import Scale
from calm_gui.render.units import Unit
from calm_gui.session.limits import Limits

__all__ = ["ScaleBar", "Shown"]

_LIMITS_ONLY_BELOW = 160
_BAR = 16
_STEP = 0.02
"""Of the range: what Up and Down change a limit by."""


class Shown(NamedTuple):
    """What a bar shows.

    Attributes
    ----------
    title : str
        Of the quantity.
    quantity : str
    scale : Scale
        That the panes are coloured by.
    fitted : Scale
        That fits the maps.
    limits : Limits or None
        Those that were set.
    table : str
        Colour map.
    units : tuple of Unit
        That the maps can have.
    """

    title: str
    quantity: str
    scale: Scale
    fitted: Scale
    limits: Limits | None
    table: str
    units: tuple[Unit, ...] = ()


class ScaleBar(QWidget):
    """A vertical bar with two handles and two fields.

    Signals
    -------
    limits_wanted : float, float, bool
        Low and high; whether the change is finished, so that undo comes back to it.
    fit_wanted
        The bar was double-clicked, or its reset pressed.
    lock_wanted : bool
        The limits shall be kept for all pictures, or not.
    menu_wanted : QPoint
        The context menu, at a global position.
    """

    limits_wanted = Signal(float, float, bool)
    fit_wanted = Signal()
    lock_wanted = Signal(bool)
    menu_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown: Shown | None = None
        self.notation = Notation(1.0, 0, 2)
        self._mark: float | None = None
        self._axis: tuple[float, float] | None = None
        self._dragged = 0
        small = self.font()
        small.setPointSizeF(max(7.0, small.pointSizeF() - 1.5))
        self._small = small
        self.high = LimitField("Upper limit", self)
        self.low = LimitField("Lower limit", self)
        for field, end in ((self.high, 1), (self.low, -1)):
            field.setFont(small)
            field.typed.connect(lambda text, e=end: self._type(e, text))
            field.stepped.connect(lambda by, e=end: self._step(e, by))
        self.lock = IconButton("unlock", "Keep these limits for all pictures", checkable=True, parent=self)
        self.lock.clicked.connect(self.lock_wanted)
        self.reset = IconButton("reset", "Fit the limits to the maps", parent=self)
        self.reset.clicked.connect(self.fit_wanted)
        for button in (self.lock, self.reset):
            button.setFixedSize(20, 20)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def sizeHint(self) -> QSize:
        return QSize(scaled(self, 92), 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, 84)

    # Show

    def show_scale(self, shown: Shown) -> None:
        """Show another scale, or the same with other limits."""
        if shown == self.shown:
            return
        self.shown = shown
        had_factor = bool(self.notation.factor)
        if self._axis is None:
            self.notation = Notation.of(shown.scale)
        if bool(self.notation.factor) != had_factor:
            self._place()  # the fields stand below the factor
        scale = shown.scale
        self.high.show_text(self.notation.text(scale.high))
        self.low.show_text(self.notation.text(scale.low))
        kept = shown.limits is not None and shown.limits.kept
        words = "Kept for all pictures; click to release them" if kept else "Keep these limits for all pictures"
        self.lock.show_icon("lock" if kept else "unlock", words)
        self.lock.setChecked(kept)
        self.reset.setVisible(shown.limits is not None)
        self.lock.setVisible(scale.unit != RANK_UNIT)
        for field in (self.high, self.low):
            field.setReadOnly(self.lock.isHidden())
        whole = f"{self.notation.text(scale.low)} to {self.notation.whole(scale.high)}"
        self.setAccessibleName(f"{shown.title}: {whole}, {self.foot}")
        beyond = [word for word, on in (("above", self.beyond[1]), ("below", self.beyond[0])) if on]
        tip = f"{shown.title}, {scale.unit}: {whole}, {self.foot}"
        if beyond:
            tip += f"\nThe arrow: some cells lie {' and '.join(beyond)} these limits and have the colour of that end"
        tip += "\nDrag or type the limits, double-click to fit them, right-click for more"
        if tip != self.toolTip():
            self.setToolTip(tip)
        self.update()

    @property
    def foot(self) -> str:
        """What stands below the bar."""
        assert self.shown is not None
        limits, scale = self.shown.limits, self.shown.scale
        if limits is not None and limits.percent:
            return f"{limits.percent:g} % of cells"
        return "logarithmic" if scale.spacing == "log" else "linear"

    @property
    def beyond(self) -> tuple[bool, bool]:
        """Whether values of the maps lie below and above the scale."""
        assert self.shown is not None
        scale, fitted = self.shown.scale, self.shown.fitted
        slack = 1e-6 * (fitted.high - fitted.low)
        below = fitted.low < scale.low - slack and not (scale.spacing == "log" and self.shown.limits is None)
        return below, fitted.high > scale.high + slack

    def set_mark(self, value: float | None) -> None:
        """Point at a value."""
        if value != self._mark:
            self._mark = value
            self.update(0, 0, _BAR + 16, self.height())

    # Where things are

    def _bar(self) -> QRectF:
        line = self.fontMetrics().height()
        field = self.high.height()
        top = line + 9 + self._factor_height() + field / 2
        bottom = self.height() - line - 8 - field / 2
        return QRectF(12, top, _BAR, max(2.0, bottom - top))

    def _factor_height(self) -> int:
        return self.fontMetrics().height() if self.notation.factor else 2

    @property
    def limits_only(self) -> bool:
        """Whether there is no room for the bar itself."""
        return self.height() < scaled(self, _LIMITS_ONLY_BELOW)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    def fit_text(self) -> None:
        """Take the sizes that the letters ask for."""
        small = self.font()
        small.setPointSizeF(max(7.0, small.pointSizeF() - 1.5))
        for field in (self.high, self.low):
            field.setFont(small)
        self.setFixedWidth(scaled(self, 92))
        self._place()

    def _place(self) -> None:
        height = self.high.fontMetrics().height() + 6
        left = 12 + _BAR + 9
        width = max(20, self.width() - left - 4)
        for field in (self.high, self.low):
            field.setFixedSize(width, height)
        bar = self._bar()
        if self.limits_only:
            line = self.fontMetrics().height()
            self.high.move(left, line + 8 + self._factor_height())
            self.low.move(left, self.high.y() + height + 2)
        else:
            self.high.move(left, round(bar.top() - height / 2))
            self.low.move(left, round(bar.bottom() - height / 2))
        for field in (self.high, self.low):  # a bar of a few lines has no room for both
            field.setVisible(not self.limits_only or field.geometry().bottom() < self.height())
        self.lock.move(self.width() - 22, 1)
        self.reset.move(self.width() - 22, self.height() - self.fontMetrics().height() - 6)

    def _range(self) -> tuple[float, float]:
        assert self.shown is not None
        return self._axis or (self.shown.scale.low, self.shown.scale.high)

    def _axis_scale(self) -> Scale:
        assert self.shown is not None
        low, high = self._range()
        return replace(self.shown.scale, low=low, high=high)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.window))
        if self.shown is None:
            return
        line = self.fontMetrics().height()
        painter.setPen(QColor(theme.text))
        title = QRect(8, 3, self.width() - 32, line)
        elide = Qt.TextElideMode.ElideRight
        painter.drawText(title, painter.fontMetrics().elidedText(self.shown.title, elide, title.width()))
        painter.setFont(self._small)
        painter.setPen(QColor(theme.muted))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(QRect(0, line + 8, self.width() - 8, line), right, self.notation.factor)
        foot = QRect(8, self.height() - line - 3, self.width() - (32 if self.shown.limits else 12), line)
        painter.drawText(foot, painter.fontMetrics().elidedText(self.foot, elide, foot.width()))
        if self.limits_only:
            fields = QRectF(12, self.high.y(), _BAR, self.high.height() * 2 + 2)
            paint_arrows(painter, fields, self.shown.table, self.beyond)
            return
        free = self.high.height() / 2 + 1
        ruler = Ruler(
            self._bar(),
            self._axis_scale(),
            self.shown.scale,
            self.shown.table,
            self.notation,
            free,
            self.width() - 8,
        )
        paint_ruler(painter, ruler, self.beyond, self._mark)

    # Limits

    def _ask(self, low: float, high: float, finished: bool) -> None:
        assert self.shown is not None
        if high > low:
            self.limits_wanted.emit(low, high, finished)

    def _change(self, end: int, value: float, finished: bool = True) -> None:
        """Let the upper (1) or lower (-1) limit be a value; differences stay symmetric."""
        assert self.shown is not None
        scale = self.shown.scale
        if self.shown.fitted.low < 0:
            reach = abs(value)
            self._ask(-reach, reach, finished)
        elif end > 0:
            self._ask(scale.low, value, finished)
        else:
            self._ask(value, scale.high, finished)

    def _type(self, end: int, text: str) -> None:
        value = self.notation.value(text)
        if value is None or self.shown is None:
            (self.high if end > 0 else self.low).take_back()
            return
        self._change(end, value)
        self.high.take_back()
        self.low.take_back()

    def type_limits(self) -> None:
        """Bring the keyboard to the upper limit."""
        self.high.setFocus()
        self.high.selectAll()

    def _step(self, end: int, by: int) -> None:
        assert self.shown is not None
        scale = self.shown.scale
        value = scale.high if end > 0 else scale.low
        if scale.spacing == "log":
            self._change(end, value * 10 ** (_STEP * by * 2))
        else:
            self._change(end, value + by * _STEP * (scale.high - scale.low) * (1 if end > 0 or scale.low >= 0 else -1))

    # Mouse

    def _end_at(self, position: QPointF) -> int:
        """Which handle is under the mouse: the upper (1), the lower (-1) or none (0)."""
        if self.shown is None or self.limits_only or self.lock.isHidden():
            return 0
        bar, axis = self._bar(), self._axis_scale()
        if position.x() > bar.right() + 8:
            return 0
        for end, value in ((1, self.shown.scale.high), (-1, self.shown.scale.low)):
            if abs(position.y() - (bar.bottom() - axis.position(value) * bar.height())) <= 7:
                return end
        return 0

    def mousePressEvent(self, event: QMouseEvent) -> None:
        end = self._end_at(event.position()) if event.button() == Qt.MouseButton.LeftButton else 0
        if end and self.shown is not None:
            self._dragged = end
            low = min(self.shown.scale.low, self.shown.fitted.low)
            self._axis = (low, max(self.shown.scale.high, self.shown.fitted.high))
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not self._dragged:
            over = self._end_at(event.position())
            self.setCursor(Qt.CursorShape.SizeVerCursor if over else Qt.CursorShape.ArrowCursor)
            return
        self._drag_to(event.position().y(), finished=False)

    def _drag_to(self, y: float, finished: bool) -> None:
        assert self.shown is not None
        bar, axis, scale = self._bar(), self._axis_scale(), self.shown.scale
        value = axis.value_at(min(1.0, max(0.0, (bar.bottom() - y) / bar.height())))
        least = (axis.high - axis.low) * 0.01
        if self.shown.fitted.low < 0:
            value = max(abs(value), least)
        elif self._dragged > 0:
            value = max(value, scale.low + least if axis.spacing == "linear" else scale.low * 1.1)
        else:
            value = min(value, scale.high - least if axis.spacing == "linear" else scale.high / 1.1)
        self._change(self._dragged, value, finished)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._dragged and self.shown is not None:
            self._dragged, self._axis = 0, None
            self._ask(self.shown.scale.low, self.shown.scale.high, True)
            self.notation = Notation.of(self.shown.scale)
            self.high.show_text(self.notation.text(self.shown.scale.high))
            self.low.show_text(self.notation.text(self.shown.scale.low))
            self._place()
            self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.fit_wanted.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())
