"""A weight of 0 is a row left out and a weight of 2 a row twice, wherever weights are taken."""

import numpy as np
import pytest
from sklearn.base import clone

from ruleglm import (
    RuleClassifier,
    RuleClassifierCV,
    RuleRegressor,
    RuleRegressorCV,
    estimate_alpha,
    refit,
)
from ruleglm.families import FAMILIES, get_family
from tests.data import mixed_frame, target_of

N = 120
FRAME = mixed_frame(N)
RNG = np.random.default_rng(7)
TIMES = RNG.integers(0, 4, N)
ROWS = np.repeat(np.arange(N), TIMES)
KEPT = TIMES > 0
OFFSET = RNG.normal(scale=0.2, size=N)
LABELS = np.array(["no", "yes"])[target_of("binomial", FRAME).astype(int)]
FOLDS = [(np.flatnonzero(RNG.random(N) < 0.6), np.flatnonzero(RNG.random(N) < 0.4)) for _ in "ab"]

PLAIN = {
    "l1": {"lambda_0": 0.03, "bins": 8, "tol": 1e-8},
    "l1 with lines": {"lambda_0": 0.03, "bins": 8, "linear_terms": True, "tol": 1e-8},
    "l1 half debiased": {"lambda_0": 0.05, "bins": 8, "debias": 0.5, "tol": 1e-8},
    "l1 auto bins": {"lambda_0": 0.05, "bins": "auto", "tol": 1e-8},
    "l1 beam": {"lambda_0": 0.05, "bins": 8, "pricing": "beam", "tol": 1e-8},
    "l0": {"penalty": "l0", "max_complexity": 6, "bins": 8},
    "l0 with lines": {"penalty": "l0", "max_complexity": 5, "bins": 8, "linear_terms": True},
    "l0 auto bins": {"penalty": "l0", "max_rules": 3, "bins": "auto", "min_level_share": 0.2},
    "l0 by price": {"penalty": "l0", "price": 0.008, "bins": 8, "ridge": 2.0},
}
CHOSEN = {
    "l1": {"penalty": "l1", "n_lambdas": 5, "bins": 8, "max_complexity": 10, "tol": 1e-8},
    "l1 auto bins": {"penalty": "l1", "n_lambdas": 3, "max_complexity": 6, "tol": 1e-8},
    "l0": {"max_complexity": 5, "bins": 8},
    "l0 1se": {"max_complexity": 5, "select": "1se"},
}


def target(family):
    return LABELS if family == "classes" else target_of(family, FRAME)


def build(family, settings, folds=None):
    """A plain estimator, or the one that chooses if there are folds."""
    more = {} if folds is None else {"cv": folds}
    if family == "classes":
        kind = RuleClassifier if folds is None else RuleClassifierCV
        return kind(class_weight="balanced", **settings, **more)
    kind = RuleRegressor if folds is None else RuleRegressorCV
    return kind(family=family, **settings, **more)


def predict(model, offset):
    if isinstance(model, (RuleClassifier, RuleClassifierCV)):
        return model.predict_proba(FRAME, offset=offset)
    return model.predict(FRAME, offset=offset)


def check_same(one, other, offset):
    """Rules may differ where no row tells them apart: rounding decides between equals."""
    seen = [rule.holds(one.ensemble_.read(FRAME[KEPT])).tolist() for rule in one.ensemble_.rules]
    again = [rule.holds(one.ensemble_.read(FRAME[KEPT])).tolist() for rule in other.ensemble_.rules]
    assert one.complexity_ == pytest.approx(other.complexity_, rel=0.1)
    if one.penalty == "l0":  # the solution of the convex problem need not be the only one
        assert sorted(seen) == sorted(again)
        assert one.complexity_ == pytest.approx(other.complexity_)
    else:
        assert other.objective_ == pytest.approx(one.objective_, rel=1e-6, nan_ok=True)
    np.testing.assert_allclose(predict(other, offset)[KEPT], predict(one, offset)[KEPT], rtol=2e-3)


@pytest.mark.parametrize(
    ("family", "name"),
    [("gaussian", name) for name in PLAIN]
    + [("classes", name) for name in ("l1", "l0 auto bins", "l0 by price")]
    + [(family, name) for family in [*FAMILIES][1:] for name in ("l1 with lines", "l0")],
)
def test_plain_fits(family, name):
    y, settings = target(family), PLAIN[name]
    offset = None if family == "gaussian" else OFFSET
    given = {} if offset is None else {"offset": OFFSET}
    weighted = build(family, settings).fit(FRAME, y, TIMES, **given)
    assert len(weighted.rules_) > 0
    part = build(family, settings).fit(
        FRAME[KEPT], y[KEPT], TIMES[KEPT], **{key: values[KEPT] for key, values in given.items()}
    )
    assert part.ensemble_ == weighted.ensemble_
    repeated = build(family, settings).fit(
        FRAME.iloc[ROWS], y[ROWS], **{key: values[ROWS] for key, values in given.items()}
    )
    check_same(weighted, repeated, offset)


@pytest.mark.parametrize(
    ("family", "name"),
    [("gaussian", name) for name in CHOSEN] + [("classes", "l0"), ("negative_binomial", "l0")],
)
def test_chosen_fits(family, name):
    """Folds are given: a splitter would deal repeated rows out in another way."""
    y, settings = target(family), CHOSEN[name]
    weighted = build(family, settings, FOLDS).fit(FRAME, y, TIMES)
    number = np.cumsum(KEPT) - 1
    folds = [tuple(number[side[KEPT[side]]] for side in fold) for fold in FOLDS]
    part = build(family, settings, folds).fit(FRAME[KEPT], y[KEPT], TIMES[KEPT])
    assert part.ensemble_ == weighted.ensemble_
    np.testing.assert_allclose(part.path_.scores, weighted.path_.scores, rtol=1e-12)
    folds = [tuple(np.flatnonzero(np.isin(ROWS, side)) for side in fold) for fold in FOLDS]
    repeated = build(family, settings, folds).fit(FRAME.iloc[ROWS], y[ROWS])
    assert len(repeated.path_) == len(weighted.path_)
    np.testing.assert_allclose(repeated.path_.scores, weighted.path_.scores, rtol=1e-3)
    check_same(weighted, repeated, None)


def test_scorers_count_rows():
    settings = {**CHOSEN["l0"], "max_complexity": 3, "scoring": "roc_auc"}
    weighted = build("classes", settings, FOLDS[:1]).fit(FRAME, LABELS, TIMES)
    folds = [tuple(np.flatnonzero(np.isin(ROWS, side)) for side in FOLDS[0])]
    repeated = build("classes", settings, folds).fit(FRAME.iloc[ROWS], LABELS[ROWS])
    np.testing.assert_allclose(repeated.path_.scores, weighted.path_.scores, rtol=1e-3)


@pytest.mark.parametrize("family", [*FAMILIES, "classes"])
def test_all_that_is_asked_of_a_fitted_model(family):
    y = target(family)
    model = build(family, PLAIN["l0"]).fit(FRAME, y)
    given = {"exposure": np.exp(OFFSET)} if link_of(family) == "log" else {"offset": OFFSET}
    again = {key: values[ROWS] for key, values in given.items()}
    first = np.isin(np.arange(len(y)), np.argsort(y, kind="stable")[:30])  # of the least targets
    for method in (model.deviance, model.d2_score, model.score):
        more, once = ({}, {}) if method == model.score else (given, again)
        weighted = method(FRAME, y, TIMES, **more)
        assert weighted == pytest.approx(method(FRAME.iloc[ROWS], y[ROWS], **once), rel=1e-9)
        heavy = method(FRAME, y, np.where(first, 10.0, 1.0), **more)
        assert heavy != pytest.approx(method(FRAME, y, **more), rel=1e-3)
    one = model.refit(FRAME, y, TIMES, offset=OFFSET)
    other = model.refit(FRAME.iloc[ROWS], y[ROWS], offset=OFFSET[ROWS])
    check_same(one, other, OFFSET)
    by_hand = refit(model.ensemble_, FRAME, y, TIMES, ridge=3.0)
    repeated = refit(model.ensemble_, FRAME.iloc[ROWS], y[ROWS], ridge=3.0)
    np.testing.assert_allclose(by_hand.all_coefficients(), repeated.all_coefficients(), rtol=1e-6)


def link_of(family):
    return "logit" if family == "classes" else get_family(family).link


def test_dispersions():
    y, mean = target("negative_binomial"), np.full(N, 1.3)
    expected = estimate_alpha(y[ROWS], mean[ROWS])
    assert estimate_alpha(y, mean, TIMES) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_a_common_factor(penalty):
    """The l1 problem does not know it; for pursuit it is more rows, and so less shrinkage."""
    y = target("gaussian")
    model = RuleRegressor(penalty=penalty, lambda_0=0.05, max_complexity=5, bins=8)
    one, ten = (clone(model).fit(FRAME, y, np.full(N, factor)) for factor in (1.0, 10.0))
    plain = clone(model).fit(FRAME, y)
    np.testing.assert_allclose(one.predict(FRAME), plain.predict(FRAME), rtol=1e-9)
    if penalty == "l1":
        assert ten.ensemble_.rules == one.ensemble_.rules
        np.testing.assert_allclose(ten.predict(FRAME), one.predict(FRAME), rtol=1e-6)
    else:
        tenfold = clone(model).fit(FRAME.iloc[np.tile(np.arange(N), 10)], np.tile(y, 10))
        assert ten.ensemble_.rules == tenfold.ensemble_.rules
        np.testing.assert_allclose(ten.predict(FRAME), tenfold.predict(FRAME), rtol=1e-6)
