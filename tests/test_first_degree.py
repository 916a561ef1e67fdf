"""LR1 and LR1N of the paper: optimum, certificate, sums, de-biasing."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LogisticRegression

from ruleglm import RuleClassifier, RuleRegressor, parse_rule
from ruleglm.binning import build_binning
from ruleglm.families import FAMILIES, get_family
from ruleglm.frames import read_table
from tests.data import mixed_frame, target_of
from tests.reference.binarise import rule_column
from tests.reference.glm import solve_l1_glm

LAMBDA_0 = 0.004


def first_degree_matrix(frame, bins=10):
    """The paper's binarised matrix, one of each complementary pair of columns."""
    table = read_table(frame)
    binning = build_binning(table, bins=bins)
    codes = binning.encode(table)
    rules = [
        ((f, feature.vocabulary.masks[k]),)
        for f, feature in enumerate(binning.features)
        for k in feature.first_degree
    ]
    return np.column_stack([rule_column(codes, rule) for rule in rules])


def model_for(family, **parameters):
    if family == "binomial":
        return RuleClassifier(max_degree=1, **parameters)
    return RuleRegressor(family=family, max_degree=1, **parameters)


@pytest.mark.parametrize("seed", range(10))
def test_objective_equals_scikit_learn_gaussian(seed):
    frame = mixed_frame(200, seed)
    y = target_of("gaussian", frame, seed)
    model = RuleRegressor(max_degree=1, lambda_0=LAMBDA_0, bins=10, tol=1e-6).fit(frame, y)
    scaled = (y - y.mean()) / y.std()
    matrix = first_degree_matrix(frame)
    lasso = Lasso(alpha=1.2 * LAMBDA_0, tol=1e-12, max_iter=100_000).fit(matrix, scaled)
    residual = scaled - lasso.predict(matrix)
    objective = 0.5 * np.mean(residual**2) + 1.2 * LAMBDA_0 * np.abs(lasso.coef_).sum()
    assert model.objective_ == pytest.approx(objective, abs=1e-6)
    assert model.lower_bound_ <= objective + 1e-12
    assert model.certified_


@pytest.mark.parametrize("seed", range(10))
def test_objective_equals_scikit_learn_binomial(seed):
    frame = mixed_frame(200, seed)
    y = target_of("binomial", frame, seed)
    model = RuleClassifier(max_degree=1, lambda_0=LAMBDA_0, bins=10, tol=1e-6).fit(frame, y)
    matrix = first_degree_matrix(frame)
    peer = LogisticRegression(
        l1_ratio=1,
        C=1 / (1.2 * LAMBDA_0 * len(y)),
        solver="saga",
        tol=1e-9,
        max_iter=200_000,
        random_state=0,
    ).fit(matrix, y)
    eta = peer.decision_function(matrix)
    loss = np.mean(np.logaddexp(0, eta) - y * eta)
    objective = loss + 1.2 * LAMBDA_0 * np.abs(peer.coef_).sum()
    assert model.objective_ == pytest.approx(objective, abs=1e-6)
    assert model.lower_bound_ <= objective + 1e-12
    assert model.certified_


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tol", [0.3, 1e-3, 1e-7])
def test_the_certificate_brackets_the_optimum(family, tol):
    frame = mixed_frame(150, 4)
    y = target_of(family, frame, 4)
    weights = np.random.default_rng(0).random(len(y)) + 0.1
    offset = 0.2 * np.random.default_rng(1).standard_normal(len(y))
    model = model_for(family, lambda_0=0.01, bins=6, tol=tol)
    model.fit(frame, y, weights, offset=offset)
    if family == "gaussian":
        rest = y - offset
        mean = np.average(rest, weights=weights)
        sd = np.sqrt(np.average((rest - mean) ** 2, weights=weights))
        y, offset = (y - mean) / sd, offset / sd
    table = read_table(frame)
    binning = build_binning(table, bins=6, sample_weight=weights)
    codes = binning.encode(table)
    columns = [
        rule_column(codes, ((f, mask),))
        for f, feature in enumerate(binning.features)
        for mask in feature.vocabulary.masks
    ]
    best, _, _ = solve_l1_glm(
        np.column_stack(columns), y, get_family(family), 0.012, weights, offset
    )
    assert model.lower_bound_ <= best + 1e-9
    assert model.objective_ >= best - 1e-9
    assert model.gap_ <= tol


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("linear_terms", [False, True])
@pytest.mark.parametrize("debias", [False, True])
def test_rules_add_up_to_the_prediction(family, linear_terms, debias):
    frame = mixed_frame(300, 5)
    y = target_of(family, frame, 5)
    model = model_for(family, lambda_0=0.003, linear_terms=linear_terms, debias=debias)
    model.fit(frame, y)
    orders = {"size": ("S", "M", "L", "XL")}
    table = read_table(frame)
    eta = np.full(len(frame), model.intercept_)
    lines = {term.text(): term for term in model.ensemble_.linear_terms}
    for row in model.rules_.itertuples():
        if row.degree == 0:
            eta += row.coefficient * lines[row.rule.split(" (line")[0]].values(table)
        else:
            eta += row.coefficient * parse_rule(row.rule, orders).holds(table)
    mean = get_family(family).mean(eta)
    predicted = model.predict_proba(frame)[:, 1] if family == "binomial" else model.predict(frame)
    np.testing.assert_allclose(predicted, mean, rtol=1e-9, atol=1e-9)


def test_the_rules_frame_describes_the_rows():
    frame = mixed_frame(400, 6)
    model = RuleClassifier(max_degree=1, lambda_0=0.005).fit(frame, target_of("binomial", frame))
    rules = model.rules_
    columns = ["rule", "coefficient", "odds_ratio", "degree", "support", "importance"]
    assert list(rules) == columns
    for rule, row in zip(model.ensemble_.rules, rules.itertuples(), strict=True):
        holds = rule.holds(read_table(frame))
        assert row.support == pytest.approx(holds.mean())
        assert row.importance == pytest.approx(abs(row.coefficient) * holds.std())
    assert rules["importance"].is_monotonic_decreasing
    assert model.complexity_ == pytest.approx(1.2 * len(rules))


def test_of_a_complementary_pair_only_one_rule_is_in_the_model():
    frame = mixed_frame(300, 7).drop(columns=["age", "region"])
    model = RuleRegressor(max_degree=1, lambda_0=0.001).fit(
        frame, target_of("gaussian", mixed_frame(300, 7))
    )
    table = read_table(frame)
    seen = set()
    for rule in model.ensemble_.rules:
        holds = rule.holds(table)
        key = (holds if holds[0] else ~holds).tobytes()
        assert key not in seen
        seen.add(key)


def test_linear_coefficients_are_in_the_units_of_the_feature():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"metres": rng.uniform(0, 10, 500)})
    y = 3.0 * frame["metres"] + 0.01 * rng.standard_normal(500)
    model = RuleRegressor(max_degree=1, lambda_0=0.05, linear_terms=True).fit(frame, y)
    millimetres = RuleRegressor(max_degree=1, lambda_0=0.05, linear_terms=True).fit(1000 * frame, y)
    assert model.ensemble_.linear_coefficients[0] == pytest.approx(3.0, rel=0.01)
    assert millimetres.ensemble_.linear_coefficients[0] == pytest.approx(0.003, rel=0.01)
    np.testing.assert_allclose(millimetres.predict(1000 * frame), model.predict(frame), rtol=1e-6)


def test_lambda_means_the_same_in_every_unit_of_the_target():
    frame = mixed_frame(300, 8)
    y = target_of("gaussian", frame)
    plain = RuleRegressor(max_degree=1, lambda_0=0.01).fit(frame, y)
    scaled = RuleRegressor(max_degree=1, lambda_0=0.01).fit(frame, 1e6 * y - 4e7)
    assert plain.objective_ == pytest.approx(scaled.objective_, rel=1e-6)
    assert list(plain.rules_["rule"]) == list(scaled.rules_["rule"])
    np.testing.assert_allclose(scaled.predict(frame), 1e6 * plain.predict(frame) - 4e7, rtol=1e-6)


def test_debiasing_lowers_the_loss_on_the_same_rules():
    frame = mixed_frame(400, 9)
    y = target_of("gaussian", frame)
    biased = RuleRegressor(max_degree=1, lambda_0=0.03, debias=False).fit(frame, y)
    refitted = RuleRegressor(max_degree=1, lambda_0=0.03).fit(frame, y)
    assert set(biased.rules_["rule"]) == set(refitted.rules_["rule"])
    assert refitted.score(frame, y) > biased.score(frame, y)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_count_rows(family):
    frame = mixed_frame(150, 10)
    y = target_of(family, frame)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    offset = 0.1 * np.arange(len(y)) / len(y)
    parameters = {"lambda_0": 0.01, "linear_terms": True, "tol": 1e-8, "debias": False}
    weighted = model_for(family, **parameters).fit(frame, y, weights, offset=offset)
    repeated = model_for(family, **parameters).fit(frame.iloc[rows], y[rows], offset=offset[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    # so few rows leave columns collinear: coefficients are not unique, but what they predict is
    np.testing.assert_allclose(
        weighted.ensemble_.decision_function(frame),
        repeated.ensemble_.decision_function(frame),
        rtol=1e-4,
        atol=1e-4,
    )


def test_exposure_is_the_logarithm_of_an_offset():
    frame = mixed_frame(300, 11)
    rng = np.random.default_rng(0)
    exposure = rng.uniform(0.2, 2.0, 300)
    y = rng.poisson(exposure * np.exp(0.5 * (frame["claims"] > 2)))
    by_exposure = RuleRegressor(family="poisson").fit(frame, y, exposure=exposure)
    by_offset = RuleRegressor(family="poisson").fit(frame, y, offset=np.log(exposure))
    assert by_exposure.ensemble_ == by_offset.ensemble_
    np.testing.assert_allclose(
        by_exposure.predict(frame, exposure=2 * np.ones(300)), 2 * by_exposure.predict(frame)
    )


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_do_not_change_the_model(n_jobs, monkeypatch):
    monkeypatch.setattr("ruleglm.parallel.SHORT_PART", 1000)
    frame = mixed_frame(3000, 12)
    y = target_of("binomial", frame)
    one = RuleClassifier(n_jobs=1).fit(frame, y)
    many = RuleClassifier(n_jobs=n_jobs).fit(frame, y)
    assert one.ensemble_ == many.ensemble_
    assert one.lower_bound_ == many.lower_bound_
