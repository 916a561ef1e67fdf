"""How much more counts vary than a poisson target would: the alpha of the negative binomial."""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy

from ruleglm.checks import check_row_vector, check_weights
from ruleglm.families import get_family

LEAST_ALPHA, MOST_ALPHA = 1e-6, 1e4
"""Range of an estimate; counts that vary no more than poisson ones get the least."""


def estimate_alpha(y: Any, mean: Any, sample_weight: Any = None) -> float:
    """Return the dispersion that makes counts with these means most likely.

    To choose ``alpha`` for ``family="negative_binomial"``, predict the means with a poisson model,
    at best on rows that it has not seen (``sklearn.model_selection.cross_val_predict``): the
    residuals of its own training rows are a little too small.

    Parameters
    ----------
    y : array-like of shape (n,)
        Counts.
    mean : array-like of shape (n,)
        What a model expects of each row, exposure included.
    sample_weight : array-like of shape (n,), default=None
        A weight of 2 is the row twice, a weight of 0 the row left out.

    Returns
    -------
    float
        The variance of a row is then ``mean + alpha * mean ** 2``. At least 1e-6, which is poisson
        for all purposes.
    """
    counts = check_row_vector(y, "y", np.size(y))
    means = check_row_vector(mean, "mean", len(counts))
    get_family("negative_binomial").check_target(counts)
    if (means <= 0.0).any():
        row = int(np.flatnonzero(means <= 0.0)[0])
        raise ValueError(f"`mean` is {means[row]} in row {row}; means of counts are positive")
    weights = check_weights(sample_weight, len(counts))

    def surprise(log_alpha: float) -> float:
        size = np.exp(-log_alpha)
        likely = gammaln(counts + size) - gammaln(size) + xlogy(counts, means / (size + means))
        return -float(np.average(likely - size * np.log1p(means / size), weights=weights))

    bounds = np.log([LEAST_ALPHA, MOST_ALPHA])
    found = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x))
