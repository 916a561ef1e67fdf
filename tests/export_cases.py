"""Models and rows that every export is tried on."""

import math

import numpy as np
from hypothesis import strategies as st

from ruleglm.ensemble import RuleEnsemble
from ruleglm.families import FAMILIES, get_family
from ruleglm.multinomial import Multinomial
from ruleglm.rules import LinearTerm, Rule
from tests.rule_strategies import levels, orders, rule_conditions, texts

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
