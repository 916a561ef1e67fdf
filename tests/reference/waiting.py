"""Flags of threads by NumPy: the twins of ruleglm.kernels.waiting."""


def await_change(flag, seen, n_looks, n_more, value, told):
    told[0] = value
    return n_looks > 0 and bool(flag[0] != seen)
