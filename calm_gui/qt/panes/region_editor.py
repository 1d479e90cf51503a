"""Regions on a pane can be taken: by a handle, inside to move them, or by Return; arrows move, Delete removes."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPen

from calm_gui.qt.panes.picture_canvas import PictureCanvas
from calm_gui.qt.theme import current_theme
from calm_gui.session.region_edit import Grip, grip_at, handles, moved
from calm_gui.session.state import RegionShape
from calm_gui.session.workspace import Workspace

__all__ = ["RegionEditor"]

_SIDE = 8
"""Of a handle, in pixels; it can be taken from as far away again."""

_STILL = 4
_LOWER_RIGHT = 4
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
_MOVES = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
_SHAPES = {0: "SizeFDiagCursor", 4: "SizeFDiagCursor", 2: "SizeBDiagCursor", 6: "SizeBDiagCursor"}


class RegionEditor(QObject):
    """Sees a canvas's mouse and keys before it does, where no tool draws.

    Parameters
    ----------
    canvas : PictureCanvas
    workspace : Workspace

    Attributes
    ----------
    chosen : RegionShape or None
        The region whose handles are drawn.
    """

    def __init__(self, canvas: PictureCanvas, workspace: Workspace) -> None:
        super().__init__(canvas)
        self._canvas, self._workspace = canvas, workspace
        self.chosen: RegionShape | None = None
        self._taken: tuple[RegionShape, Grip, tuple[float, float], QPointF] | None = None
        self._preview: RegionShape | None = None
        canvas.installEventFilter(self)

    def shown(self, regions: tuple[RegionShape, ...]) -> tuple[RegionShape, ...]:
        """Regions as they are drawn: the one that is being dragged stands where it would be left."""
        if self.chosen is not None and self.chosen not in regions:
            self.chosen = self._taken = self._preview = None
        if self._preview is None or self._taken is None:
            return regions
        return tuple(self._preview if shape == self._taken[0] else shape for shape in regions)

    def draw(self, painter: QPainter) -> None:
        """Draw the handles."""
        shape = self._preview or self.chosen
        if shape is None:
            return
        painter.setPen(QPen(QColor(0, 0, 0, 200), 1))
        painter.setBrush(QColor("#ffffff"))
        places = handles(shape) or shape.points[:1]
        for point in places:
            at = self._canvas.from_picture(*point)
            painter.drawRect(QRectF(at.x() - _SIDE / 2, at.y() - _SIDE / 2, _SIDE, _SIDE))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(current_theme().accent), 1))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride) and isinstance(event, QKeyEvent):
            return self._key(event, kind == QEvent.Type.KeyPress)
        if not isinstance(event, QMouseEvent) or self._canvas.tool != "pan":
            return False
        if kind == QEvent.Type.MouseButtonPress and event.button() == Qt.MouseButton.LeftButton:
            return self._press(event)
        if kind == QEvent.Type.MouseMove:
            return self._move(event)
        if kind == QEvent.Type.MouseButtonRelease and self._taken is not None:
            return self._release(event)
        return False

    def _under(self, position: QPointF) -> tuple[RegionShape, Grip] | None:
        """The region and its part under a point of the canvas: the chosen one first, then the last drawn."""
        point = self._canvas.to_picture(position)
        if point is None:
            return None
        regions = self._canvas.regions
        width = self._canvas.picture_rect().width()
        size = self._canvas.picture_size
        reach = _SIDE * size[0] / width if size and width else 0.0
        if self.chosen in regions and self.chosen is not None:
            grip = grip_at(self.chosen, point, reach)
            if grip is not None:
                return self.chosen, grip
        for shape in reversed(regions):
            if grip_at(shape, point, 0.0) is not None:
                return shape, "inside"
        return None

    def _press(self, event: QMouseEvent) -> bool:
        found = self._under(event.position())
        point = self._canvas.to_picture(event.position())
        if found is None or point is None:
            if self.chosen is not None:
                self.chosen = None
                self._canvas.update()
            return False
        fresh = found[0] != self.chosen
        self.chosen = found[0]
        self._canvas.setFocus()
        self._canvas.update()
        if fresh and self._canvas.zoomed_in:
            return False  # the first drag pans the picture, as it does elsewhere
        self._taken = (*found, point, event.position())
        return True

    def _move(self, event: QMouseEvent) -> bool:
        if self._taken is None:
            self._show_cursor(event.position())
            return False
        shape, grip, start, pressed = self._taken
        size, point = self._canvas.picture_size, self._canvas.nearest(event.position())
        far = (event.position() - pressed).manhattanLength() >= _STILL
        if size is not None and point is not None and (far or self._preview is not None):
            self._preview = moved(shape, grip, start, point, size)
            self._canvas.update()
        self._canvas.hovered.emit(self._canvas.to_picture(event.position()))
        return True

    def _release(self, event: QMouseEvent) -> bool:
        assert self._taken is not None
        (shape, _, point, _), preview = self._taken, self._preview
        self._taken = self._preview = None
        if preview is None:
            self._canvas.clicked.emit(*point)
        elif preview.holds_area:
            self.chosen = preview
            self._workspace.change_region(shape, preview)
        self._canvas.update()
        return True

    def _key(self, event: QKeyEvent, pressed: bool) -> bool:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() == Qt.KeyboardModifier.NoModifier and self._canvas.picture_size is not None:
            if pressed:
                self._take_by_key()
            event.accept()
            return True
        if self._canvas.tool != "pan" and self.chosen is None:
            return False
        if event.key() in _ARROWS and self.chosen is not None and not event.modifiers() & ~_MOVES:
            if pressed:
                self._step(event)
            event.accept()
            return True
        if event.key() == Qt.Key.Key_Escape and (self._taken or self.chosen):
            if pressed:
                if self._taken is None:
                    self.chosen = None
                self._taken = self._preview = None
                self._canvas.update()
            event.accept()
            return True
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.chosen is not None:
            if pressed:
                gone, self.chosen = self.chosen, None
                self._workspace.remove_region(gone)
            event.accept()
            return True
        return False

    def _take_by_key(self) -> None:
        """With a tool on, mark a rectangle in the middle of what is seen; else take the next region."""
        canvas = self._canvas
        if canvas.tool == "pan":
            regions = canvas.regions
            at = regions.index(self.chosen) + 1 if self.chosen in regions and self.chosen is not None else 0
            self.chosen = regions[at % len(regions)] if regions else None
        else:
            left, top, right, bottom = canvas.seen_part()
            x, y = (right - left) / 4, (bottom - top) / 4
            canvas.drawn.emit("box", ((left + x, top + y), (right - x, bottom - y)), 0.0)
            self.chosen = canvas.regions[-1] if canvas.regions else None
        canvas.update()

    def _step(self, event: QKeyEvent) -> None:
        """Move the chosen region by a hundredth of the picture, or with Shift the lower right corner of a rectangle."""
        size = self._canvas.picture_size
        if self.chosen is None or size is None:
            return
        across, down = _ARROWS[Qt.Key(event.key())]
        resized = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier) and self.chosen.kind == "box"
        grip: Grip = _LOWER_RIGHT if resized else "inside"
        to = (across * size[0] / 100, down * size[1] / 100)
        changed = moved(self.chosen, grip, (0.0, 0.0), to, size)
        if changed.holds_area:
            before, self.chosen = self.chosen, changed
            self._workspace.change_region(before, changed, undoable=not event.isAutoRepeat())

    def _show_cursor(self, position: QPointF) -> None:
        found = self._under(position)
        if found is None:
            self._canvas.unsetCursor()
        elif found[1] == "inside":
            self._canvas.setCursor(Qt.CursorShape.SizeAllCursor)
        elif found[0].kind != "box":
            self._canvas.setCursor(Qt.CursorShape.CrossCursor)
        else:
            sides = "SizeVerCursor" if found[1] in (1, 5) else "SizeHorCursor"
            self._canvas.setCursor(getattr(Qt.CursorShape, _SHAPES.get(int(found[1]), sides)))
