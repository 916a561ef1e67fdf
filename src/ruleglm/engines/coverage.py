"""Which splits of the rows a model's columns make: collinear columns are not wanted twice.

A split is named by a sum over parts of the rows, so that parts in several places can name it
without sending rows: each gives a hash of its bits as they are and one of their complement.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from ruleglm import kernels
from ruleglm.dtypes import WORD_DTYPE, WordArray

CoverageName: TypeAlias = tuple[bytes, bool]
"""Name of a split of the rows, and whether it is named by the rows that are not covered."""


def hash_columns(
    columns: WordArray, n_rows: int, number: int = 0, *, alone: bool = False
) -> WordArray:
    """Return what one part adds to the names of columns, shape (n_columns, 5).

    Two words for the rows covered, two for the others, and whether the very first row is covered.

    Parameters
    ----------
    columns : (n_columns, n_words) uint64
    n_rows : int, at least 1
    number : int, of the part; 0 holds the first row
    alone : bool, whether there is no other part; then only the words that name a column are filled
    """
    out = np.zeros((len(columns), 5), WORD_DTYPE)
    kernels.hash_columns(columns, n_rows, number, alone, out)
    return out


def name_columns(sums: WordArray) -> list[CoverageName]:
    """Name splits from what all parts add to them; of two opposite ones, both by the same rows."""
    turned, words, width = sums[:, 4].astype(np.bool_).tolist(), sums.tobytes(), 2 * sums.itemsize
    places = range(0, len(words), 5 * sums.itemsize)
    starts = [place + width * turn for place, turn in zip(places, turned, strict=True)]
    return [
        (words[start : start + width], turn) for start, turn in zip(starts, turned, strict=True)
    ]


class Coverages:
    """The splits that columns make, each with the fewest conditions and the signs it is held for.

    A column and the one that covers just the other rows are collinear with the intercept; what one
    does with a positive coefficient the other does with a negative one.
    """

    def __init__(self) -> None:
        self._degrees: dict[int, dict[bytes, int]] = {1: {}, -1: {}}
        """By sign and name."""
        self._forbidden: set[bytes] = set()

    def note(self, coverage: CoverageName, degree: int, sign: int) -> bool:
        """Note a column; tell whether none noted can do the same for as few conditions.

        Parameters
        ----------
        coverage : CoverageName
        degree : int
        sign : int, that its coefficient has to have, 0 for any
        """
        name, turned = coverage
        if name in self._forbidden:
            return False
        new = False
        for way in ((-sign if turned else sign),) if sign else (1, -1):
            degrees = self._degrees[way]
            if degree < degrees.get(name, degree + 1):
                degrees[name] = degree
                new = True
        return new

    def forbid(self, coverages: Iterable[CoverageName]) -> None:
        """From now on no column that splits the rows as one of these is new, but those noted."""
        names = {name for name, _ in coverages}
        self._forbidden = names.difference(*self._degrees.values())

    def keep(
        self, coverages: Sequence[CoverageName], degrees: Sequence[int], signs: Sequence[int]
    ) -> None:
        """Forget all columns noted but these, given in the order in which they were."""
        self._degrees = {1: {}, -1: {}}
        if any(signs):
            for coverage, degree, sign in zip(coverages, degrees, signs, strict=True):
                self.note(coverage, degree, sign)
        else:  # of one split, those noted later have fewer conditions
            known = {name: degree for (name, _), degree in zip(coverages, degrees, strict=True)}
            self._degrees = {1: known, -1: known.copy()}
