"""Columns of rules as packed bits, and the sums over rows that the master problem needs.

A column is ``ceil(n / 64)`` words, the first row in the least significant bit; bits past the last
row are zero. Loops over exactly 64 rows test a word against constant masks, which the compiler
turns into vector blends; the last, shorter word has a loop of its own.
"""

import numpy as np

from ruleglm.kernels.bits import count_bits
from ruleglm.kernels.compile import kernel
from ruleglm.kernels.vectors import pack_inside

PANEL = 256
"""Rows of every column unpacked together for the weighted Gram matrix."""

MOST_RUNS = 128
"""Runs of codes that a condition may have."""


@kernel
def evaluate_rules(codes, features, masks, starts, out):
    """Evaluate conjunctions on bin codes into packed columns.

    Parameters
    ----------
    codes : (n_features, n_rows) uint8
    features : (n_conditions,) int64, the conditions of all rules one after the other
    masks : (n_conditions, 4) uint64, a bit for each code, whether it satisfies the condition
    starts : (n_rules + 1,) int64, where each rule's conditions lie
    out : (n_rules, n_words) uint64, OUT
    """
    n_words = out.shape[1]
    last = ~np.uint64(0) >> np.uint64(64 * n_words - codes.shape[1])
    runs = np.empty((MOST_RUNS, 2), np.uint8)
    for k in range(starts.shape[0] - 1):
        for w in range(n_words):
            out[k, w] = ~np.uint64(0) if w < n_words - 1 else last
        for c in range(starts[k], starts[k + 1]):
            n_runs = list_runs(masks[c], runs)
            meet_condition(codes[features[c]], runs, n_runs, out[k])


@kernel
def list_runs(mask, runs):
    """List the runs of codes that a mask allows; return how many.

    Parameters
    ----------
    mask : (4,) uint64, a bit for each code
    runs : (MOST_RUNS, 2) uint8, OUT: the first code of each, and how many more it has
    """
    n_runs, before = 0, np.uint64(0)
    for code in range(256):
        bit = (mask[code >> 6] >> np.uint64(code & 63)) & np.uint64(1)
        if bit and before:
            runs[n_runs - 1, 1] += np.uint8(1)
        elif bit:
            runs[n_runs, 0], runs[n_runs, 1] = code, 0
            n_runs += 1
        before = bit
    return n_runs


@kernel
def meet_condition(codes, runs, n_runs, words):
    """Take out of a column the rows whose codes a condition does not allow.

    Parameters
    ----------
    codes : (n_rows,) uint8
    runs : (at least n_runs, 2) uint8, the runs of codes that it allows, see list_runs
    n_runs : int
    words : (n_words,) uint64, OUT
    """
    n_whole = codes.shape[0] // 64
    for w in range(n_whole):
        bits = np.uint64(0)
        for k in range(n_runs):
            bits |= pack_inside(codes, np.uint64(64 * w), runs[k, 0], runs[k, 1])
        words[w] &= bits
    if n_whole < words.shape[0]:
        bits = np.uint64(0)
        for r in range(64 * n_whole, codes.shape[0]):
            for k in range(n_runs):
                beyond = np.int64(codes[r]) - np.int64(runs[k, 0])
                inside = 0 <= beyond <= np.int64(runs[k, 1])
                bits |= np.uint64(inside) << np.uint64(r - 64 * n_whole)
        words[n_whole] &= bits


@kernel
def count_rows(columns, out):
    """Count the rows of each column.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    out : (n_columns,) int64, OUT
    """
    for a in range(columns.shape[0]):
        total = np.uint64(0)
        for w in range(columns.shape[1]):
            total += count_bits(columns[a, w])
        out[a] = total


@kernel
def join_columns(columns, places, starts, n_rows, out):
    """Take the rows that all of some columns have, for several such lists of columns.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    places : (n_places,) int64, the columns of all lists one after the other
    starts : (n_lists + 1,) int64, where each list lies
    n_rows : int, all of which are taken where a list is empty
    out : (n_lists, n_words) uint64, OUT
    """
    n_words = out.shape[1]
    last = ~np.uint64(0) >> np.uint64(64 * n_words - n_rows)
    for k in range(starts.shape[0] - 1):
        if starts[k] == starts[k + 1]:
            for w in range(n_words):
                out[k, w] = ~np.uint64(0) if w < n_words - 1 else last
            continue
        for w in range(n_words):
            out[k, w] = columns[places[starts[k]], w]
        for c in range(starts[k] + 1, starts[k + 1]):
            for w in range(n_words):
                out[k, w] &= columns[places[c], w]


@kernel
def hash_columns(columns, n_rows, number, alone, out):
    """Hash the rows that each column has, and those that it leaves out, to two words each.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    n_rows : int, at least 1
    number : int, of the part that these rows are; 0 has the very first row
    alone : bool, whether there is no other part; then what names the column is hashed only
    out : (n_columns, 5) uint64, OUT, zero before: the hash of the rows covered, that of the others,
        and whether the very first row is covered
    """
    none, every = np.uint64(0), ~np.uint64(0)
    kept = every >> np.uint64(64 * columns.shape[1] - n_rows)
    for k in range(columns.shape[0]):
        first = columns[k, 0] & np.uint64(1) if number == 0 else none
        out[k, 4] = first
        if not (alone and first):
            hash_words(columns[k], none, kept, number, out[k, :2])
        if first or not alone:
            hash_words(columns[k], every, kept, number, out[k, 2:4])


@kernel
def hash_words(words, flip, kept, number, out):
    """Hash words to two, the last OUT: each word is mixed into both.

    Products spread bits over those above, shifts bring them down again.

    Parameters
    ----------
    words : (n_words,) uint64
    flip : uint64, the bits to turn in every word
    kept : uint64, the bits of the last word that count
    number : int, to begin with
    out : (2,) uint64, OUT
    """
    half, less = np.uint64(32), np.uint64(29)
    one = two = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    last = words.shape[0] - 1
    for w in range(words.shape[0]):
        word = words[w] ^ flip
        if w == last:
            word &= kept
        word = (word ^ (word >> half)) * np.uint64(0xD6E8FEB86659FD93)
        one = (one ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        two = (two ^ word) * np.uint64(0xC4CEB9FE1A85EC53)
        one ^= one >> half
        two ^= two >> less
    out[0], out[1] = one, two


@kernel
def count_gram(left, right, out):
    """Count the rows that each pair of columns shares.

    Parameters
    ----------
    left : (n_left, n_words) uint64
    right : (n_right, n_words) uint64
    out : (n_left, n_right) float64, OUT
    """
    for a in range(left.shape[0]):
        for b in range(right.shape[0]):
            total = np.uint64(0)
            for w in range(left.shape[1]):
                total += count_bits(left[a, w] & right[b, w])
            out[a, b] = np.float64(total)


@kernel
def unpack_words(columns, row_weights, n_old, begin, end, plain, weighted):
    """Unpack rows ``begin`` to ``end`` of the columns, and of some of them times the row weights.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    row_weights : (n_rows,) float32
    n_old : int, the columns from it on are weighted too
    begin, end : int, at most PANEL rows; multiples of 64, but ``end`` may be the last row
    plain : (at least n_columns, PANEL) float32, OUT; zero past ``end``
    weighted : (at least n_columns - n_old, PANEL) float32, OUT; zero past ``end``
    """
    one = np.int64(1)
    here, none = np.float32(1.0), np.float32(0.0)
    count = end - begin
    for a in range(columns.shape[0]):
        for base in range(0, PANEL, 64):
            word = np.int64(0)
            if base < count:
                word = np.int64(columns[a, (begin + base) >> 6])
            for r in range(64):
                plain[a, base + r] = here if (word & (one << np.int64(r))) != 0 else none
    weights = row_weights[begin:end]
    for a in range(n_old, columns.shape[0]):
        ones, line = plain[a], weighted[a - n_old]
        for r in range(count):
            line[r] = ones[r] * weights[r]
        for r in range(count, PANEL):
            line[r] = none


@kernel
def weighted_gram(columns, row_weights, n_old, begin, end, out):
    """Add up the row weights that pairs of columns share, over some of the rows.

    Blocks of two by four columns keep eight sums in registers; the panels are padded with empty
    columns so that no block is cut. Within a panel sums are in single precision, which is twice as
    fast, and their errors are below 1e-7: enough for second derivatives, which only guide steps.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    row_weights : (n_rows,) float32
    n_old : int, columns before it are only paired with those from it on
    begin, end : int, the rows to add up; ``begin`` is a multiple of 64
    out : (n_columns - n_old, n_columns) float64, OUT
    """
    n_columns = columns.shape[0]
    plain = np.zeros((n_columns + 4, PANEL), np.float32)
    weighted = np.zeros((n_columns - n_old + 1, PANEL), np.float32)
    sums = np.zeros((n_columns - n_old + 1, n_columns + 4))
    zero = np.float32(0.0)
    for first in range(begin, end, PANEL):
        last = min(first + PANEL, end)
        unpack_words(columns, row_weights, n_old, first, last, plain, weighted)
        for a in range(n_old, n_columns, 2):
            i = a - n_old
            for b in range(0, a + 2, 4):
                s_0, s_1, s_2, s_3 = zero, zero, zero, zero
                t_0, t_1, t_2, t_3 = zero, zero, zero, zero
                for r in range(PANEL):
                    x, y = weighted[i, r], weighted[i + 1, r]
                    s_0 += x * plain[b, r]
                    s_1 += x * plain[b + 1, r]
                    s_2 += x * plain[b + 2, r]
                    s_3 += x * plain[b + 3, r]
                    t_0 += y * plain[b, r]
                    t_1 += y * plain[b + 1, r]
                    t_2 += y * plain[b + 2, r]
                    t_3 += y * plain[b + 3, r]
                sums[i, b] += s_0
                sums[i, b + 1] += s_1
                sums[i, b + 2] += s_2
                sums[i, b + 3] += s_3
                sums[i + 1, b] += t_0
                sums[i + 1, b + 1] += t_1
                sums[i + 1, b + 2] += t_2
                sums[i + 1, b + 3] += t_3
    for a in range(n_columns - n_old):
        for b in range(n_old + a + 1):
            out[a, b] = sums[a, b]
            if b >= n_old:
                out[b - n_old, n_old + a] = sums[a, b]


@kernel
def sum_columns(columns, values, begin, end, out):
    """Add up row values over the rows of each column.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    values : (n_rows,) float64
    begin, end : int, the rows to add up; ``begin`` is a multiple of 64
    out : (n_columns,) float64, OUT
    """
    for a in range(columns.shape[0]):
        out[a] = 0.0
    one = np.int64(1)
    blocks = begin + (end - begin) // 256 * 256
    for first in range(begin, blocks, 256):
        rows, w = values[first : first + 256], first >> 6
        for a in range(columns.shape[0]):
            word_0, word_1 = np.int64(columns[a, w]), np.int64(columns[a, w + 1])
            word_2, word_3 = np.int64(columns[a, w + 2]), np.int64(columns[a, w + 3])
            total = 0.0
            for r in range(64):
                bit = one << np.int64(r)
                x = rows[r] if (word_0 & bit) != 0 else 0.0
                x += rows[64 + r] if (word_1 & bit) != 0 else 0.0
                y = rows[128 + r] if (word_2 & bit) != 0 else 0.0
                y += rows[192 + r] if (word_3 & bit) != 0 else 0.0
                total += x + y
            out[a] += total
    for first in range(blocks, end, 64):
        rows = values[first : min(first + 64, end)]
        for a in range(columns.shape[0]):
            word, total = np.int64(columns[a, first >> 6]), 0.0
            for r in range(rows.shape[0]):
                total += rows[r] if (word & (one << np.int64(r))) != 0 else 0.0
            out[a] += total


@kernel
def sum_lines(columns, lines, weights, begin, end, out):
    """Add up weighted lines over the rows of each column.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    lines : (n_lines, n_rows) float64
    weights : (n_rows,) float64
    begin, end : int, the rows to add up; ``begin`` is a multiple of 64
    out : (n_columns, n_lines) float64, OUT
    """
    one = np.int64(1)
    scaled = np.empty((lines.shape[0], 64))
    out[:] = 0.0
    for first in range(begin, end, 64):
        count = min(64, end - first)
        for j in range(lines.shape[0]):
            for r in range(count):
                scaled[j, r] = lines[j, first + r] * weights[first + r]
            for r in range(count, 64):
                scaled[j, r] = 0.0
        for a in range(columns.shape[0]):
            word = np.int64(columns[a, first >> 6])
            for j in range(lines.shape[0]):
                total = 0.0
                for r in range(64):
                    total += scaled[j, r] if (word & (one << np.int64(r))) != 0 else 0.0
                out[a, j] += total


@kernel
def gram_lines(lines, weights, begin, end, out):
    """Add up the weighted lines and products of two lines over some of the rows.

    Parameters
    ----------
    lines : (n_lines, n_rows) float64
    weights : (n_rows,) float64
    begin, end : int, the rows to add up
    out : (1 + n_lines, 1 + n_lines) float64, OUT; the first line is one everywhere
    """
    scaled = np.empty(PANEL)
    out[:] = 0.0
    for first in range(begin, end, PANEL):
        rows = weights[first : min(first + PANEL, end)]
        count = rows.shape[0]
        total = 0.0
        for r in range(count):
            total += rows[r]
        out[0, 0] += total
        for j in range(lines.shape[0]):
            line = lines[j, first : first + count]
            total = 0.0
            for r in range(count):
                scaled[r] = line[r] * rows[r]
                total += scaled[r]
            out[0, 1 + j] += total
            for k in range(j + 1):
                other = lines[k, first : first + count]
                total = 0.0
                for r in range(count):
                    total += scaled[r] * other[r]
                out[1 + k, 1 + j] += total
    for j in range(out.shape[0]):
        for k in range(j):
            out[j, k] = out[k, j]


@kernel
def add_terms(intercept, lines, slopes, columns, coefficients, begin, end, out):
    """Add an intercept, each line times its slope and each column times its coefficient.

    Parameters
    ----------
    intercept : float
    lines : (n_lines, n_rows) float64
    slopes : (n_lines,) float64
    columns : (n_columns, n_words) uint64
    coefficients : (n_columns,) float64
    begin, end : int, the rows to change; ``begin`` is a multiple of 64
    out : (n_rows,) float64, OUT, added to
    """
    one, used, n_used = np.int64(1), np.empty(columns.shape[0], np.int64), 0
    for a in range(columns.shape[0]):
        used[n_used] = a
        n_used += coefficients[a] != 0.0
    fours = n_used // 4 * 4
    for first in range(begin, end, 64):
        count = min(64, end - first)
        rows, w = out[first : first + count], first >> 6
        for r in range(count):
            rows[r] += intercept
        for j in range(lines.shape[0]):
            if slopes[j] != 0.0:
                line = lines[j, first : first + count]
                for r in range(count):
                    rows[r] += slopes[j] * line[r]
        k = 0
        while k < fours and count == 64:
            a, b, c, d = used[k], used[k + 1], used[k + 2], used[k + 3]
            word_a, word_b = np.int64(columns[a, w]), np.int64(columns[b, w])
            word_c, word_d = np.int64(columns[c, w]), np.int64(columns[d, w])
            beta_a, beta_b = coefficients[a], coefficients[b]
            beta_c, beta_d = coefficients[c], coefficients[d]
            for r in range(64):
                bit = one << np.int64(r)
                x = beta_a if (word_a & bit) != 0 else 0.0
                x += beta_b if (word_b & bit) != 0 else 0.0
                y = beta_c if (word_c & bit) != 0 else 0.0
                y += beta_d if (word_d & bit) != 0 else 0.0
                rows[r] += x + y
            k += 4
        while k < n_used:
            word, beta = np.int64(columns[used[k], w]), coefficients[used[k]]
            if count == 64:
                for r in range(64):
                    rows[r] += beta if (word & (one << np.int64(r))) != 0 else 0.0
            else:
                for r in range(count):
                    rows[r] += beta if (word & (one << np.int64(r))) != 0 else 0.0
            k += 1
