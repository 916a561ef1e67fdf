"""Coordinate descent on a Gram matrix."""

from ruleglm.kernels.compile import kernel


@kernel
def descend(gram, gradient, penalties, signs, tol, max_sweeps, coef):
    """Minimise a quadratic model plus the weighted l1 norm, coordinate by coordinate.

    The model is ``gradient . (x - coef) + (x - coef)' gram (x - coef) / 2 + sum penalties |x|``;
    it is minimised from ``x = coef``. Sweeps over the nonzero coefficients alternate with full
    sweeps.

    Parameters
    ----------
    gram : (n, n) float64, symmetric, positive semidefinite
    gradient : (n,) float64, overwritten with the model's gradient at the end
    penalties : (n,) float64
    signs : (n,) int64, the sign that each coefficient has to have, 0 for any
    tol : float, stop when a full sweep lowers the model by less
    max_sweeps : int
    coef : (n,) float64, OUT, start and result

    Returns
    -------
    int, sweeps done
    """
    n = coef.shape[0]
    full = True
    for sweep in range(max_sweeps):
        decrease = 0.0
        for j in range(n):
            curvature = gram[j, j]
            if curvature <= 0.0 or (not full and coef[j] == 0.0):
                continue
            target = curvature * coef[j] - gradient[j]
            new = 0.0
            if target > penalties[j] and signs[j] >= 0:
                new = (target - penalties[j]) / curvature
            elif target < -penalties[j] and signs[j] <= 0:
                new = (target + penalties[j]) / curvature
            change = new - coef[j]
            if change != 0.0:
                coef[j] = new
                row = gram[j]
                for i in range(n):
                    gradient[i] += change * row[i]
                decrease += 0.5 * curvature * change * change
        if decrease < tol:
            if full:
                return sweep + 1
            full = True
        else:
            full = False
    return max_sweeps
