"""Refits of one model at several ridges: what held-out rows choose from."""

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.families import Binomial
from ruleglm.solvers.cholesky import solve_positive
from ruleglm.solvers.master import refit

SHARPER = 1e-5
"""Share of the tolerance for two classes: a kernel and steps one by one have to meet.

With more of it they would end in different places, and rows in one place and in several give
different models.
"""


def refit_along(
    engine: Engine, coef: FloatArray, ridges: FloatArray, tol: float, *, loose: bool
) -> tuple[FloatArray, FloatArray]:
    """Minimise mean loss plus half of each ridge times squares, each from the one before.

    Parameters
    ----------
    engine : Engine, standing at ``coef``
    coef : (n_columns,) float64, start
    ridges : (n_ridges, n_columns) float64, the intercept's 0
    tol, loose : see `refit`

    Returns
    -------
    coefs : (n_ridges, n_columns) float64
    losses : (n_ridges,) float64, mean losses
    """
    if not loose and isinstance(engine.family, Binomial):
        tol *= SHARPER
    if not engine.column_signs().any():
        if engine.exact_gram:
            return solve_along(engine, coef, ridges)
        found = engine.refit(coef, ridges, tol, loose)
        if found is not None:
            return found
    coefs, losses = np.empty(ridges.shape), np.empty(len(ridges))
    for k, ridge in enumerate(ridges):
        coefs[k] = coef = refit(engine, coef, ridge, tol, loose=loose).coef
        losses[k] = engine.losses((0.0,))[0]
    return coefs, losses


def solve_along(
    engine: Engine, coef: FloatArray, ridges: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Do what `refit_along` does where the Gram matrix says all about the loss."""
    gram, score, loss = engine.gram(), engine.score(), float(engine.losses((0.0,))[0])
    coefs = np.empty(ridges.shape)
    for k, ridge in enumerate(ridges):
        matrix = gram.copy()
        matrix.flat[:: len(coef) + 1] += ridge
        coefs[k] = coef - solve_positive(matrix, score + ridge * coef, strict=not ridge.any())
    steps = coefs - coef
    losses = loss + np.einsum("kj,kj->k", steps, score + 0.5 * steps @ gram)
    return coefs, losses
