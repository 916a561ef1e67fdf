"""Joint histograms of bin codes.

One pass over the rows fills ``H[b1, .., bm] += value`` for a tuple of features; running sums along
each axis then give the value of every conjunction of conditions on those features (design, section
3). Two row vectors are added up side by side, which costs little more than one.
"""

import numpy as np

from ruleglm.kernels.bits import first_bit
from ruleglm.kernels.compile import kernel
from ruleglm.kernels.vectors import add_pair

TILE = 2048
"""Rows whose cell numbers are computed together; they stay in the first-level cache."""

SMALL, LARGE = 2048, 16384
"""Up to this many cells a histogram is filled in interleaved copies, of many rows up to more.

Rows that hit the same cell one after the other (skewed features) would wait for each other's
addition; with copies they do not.
"""

LEAST_ROWS, ROWS_OF_TWO, ROWS_OF_FOUR = 1024, 2, 32
"""Rows, and rows a cell, from which on there are two copies, or four.

Of fewer, adding them up costs more than they save.
"""


@kernel
def fill_histograms(codes, tuples, n_bins, values, starts, out):
    """Fill the joint histogram of each tuple of features for each row vector.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    tuples : (n_tuples, order) int64, feature numbers
    n_bins : (n_features,) int64
    values : (n_vectors, n_rows) float64
    starts : (at least n_tuples,) int64, where each histogram begins in ``out``
    out : (n_vectors, n_cells) float64, OUT, added to
    """
    largest = 0
    for t in range(tuples.shape[0]):
        largest = max(largest, count_cells(tuples[t], n_bins))
    room = make_room(largest, values.shape[1])
    for t in range(tuples.shape[0]):
        size = count_cells(tuples[t], n_bins)
        fill_tuple(codes, tuples[t], n_bins, values, room, out[:, starts[t] : starts[t] + size])


@kernel
def count_cells(features, n_bins):
    """Return the number of cells of the joint histogram of some features."""
    size = 1
    for f in features:
        size *= n_bins[f]
    return size


@kernel
def fill_covered(codes, sets, n_bins, values, places, out):
    """Fill the joint histograms of tuples of features from those of sets with one feature more.

    One pass over the rows serves all tuples that a set covers: each is the set without one of its
    features, over whose bins the histogram is added up.

    Parameters
    ----------
    codes, n_bins, values : see fill_histograms
    sets : (n_sets, order + 1) int64, feature numbers
    places : (n_sets, order + 1) int64, where the histogram without each of the features lies in
        ``out``, -1 if it is not wanted
    out : (n_vectors, n_cells) float64, OUT, added to
    """
    largest = 0
    for t in range(sets.shape[0]):
        largest = max(largest, count_cells(sets[t], n_bins))
    room = make_room(largest, values.shape[1])
    whole = np.empty((values.shape[0], largest))
    for t in range(sets.shape[0]):
        size = count_cells(sets[t], n_bins)
        for v in range(values.shape[0]):
            for c in range(size):
                whole[v, c] = 0.0
        fill_tuple(codes, sets[t], n_bins, values, room, whole[:, :size])
        inner = size
        for axis in range(sets.shape[1]):
            width = n_bins[sets[t, axis]]
            inner //= width
            if places[t, axis] < 0:
                continue
            for v in range(values.shape[0]):
                sum_axis(whole[v], size, width, inner, out[v, places[t, axis] :])


@kernel
def sum_axis(cells, size, width, inner, out):
    """Add up ``size`` cells over an axis of ``width`` bins, each ``inner`` cells long; last OUT."""
    if inner == 1:
        for c in range(size // width):
            total = 0.0
            for b in range(c * width, (c + 1) * width):
                total += cells[b]
            out[c] += total
        return
    for first in range(0, size // width, inner):
        begin = first * width
        for b in range(width):
            for k in range(inner):
                out[first + k] += cells[begin + b * inner + k]


@kernel
def make_room(largest, n_rows):
    """Return scratch for `fill_tuple`, for histograms of at most ``largest`` cells."""
    return np.empty(2 * max(largest, 4 * min(largest, max(SMALL, min(LARGE, n_rows // 8)))))


@kernel
def count_copies(size, n_rows):
    """Return how many copies a histogram of ``size`` cells is filled in: one, two or four."""
    too_large = size > max(SMALL, min(LARGE, n_rows // 8))
    if too_large or n_rows < max(LEAST_ROWS, ROWS_OF_TWO * size):
        return 1
    return 2 if n_rows < ROWS_OF_FOUR * size else 4


@kernel
def fill_tuple(codes, features, n_bins, values, room, out):
    """Fill the joint histogram of one tuple of features, see fill_histograms; the last OUT."""
    n_vectors, size = out.shape
    n_copies = count_copies(size, values.shape[1])
    for v in range(0, n_vectors - 1, 2):
        two = room[: 2 * n_copies * size].reshape(n_copies, 2 * size)
        fill_two(codes, features, n_bins, values[v : v + 2], two)
        join_copies(two)
        for c in range(size):
            out[v, c] += two[0, 2 * c]
            out[v + 1, c] += two[0, 2 * c + 1]
    if n_vectors % 2:
        one = room[: n_copies * size].reshape(n_copies, size)
        fill_one(codes, features, n_bins, values[n_vectors - 1], one)
        join_copies(one)
        for c in range(size):
            out[n_vectors - 1, c] += one[0, c]


@kernel
def join_copies(copies):
    """Add all copies of a histogram up in the first, OUT."""
    if copies.shape[0] == 4:
        for c in range(copies.shape[1]):
            copies[0, c] = (copies[0, c] + copies[1, c]) + (copies[2, c] + copies[3, c])
    elif copies.shape[0] == 2:
        for c in range(copies.shape[1]):
            copies[0, c] += copies[1, c]


@kernel
def number_cells(codes, features, n_bins, first, count, cells):
    """Compute the cells of some rows in the joint histogram of some features, the last OUT."""
    axis_codes = codes[features[0], first : first + count]
    for r in range(count):
        cells[r] = axis_codes[r]
    for axis in range(1, features.shape[0]):
        width = np.uint32(n_bins[features[axis]])
        axis_codes = codes[features[axis], first : first + count]
        for r in range(count):
            cells[r] = cells[r] * width + axis_codes[r]


@kernel
def fill_one(codes, features, n_bins, values, copies):
    """Add up one row vector over the cells of a tuple, in one copy, two or four; the last OUT."""
    copies[:] = 0.0
    n_rows = values.shape[0]
    cells = np.empty(TILE, np.uint32)
    for first in range(0, n_rows, TILE):
        count = min(TILE, n_rows - first)
        number_cells(codes, features, n_bins, first, count, cells)
        tile = values[first : first + count]
        done, n_copies = 0, copies.shape[0]
        only = copies[0]
        if n_copies == 4:
            done = count // 4 * 4
            copy_1, copy_2, copy_3 = copies[1], copies[2], copies[3]
            for r in range(0, done, 4):
                only[cells[r]] += tile[r]
                copy_1[cells[r + 1]] += tile[r + 1]
                copy_2[cells[r + 2]] += tile[r + 2]
                copy_3[cells[r + 3]] += tile[r + 3]
        elif n_copies == 2:
            done = count // 2 * 2
            copy_1 = copies[1]
            for r in range(0, done, 2):
                only[cells[r]] += tile[r]
                copy_1[cells[r + 1]] += tile[r + 1]
        for r in range(done, count):
            only[cells[r]] += tile[r]


@kernel
def fill_two(codes, features, n_bins, values, copies):
    """Do what :func:`fill_one` does for two row vectors, whose sums lie side by side."""
    copies[:] = 0.0
    n_rows = values.shape[1]
    two = np.uint64(2)
    cells = np.empty(TILE, np.uint32)
    only = copies[0]
    for first in range(0, n_rows, TILE):
        count = min(TILE, n_rows - first)
        number_cells(codes, features, n_bins, first, count, cells)
        tile, other = values[0, first : first + count], values[1, first : first + count]
        done, n_copies = 0, copies.shape[0]
        if n_copies == 4:
            done = count // 4 * 4
            copy_1, copy_2, copy_3 = copies[1], copies[2], copies[3]
            for r in range(0, done, 4):
                add_pair(only, two * np.uint64(cells[r]), tile[r], other[r])
                add_pair(copy_1, two * np.uint64(cells[r + 1]), tile[r + 1], other[r + 1])
                add_pair(copy_2, two * np.uint64(cells[r + 2]), tile[r + 2], other[r + 2])
                add_pair(copy_3, two * np.uint64(cells[r + 3]), tile[r + 3], other[r + 3])
        elif n_copies == 2:
            done = count // 2 * 2
            copy_1 = copies[1]
            for r in range(0, done, 2):
                add_pair(only, two * np.uint64(cells[r]), tile[r], other[r])
                add_pair(copy_1, two * np.uint64(cells[r + 1]), tile[r + 1], other[r + 1])
        for r in range(done, count):
            add_pair(only, two * np.uint64(cells[r]), tile[r], other[r])


@kernel
def fill_within(lines, columns, wanted, turned, n_bins, values, whole, starts, out):
    """Fill the histograms of features over the rows of each column, for each row vector.

    Parameters
    ----------
    lines : (n_rows, n_features) uint8, the codes of a row side by side
    columns : (n_columns, n_words) uint64
    wanted : (n_columns, n_features) bool, the histograms to fill
    turned : (n_columns,) bool, whether the rows that a column leaves out are added up instead, and
        taken from all
    n_bins : (n_features,) int64
    values : (n_vectors, n_rows) float64
    whole : (n_vectors, starts[-1]) float64, the histograms of all rows, where they are needed
    starts : (n_features + 1,) int64, where each feature's bins lie
    out : (n_columns, n_vectors, starts[-1]) float64, OUT, added to
    """
    n_vectors = values.shape[0]
    cells = np.empty(2 * starts[-1])
    for a in range(columns.shape[0]):
        features = np.flatnonzero(wanted[a])
        for v in range(0, n_vectors, 2):
            pair = min(v + 1, n_vectors - 1)  # a vector without a partner is its own
            begin_cells(turned[a], whole[v], whole[pair], cells)
            sign = -1.0 if turned[a] else 1.0
            fill_cells(
                *(lines, columns[a], turned[a], features, starts, values[v], values[pair]),
                *(sign, cells),
            )
            for f in features:
                for c in range(starts[f], starts[f] + n_bins[f]):
                    out[a, v, c] += cells[2 * c]
                    if pair > v:
                        out[a, pair, c] += cells[2 * c + 1]


@kernel
def begin_cells(turned, whole, other, cells):
    """Set cells to what they begin with: the sums of all rows if some are to be taken, or 0.

    Parameters
    ----------
    turned : bool, see fill_within
    whole, other : (n_cells,) float64
    cells : (2 * n_cells,) float64, OUT, both sums of a cell side by side
    """
    for c in range(cells.shape[0] // 2):
        cells[2 * c] = whole[c] if turned else 0.0
        cells[2 * c + 1] = other[c] if turned else 0.0


@kernel
def fill_cells(lines, words, turned, features, starts, values, others, sign, cells):
    """Add up two values of the rows of a column over the bins of some features.

    All features of a row come before the next row: rows that hit the same cell one after the other
    would wait for each other's addition.

    Parameters
    ----------
    lines : (n_rows, n_features) uint8
    words : (n_words,) uint64, the column
    turned : bool, whether the rows that it leaves out are meant
    features : (n_wanted,) int64
    starts : (n_features + 1,) int64
    values, others : (n_rows,) float64
    sign : float, by which they are multiplied
    cells : (2 * starts[-1],) float64, OUT, both sums of a cell side by side, added to
    """
    one, two = np.uint64(1), np.uint64(2)
    flip = ~np.uint64(0) if turned else np.uint64(0)
    last = words.shape[0] - 1
    kept = ~np.uint64(0) >> np.uint64(64 * words.shape[0] - lines.shape[0])
    every = features.shape[0] == lines.shape[1]
    wanted = features.astype(np.uint64)
    places = (2 * starts[features]).astype(np.uint64)
    for w in range(words.shape[0]):
        word = words[w] ^ flip
        if w == last:
            word &= kept
        while word != 0:
            row = np.uint64(64 * w) + first_bit(word)
            word &= word - one
            x, y = sign * values[row], sign * others[row]
            codes = lines[row]
            if every:
                for j in range(places.shape[0]):
                    c = places[j] + two * np.uint64(codes[j])
                    add_pair(cells, c, x, y)
            else:
                for j in range(places.shape[0]):
                    c = places[j] + two * np.uint64(codes[wanted[j]])
                    add_pair(cells, c, x, y)
