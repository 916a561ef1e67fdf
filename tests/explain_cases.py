"""Models and rows to explain: numbers, levels, orders, gaps, unseen levels, odd names."""

import math

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from ruleglm.ensemble import RuleEnsemble
from ruleglm.families import get_family
from ruleglm.multinomial import Multinomial
from ruleglm.parser import parse_rule
from ruleglm.rules import LinearTerm, Range, Rule
from tests.rule_strategies import level_sets, missings, ordered_ranges, ranges

SIZES = ("S", "M", "L")
NAMES = ("age", "<script>x</script>", "sex", "size", "free", "flag")
KINDS = {
    "age": "number",
    "<script>x</script>": "number",
    "sex": "level",
    "size": "ordered",
    "flag": "level",
}
NUMBERS = ("age", "<script>x</script>")


def build(rules, coefficients, lines=(), slopes=(), family="binomial", intercept=0.25, **more):
    """An ensemble over NAMES from texts; coefficients of three classes for the multinomial."""
    several = family == "multinomial"
    classes = {"binomial": ("no", "yes"), "multinomial": ("a", "b", "c")}.get(family, ())
    read = [parse_rule(rule, {"size": SIZES}) if isinstance(rule, str) else rule for rule in rules]
    tail = (3,) if several else ()
    return RuleEnsemble(
        intercept=np.array([0.5, -0.25, 0.0]) if several else intercept,
        rules=tuple(read),
        coefficients=np.reshape(coefficients, (len(read), *tail)),
        linear_terms=tuple(lines),
        linear_coefficients=np.reshape(slopes, (len(lines), *tail)),
        family=Multinomial(3) if several else get_family(family),
        names=NAMES,
        kinds=KINDS,
        orders={"size": SIZES},
        classes=classes,
        **more,
    )


def example(family="binomial"):
    """A model with every kind of term."""
    rules = [
        "age > 50",
        "30 < age <= 50",
        "age is missing",
        "sex = 'F'",
        "sex not in {'F', 'X'}",
        "size > 'S'",
        "age > 40 and sex = 'F'",
        "`<script>x</script>` <= 0.5 and size <= 'M'",
        "`<script>x</script>` <= 0 and age <= 60 and flag = true",
        "`<script>x</script>` > 1",
        "true",
    ]
    lines = (LinearTerm("age", 20, 80, 45), LinearTerm("<script>x</script>", -1, 2, 0.3))
    rng = np.random.default_rng(3)
    tail = (3,) if family == "multinomial" else ()
    scale = 0.5 if family == "poisson" else 1.0
    return build(
        rules,
        np.round(scale * rng.standard_normal((len(rules), *tail)), 2),
        lines,
        np.round(
            scale
            * rng.standard_normal((2, *tail))
            * np.reshape([0.02, 0.4], (2, *[1 for _ in tail])),
            3,
        ),
        family,
    )


def frame(n=200, seed=0):
    """Rows with thresholds among their values, gaps, infinities and levels unseen."""
    rng = np.random.default_rng(seed)
    age = rng.integers(10, 95, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    other = rng.choice([-np.inf, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 3, np.inf, np.nan], n)
    return pd.DataFrame(
        {
            "age": age,
            "<script>x</script>": other,
            "sex": rng.choice(np.array(["F", "M", "X", "unseen", None], dtype=object), n),
            "size": rng.choice(np.array([*SIZES, "unseen", None], dtype=object), n),
            "free": rng.standard_normal(n),
            "flag": rng.choice(np.array([True, False, None], dtype=object), n),
        }
    )


# --------------------------------------------------------------------------- random models and rows

numbers = st.sampled_from([-2.0, -1.0, 0.0, 0.1, 0.5, 1.0, 3.0, 50.0])
coefficients = st.floats(-10, 10)


@st.composite
def lines(draw):
    low, high = sorted(draw(st.lists(numbers, min_size=2, max_size=2)))
    return LinearTerm(draw(st.sampled_from(NUMBERS)), low, high, draw(numbers))


@st.composite
def tidy_ranges(draw):
    low, high = sorted(draw(st.lists(numbers, min_size=2, max_size=2, unique=True)))
    low, high = draw(st.sampled_from([(low, high), (-math.inf, high), (low, math.inf)]))
    return Range(draw(st.sampled_from(NUMBERS)), low, high)


def conditions():
    """On the columns of NAMES; number columns may be compared with single numbers too."""
    columns, sexes = st.sampled_from(NUMBERS), st.sampled_from(["F", "M", "X"])
    return (
        tidy_ranges()
        | ranges(columns)
        | ordered_ranges(st.just("size"), st.just(SIZES))
        | level_sets(st.just("sex"), sexes)
        | level_sets(st.just("size"), st.sampled_from(SIZES))
        | level_sets(st.just("flag"), st.booleans())
        | missings(st.sampled_from(NAMES))
    )


def rules(most=3):
    several = st.lists(conditions(), max_size=most, unique_by=lambda c: c.feature)
    return several.map(lambda found: Rule(tuple(found)))


@st.composite
def ensembles(draw, families=("gaussian", "binomial", "poisson", "multinomial"), most=3):
    family = draw(st.sampled_from(families))
    width = 3 if family == "multinomial" else 1
    found = draw(st.lists(rules(most), max_size=8))
    straight = draw(st.lists(lines(), max_size=2))
    values = st.lists(coefficients, min_size=width, max_size=width)
    return build(
        found,
        [draw(values) for _ in found],
        straight,
        [draw(values) for _ in straight],
        family,
    )


def rows(ensemble):
    """Rows at, just above and just below everything that the model compares with."""
    at = {-math.inf, math.inf, math.nan}
    for rule in ensemble.rules:
        for condition in rule.conditions:
            if isinstance(condition, Range) and condition.order is None:
                at |= {condition.low, condition.high}
    for term in ensemble.linear_terms:
        at |= {term.low, term.high}
    at |= {math.nextafter(x, d) for x in at for d in (-math.inf, math.inf)}
    at |= {-1.5, 0.3, 0.75, 20.0}
    table = frame(2 * len(at), seed=len(at))
    table["age"] = sorted(at) + sorted(at)[::-1]
    table["<script>x</script>"] = np.random.default_rng(1).permutation(table["age"])
    return table
