"""The steps of the ladder: the map of each with its group, p and spread."""

from __future__ import annotations

from itertools import zip_longest

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFont, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.core.cam_explanation import CamExplanation
from calm_gui.core.geometry import Geometry, interpolate
from calm_gui.late import np
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets import numbers
from calm_gui.qt.widgets.letter import draw_letter, letter_colour
from calm_gui.render.colormap import premultiplied_table
from calm_gui.render.naming import counted, share_text, value_text
from calm_gui.render.scale import Scale, fit_scale
from calm_gui.session.scene import Scene, StripStep

__all__ = ["PICTURE", "LadderRows"]

PICTURE = 40
"""Side of a step's picture."""

_GAP = 5
_STRIP_WIDTH = 124
_CAM = "CAM's maps don't add up over groups, so there is no ladder."
_NOTHING = "Choose a class or group, and a checkpoint with a hierarchy."
_NO_PICTURE = "Open a picture to see its ladder."


class LadderRows(QWidget):
    """All steps, below one another or side by side; clicked, and walked through by keys.

    Attributes
    ----------
    steps : tuple of StripStep
        From everything down to the class.

    Signals
    -------
    chosen : str
        Key of the node of a step: it's A.
    contrasted : str
        It's B.
    menu_wanted : str, QPoint
        The context menu of a step's node, at a global position.
    """

    chosen = Signal(str)
    contrasted = Signal(str)
    menu_wanted = Signal(str, QPoint)

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Steps from all classes down to the leading one")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.steps: tuple[StripStep, ...] = ()
        self.lying = False
        self._look: object = None
        self._contrast: object = None
        self._current = 0
        self._hovered = -1
        self._empty = ""
        self._scales: list[Scale] = []
        self._table, self._opacity = "inferno", 0.6
        self._thumbnail = QImage()
        self._thumbnail_of: object = None
        self._overlays: dict[tuple[object, ...], QImage] = {}
        self._weights: tuple[np.ndarray, ...] = ()

    def show_steps(self, scene: Scene, own_scales: bool) -> None:
        """Show a scene's steps, on the root's scale or each on its own."""
        steps = scene.strip[::-1]
        view = scene.state.view
        rows, look = self._rows(), self._look
        self._contrast = scene.contrast
        if scene.explanation is None:  # with a picture it's awaited
            self._empty = "" if scene.state.picture is not None else _NO_PICTURE
        else:
            self._empty = _CAM if isinstance(scene.explanation, CamExplanation) else _NOTHING
        self._look = (view.sequential, view.opacity, view.overlay, scene.explanation, numbers.decimals(), self._empty)
        if len(steps) != len(self.steps):
            self.steps = steps
            self.updateGeometry()
        self.steps = steps
        self._current = next((i for i, step in enumerate(steps) if step.chosen), min(self._current, len(steps) - 1))
        self._table, self._opacity = view.sequential, view.opacity if view.overlay else 0.0
        explanation = scene.explanation
        if explanation is not None and explanation is not self._thumbnail_of and explanation.picture is not None:
            self._thumbnail_of = explanation
            self._overlays.clear()
            self._weights = ()
            height, width = explanation.picture.shape[:2]
            image = QImage(explanation.picture.data, width, height, 3 * width, QImage.Format.Format_RGB888)
            side = int(PICTURE * self.devicePixelRatioF())
            keep = Qt.AspectRatioMode.KeepAspectRatio
            self._thumbnail = image.scaled(side, side, keep, Qt.TransformationMode.SmoothTransformation)
        if own_scales:
            self._scales = [fit_scale(step.shown.values) for step in steps]
        else:
            self._scales = [fit_scale(step.shown.values) for step in steps[:1]] * len(steps)
        if self._look != look or not (rows and steps):
            self.update()
            return
        for position, (before, now) in enumerate(zip_longest(rows, self._rows())):
            if before != now:
                self.update(self.area(position))

    def _rows(self) -> list[tuple[object, ...]]:
        """What each row shows."""
        return [
            (step.shown, scale, step.chosen, step.suggested, step.node.classes == self._contrast, at == self._current)
            for at, (step, scale) in enumerate(zip(self.steps, self._scales, strict=True))
        ]

    # Where rows are

    @property
    def row_height(self) -> int:
        """Of a step in the ladder; 16 of them fit beside the panes."""
        return max(PICTURE + _GAP, 2 * self.fontMetrics().height() + 6)

    @property
    def current(self) -> int:
        """Position of the step that the keyboard is on: the chosen one after each choice."""
        return self._current

    def sizeHint(self) -> QSize:
        if self.lying:
            lines = 3 * self.fontMetrics().height()
            return QSize(_STRIP_WIDTH * max(1, len(self.steps)), PICTURE + lines + 8)
        return QSize(160, self.row_height * max(1, len(self.steps)))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.sizeHint().width() if self.lying else 120, self.sizeHint().height())

    def area(self, position: int) -> QRect:
        """Where a step is."""
        if self.lying:
            return QRect(position * _STRIP_WIDTH, 0, _STRIP_WIDTH, self.height())
        height = self.row_height
        return QRect(0, position * height, self.width(), height)

    def _letters(self, position: int) -> dict[str, QRect]:
        """Where the step under the mouse offers A and B."""
        side, area = self.fontMetrics().height() + 2, self.area(position)
        if self.lying:
            right, top = area.right() - 6, area.top() + 4
        else:
            right, top = area.right() - self._numbers_width() - 2, area.top() + (area.height() - side) // 2
        return {
            "A": QRect(right - 2 * side - 3, top, side, side),
            "B": QRect(right - side, top, side, side),
        }

    def _step_at(self, at: QPoint) -> int:
        position = at.x() // _STRIP_WIDTH if self.lying else at.y() // self.row_height
        return position if 0 <= position < len(self.steps) else -1

    def _numbers_width(self) -> int:
        advance = self.fontMetrics().horizontalAdvance
        return advance(numbers.widest_probability()) + advance(share_text(0.99)) + 20

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(event.rect(), QColor(theme.panel))
        if not self.steps:
            painter.setPen(QColor(theme.muted))
            flags = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
            painter.drawText(self.rect().adjusted(12, 12, -12, -12), flags, self._empty)
            return
        for position, (step, scale) in enumerate(zip(self.steps, self._scales, strict=True)):
            if event.region().intersects(self.area(position)):
                self._paint_step(painter, position, step, scale)

    def _paint_step(self, painter: QPainter, position: int, step: StripStep, scale: Scale) -> None:
        theme, area = current_theme(), self.area(position)
        is_b = step.node.classes == self._contrast
        if step.chosen or is_b:
            tint = letter_colour("A" if step.chosen else "B")
            tint.setAlpha(28 if theme.name == "light" else 70)
            painter.fillRect(area, tint)
        elif position == self._hovered:
            painter.fillRect(area, QColor(theme.hover))
        picture = QRect(area.left() + 8, area.top() + 2, PICTURE, PICTURE)
        if not self.lying:
            picture.moveTop(area.top() + (area.height() - PICTURE) // 2)
        ratio = self.devicePixelRatioF()
        size = QSize(round(self._thumbnail.width() / ratio), round(self._thumbnail.height() / ratio))
        place = QRect(
            picture.center().x() - size.width() // 2, picture.center().y() - size.height() // 2, *size.toTuple()
        )
        painter.drawImage(place, self._thumbnail)
        painter.setOpacity(self._opacity)
        painter.drawImage(place, self._overlay(step, scale))
        painter.setOpacity(1.0)
        if step.chosen or step.suggested or is_b:
            colour = letter_colour("A") if step.chosen else letter_colour("B") if is_b else QColor(theme.text)
            style = Qt.PenStyle.SolidLine if step.chosen or is_b else Qt.PenStyle.DashLine
            painter.setPen(QPen(colour, 2 if step.chosen or is_b else 1, style))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(picture.adjusted(-1, -1, 0, 0))
        self._paint_words(painter, position, step, area, picture)
        if self.hasFocus() and position == self._current:
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DotLine))
            painter.drawRect(area.adjusted(1, 0, -2, -1))

    def _paint_words(self, painter: QPainter, position: int, step: StripStep, area: QRect, picture: QRect) -> None:
        theme, metrics = current_theme(), self.fontMetrics()
        line = metrics.height()
        size = counted(len(step.node.classes), "class", "classes")
        note = f"{len(step.node.classes)} · suggested" if step.suggested else size
        p, spread = numbers.probability(step.probability), share_text(step.area)
        middle, right = int(Qt.AlignmentFlag.AlignVCenter), int(Qt.AlignmentFlag.AlignRight)
        offered = self._letters(position) if position == self._hovered else {}
        painter.setPen(QColor(theme.text))
        if self.lying:
            words = QRect(area.left() + 8, picture.bottom() + 4, area.width() - 12, line)
            painter.drawText(words.translated(0, 2 * line), middle, f"{p}   {spread}")
        else:
            words = QRect(picture.right() + 9, area.top() + (area.height() - 2 * line) // 2, 0, line)
            words.setRight(offered["A"].left() - 4 if offered else area.right() - self._numbers_width() - 4)
            place = area.adjusted(0, 0, -8, 0)
            painter.drawText(place, right | middle, spread)
            place.setRight(place.right() - metrics.horizontalAdvance(share_text(0.99)) - 8)
            painter.drawText(place, right | middle, p)
        elide = Qt.TextElideMode.ElideRight
        if step.suggested:
            font = QFont(self.font())
            font.setBold(True)
            painter.setFont(font)
        painter.drawText(words, middle, painter.fontMetrics().elidedText(step.node.name, elide, words.width()))
        painter.setFont(self.font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(words.translated(0, line), middle, metrics.elidedText(note, elide, words.width()))
        for letter, square in offered.items():
            draw_letter(painter, square, letter, filled=False)

    def _overlay(self, step: StripStep, scale: Scale) -> QImage:
        key = (step.shown, scale, self._table)
        if key not in self._overlays:
            if len(self._overlays) > 100:
                self._overlays.clear()
            if not self._weights:
                self._weights = self._interpolation(step.shown.geometry)
            height, width = self._thumbnail.height(), self._thumbnail.width()
            down, across = self._weights
            indices = scale.indices(down @ step.shown.values @ across)
            words = np.ascontiguousarray(premultiplied_table(self._table, 1.0)[indices])
            image = QImage(words.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
            self._overlays[key] = image.copy()
        return self._overlays[key]

    def _interpolation(self, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
        """Matrices (h,H) and (W,w) between which a map (H,W) is interpolated to the thumbnail's h x w pixels."""
        height, width = self._thumbnail.height(), self._thumbnail.width()
        x = (np.arange(width) + 0.5) * geometry.picture[0] / width
        y = (np.arange(height) + 0.5) * geometry.picture[1] / height
        columns, rows = geometry.to_grid(x, y)
        every_row, every_column = (np.arange(side, dtype=np.float64) + 0.5 for side in geometry.grid)
        unit_rows, unit_columns = (np.eye(side, dtype=np.float32) for side in geometry.grid)
        return interpolate(unit_rows, every_row, rows), interpolate(unit_columns, columns, every_column)

    # Mouse and keys

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        position = self._step_at(event.position().toPoint())
        if position < 0 or event.button() != Qt.MouseButton.LeftButton:
            return
        key, offered = self.steps[position].node.key, self._letters(position)
        with_control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        as_b = offered["B"].contains(event.position().toPoint()) or with_control
        (self.contrasted if as_b else self.chosen).emit(key)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        position = self._step_at(event.position().toPoint())
        if position == self._hovered:
            return
        for changed in (self._hovered, position):
            if changed >= 0:
                self.update(self.area(changed))
        self._hovered = position
        if position >= 0:
            step = self.steps[position]
            self.setToolTip(
                f"{step.node.name} · {step.node.key}\n{step.node.gloss}\n"
                f"p = {value_text(step.probability, 7)}; "
                f"90 % of its map lies on {100 * step.area:.1f} % of the picture\n"
                "Click makes it A, Ctrl+click makes it B"
            )

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        position = self._step_at(event.pos()) if by_mouse else self._current
        if 0 <= position < len(self.steps):
            place = event.globalPos() if by_mouse else self.mapToGlobal(self.area(position).center())
            self.menu_wanted.emit(self.steps[position].node.key, place)

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = -1
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {Qt.Key.Key_Up: -1, Qt.Key.Key_Left: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Right: 1}
        if event.modifiers() == Qt.KeyboardModifier.NoModifier and event.key() in moves and self.steps:
            self._current = min(max(self._current + moves[Qt.Key(event.key())], 0), len(self.steps) - 1)
            step = self.steps[self._current]
            self.setAccessibleDescription(f"{step.node.name}, p {numbers.probability(step.probability)}")
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.steps:
            as_b = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            (self.contrasted if as_b else self.chosen).emit(self.steps[self._current].node.key)
        else:
            super().keyPressEvent(event)
