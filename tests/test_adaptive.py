"""Bins that refine themselves: a finer grid where it matters, and never a worse model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleglm import RuleClassifier, RuleRegressor, RuleRegressorCV
from ruleglm.adaptive import COARSE_BINS, FINE_BINS, refine, used_thresholds
from ruleglm.binning import Binning, build_binning
from ruleglm.bins import NumberBins
from ruleglm.frames import read_table
from ruleglm.rules import Range
from tests.data import mixed_frame, target_of

FRAME = mixed_frame(400, seed=3)


def cuts(model):
    """The finite thresholds of a model's rules, by feature."""
    found = {}
    for rule in model.ensemble_.rules:
        for condition in rule.conditions:
            if isinstance(condition, Range) and condition.order is None:
                ends = {condition.low, condition.high} - {-np.inf, np.inf}
                found.setdefault(condition.feature, set()).update(ends)
    return found


def thresholds(bins):
    binning = build_binning(read_table(FRAME), bins=bins)
    return {b.name: set(b.thresholds) for b in binning.features if isinstance(b, NumberBins)}


@pytest.mark.parametrize(("kind", "family"), [(RuleRegressor, "gaussian"), (RuleClassifier, None)])
def test_a_refined_fit_is_at_least_as_good_as_a_coarse_one(kind, family):
    more = {} if family is None else {"family": family}
    y = target_of(family or "binomial", FRAME)
    coarse = kind(lambda_0=0.01, bins=COARSE_BINS, tol=1e-6, **more).fit(FRAME, y)
    model = kind(lambda_0=0.01, bins="auto", tol=1e-6, **more).fit(FRAME, y)
    assert model.objective_ <= coarse.objective_ * (1 + 1e-6)
    assert model.certified_
    assert "refined around the thresholds of a first, coarse fit" in model.certificate_
    assert "these bins" in coarse.certificate_
    known, fine = thresholds(COARSE_BINS), thresholds(FINE_BINS)
    used = cuts(model)
    assert all(ends <= known[name] | fine[name] for name, ends in used.items())
    assert any(ends - known[name] for name, ends in used.items())


def test_thresholds_that_are_given_stay():
    y = target_of("gaussian", FRAME)
    model = RuleRegressor(bins="auto", thresholds={"age": [40]}, lambda_0=0.005).fit(FRAME, y)
    assert cuts(model).get("age", set()) <= {40.0}


def test_a_pursuit_gets_more_bins():
    y = target_of("gaussian", FRAME)
    wide = RuleRegressor(penalty="l0", bins="auto").fit(FRAME, y)
    same = RuleRegressor(penalty="l0", bins=64).fit(FRAME, y)
    assert wide.ensemble_ == same.ensemble_


def test_a_path_of_refined_bins():
    y = target_of("gaussian", FRAME)
    model = RuleRegressorCV(penalty="l1", n_lambdas=4, cv=2, max_complexity=20).fit(FRAME, y)
    assert "refined" in model.certificate_
    assert model.complexity_ <= 20


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_only_neighbours_of_thresholds_in_use_are_refined(seed):
    rng = np.random.default_rng(seed)
    grid = np.unique(rng.integers(0, 60, size=30)).astype(float)
    coarse = tuple(grid[rng.random(len(grid)) < 0.4].tolist())
    everything = 2 ** (len(grid) + 2) - 1
    features = (NumberBins("x", coarse, everything),), (NumberBins("x", tuple(grid), everything),)
    n_bins = len(coarse) + 1
    low = int(rng.integers(n_bins))
    high = int(rng.integers(low, n_bins))
    mask = (1 << high + 1) - (1 << low)
    used = used_thresholds(Binning(features[0]), {((0, mask),)})
    assert {coarse[at] for at in used[0]} == {
        *([coarse[low - 1]] if low else []),
        *([coarse[high]] if high < len(coarse) else []),
    }
    refined = refine(Binning(features[0]), Binning(features[1]), used)["x"]
    assert set(coarse) <= set(refined) <= set(grid)
    for extra in set(refined) - set(coarse):
        at = int(np.searchsorted(coarse, extra))
        assert used[0] & {at - 1, at}
    for at in used[0]:
        around = (
            coarse[at - 1] if at else -np.inf,
            coarse[at + 1] if at + 1 < len(coarse) else np.inf,
        )
        assert {t for t in grid if around[0] < t < around[1]} <= set(refined)
