"""Cross-validation: what the folds see, and which model they choose."""

import pickle
import re
import warnings
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, make_scorer, mean_poisson_deviance
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedKFold

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV
from ruleglm.families import get_family
from tests.data import mixed_frame, target_of

N = 240
FRAME = mixed_frame(N)
NUMBERS = target_of("gaussian", FRAME)
LABELS = np.array(["no", "yes"])[target_of("binomial", FRAME).astype(int)]
SMALL = {
    "penalty": "l1",
    "linear_terms": False,
    "n_lambdas": 8,
    "bins": 8,
    "max_complexity": 30,
}
FOLDS = list(KFold(3, shuffle=True, random_state=1).split(FRAME))


def scores_by_hand(model, y, folds, loss):
    """Fit the plain estimator at every penalty and blend of a path, in every fold."""
    means = []
    for each in model.path_.models:
        held = model.at(0).set_params(lambda_0=each.strength, lambda_1=each.lambda_1)
        by_fold = []
        for train, valid in folds:
            fresh = clone(held)
            by_fold.append(
                [
                    loss(fresh.set_params(debias=1 - b).fit(FRAME.iloc[train], y[train]), valid)
                    for b in model.path_.variants
                ]
            )
        means.append(np.mean(by_fold, axis=0))
    return np.array(means)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_scores_are_those_of_plain_fits_in_the_folds(family):
    y = target_of(family, FRAME)
    scale = y.var() if family == "gaussian" else 1.0
    settings = {**SMALL, "n_lambdas": 4, "tol": 1e-7, "max_degree": 1, "linear_terms": True}
    model = RuleRegressorCV(family=family, cv=FOLDS[:2], **settings).fit(FRAME, y)

    def loss(fitted, valid):
        eta = fitted.ensemble_.decision_function(FRAME.iloc[valid])
        return get_family(family).loss(y[valid], eta).mean() / scale

    expected = scores_by_hand(model, y, FOLDS[:2], loss)
    np.testing.assert_allclose(model.path_.means(), expected, rtol=1e-3)
    chosen = model.path_.table().iloc[model.best_index_]
    assert chosen["cv_mean"] == model.path_.means().min()
    assert chosen["chosen"]


def test_folds_do_not_see_the_rows_that_they_are_scored_on():
    train, valid = np.arange(N) < 160, np.arange(N) >= 160
    split = [(np.flatnonzero(train), np.flatnonzero(valid))]
    seen = []

    def remember(fitted, X, y):
        seen.append(fitted.ensemble_)
        return 0.0

    strange = FRAME.copy()
    strange.loc[valid, "income"] = np.random.default_rng(0).permutation(FRAME["income"][valid]) * 9
    strange.loc[valid, "odd name\n;"] = 0.123
    strange["region"] = strange["region"].astype(object)
    strange.loc[valid, "region"] = "elsewhere"
    plain = FRAME.assign(region=FRAME["region"].astype(object))
    grid = RuleRegressorCV(cv=split, scoring=remember, **SMALL)
    grid.fit(plain, NUMBERS)
    alone = seen.copy()
    assert len({str(ensemble) for ensemble in alone}) > 5
    seen.clear()
    at_penalties(grid, strange, seen)
    assert [str(ensemble) for ensemble in seen] == [str(ensemble) for ensemble in alone]


def at_penalties(grid, frame, seen):
    """Run the fold of another frame at the penalties of a path that is fitted already."""
    from ruleglm.pricing import Limits
    from ruleglm.selection import score_fold

    again = clone(grid)
    raw = again._check_rows(frame, NUMBERS, None, None)
    plan = again._plan(frame, raw, None)
    score_fold(plan, plan.splits[0], [grid.path_.models], grid.path_.units, Limits(), 1)
    assert seen


@pytest.mark.parametrize("worth", [0, 1 << 60], ids=["folds at once", "fold by fold"])
@pytest.mark.parametrize("select", ["min", "1se"])
@pytest.mark.parametrize(
    ("model", "y"),
    [(RuleClassifierCV(cv=3, **SMALL), LABELS), (RuleRegressorCV(cv=3, **SMALL), NUMBERS)],
    ids=["classifier", "regressor"],
)
def test_seeds_decide_and_threads_do_not(model, y, select, worth, monkeypatch):
    model = clone(model).set_params(select=select, random_state=3)
    one = clone(model).fit(FRAME, y)
    monkeypatch.setattr("ruleglm.selection.WORTH_THREADS", worth)
    again = clone(model).fit(FRAME, y)
    threads = clone(model).set_params(n_jobs=3).fit(FRAME, y)
    other = clone(model).set_params(random_state=4).fit(FRAME, y)
    for same in (again, threads):
        assert same.ensemble_ == one.ensemble_
        np.testing.assert_array_equal(same.path_.scores, one.path_.scores)
    assert not np.array_equal(other.path_.scores, one.path_.scores)
    assert pickle.loads(pickle.dumps(one)).at(2).ensemble_ == one.at(2).ensemble_


def test_the_chosen_model_is_that_of_the_path():
    model = RuleClassifierCV(cv=3, **SMALL).fit(FRAME, LABELS)
    row = model.path_.table().iloc[model.best_index_]
    held = model.at(model.best_index_)
    assert isinstance(held, RuleClassifier)
    assert held.ensemble_ == model.ensemble_ == model.path_.ensemble(model.best_index_)
    assert (model.strength_, model.variant_) == (row["strength"], row["variant"])
    assert (held.lambda_0, held.debias) == (model.strength_, 1 - model.variant_)
    np.testing.assert_array_equal(held.predict(FRAME), model.predict(FRAME))
    np.testing.assert_array_equal(held.predict_proba(FRAME), model.predict_proba(FRAME))
    assert model.rules_.equals(held.rules_)
    assert model.trace_.equals(held.trace_)
    assert model.certified_
    assert re.search(r"optimal to .* at lambda_0=.* one of \d+ on a path", model.certificate_)
    assert model.at(max_rules=3).complexity_ <= 3 * 1.4
    assert model.classes_.tolist() == held.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    "budgets", [{"max_rules": 4}, {"max_complexity": 7.5}, {"max_conditions": 5}, {"max_rules": 0}]
)
def test_budgets_are_kept(budgets):
    model = RuleRegressorCV(cv=2, select=budgets, **SMALL | {"linear_terms": True}).fit(
        FRAME, NUMBERS
    )
    sizes = {
        "max_rules": len(model.rules_),
        "max_complexity": model.complexity_,
        "max_conditions": model.rules_["degree"].sum(),
    }
    for key, most in budgets.items():
        assert sizes[key] <= most
    assert model.at(**budgets).ensemble_ == model.ensemble_


def test_one_standard_error_gives_a_simpler_model():
    base = RuleRegressorCV(cv=3, **SMALL).fit(FRAME, NUMBERS)
    simple = RuleRegressorCV(cv=3, select="1se", **SMALL).fit(FRAME, NUMBERS)
    np.testing.assert_array_equal(base.path_.scores, simple.path_.scores)
    assert simple.complexity_ < base.complexity_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_rule_a_class_is_enough_where_it_tells_the_class(n_classes):
    rng = np.random.default_rng(0)
    frame = mixed_frame(300)
    frame["code"] = rng.choice(list("abc")[:n_classes], 300)
    y = frame["code"].map({"a": "first", "b": "second", "c": "third"})
    model = RuleClassifierCV(random_state=0).fit(frame, y)
    assert len(model.rules_) == n_classes - 1
    assert all("code" in rule for rule in model.rules_["rule"])
    assert model.score(frame, y) == 1.0
    assert model.predict_proba(frame).max(axis=1).min() > 0.999


def test_groups_stay_together():
    groups = np.repeat(np.arange(N // 8), 8)
    for model, y in ((RuleClassifierCV(**SMALL), LABELS), (RuleRegressorCV(**SMALL), NUMBERS)):
        splits = model.set_params(cv=3)._split(
            FRAME, model._check_rows(FRAME, y, None, None), groups
        )
        assert len(splits) == 3
        for train, valid in splits:
            assert not set(groups[train]) & set(groups[valid])
    model = RuleRegressorCV(cv=GroupKFold(3), **SMALL).fit(FRAME, NUMBERS, groups=groups)
    explicit = list(GroupKFold(3).split(FRAME, groups=groups))
    listed = RuleRegressorCV(cv=explicit, **SMALL).fit(FRAME, NUMBERS)
    np.testing.assert_array_equal(model.path_.scores, listed.path_.scores)
    with pytest.raises(ValueError, match="groups"):
        RuleRegressorCV(cv=LeaveOneGroupOut(), **SMALL).fit(FRAME, NUMBERS)


def test_classes_are_spread_over_the_folds():
    y = np.where(np.arange(N) < 40, "rare", "usual")
    model = RuleClassifierCV(cv=4, **SMALL)
    splits = model._split(FRAME, model._check_rows(FRAME, y, None, None), None)
    assert [np.sum(y[valid] == "rare") for _, valid in splits] == [10] * 4


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_rows_of_weight_zero_are_absent(scoring):
    rng = np.random.default_rng(2)
    kept = rng.random(N) < 0.7
    weights = np.where(kept, rng.integers(1, 3, N), 0).astype(float)
    settings = {**SMALL, "scoring": scoring}
    whole = RuleRegressorCV(cv=FOLDS, **settings).fit(FRAME, NUMBERS, weights)
    number = np.cumsum(kept) - 1
    folds = [(number[t[kept[t]]], number[v[kept[v]]]) for t, v in FOLDS]
    part = RuleRegressorCV(cv=folds, **settings).fit(FRAME[kept], NUMBERS[kept], weights[kept])
    assert part.ensemble_ == whole.ensemble_
    np.testing.assert_allclose(part.path_.scores, whole.path_.scores, rtol=1e-12)
    with pytest.raises(ValueError, match="no fold with rows of positive weight"):
        RuleRegressorCV(cv=[(np.arange(5), np.flatnonzero(~kept))]).fit(FRAME, NUMBERS, weights)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", get_scorer("accuracy")])
def test_scorers_choose(scoring):
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    model = RuleClassifierCV(cv=cv, scoring=scoring, **SMALL).fit(FRAME, LABELS)
    table = model.path_.table()
    assert model.path_.greater_is_better
    assert table["cv_mean"][model.best_index_] == pytest.approx(table["cv_mean"].max())
    if scoring == "neg_log_loss":
        deviance = RuleClassifierCV(cv=cv, **SMALL).fit(FRAME, LABELS)
        np.testing.assert_allclose(-model.path_.scores, deviance.path_.scores, rtol=1e-9)


def test_offsets_and_exposures_are_in_the_folds():
    y = target_of("poisson", FRAME)
    exposure = np.random.default_rng(5).uniform(0.5, 2.0, N)
    model = RuleRegressorCV(family="poisson", cv=FOLDS, **SMALL)
    model.fit(FRAME, y, exposure=exposure)
    shifted = clone(model).fit(FRAME, y, offset=np.log(exposure))
    np.testing.assert_allclose(model.path_.scores, shifted.path_.scores, rtol=1e-9)
    assert not np.allclose(model.path_.scores[:, 0], clone(model).fit(FRAME, y).path_.scores[:, 0])
    scorer = make_scorer(mean_poisson_deviance, greater_is_better=False)
    with pytest.raises(ValueError, match="scorers know nothing of `offset`"):
        clone(model).set_params(scoring=scorer).fit(FRAME, y, exposure=exposure)


def test_several_ratios_share_a_path():
    settings = {"cv": 2, "max_degree": 2, **SMALL}
    both = RuleRegressorCV(lambda_ratio=[0.05, 1.0], **settings).fit(FRAME, NUMBERS)
    table = both.path_.table()
    ratios = (table["lambda_1"] / table["strength"]).round(6)
    assert set(ratios) == {0.05, 1.0}
    for ratio in (0.05, 1.0):
        one = RuleRegressorCV(lambda_ratio=ratio, **settings).fit(FRAME, NUMBERS)
        mine = (ratios == ratio).to_numpy()
        np.testing.assert_array_equal(both.path_.scores[:, mine], one.path_.scores)
    held = both.at(len(table) - 1)
    assert held.lambda_1 == pytest.approx(held.lambda_0)


def test_a_time_limit_shortens_the_path():
    model = RuleRegressorCV(penalty="l1", time_limit=1e-4, cv=2, max_degree=3, bins=32)
    with pytest.warns(ConvergenceWarning, match="time limit was reached"):
        model.fit(FRAME, NUMBERS)
    assert len(model.path_) < 30
    assert np.isfinite(model.path_.table()["cv_mean"][model.best_index_])
    model.set_params(time_limit=60, max_degree=1, n_lambdas=4).fit(FRAME, NUMBERS)


def test_models_that_a_fold_did_not_reach_are_not_chosen(monkeypatch):
    from ruleglm import selection

    whole = selection.fit_path

    def cut(rows, settings, penalties, limits):
        models = whole(rows, settings, penalties, limits)
        return models if isinstance(penalties, int) else islice(models, 3)

    monkeypatch.setattr(selection, "fit_path", cut)
    model = RuleRegressorCV(cv=2, **SMALL).fit(FRAME, NUMBERS)
    assert model.path_.table()["cv_mean"].notna().tolist() == [True] * 3 + [False] * (
        len(model.path_) - 3
    )
    assert model.best_index_ <= 2


def test_a_pursuit_is_compared_at_equal_complexity():
    settings = {"penalty": "l0", "max_complexity": 8, "bins": 8, "linear_terms": True}
    model = RuleRegressorCV(cv=FOLDS[:2], **settings).fit(FRAME, NUMBERS)
    place = model.path_.variants.index(10.0)
    for index in (0, 2, len(model.path_) - 1):
        most = model.path_.complexities()[index]
        for fold, (train, valid) in enumerate(FOLDS[:2]):
            plain = RuleRegressor(**{**settings, "max_complexity": most})
            plain.fit(FRAME.iloc[train], NUMBERS[train])
            error = NUMBERS[valid] - plain.predict(FRAME.iloc[valid])
            expected = 0.5 * np.mean(error**2) / NUMBERS.var()
            assert model.path_.scores[fold, index, place] == pytest.approx(expected, rel=1e-3)


def test_an_interrupt_ends_the_fit(monkeypatch):
    from ruleglm.pricing import HistogramPricer
    from ruleglm.pricing.gains import GainPricer

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(HistogramPricer, "price", interrupt)
    monkeypatch.setattr(GainPricer, "price", interrupt)
    for penalty in ("l0", "l1"):
        with pytest.raises(KeyboardInterrupt):
            RuleRegressorCV(cv=2, **SMALL | {"penalty": penalty}).fit(FRAME, NUMBERS)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = RuleRegressor(penalty="l0").fit(FRAME, NUMBERS)
    assert len(model.rules_) == 0


def test_progress_is_shown_only_on_request(capfd):
    RuleRegressorCV(cv=2, **SMALL).fit(FRAME, NUMBERS)
    assert capfd.readouterr() == ("", "")
    RuleRegressorCV(cv=2, verbose=1, **SMALL).fit(FRAME, NUMBERS)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "path" in shown.err
    assert "folds" in shown.err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"select": {"max_terms": 3}}, "budgets are max_complexity, max_rules, max_conditions"),
        ({"select": "best"}, "'select' parameter"),
        ({"cv": 1}, "'cv' parameter|n_splits=1"),
        ({"scoring": "nonsense"}, "'scoring' parameter"),
        ({"lambda_ratio": -0.5}, "'lambda_ratio' parameter"),
        ({"lambda_ratio": [0.1, -0.5]}, "`lambda_ratio`"),
        ({"lambda_ratio": []}, "`lambda_ratio`"),
        ({"n_lambdas": 0}, "'n_lambdas' parameter"),
        ({"time_limit": "long"}, "'time_limit' parameter"),
    ],
)
def test_what_cannot_be_is_refused_at_once(parameters, message):
    with pytest.raises(ValueError, match=message):
        RuleRegressorCV(**parameters).fit(FRAME, NUMBERS)


def test_plain_estimators_keep_their_parameters():
    model = RuleRegressorCV(cv=2, max_degree=1, **SMALL | {"linear_terms": True}).fit(
        FRAME, NUMBERS
    )
    held = model.at(1)
    assert isinstance(held, RuleRegressor)
    assert (held.max_degree, held.bins, held.linear_terms) == (1, 8, True)
    assert held.n_features_in_ == FRAME.shape[1]


@pytest.mark.parametrize("time_limit", [None, 1e-9])
def test_an_included_column_that_separates_the_classes_leaves_a_path(time_limit):
    """The loss is flat there, and the first penalty no more than rounding."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 4)), columns=list("abcd"))
    model = RuleClassifierCV(
        penalty="l1", include=["a"], max_complexity=2, cv=2, n_lambdas=4, time_limit=time_limit
    )
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.fit(X, (X["a"] > 0).astype(int))
    assert model.complexity_ == 1.0
    assert len(model.path_.table()) >= 1
