"""Rules that a person gives or forbids, against explicit problems that have or lack them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ruleglm import (
    RuleClassifier,
    RuleClassifierCV,
    RuleRegressor,
    RuleRegressorCV,
    RuleSyntaxError,
    parse_rule,
)
from ruleglm.binning import build_binning
from ruleglm.conditions import quote_name
from ruleglm.engines import LocalEngine
from ruleglm.families import FAMILIES, get_family
from ruleglm.frames import read_table
from ruleglm.pricing.problem import Penalty
from ruleglm.solvers.certificate import column_ratio, lower_bound
from ruleglm.solvers.columns import column_penalties
from tests.data import mixed_frame, target_of
from tests.reference.binarise import all_rules, rule_column
from tests.reference.glm import solve_l1_glm
from tests.test_column_generation import model_for, small_frame, target_from

FRAME = mixed_frame(300)
NUMBERS = target_of("gaussian", FRAME)
CLASSES = target_of("binomial", FRAME)
GIVEN = "age > 33.25 and sex = 'F'"
PENALTIES = pytest.mark.parametrize("penalty", ["l1", "l0"])


def continuous_frame(seed=5, n=50):
    frame, eta = small_frame(seed, n)
    rng = np.random.default_rng(seed)
    frame["a"] = np.round(rng.normal(0, 1, n), 4)
    return frame, eta + 0.8 * (frame["a"] > 0.3).to_numpy()


def rule_columns(frame, max_degree, bins, thresholds=None, weights=None):
    """Columns and degrees of all rules, each split of the rows once."""
    table = read_table(frame)
    binning = build_binning(table, bins=bins, thresholds=thresholds, sample_weight=weights)
    codes = binning.encode(table)
    masks = [list(one.vocabulary.masks) for one in binning.features]
    columns, degrees = {}, {}
    for rule, degree in all_rules(codes, masks, max_degree, per_feature=max_degree):
        column = rule_column(codes, rule)
        key = column.tobytes()
        if key not in degrees or degree < degrees[key]:
            columns[key], degrees[key] = column, degree
    return np.column_stack(list(columns.values())), np.array(list(degrees.values()))


# ------------------------------------------------------------------------------------- include


@pytest.mark.parametrize("family", FAMILIES)
def test_an_included_rule_has_no_price_and_the_certificate_holds(family):
    frame, eta = continuous_frame()
    y = target_from(family, eta, 5)
    rng = np.random.default_rng(1)
    weights, offset = rng.integers(1, 4, len(y)), rng.normal(0, 0.2, len(y))
    given_rule = (frame["a"] > 0.1234) & (frame["c"] == "x")
    chosen = build_binning(read_table(frame), bins=3, sample_weight=weights).features[0].thresholds
    assert 0.1234 not in chosen
    model = model_for(
        family, include=["a > 0.1234 and c = 'x'"], lambda_0=0.02, bins=3, tol=1e-6
    ).fit(frame, y, weights, offset=offset)
    matrix, degrees = rule_columns(frame, 2, 3, {"a": sorted({*chosen, 0.1234})}, weights)
    matrix = np.column_stack([given_rule, matrix])
    penalties = np.r_[0.0, 0.02 * (1 + 0.2 * degrees)]
    if family == "gaussian":
        shift = np.average(y - offset, weights=weights)
        unit = np.sqrt(np.average((y - offset - shift) ** 2, weights=weights))
        y, offset = (y - shift) / unit, offset / unit
    best = solve_l1_glm(matrix, y, get_family(family), penalties, weights, offset)[0]
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    assert model.lower_bound_ <= best + 1e-8
    assert model.certified_
    rule = parse_rule("a > 0.1234 and c = 'x'")
    support = model.rules_.set_index("rule").loc[str(rule), "support"]
    assert support == pytest.approx(np.average(given_rule, weights=weights))


@pytest.mark.parametrize("penalty", ["l0", "l1"])
def test_two_values_are_a_rule_unless_a_line_is_asked_for(penalty):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.integers(0, 2, 200), "rare": rng.random(200) < 0.02})
    frame["rare"] = frame["rare"].astype(float) + 5.0
    frame["dose"] = rng.standard_normal(200)
    y = 2.0 * frame["sex"] + frame["dose"] + 0.1 * rng.standard_normal(200)
    given = {"penalty": penalty, "linear_terms": True}
    model = RuleRegressor(**given).fit(frame, y)
    assert [line.feature for line in model.ensemble_.linear_terms] == ["dose"]
    assert any(rule.text() in ("sex > 0.5", "sex <= 0.5") for rule in model.ensemble_.rules)
    asked = RuleRegressor(**given, include=["sex"]).fit(frame, y)
    assert {line.feature for line in asked.ensemble_.linear_terms} == {"sex", "dose"}


def test_an_included_line_has_no_price():
    frame, eta = continuous_frame()
    line = RuleRegressor(include=["a"], lambda_0=10.0, debias=False).fit(frame, eta)
    assert [term.feature for term in line.ensemble_.linear_terms] == ["a"]
    clipped = frame["a"].clip(
        line.ensemble_.linear_terms[0].low, line.ensemble_.linear_terms[0].high
    )
    slope, intercept = np.polyfit(clipped, eta, 1)
    assert_allclose(line.ensemble_.linear_coefficients, slope, rtol=1e-6)
    assert line.intercept_ == pytest.approx(intercept)
    assert line.certified_


def test_lines_without_a_price_are_certified():
    model = RuleRegressor(lambda_0=0.0, lambda_1=0.02, linear_terms=True).fit(FRAME, NUMBERS)
    assert model.certified_
    assert 0 < model.gap_ <= 1e-4


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(sorted(FAMILIES)))
def test_the_bound_holds_wherever_the_free_coefficients_stand(seed, family):
    rng = np.random.default_rng(seed)
    n = 25
    codes = rng.integers(0, 2, (4, n)).astype(np.uint8)
    y = target_from(family, rng.normal(0, 1, n), seed)
    line = rng.normal(0, 1, n)
    engine = LocalEngine(codes, np.full(4, 2), y, get_family(family), linear=line[None])
    engine.add_rules([((k, 0b10),) for k in range(4)], [1] * 4)
    n_rules = len(engine.rules)
    free = [1, 2, 3][: rng.integers(1, 4)]
    penalty = Penalty(0.02, 0.01)
    penalties = column_penalties(engine, penalty, free)
    coef = np.r_[engine.null_intercept(), rng.normal(0, 0.1, 1 + n_rules)]
    engine.set_coefficients(coef)
    ratio = column_ratio(engine.score(), penalties, engine.column_signs())
    bound = lower_bound(engine, ratio, penalty, free)
    matrix = np.column_stack([line, *(codes[rule[0][0]] for rule in engine.rules)])
    best = solve_l1_glm(matrix, y, get_family(family), penalties)[0]
    assert 0.0 <= bound <= best + 1e-9


def test_included_rules_that_separate_the_classes_do_no_harm():
    y = (FRAME["claims"] > 2).astype(int)
    model = RuleClassifier(include=["claims > 2"], lambda_0=0.02).fit(FRAME, y)
    assert model.score(FRAME, y) == 1.0
    assert np.isfinite(model.ensemble_.coefficients).all()
    assert model.objective_ < 1e-3
    assert 0.0 <= model.lower_bound_ <= model.objective_


def test_a_rule_of_rows_of_one_class_leaves_the_certificate_whole():
    frame, eta = continuous_frame()
    y = (eta > 0.2) | (frame["a"] > 0.9)
    assert y[frame["a"] > 0.9].all()
    model = RuleClassifier(include=["a > 0.9"], lambda_0=0.02, bins=4).fit(frame, y)
    assert model.certified_
    assert model.gap_ < 1e-4


def test_all_levels_of_a_column_may_be_included():
    levels = ["north", "south", "o''east", "we`st"]
    model = RuleRegressor(include=[f"region = '{level}'" for level in levels], lambda_0=0.05)
    model.fit(FRAME.dropna(), NUMBERS[FRAME.notna().all(axis=1)])
    assert len([text for text in model.ensemble_.terms if text.startswith("region = ")]) == 4
    assert model.certified_


@PENALTIES
def test_included_rules_are_in_every_model_of_a_path(penalty):
    include = [GIVEN, "region = 'south'", "income"]
    model = RuleRegressorCV(
        penalty=penalty, include=include, max_complexity=10, n_lambdas=6, cv=2, bins=16
    ).fit(FRAME, NUMBERS)
    assert len(model.path_) > 3
    least = 2 + 0.2 * 3 + 1
    for ensemble in model.path_:
        assert parse_rule(GIVEN) in ensemble.rules
        assert parse_rule("region = 'south'") in ensemble.rules
        assert "income" in [term.feature for term in ensemble.linear_terms]
        assert ensemble.complexity >= least
    assert min(ensemble.complexity for ensemble in model.path_) == pytest.approx(least)


def test_pursuit_keeps_a_useless_rule_and_counts_it():
    model = RuleRegressor(penalty="l0", include=["income > 20000 and sex = 'M' and claims <= 1.5"])
    model.set_params(max_complexity=12, max_degree=2).fit(FRAME, NUMBERS)
    assert parse_rule(model.include[0]) in model.ensemble_.rules
    assert 8 < model.complexity_ <= 12
    without = RuleRegressor(penalty="l0", max_complexity=12 - 1.6, max_degree=2)
    without.fit(FRAME, NUMBERS)
    assert model.score(FRAME, NUMBERS) >= without.score(FRAME, NUMBERS) - 0.01


@PENALTIES
def test_thresholds_of_included_rules_are_exact_in_refined_bins(penalty):
    model = RuleRegressor(penalty=penalty, bins="auto", include=["37.125 < age <= 61.0625"])
    model.fit(FRAME, NUMBERS)
    support = model.rules_.set_index("rule").loc["37.125 < age <= 61.0625", "support"]
    assert support == ((FRAME["age"] > 37.125) & (FRAME["age"] <= 61.0625)).mean()


def test_a_threshold_of_a_person_takes_the_place_of_one_that_cuts_the_same_rows():
    y = 3.0 * (FRAME["claims"] > 2) + 0.01 * NUMBERS
    model = RuleRegressor(include=["claims > 2.125 and sex = 'F'"], lambda_0=0.05).fit(FRAME, y)
    assert "claims <= 2.125" in model.ensemble_.terms
    assert not any("2.5" in text for text in model.ensemble_.terms)


def test_rare_levels_may_be_included():
    frame = FRAME.assign(code=np.where(np.arange(300) < 3, "rare", "common"))
    shared = {"max_complexity": 6, "cv": 3, "bins": 8, "min_level_share": 0.05}
    rules = ["code = 'rare' and sex = 'F'", "code != 'rare' and age > 40"]
    for model in (RuleRegressorCV(include=rules, **shared), RuleRegressor(include=rules)):
        model.fit(frame, NUMBERS)
        assert {parse_rule(rule) for rule in rules} <= set(model.ensemble_.rules)


def test_a_level_that_a_fold_lacks_is_no_trouble():
    frame = FRAME.assign(code=np.where(np.arange(300) == 7, "once", "often"))
    folds = [(np.arange(150, 300), np.arange(150)), (np.arange(150), np.arange(150, 300))]
    model = RuleRegressorCV(include=["code = 'once'"], max_complexity=6, bins=8, cv=folds)
    assert "code = 'once'" in model.fit(frame, NUMBERS).ensemble_.terms


def test_many_bins_leave_room_for_thresholds_of_a_person():
    x = np.arange(1000.0)[:, None]
    include = [f"x0 > {10.125 + k}" for k in range(40)]
    model = RuleRegressor(bins=254, include=include, max_degree=1, lambda_0=0.1).fit(x, x[:, 0])
    assert set(include) <= set(model.ensemble_.terms)


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("aeg > 50", 0, "There is no column 'aeg'; the nearest names are 'age'"),
        ("sex = 'F' and aeg > 50", 14, "no column 'aeg'"),
        ("sex = 'X'", 6, "'X' is no level of sex; it has 'F', 'M'"),
        ("age > 3 and sex in {'F', 'x'}", 25, "'x' is no level of sex"),
        ("age = 50", 0, "age holds numbers: compare it by <= and >, or name it in `categorical`"),
        ("age > 1 and region > 4", 12, "region holds levels without an order"),
        ("age > 1 and region > 'north'", 21, "an ordered category"),
        ("size = 'M'", 0, "The levels of size have an order"),
        ("size <= 'XXL'", 8, "'XXL' is no level of size; its order is 'S', 'M', 'L', 'XL'"),
        ("age > 50 sex", 9, "Expected `and` or the end"),
        ("age >", 5, "Expected a value"),
        ('sex = "F"', 6, "single quotes"),
    ],
)
@pytest.mark.parametrize("parameter", ["include", "exclude"])
def test_refusals_show_the_place(parameter, text, position, message):
    model = RuleRegressor(**{parameter: ["smoker = true", text]})
    with pytest.raises(RuleSyntaxError) as caught:
        model.fit(FRAME, NUMBERS)
    assert caught.value.position == position
    assert str(caught.value).startswith(f"`{parameter}[1]`: ")
    assert message in str(caught.value)
    *_, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :] == text[position:]


good = st.sampled_from(["age > 50", "sex = 'F'", "smoker != true", "size <= 'M'", "income < 1e5"])
bad = st.sampled_from(["wage", "`a b`", "Age", "größe", "x0"]).map(lambda name: f"{name} > 1")


@settings(deadline=None, max_examples=30)
@given(st.lists(good, max_size=4), bad, st.data())
def test_an_unknown_column_is_pointed_at_wherever_it_is(conditions, wrong, data):
    place = data.draw(st.integers(0, len(conditions)))
    parts = [*conditions[:place], wrong, *conditions[place:]]
    before = sum(len(part) + len(" and ") for part in parts[:place])
    with pytest.raises(RuleSyntaxError, match="There is no column") as caught:
        RuleRegressor(include=[" and ".join(parts)]).fit(FRAME, NUMBERS)
    assert caught.value.position == before


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"include": ["age > 50 and age <= 30"]}, ValueError, r"`include\[0\]`: No row can"),
        ({"include": [3]}, TypeError, "a rule, its text or the name of a column"),
        ({"include": "age > 50"}, ValueError, "include"),
        ({"include": ["sex"]}, ValueError, "'sex', which holds levels"),
        ({"include": [GIVEN], "exclude": [parse_rule(GIVEN)]}, ValueError, "take it out of one"),
        ({"include": ["age"], "exclude": ["age"]}, ValueError, "take it out of one"),
        (
            {"include": [GIVEN], "penalty": "l0", "max_complexity": 1.0},
            ValueError,
            "`include` alone has 1.4, more than max_complexity=1; raise `max_complexity`",
        ),
        (
            {"include": [GIVEN, "income"], "penalty": "l0", "max_rules": 1},
            ValueError,
            "`include` alone has 2, more than max_rules=1",
        ),
    ],
)
def test_impossible_demands_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        RuleRegressor(**parameters).fit(FRAME, NUMBERS)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["age > 1000"], "covers no row"),
        (["claims <= 1000"], "covers every row"),
        (["true"], "covers every row"),
        (["claims > 2", "claims > 2.5"], "splits the rows as `claims > 2` does"),
        (["sex = 'F'", "sex = 'M'"], "splits the rows as `sex = 'F'` does"),
    ],
)
@PENALTIES
def test_rules_that_tell_nothing_are_left_out_with_a_warning(penalty, rules, message):
    model = RuleRegressor(penalty=penalty, include=rules, max_complexity=5)
    with pytest.warns(UserWarning, match=message):
        model.fit(FRAME, NUMBERS)
    assert parse_rule(rules[-1]) not in model.ensemble_.rules
    assert all(parse_rule(rule) in model.ensemble_.rules for rule in rules[:-1])


def test_rows_of_weight_0_do_not_count_as_covered():
    weights = (FRAME["sex"] == "M").astype(float)
    with pytest.warns(UserWarning, match="covers no row"):
        RuleRegressor(include=["sex = 'F'"]).fit(FRAME, NUMBERS, weights)


# ------------------------------------------------------------------------------------- exclude


def implies(rule, ban, frame):
    """Whether a rule has all conditions of a ban, as strict or stricter; and the same split."""
    table = read_table(frame)
    for condition in ban.conditions:
        mine = [c for c in rule.conditions if c.feature == condition.feature]
        column = table.column(condition.feature)
        if not mine or (mine[0].holds(column) & ~condition.holds(column)).any():
            return False
    return True


def same_split(rule, ban, frame):
    table = read_table(frame)
    one, other = rule.holds(table), ban.holds(table)
    return (one == other).all() or (one == ~other).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {"lambda_0": 0.02},
        {"lambda_0": 0.02, "max_degree": 3, "bins": 8},
        {"lambda_0": 0.05, "pricing": "beam"},
        {"penalty": "l0", "max_complexity": 12},
        {"penalty": "l0", "max_complexity": 12, "pricing": "histogram", "bins": 8, "max_degree": 3},
        {"penalty": "l0", "max_complexity": 12, "linear_terms": True},
    ],
)
def test_what_is_excluded_is_not_learned(parameters):
    first = RuleRegressor(**parameters).fit(FRAME, NUMBERS)
    rules = sorted(first.ensemble_.rules, key=lambda rule: rule.degree)
    exclude = [str(rules[0]), str(rules[-1])]
    model = RuleRegressor(exclude=exclude, **parameters).fit(FRAME, NUMBERS)
    assert len(model.ensemble_.rules) > 2
    for ban in (parse_rule(text, model.ensemble_.orders) for text in exclude):
        assert ban in first.ensemble_.rules
        for rule in model.ensemble_.rules:
            assert not implies(rule, ban, FRAME)
            assert not same_split(rule, ban, FRAME)
    assert model.score(FRAME, NUMBERS) > 0.6 * first.score(FRAME, NUMBERS)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_without_the_excluded_rules_of_degree_two_the_optimum_is_certified(family):
    frame, eta = small_frame(3)
    y = target_from(family, eta, 3)
    parameters = {"lambda_0": 0.02, "bins": 10, "tol": 1e-6, "max_degree": 2}
    first = model_for(family, **parameters).fit(frame, y)
    bans = [rule for rule in first.ensemble_.rules if rule.degree == 2][:2]
    model = model_for(family, exclude=bans, **parameters).fit(frame, y)
    table = read_table(frame)
    binning = build_binning(table, bins=10)
    codes = binning.encode(table)
    masks = [list(one.vocabulary.masks) for one in binning.features]
    columns, degrees, n_banned = [], [], 0
    for rule, degree in all_rules(codes, masks, 2, per_feature=2):
        said, column = binning.to_rule(rule), rule_column(codes, rule)
        if any(implies(said, ban, frame) or same_split(said, ban, frame) for ban in bans):
            n_banned += 1
        else:
            columns.append(column)
            degrees.append(degree)
    assert n_banned >= 2
    prices = 0.02 * (1 + 0.2 * np.array(degrees))
    best = solve_l1_glm(np.column_stack(columns), y, get_family(family), prices)[0]
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    assert model.lower_bound_ <= best + 1e-8
    assert model.objective_ > first.objective_
    assert model.certified_
    assert "the excluded ones aside" in model.certificate_


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_without_the_excluded_rules_the_optimum_is_found(family):
    frame, eta = small_frame(3)
    y = target_from(family, eta, 3)
    parameters = {"lambda_0": 0.02, "bins": 10, "tol": 1e-6, "max_degree": 1, "debias": False}
    first = model_for(family, **parameters).fit(frame, y)
    bans = first.ensemble_.rules[:2]
    model = model_for(family, exclude=list(bans), **parameters).fit(frame, y)
    table = read_table(frame)
    matrix, degrees = rule_columns(frame, 1, 10)
    banned = [column for ban in bans for column in (ban.holds(table), ~ban.holds(table))]
    implied = [rule_is_banned(column, banned, frame, bans) for column in matrix.T.astype(bool)]
    kept = ~np.array(implied)
    assert 2 <= (~kept).sum() < len(kept)
    best = solve_l1_glm(matrix[:, kept], y, get_family(family), 0.02 * (1 + 0.2 * degrees[kept]))[0]
    assert model.objective_ == pytest.approx(best, abs=1e-6)
    assert model.lower_bound_ <= best
    assert model.objective_ > first.objective_


def rule_is_banned(column, banned, frame, bans):
    """Whether a first-degree column is banned: the same split, or a part of a ban's rows on it."""
    if any((column == other).all() for other in banned):
        return True
    table = read_table(frame)
    binning = build_binning(table, bins=10)
    for features, one in zip(binning.features, table.columns, strict=True):
        for mask in features.vocabulary.masks:
            condition = features.condition(mask)
            if (condition.holds(one) == column).all():
                ours = [ban for ban in bans if ban.features == (features.name,)]
                if any(not (column & ~ban.holds(table)).any() for ban in ours):
                    return True
    return False


@PENALTIES
def test_an_excluded_column_is_read_only_by_what_is_included(penalty):
    parameters = {"penalty": penalty, "linear_terms": True, "max_complexity": 12}
    free = RuleRegressor(**parameters).fit(FRAME, NUMBERS)
    assert any("age" in rule.features for rule in free.ensemble_.rules)
    model = RuleRegressor(exclude=["age", "income"], include=[GIVEN], **parameters)
    model.fit(FRAME, NUMBERS)
    readers = [rule for rule in model.ensemble_.rules if {"age", "income"} & set(rule.features)]
    assert readers == [parse_rule(GIVEN)]
    assert not {"age", "income"} & {term.feature for term in model.ensemble_.linear_terms}
    if penalty == "l1":
        without = RuleRegressor(linear_terms=True).fit(
            FRAME.drop(columns=["age", "income"]), NUMBERS
        )
        alone = RuleRegressor(linear_terms=True, exclude=["age", "income"]).fit(FRAME, NUMBERS)
        assert alone.objective_ == pytest.approx(without.objective_, rel=1e-4)
        assert alone.certified_


def test_the_certificate_of_longer_rules_may_count_excluded_ones_too():
    parameters = {"lambda_0": 0.03, "max_degree": 3, "bins": 8}
    first = RuleClassifier(**parameters).fit(FRAME, CLASSES)
    model = RuleClassifier(exclude=[first.ensemble_.rules[0]], **parameters).fit(FRAME, CLASSES)
    assert model.lower_bound_ <= first.objective_ <= model.objective_
    assert "the excluded ones too" in model.certificate_


def test_another_column_with_the_same_values_does_not_get_around_a_ban():
    frame = FRAME.assign(copy=FRAME["age"])
    for parameters in ({"lambda_0": 0.02}, {"penalty": "l0", "max_complexity": 8}):
        first = RuleRegressor(max_degree=1, **parameters).fit(FRAME, NUMBERS)
        (ban,) = [rule for rule in first.ensemble_.rules if "age" in rule.features][:1]
        model = RuleRegressor(max_degree=1, exclude=[ban], **parameters).fit(frame, NUMBERS)
        assert not any(same_split(rule, ban, frame) for rule in model.ensemble_.rules)


def test_exclusion_reaches_all_folds_and_the_path():
    first = RuleClassifierCV(max_complexity=8, cv=2, bins=8).fit(FRAME, CLASSES)
    bans = list(first.ensemble_.rules[:2])
    model = RuleClassifierCV(max_complexity=8, cv=2, bins=8, exclude=bans).fit(FRAME, CLASSES)
    for ensemble in model.path_:
        assert not set(bans) & set(ensemble.rules)
    assert model.at(max_rules=3).get_params()["exclude"] == bans


def test_the_integer_program_is_not_asked_twice_for_a_banned_rule():
    frame, eta = small_frame(2, 40)
    parameters = {"lambda_0": 0.08, "pricing": "mip", "bins": 3, "max_degree": 2}
    first = RuleRegressor(**parameters).fit(frame, eta)
    model = RuleRegressor(exclude=[first.ensemble_.rules[0]], **parameters).fit(frame, eta)
    assert first.ensemble_.rules[0] not in model.ensemble_.rules


def test_nothing_asked_for_changes_nothing():
    plain = RuleRegressor().fit(FRAME, NUMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = RuleRegressor(include=[], exclude=()).fit(FRAME, NUMBERS)
    assert plain.ensemble_ == empty.ensemble_


@pytest.mark.parametrize("name", ["mean radius", "`", "and", "age > 3"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_column_is_named_as_it_is_or_as_in_rules(name, quoted):
    frame = FRAME.rename(columns={"age": name})
    text = quote_name(name) if quoted else name
    model = RuleClassifier(include=[text], linear_terms=False).fit(frame, CLASSES)
    assert [term.feature for term in model.ensemble_.linear_terms] == [name]
    model = RuleClassifier(exclude=[text]).fit(frame, CLASSES)
    assert all(name not in rule.features for rule in model.ensemble_.rules)


def test_arrays_have_numbered_columns():
    x = np.column_stack([np.arange(60.0), np.arange(60) % 7])
    frame = pd.DataFrame(x)
    for rows in (x, frame.to_numpy()):
        model = RuleRegressor(include=["x1 > 3.125"], exclude=["x0"]).fit(rows, x.sum(axis=1))
        assert "x1 > 3.125" in model.ensemble_.terms
