"""Columns of rules as bits, one word for 64 rows."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule
from ruleglm.dtypes import (
    INDEX_DTYPE,
    MAX_BINS,
    WORD_DTYPE,
    BoolArray,
    CodeArray,
    IntArray,
    WordArray,
)

MAX_KEPT = 1 << 22
"""Words of the columns of single conditions that are kept: 32 MB."""


class Evaluator:
    """Evaluates rules on bin codes, and keeps the columns of their conditions, which recur."""

    def __init__(self, codes: CodeArray) -> None:
        self._codes = codes
        self._places: dict[tuple[int, int], int] = {}
        self._kept = np.empty((0, (codes.shape[1] + 63) // 64), WORD_DTYPE)

    def evaluate(self, rules: Sequence[BinRule]) -> WordArray:
        """Evaluate rules into packed columns, shape (n_rules, n_words)."""
        conditions = [condition for rule in rules for condition in rule]
        places = list(map(self._places.get, conditions))
        if None in places:
            self._keep([c for c in dict.fromkeys(conditions) if c not in self._places])
            places = list(map(self._places.get, conditions))
        if None in places:
            return evaluate(self._codes, rules)
        which, starts = np.array(places, INDEX_DTYPE), rule_starts(rules)
        out = np.empty((len(rules), self._kept.shape[1]), WORD_DTYPE)
        kernels.join_columns(self._kept, which, starts, self._codes.shape[1], out)
        return out

    def _keep(self, new: list[tuple[int, int]]) -> None:
        """Evaluate conditions; if there is no room for them, all others are forgotten."""
        n_words = self._kept.shape[1]
        if (len(self._places) + len(new)) * n_words > MAX_KEPT:
            self._places, self._kept = {}, self._kept[:0]
        if len(new) * n_words > MAX_KEPT:
            return
        first, size = len(self._places), len(self._places) + len(new)
        if size > len(self._kept):
            grown = np.empty((max(size, 2 * len(self._kept)), n_words), WORD_DTYPE)
            grown[:first] = self._kept[:first]
            self._kept = grown
        evaluate_each(self._codes, new, np.arange(len(new) + 1), self._kept[first:size])
        self._places.update(zip(new, range(first, size), strict=True))


def evaluate(codes: CodeArray, rules: Sequence[BinRule]) -> WordArray:
    """Evaluate rules on bin codes into packed columns, shape (n_rules, n_words)."""
    out = np.empty((len(rules), (codes.shape[1] + 63) // 64), WORD_DTYPE)
    evaluate_each(codes, [one for rule in rules for one in rule], rule_starts(rules), out)
    return out


def evaluate_each(
    codes: CodeArray, conditions: Sequence[tuple[int, int]], starts: IntArray, out: WordArray
) -> None:
    """Evaluate rules, given by their conditions one after the other, into packed columns, OUT."""
    features = np.array([feature for feature, _ in conditions], INDEX_DTYPE)
    masks = bytearray(b"".join([mask.to_bytes(MAX_BINS // 8, "little") for _, mask in conditions]))
    words = np.frombuffer(masks, WORD_DTYPE).reshape(-1, MAX_BINS // 64)
    kernels.evaluate_rules(codes, features, words, starts, out)


def count_rows(columns: WordArray) -> IntArray:
    """Return the number of rows of each column."""
    out = np.empty(len(columns), INDEX_DTYPE)
    kernels.count_rows(columns, out)
    return out


def rule_starts(rules: Sequence[BinRule]) -> IntArray:
    """Return where each rule's conditions begin, and where the last one's end."""
    return np.array([0, *accumulate(map(len, rules))], INDEX_DTYPE)


@lru_cache(maxsize=10_000)
def mask_table(mask: int) -> CodeArray:
    """Spread a bit mask over bins into one byte a bin; the answer is shared, not to be changed."""
    packed = np.frombuffer(mask.to_bytes(MAX_BINS // 8, "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little")


def unpack_column(words: WordArray, n_rows: int) -> BoolArray:
    """Unpack one column of bits into a row mask."""
    return np.asarray(unpack_columns(words[None], n_rows)[0])


def unpack_columns(words: WordArray, n_rows: int) -> BoolArray:
    """Unpack columns of bits, shape (n_columns, n_words), into row masks."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little", count=n_rows)
    return bits.view(np.bool_)
