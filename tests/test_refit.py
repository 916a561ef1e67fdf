"""Edited models and their coefficients, against optimisers that know nothing of rules."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from ruleglm import (
    RuleClassifier,
    RuleClassifierCV,
    RuleEnsemble,
    RuleRegressor,
    RuleSyntaxError,
    parse_rule,
    refit,
)
from ruleglm.families import FAMILIES, get_family
from ruleglm.multinomial import Multinomial
from ruleglm.rules import LinearTerm
from tests.data import mixed_frame, target_of

N = 300
FRAME = mixed_frame(N)
KINDS = {
    **dict.fromkeys(["age", "income", "claims", "odd name\n;"], "number"),
    **dict.fromkeys(["sex", "region", "smoker"], "level"),
    "size": "ordered",
}
ORDERS = {"size": ("S", "M", "L", "XL")}
TEXTS = (
    "age > 50",
    "region = 'south'",
    "claims > 2 and sex = 'F'",
    "age is missing",
    "size <= 'M' and smoker = true",
)
LINE = LinearTerm("odd name\n;", -1.5, 1.5, 0.1)
STATSMODELS = {
    "gaussian": sm.families.Gaussian(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
    "tweedie": sm.families.Tweedie(sm.families.links.Log(), var_power=1.5, eql=True),
}


def build(family="gaussian", texts=TEXTS, lines=(LINE,), **more):
    return RuleEnsemble(
        intercept=0.3,
        rules=tuple(parse_rule(text, ORDERS) for text in texts),
        coefficients=np.linspace(-1, 1, len(texts)),
        linear_terms=lines,
        linear_coefficients=np.full(len(lines), 0.2),
        family=get_family(family),
        names=tuple(FRAME.columns),
        kinds=KINDS,
        orders=ORDERS,
        **more,
    )


def plain_columns(frame):
    """The terms of the model as pandas sees them, the intercept first."""
    age, claims, size = frame["age"], frame["claims"], frame["size"].cat.codes
    return np.column_stack(
        [
            np.ones(len(frame)),
            frame["odd name\n;"].clip(-1.5, 1.5),
            age > 50,
            frame["region"] == "south",
            (claims > 2) & (frame["sex"] == "F"),
            age.isna(),
            (size <= 1) & frame["smoker"],
        ]
    ).astype(float)


@pytest.mark.parametrize("family", sorted(FAMILIES & STATSMODELS.keys()))
def test_refit_without_ridge_is_the_glm_of_statsmodels(family):
    rng = np.random.default_rng(2)
    y = target_of(family, FRAME)
    if family == "binomial":
        y = np.where(rng.random(N) < 0.2, 1 - y, y)
    weights, offset = rng.integers(0, 4, N), rng.normal(0, 0.3, N)
    fitted = refit(build(family), FRAME, y, weights, offset=offset, ridge=0.0)
    used = weights > 0
    reference = sm.GLM(
        y[used],
        plain_columns(FRAME)[used],
        family=STATSMODELS[family],
        freq_weights=weights[used],
        offset=offset[used],
    ).fit(tol=1e-14, maxiter=200)
    assert_allclose(fitted.all_coefficients(), reference.params, rtol=1e-5, atol=1e-6)
    assert_allclose(fitted.predict(FRAME[used], offset[used]), reference.mu, rtol=1e-5)


def spreads(columns, weights):
    """The standard deviations of rules, in units of that of a line."""
    shares = np.average(columns, axis=0, weights=weights)
    return np.sqrt(shares * (1 - shares)) / 0.4


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_refit_with_ridge_is_the_optimum_of_scipy(family):
    rng = np.random.default_rng(3)
    y, weights, offset = target_of(family, FRAME), rng.random(N) + 0.5, rng.normal(0, 0.3, N)
    fitted = refit(build(family), FRAME, y, weights, offset=offset, ridge=4.0)
    columns = plain_columns(FRAME)
    scale = np.ones(columns.shape[1])
    line = columns[:, 1]
    center = np.average(line, weights=weights)
    scale[1] = 0.4 / np.sqrt(np.average((line - center) ** 2, weights=weights))
    columns = columns * scale - np.r_[0, center * scale[1], np.zeros(5)]
    loss, derive = fitted.family.loss, fitted.family.gradient

    ridges = 4.0 * np.r_[0.0, 1.0, spreads(columns[:, 2:], weights)]

    def objective(coef):
        eta = offset + columns @ coef
        value = weights @ loss(y, eta) + 0.5 * ridges @ coef**2
        return value, columns.T @ (weights * derive(y, eta)) + ridges * coef

    start = np.r_[np.log(max(y.mean(), 0.1)), np.zeros(6)]
    best = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    coef = fitted.all_coefficients()
    coef[0] += coef[1] * center
    assert_allclose(coef / scale, best.x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_weight_of_two_is_the_row_twice_and_none_is_no_row(family):
    y = target_of(family, FRAME)
    weights = np.arange(N) % 3
    weighted = refit(build(family), FRAME, y, weights)
    twice = np.repeat(np.arange(N), weights)
    repeated = refit(build(family), FRAME.iloc[twice], y[twice])
    assert_allclose(weighted.all_coefficients(), repeated.all_coefficients(), rtol=1e-8, atol=1e-10)


def test_exposure_is_an_offset():
    y, exposure = target_of("poisson", FRAME), np.linspace(0.5, 2, N)
    by_exposure = refit(build("poisson"), FRAME, y, exposure=exposure)
    by_offset = refit(build("poisson"), FRAME, y, offset=np.log(exposure))
    assert by_exposure == by_offset


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_coefficients_of_several_classes_are_those_of_scikit_learn(ridge):
    rng = np.random.default_rng(4)
    texts = TEXTS[:4]
    matrix = plain_columns(FRAME)[:, 2:6]
    eta = matrix @ rng.normal(0, 1, (4, 3))
    labels = np.array(["a", "b", "c"])[np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)]
    weights = rng.integers(1, 4, N)
    model = several(texts)
    fitted = refit(model, FRAME, labels, weights, ridge=ridge)
    peer = LogisticRegression(C=1.0 / ridge if ridge else np.inf, tol=1e-12, max_iter=10_000)
    scaled = matrix / np.sqrt(spreads(matrix, weights))
    peer.fit(scaled, labels, weights)
    assert_allclose(fitted.predict(FRAME), peer.predict_proba(scaled), atol=2e-5)
    assert_allclose(fitted.all_coefficients().sum(axis=1), 0, atol=1e-9)
    fixed = refit(model, FRAME, labels, weights, ridge=ridge, fixed=[texts[0]])
    assert_allclose(fixed.coefficients[0], model.coefficients[0])
    assert not np.allclose(fixed.predict(FRAME), fitted.predict(FRAME))


def test_lines_of_several_classes_are_scaled_back_and_may_stay():
    labels = np.array(["a", "b", "c"])[np.digitize(target_of("gaussian", FRAME), [30, 36])]
    lined = several(TEXTS[:2], (LINE,))
    fitted = refit(lined, FRAME, labels, ridge=0.0)
    matrix = plain_columns(FRAME)[:, 1:4]
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(matrix, labels)
    assert_allclose(fitted.predict(FRAME), peer.predict_proba(matrix), atol=2e-5)
    stays = refit(fitted, FRAME, labels, ridge=0.0, fixed=[LINE.feature])
    assert_allclose(stays.predict(FRAME), fitted.predict(FRAME), atol=1e-5)
    still = FRAME.assign(**{LINE.feature: 0.7})
    without = refit(several(TEXTS[:2]), still, labels)
    kept = refit(lined, still, labels, fixed=[LINE.feature])
    assert_allclose(kept.predict(still), without.predict(still), atol=1e-6)


def test_refit_of_several_classes_is_the_model_itself():
    labels = np.array(["a", "b", "c"])[np.digitize(target_of("gaussian", FRAME), [30, 36])]
    model = RuleClassifier(penalty="l0", max_complexity=6, bins=8).fit(FRAME, labels)
    again = model.refit(FRAME, labels)
    assert_allclose(again.predict_proba(FRAME), model.predict_proba(FRAME), atol=1e-4)
    shorter = model.refit(FRAME, labels, drop=[0], add=["age > 33.25"])
    assert "age > 33.25" in shorter.rules_["rule"].tolist()


def several(texts, lines=()):
    return RuleEnsemble(
        intercept=np.zeros(3),
        rules=tuple(parse_rule(text, ORDERS) for text in texts),
        coefficients=np.linspace(-1, 1, 3 * len(texts)).reshape(-1, 3),
        linear_terms=lines,
        linear_coefficients=np.full((len(lines), 3), [0.5, -0.2, -0.3]),
        family=Multinomial(3),
        names=tuple(FRAME.columns),
        kinds=KINDS,
        orders=ORDERS,
        classes=("a", "b", "c"),
    )


def test_fixed_terms_keep_their_coefficients_and_the_others_know_of_them():
    y = target_of("gaussian", FRAME)
    fitted = refit(build(), FRAME, y, ridge=0.0, fixed=["age > 50", LINE.feature])
    columns = plain_columns(FRAME)
    before = build().all_coefficients()
    free = [0, 3, 4, 5, 6]
    rest = y - columns[:, [1, 2]] @ before[[1, 2]]
    best = np.linalg.lstsq(columns[:, free], rest, rcond=None)[0]
    assert_allclose(fitted.all_coefficients()[free], best, rtol=1e-8)
    assert_allclose(fitted.all_coefficients()[[1, 2]], before[[1, 2]])


# ------------------------------------------------------------------------------------- rows


def test_rows_that_say_nothing_of_a_term_are_named():
    men = FRAME[FRAME["sex"] == "M"]
    y = target_of("gaussian", men)
    with pytest.warns(
        UserWarning, match="claims > 2 and sex = 'F'.*drop it, or name it in `fixed`"
    ):
        fitted = refit(build(), men, y)
    assert fitted.coefficients[2] == 0.0
    fixed = refit(build(), men, y, fixed=["claims > 2 and sex = 'F'"])
    assert fixed.coefficients[2] == build().coefficients[2]
    assert_allclose(fixed.predict(men), fitted.predict(men))


def test_rules_that_cover_the_same_rows_share_the_effect():
    y = target_of("gaussian", FRAME)
    twins = build(texts=("claims > 2", "claims > 2.5"), lines=())
    fitted = refit(twins, FRAME, y, ridge=1.0)
    assert_allclose(*fitted.coefficients)
    with pytest.raises(ValueError, match=r"collinear.*`ridge` above 0"):
        refit(twins, FRAME, y, ridge=0.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rule_that_is_the_sum_of_others_is_collinear(family):
    texts = ("claims > 2", "claims > 4", "claims > 2 and claims <= 4")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(FRAME))
    with pytest.raises(ValueError, match=r"collinear.*`ridge` above 0"):
        refit(
            build(family, texts=texts, lines=()),
            FRAME,
            target_of(family, FRAME),
            sample_weight=weights,
            ridge=0.0,
        )


def test_a_ridge_keeps_rules_that_separate_the_classes_small():
    y = (FRAME["claims"] > 2).astype(float)
    rule = build("binomial", texts=("claims > 2",), lines=())
    assert 2 < refit(rule, FRAME, y).coefficients[0] < 12
    assert 20 < refit(rule, FRAME, y, ridge=0.0).coefficients[0] < np.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["a"] * N}, "'a'"),
        ({"y": np.zeros(N - 1)}, "X has 300 rows, but y has 299"),
        ({"ridge": -1.0}, "`ridge` is -1.0"),
        ({"fixed": ["age > 51"]}, "no rule `age > 51`"),
        ({"sample_weight": np.zeros(N)}, "zero in every row"),
        ({"X": FRAME.drop(columns="age")}, "lacks the columns 'age'"),
    ],
)
def test_bad_input_is_named(change, message):
    given_all = {"ensemble": build(), "X": FRAME, "y": target_of("gaussian", FRAME)}
    with pytest.raises(ValueError, match=message):
        refit(**{**given_all, **change})


# -------------------------------------------------------------------------------------- edits


@settings(deadline=None, max_examples=40)
@given(st.sets(st.integers(1, 6)))
def test_what_is_dropped_is_gone_and_the_rest_adds_up(gone):
    model = build()
    kept = [k for k in range(7) if k not in gone]
    shorter = model.drop(*gone)
    assert shorter.terms == tuple(model.terms[k] for k in kept)
    assert shorter == model.drop(*(model.terms[k] for k in gone))
    parts = model.contributions(FRAME)[:, kept]
    assert_allclose(shorter.contributions(FRAME), parts)
    assert_allclose(shorter.decision_function(FRAME), parts.sum(axis=1))


def test_added_rules_have_no_effect_until_refitted():
    y = target_of("gaussian", FRAME)
    longer = build().add("income > 20000 and age <= 33.3", parse_rule("smoker = true"))
    assert_allclose(longer.predict(FRAME), build().predict(FRAME))
    fitted = refit(longer, FRAME, y)
    assert fitted.coefficients[-1] != 0.0
    assert np.mean((y - fitted.predict(FRAME)) ** 2) < np.mean(
        (y - refit(build(), FRAME, y).predict(FRAME)) ** 2
    )


def test_a_replaced_rule_leaves_its_coefficient():
    model = build().replace("age > 50", "age > 52")
    assert model.terms[2] == "age > 52"
    assert_allclose(model.coefficients, build().coefficients)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.drop("age > 51"), "has no rule `age > 51`"),
        (lambda m: m.drop(0), "row 0 the intercept"),
        (lambda m: m.drop(7), "There is no term 7"),
        (lambda m: m.add("age > 50"), "is in the model already"),
        (lambda m: m.add("height > 3"), "'height'"),
        (lambda m: m.replace(1, "age > 3"), "is a line"),
        (lambda m: m.replace("age > 50", "age is missing"), "drop 'age > 50' instead"),
    ],
)
def test_impossible_edits_are_refused(edit, message):
    with pytest.raises(ValueError, match=message):
        edit(build())


def test_a_text_that_is_no_rule_is_shown_with_its_place():
    with pytest.raises(RuleSyntaxError) as caught:
        build().add("age >> 3")
    assert caught.value.position == 5


# --------------------------------------------------------------------------------- estimators


def test_refit_of_nothing_edited_is_the_model_itself():
    y = target_of("gaussian", FRAME)
    for settings_ in ({"lambda_0": 0.02}, {"penalty": "l0", "max_complexity": 9}):
        model = RuleRegressor(linear_terms=True, **settings_).fit(FRAME, y)
        assert len(model.rules_) > 3
        again = model.refit(FRAME, y)
        assert_allclose(again.predict(FRAME), model.predict(FRAME), rtol=1e-4)
        assert again.ensemble_.terms == model.ensemble_.terms
        assert np.isnan(again.gap_)
        assert not again.certified_
        assert "nothing is proved" in again.certificate_


def test_refit_counts_classes_as_the_fit_did():
    y = target_of("binomial", FRAME)
    model = RuleClassifier(class_weight={0: 1.0, 1: 5.0}, lambda_0=0.03).fit(FRAME, y)
    assert_allclose(model.refit(FRAME, y).predict_proba(FRAME), model.predict_proba(FRAME), 1e-4)


def test_rows_of_the_table_of_rules_can_be_dropped():
    y = np.where(target_of("binomial", FRAME) > 0, "yes", "no")
    model = RuleClassifierCV(max_complexity=12, cv=2, bins=8).fit(FRAME, y)
    shown = model.rules_["rule"]
    edited = model.refit(FRAME, y, drop=[0, *shown[2:4]], add=["age > 33.25"])
    assert isinstance(edited, RuleClassifier)
    left = [text for k, text in enumerate(shown) if k not in (0, 2, 3)]
    assert set(edited.rules_["rule"]) == {*left, "age > 33.25"}
    assert model.rules_["rule"].tolist() == shown.tolist()
    table = edited.rules_.set_index("rule")
    assert table.loc["age > 33.25", "support"] == (FRAME["age"] > 33.25).mean()
    assert edited.complexity_ == edited.ensemble_.complexity
    assert_allclose(edited.predict_proba(FRAME)[:, 1], edited.ensemble_.predict(FRAME))
    with pytest.raises(ValueError, match="no row 99"):
        model.refit(FRAME, y, drop=[99])


def test_labels_that_the_model_does_not_know_are_refused():
    y = np.where(target_of("binomial", FRAME) > 0, "yes", "no")
    model = RuleClassifier(lambda_0=0.05).fit(FRAME, y)
    with pytest.raises(ValueError, match="'maybe'"):
        model.refit(FRAME, np.where(FRAME["age"] > 50, "maybe", "no"))


def test_refit_on_new_rows_has_their_level():
    y = target_of("poisson", FRAME)
    model = RuleRegressor(family="poisson", lambda_0=0.02).fit(FRAME, y)
    new = pd.concat([FRAME] * 2, ignore_index=True)
    later = model.refit(new, 2 * np.r_[y, y])
    assert_allclose(later.predict(new).mean(), 2 * y.mean(), rtol=1e-6)
