"""The model: rules and linear terms with coefficients, added up and passed through a link.

A `RuleEnsemble` needs nothing from the fit that made it. It reads rows by name, and its
contributions, its table and its text show the same numbers that it predicts with.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ruleglm.conditions import Condition
from ruleglm.dtypes import AnyArray, BoolArray, FloatArray
from ruleglm.families import Gaussian
from ruleglm.family import Family
from ruleglm.files import RowFiles, is_source
from ruleglm.frames import Column, Kind, Level, LevelColumn, Table, read_table
from ruleglm.parser import parse_rule
from ruleglm.rules import LinearTerm, Rule

if TYPE_CHECKING:
    import pandas as pd

Term: TypeAlias = Rule | str | int
"""A term of a model: a rule, its text (of a line the column's name), or its row in the table."""

DEGREE_WEIGHT = 0.2
"""What one more condition adds to the complexity of a rule, which starts at 1."""

INTERCEPT = "(intercept)"

MOST_CLASSES = 4
"""Classes whose coefficients the text of a model shows in a line."""

_BLOCK_ROWS = 65_536
"""Rows evaluated at a time, so that the masks of the conditions held stay small."""


@dataclass(frozen=True, eq=False)
class RuleEnsemble:
    """A generalized linear model over rules, in the data's own names and units.

    The multinomial family has a linear predictor for each class: its arrays of coefficients, linear
    predictors and contributions have a last axis over the classes, which others do not have.

    Parameters
    ----------
    intercept : float, or ndarray of shape (n_classes,)
        Linear predictor of a row that satisfies no rule, linear terms aside.
    rules : tuple of Rule
        Each adds its coefficient to the rows where it holds.
    coefficients : ndarray of shape (n_rules,) or (n_rules, n_classes), float64
        One per rule, or one per rule and class.
    linear_terms : tuple of LinearTerm
        Each adds its coefficient times the clipped value of a feature.
    linear_coefficients : ndarray of shape (n_linear_terms,) or (n_linear_terms, n_classes), float64
        Per unit of the feature.
    family : Family
        Turns the linear predictor into a mean.
    names : tuple of str
        The columns of the training data, in order; arrays are read by position.
    kinds : mapping from name to kind, optional
        How each column is read; a column without a kind is read as it comes.
    orders : mapping from name to tuple of levels, optional
        Levels of the ordered columns, lowest first.
    classes : tuple of labels, optional
        What a classifier tells apart: the binomial mean is the probability of the second class.
    """

    intercept: Any
    rules: tuple[Rule, ...]
    coefficients: FloatArray
    linear_terms: tuple[LinearTerm, ...]
    linear_coefficients: FloatArray
    family: Family
    names: tuple[str, ...]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    orders: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    classes: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        shape = self.family.output_shape
        coefficients = _frozen_array(self.coefficients, "coefficients", (len(self.rules), *shape))
        slopes = _frozen_array(
            self.linear_coefficients, "linear_coefficients", (len(self.linear_terms), *shape)
        )
        intercept = _frozen_array(self.intercept, "intercept", shape)
        canonical = {
            "intercept": intercept if shape else float(intercept),
            "rules": tuple(self.rules),
            "coefficients": coefficients,
            "linear_terms": tuple(self.linear_terms),
            "linear_coefficients": slopes,
            "names": tuple(self.names),
            "kinds": dict(self.kinds),
            "orders": {name: tuple(order) for name, order in self.orders.items()},
            "classes": tuple(self.classes),
        }
        for name, value in canonical.items():
            object.__setattr__(self, name, value)
        self._check_names()
        self._check_classes()

    def _check_classes(self) -> None:
        wanted = {"binomial": (0, 2), "multinomial": self.family.output_shape}
        allowed = wanted.get(self.family.name, (0,))
        if len(self.classes) not in allowed:
            raise ValueError(
                f"{len(self.classes)} classes do not suit the {self.family.name} family; "
                f"give {' or '.join(map(str, allowed))}."
            )

    def _check_names(self) -> None:
        known = set(self.names)
        if len(known) < len(self.names):
            raise ValueError(f"Column names have to differ from each other, got {self.names}.")
        for rule in self.rules:
            if not known.issuperset(rule.features):
                _check_known(rule.features, known, f"The rule `{rule}` reads")
        _check_known([term.feature for term in self.linear_terms], known, "A linear term reads")
        _check_known(self.kinds, known, "`kinds` mentions")
        _check_known(self.orders, known, "`orders` mentions")

    # ----------------------------------------------------------------------------- predictions

    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> FloatArray:
        """Return the linear predictor of each row.

        Parameters
        ----------
        X : data frame, array, Table or files with n_rows rows
            Frames are read by column name, arrays by position, files by batches.
        offset : array-like of shape (n_rows,) or number, optional
            Added to the linear predictor.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes), float64
        """
        if is_source(X):
            return self._predict_files(X if isinstance(X, RowFiles) else RowFiles(X), offset)
        table = self.read(X)
        eta = np.zeros((table.n_rows, *self.family.output_shape))
        eta += self.intercept
        eta += _read_offset(offset, eta.shape)
        for term, slope in zip(self.linear_terms, self.linear_coefficients, strict=True):
            eta += np.multiply.outer(term.values(table), slope)
        for rows, k, mask in _iterate_rules(self.rules, table):
            eta[rows] += np.multiply.outer(mask, self.coefficients[k])
        return eta

    def _predict_files(self, files: RowFiles, offset: ArrayLike | None) -> FloatArray:
        """Return the linear predictor of rows in files, whose columns are read by batches."""
        eta = np.zeros((files.n_rows, *self.family.output_shape))
        eta += _read_offset(offset, eta.shape)
        start = 0
        for batch in files.batches(self.names):
            eta[start : start + len(batch)] += self.decision_function(batch)
            start += len(batch)
        return eta

    def predict(self, X: Any, offset: ArrayLike | None = None) -> FloatArray:
        """Return the mean of the target in each row: the inverse link of the linear predictor.

        For the multinomial family that is the probability of each class.
        """
        return self.family.mean(self.decision_function(X, offset))

    def predict_class(self, X: Any, offset: ArrayLike | None = None) -> AnyArray:
        """Return the label of the most probable class of each row, for a model with classes."""
        if not self.classes:
            raise ValueError(f"A {self.family.name} model without classes predicts no labels.")
        eta = self.decision_function(X, offset)
        best = np.argmax(eta, axis=1) if eta.ndim == 2 else (eta > 0.0).astype(np.int64)
        same_type = len(set(map(type, self.classes))) == 1
        labels: AnyArray = np.array(self.classes, dtype=None if same_type else object)
        return labels.take(best)

    def contributions(self, X: Any) -> FloatArray:
        """Split the linear predictor of each row into its terms.

        Parameters
        ----------
        X : data frame, array or Table with n_rows rows
            Read as in `decision_function`.

        Returns
        -------
        ndarray of shape (n_rows, 1 + n_linear_terms + n_rules), float64
            Columns in the order of `terms`; with the offset, rows add up to the linear predictor.
            A last axis over the classes for the multinomial family.
        """
        table = self.read(X)
        first_rule = 1 + len(self.linear_terms)
        shape = table.n_rows, first_rule + len(self.rules), *self.family.output_shape
        parts = np.empty(shape, order="F")
        parts[:, 0] = self.intercept
        for j, term in enumerate(self.linear_terms):
            parts[:, 1 + j] = np.multiply.outer(term.values(table), self.linear_coefficients[j])
        for rows, k, mask in _iterate_rules(self.rules, table):
            parts[rows, first_rule + k] = np.multiply.outer(mask, self.coefficients[k])
        return parts

    def read(self, X: Any) -> Table:
        """Read rows as the model needs them: its columns, kinds and orders of levels."""
        return read_table(X, names=self.names, kinds=self.kinds, levels=self.orders)

    # ----------------------------------------------------------------------------------- edits

    def drop(self, *terms: Term) -> "RuleEnsemble":
        """Return the model without some of its terms; the other coefficients stay.

        Parameters
        ----------
        *terms : Rule, str or int
            Rules, or texts as in `terms` (of a line the column's name), or rows of `table`.
        """
        gone = {self.place(term) for term in terms}
        n_lines = len(self.linear_terms)
        lines = [k for k in range(n_lines) if 1 + k not in gone]
        rules = [k for k in range(len(self.rules)) if 1 + n_lines + k not in gone]
        return replace(
            self,
            rules=tuple(self.rules[k] for k in rules),
            coefficients=self.coefficients[rules],
            linear_terms=tuple(self.linear_terms[k] for k in lines),
            linear_coefficients=self.linear_coefficients[lines],
        )

    def add(self, *rules: Rule | str) -> "RuleEnsemble":
        """Return the model with more rules, whose coefficients are 0 until `ruleglm.refit`."""
        new = [self.read_rule(rule) for rule in rules]
        coefficients = self.coefficients
        for place, rule in enumerate(new):
            if rule in self.rules or rule in new[:place]:
                raise ValueError(f"The rule `{rule}` is in the model already.")
        zeros = np.zeros((len(new), *coefficients.shape[1:]))
        return replace(
            self, rules=(*self.rules, *new), coefficients=np.concatenate([coefficients, zeros])
        )

    def replace(self, old: Term, new: Rule | str) -> "RuleEnsemble":
        """Return the model with another rule in the place of one, with its coefficient."""
        place, rule = self.place(old) - 1 - len(self.linear_terms), self.read_rule(new)
        if place < 0:
            raise ValueError(f"{old!r} is a line; only rules can be replaced, so drop it.")
        rules = list(self.rules)
        rules[place] = rule
        if rules.count(rule) > 1:
            raise ValueError(f"The rule `{rule}` is in the model already; drop {old!r} instead.")
        return replace(self, rules=tuple(rules))

    def place(self, term: Term) -> int:
        """Return the row of `table` in which a term is, or say that the model does not have it."""
        if isinstance(term, (int, np.integer)):
            if not 0 < term < len(self.terms):
                raise ValueError(
                    f"There is no term {term}; rows of the table from 1 to {len(self.terms) - 1} "
                    "hold rules and lines, row 0 the intercept."
                )
            return int(term)
        for row, line in enumerate(self.linear_terms, 1):
            if term in (line.feature, line.text(), line.label()):
                return row
        rule = self.read_rule(term)
        if rule not in self.rules:
            raise ValueError(f"The model has no rule `{rule}`; its terms are in `table()`.")
        return 1 + len(self.linear_terms) + self.rules.index(rule)

    def read_rule(self, rule: Any) -> Rule:
        """Return a rule from its text; a Rule is returned as it is."""
        if isinstance(rule, Rule):
            return rule
        if not isinstance(rule, str):
            raise TypeError(f"{rule!r} is no rule; give a Rule or its text.")
        return parse_rule(rule, self.orders)

    def of_class(self, k: int) -> "RuleEnsemble":
        """Return the linear predictor of one class, of several, as a model by itself."""
        return replace(
            self,
            intercept=self.intercept[k],
            coefficients=self.coefficients[:, k],
            linear_coefficients=self.linear_coefficients[:, k],
            family=Gaussian(),
            classes=(),
        )

    # ---------------------------------------------------------------------------- descriptions

    @property
    def terms(self) -> tuple[str, ...]:
        """Texts of the intercept, the linear terms and the rules, as in `contributions`."""
        linear = (term.text() for term in self.linear_terms)
        return (INTERCEPT, *linear, *(rule.text() for rule in self.rules))

    @property
    def complexity(self) -> float:
        """1 for each rule and linear term, and 0.2 for each condition of a rule."""
        degrees = sum(rule.degree for rule in self.rules)
        return len(self.rules) + DEGREE_WEIGHT * degrees + len(self.linear_terms)

    def table(self) -> "pd.DataFrame":
        """Return the terms as a data frame with columns ``rule``, ``coefficient``, ``degree``.

        For the multinomial family there is a column ``coefficient of`` each class instead.

        The rows are ordered as in `contributions`: the intercept, the linear terms, the rules. The
        first two kinds have degree 0, so that ``1 + 0.2 * degree``, summed over all rows but the
        intercept's, is the complexity.
        """
        import pandas as pd

        no_conditions = [0] * (1 + len(self.linear_terms))
        return pd.DataFrame(
            {
                "rule": list(self.terms),
                **self.class_columns("coefficient", self.all_coefficients()),
                "degree": no_conditions + [rule.degree for rule in self.rules],
            }
        )

    def all_coefficients(self) -> FloatArray:
        """Return the coefficients of `terms`: the intercept, the linear terms, the rules."""
        intercept = np.asarray(self.intercept)[None]
        return np.concatenate([intercept, self.linear_coefficients, self.coefficients])

    def class_columns(self, name: str, values: FloatArray) -> dict[str, FloatArray]:
        """Return columns of a table of terms: one of that name, or one for each class."""
        if values.ndim == 1:
            return {name: values}
        names = (f"{name} of {label}" for label in self.classes)
        return dict(zip(names, values.T, strict=True))

    def __str__(self) -> str:
        counts = [count(len(self.rules), "rule")]
        if self.linear_terms:
            counts.append(count(len(self.linear_terms), "linear term"))
        title = (
            f"{self.family.name} model with {self.family.link} link: {' and '.join(counts)}, "
            f"complexity {self.complexity:.4g}"
        )
        numbers = self._coefficient_texts()
        lines = (term.label() for term in self.linear_terms)
        texts = (INTERCEPT, *lines, *(rule.text() for rule in self.rules))
        rows = zip(numbers, texts, strict=True)
        return "\n".join([title, *(f"  {number}  {text}" for number, text in rows)])

    def _repr_html_(self) -> str:
        """Show the table of terms in a notebook, all text escaped."""
        import pandas as pd

        title = html.escape(str(self).partition("\n")[0])
        with pd.option_context("display.max_colwidth", None):
            table = self.table().to_html(index=False, border=0, float_format="{:+.4g}".format)
        return f"<p>{title}</p>\n{table}"

    def _coefficient_texts(self) -> list[str]:
        """Write the coefficients of each term, aligned; of many classes only the largest."""
        coefficients = self.all_coefficients()
        if coefficients.ndim == 1:
            return _align([f"{number:+.4g}" for number in coefficients])
        largest = np.argsort(-np.abs(coefficients), axis=1, kind="stable")[:, :MOST_CLASSES]
        columns = []
        for places in np.sort(largest, axis=1).T:
            parts = zip(coefficients, places, strict=True)
            columns.append(_align([f"{line[k]:+.4g} {self.classes[k]}" for line, k in parts]))
        return [", ".join(texts) for texts in zip(*columns, strict=True)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleEnsemble):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(
            np.array_equal(mine, theirs)
            if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray)
            else mine == theirs
            for mine, theirs in pairs
        )


# ------------------------------------------------------------------------------------------ rows


def _iterate_rules(
    rules: Sequence[Rule], table: Table
) -> Iterator[tuple[slice, int, BoolArray | np.bool_]]:
    """Yield (rows, rule number, mask) for each block of rows and each rule.

    Within a block each distinct condition is evaluated once.
    """
    for start in range(0, table.n_rows, _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        masks: dict[Condition, BoolArray] = {}
        for k, rule in enumerate(rules):
            for condition in rule.conditions:
                if condition not in masks:
                    column = table.column(condition.feature)
                    masks[condition] = condition.holds(_slice_column(column, rows))
            yield rows, k, _all_hold([masks[condition] for condition in rule.conditions])


def _all_hold(masks: list[BoolArray]) -> BoolArray | np.bool_:
    """Return the rows where all masks hold: every row if there are none."""
    if not masks:
        return np.True_
    mask = masks[0]
    for other in masks[1:]:
        mask = mask & other
    return mask


def _slice_column(column: Column, rows: slice) -> Column:
    if isinstance(column, LevelColumn):
        return replace(column, codes=column.codes[rows])
    return replace(column, values=column.values[rows])


def _read_offset(offset: ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    values = np.asarray(0.0 if offset is None else offset, dtype=np.float64)
    if values.shape not in ((), shape):
        raise ValueError(f"offset has shape {values.shape}; give one number a row, {shape}.")
    if not np.isfinite(values).all():
        place = tuple(np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"offset of row {place[0]} is {values[place]}; offsets have to be finite.")
    return values


# -------------------------------------------------------------------------------- small checks


def _frozen_array(values: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return a read-only copy of an array of finite numbers."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"`{name}` has shape {array.shape}, but {shape} is needed.")
    if not np.isfinite(array).all():
        raise ValueError(f"`{name}` holds {array[~np.isfinite(array)][0]}; finite numbers needed.")
    array.flags.writeable = False
    return array


def _check_known(features: "Sequence[str] | Mapping[str, Any]", known: set[str], who: str) -> None:
    for feature in features:
        if feature not in known:
            raise ValueError(f"{who} the column {feature!r}, which is not among the names.")


def _align(texts: list[str]) -> list[str]:
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def count(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
