"""More than two classes, against scikit-learn's multinomial and against the binomial code."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from ruleglm import RuleClassifier, RuleClassifierCV
from ruleglm.binning import bin_rows
from ruleglm.engines import LocalEngine
from ruleglm.engines.classes import ClassEngines
from ruleglm.engines.packed import evaluate, unpack_columns
from ruleglm.families import get_family
from ruleglm.frames import scan_table
from ruleglm.multinomial import Multinomial, log_rest
from ruleglm.pricing import ConditionTable, Limits, Penalty, build_pricer
from ruleglm.solvers import classes as class_solver
from ruleglm.solvers.class_refit import Columns, Curvature, refit_classes
from ruleglm.solvers.classes import run_class_generation
from tests.reference.binarise import all_rules

relaxed = settings(deadline=None, max_examples=25)


def random_rows(seed, n=120, n_classes=3):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": rng.choice(list("uvw"), n)})
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    scores = rng.gumbel(size=(n, n_classes))
    scores[:, 0] += 2.0 * (X["a"] > 0)
    scores[:, 1] += 2.0 * ((X["b"] == "u") & (X["a"] < 0.5))
    return X, np.argmax(scores, axis=1)


def build_classes(X, y, bins=4, weights=None, n_classes=None):
    binning, codes = bin_rows(scan_table(X), bins=bins)
    shares = None if weights is None else weights / weights.sum()
    engines = [
        LocalEngine(
            codes, binning.n_bins, (y == k).astype(float), get_family("binomial"), weights=shares
        )
        for k in range(n_classes or y.max() + 1)
    ]
    return binning, codes, ClassEngines(engines, y, shares)


def list_rules(binning, codes, max_degree):
    masks = [list(bins.vocabulary.masks) for bins in binning.features]
    pairs = all_rules(codes, masks, max_degree, per_feature=max_degree)
    return [rule for rule, _ in pairs], [degree for _, degree in pairs]


def slow_l1_multinomial(columns, y, weights=None, n_steps=20_000):
    """Minimise mean loss plus l1 norm by accelerated gradient steps; return the objective."""
    matrix = np.column_stack([np.ones(len(y)), columns])
    shares = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
    label = np.eye(y.max() + 1)[y]
    size = 1.0 / (0.5 * np.linalg.norm(np.sqrt(shares)[:, None] * matrix, 2) ** 2)
    coef = ahead = np.zeros((matrix.shape[1], label.shape[1]))
    momentum = 1.0
    for _ in range(n_steps):
        residual = shares[:, None] * (softmax(matrix @ ahead, axis=1) - label)
        new = ahead - size * matrix.T @ residual
        new[1:] = np.sign(new[1:]) * np.maximum(np.abs(new[1:]) - size, 0.0)
        restart = np.sum((ahead - new) * (new - coef)) > 0
        following = 1.0 if restart else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new if restart else new + (momentum - 1) / following * (new - coef)
        coef, momentum = new, following
    loss = log_loss(y, softmax(matrix @ coef, axis=1), sample_weight=weights)
    return loss + np.abs(coef[1:]).sum()


# ------------------------------------------------------------------------------ the family


@relaxed
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_family_is_smooth_and_dual(seed, n_classes):
    rng = np.random.default_rng(seed)
    family = Multinomial(n_classes)
    y, eta = np.eye(n_classes)[rng.integers(n_classes, size=4)], rng.normal(size=(4, n_classes)) * 3
    gradient, hessian = family.gradient_and_hessian(y, eta)
    for row in range(4):
        slope = approx_fprime(eta[row], lambda e, row=row: family.loss(y[row][None], e[None])[0])
        np.testing.assert_allclose(gradient[row], slope, atol=1e-6)
    np.testing.assert_allclose(family.mean(eta), softmax(eta, axis=1))
    np.testing.assert_allclose(hessian, family.mean(eta) * (1 - family.mean(eta)))
    product = np.sum(gradient * eta, axis=1)  # Fenchel's equality at the gradient
    np.testing.assert_allclose(
        family.loss(y, eta) + family.conjugate(y, gradient), product, atol=1e-9
    )
    other = rng.normal(size=eta.shape)
    bound = np.sum(gradient * other, axis=1) - family.conjugate(y, gradient)
    assert (family.loss(y, other) >= bound - 1e-9).all()


@relaxed
@given(st.integers(0, 10_000))
def test_a_class_sees_a_binomial_loss(seed):
    rng = np.random.default_rng(seed)
    eta, k = rng.normal(size=(6, 4)) * 5, int(rng.integers(4))
    y = np.eye(4)[rng.integers(4, size=6)]
    binomial = get_family("binomial")
    shift = eta[:, k] - log_rest(eta, k)
    np.testing.assert_allclose(
        binomial.gradient(y[:, k], shift), Multinomial(4).gradient(y, eta)[:, k], atol=1e-12
    )


def test_null_intercepts_with_offset():
    rng = np.random.default_rng(0)
    y, offset = np.eye(3)[rng.integers(3, size=200)], rng.normal(size=(200, 3))
    weights = rng.random(200)
    family = Multinomial(3)
    eta = family.null_eta(y, weights, offset)
    residual = weights @ family.gradient(y, offset + eta) / weights.sum()
    np.testing.assert_allclose(residual, 0.0, atol=1e-12)
    assert abs(eta.sum()) < 1e-12


# ------------------------------------------------------------------- optima, independently


@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, True)])
def test_objective_is_that_of_the_problem_with_all_rules(seed, weighted):
    X, y = random_rows(seed, n=80)
    weights = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float) if weighted else None
    binning, codes, classes = build_classes(X, y, weights=weights)
    penalty = Penalty(0.01, 0.004)
    pricers = [build_pricer("histogram", ConditionTable(binning.features), 2) for _ in range(3)]
    found = run_class_generation(
        classes, pricers, penalty, Limits(), tol=1e-7, max_rounds=300
    ).solution
    assert found.ending == "certified"
    rules, degrees = list_rules(binning, codes, 2)
    prices = np.array([penalty.of(degree) for degree in degrees])
    columns = np.unique(unpack_columns(evaluate(codes, rules), len(y)) / prices[:, None], axis=0).T
    expected = slow_l1_multinomial(columns, y, weights)
    assert found.lower_bound <= expected
    assert found.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("how", ["dense", "bits", "curvature"])
def test_refit_is_the_ridge_optimum(how, monkeypatch):
    if how == "bits":
        monkeypatch.setattr("ruleglm.solvers.class_refit.MAX_DENSE", 0)
    X, y = random_rows(5)
    binning, codes, classes = build_classes(X, y)
    rules, degrees = list_rules(binning, codes, 1)
    for engine in classes.engines:
        engine.add_rules(rules, degrees)
    held = classes.engines[0].rules
    coef = np.zeros((1 + len(held), 3))
    coef[0] = classes.null_intercepts()
    classes.set_coefficients(list(coef.T.copy()))
    ridge, every = 0.02, np.ones(coef.shape, bool)
    curvature = Curvature(classes, every) if how == "curvature" else None
    coef = refit_classes(classes, coef, every, ridge, 1e-13, curvature)
    columns = unpack_columns(evaluate(codes, held), len(y)).T.astype(float)
    reference = LogisticRegression(C=1 / (ridge * len(y)), tol=1e-10, max_iter=10_000)
    reference.fit(columns, y)
    np.testing.assert_allclose(coef[1:], reference.coef_.T, atol=1e-4)
    np.testing.assert_allclose(
        softmax(coef[0] + columns @ coef[1:], axis=1), reference.predict_proba(columns), atol=1e-5
    )
    expected = log_loss(y, reference.predict_proba(columns))
    assert classes.loss() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_curvature_is_the_change_of_the_gradient(seed):
    rng = np.random.default_rng(seed)
    X, y = random_rows(seed)
    binning, codes, classes = build_classes(X, y, weights=rng.uniform(1, 2, len(y)), n_classes=3)
    for engine in classes.engines:
        engine.add_rules(*(part[:6] for part in list_rules(binning, codes, 1)))
    coef = rng.normal(size=(1 + len(classes.engines[0].rules), 3))
    classes.set_coefficients(list(coef.T.copy()))
    members = rng.random(coef.shape) < 0.6
    members[0] = True
    ridges = rng.uniform(0.1, 1.0, (len(coef), 1))
    step = np.where(members, rng.normal(size=coef.shape), 0.0)
    step[0] -= step[0].mean()
    columns = Columns(classes)
    share = classes.family.mean(classes.eta)
    product = columns.project(classes.curve(columns.combine(step), share)) + ridges * step
    product[~members] = 0.0
    solved = Curvature(classes, members).factorize(ridges)(product)
    np.testing.assert_allclose(solved, step, atol=1e-8)


def test_a_loose_refit_does_not_rise_by_more_than_its_tolerance():
    ridge = 1e-6
    for seed in range(60):
        X, y = random_rows(seed, n=40)
        rng = np.random.default_rng(seed)
        weights = np.exp(4 * rng.normal(size=len(y)))
        binning, codes, classes = build_classes(X, y, weights=weights, n_classes=3)
        rules, degrees = list_rules(binning, codes, 1)
        for engine in classes.engines:
            engine.add_rules(rules[:4], degrees[:4])
        start = np.zeros((1 + len(classes.engines[0].rules), 3))
        every = np.ones(start.shape, bool)
        classes.set_coefficients(list(start.T.copy()))
        start = refit_classes(classes, start, every, ridge) + 10 * rng.normal(size=start.shape)
        before = (
            classes.set_coefficients(list(start.T.copy())) + 0.5 * ridge * (start[1:] ** 2).sum()
        )
        coef = refit_classes(classes, start, every, ridge, 0.1 * before)
        assert classes.loss() + 0.5 * ridge * (coef[1:] ** 2).sum() <= 1.1 * before


def test_refit_of_intercepts_stays_at_the_shares():
    _, y = random_rows(5)
    _, _, classes = build_classes(random_rows(5)[0], y)
    coef = classes.null_intercepts()[None]
    classes.set_coefficients(list(coef.T.copy()))
    found = refit_classes(classes, coef, np.ones((1, 3), bool), 0.0, 1e-15)
    np.testing.assert_allclose(softmax(found[0]), np.bincount(y) / len(y), atol=1e-9)
    np.testing.assert_allclose(found, coef, atol=1e-6)


def test_bound_is_valid_when_stopped_early():
    X, y = random_rows(9, n=200, n_classes=4)
    bounds, best = [], np.inf
    for rounds in (1, 2, 3, 100):
        binning, _, classes = build_classes(X, y, bins=8)
        pricers = [build_pricer("auto", ConditionTable(binning.features), 2) for _ in range(4)]
        found = run_class_generation(
            classes, pricers, Penalty(0.005, 0.001), Limits(), tol=1e-6, max_rounds=rounds
        ).solution
        bounds.append(found.lower_bound)
        best = min(best, found.objective)
    assert max(bounds) <= best
    assert bounds[-1] == pytest.approx(best, rel=1e-5)


# ------------------------------------------------------------------------- the estimators

BOTH = pytest.mark.parametrize("penalty", ["l1", "l0"])


def fit(penalty, X, y, **options):
    return RuleClassifier(penalty=penalty, linear_terms=True, **options).fit(X, y)


@BOTH
def test_probabilities_add_up_and_labels_follow(penalty):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = fit(penalty, X, names)
    shares = model.predict_proba(X)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(shares, softmax(model.decision_function(X), axis=1))
    assert (model.predict(X) == model.classes_[shares.argmax(axis=1)]).all()
    assert model.score(X, names) > 0.93
    assert model.rules_.filter(like="coefficient of").shape[1] == 3
    np.testing.assert_allclose(
        model.ensemble_.contributions(X).sum(axis=1), model.decision_function(X), atol=1e-9
    )


@BOTH
def test_training_loss_is_that_of_the_predictions(penalty):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = RuleClassifierCV(penalty=penalty, cv=2, n_lambdas=6, max_complexity=12).fit(X, y)
    table = model.path_.table()
    for index, ensemble in enumerate(model.path_):
        assert table["train_loss"][index] == pytest.approx(log_loss(y, ensemble.predict(X)))
        assert ensemble.complexity <= 12 + 1e-9
    if penalty == "l1":
        assert (table["gap"] <= model.tol).all()
    again = model.at(len(table) - 1)
    np.testing.assert_allclose(again.predict_proba(X), ensemble.predict(X), atol=1e-12)


@BOTH
def test_weights_are_repeated_rows(penalty):
    X, y = load_iris(return_X_y=True, as_frame=True)
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = RuleClassifier(penalty=penalty, bins=8).fit(X, y, counts)
    rows = np.repeat(np.arange(len(y)), counts)
    repeated = RuleClassifier(penalty=penalty, bins=8).fit(X.iloc[rows], y.iloc[rows])
    assert weighted.ensemble_.rules == repeated.ensemble_.rules
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


@BOTH
def test_no_two_rules_cover_the_same_rows(penalty):
    X, y = random_rows(3, n=300, n_classes=4)
    model = RuleClassifier(penalty=penalty, lambda_0=0.003, bins=8).fit(X, y)
    table = model.ensemble_.read(X)
    seen = set()
    for rule in model.ensemble_.rules:
        mask = rule.holds(table)
        key = (mask if mask[0] else ~mask).tobytes()
        assert key not in seen
        seen.add(key)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_names_of_classes_do_not_matter_to_a_pursuit(load):
    X, y = load(return_X_y=True, as_frame=True)
    one, other = (fit("l0", X, labels) for labels in (y, (y + 1) % 3))
    assert set(one.ensemble_.rules) == set(other.ensemble_.rules)
    moved = other.predict_proba(X)[:, [1, 2, 0]]
    np.testing.assert_allclose(one.predict_proba(X), moved, atol=1e-4)


@BOTH
def test_any_number_of_threads_gives_one_model(penalty):
    X, y = load_wine(return_X_y=True, as_frame=True)
    one, two = (fit(penalty, X, y, n_jobs=n) for n in (1, 2))
    assert one.ensemble_ == two.ensemble_


def test_a_class_without_rows_in_a_fold():
    X, y = random_rows(2, n=90)
    y = np.where(np.arange(90) == 0, 7, y)
    folds = [(np.arange(30, 90), np.arange(30)), (np.arange(60), np.arange(60, 90))]
    model = RuleClassifierCV(cv=folds, max_complexity=6).fit(X, y)
    assert np.isfinite(model.path_.table()["cv_mean"]).all()
    assert model.predict_proba(X).shape == (90, 4)


@BOTH
@pytest.mark.parametrize("pricing", ["auto", "histogram"])
def test_a_class_without_weight(penalty, pricing):
    X, y = random_rows(2, n=60, n_classes=5)
    weights = (y != 3).astype(float)
    model = RuleClassifier(penalty=penalty, pricing=pricing, ridge=1000.0, max_complexity=12)
    shares = model.fit(X, y, weights).predict_proba(X)
    assert np.isfinite(shares).all()
    assert shares[:, 3].max() < 1e-3


def test_offset_is_refused():
    X, y = random_rows(2)
    with pytest.raises(ValueError, match="two classes"):
        RuleClassifier().fit(X, y, offset=np.zeros(len(y)))


def test_rules_of_a_person():
    X, y = random_rows(6, n=200)
    wish, ban = "a > 0.25 and b = 'v'", "b = 'u'"
    model = RuleClassifier(penalty="l0", max_complexity=8, include=[wish], exclude=[ban]).fit(X, y)
    texts = [rule.text() for rule in model.ensemble_.rules]
    assert wish in texts
    assert not any(ban in text for text in texts)
    banned = RuleClassifier(lambda_0=0.005, exclude=[ban]).fit(X, y)
    assert not any(ban in rule.text() for rule in banned.ensemble_.rules)
    with pytest.raises(ValueError, match="penalty='l0'"):
        RuleClassifier(include=[wish]).fit(X, y)


@BOTH
def test_warm_start_and_callback(penalty):
    X, y = load_wine(return_X_y=True, as_frame=True)
    told = []
    model = RuleClassifier(penalty=penalty, warm_start=True, bins=16, callback=told.append)
    first = model.fit(X, y).ensemble_
    n_rounds = len(told)
    assert n_rounds > 0
    model.fit(X, y)
    assert len(told) - n_rounds < n_rounds
    np.testing.assert_allclose(model.ensemble_.predict(X), first.predict(X), atol=0.02)


def test_going_on_after_each_round_of_classes_leads_to_the_same_optimum(monkeypatch):
    X, y = load_iris(return_X_y=True)
    objectives = []
    for many in (0, 1000):
        monkeypatch.setattr(class_solver, "MANY_SWEEPS", many)
        model = RuleClassifier(penalty="l1", lambda_0=0.002, bins=8, tol=1e-5).fit(X, y)
        assert model.certified_
        objectives.append(model.objective_)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-4)
