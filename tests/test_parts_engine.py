"""An engine over parts answers as one over all rows does."""

import math
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE, MAX_BINS
from ruleglm.engines import InProcess, LocalEngine, Part, PartsEngine, parts
from ruleglm.families import FAMILIES
from tests.test_local_engine import N_BINS, SINGLE, add_rules, draw_case, draw_rule

relaxed = settings(deadline=None, max_examples=6)
seeds = st.integers(0, 2**32 - 1)
cuts = st.lists(st.integers(1, 129), max_size=5, unique=True).map(sorted)
flags = st.booleans()
each_family = pytest.mark.parametrize("name", FAMILIES)

PAIRS = np.array([[0, 1], [1, 4], [2, 3]], INDEX_DTYPE)
BOTH = ("gradient", "hessian")


def split_engine(case, cuts, sign_of=None):
    """Return an engine over the rows of a case, cut before the rows given."""
    n_rows = len(case.y)
    limits = [0, *cuts, n_rows]
    engines = []
    for number, (first, end) in enumerate(pairwise(limits)):
        rows = slice(first, end)
        engines.append(
            Part(
                np.ascontiguousarray(case.codes[:, rows]),
                N_BINS,
                case.y[rows],
                case.family,
                weights=None if case.weights is None else case.weights[rows],
                offset=None if case.offset is None else case.offset[rows],
                linear=None if case.linear is None else np.ascontiguousarray(case.linear[:, rows]),
                number=number,
                n_total=n_rows,
                first=first,
            )
        )
    n_linear = 0 if case.linear is None else len(case.linear)
    return PartsEngine(
        InProcess(engines), n_rows, N_BINS, case.family, n_linear=n_linear, sign_of=sign_of
    )


def agree(one, other):
    assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def ask_at_a_point(engine, coef, rules, rng):
    """Everything that is asked where a model stands."""
    n_columns = len(coef)
    tilt = 0.01 * rng.normal(size=n_columns)
    wanted = rng.random((len(rules), len(N_BINS))) < 0.5
    within = rules[0]
    return {
        "score": engine.score(),
        "hessian_sum": engine.hessian_sum(),
        "dispersion": engine.dispersion(),
        "gradient_masses": engine.gradient_masses(),
        "mass_gram": engine.mass_gram([0, n_columns - 1]),
        "dual_value": engine.dual_value(0.9, 0.8),
        "tilted": engine.dual_value(0.9, 0.8, tilt),
        "tilt_range": engine.tilt_range(tilt),
        "linear_bound": engine.linear_bound(),
        "supports": engine.supports(),
        "pairs": engine.joint_histograms(PAIRS, BOTH).values,
        "within": engine.joint_histograms(PAIRS, ("positive",), within).values,
        "coarse": engine.joint_histograms(PAIRS, BOTH, coarse=True).values,
        "histograms_within": engine.histograms_within(rules, BOTH, wanted),
        "codes": engine.gather()[0],
        "gradient": engine.gather()[1],
        "null_intercept": engine.null_intercept(),
    }


@each_family
@given(seed=seeds, cuts=cuts, weighted=flags, offset=flags)
@relaxed
def test_parts_answer_as_the_whole(name, seed, cuts, weighted, offset):
    case = draw_case(seed, name, weighted=weighted, offset=offset)
    whole, split = case.engine(), split_engine(case, cuts)
    assert add_rules(split, case.rules) == len(case.rules)
    agree(split.set_coefficients(case.coef), whole.set_coefficients(case.coef))
    lookup = np.tile(np.arange(MAX_BINS, dtype=CODE_DTYPE) // 2, (len(N_BINS), 1))
    for engine in (whole, split):
        engine.set_coarse(lookup, (N_BINS + 1) // 2)
    answers = [
        ask_at_a_point(engine, case.coef, case.rules, np.random.default_rng(seed))
        for engine in (whole, split)
    ]
    for key, answer in answers[0].items():
        agree(answers[1][key], answer)
    assert_allclose(split.gram(), whole.gram(), **SINGLE)


@given(
    seed=seeds,
    cuts=cuts,
    n_sampled=st.integers(1, 60),
    limit=st.sampled_from(["SAMPLE_ROWS", "PAIR_WORK"]),
)
@relaxed
def test_parts_sample_the_rows_that_the_whole_does(seed, cuts, n_sampled, limit):
    case = draw_case(seed, "binomial")
    lookup = np.tile(np.arange(MAX_BINS, dtype=CODE_DTYPE), (len(N_BINS), 1))
    most = n_sampled * (1 if limit == "SAMPLE_ROWS" else math.comb(len(N_BINS), 2))
    with patch(f"ruleglm.engines.filling.{limit}", most):
        engines = case.engine(), split_engine(case, cuts)
    add_rules(engines[1], case.rules)
    for engine in engines:
        engine.set_coefficients(case.coef)
        engine.set_coarse(lookup, N_BINS)
    found = [engine.joint_histograms(PAIRS, BOTH, coarse=True).values for engine in engines]
    agree(*found)
    assert [engine.sampled for engine in engines] == [len(case.y) >= 2 * n_sampled] * 2


@each_family
@given(seed=seeds, cuts=cuts)
@relaxed
def test_a_trial_leaves_nothing_behind(name, seed, cuts):
    case = draw_case(seed, name)
    whole, split = case.engine(3), split_engine(case, cuts)
    add_rules(split, case.rules[:3])
    split.set_coefficients(case.coef[:6])
    for engine in (whole, split):
        engine.gram()
        engine.propose(np.linspace(-0.1, 0.1, engine.n_columns))
        engine.losses((1.0,))
        add_rules(engine, case.rules[3:-1])
    agree(split.score(), whole.score())
    for engine in (whole, split):
        engine.propose(np.linspace(-0.1, 0.1, engine.n_columns))
        engine.losses((1.0,))
        engine.score()
        engine.accept(1.0)
        add_rules(engine, case.rules[-1:])
    agree(split.score(), whole.score())


@each_family
@given(seed=seeds, cuts=cuts)
@relaxed
def test_parts_move_as_the_whole(name, seed, cuts):
    case = draw_case(seed, name)
    rng = np.random.default_rng(seed)
    whole, split = case.engine(3), split_engine(case, cuts)
    add_rules(split, case.rules[:3])
    split.set_coefficients(case.coef[:6])
    coef = case.coef[:6]
    for engine in (whole, split):
        engine.gram()
    for _ in range(3):
        delta, step = 0.1 * rng.normal(size=6), float(rng.choice([1.0, 0.5, -1.0]))
        for engine in (whole, split):
            engine.propose(delta)
        agree(split.losses((0.0, 1.0, 0.25)), whole.losses((0.0, 1.0, 0.25)))
        agree(split.losses((1.0,)), whole.losses((1.0,)))
        agree(split.score(), whole.score())  # of where they still are
        for engine in (whole, split):
            engine.accept(step)
        coef = coef + step * delta
        agree(split.losses((0.0,)), whole.losses((0.0,)))
        agree(split.score(), whole.score())
        agree(split.hessian_sum(), whole.hessian_sum())
    agree(split.coef, coef)
    for engine in (whole, split):
        add_rules(engine, case.rules[3:])
    assert_allclose(split.gram(), whole.gram(), **SINGLE)  # of where they stood before the moves
    agree(split.score(), whole.score())
    agree(split.coef, [*coef, *np.zeros(len(case.rules) - 3)])
    assert split.refresh() == whole.refresh()
    assert_allclose(split.gram(), whole.gram(), **SINGLE)
    assert split.refresh() == whole.refresh() is False
    for engine in (whole, split):
        engine.keep_rules([4, 1])
    assert split.rules == whole.rules
    agree(split.coef, [*coef[:3], 0.0, coef[4]])  # in the order asked for
    assert_allclose(split.gram(), whole.gram(), **SINGLE)
    agree(split.score(), whole.score())


@given(seed=seeds, cuts=cuts, signed=flags)
@relaxed
def test_rules_of_equal_coverage_enter_once_whatever_the_parts(seed, cuts, signed):
    rng = np.random.default_rng(seed)
    case = draw_case(seed, "gaussian", n_rules=2, weighted=False, offset=False)
    sign_of = (lambda rule: rule[0][0] % 3 - 1) if signed else None
    whole = LocalEngine(
        case.codes, N_BINS, case.y, case.family, linear=case.linear, sign_of=sign_of
    )
    split = split_engine(case, cuts, sign_of)
    rules = [draw_rule(rng, 2) for _ in range(12)]
    rules += [((f, (1 << int(N_BINS[f])) - 1 - mask),) for ((f, mask), *_) in rules]
    degrees = rng.integers(1, 4, size=len(rules)).tolist()
    for engine in (whole, split):
        engine.forbid(rules[:2])
    added = [engine.add_rules(rules, degrees) for engine in (whole, split)]
    assert added[0] == added[1] < len(rules)
    assert whole.rules == split.rules
    assert whole.degrees == split.degrees
    assert whole.column_signs().tolist() == split.column_signs().tolist()
    assert [one for _, one in whole.coverages(rules)] == [one for _, one in split.coverages(rules)]


def test_rows_are_not_brought_together_beyond_a_limit(monkeypatch):
    case = draw_case(1, "gaussian")
    split = split_engine(case, [50])
    monkeypatch.setattr(parts, "MAX_GATHERED", 100 * (len(N_BINS) + 8))
    with pytest.raises(ValueError, match="bring 130 rows together"):
        split.gather()
