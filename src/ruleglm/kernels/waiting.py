"""Threads that wait for each other without going to sleep: waking up takes as long as a kernel."""

from typing import Any

import numba
from numba.core import config
from numba.extending import intrinsic

from ruleglm.kernels.compile import kernel

FLAG = numba.types.int64[::1]
"""A flag is the first of some int64, contiguous, which several threads may read and change."""


def type_look(_context, flag):
    """Say how a flag is read."""
    return (numba.types.int64(flag), generate_look) if flag == FLAG else None


def generate_look(context, builder, signature, arguments):
    """Write the instruction of `look`: a load that the compiler may not leave out."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.load_atomic(data, ordering="monotonic", align=8)


def look_plainly(flag):
    """Do what `look` does, where nothing is compiled."""
    return flag[0]


def type_tell(_context, flag, _value):
    """Say how a flag is set."""
    return (numba.types.void(flag, numba.types.int64), generate_tell) if flag == FLAG else None


def generate_tell(context, builder, signature, arguments):
    """Write the instruction of `tell`: a store that the compiler may not put off."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    builder.store_atomic(arguments[1], data, ordering="monotonic", align=8)
    return context.get_dummy_value()


def tell_plainly(flag, value):
    """Do what `tell` does, where nothing is compiled."""
    flag[0] = value


look: Any = intrinsic(type_look)
tell: Any = intrinsic(type_tell)
if config.DISABLE_JIT:  # type: ignore[attr-defined]
    look, tell = look_plainly, tell_plainly


@kernel
def await_change(flag, seen, n_looks, n_more, value, told):
    """Set a flag, and look at another one until it is not what it was.

    By then this thread has let go of the interpreter lock, so that who sees the one flag can have
    it; a thread that finds it taken goes to sleep.

    Parameters
    ----------
    flag : (at least 1,) int64, which another thread changes
    seen : int, what it was
    n_looks : int, after which it is given up
    n_more : int, looks after it has changed, while the other one lets go of the lock
    value : int
    told : (at least 1,) int64, OUT, which is set to ``value``

    Returns
    -------
    bool, whether the first flag has changed
    """
    tell(told, value)
    for _ in range(n_looks):
        if look(flag) != seen:
            for _ in range(n_more):
                look(flag)
            return True
    return False
