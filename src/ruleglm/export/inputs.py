"""What a model reads: which columns, of which types, for languages that have to know beforehand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ruleglm.conditions import Condition, Levels, Missing, Range
from ruleglm.ensemble import RuleEnsemble
from ruleglm.frames import Level

InputType: TypeAlias = Literal["number", "boolean", "text", "any"]
"""Type of a column; one that is only asked whether it is missing can have any."""

EXACT_INTEGERS = 2**53
"""Whole numbers up to this one are doubles."""


@dataclass(frozen=True)
class Among:
    """A condition in the form that other languages have: the value is one of these, or none.

    ``levels`` are of the column's type and may be none at all. A missing value does not satisfy
    it, whether negated or not.
    """

    levels: tuple[Level, ...]
    negated: bool


@dataclass(frozen=True)
class Between:
    """``low < value <= high`` for numbers; an infinite bound is none."""

    low: float
    high: float


@dataclass(frozen=True)
class IsMissing:
    """There is no value, or (negated) there is one."""

    negated: bool


Test: TypeAlias = Among | Between | IsMissing


def find_types(ensemble: RuleEnsemble) -> dict[str, InputType]:
    """Return the type of each column that the model reads, in the order of its names."""
    return {name: _find_type(ensemble, name) for name in find_used(ensemble)}


def find_used(ensemble: RuleEnsemble) -> list[str]:
    """Return the columns that the model reads, in the order of its names."""
    used = {feature for rule in ensemble.rules for feature in rule.features}
    used |= {term.feature for term in ensemble.linear_terms}
    return [name for name in ensemble.names if name in used]


def is_compared_as_number(ensemble: RuleEnsemble, name: str) -> bool:
    """Whether a column was a number in training, or has a range or a line without an order."""
    ranges = (c for c in _conditions_on(ensemble, name) if isinstance(c, Range))
    lines = any(term.feature == name for term in ensemble.linear_terms)
    return ensemble.kinds.get(name) == "number" or lines or any(c.order is None for c in ranges)


def _conditions_on(ensemble: RuleEnsemble, name: str) -> list[Condition]:
    return [c for rule in ensemble.rules for c in rule.conditions if c.feature == name]


def _find_type(ensemble: RuleEnsemble, name: str) -> InputType:
    if ensemble.kinds.get(name) == "number":
        return "number"
    as_number = is_compared_as_number(ensemble, name)
    levels = {*_levels_of(_conditions_on(ensemble, name)), *ensemble.orders.get(name, ())}
    texts = [level for level in levels if isinstance(level, str)]
    if texts and (as_number or len(texts) < len(levels)):
        raise ValueError(
            f"Column {name!r} mixes the text {texts[0]!r} with numbers or truth values; this "
            "export needs one type a column: convert the column, e.g. with astype(str), and fit "
            "again."
        )
    if texts:
        return "text"
    if as_number:
        return "number"
    if levels:
        return "boolean" if all(isinstance(level, bool) for level in levels) else "number"
    return "any"


def _levels_of(conditions: list[Condition]) -> Iterator[Level]:
    for condition in conditions:
        if isinstance(condition, Levels):
            yield from condition.levels
        elif isinstance(condition, Range):
            yield from condition.order or ()


def simplify(condition: Condition, kind: InputType) -> Test:
    """Return a condition as a test of a column of that type."""
    if isinstance(condition, Missing):
        return IsMissing(negated=not condition.missing)
    if isinstance(condition, Range) and condition.order is None:
        return Between(condition.low, condition.high)
    if isinstance(condition, Range):
        ranks = enumerate(condition.order or ())
        inside = [level for rank, level in ranks if condition.low < rank <= condition.high]
        return Among(_convert(inside, kind), negated=False)
    return Among(_convert(condition.levels, kind), condition.negated)


def _convert(levels: "tuple[Level, ...] | list[Level]", kind: InputType) -> tuple[Level, ...]:
    """Return the levels that a column of the type can hold; numbers hold no text."""
    if kind != "number":
        return tuple(levels)
    numbers = [level for level in levels if not isinstance(level, str)]
    return tuple(int(level) if isinstance(level, bool) else level for level in numbers)
