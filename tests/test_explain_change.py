import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleglm import RuleClassifier
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain import ColumnFacts, learn_facts, nearest_change
from ruleglm.families import get_family
from ruleglm.frames import read_table
from ruleglm.multinomial import Multinomial
from ruleglm.rules import Levels, LinearTerm, Missing, Range, Rule
from tests.data import mixed_frame, target_of

SIZES = ("S", "M", "L")
VALUES = {"a": range(6), "b": range(6), "sex": ("F", "M", "X"), "size": SIZES}
KINDS = {"a": "number", "b": "number", "sex": "level", "size": "ordered"}
GRID = pd.DataFrame(list(itertools.product(*VALUES.values())), columns=list(VALUES))
FACTS = learn_facts(read_table(GRID, kinds=KINDS, levels={"size": SIZES}))
SCALES = {"a": GRID["a"].std(ddof=0), "b": GRID["b"].std(ddof=0), "size": np.std([0, 1, 2])}

cuts = st.sampled_from([0.5, 1.5, 2.5, 3.5, 4.5])
numbers = st.builds(
    lambda name, cut, up: Range(name, low=cut) if up else Range(name, high=cut),
    st.sampled_from(["a", "b"]),
    cuts,
    st.booleans(),
)
sexes = st.builds(
    Levels, st.just("sex"), st.sampled_from(["F", "M"]).map(lambda s: (s,)), st.booleans()
)
sizes = st.builds(
    lambda rank, up: Range("size", *((rank, np.inf) if up else (-np.inf, rank)), SIZES),
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
)
conditions = numbers | sexes | sizes
gaps = st.builds(Missing, st.sampled_from(["a", "sex"]), st.booleans())
rules = st.lists(conditions, min_size=1, max_size=3, unique_by=lambda c: c.feature).map(
    lambda found: Rule(tuple(found))
)


@st.composite
def ensembles(draw, n_classes=1, lines=False, condition=rules):
    found = draw(st.lists(condition, min_size=1, max_size=7, unique=True))
    weights = st.floats(-3, 3).map(lambda x: round(x, 2))
    values = [[draw(weights) for _ in range(n_classes)] for _ in found]
    names = draw(st.sampled_from([["a"], ["a", "b"]])) if lines else []
    terms = [LinearTerm(name, 0.5, 4, 2) for name in names]
    slopes = [[draw(weights) for _ in range(n_classes)] for _ in terms]
    start = [draw(weights) for _ in range(n_classes)]
    several = n_classes > 1
    return RuleEnsemble(
        intercept=np.array(start) if several else start[0],
        rules=tuple(found),
        coefficients=np.array(values).reshape(len(found), *([n_classes] if several else [])),
        linear_terms=tuple(terms),
        linear_coefficients=np.array(slopes).reshape(len(terms), *([n_classes] if several else [])),
        family=Multinomial(n_classes) if several else get_family("binomial"),
        names=tuple(VALUES),
        kinds=KINDS,
        orders={"size": SIZES},
        classes=("x", "y", "z") if several else (0, 1),
    )


def distances(row, table, scales=SCALES):
    """Number of changed features and distance of every row of a table."""
    parts = {name: np.abs(table[name] - row[name]) / scales[name] for name in ("a", "b")}
    parts["sex"] = (table["sex"] != row["sex"]).astype(float)
    ranks = table["size"].map(SIZES.index).to_numpy(float)
    parts["size"] = np.abs(ranks - SIZES.index(row["size"])) / scales["size"]
    ways = np.column_stack([np.asarray(part, dtype=float) for part in parts.values()])
    return (ways > 0).sum(axis=1), ways.sum(axis=1)


def brute_force(ensemble, row, flipped, fixed=()):
    """Fewest features, then smallest distance, over the whole grid."""
    counts, ways = distances(row, GRID)
    allowed = flipped(ensemble.decision_function(GRID))
    for name in fixed:
        allowed &= (GRID[name] == row[name]).to_numpy()
    if not allowed.any():
        return None
    fewest = counts[allowed].min()
    return fewest, ways[allowed & (counts == fewest)].min()


def check(ensemble, row, found, wanted, exact=True):
    assert (found is None) == (wanted is None)
    if found is None:
        return None
    assert len(found.changes) == len(found.values) == wanted[0]
    assert found.changes["distance"].sum() == pytest.approx(found.distance)
    assert found.distance >= wanted[1] - 1e-9
    units = sum(1 / SCALES[name] for name in found.values if name in ("a", "b"))
    assert found.distance <= wanted[1] + (1e-9 if exact else units)
    changed = pd.DataFrame([{**row, **found.values}])
    count, way = distances(row, changed)
    assert (count[0], way[0]) == (wanted[0], pytest.approx(found.distance))
    return changed


ROWS = st.sampled_from(range(0, len(GRID), 7))


THRESHOLDS = st.sampled_from([0.2, 0.5, 0.7])
FIXED = st.sampled_from([(), ("a",), ("sex", "b")])


@given(ensembles(), ROWS, THRESHOLDS, FIXED)
@settings(deadline=None, max_examples=60)
def test_the_nearest_change_is_that_of_brute_force(ensemble, place, threshold, fixed):
    row = GRID.iloc[place].to_dict()
    limit = np.log(threshold / (1 - threshold))
    above = ensemble.decision_function(GRID.iloc[[place]])[0] > limit
    wanted = brute_force(ensemble, row, lambda eta: (eta > limit) != above, fixed)
    found = nearest_change(
        ensemble, row, threshold=threshold, fixed=fixed, max_features=4, facts=FACTS
    )
    changed = check(ensemble, row, found, wanted)
    if changed is not None:
        assert found.after == ensemble.predict(changed)[0]
        assert (found.before > threshold) == above
        assert not set(found.values) & set(fixed)


@given(ensembles(lines=True), ROWS)
@settings(deadline=None, max_examples=40)
def test_with_lines_it_is_nearest_to_within_a_unit(ensemble, place):
    row = GRID.iloc[place].to_dict()
    above = ensemble.decision_function(GRID.iloc[[place]])[0] > 0
    wanted = brute_force(ensemble, row, lambda eta: (eta > 0) != above)
    found = nearest_change(ensemble, row, max_features=4, facts=FACTS)
    check(ensemble, row, found, wanted, exact=False)


@given(ensembles(lines=True), ROWS)
@settings(deadline=None, max_examples=25)
def test_with_lines_over_real_numbers_no_point_of_a_grid_is_nearer(ensemble, place):
    row = {**GRID.iloc[place].to_dict(), "a": GRID["a"][place] + 0.3}
    others = ["b", "sex", "size"]
    fine = pd.DataFrame({"a": np.arange(-0.5, 6, 0.02), **{name: row[name] for name in others}})
    facts = {"a": ColumnFacts(0.5), "b": ColumnFacts(0.5)}
    found = nearest_change(ensemble, row, fixed=others, max_features=1, facts=facts)
    above = ensemble.decision_function(pd.DataFrame([row]))[0] > 0
    flipped = (ensemble.decision_function(fine) > 0) != above
    if flipped.any():
        nearest = (np.abs(fine["a"] - row["a"])[flipped] / 0.5).min()
        assert found.distance <= nearest + 0.0101
    if found is not None:
        changed = pd.DataFrame([{**row, **found.values}])
        assert (ensemble.decision_function(changed)[0] > 0) != above


@given(ensembles(n_classes=3), ROWS, st.sampled_from([None, "x", "z"]))
@settings(deadline=None, max_examples=40)
def test_of_several_classes_any_other_or_a_given_one_is_reached(ensemble, place, target):
    row = GRID.iloc[place].to_dict()
    now = int(np.argmax(ensemble.decision_function(GRID.iloc[[place]])[0]))
    if target is not None and ensemble.classes[now] == target:
        with pytest.raises(ValueError, match="as it is"):
            nearest_change(ensemble, row, target=target)
        return
    goal = [k for k in range(3) if k != now] if target is None else ["xyz".index(target)]
    wanted = brute_force(ensemble, row, lambda eta: np.isin(eta.argmax(axis=1), goal))
    found = nearest_change(ensemble, row, target=target, max_features=4, facts=FACTS)
    check(ensemble, row, found, wanted)


def build(found, values, lines=(), slopes=(), family="binomial"):
    return RuleEnsemble(
        intercept=-1.0,
        rules=tuple(found),
        coefficients=np.array(values, dtype=float),
        linear_terms=tuple(lines),
        linear_coefficients=np.array(slopes, dtype=float),
        family=get_family(family),
        names=tuple(VALUES),
        kinds=KINDS,
        orders={"size": SIZES},
    )


ROW = {"a": 1.0, "b": 2.0, "sex": "M", "size": "S"}


def test_lines_are_followed_as_far_as_needed():
    lines = (LinearTerm("a", 0, 5, 2), LinearTerm("b", 0, 5, 2))
    ensemble = build([], [], lines, [0.4, 0.1])  # eta = -1 + 0.4 + 0.2 = -0.4
    facts = {"a": ColumnFacts(1.0), "b": ColumnFacts(0.1)}
    found = nearest_change(ensemble, ROW, facts=facts)
    assert list(found.values) == ["a"]
    assert found.values["a"] == pytest.approx(2, abs=0.02)
    assert found.after > 0.5
    with_b = nearest_change(ensemble, ROW, facts=facts, fixed=["a"])
    assert with_b is None  # b reaches 0.5 at most: eta = -0.1
    both = nearest_change(build([], [], lines, [0.1, 0.17]), ROW, facts=facts)  # eta = -0.56
    assert both.values["a"] == pytest.approx(5, abs=0.01)  # worth more a standard deviation
    assert both.values["b"] == pytest.approx(2 + 0.16 / 0.17, abs=2e-3)


def test_a_tie_is_below_the_threshold():
    line = LinearTerm("a", 0, 5, 2)
    ensemble = build([], [], [line], [0.5])  # eta = -1 + a / 2
    whole = {"a": ColumnFacts(1.0, whole=True)}
    assert nearest_change(ensemble, ROW, facts=whole).values == {"a": 3}
    assert nearest_change(ensemble, {**ROW, "a": 4}, facts=whole).values == {"a": 2}
    assert 2 < nearest_change(ensemble, ROW, facts={"a": ColumnFacts(1.0)}).values["a"] < 2.02
    step = build([Rule((Levels("sex", ("F",)),))], [1.0])
    assert nearest_change(step, ROW) is None


def test_a_gap_may_be_filled_but_none_is_made():
    ensemble = build([Rule((Missing("a", True),)), Rule((Missing("b", True),))], [3.0, 3.0])
    filled = nearest_change(ensemble, {**ROW, "a": None})
    assert list(filled.values) == ["a"]
    assert filled.distance == 1
    assert "a from missing to" in str(filled)
    assert nearest_change(ensemble, ROW) is None


def test_the_number_of_features_is_limited():
    ensemble = build([Rule((Range("a", low=3.5),)), Rule((Levels("sex", ("F",)),))], [0.6, 0.6])
    assert nearest_change(ensemble, ROW, max_features=1) is None
    both = nearest_change(ensemble, ROW)
    assert set(both.values) == {"a", "sex"}
    assert str(both).startswith("a from 1 to 3.5")


def test_values_have_few_digits_and_are_whole_where_the_column_is():
    ensemble = build([Rule((Range("a", low=3.123456789),))], [2.0])
    plain = nearest_change(ensemble, ROW, facts={"a": ColumnFacts(2.0)})
    assert 3.123456789 < plain.values["a"] <= 3.15
    assert len(str(plain.values["a"])) <= 5
    assert nearest_change(ensemble, ROW, facts=FACTS).values == {"a": 4}


def test_other_families_need_a_threshold():
    steps = [Rule((Range("a", low=3.5),))], [2.0]
    for family, threshold in (("gaussian", 0.5), ("poisson", 1.5)):
        ensemble = build(*steps, family=family)
        found = nearest_change(ensemble, ROW, threshold=threshold)
        assert found.before <= threshold < found.after
        with pytest.raises(ValueError, match="Give the `threshold`"):
            nearest_change(ensemble, ROW)
    with pytest.raises(ValueError, match="never crosses"):
        nearest_change(build(*steps), ROW, threshold=1.5)
    with pytest.raises(ValueError, match="no column 'c'"):
        nearest_change(build(*steps), ROW, fixed=["c"])
    with pytest.raises(ValueError, match="`target` is for"):
        nearest_change(build(*steps), ROW, target="yes")


def test_an_offset_counts():
    ensemble = build([Rule((Range("a", low=3.5),))], [2.0])
    assert nearest_change(ensemble, ROW, offset=-2.0) is None
    assert nearest_change(ensemble, {**ROW, "a": 5}, offset=0.5).values == {"a": 3.5}


def test_an_estimator_knows_its_columns():
    table = mixed_frame(400)
    model = RuleClassifier(lambda_0=0.01).fit(table, target_of("binomial", table))
    labels = model.predict(table)
    for k in range(12):
        row = table.iloc[[k]]
        rows = table if k % 2 else None
        found = model.nearest_change(row, fixed=["smoker"], max_features=2, X=rows)
        if found is None:
            continue
        changed = row.astype(object)
        for name, value in found.values.items():
            changed[name] = [value]
            assert name != "smoker"
            if name in ("age", "claims"):
                assert float(value).is_integer()
        changed = changed.astype(dict.fromkeys(("age", "income", "odd name\n;"), float))
        assert model.predict(changed)[0] != labels[k]
