"""The columns that an engine holds: what is the same wherever its rows are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import INDEX_DTYPE, FloatArray, IntArray, WordArray
from ruleglm.engines.coverage import CoverageName, Coverages, name_columns
from ruleglm.family import Family


class HeldColumns(ABC):
    """Rules, their degrees, signs and splits, and the Gram matrix of all columns.

    Parameters
    ----------
    family : Family
    n_linear : int, linear terms
    sign_of : callable or None, gives the sign that a rule's coefficient has to have, 0 for any
    linear_signs : sequence of int, the same for the linear terms; empty for any
    """

    def __init__(
        self,
        family: Family,
        n_linear: int,
        sign_of: Callable[[BinRule], int] | None,
        linear_signs: Sequence[int],
    ) -> None:
        self.family = family
        self.n_linear = n_linear
        self.rules: list[BinRule] = []
        self.degrees: list[int] = []
        self._signs: list[int] = []
        self._names: list[CoverageName] = []
        self._sign_of = sign_of
        self._linear_signs = list(linear_signs) or [0] * n_linear
        self._coverages = Coverages()
        self._gram: FloatArray | None = None
        self._fresh = False

    @property
    def n_columns(self) -> int:
        """The intercept, the linear terms and the rules."""
        return 1 + self.n_linear + len(self.rules)

    # --- what the rows have to do

    @abstractmethod
    def hash_coverages(self, rules: Sequence[BinRule]) -> WordArray:
        """Return sums over rows that name the rows that each rule covers."""

    exact_gram = False
    """Whether the Gram matrix says all about the loss, to the last digits."""

    @abstractmethod
    def hold(self, rules: Sequence[BinRule]) -> None:
        """Make these rules the columns after the linear terms."""

    @abstractmethod
    def freeze(self) -> None:
        """Keep the second derivatives of the rows where the model stands, for `gram_rows`."""

    @abstractmethod
    def gram_rows(self, n_known: int) -> FloatArray:
        """Return the rows of the Gram matrix from ``n_known`` on, at the frozen derivatives."""

    # --- the rules

    def add_rules(self, rules: Sequence[BinRule], degrees: Sequence[int]) -> int:
        """Append columns for the rules that cover rows as none held does; return their number."""
        if not len(rules):
            return 0
        names = self.coverages(rules)
        signs = [0 if self._sign_of is None else self._sign_of(rule) for rule in rules]
        given = enumerate(zip(names, degrees, signs, strict=True))
        chosen = [k for k, column in given if self._coverages.note(*column)]
        if chosen:
            self.hold([*self.rules, *(rules[k] for k in chosen)])
            self.degrees.extend(degrees[k] for k in chosen)
            self._signs.extend(signs[k] for k in chosen)
            self._names.extend(names[k] for k in chosen)
        return len(chosen)

    def keep_rules(self, positions: Sequence[int]) -> None:
        """Drop all rules but those at ``positions``, whose order is kept."""
        places = list(positions)
        if places == list(range(len(self.rules))):
            return
        self.hold([self.rules[k] for k in places])
        self.degrees = [self.degrees[k] for k in places]
        self._signs = [self._signs[k] for k in places]
        self._names = [self._names[k] for k in places]
        self._coverages.keep(self._names, self.degrees, self._signs)
        if self._gram is not None:
            first = 1 + self.n_linear
            kept = np.concatenate([np.arange(first), first + np.asarray(places, np.int64)])
            kept = kept[kept < len(self._gram)]
            self._gram = np.ascontiguousarray(self._gram[np.ix_(kept, kept)])

    def forbid(self, rules: Sequence[BinRule]) -> None:
        """From now on leave out rules that split the rows as one of ``rules`` does."""
        if len(rules):
            self._coverages.forbid(self.coverages(rules))

    def coverages(self, rules: Sequence[BinRule]) -> list[CoverageName]:
        """Return a name for the rows that each rule covers, and whether it means the others."""
        return name_columns(self.hash_coverages(rules))

    def column_signs(self) -> IntArray:
        """Return the sign that each coefficient has to have, 0 for any."""
        return np.array([0, *self._linear_signs, *self._signs], INDEX_DTYPE)

    # --- the Gram matrix

    def gram(self) -> FloatArray:
        """Return the second derivatives of the mean loss at the point of the last refresh."""
        if self._gram is None:
            self.freeze()
            self._fresh = True
            self._gram = np.empty((0, 0))
        n_known = len(self._gram)
        if n_known < self.n_columns:
            rows = self.gram_rows(n_known)
            whole = np.empty((self.n_columns, self.n_columns))
            whole[:n_known, :n_known] = self._gram
            whole[n_known:] = rows
            whole[:, n_known:] = rows.T
            self._gram = whole
        return self._gram

    def refresh(self) -> bool:
        """Move the second derivatives to where the model stands; False if that changes nothing."""
        if self.family.constant_hessian or self._fresh:
            return False
        self._gram = None
        return True


def split_masses(total: float, size: float) -> tuple[float, float]:
    """Return the positive and the negative mass of values with this sum, and sum of sizes."""
    return max(0.0, size + total) / 2, max(0.0, size - total) / 2
