"""Resamples: how they are drawn, what is compared, and that nothing depends on threads."""

import _thread
import threading
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from ruleglm import RuleClassifier, RuleClassifierCV, RuleEnsemble, RuleRegressor, RuleRegressorCV
from ruleglm.assess import bootstrap as module
from ruleglm.assess.bootstrap import Bootstrap, Resample, best_jaccard, draw_weights
from ruleglm.assess.stability import Stability
from ruleglm.multinomial import Multinomial
from ruleglm.parser import parse_rule
from tests.data import mixed_frame, target_of

N = 150
FRAME = mixed_frame(N)
NUMBERS = target_of("gaussian", FRAME)
LABELS = np.array(["no", "yes"])[target_of("binomial", FRAME).astype(int)]
COUNTS = target_of("poisson", FRAME)
CHOSEN = {"bins": 8, "cv": 2, "max_complexity": 6}
MODELS = {
    "l1": (RuleRegressor(lambda_0=0.05, bins=8, linear_terms=True), NUMBERS),
    "l0": (RuleRegressor(penalty="l0", max_complexity=5, bins=8), NUMBERS),
    "classes": (RuleClassifier(lambda_0=0.05, bins=8, class_weight="balanced"), LABELS),
    "counts": (RuleRegressor(family="poisson", penalty="l0", max_complexity=4, bins=8), COUNTS),
    "auto": (RuleRegressor(lambda_0=0.08, bins="auto"), NUMBERS),
    "chosen l0": (RuleClassifierCV(**CHOSEN), LABELS),
    "chosen l1": (RuleRegressorCV(penalty="l1", n_lambdas=5, **CHOSEN), NUMBERS),
}
EACH = pytest.mark.parametrize("name", MODELS)


def jaccard_by_hand(one, other, weights=None):
    """Of the rows covered and of the rows left out, the smaller index."""
    weights = np.ones(len(one)) if weights is None else weights
    pairs = [(one, other), (~one, ~other)]
    return min(
        ((a & b) @ weights) / ((a | b) @ weights) if (a | b).any() else 1.0 for a, b in pairs
    )


def fit(name, **given):
    model, y = MODELS[name]
    return clone(model).fit(FRAME, y, **given), y


@EACH
def test_the_same_rows_give_the_same_model(name, monkeypatch):
    weights = np.random.default_rng(0).integers(1, 3, N).astype(float)
    more = {"exposure": np.linspace(0.5, 2.0, N)} if name == "counts" else {}
    monkeypatch.setattr(module, "draw_weights", lambda weights, groups, rng: weights)
    model, y = fit(name, sample_weight=weights, **more)
    found = model.stability(FRAME, y, weights, n_bootstrap=1, **more)
    (again,) = found.resamples
    assert again.ensemble.rules == model.ensemble_.rules
    expected = model.predict(FRAME, **more)
    if name in ("classes", "chosen l0"):
        expected = model.predict_proba(FRAME)[:, 1]
    middle = found.interval(FRAME, **more)
    for column in ("prediction", "low", "high"):
        np.testing.assert_allclose(middle[column], expected, rtol=2e-3)  # paths are solved loosely
    terms = found.terms()
    assert (terms["same"] == 1).all()
    assert (terms["similar"] == 1).all()
    if name != "chosen l1":  # its coefficients may be shrunk
        np.testing.assert_allclose(terms["low"], terms["coefficient"], rtol=1e-3)
    assert (terms["same_sign"] == 1).all()


@pytest.mark.parametrize("name", ["l1", "l0", "classes"])
def test_threads_do_not_matter_and_seeds_do(name):
    model, y = fit(name)
    one, two = (model.stability(FRAME, y, n_bootstrap=3, n_jobs=jobs) for jobs in (None, 2))
    pd.testing.assert_frame_equal(one.terms(), two.terms())
    pd.testing.assert_frame_equal(one.features(), two.features())
    pd.testing.assert_frame_equal(one.pairs(), two.pairs())
    pd.testing.assert_frame_equal(one.interval(FRAME), two.interval(FRAME))
    other = model.stability(FRAME, y, n_bootstrap=3, random_state=1)
    assert not other.interval(FRAME).equals(one.interval(FRAME))
    assert len({str(each.ensemble) for each in one.resamples}) == 3


@pytest.mark.parametrize("name", ["l1", "l0", "classes"])
def test_rows_of_weight_zero_are_absent(name):
    rng = np.random.default_rng(1)
    weights = np.where(rng.random(N) < 0.2, 0.0, rng.integers(1, 3, N))
    model, y = fit(name, sample_weight=weights)
    kept = weights > 0
    whole = model.stability(FRAME, y, weights, n_bootstrap=3)
    part = model.stability(FRAME[kept], y[kept], weights[kept], n_bootstrap=3)
    pd.testing.assert_frame_equal(whole.terms(), part.terms())


def test_parameters_and_bins_are_those_of_the_model():
    model, y = fit("chosen l0")
    found = model.stability(FRAME, y, n_bootstrap=3)
    assert found.complexities().max() <= model.complexity_ + 1e-9
    known = model._thresholds["odd name\n;"]
    cuts = {
        bound
        for one in found.resamples
        for rule in one.ensemble.rules
        for condition in rule.conditions
        if condition.feature == "odd name\n;"
        for bound in (condition.low, condition.high)
        if np.isfinite(bound)
    }
    assert cuts
    assert cuts <= set(known)


def test_shares_are_counts_over_resamples():
    model, y = fit("l0")
    found = model.stability(FRAME, y, n_bootstrap=5, similarity=0.7)
    ensembles = [one.ensemble for one in found.resamples]
    for line in found.features().itertuples():
        uses = [any(line.feature in rule.features for rule in one.rules) for one in ensembles]
        assert line.frequency == pytest.approx(np.mean(uses))
        assert line.in_model == any(line.feature in r.features for r in model.ensemble_.rules)
    frequencies = {(p.feature, p.other): p.frequency for p in found.pairs().itertuples()}
    for pair in combinations(sorted(FRAME.columns), 2):
        has = [any(set(pair) <= set(rule.features) for rule in one.rules) for one in ensembles]
        assert frequencies.get(pair, 0.0) == pytest.approx(np.mean(has))
    table = model.ensemble_.read(FRAME)
    for rule, line in zip(model.ensemble_.rules, found.terms().itertuples(), strict=True):
        mine, best, same = rule.holds(table), [], []
        for one in ensembles:
            theirs = [other.holds(table) for other in one.rules]
            theirs += [~cover for cover in theirs]
            best.append(max(jaccard_by_hand(mine, c) for c in theirs))
            same.append(any((mine == c).all() for c in theirs))
        assert line.similar == pytest.approx(np.mean(np.array(best) >= 0.7))
        assert line.same == pytest.approx(np.mean(same))
    assert "5 resamples: of" in str(found)


def test_intervals_are_quantiles_of_predictions():
    model, y = fit("counts")
    exposure = np.linspace(0.5, 2.0, N)
    found = model.stability(FRAME, y, exposure=exposure, n_bootstrap=6)
    predicted = [one.ensemble.predict(FRAME, np.log(exposure)) for one in found.resamples]
    frame = found.interval(FRAME, 0.5, exposure=exposure)
    np.testing.assert_allclose(frame["prediction"], model.predict(FRAME, exposure=exposure))
    low, high = np.quantile(predicted, [0.25, 0.75], axis=0)
    np.testing.assert_allclose(frame[["low", "high"]].to_numpy().T, [low, high])


def test_coefficients_vary_as_theory_says():
    rng = np.random.default_rng(4)
    n = 400
    frame = pd.DataFrame({"a": rng.integers(0, 2, n), "b": rng.integers(0, 2, n)})
    y = 2.0 * frame["a"] - 1.0 * frame["b"] + rng.normal(size=n)
    model = RuleRegressor(lambda_0=0.02, max_degree=1).fit(frame, y)
    found = model.stability(frame, y, n_bootstrap=60)
    errors = sm.OLS(y, sm.add_constant(frame)).fit().bse[["a", "b"]]
    terms = found.terms(level=0.8)
    assert {rule.split()[0] for rule in terms["rule"]} == {"a", "b"}
    for line in terms.itertuples():
        half = 1.2816 * errors[line.rule.split()[0]]
        assert line.high - line.low == pytest.approx(2 * half, rel=0.35)
        assert line.low < line.coefficient < line.high
    wider = found.terms(level=0.95)
    assert ((wider["high"] - wider["low"]) > (terms["high"] - terms["low"])).all()


def test_a_rule_that_a_resample_does_not_show_has_no_coefficient_there(monkeypatch):
    frame = pd.DataFrame({"a": [0] * 37 + [1] * 3, "b": [0, 1] * 20})
    y = 5.0 * frame["a"] + frame["b"] + np.linspace(0, 0.1, 40)
    model = RuleRegressor(lambda_0=0.001, max_degree=1).fit(frame, y)
    monkeypatch.setattr(
        module, "draw_weights", lambda weights, groups, rng: 1.0 - frame["a"].to_numpy()
    )
    (one,) = model.stability(frame, y, n_bootstrap=1).resamples
    by_rule = dict(zip((r.text() for r in model.ensemble_.rules), one.coefficients, strict=True))
    unknown = [np.isnan(value) for rule, value in by_rule.items() if rule.startswith("a")]
    assert unknown == [True]
    (slope,) = (value for rule, value in by_rule.items() if rule.startswith("b"))
    assert abs(slope) == pytest.approx(1.0, abs=0.05)


# ----------------------------------------------------------------------------- draws, overlaps


@given(st.lists(st.integers(0, 4), min_size=1).filter(any), st.integers(0, 2**32))
def test_whole_weights_count_rows(weights, seed):
    weights = np.array(weights, float)
    drawn = draw_weights(weights, None, np.random.default_rng(seed))
    assert drawn.sum() == weights.sum()
    assert (drawn == np.round(drawn)).all()
    assert (drawn[weights == 0] == 0).all()


@given(st.lists(st.sampled_from([0.0, 0.5, 1.7]), min_size=1).filter(any), st.integers(0, 2**32))
def test_other_weights_stay_with_their_rows(weights, seed):
    weights = np.array(weights)
    drawn = draw_weights(weights, None, np.random.default_rng(seed))
    times = drawn[weights > 0] / weights[weights > 0]
    np.testing.assert_allclose(times, np.round(times))
    assert round(times.sum()) == np.sum(weights > 0)
    assert (drawn[weights == 0] == 0).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 1.7])), min_size=1))
def test_groups_are_drawn_together(rows):
    groups, weights = np.array([g for g, _ in rows]), np.array([w for _, w in rows])
    weights[0] = 1.0
    drawn = draw_weights(weights, groups, np.random.default_rng(len(rows)))
    present = set(groups[weights > 0].tolist())
    times = []
    for group in present:
        mine = (groups == group) & (weights > 0)
        ratios = drawn[mine] / weights[mine]
        np.testing.assert_allclose(ratios, ratios[0])
        times.append(ratios[0])
    assert round(sum(times)) == len(present)
    assert (drawn[weights == 0] == 0).all()


def test_groups_widen_intervals():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(20), 15)
    frame = pd.DataFrame({"a": np.repeat(rng.integers(0, 2, 20), 15)})
    y = frame["a"] + np.repeat(rng.normal(size=20), 15) + 0.1 * rng.normal(size=300)
    model = RuleRegressor(lambda_0=0.01).fit(frame, y)
    apart, together = (
        model.stability(frame, y, groups=groups, n_bootstrap=15).terms() for groups in (None, group)
    )
    widths = [(terms["high"] - terms["low"]).iloc[0] for terms in (apart, together)]
    assert widths[1] > 2 * widths[0]
    with pytest.raises(ValueError, match="`groups` has shape"):
        model.stability(frame, y, groups=group[:4])


def test_draws_are_fair():
    rng, weights = np.random.default_rng(0), np.array([1.0, 2.0, 0.0, 3.0])
    mean = np.mean([draw_weights(weights, None, rng) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(mean, weights, atol=0.1)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.booleans())
def test_overlaps_by_hand(seed, weighted):
    rng = np.random.default_rng(seed)
    first, second = rng.random((3, 12)) < 0.5, rng.random((2, 12)) < 0.4
    weights = rng.integers(1, 5, 12).astype(float) if weighted else np.ones(12)
    expected = [
        max(jaccard_by_hand(mine, other, weights) for cover in second for other in (cover, ~cover))
        for mine in first
    ]
    found = best_jaccard(first, second, weights if weighted else None)
    np.testing.assert_allclose(found, expected)
    assert best_jaccard(first, second[:0], None).tolist() == [0.0] * 3


# -------------------------------------------------------------------------- classes, interrupts


def test_every_class_is_in_every_resample(monkeypatch):
    y = np.where(np.arange(30) < 2, "rare", "usual")
    frame = pd.DataFrame({"a": np.arange(30.0)})
    model = RuleClassifier(lambda_0=0.01).fit(frame, y)
    found = model.stability(frame, y, n_bootstrap=12)
    assert len(found.resamples) == 12
    monkeypatch.setattr(module, "MOST_DRAWS", 0)
    with pytest.raises(ValueError, match="every class; there are too few rows"):
        model.stability(frame, y, n_bootstrap=1)


def test_intervals_of_three_classes():
    classes, rule = ("a", "b", "c"), parse_rule("x > 1")
    ensembles = [
        RuleEnsemble(
            intercept=np.zeros(3),
            rules=(rule,),
            coefficients=np.array([[0.0, shift, -shift]]),
            linear_terms=(),
            linear_coefficients=np.empty((0, 3)),
            family=Multinomial(3),
            names=("x",),
            classes=classes,
        )
        for shift in (1.0, 2.0, 3.0)
    ]
    found = np.array([True])
    resamples = tuple(Resample(one, found, found, one.coefficients) for one in ensembles)
    stability = Stability(ensembles[1], resamples)
    X = pd.DataFrame({"x": [0.0, 2.0]})
    frame = stability.interval(X, 0.5)
    predicted = [one.predict(X) for one in ensembles]
    for k, label in enumerate(classes):
        low, high = np.quantile(predicted, [0.25, 0.75], axis=0)[:, :, k]
        np.testing.assert_allclose(frame[label, "low"], low)
        np.testing.assert_allclose(frame[label, "high"], high)
        np.testing.assert_allclose(frame[label, "prediction"], predicted[1][:, k])
    terms = stability.terms()
    assert terms["coefficient of b"].tolist() == [2.0]
    np.testing.assert_allclose(
        terms[["low of b", "high of b", "same_sign of b"]], [[1.1, 2.9, 1.0]]
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_ends_all_work(n_jobs, monkeypatch):
    calls, release = [], threading.Event()

    def interrupt(self, seed):
        calls.append(seed)
        _thread.interrupt_main()
        release.wait(10)

    monkeypatch.setattr(Bootstrap, "run", interrupt)
    model, y = fit("l0")
    with pytest.raises(KeyboardInterrupt):
        model.stability(FRAME, y, n_bootstrap=20, n_jobs=n_jobs)
    release.set()
    assert len(calls) <= n_jobs


def test_progress_is_shown_only_on_request(capfd):
    model, y = fit("l0")
    model.stability(FRAME, y, n_bootstrap=2)
    assert capfd.readouterr() == ("", "")
    model.stability(FRAME, y, n_bootstrap=2, verbose=1)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "resamples" in shown.err


@pytest.mark.parametrize("kind", [RuleRegressor, RuleRegressorCV])
def test_resamples_are_fitted_in_silence(kind, capfd):
    told = []
    more = {"cv": 2} if kind is RuleRegressorCV else {}
    model = kind(penalty="l0", max_complexity=4, bins=8, verbose=1, callback=told.append, **more)
    model.fit(FRAME, NUMBERS)
    capfd.readouterr()
    told.clear()
    found = model.stability(FRAME, NUMBERS, n_bootstrap=2, n_jobs=2)
    assert capfd.readouterr() == ("", "")
    assert told == []
    quiet = model.set_params(verbose=0, callback=None).stability(FRAME, NUMBERS, n_bootstrap=2)
    pd.testing.assert_frame_equal(found.terms(), quiet.terms())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bootstrap": 0}, "`n_bootstrap` is 0; give a whole number"),
        ({"similarity": 0.0}, "`similarity` is 0"),
        ({"sample_weight": -np.ones(N)}, "`sample_weight` is -1"),
        ({"y": NUMBERS[:5]}, "but y has 5"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options, message):
    model, y = fit("l0")
    with pytest.raises(ValueError, match=message):
        model.stability(FRAME, **{"y": y, **options})
    with pytest.raises(ValueError, match="`level` is 90"):
        Stability(model.ensemble_, ()).interval(FRAME, 90)
