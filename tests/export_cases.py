"""Models and rows that every export is tried on."""

import math
from functools import cache

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from ruleglm import RuleClassifier, RuleRegressor, parse_rule
from ruleglm.ensemble import RuleEnsemble
from ruleglm.families import FAMILIES, get_family
from ruleglm.multinomial import Multinomial
from ruleglm.rules import LinearTerm, Rule
from tests.rule_strategies import (
    ODD_TEXTS,
    level_sets,
    levels,
    missings,
    ordered_ranges,
    orders,
    ranges,
    rule_conditions,
    texts,
    tidy_floats,
)

numbers = st.floats(allow_nan=False, allow_infinity=False)
labels = st.lists(levels, min_size=2, max_size=2, unique=True)


@st.composite
def families(draw):
    name = draw(st.sampled_from([*FAMILIES, "multinomial"]))
    if name == "multinomial":
        return Multinomial(draw(st.integers(2, 4)))
    power = draw(st.floats(1, 2, exclude_min=True, exclude_max=True))
    return get_family(name, power, alpha=draw(st.floats(1e-6, 1e4)))


@st.composite
def ensembles(draw):
    """Any ensemble, however odd its names, levels and numbers."""
    family = draw(families())
    shape = family.output_shape

    def draw_numbers(count):
        size = count * math.prod(shape)
        drawn = draw(st.lists(numbers, min_size=size, max_size=size))
        return np.array(drawn, dtype=float).reshape(count, *shape)

    rules = [Rule(tuple(draw(rule_conditions))) for _ in range(draw(st.integers(0, 3)))]
    lines = []
    for feature in draw(st.lists(texts, max_size=2, unique=True)):
        low, high = sorted(draw(st.tuples(numbers, numbers)))
        low, high = draw(st.sampled_from([(low, high), (-math.inf, high), (low, math.inf)]))
        lines.append(LinearTerm(feature, low, high, draw(numbers)))
    read = [feature for rule in rules for feature in rule.features]
    extra = draw(st.lists(texts, min_size=1, max_size=2))
    names = tuple(dict.fromkeys([*read, *(term.feature for term in lines), *extra]))
    kinds = st.dictionaries(st.sampled_from(names), st.sampled_from(["number", "level", "ordered"]))
    n_classes = draw(st.sampled_from([0, 2])) if family.name == "binomial" else sum(shape)
    return RuleEnsemble(
        intercept=draw_numbers(1)[0],
        rules=tuple(rules),
        coefficients=draw_numbers(len(rules)),
        linear_terms=tuple(lines),
        linear_coefficients=draw_numbers(len(lines)),
        family=family,
        names=names,
        kinds=draw(kinds),
        orders=draw(st.dictionaries(st.sampled_from(names), orders, max_size=2)),
        classes=tuple(draw(st.lists(levels, min_size=n_classes, max_size=n_classes, unique=True))),
    )


def small_ensemble(*texts, family="gaussian", **parts):
    """A model whose rules have the coefficients 1, 2, 3 and so on."""
    rules = tuple(map(parse_rule, texts))
    names = dict.fromkeys(name for rule in rules for name in rule.features)
    given = {
        "intercept": 0.0,
        "rules": rules,
        "coefficients": 1.0 + np.arange(len(rules)),
        "linear_terms": (),
        "linear_coefficients": (),
        "family": get_family(family),
        "names": tuple(names) or ("a",),
    }
    return RuleEnsemble(**{**given, **parts})


# --------------------------------------------------------------------------- rows of many kinds

GRADES = ("none", "school", "college", "doctor's")
ODD = 'say "hi"; DROP TABLE t; --\n😀'
ADULT_KINDS = {
    "age": "number",
    "hours": "number",
    "select": "number",
    ODD: "number",
    "work": "level",
    "grade": "ordered",
    "married": "level",
    "code": "level",
    "key_0": "level",
}


def adult_frame(n=100, seed=0, unseen=True):
    """Rows as of a census: missing values of every kind, odd names and, if asked, new levels."""
    rng = np.random.default_rng(seed)
    works = ["private", "it's `own`", 'the "state"', "", "true", "1", "a\\b%s{x}\n"]
    grades = [*GRADES, *(["unheard of"] if unseen else [])]
    columns = {
        "age": rng.integers(17, 90, n).astype(float),
        "hours": rng.integers(1, 99, n),
        "select": np.round(rng.lognormal(3, 2, n), 2),
        ODD: np.round(rng.standard_normal(n), 1),
        "work": rng.choice([*works, *(["new"] if unseen else [])], n).astype(object),
        "grade": rng.choice(grades, n).astype(object),
        "married": (rng.random(n) < 0.5).astype(object),
        "code": rng.choice([1, 2, 30, *([99] if unseen else [])], n),
        "key_0": rng.choice(["x", "y"], n).astype(object),
    }
    frame = pd.DataFrame(columns)
    for name in ("age", ODD):
        frame.loc[rng.random(n) < 0.2, name] = np.nan
    for name in ("work", "grade", "married", "key_0"):
        frame.loc[rng.random(n) < 0.2, name] = None
    frame.loc[0, "select"], frame.loc[1, "select"] = np.inf, -np.inf
    return frame


ADULT_RULES = (
    "age > 30.5",
    "30 < age <= 60 and hours <= 40",
    "age is missing and `select` > 12.25",
    f"`{ODD}` <= 0.3 and age is not missing",
    f"`{ODD}` in {{0.5, -1, 2.25}}",
    f"`{ODD}` != 0.5",
    "work = 'it''s `own`'",
    "work in {'the \"state\"', '', 'true', '1'} and married = true",
    "work not in {'private', 'a\\b%s{x}\n'}",
    "work is missing",
    "grade <= 'school'",
    "grade > 'none' and married != true",
    "'none' < grade <= 'college'",
    "grade <= 'doctor''s'",
    "grade = 'doctor''s'",
    "code = 30",
    "code not in {1, 30}",
    "key_0 = 'x'",
    "hours in {10, 20, 30.5, 'forty'}",
    "hours not in {'forty'}",
    "true",
)


ADULT_LINES = (
    LinearTerm("age", 20, 80.5, 45.25),
    LinearTerm("select", 0.125, 90.0, 20.0),
    LinearTerm(ODD, -math.inf, 1.5, 0.0),
    LinearTerm("hours", 10, math.inf, 0.0),
)


def adult_ensemble(family="binomial", classes=(), scale=1.0, lines=ADULT_LINES):
    family = Multinomial(len(classes)) if family == "multinomial" else get_family(family)
    rules = tuple(parse_rule(text, {"grade": GRADES}) for text in ADULT_RULES)
    rng = np.random.default_rng(3)
    shape = family.output_shape
    sizes = np.array([0.02, 0.01, 0.5, 0.01])[: len(lines)].reshape(-1, *[1] * len(shape))
    return RuleEnsemble(
        intercept=scale * rng.standard_normal(shape),
        rules=rules,
        coefficients=scale * rng.standard_normal((len(rules), *shape)),
        linear_terms=lines,
        linear_coefficients=scale * sizes * rng.standard_normal((len(lines), *shape)),
        family=family,
        names=tuple(ADULT_KINDS),
        kinds=ADULT_KINDS,
        orders={"grade": GRADES},
        classes=classes,
    )


def bike_frame(n=200, seed=0):
    """Rows as of a bicycle hire: hours, weather, seasons in order, a holiday or not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "hour": rng.integers(0, 24, n),
            "temperature (°C)": np.round(rng.normal(15, 8, n), 1),
            "season": pd.Categorical(
                rng.choice(["winter", "spring", "summer"], n),
                ["winter", "spring", "summer"],
                ordered=True,
            ),
            "weather": rng.choice(["clear", "rain", "snow"], n).astype(object),
            "holiday": rng.random(n) < 0.2,
        }
    )
    frame.loc[rng.random(n) < 0.1, "temperature (°C)"] = np.nan
    frame.loc[rng.random(n) < 0.1, "weather"] = None
    return frame


def bike_target(frame, seed=1):
    busy = 1.0 * frame["hour"].between(7, 9) + 0.05 * frame["temperature (°C)"].fillna(10)
    dull = 0.8 * (frame["weather"] == "rain") + 0.5 * frame["holiday"]
    dull -= 0.7 * (frame["season"] == "summer")
    rate = np.exp(busy - dull)
    return np.random.default_rng(seed).poisson(rate).astype(float)


@cache
def fit_bike():
    bikes = bike_frame()
    model = RuleRegressor(family="poisson", lambda_0=0.05, linear_terms=True)
    return model.fit(bikes, bike_target(bikes))


@cache
def fit_adult():
    rows = adult_frame(200, seed=5, unseen=False)
    rich = np.where(adult_ensemble().predict(rows) > 0.5, "rich", "not")
    model = RuleClassifier(penalty="l0", max_rules=8, linear_terms=True, categorical=["code"])
    return model.fit(rows.drop(columns="select"), rich)


@cache
def fit_three():
    rows = adult_frame(200, seed=6, unseen=False)
    target = adult_ensemble("multinomial", ("low", "middle", "high")).predict_class(rows)
    model = RuleClassifier(penalty="l0", max_rules=6, linear_terms=True, categorical=["code"])
    return model.fit(rows.drop(columns="select"), target)


CASES = {
    "bike": lambda: (fit_bike().ensemble_, bike_frame()),
    "bike, new season": lambda: (fit_bike().ensemble_, bike_frame(60, 9).assign(season="autumn")),
    "adult": lambda: (fit_adult().ensemble_, adult_frame().drop(columns="select")),
    "adult in three": lambda: (fit_three().ensemble_, adult_frame().drop(columns="select")),
    "gaussian": lambda: (adult_ensemble("gaussian"), adult_frame()),
    "binomial": lambda: (adult_ensemble("binomial"), adult_frame()),
    "two classes": lambda: (adult_ensemble("binomial", (False, True)), adult_frame()),
    "extreme": lambda: (adult_ensemble("binomial", scale=1000.0), adult_frame()),
    "gamma": lambda: (adult_ensemble("gamma"), adult_frame()),
    "three classes": lambda: (
        adult_ensemble("multinomial", ("low", "it's", 'a "b"')),
        adult_frame(),
    ),
    "extreme classes": lambda: (
        adult_ensemble("multinomial", (1, 2, 3, 4), scale=1000.0),
        adult_frame(),
    ),
    "empty": lambda: (adult_ensemble().drop(*range(1, 26)), adult_frame()),
}
"""Models and rows by name; functions, because some of them take a fit."""


def to_records(frame):
    """Rows as dictionaries of Python values; every second missing number is NaN, others None."""
    records = frame.astype(object).to_dict("records")
    count = 0
    for record in records:
        for name, value in record.items():
            if value is None or value != value:
                number = frame[name].dtype.kind == "f"
                record[name] = math.nan if number and count % 2 else None
                count += 1
    return records


# ----------------------------------------------------------------------------- any model, few rows

SHIRTS = ("S", "M'", "L")
PLAIN_KINDS = {"n": "number", "word": "level", "size": "ordered", "flag": "level", "id": "level"}
words = st.sampled_from([text for text in ODD_TEXTS if "\x00" not in text])
plain_rules = st.lists(
    st.one_of(
        ranges(st.just("n"), tidy_floats),
        level_sets(st.just("n"), tidy_floats | st.booleans() | words),
        level_sets(st.just("word"), words),
        ordered_ranges(st.just("size"), st.just(SHIRTS)),
        level_sets(st.just("size"), st.sampled_from(SHIRTS)),
        level_sets(st.just("flag"), st.booleans()),
        level_sets(st.just("id"), st.integers(-5, 5)),
        missings(st.sampled_from(sorted(PLAIN_KINDS))),
    ),
    max_size=4,
    unique_by=lambda condition: condition.feature,
).map(lambda conditions: Rule(tuple(conditions)))
plain_rows = st.fixed_dictionaries(
    {
        "n": st.none() | tidy_floats | st.sampled_from([math.nan, math.inf, -math.inf]),
        "word": st.none() | words,
        "size": st.sampled_from([None, *SHIRTS, "unseen", ""]),
        "flag": st.sampled_from([None, True, False]),
        "id": st.integers(-5, 9) | st.integers(2**60, 2**60 + 3),
    }
)


@st.composite
def plain_ensembles(draw, most=2**60):
    """Models of columns that have one type each, as a database has them; `most` limits integers."""
    large = level_sets(st.just("id"), st.integers(most, most + 3)).map(lambda c: Rule((c,)))
    rules = draw(st.lists(plain_rules | large, min_size=1, max_size=5))
    small = st.decimals(-9, 9, places=3).map(float)
    bounds = st.tuples(tidy_floats, tidy_floats).map(sorted)
    lines = [LinearTerm("n", *draw(bounds), draw(tidy_floats))] * draw(st.integers(0, 1))
    return RuleEnsemble(
        intercept=draw(small),
        rules=tuple(rules),
        coefficients=np.array([draw(small) for _ in rules]),
        linear_terms=tuple(lines),
        linear_coefficients=np.array([draw(small) for _ in lines]),
        family=get_family("gaussian"),
        names=tuple(PLAIN_KINDS),
        kinds=PLAIN_KINDS,
        orders={"size": SHIRTS},
    )


def plain_frame(records):
    """Rows as a frame that the model reads."""
    frame = pd.DataFrame(records, columns=list(PLAIN_KINDS))
    objects = {name: frame[name].astype(object) for name in ("word", "size", "flag")}
    return frame.assign(n=frame["n"].astype(float), **objects)
