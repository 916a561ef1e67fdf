"""The trade-off path: how it is fitted, looked at and chosen from."""

import dataclasses
import sys
import warnings
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV
from ruleglm.binning import Binning
from ruleglm.families import FAMILIES, get_family
from ruleglm.fitting import BLENDS, NO_SOLUTION, RIDGES, PathModel
from ruleglm.path import TradeoffPath
from ruleglm.training import Units
from tests.data import mixed_frame, target_of
from tests.reference.binarise import all_rules, rule_column

mpl.use("Agg")

FRAME = mixed_frame(240)
SMALL = {"n_lambdas": 10, "bins": 8, "cv": 2, "tol": 1e-6}


def path_model(family, **parameters):
    parameters = {"penalty": "l1", "linear_terms": False, **SMALL, **parameters}
    if family == "binomial":
        return RuleClassifierCV(**parameters)
    return RuleRegressorCV(family=family, **parameters)


# -------------------------------------------------------------------------------- fitted paths


@pytest.mark.parametrize("family", FAMILIES)
def test_the_path_runs_from_the_empty_model_to_the_largest(family):
    model = path_model(family, max_complexity=20).fit(FRAME, target_of(family, FRAME))
    table = model.path_.table()
    assert table["complexity"][0] == 0
    assert table["complexity"][1] > 0
    assert table["complexity"].max() <= 20
    assert (np.diff(table["strength"]) < 0).all()
    assert (table["gap"] <= 1e-6).all()
    objectives = [each.solution.objective for each in model.path_.models]
    assert (np.diff(objectives) < 1e-6).all()


@pytest.mark.parametrize("lambda_ratio", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("linear_terms", [False, True])
def test_the_first_penalty_just_leaves_the_model_empty(lambda_ratio, linear_terms):
    y = target_of("binomial", FRAME)
    model = path_model("binomial", lambda_ratio=lambda_ratio, linear_terms=linear_terms)
    path = model.set_params(n_lambdas=2).fit(FRAME, y).path_
    first = path.models[0].strength
    for factor, empty in ((1.0, True), (0.99, False)):
        plain = RuleClassifier(
            lambda_0=factor * first,
            lambda_1=factor * first * lambda_ratio,
            bins=8,
            tol=1e-6,
            linear_terms=linear_terms,
        ).fit(FRAME, y)
        assert (len(plain.rules_) == 0) == empty


def test_the_first_penalty_is_the_largest_ratio_of_all_rules():
    y = target_of("gaussian", FRAME)
    model = path_model("gaussian").set_params(bins=4, n_lambdas=1).fit(FRAME, y)
    binning = model.path_.units.binning
    codes = binning.encode(model.ensemble_.read(FRAME))
    masks = [list(bins.vocabulary.masks) for bins in binning.features]
    residual = (y - y.mean()) / y.std() / len(y)
    rules = all_rules(codes, masks, 2, per_feature=2)
    ratios = [abs(residual @ rule_column(codes, rule)) / (1 + 0.2 * d) for rule, d in rules]
    assert model.strength_ == pytest.approx(max(ratios), rel=1e-8)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("linear_terms", [False, True])
def test_each_model_of_the_path_is_that_of_a_fresh_fit(family, linear_terms):
    y = target_of(family, FRAME)
    model = path_model(family, linear_terms=linear_terms).set_params(tol=1e-8).fit(FRAME, y)
    n_same = 0
    for index in range(1, 8):
        held, penalised = model.at(index), model.path_.ensemble(index, variant=1.0)
        fresh = held.__class__(**held.get_params()).fit(FRAME, y)
        assert fresh.objective_ == pytest.approx(held.objective_, abs=1e-7)
        if set(fresh.ensemble_.rules) == set(held.ensemble_.rules):
            n_same += 1
            assert_close(fresh.ensemble_, held.ensemble_)
        # among collinear rules several sets are optimal, but all predict the same
        assert_close(fresh.set_params(debias=False).fit(FRAME, y).ensemble_, penalised)
    assert n_same > 1


def assert_close(one, other):
    etas = [ensemble.decision_function(FRAME) for ensemble in (one, other)]
    np.testing.assert_allclose(*etas, atol=1e-3 * etas[0].std())


def test_variants_run_from_refitted_to_penalised():
    y = target_of("gaussian", FRAME)
    path = path_model("gaussian").fit(FRAME, y).path_
    index = len(path) - 1
    base = {"lambda_0": path.models[index].strength, "bins": 8, "tol": 1e-6}
    assert path.variants == BLENDS
    for blend in BLENDS:
        fresh = RuleRegressor(**base, debias=1 - blend).fit(FRAME, y)
        ensemble = path.ensemble(index, variant=blend)
        np.testing.assert_allclose(ensemble.predict(FRAME), fresh.predict(FRAME), atol=0.02)
    assert (np.diff(path.models[index].losses) > 0).all()
    with pytest.raises(ValueError, match=r"no variant 0\.3"):
        path.ensemble(index, variant=0.3)


def test_losses_and_supports_are_those_of_the_ensemble():
    y = target_of("poisson", FRAME)
    model = path_model("poisson", linear_terms=True).fit(FRAME, y)
    path = model.path_
    loss = get_family("poisson").loss
    for ensemble, train_loss in zip(path, path.table()["train_loss"], strict=True):
        eta = ensemble.decision_function(FRAME)
        assert loss(y, eta).mean() == pytest.approx(train_loss, abs=1e-9)
    held = model.at(len(path) - 1)
    steps = held.rules_[held.rules_["degree"] > 0].set_index("rule")["support"]
    for rule in held.ensemble_.rules:
        assert steps[rule.text()] == pytest.approx(rule.holds(held.ensemble_.read(FRAME)).mean())


def test_constant_targets_and_columns_give_the_empty_model():
    model = path_model("gaussian").fit(FRAME, np.full(len(FRAME), 3.0))
    assert len(model.rules_) == 0
    assert model.predict(FRAME[:2]).tolist() == [3.0, 3.0]
    flat = path_model("binomial").fit(np.ones((20, 2)), [0, 1] * 10)
    assert len(flat.rules_) == 0


@pytest.mark.parametrize(("pricing", "max_degree"), [("beam", 3), ("mip", 2), ("histogram", None)])
def test_every_pricer_gives_a_path(pricing, max_degree):
    frame, y = FRAME[["sex", "smoker"]][:40], target_of("binomial", FRAME)[:40]
    model = path_model(
        "binomial", pricing=pricing, max_degree=max_degree, n_lambdas=3, tol=1e-2
    ).fit(frame, y)
    assert model.path_.table()["complexity"][0] == 0
    assert model.path_.table()["n_rules"].max() > 0


# -------------------------------------------------------------------------------- pursuits


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize("linear_terms", [False, True])
def test_each_model_of_a_pursuit_is_that_of_a_fresh_fit(family, linear_terms):
    y = target_of(family, FRAME)
    model = path_model(family, penalty="l0", linear_terms=linear_terms, max_complexity=15)
    model.fit(FRAME, y)
    assert model.path_.variants == RIDGES
    sizes = model.path_.complexities()
    assert sizes[0] == 0
    assert 5 < sizes.max() <= 15
    for index in range(len(sizes)):
        held = model.at(index)
        fresh = held.__class__(**held.get_params()).fit(FRAME, y)
        assert set(fresh.ensemble_.rules) == set(held.ensemble_.rules)
        if index:
            assert_close(fresh.ensemble_, held.ensemble_)
    assert np.isnan(model.gap_)
    assert not model.certified_
    assert "proves nothing" in model.certificate_


def test_more_ridge_gives_a_higher_training_loss():
    path = (
        path_model("gaussian", penalty="l0", max_complexity=8)
        .fit(FRAME, target_of("gaussian", FRAME))
        .path_
    )
    for each in path.models[1:]:
        assert (np.diff(each.losses) > 0).all()
        norms = np.linalg.norm(each.coefs[:, 1:], axis=1)
        assert (np.diff(norms) < 0).all()


@pytest.mark.parametrize(
    ("budget", "attribute", "most"),
    [
        ({}, "complexity", 30),
        ({"max_complexity": 6.5}, "complexity", 6.5),
        ({"max_rules": 4}, "n_rules", 4),
        ({"max_complexity": 0}, "complexity", 0),
    ],
)
def test_a_pursuit_keeps_its_budget(budget, attribute, most):
    model = RuleRegressor(penalty="l0", bins=8, **budget).fit(FRAME, target_of("gaussian", FRAME))
    sizes = {"complexity": model.complexity_, "n_rules": len(model.rules_)}
    assert sizes[attribute] <= most
    assert sizes[attribute] >= 0.6 * most


def test_a_dearer_complexity_gives_a_smaller_model():
    y = target_of("gaussian", FRAME)
    sizes = [
        RuleRegressor(penalty="l0", bins=8, price=price).fit(FRAME, y).complexity_
        for price in (1.0, 0.03, 0.01)
    ]
    assert sizes[0] == 0
    assert sizes[0] < sizes[1] < sizes[2]


# -------------------------------------------------------------------------------- made-up paths


def make_path(degrees, losses, scores, greater_is_better=False):
    """A path without data; nothing but sizes and scores is of use."""
    units = Units(Binning(()), (), get_family("gaussian"), 0.0, 1.0)
    models = tuple(
        PathModel(
            1.0, 0.2, ((),) * len(each), tuple(each), (), np.zeros(len(each)),
            np.zeros((len(BLENDS), 1 + len(each))), np.full(len(BLENDS), loss), NO_SOLUTION, "",
        )
        for each, loss in zip(degrees, losses, strict=True)
    )  # fmt: skip
    return TradeoffPath(models, "l1", units, scores, greater_is_better)


@st.composite
def paths(draw):
    n_models = draw(st.integers(1, 8))
    sizes = st.lists(st.lists(st.integers(1, 3), max_size=6), min_size=n_models, max_size=n_models)
    degrees = draw(sizes)
    degrees[0] = []
    n_folds = draw(st.integers(0, 4))
    values = st.integers(-3, 5).map(float)
    scores = draw(arrays(float, (n_folds, n_models, len(BLENDS)), elements=values))
    if n_folds:
        scores[-1, 1:][draw(arrays(bool, n_models - 1))] = np.nan
    losses = draw(st.lists(values, min_size=n_models, max_size=n_models))
    return make_path(degrees, losses, scores, draw(st.booleans()))


@given(
    path=paths(),
    complexity=st.floats(0, 10),
    rules=st.integers(0, 6),
    conditions=st.integers(0, 12),
)
def test_budgets_are_never_exceeded_and_nothing_better_is_left(path, complexity, rules, conditions):
    budgets = {"max_complexity": complexity, "max_rules": rules, "max_conditions": conditions}
    table, costs = path.table(), path.costs()
    chosen = path.within(**budgets)
    inside = (
        (table["complexity"] <= complexity)
        & (table["n_rules"] <= rules)
        & (table["n_conditions"] <= conditions)
    ).to_numpy()
    assert inside[chosen]
    assert costs[chosen] == costs[inside].min()
    equals = inside & (costs == costs[chosen])
    assert table["complexity"][chosen] == table["complexity"][equals].min()
    assert path.within() == path.best()


@given(
    losses=st.lists(st.integers(0, 10_000), min_size=2, max_size=8),
    unit=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_the_best_model_is_the_simplest_that_explains_all_but_a_thousandth(losses, unit):
    scores = unit * np.array(losses)[None, :, None].repeat(len(BLENDS), axis=2)
    path = make_path([[1] * k for k in range(len(losses))], losses, scores)
    explained = losses[0] - np.array(losses)
    assume((1000 * explained != 999 * explained.max()).all())  # nothing for rounding to decide
    assert path.best() == int(np.argmax(1000 * explained >= 999 * explained.max()))


@given(path=paths())
def test_one_standard_error_is_never_more_complex_than_the_best(path):
    if len(path.scores) == 0:
        return
    table, best, near = path.table(), path.best(), path.simplest_near_best()
    assert table["complexity"][near] <= table["complexity"][best]
    assert np.isfinite(table["cv_mean"][near])
    distance = abs(table["cv_mean"][near] - table["cv_mean"][best])
    assert distance <= table["cv_se"][best] + 1e-9


@given(path=paths())
def test_efficient_models_are_those_that_no_other_beats(path):
    sizes, costs, efficient = path.complexities(), path.costs(), path.efficient()
    for k in range(len(path)):
        beats = (sizes <= sizes[k]) & (costs <= costs[k])
        strictly = beats & ((sizes < sizes[k]) | (costs < costs[k]))
        if efficient[k]:
            assert not strictly.any()
        elif np.isfinite(costs[k]):
            assert (beats & efficient).any()


@given(path=paths())
def test_the_best_variant_has_the_best_mean(path):
    if len(path.scores) == 0:
        assert path.table()["cv_mean"].isna().all()
        return
    sign = -1 if path.greater_is_better else 1
    best = np.nanmin(sign * path.means(), axis=1) if np.isfinite(path.means()).all() else None
    if best is not None:
        np.testing.assert_array_equal(sign * path.table()["cv_mean"], best)


def test_the_table_counts_degrees():
    path = make_path([[], [1, 2, 1], [3]], [1.0, 0.5, 0.7], np.empty((0, 3, 5)))
    table = path.table()
    assert table["degrees"].tolist() == ["", "2x1 1x2", "1x3"]
    assert table["n_conditions"].tolist() == [0, 4, 3]
    assert table["complexity"].tolist() == pytest.approx([0.0, 3.8, 1.6])
    assert table["efficient"].tolist() == [True, True, True]
    assert not table["chosen"].any()


# -------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize("scored", [False, True])
def test_a_plot_shows_the_models(scored):
    scores = np.array([[[1.0] * 5, [0.5] * 5, [0.6] * 5]] * 2)
    path = make_path([[], [1], [1, 1]], [1.0, 0.5, 0.4], scores if scored else scores[:0])
    ax = replace(path, chosen=1).plot()
    assert ax.get_xlabel() == "complexity"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert set(labels) == {"models", "efficient", "chosen"}
    assert path.plot(ax) is ax
    mpl.pyplot.close(ax.figure)


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch):
    path = make_path([[]], [1.0], np.empty((0, 1, 5)))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "ruleglm\[plot\]"'):
        path.plot()


def test_weights_that_do_not_count_rows_are_warned_of():
    y = target_of("gaussian", FRAME)
    model = RuleRegressor(penalty="l0", bins=8, max_complexity=5)
    with pytest.warns(UserWarning, match=r"adds up to 1 over .* rows.*mean of 1"):
        model.fit(FRAME, y, np.full(len(FRAME), 1 / len(FRAME)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(FRAME, y, np.full(len(FRAME), 1.0))


@pytest.mark.parametrize("pricing", ["auto", "beam"])
def test_a_path_begins_with_the_empty_model_whatever_the_search(pricing):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(60, 4)).round(1), rng.integers(2, size=60)
    options = {"beam_width": 1} if pricing == "beam" else None
    model = RuleClassifierCV(
        penalty="l1", pricing=pricing, pricing_options=options, max_degree=3, max_complexity=0, cv=2
    ).fit(X, y)
    assert model.complexity_ == 0.0
    assert len(model.path_) >= 1


@pytest.mark.parametrize("loss", [np.inf, 1e200])
def test_a_huge_loss_of_a_fold_has_no_standard_error(loss):
    model = RuleClassifierCV(cv=2, max_complexity=3).fit(
        np.arange(40.0)[:, None], np.arange(40) > 20
    )
    scores = model.path_.scores.copy()
    scores[0, -1] = loss
    path = dataclasses.replace(model.path_, scores=scores)
    assert not np.isfinite(path.errors()[-1]).any()
    assert path.best() < len(path) - 1
