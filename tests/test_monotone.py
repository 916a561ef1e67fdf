"""Monotone features: the search, the signs of coefficients, the certificate, the predictions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV, refit
from ruleglm.binning import build_binning
from ruleglm.constraints import Constraints
from ruleglm.engines import LocalEngine
from ruleglm.families import FAMILIES, get_family
from ruleglm.frames import read_table
from ruleglm.pricing import (
    BeamOptions,
    BeamPricer,
    ConditionTable,
    HistogramPricer,
    Limits,
    MipOptions,
    MipPricer,
    Penalty,
)
from ruleglm.pricing.gains import GainPricer
from ruleglm.solvers.signed import check_signs, solve_signed
from tests.pricing_cases import draw_constraints, make_bins
from tests.reference.binarise import rule_column
from tests.reference.gains import gain_of
from tests.reference.glm import solve_l1_glm
from tests.reference.signed import allowed_rules, signed_columns
from tests.test_column_generation import small_frame, target_from
from tests.test_pricing import random_rows

seeds = st.integers(0, 2**32 - 1)


# --- pricers and brute force


def constrained_engine(seed, n=60, n_features=4, degree=3):
    """Rows at the empty model, the table of random constraints, and all rules allowed."""
    codes, binning, y = random_rows(seed, n=n, n_features=n_features)
    engine = LocalEngine(codes, binning.n_bins, y, get_family("gaussian"))
    engine.set_coefficients(np.array([engine.null_intercept()]))
    constraints = draw_constraints(np.random.default_rng(seed), binning.features)
    table = ConditionTable(binning.features, constraints)
    return engine, table, allowed_rules(codes, binning.features, constraints, degree)


def best_of(engine, rules, penalty):
    """The largest reduced cost, and the largest ratio, of rules with their signs."""
    codes, gradient = engine.gather()
    values = [-sign * (gradient @ rule_column(codes, rule)) for rule, _, sign in rules]
    prices = [penalty.of(degree) for _, degree, _ in rules]
    pairs = list(zip(values, prices, strict=True))
    return max(v - p for v, p in pairs), max(v / p for v, p in pairs)


def check_allowed(priced, table):
    """What a pricer returns lies inside the class."""
    for rule, degree in zip(priced.rules, priced.degrees, strict=True):
        assert table.degree(rule) == degree
        assert table.rule_sign(rule) in (-1, 0, 1)  # raises if no sign is right
        assert table.constraints.allows([feature for feature, _ in rule])


@settings(max_examples=25)
@given(seeds, st.integers(1, 3))
def test_histograms_find_the_best_rule_allowed(seed, degree):
    engine, table, rules = constrained_engine(seed, degree=degree)
    penalty = Penalty(0.004, 0.003)
    priced = HistogramPricer(table, degree, staged=False, n_rules=1000).price(
        engine, penalty, set(), Limits()
    )
    best, ratio = best_of(engine, rules, penalty)
    assert priced.complete
    assert priced.best == pytest.approx(best, abs=1e-12)
    assert priced.ratio_bound >= ratio - 1e-9
    assert priced.ratio_bound == pytest.approx(ratio, rel=1e-6) or ratio < 1
    check_allowed(priced, table)


@settings(max_examples=10)
@given(seeds, st.sampled_from([4, None]))
def test_the_deep_search_finds_the_best_rule_allowed(seed, degree):
    engine, table, rules = constrained_engine(seed, 40, 3, 4 if degree else 5)
    penalty = Penalty(0.001, 0.0005)
    priced = HistogramPricer(table, degree, staged=False, n_rules=1000).price(
        engine, penalty, set(), Limits()
    )
    best, ratio = best_of(engine, rules, penalty)
    assert priced.complete
    assert priced.best >= best - 1e-12
    assert priced.ratio_bound >= ratio - 1e-9
    if degree is not None:
        assert priced.best == pytest.approx(best, abs=1e-12)
    check_allowed(priced, table)


@settings(max_examples=8)
@given(seeds)
def test_the_beam_stays_inside_the_class(seed):
    engine, table, rules = constrained_engine(seed)
    penalty = Penalty(0.002, 0.001)
    priced = BeamPricer(table, 3, BeamOptions(n_best=3, beam_width=2)).price(
        engine, penalty, set(), Limits()
    )
    best, ratio = best_of(engine, rules, penalty)
    assert priced.best <= best + 1e-12
    assert priced.ratio_bound >= ratio - 1e-9
    check_allowed(priced, table)


@pytest.mark.parametrize("seed", range(3))
def test_the_integer_program_finds_the_best_rule_allowed(seed):
    pytest.importorskip("highspy")
    engine, table, _ = constrained_engine(seed, 30, 3, 1)
    ways = tuple(1 if bins.kind == "number" else 0 for bins in table.features)
    table = ConditionTable(table.features, Constraints(ways))
    penalty = Penalty(0.01, 0.01)
    rules = allowed_rules(engine.gather()[0], table.features, table.constraints, 3)
    priced = MipPricer(table, 3, MipOptions()).price(engine, penalty, set(), Limits())
    assert priced.complete
    assert priced.best == pytest.approx(best_of(engine, rules, penalty)[0], abs=1e-7)
    check_allowed(priced, table)


@settings(max_examples=15)
@given(seeds)
def test_a_pursuit_is_offered_the_best_rule_allowed(seed):
    engine, table, rules = constrained_engine(seed)
    pricer = GainPricer(table, 3, 0.05, exhaustive=True)
    found = pricer.price(engine, 0.0, 1000, Limits(), full=True)
    codes, gradient = engine.gather()
    total = engine.hessian_sum()
    gains = {}
    for rule, degree, sign in rules:
        column = rule_column(codes, rule)
        slope = gradient @ column
        if sign * slope < 0:
            gain = gain_of(slope, total * column.mean(), 1 / total, 0.05)
            gains[degree] = max(gain, gains.get(degree, 0.0))
    for candidate in found:
        slope = gradient @ rule_column(codes, candidate.rule)
        assert table.rule_sign(candidate.rule) * slope >= 0.0
        assert table.constraints.allows([feature for feature, _ in candidate.rule])
        curve = total * rule_column(codes, candidate.rule).mean()
        assert candidate.gain == pytest.approx(gain_of(slope, curve, 1 / total, 0.05))
    best = max((one.gain for one in found), default=0.0)
    best_allowed = max((gain for degree, gain in gains.items() if degree < 3), default=0.0)
    assert best >= best_allowed * (1 - 1e-6)


@pytest.mark.parametrize("max_degree", [1, 2, 3, 4])
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_what_goes_against_the_constraints_is_not_found(penalty, max_degree):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (80, 4)).astype(float)
    y = X @ [1.0, -1.0, 1.0, -1.0] + 0.01 * rng.normal(size=80)
    model = RuleRegressor(
        penalty=penalty,
        max_degree=max_degree,
        lambda_0=0.1,
        price=0.01,
        monotone={0: -1, 1: 1, 2: -1, 3: 1},
        linear_terms=True,
    ).fit(X, y)
    assert len(model.rules_) == 0
    assert model.certified_ == (penalty == "l1")
    model.set_params(monotone={0: 1, 1: -1, 2: 1, 3: -1}).fit(X, y)
    assert model.score(X, y) > 0.6


def test_a_threshold_above_all_values_is_not_a_direction():
    """On these rows it tells nothing but that the value is there, which has no sign."""
    bins = make_bins("number", 5, 0b10011)
    table = ConditionTable((bins,), Constraints((1,)))
    assert table.features[0].vocabulary.masks.count(0b0011) == 1
    made = table.make_rule([(0, 0b0011)])
    assert made == (((0, bins.present_mask),), 1)
    assert table.rule_sign(made[0]) == 0
    assert table.rule_sign(((0, 0b0001),)) == 1


def test_columns_of_equal_rows_enter_for_each_sign():
    codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint8)
    signs = {((0, 2),): 1, ((0, 1),): -1, ((1, 2),): 0, ((1, 1),): 0}
    for held, new, n_new in [
        (((0, 2),), ((0, 1),), 0),  # "above, +" and "up to, -" are one
        (((0, 2),), ((1, 2),), 1),  # a free one can do more
        (((1, 1),), ((0, 2),), 0),
    ]:
        engine = LocalEngine(
            codes, np.array([3, 3]), np.arange(4.0), get_family("gaussian"), sign_of=signs.get
        )
        assert engine.add_rules([held], [1]) == 1
        assert engine.add_rules([new], [1]) == n_new
        assert engine.column_signs().tolist() == [0, signs[held], *[signs[new]] * n_new]


# --- coefficients


def test_a_coefficient_of_the_wrong_sign_is_refused():
    check_signs(np.array([[-1.0, 2.0, 0.0]]), np.array([0, 1, -1]))
    with pytest.raises(RuntimeError, match="broke a monotone constraint"):
        check_signs(np.array([[-1.0, 2.0, 1.0]]), np.array([0, 1, -1]))


@settings(max_examples=60)
@given(seeds, st.integers(1, 9))
def test_signed_quadratic_models_are_solved(seed, n):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n + 3, n))
    if n > 2:
        design[:, 0] = design[:, 1] + 1e-3 * design[:, 0]
    ridge = 10.0 ** rng.integers(-6, 1)
    matrix = design.T @ design + ridge * np.eye(n)
    signs = rng.integers(-1, 2, n)
    coef = rng.normal(size=n) * rng.integers(0, 2, n)
    coef = np.where(signs == 0, coef, signs * np.abs(coef))
    right = rng.normal(size=n) * 10
    found = solve_signed(matrix, matrix @ coef - right, coef, signs)
    assert np.all(signs * found >= 0.0)
    factor = np.linalg.cholesky(matrix)
    bounds = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
    truth = lsq_linear(factor.T, np.linalg.solve(factor, right), bounds, "bvls", tol=1e-14).x

    def value(x):
        return 0.5 * x @ matrix @ x - right @ x

    assert value(found) <= value(truth) + 1e-8 * (1 + abs(value(truth)))


def winsorised(values):
    """A linear term as it enters the fit, for a column without missing values."""
    ordered = np.sort(values)
    reached = np.arange(1, len(values) + 1) / len(values)
    low, high = ordered[np.searchsorted(reached, [0.025, 0.975])]
    clipped = np.clip(values, low, high)
    return 0.4 * (clipped - clipped.mean()) / clipped.std()


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize(
    ("monotone", "more"),
    [
        ({"a": 1, "b": 1}, {}),
        ({"a": -1, "b": 1}, {"max_degree": 3}),
        ({"a": 1, "b": -1}, {"linear_terms": True}),
        ({"a": -1}, {"allowed_interactions": [("a", "c"), ("b", "c")]}),
        ({"b": 1}, {"allowed_interactions": False}),
        ({}, {"forbidden_interactions": [("a", "c"), ("b", "a")], "max_degree": 3}),
    ],
)
def test_the_objective_is_the_optimum_over_all_rules_allowed(family, monotone, more):
    frame, eta = small_frame(1)
    frame["a"] = frame["a"].fillna(3.0 if "linear_terms" in more else np.nan)
    y = target_from(family, eta, 1)
    kind = RuleRegressor(family=family) if family != "binomial" else RuleClassifier()
    wishes = {"monotone": monotone, **more}
    model = kind.set_params(lambda_0=0.01, bins=10, tol=1e-7, **wishes).fit(frame, y)
    table = read_table(frame)
    binning = build_binning(table, bins=10)
    codes = binning.encode(table)
    ways = tuple(monotone.get(name, 0) for name in frame.columns)
    named = {"a": 0, "b": 1, "c": 2}
    groups = more.get("allowed_interactions", "all")
    groups = None if groups == "all" else [[named[n] for n in group] for group in groups or ()]
    pairs = more.get("forbidden_interactions", ())
    apart = {tuple(sorted(named[name] for name in pair)) for pair in pairs}
    constraints = Constraints(ways, groups, frozenset(apart))
    rules = allowed_rules(codes, binning.features, constraints, more.get("max_degree", 2))
    columns, degrees, signs = signed_columns(codes, rules)
    penalties = 0.01 * (1 + 0.2 * degrees)
    if "linear_terms" in more:
        lines = np.column_stack([winsorised(frame[name].to_numpy(float)) for name in "ab"])
        columns, signs = np.hstack([lines, columns]), np.concatenate([ways[:2], signs])
        penalties = np.concatenate([[0.01, 0.01], penalties])
    best, *_ = solve_l1_glm(columns, y, get_family(family), penalties, signs=signs)
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    assert model.lower_bound_ <= best + 1e-9
    assert model.certified_
    assert ("within the monotone constraints" in model.certificate_) == bool(monotone)
    assert ("interactions allowed" in model.certificate_) == (groups is not None or bool(apart))


# --- predictions


def random_frame(rng, n):
    frame = pd.DataFrame(
        {
            "up": np.round(rng.normal(size=n), 1),
            "down": rng.integers(0, 5, n).astype(float),
            "size": pd.Categorical(rng.choice(list("SML"), n), list("SML"), ordered=True),
            "free": rng.normal(size=n),
            "kind": rng.choice(["x", "y", "z"], n),
        }
    )
    for name in ("up", "size", "kind"):
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame


def contrary_target(rng, frame, family):
    """A target that depends on everything, interactions included, and not always as demanded."""
    up = frame["up"].fillna(0.3)
    large = (frame["size"] == "L").to_numpy(float)
    eta = np.sin(3 * up) + up * np.sign(frame["free"]) - 0.8 * (frame["down"] == 2)
    eta += large * (frame["kind"] == "x") - 0.7 * large + 0.5 * (frame["down"] > 3) * (up > 0)
    eta = eta.to_numpy(float) + 0.3 * rng.normal(size=len(frame))
    if family == "gaussian":
        return eta
    if family == "binomial":
        return (eta > np.median(eta)).astype(int)
    mean = np.exp(0.5 * eta)
    return rng.poisson(mean) if family in ("poisson", "tweedie") else mean + 0.1


MONOTONE = {"up": 1, "down": -1, "size": 1}


def check_monotone(ensemble, rng, n=40):
    """Move one feature at a time, between and beyond its thresholds, the others as they fall."""
    others = random_frame(rng, n)
    grid = [c.low for rule in ensemble.rules for c in rule.conditions if hasattr(c, "low")]
    grid += [c.high for rule in ensemble.rules for c in rule.conditions if hasattr(c, "high")]
    bounds = [b for b in grid if np.isfinite(b)] + [-9.0, 9.0]
    values = np.unique(np.concatenate([bounds, np.nextafter(bounds, 99), rng.normal(size=9)]))
    for name, way in MONOTONE.items():
        steps = list("SML") if name == "size" else values
        moved = pd.concat([others] * len(steps), ignore_index=True)
        moved[name] = np.repeat(steps, n)
        if name == "size":
            moved[name] = pd.Categorical(moved[name], list("SML"), ordered=True)
        etas = ensemble.decision_function(moved).reshape(len(steps), n)
        assert np.all(way * np.diff(etas, axis=0) >= -1e-9), name


@settings(max_examples=8)
@given(seeds, st.sampled_from(["l1", "l0"]), st.booleans(), st.sampled_from(list(FAMILIES)))
def test_predictions_are_monotone(seed, penalty, linear_terms, family):
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, 150)
    y = contrary_target(rng, frame, family)
    kind = RuleRegressor(family=family) if family != "binomial" else RuleClassifier()
    model = kind.set_params(
        penalty=penalty,
        linear_terms=linear_terms,
        lambda_0=0.005,
        max_complexity=12,
        max_degree=3,
        bins=6,
        tol=1e-3,
        monotone=MONOTONE,
    ).fit(frame, y)
    assert len(model.ensemble_.rules) > 0
    check_monotone(model.ensemble_, rng)


@pytest.mark.parametrize(
    ("kind", "family"), [(RuleRegressorCV, "gaussian"), (RuleClassifierCV, "binomial")]
)
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_every_model_of_a_path_is_monotone(kind, family, penalty):
    rng = np.random.default_rng(4)
    frame = random_frame(rng, 200)
    y = contrary_target(rng, frame, family)
    model = kind(
        penalty=penalty, n_lambdas=5, max_complexity=10, cv=2, bins=8, monotone=MONOTONE
    ).fit(frame, y)
    check_monotone(model.ensemble_, rng)
    for index in range(len(model.path_)):
        for variant in model.path_.variants[::2]:
            ensemble = model.path_.ensemble(index, variant)
            assert np.all(ensemble.coefficients != 0.0)
            check_monotone(ensemble, rng, 8)


def test_without_constraints_this_target_is_not_monotone():
    rng = np.random.default_rng(4)
    frame = random_frame(rng, 200)
    model = RuleRegressor(lambda_0=0.005, bins=8).fit(
        frame, contrary_target(rng, frame, "gaussian")
    )
    with pytest.raises(AssertionError):
        check_monotone(model.ensemble_, rng)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_positions_say_the_same_as_names(penalty):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] - X[:, 1] ** 2 + 0.1 * rng.normal(size=120)
    options = {"penalty": penalty, "bins": 8, "max_complexity": 8}
    by_place = RuleRegressor(monotone={0: -1, 1: 1}, **options).fit(X, y)
    by_name = RuleRegressor(monotone={"x0": -1, "x1": 1}, **options).fit(X, y)
    assert by_place.ensemble_ == by_name.ensemble_
    turned = RuleRegressor(monotone={0: 1, 1: -1}, **options).fit(-X, y)
    assert turned.predict(-X) == pytest.approx(by_place.predict(X), abs=0.2)


# --- errors


@pytest.mark.parametrize(
    ("monotone", "error", "words"),
    [
        ({"kind": 1}, ValueError, "'kind', whose levels have no order"),
        ({"upp": 1}, ValueError, "`monotone` names 'upp'; the nearest names are 'up'"),
        ({9: 1}, ValueError, "`monotone` gives column 9, but X has 5 columns"),
        ({"up": 2}, ValueError, "`monotone` of column 'up' is 2; give 1"),
        ({"up": True}, ValueError, "`monotone` of column 'up' is True"),
        ({None: 1}, TypeError, "`monotone` holds None; give names or positions"),
        ([1, -1], ValueError, "The 'monotone' parameter"),
    ],
)
@pytest.mark.parametrize("kind", [RuleRegressor, RuleRegressorCV])
def test_errors_name_the_column(kind, monotone, error, words):
    frame = random_frame(np.random.default_rng(0), 20)
    with pytest.raises(error, match=words):
        kind(monotone=monotone).fit(frame, np.arange(20.0))


# --- edited models


@pytest.mark.parametrize("linear_terms", [False, True])
def test_refits_of_edited_models_keep_the_signs(linear_terms):
    rng = np.random.default_rng(7)
    frame = random_frame(rng, 200)
    y = contrary_target(rng, frame, "gaussian")
    model = RuleRegressor(lambda_0=0.02, bins=8, monotone=MONOTONE, linear_terms=linear_terms)
    model.fit(frame, y)
    against = "down > 2 and free > 0", "up <= 0.5 and kind = 'x'", "size > 'S'"
    edited = model.refit(frame, -y, add=against)
    check_monotone(edited.ensemble_, rng)
    check_monotone(refit(edited.ensemble_, frame, -y, monotone=MONOTONE), rng)
    with pytest.raises(AssertionError):
        check_monotone(refit(edited.ensemble_, frame, -y), rng)
    for rule in ("0 < up <= 1", "up > 0 and down > 2", "up > 0 and size <= 'S'"):
        with pytest.raises(ValueError, match="has the right sign with no coefficient"):
            model.refit(frame, y, add=[rule])


# --- beside rules that a person gives or forbids


@pytest.mark.parametrize("penalty", ["l1", "l0"])
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_rules_included_have_signs_too(penalty, family):
    rng = np.random.default_rng(8)
    frame = random_frame(rng, 200)
    y = contrary_target(rng, frame, family)
    y = 1 - y if family == "binomial" else -y
    include = ["up > 0.5 and kind = 'x'", "down <= 2", "size > 'M'", "free > 0", "down"]
    kind = RuleClassifier() if family == "binomial" else RuleRegressor()
    model = kind.set_params(
        penalty=penalty, lambda_0=0.01, max_complexity=15, bins=8, monotone=MONOTONE
    ).set_params(include=include, exclude=["up > 0", "down > 2 and free > 0"])
    model.fit(frame, y)
    check_monotone(model.ensemble_, rng)
    learned = {str(rule) for rule in model.ensemble_.rules}
    assert "free > 0" in learned
    assert not learned & {"up > 0", "up <= 0", "down > 2 and free > 0"}
    with pytest.raises(ValueError, match="`0 < up <= 1` has the right sign with no coefficient"):
        model.set_params(include=["0 < up <= 1"]).fit(frame, y)


def test_the_certificate_knows_of_included_rules_with_signs():
    frame, eta = small_frame(1)
    y = -target_from("gaussian", eta, 1)
    model = RuleRegressor(lambda_0=0.01, bins=10, tol=1e-7, monotone={"a": 1, "b": 1})
    model.set_params(include=["a > 1", "b > 0", "c = 'x'"]).fit(frame, y)
    table = read_table(frame)
    binning = build_binning(table, bins=10)
    codes = binning.encode(table)
    rules = allowed_rules(codes, binning.features, Constraints((1, 1, 0)), 2)
    columns, degrees, signs = signed_columns(codes, rules)
    given = np.column_stack([frame["a"] > 1, frame["b"] > 0, frame["c"] == "x"]).astype(float)
    best, *_ = solve_l1_glm(
        np.hstack([given, columns]),
        y,
        get_family("gaussian"),
        np.concatenate([[0.0, 0.0, 0.0], 0.01 * (1 + 0.2 * degrees)]),
        signs=np.concatenate([[1, 1, 0], signs]),
    )
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    assert model.lower_bound_ <= best + 1e-9
    assert model.certified_


def test_more_than_two_classes_are_refused():
    frame = random_frame(np.random.default_rng(0), 60)
    with pytest.raises(ValueError, match="`monotone` is for regressions and two classes"):
        RuleClassifier(monotone={"up": 1}).fit(frame, np.arange(60) % 3)


def test_a_warm_start_forgets_what_is_no_longer_allowed():
    rng = np.random.default_rng(9)
    frame = random_frame(rng, 150)
    y = contrary_target(rng, frame, "gaussian")
    for penalty in ("l1", "l0"):
        options = {"penalty": penalty, "lambda_0": 0.01, "max_complexity": 12, "bins": 8}
        cold = RuleRegressor(**options, monotone=MONOTONE).fit(frame, y)
        warm = RuleRegressor(**options, warm_start=True).fit(frame, y)
        warm.set_params(monotone=MONOTONE).fit(frame, y)
        check_monotone(warm.ensemble_, rng)
        assert warm.certified_ == cold.certified_
