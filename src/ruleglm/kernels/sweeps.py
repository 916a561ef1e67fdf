"""Moves of columns into a quadratic model and out of it, by the sweep operator.

A table of ``n`` rows and ``n + 1`` columns holds, for the columns inside the model, minus the
inverse of their matrix and their coefficients; for those outside, what the others leave of their
matrix and of their right sides; between both, how those inside explain those outside.
"""

from ruleglm.kernels.compile import kernel


@kernel
def sweep_column(column, table):
    """Take a column into the model, or out of it.

    Parameters
    ----------
    column : int
    table : (n, n + 1) float64, OUT
    """
    n = table.shape[0]
    line = table[column].copy()
    pivot = line[column]
    size = abs(pivot)
    for i in range(n):
        if i != column:
            share = line[i] / pivot
            for j in range(n + 1):
                table[i, j] -= share * line[j]
            table[i, column] = line[i] / size
    for j in range(n + 1):
        table[column, j] = line[j] / size
    table[column, column] = -1.0 / pivot


@kernel
def rate_additions(table, member, least, signs, doubt, gains):
    """Compute twice the decrease that each column outside the model would bring.

    Parameters
    ----------
    table : (n, n + 1) float64
    member : (n,) bool, the columns inside
    least : (n,) float64, curvature below which a column counts as explained
    signs : (n,) int64, that a coefficient has to have, 0 for any
    doubt : float, a further ridge on the column that is added
    gains : (n,) float64, OUT, 0 inside and where there is none
    """
    n = table.shape[0]
    for k in range(n):
        slope, size = table[k, n], table[k, k] + doubt
        gains[k] = 0.0
        if not member[k] and size > least[k] and signs[k] * slope >= 0.0:
            gains[k] = slope * slope / size


@kernel
def rate_swaps(table, inside, outside, least, signs, gains):
    """Compute twice the decrease of each swap of a column inside for one outside.

    Parameters
    ----------
    table, least, signs : see rate_additions
    inside, outside : (n_inside,) and (n_outside,) int64
    gains : (n_inside, n_outside) float64, OUT
    """
    n = table.shape[0]
    for i in range(inside.shape[0]):
        k = inside[i]
        size, beta = -table[k, k], table[k, n]
        lost, step = beta * beta / size, beta / size
        for j in range(outside.shape[0]):
            m = outside[j]
            across = table[k, m]
            slope = table[m, n] + across * step
            room = table[m, m] + across * across / size
            gains[i, j] = -lost
            if room > least[m] and signs[m] * slope >= 0.0:
                gains[i, j] += slope * slope / room
