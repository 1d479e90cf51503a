"""Changing a region that is drawn: by its handles, or as a whole; pixels of the picture throughout."""

from typing import Literal

from calm_gui.session.state import RegionShape

__all__ = ["Grip", "grip_at", "handles", "moved"]

Grip = int | Literal["inside"]
"""A handle's number, or the region as a whole."""

Point = tuple[float, float]


def handles(shape: RegionShape) -> tuple[Point, ...]:
    """Where a region can be taken: eight places of a box, clockwise from its first corner, or a polygon's corners.

    A brush's way has none: it is moved as a whole.
    """
    if shape.kind == "box":
        (x0, y0), (x1, y1) = shape.points
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        return ((x0, y0), (x, y0), (x1, y0), (x1, y), (x1, y1), (x, y1), (x0, y1), (x0, y))
    return shape.points if shape.kind == "polygon" and len(shape.points) <= _MOST_CORNERS else ()


_MOST_CORNERS = 24
"""A lasso has more corners than could be told apart; it is moved as a whole."""


def grip_at(shape: RegionShape, point: Point, reach: float) -> Grip | None:
    """What of a region lies under a point: the nearest handle within `reach` pixels, its inside, or nothing."""
    near = [(max(abs(x - point[0]), abs(y - point[1])), i) for i, (x, y) in enumerate(handles(shape))]
    nearest = min(near, default=(reach + 1, 0))
    if nearest[0] <= reach:
        return nearest[1]
    return "inside" if _holds(shape, point) else None


def _holds(shape: RegionShape, point: Point) -> bool:
    x, y = point
    if shape.kind == "box":
        (x0, y0), (x1, y1) = shape.points
        return min(x0, x1) <= x <= max(x0, x1) and min(y0, y1) <= y <= max(y0, y1)
    if shape.kind == "brush":
        ways = zip((shape.points[0], *shape.points), shape.points, strict=False)
        return any(_distance(point, a, b) <= shape.radius for a, b in ways)
    inside = False
    for (ax, ay), (bx, by) in zip(shape.points, (*shape.points[1:], shape.points[0]), strict=True):
        if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
            inside = not inside
    return inside


def _distance(point: Point, a: Point, b: Point) -> float:
    """From a point to the line between two others."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = dx * dx + dy * dy
    share = 0.0 if not length else ((point[0] - a[0]) * dx + (point[1] - a[1]) * dy) / length
    share = min(1.0, max(0.0, share))
    return float(((point[0] - a[0] - share * dx) ** 2 + (point[1] - a[1] - share * dy) ** 2) ** 0.5)


def moved(shape: RegionShape, grip: Grip, start: Point, to: Point, size: tuple[int, int]) -> RegionShape:
    """A region after what was taken at `start` was dragged to a place.

    Parameters
    ----------
    shape : RegionShape
        As it was when it was taken.
    grip : int or "inside"
    start, to : (float, float)
    size : (int, int)
        Width and height of the picture, out of which no point is moved.
    """
    dx, dy = to[0] - start[0], to[1] - start[1]
    if grip == "inside":
        xs, ys = zip(*shape.points, strict=True)
        dx = min(max(dx, -min(xs)), size[0] - max(xs))
        dy = min(max(dy, -min(ys)), size[1] - max(ys))
        return shape._replace(points=tuple((x + dx, y + dy) for x, y in shape.points))
    if shape.kind != "box":
        points = list(shape.points)
        points[int(grip)] = _inside((points[int(grip)][0] + dx, points[int(grip)][1] + dy), size)
        return shape._replace(points=tuple(points))
    (x0, y0), (x1, y1) = shape.points
    if grip in (0, 6, 7):
        x0 += dx
    if grip in (2, 3, 4):
        x1 += dx
    if grip in (0, 1, 2):
        y0 += dy
    if grip in (4, 5, 6):
        y1 += dy
    return shape._replace(points=(_inside((x0, y0), size), _inside((x1, y1), size)))


def _inside(point: Point, size: tuple[int, int]) -> Point:
    return min(max(point[0], 0.0), float(size[0])), min(max(point[1], 0.0), float(size[1]))
