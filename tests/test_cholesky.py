"""Systems with positive matrices, against NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgError

from ruleglm.solvers.cholesky import factor_nearly, factor_positive, solve_factored


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("n_right", [None, 1, 3])
def test_systems_are_solved_and_arguments_stay(n, n_right):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n + 2))
    matrix = root @ root.T
    right = rng.normal(size=n if n_right is None else (n, n_right))
    before = matrix.copy(), right.copy()
    factor = factor_positive(matrix)
    assert_allclose(np.diagonal(factor), np.diagonal(np.linalg.cholesky(matrix)))
    assert_allclose(solve_factored(factor, right), np.linalg.solve(matrix, right))
    assert (matrix == before[0]).all()
    assert (right == before[1]).all()


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), -np.eye(3), np.full((2, 2), np.nan)])
def test_matrices_that_are_not_positive_are_refused(matrix):
    with pytest.raises(LinAlgError):
        factor_positive(matrix)


def test_what_rounding_took_is_given_back():
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-8]])
    with pytest.raises(LinAlgError):
        factor_positive(matrix)
    factor = np.tril(factor_nearly(matrix))
    assert_allclose(factor @ factor.T, matrix, atol=3e-6)
    with pytest.raises(LinAlgError):
        factor_nearly(-np.eye(2))


def test_right_sides_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="no finite solution"):
        solve_factored(factor_positive(np.eye(2)), np.array([1.0, np.nan]))
