"""Arguments for pricing kernels: features of every kind, their conditions, histograms, rows."""

import numpy as np

from ruleglm.bins import LevelBins, NumberBins, OrderedBins
from ruleglm.constraints import Constraints
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, SUM_DTYPE
from ruleglm.kernels.extend import OTHER
from ruleglm.kernels.search import MAX_DEPTH
from ruleglm.pricing import ConditionTable
from ruleglm.pricing.deep import condition_kinds, group_rows
from tests.reference.columns import pack_rows
from tests.reference.pricing import listed

KINDS = ("number", "ordered", "level")


def quarters(rng, *shape):
    """Multiples of 1/4 between -8 and 8."""
    return rng.integers(-32, 33, size=shape).astype(SUM_DTYPE) / 4.0


def make_bins(kind, size, observed):
    """A feature of ``size`` bins, of which those of a mask hold rows."""
    if kind == "number":
        return NumberBins("x", tuple(map(float, range(size - 2))), observed)
    return {"ordered": OrderedBins, "level": LevelBins}[kind]("x", tuple(range(size - 2)), observed)


def draw_constraints(rng, features):
    """Ways of ordered features, groups and pairs; each kind of constraint now and then."""
    n = len(features)
    ways = [0 if one.kind == "level" else int(rng.integers(-1, 2)) for one in features]
    groups = tuple(frozenset(np.flatnonzero(rng.random(n) < 0.6).tolist()) for _ in range(2))
    pairs = {tuple(sorted(rng.permutation(n)[:2].tolist())) for _ in range(n - 1)}
    some = rng.random(3) < 0.5
    return Constraints(
        tuple(ways) if some[0] else (),
        groups[: rng.integers(3)] if some[1] else None,
        frozenset(pairs) if some[2] else frozenset(),
    )


def draw_table(rng, n_features, widest):
    """Features of 2 to ``widest`` bins, some of them without rows, some with one bin only."""
    features = []
    for _ in range(n_features):
        size = int(rng.integers(2, widest + 1))
        held = rng.random(size) < rng.choice([0.6, 1.0])
        if rng.random() < 0.1 or not held.any():
            held = np.arange(size) == rng.integers(size)
        observed = sum(1 << int(b) for b in np.flatnonzero(held))
        features.append(make_bins(str(rng.choice(KINDS)), size, observed))
    return ConditionTable(tuple(features), draw_constraints(rng, features))


def axis_case(seed, kind, size):
    """A scanned axis; what lies behind it must not be read."""
    rng = np.random.default_rng(seed)
    top = int(ConditionTable((make_bins(kind, size, 1),)).top[0])
    sums = quarters(rng, size)
    vector = np.append(np.cumsum(sums) if top >= 0 else sums, [1e6, -1e6])
    return (vector, size, top), np.array([-np.inf, np.inf]), np.full((2, 2), -9, INDEX_DTYPE)


def tuples_case(seed, order, n_tuples, widest=8):
    """Histograms of tuples of features, of which the first is not asked for."""
    rng = np.random.default_rng(seed)
    table = draw_table(rng, 5, widest)
    drawn = [rng.permutation(5)[:order] for _ in range(n_tuples + 1)]
    tuples = np.array(drawn, INDEX_DTYPE)
    sizes = np.prod(table.n_bins[tuples], axis=1)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX_DTYPE)
    return quarters(rng, starts[-1]), starts[1:], tuples[1:], *table.arrays


def pairs_case(seed, n_tuples, deep, widest=8):
    inputs = (*tuples_case(seed, 2, n_tuples, widest), deep)
    return inputs, np.full((n_tuples, 3, 2), np.nan), np.full((n_tuples, 3, 2, 3), -9, INDEX_DTYPE)


def triples_case(seed, n_tuples, widest=8):
    inputs = (*tuples_case(seed, 3, n_tuples, widest), 0.0)
    return inputs, np.full((n_tuples, 2), np.nan), np.full((n_tuples, 2, 3), -9, INDEX_DTYPE)


def gain_sums(rng, *shape):
    """Sums of first derivatives, and of second ones, which are never negative."""
    slopes, curves = quarters(rng, *shape), np.abs(quarters(rng, *shape))
    empty = rng.random(shape) < rng.choice([0.0, 0.3])
    slopes[empty] = curves[empty] = 0.0
    return slopes, curves


def draw_ridge(rng):
    return float(rng.choice([0.25, 1.0, 4.0]))


def gain_axis_case(seed, kind, size):
    """A scanned axis of both derivatives; what lies behind it must not be read."""
    rng = np.random.default_rng(seed)
    top = int(ConditionTable((make_bins(kind, size, 1),)).top[0])
    sums = gain_sums(rng, size)
    share = 1.0 / (float(sums[1].sum()) + float(rng.choice([0.25, 10.0])))
    slopes, curves = (np.append(np.cumsum(line) if top >= 0 else line, [1e6, 1e6]) for line in sums)
    return slopes, curves, size, top, share, draw_ridge(rng), int(rng.integers(-1, 2))


def gain_lines_case(seed, n_rules, n_features, every=True, widest=8):
    """Histograms of all features within each of several rules, with and without another one."""
    rng = np.random.default_rng(seed)
    table = draw_table(rng, n_features, widest)
    starts = np.concatenate([[0], np.cumsum(table.n_bins)]).astype(INDEX_DTYPE)
    histograms = np.stack(gain_sums(rng, n_rules + 1, starts[-1]), axis=1)
    total = 1.0 + float(histograms[:, 1].sum())
    at = rng.integers(n_rules + 1, size=(n_rules, 2)).astype(INDEX_DTYPE)
    gone = rng.normal(size=(n_rules, 2)) * rng.integers(2, size=(n_rules, 1))
    tried = rng.random((n_rules, n_features)) < 0.8
    wants = rng.integers(-1, 2, n_rules).astype(INDEX_DTYPE)
    lines = starts, table.n_bins, table.top, table.way, wants
    inputs = histograms, at, gone, tried, *lines, total, draw_ridge(rng), every
    shape = n_rules, n_features
    return inputs, np.full(shape, np.nan), np.full(shape, -9, INDEX_DTYPE)


def gain_spans_case(seed, n_features, widest=8):
    """Histograms of all features."""
    inputs, *_ = gain_lines_case(seed, 0, n_features, widest=widest)
    histograms, _, _, _, starts, n_bins, top, way, _, total, ridge, _ = inputs
    lines = histograms[0], starts, n_bins, top, way, total, ridge
    return lines, np.full(n_features, np.nan), np.full((n_features, 2), -9, INDEX_DTYPE)


def gain_tuples_case(seed, order, n_tuples, widest=8):
    """Histograms of both derivatives over tuples of features; see tuples_case."""
    _, starts, tuples, *conditions = tuples_case(seed, order, n_tuples, widest)
    rng = np.random.default_rng(seed + 1)
    histograms = np.array(gain_sums(rng, starts[-1]))
    total = 1.0 + float(histograms[1].sum())
    return histograms, starts, tuples, *conditions, total, draw_ridge(rng)


def gain_pairs_case(seed, n_tuples, deep, widest=8, n_kept=0):
    inputs = (*gain_tuples_case(seed, 2, n_tuples, widest), deep, n_kept)
    return inputs, np.full((n_tuples, 3), np.nan), np.full((n_tuples, 3, 3), -9, INDEX_DTYPE)


def gain_triples_case(seed, n_tuples, widest=8):
    inputs = gain_tuples_case(seed, 3, n_tuples, widest)
    return inputs, np.full(n_tuples, np.nan), np.full((n_tuples, 3), -9, INDEX_DTYPE)


def covered(table, codes, c):
    """The rows of a condition."""
    f = table.feature[c]
    return np.isin(codes[f], listed(table.n_bins[f], table.lo[c], table.hi[c], table.negate[c]))


def draw_gain(rng, table, codes, start):
    """Gains that are mostly positive inside a random conjunction and negative outside."""
    inside = np.ones(codes.shape[1], bool)
    for c in rng.integers(start, len(table.lo), size=12):
        kept = inside & covered(table, codes, c)
        inside = kept if kept.sum() > 0.4 * inside.sum() else inside
    inside ^= rng.random(len(inside)) < 0.02
    return np.where(inside, 1.0, -4.0) * np.abs(quarters(rng, len(inside)))


def branch_case(seed, n_features, depth, widest=6, n_rows=80):
    """Rows, a first condition, and nothing known of conjunctions with it."""
    rng = np.random.default_rng(seed)
    table = draw_table(rng, n_features, widest)
    while len(table.lo) == 0:
        table = draw_table(rng, n_features, widest)
    bins = [np.flatnonzero([b.observed >> k & 1 for k in range(b.n_bins)]) for b in table.features]
    codes = np.array([rng.choice(held, n_rows) for held in bins]).astype(CODE_DTYPE)
    start = int(rng.integers(len(table.lo)) * rng.choice([0.0, 0.2, 0.5]))
    gain = draw_gain(rng, table, codes, start)
    price, step = float(rng.choice([0.0, 0.25, 1.0])), float(rng.choice([0.0, 0.25, 0.5]))
    kinds = condition_kinds(table)
    limits = table.constraints.matrices(n_features)
    conditions = table.n_bins, table.lo, table.hi, kinds, table.feature, *limits, start
    best = max(0.0, float(gain[covered(table, codes, start)].sum()) - price)
    inputs = codes, gain, group_rows(codes), *conditions, price, step, 0, depth, best, 1_000_000
    return inputs, np.full(MAX_DEPTH, -9, INDEX_DTYPE)


def extend_case(seed, n_rules, n_rows=300, n_features=4):
    """Rules on rows whose values depend on the codes, and what further conditions cost."""
    rng = np.random.default_rng(seed)
    table = draw_table(rng, n_features, 9)
    codes = np.array([rng.integers(0, size, n_rows) for size in table.n_bins]).astype(CODE_DTYPE)
    held = codes < table.n_bins[:, None] - 1 - rng.integers(0, 3, (n_features, 1))
    slopes = held.prod(axis=0) - 0.3 + 0.1 * rng.normal(size=n_rows)
    values = np.array([slopes, rng.random(n_rows)])
    starts = np.concatenate([[0], np.cumsum(table.n_bins)]).astype(INDEX_DTYPE)
    placed = starts[:-1, None] + codes
    sums = [np.bincount(placed.ravel(), np.tile(v, n_features), starts[-1]) for v in values]
    columns = pack_rows(rng.random((n_rules, n_rows)) < rng.choice([0.3, 0.9], (n_rules, 1)))
    most = int(rng.integers(1, 6))
    prices = np.column_stack([0.02 * np.arange(most + 1), 1.0 + 0.2 * np.arange(most + 1)])
    sides = np.where(table.top >= 0, rng.integers(1, 5, (n_rules, n_features)), OTHER)
    rules = (
        rng.integers(0, most + 1, n_rules).astype(INDEX_DTYPE),
        rng.choice([0.0, 1.0, 20.0], n_rules),
        np.where(rng.random((n_rules, n_features)) < 0.5, sides, 0).astype(CODE_DTYPE),
        rng.integers(-1, 2, n_rules).astype(INDEX_DTYPE) * int(table.way.any()),
    )
    features = np.flatnonzero(rng.random(n_features) < 0.8)
    features = features if len(features) else np.arange(1)
    axes = features, table.n_bins, starts, table.top, table.way
    measure = values, np.array(sums), float(values[1].sum()), draw_ridge(rng), prices
    counts = np.zeros(n_rules, INDEX_DTYPE), np.zeros(n_rules, np.bool_)
    outputs = *counts, np.zeros((n_rules, most, 2), INDEX_DTYPE)
    lines = np.ascontiguousarray(codes.T)
    return (lines, codes, columns, *rules, *axes, *measure), *outputs, np.zeros((n_rules, most))
