"""Connected parts of a map at every threshold, in one pass of sorted union-find (compiled by numba).

Importing this module loads numba; the metrics import it where it is first needed.

A map comes as *ranks*: pixel p is on at step k (0 <= k < steps) where rank(p) > k. Going down the steps pixels are
only ever switched on, so parts only grow and join. Each state of a part lives for a run of steps, and what is scored
is a state's box, once, for the whole run.

More than 400 lines: numba keeps compiled functions on disk, and notices a change of what they call in this file alone.
"""

# mypy: disable-error-code="misc,no-untyped-call,no-untyped-def"

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["best_iou_both_ways", "best_iou_of_largest", "best_iou_of_parts"]

_NEIGHBOURS_8 = np.array([(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)])
_NEIGHBOURS_4 = np.array([(-1, 0), (0, -1), (0, 1), (1, 0)])


def best_iou_of_parts(
    ranks: NDArray[np.int32], steps: int, boxes: NDArray[np.float64], benchmark: bool
) -> NDArray[np.float64]:
    """Best intersection over union of any part's box and any true box, at every step.

    Parameters
    ----------
    ranks : ndarray (H,W) int32
        Number of steps at which the pixel is on, 0 to `steps`.
    steps : int
        Number of thresholds, in ascending order.
    boxes : ndarray (N,4) float64
        True boxes x0 y0 x1 y1.
    benchmark : bool
        True follows the public benchmark: the outlines of holes count as parts too, the last column and row of
        a box are one too large except at the edge, and both end pixels count in the union. False takes half-open
        boxes of the parts alone.

    Returns
    -------
    ndarray (steps,) float64
    """
    order = _descending(ranks, steps)
    best = np.zeros((1, steps))
    _score_parts(ranks, order, boxes[None], np.array([benchmark]), best)
    if benchmark:
        _score_holes(ranks, order[::-1], steps, boxes, best[0])
        _score_empty(ranks, boxes, best[0])
    return best[0]


def best_iou_both_ways(
    levels: NDArray[np.int32],
    ranks: NDArray[np.int32],
    steps: tuple[int, int],
    boxes: NDArray[np.float64],
    exact_boxes: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`best_iou_of_parts` of one map for the benchmark and exactly, whose parts are found once.

    Both ranks rise with the score, so their sum does, and where it is cut at the right place it gives the parts of
    either.

    Parameters
    ----------
    levels, ranks : ndarray (H,W) int32
        Ranks for the benchmark, and for exact boxes.
    steps : (int, int)
        Of each.
    boxes, exact_boxes : ndarray (N,4) float64
        True boxes as each takes them.

    Returns
    -------
    (ndarray (steps[0],), ndarray (steps[1],)) float64
    """
    joint = levels + ranks + 1
    order = _descending(joint, sum(steps) + 1)
    best = np.zeros((2, sum(steps) + 1))
    _score_parts(joint, order, np.stack([boxes, exact_boxes]), np.array([True, False]), best)
    rising = np.ascontiguousarray(order[::-1])
    sums = joint.ravel()[rising]
    benchmark = best[0, _cuts(levels.ravel()[rising], sums, steps[0])]
    _score_holes(levels, rising, steps[0], boxes, benchmark)
    _score_empty(levels, boxes, benchmark)
    return benchmark, best[1, _cuts(ranks.ravel()[rising], sums, steps[1])]


def _cuts(ranks: NDArray[np.int32], joint: NDArray[np.int32], steps: int) -> NDArray[np.int32]:
    """The step of the joint ranks at which the same pixels are on as at each step of the ranks; both rise."""
    off = np.searchsorted(ranks, np.arange(steps), side="right")
    return np.where(off > 0, joint[off - 1], 0)


def best_iou_of_largest(
    ranks: NDArray[np.int32], steps: int, boxes: NDArray[np.float64], benchmark: bool
) -> NDArray[np.float64]:
    """Best intersection over union of the largest part's box and any true box, at every step.

    The benchmark calls the part largest whose outline encloses the largest area, as a polygon through pixel
    centres (holes filled, thin lines 0); of equal ones the one whose first pixel comes last. Otherwise it is the
    part with the most pixels; of equal ones the first.

    Parameters and returns as in `best_iou_of_parts`.
    """
    best = np.zeros(steps)
    if benchmark:
        # Filling holes at a threshold is monotone in the threshold, so the filled map is a map of ranks again,
        # its parts are the outermost outlines, and none of them has holes.
        filled = _fill_holes(ranks, steps)
        _score_largest(filled, _descending(filled, steps), boxes, True, best)
        _score_empty(ranks, boxes, best)
    else:
        _score_largest(ranks, _descending(ranks, steps), boxes, False, best)
    return best


def _descending(ranks: NDArray[np.int32], steps: int) -> NDArray[np.int32]:
    """Pixel indices by falling rank, in reading order within a rank."""
    keys = (steps - ranks.ravel()).astype(np.uint16)
    return np.argsort(keys, kind="stable").astype(np.int32)


@njit(cache=True, nogil=True)
def _find(parents, pixel):
    root = pixel
    while parents[root] != root:
        root = parents[root]
    while parents[pixel] != root:
        parents[pixel], pixel = root, parents[pixel]
    return root


@njit(cache=True, nogil=True)
def _best_iou(x0, y0, x1, y1, boxes, closed):
    """Best IoU of a box and the true boxes; `closed` is 1 where both end pixels count, else 0."""
    best = 0.0
    area = (x1 - x0 + closed) * (y1 - y0 + closed)
    for i in range(len(boxes)):
        width = min(x1, boxes[i, 2]) - max(x0, boxes[i, 0]) + closed
        height = min(y1, boxes[i, 3]) - max(y0, boxes[i, 1]) + closed
        if width > 0 and height > 0:
            true_area = (boxes[i, 2] - boxes[i, 0] + closed) * (boxes[i, 3] - boxes[i, 1] + closed)
            shared = width * height
            best = max(best, shared / (area + true_area - shared))
    return best


@njit(cache=True, nogil=True)
def _part_iou(extent, shape, boxes, benchmark):
    """Best IoU of the box around pixel columns and rows `extent` = x0, y0, x1, y1 (the last ones included)."""
    x1, y1 = extent[2] + 1, extent[3] + 1
    if benchmark:
        x1, y1 = min(x1, shape[1] - 1), min(y1, shape[0] - 1)
    return _best_iou(extent[0], extent[1], x1, y1, boxes, 1 if benchmark else 0)


@njit(cache=True, nogil=True)
def _raise_to(best, first, last, value):
    for k in range(first, last):
        best[k] = max(best[k], value)


@njit(cache=True, nogil=True)
def _score_empty(ranks, boxes, best):
    """Where nothing is on the benchmark's box is the single pixel 0 0 0 0."""
    value = _best_iou(0, 0, 0, 0, boxes, 1)
    _raise_to(best, ranks.max(), len(best), value)


@njit(cache=True, nogil=True)
def _start(extents, pixel, width):
    row, column = pixel // width, pixel % width
    extents[pixel] = (column, row, column, row)


@njit(cache=True, nogil=True)
def _join(parents, sizes, extents, a, b):
    """Join two different parts and return the root of both."""
    if sizes[a] < sizes[b]:
        a, b = b, a
    parents[b] = a
    sizes[a] += sizes[b]
    extents[a, 0] = min(extents[a, 0], extents[b, 0])
    extents[a, 1] = min(extents[a, 1], extents[b, 1])
    extents[a, 2] = max(extents[a, 2], extents[b, 2])
    extents[a, 3] = max(extents[a, 3], extents[b, 3])
    return a


@njit(cache=True, nogil=True)
def _single_parts(ranks, order, parents, extents, since, group):
    """Make each of the first pixels of `order`, all of one rank, a part of its own, and list them in `group`.

    Returns how many they are; `since` gets their rank.
    """
    width, flat = ranks.shape[1], ranks.ravel()
    rank = flat[order[0]]
    size = 0
    while size < order.size and flat[order[size]] == rank:
        row = order[size] // width
        column = order[size] - row * width
        pixel = (row + 1) * (width + 2) + column + 1
        parents[pixel] = pixel
        since[pixel] = rank
        extents[pixel] = (column, row, column, row)
        group[size] = pixel
        size += 1
    return size


@njit(cache=True, nogil=True)
def _score_parts(ranks, order, boxes, benchmark, best):
    """Parts joined over 8 neighbours, steps descending; boxes (W,N,4) and best (W,steps) of each of W ways to score.

    Pixels are numbered with a frame of one pixel around the map, which is never on, so that none lacks a neighbour.
    """
    framed = ranks.shape[1] + 2
    around = np.array([-framed - 1, -framed, -framed + 1, -1, 1, framed - 1, framed, framed + 1])
    flat = ranks.ravel()
    number = (ranks.shape[0] + 2) * framed
    parents = np.full(number, -1, np.int32)
    sizes = np.ones(number, np.int32)
    extents = np.empty((number, 4), np.int32)
    values = np.empty((number, len(best)))  # IoU of a part's present state, valid at roots
    ends = np.empty(number, np.int32)  # the state lives at steps below this
    group = np.empty(order.size, np.int32)
    position = 0
    while position < order.size and flat[order[position]] > 0:
        rank = flat[order[position]]  # pixels of this rank are on at steps below it
        size = _single_parts(ranks, order[position:], parents, extents, ends, group)
        position += size
        for i in range(size):
            pixel = group[i]
            root = _find(parents, pixel)
            for j in range(8):
                beside = pixel + around[j]
                if parents[beside] < 0 or parents[beside] == root:
                    continue
                other = _find(parents, beside)
                if other == root:
                    continue
                for part in (root, other):
                    if ends[part] > rank:  # a state of an earlier step ends here
                        for way in range(len(best)):
                            _raise_to(best[way], rank, ends[part], values[part, way])
                        ends[part] = rank
                root = _join(parents, sizes, extents, root, other)
        for i in range(size):
            pixel = group[i]
            root = _find(parents, pixel)
            if i and root == parents[group[i - 1]]:
                continue  # its box was just scored
            for way in range(len(best)):
                values[root, way] = _part_iou(extents[root], ranks.shape, boxes[way], benchmark[way])
    for pixel in range(number):
        if parents[pixel] == pixel:
            for way in range(len(best)):
                _raise_to(best[way], 0, ends[pixel], values[pixel, way])


@njit(cache=True, nogil=True)
def _score_holes(ranks, order, steps, boxes, best):
    """Outlines of holes: parts of what is off, joined over 4 neighbours, that don't reach the edge; ascending.

    Pixels are numbered as in `_score_parts`.
    """
    framed = ranks.shape[1] + 2
    around = np.array([-framed, -1, 1, framed])
    flat = ranks.ravel()
    number = (ranks.shape[0] + 2) * framed
    parents = np.full(number, -1, np.int32)
    sizes = np.ones(number, np.int32)
    extents = np.empty((number, 4), np.int32)
    values = np.empty(number)
    begins = np.empty(number, np.int32)  # the state lives from this step on
    group = np.empty(order.size, np.int32)
    position = 0
    while position < order.size and flat[order[position]] < steps:
        rank = flat[order[position]]  # pixels of this rank are off at this step and above
        size = _single_parts(ranks, order[position:], parents, extents, begins, group)
        position += size
        for i in range(size):
            pixel = group[i]
            root = _find(parents, pixel)
            for j in range(4):
                beside = pixel + around[j]
                if parents[beside] < 0 or parents[beside] == root:
                    continue
                other = _find(parents, beside)
                if other == root:
                    continue
                for part in (root, other):
                    if begins[part] < rank:
                        _raise_to(best, begins[part], rank, values[part])
                        begins[part] = rank
                root = _join(parents, sizes, extents, root, other)
        for i in range(size):
            pixel = group[i]
            root = _find(parents, pixel)
            if i and root == parents[group[i - 1]]:
                continue  # its outline was just scored
            values[root] = _hole_iou(extents[root], ranks.shape, boxes)
    for pixel in range(number):
        if parents[pixel] == pixel:
            _raise_to(best, begins[pixel], steps, values[pixel])


@njit(cache=True, nogil=True)
def _hole_iou(extent, shape, boxes):
    """Best IoU of the outline of a hole, which lies on the pixels around it; 0 where it is open to the edge."""
    x0, y0, x1, y1 = extent
    if x0 == 0 or y0 == 0 or x1 == shape[1] - 1 or y1 == shape[0] - 1:
        return 0.0
    return _best_iou(x0 - 1, y0 - 1, min(x1 + 2, shape[1] - 1), min(y1 + 2, shape[0] - 1), boxes, 1)


@njit(cache=True, nogil=True)
def _fill_holes(ranks, steps):
    """Ranks of the map whose holes are filled at every step: the lowest maximum on a 4-path to the edge.

    Pixels are visited from the edge inwards, the lowest rank reached so far first (one list of pixels a rank).
    """
    height, width = ranks.shape
    flat = ranks.ravel()
    filled = np.full(flat.size, -1, np.int32)
    heads = np.full(steps + 1, -1, np.int32)
    following = np.empty(flat.size, np.int32)
    for pixel in range(flat.size):
        row, column = pixel // width, pixel % width
        if row == 0 or column == 0 or row == height - 1 or column == width - 1:
            filled[pixel] = flat[pixel]
            following[pixel], heads[flat[pixel]] = heads[flat[pixel]], pixel
    for rank in range(steps + 1):
        while heads[rank] >= 0:
            pixel = heads[rank]
            heads[rank] = following[pixel]
            row, column = pixel // width, pixel % width
            for j in range(4):
                y, x = row + _NEIGHBOURS_4[j, 0], column + _NEIGHBOURS_4[j, 1]
                if y < 0 or y >= height or x < 0 or x >= width:
                    continue
                neighbour = y * width + x
                if filled[neighbour] < 0:
                    level = max(flat[neighbour], rank)
                    filled[neighbour] = level
                    following[neighbour], heads[level] = heads[level], neighbour
    return filled.reshape(ranks.shape)


@njit(cache=True, nogil=True)
def _score_largest(ranks, order, boxes, benchmark, best):
    """The largest part over 8 neighbours at every step; twice the polygon area, or the pixels, decide."""
    height, width = ranks.shape
    flat = ranks.ravel()
    parents = np.full(flat.size, -1, np.int32)
    sizes = np.ones(flat.size, np.int32)
    extents = np.empty((flat.size, 4), np.int32)
    areas = np.zeros(flat.size, np.int64)
    firsts = np.empty(flat.size, np.int32)  # first pixel of a part in reading order
    position = 0
    largest, largest_area, largest_first = -1, 0, 0
    while position < order.size and flat[order[position]] > 0:
        rank = flat[order[position]]
        first = position
        while position < order.size and flat[order[position]] == rank:
            pixel = order[position]
            parents[pixel] = pixel
            firsts[pixel] = pixel
            _start(extents, pixel, width)
            row, column = pixel // width, pixel % width
            root = pixel
            for j in range(8):
                y, x = row + _NEIGHBOURS_8[j, 0], column + _NEIGHBOURS_8[j, 1]
                if y < 0 or y >= height or x < 0 or x >= width or parents[y * width + x] < 0:
                    continue
                other = _find(parents, y * width + x)
                if other == root:
                    continue
                area = areas[root] + areas[other]
                earliest = min(firsts[root], firsts[other])
                root = _join(parents, sizes, extents, root, other)
                areas[root] = area
                firsts[root] = earliest
            areas[root] += _closed_squares(parents, row, column, height, width) if benchmark else 1
            position += 1
        # Parts only grow, so the largest is the old one or one that has just changed; only where the old one got
        # an earlier first pixel but no more area can one that it tied with before win now.
        largest = _find(parents, order[0] if largest < 0 else largest)
        if areas[largest] == largest_area and firsts[largest] != largest_first:
            first = 0
        for i in range(first, position):
            root = _find(parents, order[i])
            later = firsts[root] > firsts[largest]
            if areas[root] > areas[largest] or (areas[root] == areas[largest] and later == benchmark):
                largest = root
        largest_area, largest_first = areas[largest], firsts[largest]
        following = flat[order[position]] if position < order.size else 0
        value = _part_iou(extents[largest], ranks.shape, boxes, benchmark)
        _raise_to(best, max(following, 0), rank, value)


@njit(cache=True, nogil=True)
def _closed_squares(parents, row, column, height, width):
    """Twice the polygon area that the pixel just switched on adds: 1 for the third, 1 for the fourth of a square."""
    added = 0
    for y in (row - 1, row):
        for x in (column - 1, column):
            if y < 0 or x < 0 or y + 1 >= height or x + 1 >= width:
                continue
            on = 0
            for pixel in (y * width + x, y * width + x + 1, (y + 1) * width + x, (y + 1) * width + x + 1):
                on += parents[pixel] >= 0
            added += on >= 3
    return added
