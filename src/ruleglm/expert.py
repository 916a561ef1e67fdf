"""What a person asks of the rules: some to be in the model, some to stay out of it.

Rules are read and checked against the columns before anything long begins. Their thresholds and
levels join the bins of their columns, so that all rules, learned or given, are sets of bins.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ruleglm.binning import Binning, BinRule
from ruleglm.bins import FeatureBins
from ruleglm.conditions import Levels, Range, format_level, quote_name
from ruleglm.dtypes import BoolArray, CodeArray, FloatArray
from ruleglm.engines.base import Engine
from ruleglm.engines.packed import evaluate, unpack_column
from ruleglm.ensemble import DEGREE_WEIGHT
from ruleglm.frames import Column, Level, LevelColumn, NumberColumn, Table, TableScan
from ruleglm.parser import Mention, RuleSyntaxError, read_rule
from ruleglm.rules import Condition, Rule

Entry: TypeAlias = Rule | str

MOST_SHOWN = 6
"""Levels of a column that a message lists."""


@dataclass(frozen=True)
class Expert:
    """What is asked of the rules of a model.

    Attributes
    ----------
    include : tuple of Rule, always in the model
    lines : tuple of str, columns that are always in it as straight lines
    exclude : tuple of Rule, never learned, nor any rule that says as much or more
    barred : tuple of str, columns that nothing learned may read
    """

    include: tuple[Rule, ...] = ()
    lines: tuple[str, ...] = ()
    exclude: tuple[Rule, ...] = ()
    barred: tuple[str, ...] = ()

    @property
    def wanted(self) -> dict[str, tuple[Any, ...]]:
        """Thresholds and levels of the rules, by column."""
        found: dict[str, dict[Any, None]] = {}
        for rule in (*self.include, *self.exclude):
            for condition in rule.conditions:
                values = found.setdefault(condition.feature, {})
                if isinstance(condition, Levels):
                    values.update(dict.fromkeys(condition.levels))
                elif isinstance(condition, Range) and condition.order is None:
                    bounds = (condition.low, condition.high)
                    values.update(dict.fromkeys(b for b in bounds if np.isfinite(b)))
        return {feature: tuple(values) for feature, values in found.items() if values}

    @property
    def complexity(self) -> float:
        """Of the rules and lines that are always in the model."""
        degrees = sum(rule.degree for rule in self.include)
        return len(self.include) + DEGREE_WEIGHT * degrees + len(self.lines)

    def line_names(self, names: Sequence[str], every: bool) -> frozenset[str]:
        """Return the columns that may be lines: all that are not barred, or those asked for."""
        learned = frozenset(names).difference(self.barred) if every else frozenset()
        return learned.union(self.lines)

    def check_budget(self, max_complexity: float | None, max_rules: int | None) -> None:
        """Refuse budgets that what is included exceeds by itself."""
        n_terms = len(self.include) + len(self.lines)
        for name, size, most in (
            ("max_complexity", round(self.complexity, 9), max_complexity),
            ("max_rules", n_terms, max_rules),
        ):
            if most is not None and size > most:
                raise ValueError(
                    f"`include` alone has {size:g}, more than {name}={most:g}; raise `{name}`, or "
                    "include less"
                )


NOTHING = Expert()


# ------------------------------------------------------------------------------------- reading


def read_expert(
    include: Sequence[Entry] | None,
    exclude: Sequence[Entry] | None,
    scan: TableScan,
    weights: FloatArray | None,
) -> Expert:
    """Read what a person asks for and check it against the columns.

    Rules that cover no row or every row, and rules that split the rows as an earlier one does, are
    left out with a warning.

    Raises
    ------
    RuleSyntaxError
        If a text is no rule about these columns; it shows the place.
    ValueError
        If a rule can hold on no row, or is both included and excluded.
    """
    if not include and not exclude:
        return NOTHING
    columns = Columns(scan)
    asked = read_entries(include, exclude, columns)
    rows = None if weights is None else weights > 0
    telling = tuple(keep_telling(asked.include, columns.table(), rows)) if asked.include else ()
    return replace(asked, include=telling)


def read_entries(
    include: Sequence[Entry] | None, exclude: Sequence[Entry] | None, columns: "Columns"
) -> Expert:
    """Read what a person asks for, whether or not it splits the rows."""
    included = [read_entry(f"include[{k}]", one, columns) for k, one in enumerate(include or ())]
    excluded = [read_entry(f"exclude[{k}]", one, columns) for k, one in enumerate(exclude or ())]
    for one in included:
        if one in excluded:
            raise ValueError(f"`{one}` is both in `include` and in `exclude`; take it out of one")
    lines = [one for one in included if isinstance(one, str)]
    odd = [name for name in lines if not isinstance(columns.read(name), NumberColumn)]
    if odd:
        raise ValueError(
            f"`include` names column {odd[0]!r}, which holds levels and cannot be a line; give "
            "rules about it"
        )
    return Expert(
        tuple(one for one in included if isinstance(one, Rule)),
        tuple(dict.fromkeys(lines)),
        tuple(dict.fromkeys(one for one in excluded if isinstance(one, Rule))),
        tuple(dict.fromkeys(one for one in excluded if isinstance(one, str))),
    )


class Columns(Mapping[str, tuple[Level, ...]]):
    """The columns that rules mention, each read once; as a mapping, the orders of their levels."""

    def __init__(self, scan: TableScan) -> None:
        self.names = scan.names
        self._scan = scan
        self._read: dict[str, Column] = {}

    def read(self, name: str) -> Column:
        """Return a column."""
        if name not in self._read:
            self._read[name] = self._scan.column(name)
        return self._read[name]

    def table(self) -> Table:
        """Return the columns read so far, or the first if there are none."""
        if not self._read:
            self.read(self.names[0])
        return Table(tuple(self._read.values()))

    def __getitem__(self, name: str) -> tuple[Level, ...]:
        column = self.read(name)
        if isinstance(column, LevelColumn) and column.ordered:
            return column.levels
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def read_entry(place: str, entry: Any, columns: Columns) -> Rule | str:
    """Return a rule, or the name of a column."""
    column = find_column(entry, columns.names)
    if column is not None:
        return column
    if not isinstance(entry, (str, Rule)):
        raise TypeError(f"`{place}` is {entry!r}; give a rule, its text or the name of a column")
    text = entry if isinstance(entry, str) else entry.text()
    try:
        rule, mentions = read_rule(text, columns, columns.names)
        for mention in mentions:
            check_mention(text, mention, rule, columns.read(mention.feature))
    except RuleSyntaxError as error:
        raise RuleSyntaxError(f"`{place}`: {error.problem}", text, error.position) from None
    except ValueError as error:
        raise ValueError(f"`{place}`: {error}") from None
    return rule


def find_column(entry: Any, names: Sequence[str]) -> str | None:
    """Return the column that an entry names, as it is or in backquotes as in rules."""
    if entry in names:
        return str(entry)
    return next((name for name in names if quote_name(name) == entry), None)


def check_mention(text: str, mention: Mention, rule: Rule, column: Column) -> None:
    """Refuse conditions that do not suit their column."""
    name = quote_name(mention.feature)
    condition = next(c for c in rule.conditions if c.feature == mention.feature)
    problem = find_mismatch(name, condition, column)
    if problem:
        raise RuleSyntaxError(problem, text, mention.position)
    if isinstance(column, LevelColumn):
        for level, position in mention.levels:
            if level not in column.levels:
                known = ", ".join(map(format_level, column.levels[:MOST_SHOWN]))
                more = ", ..." if len(column.levels) > MOST_SHOWN else ""
                problem = f"{format_level(level)} is no level of {name}; it has {known}{more}."
                raise RuleSyntaxError(problem, text, position)


def find_mismatch(name: str, condition: Condition, column: Column) -> str:
    """Say what is wrong with a condition on a column, nothing if it suits."""
    if isinstance(condition, Levels) and isinstance(column, NumberColumn):
        return (
            f"{name} holds numbers: compare it by <= and >, or name it in `categorical` to tell "
            "its values apart."
        )
    if isinstance(condition, Levels) and isinstance(column, LevelColumn) and column.ordered:
        return f"The levels of {name} have an order: compare it by <= and >."
    if isinstance(condition, Range) and condition.order is None:
        return (
            ""
            if isinstance(column, NumberColumn)
            else (f"{name} holds levels without an order: compare it by =, != and in.")
        )
    return ""


def keep_telling(rules: Sequence[Rule], table: Table, rows: BoolArray | None) -> Iterator[Rule]:
    """Yield the rules that split the rows, each in another way; warn of the others."""
    table = table if rows is None else table.take(rows)
    seen: dict[bytes, Rule] = {}
    for rule in rules:
        mask = rule.holds(table)
        key = split_key(mask)
        if mask.all() or not mask.any():
            what = "covers every row" if mask.all() else "covers no row"
        elif key in seen:
            what = f"splits the rows as `{seen[key]}` does"
        else:
            seen[key] = rule
            yield rule
            continue
        warnings.warn(
            f"The included rule `{rule}` {what}, so that its coefficient cannot be learned; it is "
            "left out: correct it, or take it out of `include`",
            UserWarning,
            stacklevel=7,
        )


def split_key(mask: BoolArray) -> bytes:
    """Name a split of the rows, the same for a rule and for its opposite."""
    return np.packbits(~mask if mask[0] else mask).tobytes()


# ---------------------------------------------------------------------------- over the bins


@dataclass(frozen=True, eq=False)
class Wishes:
    """What is asked of the rules, over the bins of some rows.

    Attributes
    ----------
    forced : tuple of BinRule, always in the model; those that split these rows
    degrees : tuple of int
    lines : tuple of int, positions of the linear terms that are always in it
    banned : tuple of BinRule, never learned, nor any rule that implies one
    features : tuple of FeatureBins, those that may be read with their conditions, others without
    """

    forced: tuple[BinRule, ...]
    degrees: tuple[int, ...]
    lines: tuple[int, ...]
    banned: tuple[BinRule, ...]
    features: tuple[FeatureBins, ...]

    def enter(self, engine: Engine) -> "list[int]":
        """Give a fresh engine the rules that are always in the model.

        Returns the positions of the coefficients of what is always in it; they stay the same.
        """
        engine.add_rules(self.forced, self.degrees)
        engine.forbid(self.banned)
        rules = range(1 + engine.n_linear, 1 + engine.n_linear + len(self.forced))
        return [*(1 + k for k in self.lines), *rules]


def bind(expert: Expert, binning: Binning, codes: CodeArray, line_names: Sequence[str]) -> Wishes:
    """Say what is asked for over the bins of some rows.

    Parameters
    ----------
    expert : Expert
    binning : Binning, with the thresholds and levels that are wanted
    codes : (n_features, n_rows) uint8
    line_names : sequence of str, columns of the linear terms
    """
    forced: dict[bytes, BinRule] = {}
    for rule in map(binning.from_rule, expert.include):
        mask = unpack_column(evaluate(codes, [rule])[0], codes.shape[1])
        if mask.any() and not mask.all():
            forced.setdefault(split_key(mask), rule)
    return bind_rules(expert, binning, tuple(forced.values()), line_names)


def bind_rules(
    expert: Expert, binning: Binning, rules: tuple[BinRule, ...], line_names: Sequence[str]
) -> Wishes:
    """Say what is asked for over some bins, given the rules always in the model."""
    return Wishes(
        rules,
        tuple(map(binning.degree, rules)),
        tuple(k for k, name in enumerate(line_names) if name in expert.lines),
        tuple(binning.from_rule(rule) for rule in expert.exclude if rule.conditions),
        tuple(bar(bins) if bins.name in expert.barred else bins for bins in binning.features),
    )


def bar(bins: Any) -> FeatureBins:
    """Return bins without conditions, as if no row had told them apart."""
    barred: FeatureBins = replace(bins, observed=0)
    return barred
