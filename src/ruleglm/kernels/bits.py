"""Bits of a word. The compiler knows both of these forms, and makes one instruction of each."""

import numpy as np

from ruleglm.kernels.compile import kernel


@kernel
def count_bits(word):
    """Return the number of bits that are set in a uint64."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    twos = np.uint64(0x3333333333333333)
    word = (word & twos) + ((word >> np.uint64(2)) & twos)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def first_bit(word):
    """Return the number of the lowest bit that is set in a uint64 other than 0."""
    lowest = word & (~word + np.uint64(1))
    return count_bits(lowest - np.uint64(1))
