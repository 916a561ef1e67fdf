"""Instructions of vectors that the compiler does not find by itself."""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import config
from numba.extending import intrinsic

PAIR = ir.VectorType(ir.DoubleType(), 2)
INDEX = ir.IntType(32)
BYTES = ir.VectorType(ir.IntType(8), 64)
WORD = ir.IntType(64)


def type_add_pair(_context, cells, place, x, y):
    """Say how two numbers are added to two neighbouring cells: a load, an addition, a store.

    Parameters
    ----------
    cells : (n_cells,) float64, contiguous, OUT
    place : uint64, the first of the two; at most ``n_cells - 2``, which is not checked
    x, y : float64
    """
    if cells != numba.types.float64[::1] or place != numba.types.uint64:
        return None  # there is no such kernel
    return numba.types.void(cells, place, x, y), generate_add_pair


def generate_add_pair(context, builder, signature, arguments):
    """Write the instructions of `add_pair`."""
    array, place, x, y = arguments
    data = context.make_array(signature.args[0])(context, builder, array).data
    where = builder.bitcast(builder.gep(data, [place]), PAIR.as_pointer())
    both = builder.insert_element(ir.Constant(PAIR, ir.Undefined), x, INDEX(0))
    both = builder.insert_element(both, y, INDEX(1))
    before = builder.load(where)
    before.align = 8
    builder.store(builder.fadd(before, both), where).align = 8
    return context.get_dummy_value()


def add_pair_plainly(cells, place, x, y):
    """Do what `add_pair` does, where nothing is compiled."""
    cells[int(place)] += x
    cells[int(place) + 1] += y


def type_pack_inside(_context, codes, place, least, width):
    """Say which of 64 neighbouring codes lie in a run, as the bits of a word.

    Parameters
    ----------
    codes : (n_codes,) uint8, contiguous
    place : uint64, the first of the 64; at most ``n_codes - 64``, which is not checked
    least : uint8, the first code of the run
    width : uint8, how many more it has
    """
    code, word = numba.types.uint8, numba.types.uint64
    if codes != code[::1] or (place, least, width) != (word, code, code):
        return None  # there is no such kernel
    return word(codes, place, least, width), generate_pack_inside


def generate_pack_inside(context, builder, signature, arguments):
    """Write the instructions of `pack_inside`: what is below the run wraps around."""
    array, place, least, width = arguments
    data = context.make_array(signature.args[0])(context, builder, array).data
    codes = builder.load(builder.bitcast(builder.gep(data, [place]), BYTES.as_pointer()))
    codes.align = 1
    beyond = builder.sub(codes, repeat_byte(builder, least))
    inside = builder.icmp_unsigned("<=", beyond, repeat_byte(builder, width))
    return builder.bitcast(inside, WORD)


def repeat_byte(builder, byte):
    """Write the instructions that make a vector of one byte."""
    undefined = ir.Constant(BYTES, ir.Undefined)
    first = builder.insert_element(undefined, byte, INDEX(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(INDEX, 64), None))


def pack_inside_plainly(codes, place, least, width):
    """Do what `pack_inside` does, where nothing is compiled."""
    some = codes[int(place) : int(place) + 64].astype(np.int64) - int(least)
    return np.packbits((some >= 0) & (some <= int(width)), bitorder="little").view(np.uint64)[0]


add_pair: Any = intrinsic(type_add_pair)
pack_inside: Any = intrinsic(type_pack_inside)
if config.DISABLE_JIT:  # type: ignore[attr-defined]
    add_pair, pack_inside = add_pair_plainly, pack_inside_plainly
