"""Interaction control: which features may share a rule, in every search and both penalties."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV
from ruleglm.constraints import FREE, Asked, Constraints

NAMES = ["a", "b", "c", "d", "e"]


def entangled(seed=0, n=250):
    """Rows whose target hangs on pairs and triples of columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 5)).round(1), columns=NAMES)
    frame["e"] = rng.choice(["x", "y", "z"], n)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    a, b, c, d = (frame[name].fillna(0.0).to_numpy() for name in "abcd")
    y = 2.0 * (a > 0) * (b > 0) * (c < 0.5) + (c > 0) * (d > 0)
    y -= 1.5 * (b < 0) * (frame["e"] == "x").to_numpy()
    return frame, y + 0.2 * rng.normal(size=n)


def sets_of(ensemble):
    """The columns of each rule on several."""
    sets = [{condition.feature for condition in rule.conditions} for rule in ensemble.rules]
    return [names for names in sets if len(names) > 1]


SEARCHES = [
    {"max_degree": 2},
    {"max_degree": 3, "pricing": "histogram", "lambda_0": 0.02, "tol": 1e-2},
    {"max_degree": 4, "lambda_0": 0.05, "tol": 1e-2},
    {"max_degree": 4, "pricing": "beam"},
    {"penalty": "l0"},
    {"penalty": "l0", "pricing": "histogram", "max_degree": 4, "max_complexity": 10},
]


def fit(frame, y, **options):
    return RuleRegressor(bins=8, **options).fit(frame, y)


@pytest.mark.parametrize("search", SEARCHES)
def test_columns_of_different_groups_share_no_rule(search):
    frame, y = entangled()
    groups = [("a", "b"), ("b", "c", "d")]
    model = fit(frame, y, allowed_interactions=groups, **search)
    found = sets_of(model.ensemble_)
    assert found
    assert all(any(names <= set(group) for group in groups) for names in found)
    assert any(not names <= {"a", "b"} for names in found)


@pytest.mark.parametrize("search", SEARCHES)
def test_forbidden_pairs_share_no_rule(search):
    frame, y = entangled()
    free = sets_of(fit(frame, y, **search).ensemble_)
    assert any({"a", "b"} <= names or {"c", "d"} <= names for names in free)
    model = fit(frame, y, forbidden_interactions=[("a", "b"), ["d", "c"]], **search)
    found = sets_of(model.ensemble_)
    assert found
    assert not any({"a", "b"} <= names or {"c", "d"} <= names for names in found)


@pytest.mark.parametrize("search", SEARCHES)
def test_without_interactions_each_rule_is_on_one_column(search):
    frame, y = entangled()
    model = fit(frame, y, allowed_interactions=False, **search)
    assert sets_of(model.ensemble_) == []
    assert len(model.ensemble_.rules) > 1
    wave = np.cos(2 * frame["d"])
    model = fit(frame, wave, allowed_interactions=False, **search)
    assert any(rule.degree == 2 for rule in model.ensemble_.rules)  # intervals stay


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_several_classes_keep_to_them(penalty):
    frame, y = entangled(n=800)
    model = RuleClassifier(penalty=penalty, bins=8, max_complexity=25, lambda_0=0.02)
    model.set_params(allowed_interactions=[("a", "b"), ("c", "d")])
    model.fit(frame, np.digitize(y, [0.0, 1.0]))
    found = sets_of(model.ensemble_)
    assert found
    assert all(names in ({"a", "b"}, {"c", "d"}) for names in found)


@pytest.mark.parametrize("kind", [RuleClassifierCV, RuleRegressorCV])
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_every_model_of_a_path_keeps_to_them(kind, penalty):
    frame, y = entangled()
    target = (y > 0.4).astype(int) if kind is RuleClassifierCV else y
    model = kind(
        penalty=penalty,
        n_lambdas=4,
        max_complexity=20,
        cv=2,
        bins=8,
        max_degree=2,
        allowed_interactions=[("a", "b", "c")],
        forbidden_interactions=[("a", "c")],
    ).fit(frame, target)
    for ensemble in model.path_:
        assert all(names in ({"a", "b"}, {"b", "c"}) for names in sets_of(ensemble))


def test_positions_say_the_same_as_names():
    frame, y = entangled()
    X = frame[["b", "c", "d"]].to_numpy()
    model = RuleRegressor(allowed_interactions=[(0, 1), (1, "x2")], bins=8).fit(X, y)
    assert all("x1" in names for names in sets_of(model.ensemble_))
    assert sets_of(model.ensemble_)


def test_all_columns_in_one_group_are_no_limit():
    frame, y = entangled()
    one = RuleRegressor(bins=8, allowed_interactions=[NAMES]).fit(frame, y)
    assert one.ensemble_ == RuleRegressor(bins=8).fit(frame, y).ensemble_
    assert "interactions allowed" in one.certificate_


def test_threads_change_nothing():
    frame, y = entangled()
    models = [
        RuleRegressor(
            bins=8, monotone={"b": 1}, allowed_interactions=[("a", "b"), ("c", "d")], n_jobs=n
        )
        for n in (1, 2)
    ]
    one, two = (model.fit(frame, y).ensemble_ for model in models)
    assert one == two


# --- the class itself


groups_of_columns = st.none() | st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=3)
pairs_of_columns = st.lists(st.sets(st.integers(0, 4), min_size=2, max_size=2), max_size=3)


@settings(max_examples=60)
@given(groups_of_columns, pairs_of_columns)
def test_allowed_sets_are_those_inside_a_group_without_a_pair(groups, pairs):
    asked = Asked(None, groups, [sorted(pair) for pair in pairs])
    constraints = Constraints.of(asked, NAMES)
    together, apart = constraints.matrices(5)
    for size in range(1, 6):
        for chosen in combinations(range(5), size):
            inside = groups is None or any(set(chosen) <= set(group) for group in groups)
            right = size == 1 or (inside and not any(pair <= set(chosen) for pair in pairs))
            assert constraints.allows(chosen) == right
            if size > 1 and constraints.limits_interactions:
                by_matrix = together[:, chosen].all(axis=1).any()
                assert right == (by_matrix and not apart[np.ix_(chosen, chosen)].any())
    partners = constraints.partners(((0, 1), (1, 1)), 5)
    assert partners.tolist() == [constraints.allows({0, 1, f}) for f in range(5)]


def test_no_asked_are_no_constraints():
    assert Constraints.of(Asked(), NAMES) == Constraints.of(Asked({}, None, []), NAMES) == FREE
    assert not FREE.limits_interactions


# --- errors


@pytest.mark.parametrize(
    ("wishes", "error", "words"),
    [
        ({"allowed_interactions": [("a", "bb")]}, ValueError, "`allowed_interactions` names 'bb'"),
        ({"allowed_interactions": [("a", 7)]}, ValueError, "`allowed_interactions` gives column 7"),
        (
            {"allowed_interactions": ["ab"]},
            TypeError,
            "`allowed_interactions` holds 'ab'; give a list of groups",
        ),
        (
            {"allowed_interactions": [3]},
            TypeError,
            "`allowed_interactions` holds 3; give a list of groups",
        ),
        ({"allowed_interactions": True}, ValueError, "The 'allowed_interactions' parameter"),
        ({"allowed_interactions": "ab"}, ValueError, "The 'allowed_interactions' parameter"),
        (
            {"forbidden_interactions": [("a", "b", "c")]},
            ValueError,
            "`forbidden_interactions` holds .*; give pairs of two columns",
        ),
        ({"forbidden_interactions": [("a", "a")]}, ValueError, "give pairs of two columns"),
        ({"forbidden_interactions": [("a", "f")]}, ValueError, "names 'f'; the columns are"),
        (
            {"allowed_interactions": False, "pricing": "mip"},
            ValueError,
            "pricing='mip' knows nothing of",
        ),
    ],
)
def test_errors_name_the_column(wishes, error, words):
    frame, y = entangled(n=30)
    with pytest.raises(error, match=words):
        RuleClassifier(**wishes).fit(frame, y > 0.5)
