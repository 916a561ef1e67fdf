"""Twins of ``ruleglm.kernels.sweeps``: the sweep operator as matrix algebra."""

import numpy as np


def sweep_column(column, table):
    line = table[column].copy()
    pivot = line[column]
    table -= np.outer(line[:-1] / pivot, line)
    table[column] = line / abs(pivot)
    table[:, column] = line[:-1] / abs(pivot)
    table[column, column] = -1.0 / pivot


def rate_additions(table, member, least, signs, doubt, gains):
    size, slope = np.diagonal(table) + doubt, table[:, -1]
    free = ~member & (size > least) & (signs * slope >= 0.0)
    gains[:] = np.where(free, slope**2 / np.where(free, size, 1.0), 0.0)


def rate_swaps(table, inside, outside, least, signs, gains):
    size, beta = -table[inside, inside], table[inside, -1]
    across = table[np.ix_(inside, outside)]
    left = table[outside, -1] + across * (beta / size)[:, None]
    room = table[outside, outside] + across**2 / size[:, None]
    free = (room > least[outside]) & (signs[outside] * left >= 0.0)
    gains[:] = np.where(free, left**2 / np.where(free, room, 1.0), 0.0)
    gains -= (beta**2 / size)[:, None]
