"""Rules that say the same, and that fits do not give any."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ruleglm import RuleClassifier, RuleRegressor, RuleRegressorCV, parse_rule
from ruleglm.assess.redundancy import implies, rule_implies
from ruleglm.rules import Range
from tests.data import mixed_frame, target_of
from tests.rule_strategies import level_sets, missings, ordered_ranges, value_satisfies

LETTERS = ("a", "b", "c", "d")
name = st.just("x")
level_conditions = (
    level_sets(name, st.sampled_from(LETTERS))
    | ordered_ranges(name, st.permutations(LETTERS).map(tuple))
    | missings(name)
)


@st.composite
def number_ranges(draw):
    low, high = sorted(draw(st.lists(st.integers(0, 5), min_size=2, max_size=2, unique=True)))
    return Range("x", *draw(st.sampled_from([(low, high), (-math.inf, high), (low, math.inf)])))


@given(level_conditions, level_conditions)
def test_implications_between_levels(first, second):
    values = [*LETTERS, "unseen", None]
    expected = all(value_satisfies(second, v) for v in values if value_satisfies(first, v))
    assert implies(first, second) == expected


@given(number_ranges() | missings(name), number_ranges() | missings(name))
def test_implications_between_ranges(first, second):
    values = [*np.arange(-1, 7, 0.5).tolist(), -math.inf, math.inf, None]
    expected = all(value_satisfies(second, v) for v in values if value_satisfies(first, v))
    assert implies(first, second) == expected


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("age > 50 and sex = 'F'", "age > 40", True),
        ("age > 40", "age > 50 and sex = 'F'", False),
        ("age > 50 and sex = 'F'", "sex is not missing and age > 50", True),
        ("age > 50", "true", True),
        ("age > 50", "bmi > 50", False),
        ("age = 50", "age > 40", False),  # levels and numbers are never compared
    ],
)
def test_implications_between_rules(first, second, answer):
    assert rule_implies(parse_rule(first), parse_rule(second)) is answer


def build_model(*rules):
    frame = pd.DataFrame(
        {"a": np.arange(40) % 20, "b": np.arange(40) % 2, "c": np.arange(40) % 20 + 1}
    )
    model = RuleRegressor(lambda_0=10.0).fit(frame, np.arange(40.0))
    return model.refit(frame, np.arange(40.0), add=rules), frame


def pairs_of(frame):
    return {(line.rule, line.other): (line.relation, line.logical) for line in frame.itertuples()}


def test_every_relation():
    model, frame = build_model("a > 9", "a <= 9", "c > 10", "a > 10", "a > 15", "b = 1")
    assert pairs_of(model.redundancy(frame)) == {
        ("a > 9", "c > 10"): ("equal", False),
        ("a > 9", "a <= 9"): ("complement", False),
        ("a <= 9", "c > 10"): ("complement", False),
        ("a > 10", "a > 9"): ("similar", True),
        ("a > 10", "c > 10"): ("similar", False),
        ("a > 15", "a > 9"): ("inside", True),
        ("a > 15", "a > 10"): ("inside", True),
        ("a > 15", "c > 10"): ("inside", False),
    }
    found = model.redundancy(frame)
    assert found["relation"].is_monotonic_increasing
    similar = found[(found["rule"] == "a > 10") & (found["other"] == "a > 9")].iloc[0]
    assert (similar["jaccard"], similar["support"], similar["other_support"]) == (0.9, 0.45, 0.5)
    assert pairs_of(model.redundancy(frame, threshold=0.95))["a > 10", "a > 9"][0] == "inside"
    words = model.redundancy()
    assert set(pairs_of(words)) == {("a > 10", "a > 9"), ("a > 15", "a > 9"), ("a > 15", "a > 10")}
    assert words["jaccard"].isna().all()


def test_rows_of_weight_zero_are_absent():
    model, frame = build_model("a > 9", "a > 10")
    weights = (frame["a"] != 10).astype(float) * (1 + frame["b"])
    assert pairs_of(model.redundancy(frame, weights)) == {("a > 9", "a > 10"): ("equal", True)}
    rows = np.repeat(np.arange(40), 1 + frame["b"])
    weighted, repeated = model.redundancy(frame, 1 + frame["b"]), model.redundancy(frame.iloc[rows])
    pd.testing.assert_frame_equal(weighted, repeated)


def test_rules_that_hold_nearly_everywhere_are_not_alike_for_that():
    model, frame = build_model("a > 0", "c < 20")
    assert len(model.redundancy(frame, threshold=0.5)) == 0


def test_rules_that_hold_nowhere_are_compared_by_their_words():
    model, frame = build_model("a > 9", "a > 15", "b = 1")
    rows = frame[frame["a"] < 5]
    assert pairs_of(model.redundancy(rows)) == {("a > 15", "a > 9"): ("inside", True)}
    with pytest.raises(ValueError, match=r"`threshold` is 0\.0"):
        model.redundancy(frame, threshold=0.0)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(["l1", "l0"]), st.booleans())
@example(0, "l0", True)  # copies of the first rule were all that a short list of candidates had
def test_fits_never_hold_two_rules_of_equal_coverage(seed, penalty, weighted):
    rng = np.random.default_rng(seed)
    n = 60
    base = rng.integers(0, 4, n)
    frame = pd.DataFrame(
        {
            "a": base,
            "twin": 10 * base + 3,
            "mirror": -base,
            "b": rng.integers(0, 3, n),
            "c": rng.choice(["u", "v", "w"], n),
        }
    )
    y = (base > 1) + 0.5 * (frame["b"] == 1) * (frame["c"] == "u") + rng.normal(scale=0.3, size=n)
    weights = rng.integers(0, 3, n).astype(float) if weighted else None
    model = RuleRegressor(penalty=penalty, lambda_0=0.005, max_complexity=15).fit(frame, y, weights)
    found = model.redundancy(frame, weights)
    assert len(model.ensemble_.rules) > 1
    assert not found["relation"].isin(["equal", "complement"]).any()


def test_models_of_a_path_hold_no_two_rules_of_equal_coverage():
    frame = mixed_frame(150)
    frame["copy"] = 2 * frame["claims"] + 1
    for penalty in ("l1", "l0"):
        model = RuleRegressorCV(penalty=penalty, max_complexity=12, cv=2, n_lambdas=4)
        model.fit(frame, target_of("gaussian", frame))
        for index in range(len(model.path_)):
            found = model.at(index).redundancy(frame)
            assert not found["relation"].isin(["equal", "complement"]).any()
    labels = target_of("binomial", frame)
    found = RuleClassifier(lambda_0=0.003, max_degree=3).fit(frame, labels).redundancy(frame)
    assert not found["relation"].isin(["equal", "complement"]).any()
