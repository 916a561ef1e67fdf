"""Columns of rules as bits, one word for 64 rows."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule
from ruleglm.dtypes import MAX_BINS, WORD_DTYPE, BoolArray, CodeArray, WordArray


def evaluate(codes: CodeArray, rules: Sequence[BinRule]) -> WordArray:
    """Evaluate rules on bin codes into packed columns, shape (n_rules, n_words)."""
    conditions = [condition for rule in rules for condition in rule]
    features = np.array([feature for feature, _ in conditions], np.int64)
    tables = np.array([mask_table(mask) for _, mask in conditions], np.uint8)
    starts = np.concatenate([[0], np.cumsum([len(rule) for rule in rules])]).astype(np.int64)
    out = np.empty((len(rules), (codes.shape[1] + 63) // 64), WORD_DTYPE)
    kernels.evaluate_rules(codes, features, tables.reshape(-1, MAX_BINS), starts, out)
    return out


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


def complement(words: WordArray, n_rows: int) -> WordArray:
    """Return the columns of the rows that columns of bits leave out."""
    others = ~words
    others[:, -1] &= ~np.uint64(0) >> np.uint64(-n_rows % 64)
    return others
