"""Rules extended by further conditions: at once in one kernel, and step by step from histograms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ruleglm import kernels
from ruleglm.constraints import Constraints
from ruleglm.engines import LocalEngine
from ruleglm.families import FAMILIES
from ruleglm.kernels.extend import OTHER
from ruleglm.kernels.gains import TIE
from ruleglm.parallel import Workers
from ruleglm.pricing import ConditionTable, Limits
from ruleglm.pricing.gains import GainPricer
from tests.pricing_cases import extend_case
from tests.reference import extend as slow_extend
from tests.reference.binarise import rule_column
from tests.test_gains import check_candidates, number_rows, random_engine, statistic

seeds = st.integers(0, 2**32 - 1)
families = st.sampled_from(sorted(FAMILIES))
flags = st.booleans()
ALL = 10**6
RIDGE = 0.02


def price(engine, table, max_degree, noise):
    pricer = GainPricer(table, max_degree, RIDGE, n_extended=ALL)
    return pricer, pricer.price(engine, noise, ALL, Limits(), full=True)


def price_step_by_step(engine, table, max_degree, noise):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalEngine, "extend", lambda *_: None)
        return price(engine, table, max_degree, noise)[1]


def constrain(table, seed):
    """The same conditions, with directions for some of the ordered columns."""
    rng = np.random.default_rng(seed)
    kinds = [bins.kind for bins in table.features]
    ways = tuple(0 if kind == "level" else int(rng.integers(-1, 2)) for kind in kinds)
    return ConditionTable(table.features, Constraints(ways))


@pytest.mark.parametrize("n_features", [2, 3, 4])
@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_equals_its_twin(seed, n_features):
    inputs, *outputs = extend_case(seed, 5, n_features=n_features)
    theirs = [out.copy() for out in outputs]
    slow_extend.extend_rules(*inputs, *theirs)
    sides = inputs[5].copy()
    roomy = [np.concatenate([out, np.ones_like(out[:2])]) for out in outputs]
    with np.errstate(over="ignore"):  # bits of words, where kernels are not compiled
        kernels.extend_rules(*inputs[:5], sides, *inputs[6:], *(out[:5] for out in roomy))
    for ours, expected in zip(roomy[:3], theirs[:3], strict=True):
        assert_array_equal(ours[:5], expected)
    assert_allclose(roomy[3][:5], theirs[3], rtol=1e-7)
    assert all((ours[5:] == 1).all() for ours in roomy)  # nothing is written past the end


def test_bounds_that_tighten_in_turns_may_fill_all_room():
    """More steps than degrees: what is left is looked at again."""
    n_full = 0
    for seed in range(60):
        inputs, *outputs = extend_case(seed, 5, n_features=3)
        slow_extend.extend_rules(*inputs, *outputs)
        n_steps, left, steps, _ = outputs
        last = steps[np.arange(5), n_steps - 1, 0]
        bounds = inputs[5][np.arange(5), last] < OTHER
        n_full += np.count_nonzero(left & bounds & (n_steps == steps.shape[1]))
    assert n_full > 0


@settings(max_examples=80)
@given(seeds, families, flags, flags, st.integers(2, 5))
def test_rules_extended_at_once_are_those_extended_step_by_step(
    seed, name, weighted, signed, max_degree
):
    engine, table = random_engine(seed, name, weighted, n_features=4)
    if signed:
        table = constrain(table, seed)
    noise = 0.1 * engine.dispersion() / engine.n_rows
    pricer, at_once = price(engine, table, max_degree, noise)
    check_candidates(at_once, engine, table, pricer, noise, max_degree, RIDGE)
    for one in at_once:  # raises where conditions of opposite signs meet
        gradient = engine._both_rows()[0] @ rule_column(engine.codes, one.rule)
        assert table.rule_sign(one.rule) * gradient >= 0.0
    steps = price_step_by_step(engine, table, max_degree, noise)
    worths = [sorted(worths_of(pricer, found, noise)) for found in (at_once, steps)]
    if len(at_once) == len(steps):
        assert_allclose(*worths, rtol=1e-6, atol=1e-9 * max(worths[1]))
    else:  # of two conditions that gain the same, each may have taken another
        assert max(worths[0]) == pytest.approx(max(worths[1]), rel=1e-6)


def worths_of(pricer, found, noise):
    return [pricer.worth(one.gain, one.degree, noise) for one in found]


@pytest.mark.parametrize("seed", range(12))
def test_without_ties_they_are_the_same_rules(seed):
    engine, table = random_engine(seed, bins=number_rows(seed, 5))
    noise = 0.3 * engine.dispersion() / engine.n_rows
    _, at_once = price(engine, table, 5, noise)
    steps = price_step_by_step(engine, table, 5, noise)
    assert {one.rule for one in at_once} == {one.rule for one in steps}
    assert max(one.degree for one in at_once) > 2
    for one in at_once:
        assert one.gain == pytest.approx(statistic(engine, one.rule, RIDGE), rel=2 * (TIE - 1.0))


def test_threads_do_not_matter():
    engine, table = random_engine(3, bins=number_rows(3, 6, n=4000))
    noise = 0.1 * engine.dispersion() / engine.n_rows
    _, alone = price(engine, table, 5, noise)
    engine.workers = Workers(3)
    _, shared = price(engine, table, 5, noise)
    assert alone == shared
