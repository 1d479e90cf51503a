"""The line around the cells that reach the threshold, and boxes around their parts."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map
from calm_gui.core.threshold import component_boxes, threshold_level
from calm_gui.late import np
from calm_gui.qt.panes.marks import draw_boxes
from calm_gui.qt.panes.picture_canvas import PictureCanvas
from calm_gui.render.contour import cell_outline, contour_lines
from calm_gui.render.mark_colours import FOUND
from calm_gui.session.marked_cells import chosen_cells
from calm_gui.session.state import View

__all__ = ["ThresholdMark"]


class ThresholdMark:
    """Draws what a view's threshold chooses of a map; found anew only where map, view or place have changed.

    Parameters
    ----------
    canvas : PictureCanvas
    """

    def __init__(self, canvas: PictureCanvas) -> None:
        self._canvas = canvas
        self._reached_key: object = None
        self._contour = QPainterPath()
        self._boxes: tuple[Box, ...] = ()

    def draw(self, painter: QPainter, shown: Map, view: View) -> None:
        """Draw the line around what the threshold chooses, and boxes around its parts, as the view asks."""
        if view.threshold.kind == "none":
            return
        contour, boxes = self._reached(shown, view)
        if view.contour:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for colour, width in (("#000000", 3.0), ("#ffffff", 1.4)):
                painter.setPen(QPen(QColor(colour), width))
                painter.drawPath(contour)
        if view.boxes:
            draw_boxes(painter, self._canvas, boxes, QColor(FOUND), dashed=True)

    def _reached(self, shown: Map, view: View) -> tuple[QPainterPath, tuple[Box, ...]]:
        """The line around the cells that reach the threshold, on this widget, and boxes around their parts."""
        key = (shown, view.threshold, view.native, view.boxes, self._canvas.picture_rect().getRect())
        if key != self._reached_key:
            self._reached_key = key
            level, cells, path = (
                threshold_level(shown.values, view.threshold.kind, view.threshold.value),
                chosen_cells(shown, view.threshold),
                QPainterPath(),
            )
            boxes: tuple[Box, ...] = ()
            if level is not None and cells is not None:
                values = np.abs(shown.values) if shown.signed else shown.values
                outline = cell_outline(cells, shown.geometry) if view.native else None
                for line in contour_lines(values, level, shown.geometry) if outline is None else outline:
                    path.addPolygon(
                        QPolygonF([QPointF(*point) for point in self._canvas.many_from_picture(line).tolist()])
                    )
                boxes = tuple(component_boxes(cells, shown.geometry)) if view.boxes else ()
            self._contour, self._boxes = path, boxes
        return self._contour, self._boxes
