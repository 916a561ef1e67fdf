"""The slow references agree with other people's code, and with hand-written cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso, LogisticRegression, TweedieRegressor

from ruleglm.families import FAMILIES, get_family
from tests.reference.binarise import all_rules, condition_columns, rule_column
from tests.reference.glm import SplitProblem, duality_gap, solve_l1_glm

CODES = np.array([[0, 1, 2, 1], [1, 0, 0, 1]], dtype=np.uint8)
MASKS = [[0b001, 0b011, 0b110, 0b100], [0b01, 0b10]]


def test_condition_columns_by_hand():
    columns, conditions = condition_columns(CODES, MASKS)
    assert conditions == [(0, 1), (0, 3), (0, 6), (0, 4), (1, 1), (1, 2)]
    assert_array_equal(
        columns.T,
        [[1, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1], [0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]],
    )


def test_masks_beyond_64_bins():
    columns, _ = condition_columns(
        np.array([[0, 200, 255]], dtype=np.uint8), [[1 << 200, 1 << 255]]
    )
    assert_array_equal(columns, [[0, 0], [1, 0], [0, 1]])


def test_all_rules_of_degree_one_are_the_conditions():
    rules = all_rules(CODES, MASKS, 1)
    assert rules == [(((f, mask),), 1) for f, masks in enumerate(MASKS) for mask in masks]


def test_all_rules_of_degree_two_by_hand():
    rules = dict(all_rules(CODES, MASKS, 2))
    assert len(rules) == 6 + 1 + 4 * 2
    assert rules[((0, 0b010),)] == 2
    assert rules[((0, 0b001),)] == 1
    assert rules[((0, 0b011), (1, 0b10))] == 2
    assert_array_equal(rule_column(CODES, ((0, 0b010),)), [0, 1, 0, 1])
    assert_array_equal(rule_column(CODES, ((0, 0b011), (1, 0b10))), [1, 0, 0, 1])
    assert_array_equal(rule_column(CODES, ()), [1, 1, 1, 1])


def test_all_rules_of_degree_three_count_conditions():
    rules = dict(all_rules(CODES, MASKS, 3))
    assert rules[((0, 0b010), (1, 0b01))] == 3
    exclusions = [[0b1110, 0b1101, 0b1011]]
    assert dict(all_rules(CODES[:1], exclusions, 3)).get(((0, 0b1000),)) is None
    assert dict(all_rules(CODES[:1], exclusions, 3, per_feature=3))[((0, 0b1000),)] == 3


def draw_problem(seed, n=60, k=8):
    """Correlated 0/1 columns, a duplicate and a complement among them, with weights."""
    rng = np.random.default_rng(seed)
    A = (rng.normal(size=(n, k)) + rng.normal(size=(n, 1)) > 0.4).astype(float)
    A[:, -1], A[:, -2] = A[:, 0], 1.0 - A[:, 1]
    eta = A[:, 0] - 1.5 * A[:, 2] + 0.3 * rng.normal(size=n)
    return A, eta, rng.exponential(size=n), rng


def draw_target(family, eta, rng):
    mean = family.mean(eta)
    if family.name == "gaussian":
        return mean + rng.normal(size=len(eta))
    if family.name == "binomial":
        return (rng.random(len(eta)) < mean).astype(float)
    if family.name == "poisson":
        return rng.poisson(mean).astype(float)
    if family.name == "negative_binomial":
        return rng.poisson(mean * rng.gamma(1.0, 1.0, len(eta))).astype(float)
    zero = (family.name == "tweedie") & (rng.random(len(eta)) < 0.4)
    return np.where(zero, 0.0, rng.gamma(2.0, mean))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalty", [0.3, 0.05, 0.005])
def test_gaussian_agrees_with_lasso(seed, penalty):
    A, eta, weights, rng = draw_problem(seed)
    family = get_family("gaussian")
    y = draw_target(family, eta, rng)
    objective, _, _ = solve_l1_glm(A, y, family, penalty, weights)
    lasso = Lasso(alpha=penalty, tol=1e-14, max_iter=100_000).fit(A, y, sample_weight=weights)
    residual = y - lasso.predict(A)
    theirs = 0.5 * np.average(residual**2, weights=weights) + penalty * np.abs(lasso.coef_).sum()
    assert_allclose(objective, theirs, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalty", [0.05, 0.02, 0.004])  # saga stops early at no coefficient
def test_binomial_agrees_with_logistic_regression(seed, penalty):
    A, eta, weights, rng = draw_problem(seed)
    family = get_family("binomial")
    y = draw_target(family, eta, rng)
    objective, _, _ = solve_l1_glm(A, y, family, penalty, weights)
    model = LogisticRegression(
        l1_ratio=1.0, C=1.0 / penalty, solver="saga", tol=1e-12, max_iter=200_000
    ).fit(A, y, sample_weight=weights / weights.sum())
    loss = family.loss(y, model.decision_function(A))
    theirs = np.average(loss, weights=weights) + penalty * np.abs(model.coef_).sum()
    assert_allclose(objective, theirs, atol=1e-8)
    assert objective <= theirs + 1e-10


@pytest.mark.parametrize(("name", "power"), [("poisson", 1.0), ("tweedie", 1.5), ("gamma", 2.0)])
def test_log_families_without_penalty_agree_with_tweedie_regressor(name, power):
    A, eta, weights, rng = draw_problem(0)
    A = A[:, :4]
    family = get_family(name)
    y = draw_target(family, eta, rng)
    _, intercept, coef = solve_l1_glm(A, y, family, 0.0, weights)
    model = TweedieRegressor(
        power=power, link="log", alpha=0.0, solver="newton-cholesky", tol=1e-12
    ).fit(A, y, sample_weight=weights)
    assert_allclose([intercept, *coef], [model.intercept_, *model.coef_], atol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("penalty", [1.0, 0.03, 0.001])
def test_the_gap_closes_for_every_family_with_weights_and_offset(name, penalty):
    A, eta, weights, rng = draw_problem(5, k=30)
    family = get_family(name)
    offset = rng.normal(size=len(eta))
    y = draw_target(family, eta + offset, rng)
    penalties = penalty * rng.uniform(0.5, 1.5, size=30)
    objective, intercept, coef = solve_l1_glm(A, y, family, penalties, weights, offset)
    problem = SplitProblem(A, y, family, penalties, weights, offset)
    z = problem.join(intercept, coef)
    assert_allclose(problem.value(z), objective, rtol=1e-14)
    assert duality_gap(problem, z) < 1e-9
    nudged = z + np.where(np.arange(len(z)) == 1, 0.1, 0.0)
    assert problem.value(nudged) > objective
    assert duality_gap(problem, nudged) >= problem.value(nudged) - objective - 1e-9


def test_more_columns_than_rows():
    A, eta, weights, rng = draw_problem(2, n=40, k=200)
    y = draw_target(get_family("binomial"), eta, rng)
    objective, _, coef = solve_l1_glm(A, y, get_family("binomial"), 0.01, weights)
    assert 0.0 < objective < np.log(2.0)
    assert np.count_nonzero(coef) <= 40


def test_no_columns_is_the_null_model():
    family, y = get_family("poisson"), np.array([0.0, 1.0, 5.0])
    objective, intercept, coef = solve_l1_glm(np.zeros((3, 0)), y, family, 1.0)
    assert_allclose(intercept, np.log(2.0), atol=1e-9)
    assert_allclose(objective, family.loss(y, np.full(3, np.log(2.0))).mean())
    assert coef.shape == (0,)
