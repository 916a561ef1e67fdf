"""Moves over columns by the sweep operator, against a new solve for every set of columns."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ruleglm.solvers.stepwise import Stepwise

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 9)


class Quadratic:
    """Loss of a least-squares problem with a ridge on all columns but the intercept.

    Seen from a point at which the loss has the first derivatives ``score``; also a column that is
    empty, and one that the others explain, if ``collinear``.
    """

    def __init__(self, seed, n, collinear=False):
        self.rng = rng = np.random.default_rng(seed)
        design = rng.normal(size=(40, n)) * (rng.random((40, n)) < 0.6)
        design[:, 0] = 1.0
        if collinear and n > 3:
            design[:, 1] = 0.0
            design[:, -1] = design[:, 0] - design[:, 2]
        self.gram = design.T @ design / 40
        y = design @ rng.normal(size=n) + rng.normal(size=40)
        self.coef = rng.normal(size=n)
        self.score = self.gram @ self.coef - design.T @ y / 40
        self.ridge = np.full(n, 0.0 if collinear else float(rng.choice([1e-3, 0.1])))
        self.ridge[0] = 0.0
        if collinear:
            self.ridge[1:] = 1e-9
        self.right = design.T @ y / 40
        self.member = rng.random(n) < 0.5
        self.member[0] = True
        if collinear:
            self.member[[1, -1]] = False

    def table(self):
        return Stepwise(self.gram, self.score, self.coef, self.ridge, self.member)

    def solve(self, member):
        """The coefficients that are best for a set of columns."""
        inside = np.flatnonzero(member)
        out = np.zeros(len(member))
        matrix = (self.gram + np.diag(self.ridge))[np.ix_(inside, inside)]
        out[inside] = np.linalg.solve(matrix, self.right[inside])
        return out

    def value(self, member):
        """The least loss plus ridge for a set of columns, but for a constant."""
        coef = self.solve(member)
        return 0.5 * coef @ (self.gram @ coef + self.ridge * coef) - self.right @ coef

    def change(self, member, *columns):
        """Twice the change of the least value as some columns change sides."""
        other = member.copy()
        other[list(columns)] ^= True
        return 2.0 * (self.value(other) - self.value(member))


def toggle_some(case, table, n_moves):
    """Toggle random columns but the intercept; return the members that should come of it."""
    member = case.member.copy()
    if len(member) > 1:
        for column in case.rng.integers(1, len(member), size=n_moves).tolist():
            table.toggle(column)
            member[column] ^= True
    return member


@given(seeds, sizes, st.integers(0, 30))
def test_coefficients_after_any_moves_are_the_ridge_solution(seed, n, n_moves):
    case = Quadratic(seed, n)
    table = case.table()
    member = toggle_some(case, table, n_moves)
    assert_array_equal(table.member, member)
    assert_allclose(table.coef, case.solve(member), rtol=1e-7, atol=1e-9)


@given(seeds, sizes)
def test_a_column_that_comes_and_goes_leaves_no_trace(seed, n):
    case = Quadratic(seed, n)
    table, fresh = case.table(), case.table()
    for column in range(1, n):
        table.toggle(column)
        table.toggle(column)
    assert_allclose(table.coef, fresh.coef, rtol=1e-8, atol=1e-10)
    assert_allclose(table.additions(), fresh.additions(), rtol=1e-8, atol=1e-10)
    assert_allclose(table.deletions(), fresh.deletions(), rtol=1e-8, atol=1e-10)


@given(seeds, sizes, st.integers(0, 12))
def test_additions_and_deletions_are_the_true_changes(seed, n, n_moves):
    case = Quadratic(seed, n)
    table = case.table()
    member = toggle_some(case, table, n_moves)
    additions, deletions = table.additions(), table.deletions()
    for column in range(n):
        if member[column]:
            assert additions[column] == 0.0
            change = case.change(member, column)
            assert_allclose(deletions[column], change, rtol=1e-6, atol=1e-9)
        else:
            assert deletions[column] == np.inf
            change = case.change(member, column)
            assert_allclose(additions[column], -change, rtol=1e-6, atol=1e-9)


@settings(max_examples=50)
@given(seeds, sizes, st.integers(0, 12))
@example(0, 5, 0)
def test_swaps_are_the_true_changes(seed, n, n_moves):
    case = Quadratic(seed, n)
    table = case.table()
    member = toggle_some(case, table, n_moves)
    gains, inside, outside = table.swaps()
    assert_array_equal(inside, np.flatnonzero(member))
    assert_array_equal(outside, np.flatnonzero(~member))
    assert gains.shape == (len(inside), len(outside))
    for i, leaver in enumerate(inside):
        for j, comer in enumerate(outside):
            change = case.change(member, leaver, comer)
            assert_allclose(gains[i, j], -change, rtol=1e-6, atol=1e-9)
    assert_array_equal(table.member, member)


@given(seeds, st.integers(4, 9))
def test_columns_that_others_explain_bring_nothing(seed, n):
    case = Quadratic(seed, n, collinear=True)
    case.member[2] = True
    table = case.table()
    additions = table.additions()
    assert additions[-1] == 0.0  # explained by the intercept and column 2
    assert_allclose(additions[1], 0.0, atol=1e-9)  # without a row
    gains, inside, outside = table.swaps()
    other = [k for k, column in enumerate(inside) if column not in (0, 2)]
    assert np.isfinite(gains).all()
    assert (gains[other][:, outside == n - 1] <= 0.0).all()


@given(seeds, sizes)
def test_the_point_of_the_derivatives_does_not_matter(seed, n):
    case = Quadratic(seed, n)
    moved = case.rng.normal(size=n)
    score = case.score + case.gram @ moved
    other = Stepwise(case.gram, score, case.coef + moved, case.ridge, case.member)
    table = case.table()
    assert_allclose(other.coef, table.coef, rtol=1e-8, atol=1e-10)
    assert_allclose(other.additions(), table.additions(), rtol=1e-7, atol=1e-10)


def test_the_inputs_are_left_alone():
    case = Quadratic(1, 6)
    inputs = case.gram, case.score, case.coef, case.ridge, case.member
    before = [value.copy() for value in inputs]
    table = Stepwise(*inputs)
    for column in range(1, 6):
        table.toggle(column)
    for value, old in zip(inputs, before, strict=True):
        assert_array_equal(value, old)


@given(seeds, st.integers(2, 9), st.sampled_from([0.01, 0.5]))
def test_doubt_is_a_ridge_on_the_added_column_alone(seed, n, doubt):
    case = Quadratic(seed, n)
    plain, doubted = case.table().additions(), case.table().additions(doubt)
    for column in np.flatnonzero(~case.member).tolist():
        before = case.value(case.member)
        member = case.member.copy()
        member[column] = True
        case.ridge[column] += doubt
        assert_allclose(doubted[column], 2.0 * (before - case.value(member)), atol=1e-10)
        case.ridge[column] -= doubt
        assert doubted[column] <= plain[column] + 1e-12
