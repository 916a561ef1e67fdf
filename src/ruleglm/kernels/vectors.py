"""Two numbers side by side as one vector, which the compiler does not make of two additions."""

from typing import Any

import numba
from llvmlite import ir
from numba.core import config
from numba.extending import intrinsic

PAIR = ir.VectorType(ir.DoubleType(), 2)
INDEX = ir.IntType(32)


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


add_pair: Any = intrinsic(type_add_pair)
if config.DISABLE_JIT:  # type: ignore[attr-defined]
    add_pair = add_pair_plainly
