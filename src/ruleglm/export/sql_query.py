"""The layers of a query, each a SELECT from the one before, as sqlglot's expressions.

First the columns in one form (numbers as doubles, NaN as NULL), then the sum of the terms, then
the inverse link. sqlglot writes them in a dialect and quotes names and texts.
"""

import math
import sys
from typing import Any, TypeAlias

import numpy as np
from sqlglot import exp

from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.export.inputs import (
    EXACT_INTEGERS,
    Among,
    Between,
    InputType,
    IsMissing,
    Test,
    find_types,
    simplify,
)
from ruleglm.export.source import name_outputs
from ruleglm.export.sql import NAN_EQUALS_ITSELF, NAN_HAS_A_FUNCTION
from ruleglm.frames import Level
from ruleglm.rules import LinearTerm, Rule

Expression: TypeAlias = Any
"""A sqlglot expression, whose classes differ between its versions."""

MOST_ETA = 700.0
"""Linear predictors are cut there before an exponential, which some servers refuse to overflow."""

MOST_SUMMANDS = 100
"""Longer sums are written as sums of sums, because parsers limit the depth of an expression."""

MERGES_LAYERS = ("postgres", "sqlite")
"""Dialects that would write a layer's sums into every place where a later layer mentions them."""

IGNORED_ALIASES = frozenset({"true", "false"})
"""Names that SQLite gives to no column of a SELECT; later it would read them as texts."""

EXACT_DIGITS = 15
"""Decimals of more digits are written with an exponent, which makes them doubles in DuckDB."""

LARGEST_INTEGER = 10**38
"""Integers from here on are of no database's type."""


class Query:
    """The layers of the query for one model."""

    def __init__(
        self,
        ensemble: RuleEnsemble,
        table: tuple[str, ...],
        dialect: str,
        keys: tuple[str, ...],
        offset: str | None,
    ) -> None:
        self.ensemble = ensemble
        self.table = table
        self.dialect = dialect
        self.types = find_types(ensemble)
        self.outputs = name_outputs(ensemble)
        self.several = bool(ensemble.family.output_shape)
        self.keys = keys
        self.offset = offset
        self.prefix = "key"
        while any(name.casefold().startswith(self.prefix) for name in self.types):
            self.prefix += "_"
        taken = {name.casefold() for pair in self.outputs for name in pair}
        for key in keys:
            if key.casefold() in taken:
                raise ValueError(f"The key {key!r} is named like a column of the result.")

    # -------------------------------------------------------------------------------- layers

    def build(self) -> Expression:
        """Build the whole query: keys, linear predictors, means."""
        layers = {"inputs": self._select_inputs(), "summed": self._select_predictors()}
        if self.several:
            layers |= {"compared": self._select_largest(), "shares": self._select_shares()}
        keys = zip(self._key_columns(), self.keys, strict=True)
        outputs = list(zip(self._etas(), self._means(), self.outputs, strict=True))
        query = exp.select(
            *[_alias(column, _identifier(key)) for column, key in keys],
            *[_alias(eta, _identifier(name)) for eta, _, (name, _) in outputs],
            *[_alias(mean, _identifier(name)) for _, mean, (_, name) in outputs],
        )
        source: Expression = self._table()
        for name, layer in layers.items():
            kept = self.dialect in MERGES_LAYERS and name != "inputs"
            alias = _identifier(self._layer_name(name))
            layer = layer.from_(source, copy=False)
            query = query.with_(alias, as_=layer, materialized=kept or None, copy=False)
            source = exp.Table(this=alias)
        return query.from_(source, copy=False)

    def _layer_name(self, name: str) -> str:
        """Return a name for a layer that is not the table's."""
        return f"{name}_" if name == self.table[-1].casefold() else name

    def _table(self) -> Expression:
        parts = dict(zip(("this", "db", "catalog"), reversed(self.table), strict=False))
        return exp.Table(**{role: _identifier(part) for role, part in parts.items()})

    def _select_inputs(self) -> Expression:
        """Select the columns in the form that the terms expect."""
        columns = [
            _alias(_column(key), _identifier(f"{self.prefix}_{k}"))
            for k, key in enumerate(self.keys)
        ]
        if self.offset is not None:
            offset = exp.cast(_column(self.offset), "double")
            columns.append(_alias(offset, _identifier(f"{self.prefix}_offset")))
        columns += [
            _alias(self._input(name, kind), _identifier(self._inner(name)))
            for name, kind in self.types.items()
        ]
        if not columns:
            columns.append(_alias(_number(0), _identifier("nothing")))
        return exp.select(*columns)

    def _select_predictors(self) -> Expression:
        """Select the sums of the terms."""
        intercepts = np.atleast_1d(self.ensemble.intercept).tolist()
        sums = [
            _alias(self._predictor(intercept, k), _identifier(name))
            for k, (intercept, name) in enumerate(
                zip(intercepts, self._numbered("eta"), strict=True)
            )
        ]
        return exp.select(*self._key_columns(), *sums, copy=False)

    def _select_largest(self) -> Expression:
        """Add the largest linear predictor, which a softmax subtracts."""
        *others, last = self._etas()
        choice = exp.Case()
        for eta in others:
            choice = choice.when(exp.and_(*[eta >= other for other in self._etas()]), eta)
        largest = _alias(choice.else_(last), _identifier("largest"))
        return exp.select(*self._key_columns(), *self._etas(), largest)

    def _select_shares(self) -> Expression:
        """Select a softmax's exponentials, none of which overflows."""
        shares = [
            _alias(exp.Exp(this=_cut(exp.paren(eta - _column("largest")))), _identifier(name))
            for eta, name in zip(self._etas(), self._numbered("share"), strict=True)
        ]
        return exp.select(*self._key_columns(), *self._etas(), *shares)

    def _input(self, name: str, kind: InputType) -> Expression:
        """Cast a column, so that no literal meets an unexpected type."""
        column = _column(name)
        if kind == "any" or (kind == "number" and self._has_large_levels(name)):
            return column
        if kind != "number":
            return exp.cast(column, kind)
        number = exp.cast(column, "double")
        if self.dialect in NAN_EQUALS_ITSELF:
            nan = exp.cast(exp.Literal.string("NaN"), "double")
            return exp.Nullif(this=number, expression=nan)
        if self.dialect in NAN_HAS_A_FUNCTION:
            return _choose(exp.IsNan(this=number), exp.null(), number.copy())
        return number

    def _has_large_levels(self, name: str) -> bool:
        """Whether the model compares the column with integers that are no doubles."""
        if self.ensemble.kinds.get(name) == "number":
            return False
        tests = [
            simplify(condition, "number")
            for rule in self.ensemble.rules
            for condition in rule.conditions
            if condition.feature == name
        ]
        levels = [level for test in tests if isinstance(test, Among) for level in test.levels]
        return any(isinstance(level, int) and abs(level) > EXACT_INTEGERS for level in levels)

    # ------------------------------------------------------------------------------ sums, means

    def _predictor(self, intercept: float, k: int) -> Expression:
        parts: list[Expression] = [exp.cast(_number(intercept), "double")]
        if self.offset is not None:
            parts.append(_column(f"{self.prefix}_offset"))
        lines, rules = self.ensemble.linear_terms, self.ensemble.rules
        slopes, coefficients = self.ensemble.linear_coefficients, self.ensemble.coefficients
        for term, slope in zip(lines, _of_class(slopes, k), strict=True):
            if slope:
                parts.append(_number(slope) * self._line(term))
        for rule, coefficient in zip(rules, _of_class(coefficients, k), strict=True):
            if coefficient:
                parts.append(self._rule(rule, _number(coefficient)))
        return _add_up(parts)

    def _line(self, term: LinearTerm) -> Expression:
        column = _column(self._inner(term.feature))
        value = exp.Case().when(column.is_(exp.null()), _number(term.fill))
        if term.low > -math.inf:
            value = value.when(column < _number(term.low), _number(term.low))
        if term.high < math.inf:
            value = value.when(column > _number(term.high), _number(term.high))
        return value.else_(column)

    def _rule(self, rule: Rule, coefficient: Expression) -> Expression:
        if not rule.conditions:
            return coefficient
        tests = [
            self._test(condition.feature, simplify(condition, self.types[condition.feature]))
            for condition in rule.conditions
        ]
        return _choose(exp.and_(*tests, copy=False), coefficient, _number(0))

    def _test(self, name: str, test: Test) -> Expression:
        column = _column(self._inner(name))
        match test:
            case IsMissing():
                missing = column.is_(exp.null())
                return exp.not_(missing) if test.negated else missing
            case Between():
                bounds = []
                if test.low > -math.inf:
                    bounds.append(column > _number(test.low))
                if test.high < math.inf:
                    bounds.append(column <= _number(test.high))
                return exp.and_(*bounds, copy=False)
            case Among(levels=()):
                return exp.not_(column.is_(exp.null())) if test.negated else exp.false()
            case Among(levels=(level,)):
                value = _literal(level)
                return column.neq(value) if test.negated else column.eq(value)
            case _:
                among = column.isin(*map(_literal, test.levels))
                return exp.not_(among) if test.negated else among

    def _means(self) -> list[Expression]:
        eta, one = self._etas()[0], _number(1.0, exact=True)
        match self.ensemble.family.link:
            case "identity":
                return [eta]
            case "log":
                return [exp.Exp(this=_cut(eta))]
            case "logit":
                return [one / exp.paren(one + exp.Exp(this=exp.Neg(this=_cut(eta))))]
        names = self._numbered("share")
        return [_column(name) / exp.paren(_add_up([*map(_column, names)])) for name in names]

    # ------------------------------------------------------------------------------------- names

    def _inner(self, name: str) -> str:
        """Return what a column is called behind the first layer: SQLite ignores some aliases."""
        taken = {other.casefold() for other in self.types} | IGNORED_ALIASES
        if name.casefold() in IGNORED_ALIASES:
            while name.casefold() in taken:
                name += "_"
        return name

    def _key_columns(self) -> list[Expression]:
        return [_column(f"{self.prefix}_{k}") for k in range(len(self.keys))]

    def _numbered(self, name: str) -> list[str]:
        return [f"{name}_{k}" for k in range(len(self.outputs))]

    def _etas(self) -> list[Expression]:
        return [_column(name) for name in self._numbered("eta")]


# ----------------------------------------------------------------------------------- small pieces


def has_line_breaks(query: Expression) -> bool:
    """Whether a name or a level of a query goes over several lines."""
    return any("\n" in node.name for node in query.find_all(exp.Identifier, exp.Literal))


def _of_class(coefficients: FloatArray, k: int) -> list[float]:
    numbers: list[float] = (coefficients if coefficients.ndim == 1 else coefficients[:, k]).tolist()
    return numbers


def _identifier(name: str) -> Expression:
    _refuse_zero(name)
    return exp.to_identifier(name, quoted=True)


def _column(name: str) -> Expression:
    return exp.Column(this=_identifier(name))


def _alias(expression: Expression, name: Expression) -> Expression:
    return exp.Alias(this=expression, alias=name)


def _refuse_zero(text: str) -> None:
    if "\x00" in text:
        raise ValueError(f"{text!r} holds the character of code 0, which SQL text cannot.")


def _literal(level: Level) -> Expression:
    if isinstance(level, str):
        _refuse_zero(level)
        return exp.Literal.string(level)
    if isinstance(level, bool):
        return exp.true() if level else exp.false()
    return _number(level)


def _number(value: float, *, exact: bool = False) -> Expression:
    """Write a number; whole ones as integers unless `exact` asks for a decimal point.

    Beyond all integers of databases they can only be doubles, and are written as such: what a
    database makes of so many digits may equal numbers that they are not.
    """
    if isinstance(value, int):
        known = LARGEST_INTEGER <= abs(value) <= sys.float_info.max
        text = repr(float(abs(value))) if known else str(abs(value))
    elif value.is_integer() and abs(value) < 10**EXACT_DIGITS and not exact:
        text = str(abs(int(value)))
    else:
        text = repr(abs(value))
        digits = len(text.replace(".", "").lstrip("0"))
        text += "e0" if digits > EXACT_DIGITS and "e" not in text else ""
    number = exp.Literal.number(text)
    return exp.Neg(this=number) if value < 0 else number


def _choose(condition: Expression, yes: Expression, no: Expression) -> Expression:
    return exp.Case(ifs=[exp.If(this=condition, true=yes)], default=no)


def _cut(eta: Expression) -> Expression:
    """Limit a linear predictor to what an exponential can bear."""
    limit = _number(MOST_ETA, exact=True)
    low = exp.Neg(this=limit.copy())
    return exp.Case().when(eta > limit, limit).when(eta < low, low).else_(eta)


def _add_up(parts: list[Expression]) -> Expression:
    if len(parts) > MOST_SUMMANDS:
        starts = range(0, len(parts), MOST_SUMMANDS)
        sums = [_add_up(parts[start : start + MOST_SUMMANDS]) for start in starts]
        parts = [exp.Paren(this=part) for part in sums]
    total = parts[0]
    for part in parts[1:]:
        total = exp.Add(this=total, expression=part)
    return total
