"""Which splits of the rows a model's columns make: collinear columns are not wanted twice."""

import hashlib
from collections.abc import Iterable

import numpy as np

from ruleglm.dtypes import WordArray


class Coverages:
    """The splits that columns make, each with the fewest conditions and the signs it is held for.

    A column and the one that covers just the other rows are collinear with the intercept; what one
    does with a positive coefficient the other does with a negative one.

    Parameters
    ----------
    n_rows : int
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._degrees: dict[tuple[bytes, int], int] = {}
        self._forbidden: set[bytes] = set()

    def note(self, words: WordArray, degree: int, sign: int) -> bool:
        """Note a column; tell whether none noted can do the same for as few conditions.

        Parameters
        ----------
        words : (n_words,) uint64
        degree : int
        sign : int, that its coefficient has to have, 0 for any
        """
        name, turned = self.name(words)
        if name in self._forbidden:
            return False
        new = False
        for way in ((-sign if turned else sign),) if sign else (1, -1):
            if degree < self._degrees.get((name, way), degree + 1):
                self._degrees[name, way] = degree
                new = True
        return new

    def forbid(self, columns: Iterable[WordArray]) -> None:
        """From now on no column that splits the rows as one of these is new, but those noted."""
        names = {self.name(words)[0] for words in columns}
        self._forbidden = names - {name for name, _ in self._degrees}

    def forget(self) -> None:
        """Forget the columns noted, not what is forbidden."""
        self._degrees = {}

    def name(self, words: WordArray) -> tuple[bytes, bool]:
        """Name the split of a column, and tell whether it is named by the rows not covered."""
        turned = bool(words[0] & np.uint64(1))
        if turned:
            words = ~words
            words[-1] &= ~np.uint64(0) >> np.uint64(-self._n_rows % 64)
        return hashlib.blake2b(words.tobytes(), digest_size=16).digest(), turned
