"""The restricted problem: loss plus weighted l1 norm over the columns that the engine holds.

Proximal Newton: a quadratic model of the loss from the Gram matrix, minimised by coordinate
descent with the intercept eliminated, then a line search. The rows are touched only for sums.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ruleglm import kernels
from ruleglm.dtypes import BoolArray, FloatArray, IntArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Limits, Penalty
from ruleglm.solvers.cholesky import solve_positive
from ruleglm.solvers.signed import solve_signed

NO_LIMITS = Limits()
MAX_NEWTON = 100
SWEEPS_TO_JUMP, MAX_JUMPS = 256, 8
"""Sweeps of coordinate descent before all nonzero coefficients jump, and how often they may."""

LONGEST_STEP = 1e6
"""Of an intercept, where the loss has no curvature left."""

ROUNDING = 1e-12
"""Share of a column's curvature that the free columns leave it if it is one of their sums."""

JITTER = 1e-9
"""Relative addition to the diagonal of a Gram matrix, whose columns may be collinear."""

EXACT = 1e-18
"""Share of the objective that is rounding.

Where the model is the loss, the first step leaves no more, or as much as single precision left of
a Gram matrix, which a second one takes: models must not depend on how rows are weighted.
"""

ARMIJO = 1e-4
SLOW = 0.2
HALVINGS = tuple(0.5**k for k in range(1, 25))
TOO_FAR = 0.5
"""Share of the objective's fall at the start of a step that it may rise by at the end."""

REFIT_RIDGE, LEAST_RIDGE = 1e-4, 1e-6
"""Ridges on the mean loss in refits: coefficients stay finite when rules separate the classes."""


@dataclass(frozen=True)
class MasterState:
    """A point of the restricted problem.

    Attributes
    ----------
    coef : (1 + n_columns,) float64, intercept, linear terms, rules
    objective : float, mean loss plus penalty
    n_iter : int, Newton steps taken
    """

    coef: FloatArray
    objective: float
    n_iter: int


def solve_master(
    engine: Engine,
    penalties: FloatArray,
    coef: FloatArray,
    tol: float,
    limits: Limits = NO_LIMITS,
    *,
    balance: bool = True,
) -> MasterState:
    """Minimise mean loss plus weighted l1 norm over the engine's columns, from ``coef``.

    Coefficients have the signs that the engine gives.

    Parameters
    ----------
    engine : Engine, standing at ``coef``; left standing at the solution
    penalties : (n_columns,) float64, of the linear terms and rules
    coef : (1 + n_columns,) float64, start
    tol : float, stop when a Newton step promises less than this decrease of the objective
    limits : Limits, at which to stop after the step at hand
    balance : bool, whether the gradient is centered in the end
    """
    signs = engine.column_signs()[1:]

    def model(gram: FloatArray, score: FloatArray, coef: FloatArray) -> FloatArray:
        return minimise_model(gram, score, penalties, signs, coef, 0.01 * tol)

    def price(coef: FloatArray) -> float:
        return float(penalties @ np.abs(coef[1:]))

    unpriced = np.flatnonzero((penalties == 0.0) & (signs == 0))
    free = np.concatenate([[0], 1 + unpriced]) if balance else None
    return minimise(engine, coef, tol, model, price, limits, balance=free)


def refit(
    engine: Engine,
    coef: FloatArray,
    ridge: float | FloatArray = REFIT_RIDGE,
    tol: float = 1e-10,
    members: BoolArray | None = None,
    *,
    loose: bool = False,
) -> MasterState:
    """Minimise mean loss plus ``ridge / 2`` times the squares over the engine's columns.

    Even a small ridge keeps coefficients finite where rules separate the classes, and single where
    columns are collinear. Where the engine gives signs, coefficients that would turn are 0.

    Parameters
    ----------
    engine : Engine, standing at ``coef``; left standing at the solution
    coef : (1 + n_columns,) float64, start
    ridge : float or (1 + n_columns,) float64, that of each column; the intercept's does not count
    tol : float, see solve_master
    members : (1 + n_columns,) bool, the columns whose coefficients may move, None for all
    loose : bool, whether a second or later step that promises less than ``tol`` is left out, not
        the last one that is taken
    """
    ridges = np.zeros(len(coef)) + ridge
    ridges[0] = 0.0
    inside = np.arange(len(coef)) if members is None else np.flatnonzero(members)
    signs = engine.column_signs()[inside]
    block, own = np.ix_(inside, inside), ridges[inside]

    def model(gram: FloatArray, score: FloatArray, coef: FloatArray) -> FloatArray:
        matrix = gram[block]
        matrix.flat[:: len(inside) + 1] += own
        target = coef.copy()
        slope = (score + ridges * coef)[inside]
        matrix[0, 0] = max(matrix[0, 0], abs(slope[0]) / LONGEST_STEP, 1e-300)
        if signs.any():
            target[inside] = solve_signed(matrix, slope, coef[inside], signs)
        else:
            target[inside] -= solve_positive(matrix, slope, strict=not ridges.any())
        return target

    def price(coef: FloatArray) -> float:
        return 0.5 * float(ridges @ coef**2)

    def slope(coef: FloatArray) -> FloatArray:
        return ridges * coef

    lines = None if members is None else members[1 : 1 + engine.n_linear]
    return minimise(engine, coef, tol, model, price, slope=slope, lines=lines, loose=loose)


def debias_ridge(penalty: Penalty) -> float:
    """Return the ridge of a de-biasing refit.

    It is a share of what a condition costs as a rule: a hundredth of ``lambda_0`` where
    ``lambda_1`` is a fifth of it.
    """
    return min(REFIT_RIDGE, max(LEAST_RIDGE, penalty.of(1) / 120.0))


def minimise(
    engine: Engine,
    coef: FloatArray,
    tol: float,
    model: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    price: Callable[[FloatArray], float],
    limits: Limits = NO_LIMITS,
    *,
    slope: Callable[[FloatArray], FloatArray] | None = None,
    balance: IntArray | None = None,
    lines: BoolArray | None = None,
    loose: bool = False,
) -> MasterState:
    """Newton's method on mean loss plus ``price``; ``model`` minimises the quadratic model.

    The second derivatives are kept for as long as each step leaves less than ``SLOW`` of the last
    one's promise, and none promises more than the whole objective, because one Gram matrix costs as
    much as many steps. With ``slope``, the derivative of the price, a step that promises less than
    all before it is first judged by derivatives alone; if in the end the objective has risen, all
    begins anew without. ``loose`` leaves out a last step, see `refit`. At last the gradient is made
    orthogonal to the columns of ``balance``. Linear terms that are not among ``lines`` do not move.
    """
    start, coef = coef, coef.copy()
    before = float(engine.losses((0.0,))[0]) + price(coef)
    score = engine.score(lines)
    last, leapt = -np.inf, -before
    spare = min(tol, EXACT * before) if engine.family.constant_hessian else tol
    for iteration in range(1, MAX_NEWTON + 1):
        target = model(engine.gram(), score, coef)
        promise = float(score @ (target - coef)) + price(target) - price(coef)
        final = promise >= -tol
        if loose and iteration > 1 and promise >= -spare:
            break
        if not final and promise < max(SLOW * last, -before) and engine.refresh():
            last = -np.inf
            continue
        ahead = None
        if slope is not None and promise > leapt:
            ahead, leapt = leap(engine, coef, target, score, slope, lines), promise
        if ahead is not None and slope is not None:
            moved = target != coef
            left = np.abs(ahead + slope(target))[moved].max(initial=0.0)
            had = np.abs(score + slope(coef))[moved].max(initial=0.0)
            coef, score = target, ahead
            if final or (loose and left <= np.sqrt(EXACT) * had):
                break
        elif final and take_last(engine, coef, target, price, tol):
            coef = target
            break
        else:
            step = search_line(engine, coef, target, price, promise)
            if step == 0.0 and not engine.refresh():
                break
            coef = target if step == 1.0 else coef + step * (target - coef)
            if step == 1.0 and engine.family.constant_hessian:
                break  # the model is the loss
            score = engine.score(lines)
        last = promise
        if limits.over():
            break
    if balance is not None:
        center(engine, coef, balance)
    objective = float(engine.losses((0.0,))[0]) + price(coef)
    if slope is not None and not objective <= before + tol:
        engine.set_coefficients(start)
        given = engine, start, tol, model, price, limits
        return minimise(*given, balance=balance, lines=lines, loose=loose)
    return MasterState(coef, objective, iteration)


def minimise_model(
    gram: FloatArray,
    score: FloatArray,
    penalties: FloatArray,
    signs: IntArray,
    coef: FloatArray,
    tol: float,
) -> FloatArray:
    """Return the coefficients that minimise the quadratic model plus the weighted l1 norm.

    Where it is so flat that there is no number for them, ``coef`` is as good as any.
    """
    free = np.concatenate([[True], (penalties == 0.0) & (signs == 0)])
    inverse = invert(gram[np.ix_(free, free)])
    cross = gram[free][:, ~free]
    explained = inverse @ cross
    inside = gram[1:, 1:] if len(inverse) == 1 else gram[~free][:, ~free]
    reduced = cross.T @ -explained
    reduced += inside
    settled = np.diag(reduced) <= ROUNDING * np.diag(inside)
    if settled.any():
        reduced[settled] = reduced[:, settled] = 0.0
    gradient = score[~free] - explained.T @ score[free]
    target = coef.copy()
    inner = coef[~free]
    if len(inner):
        rest = ~free[1:]
        minimise_reduced(reduced, gradient, penalties[rest], signs[rest], tol, inner)
    with np.errstate(over="ignore", invalid="ignore"):
        target[free] -= inverse @ (score[free] + cross @ (inner - coef[~free]))
    target[~free] = inner
    return target if np.isfinite(target).all() else coef.copy()


def minimise_reduced(
    gram: FloatArray,
    gradient: FloatArray,
    penalties: FloatArray,
    signs: IntArray,
    tol: float,
    coef: FloatArray,
) -> None:
    """Minimise a quadratic model plus the weighted l1 norm in place, as `kernels.descend` does.

    Coordinate descent finds which coefficients are not 0, but is slow to find where these lie if
    their columns are alike; every now and then they all jump to where the model wants them.
    """
    for _ in range(MAX_JUMPS):
        done = kernels.descend(gram, gradient, penalties, signs, tol, SWEEPS_TO_JUMP, coef)
        if done < SWEEPS_TO_JUMP:
            return
        jump(gram, gradient, penalties, coef)


def jump(gram: FloatArray, gradient: FloatArray, penalties: FloatArray, coef: FloatArray) -> None:
    """Move the nonzero coefficients towards their minimum in place, as far as signs allow.

    Those that would change their sign end at 0, or if that is no better, all stop when the first of
    them is there. ``gradient`` is overwritten too. Nothing moves where neither lowers the model.
    """
    members = np.flatnonzero(coef)
    start = coef[members]
    matrix = gram[np.ix_(members, members)]
    matrix[np.diag_indices(len(members))] *= 1.0 + JITTER
    slope = gradient[members] + penalties[members] * np.sign(start)
    direction = -solve_positive(matrix, slope)
    crossing = np.sign(start) * direction < 0.0
    steps = np.where(crossing, -start / np.where(crossing, direction, 1.0), np.inf)
    first = min(1.0, float(steps.min(initial=1.0)))
    best, change = 0.0, None
    for step in (1.0, first) if first < 1.0 else (1.0,):
        with np.errstate(over="ignore", invalid="ignore"):  # no step to take, then
            ends = np.where(steps <= step, 0.0, start + step * direction)
            move = ends - start
            value = float(move @ (slope + 0.5 * (move @ matrix)))
        if value < best:
            best, change = value, ends
    if change is None:
        return
    gradient += (change - start) @ gram[members]
    coef[members] = change


def invert(matrix: FloatArray) -> FloatArray:
    """Invert the second derivatives of the columns without a penalty, collinear ones too."""
    if len(matrix) == 1:
        return 1.0 / np.maximum(matrix, 1e-300)
    unit = max(float(np.abs(matrix).max()), 1e-300)
    with np.errstate(over="ignore"):  # the step that it gives is not taken, then
        inverse: FloatArray = linalg.pinvh(matrix / unit) / unit
    return inverse


def leap(
    engine: Engine,
    coef: FloatArray,
    target: FloatArray,
    score: FloatArray,
    slope: Callable[[FloatArray], FloatArray],
    lines: BoolArray | None,
) -> FloatArray | None:
    """Move the engine to ``target`` and return its score, or None and move it back if that is far.

    The objective is convex: where it does not rise at the end, it has not risen on the way; and it
    has risen by what it rises at the end at most.
    """
    delta = target - coef
    engine.propose(delta)
    engine.accept(1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        ahead = engine.score(lines)
        rise = float((ahead + slope(target)) @ delta)
    if rise <= TOO_FAR * -float((score + slope(coef)) @ delta):
        return ahead
    engine.set_coefficients(coef)
    return None


def take_last(
    engine: Engine,
    coef: FloatArray,
    target: FloatArray,
    price: Callable[[FloatArray], float],
    tol: float,
) -> bool:
    """Move the engine to ``target`` unless the objective rises by more than ``tol``.

    Nothing else is asked of the last step: derivatives say little where the loss is flat.
    """
    loss = float(engine.losses((0.0,))[0])
    engine.propose(target - coef)
    reached = float(engine.losses((1.0,))[0])
    if reached + price(target) > loss + price(coef) + tol:
        return False
    engine.accept(1.0)
    return True


def search_line(
    engine: Engine,
    coef: FloatArray,
    target: FloatArray,
    price: Callable[[FloatArray], float],
    promise: float,
) -> float:
    """Move the engine towards ``target`` as far as the objective falls; return the step."""
    objective = float(engine.losses((0.0,))[0]) + price(coef)
    delta = target - coef
    engine.propose(delta)
    for steps in ((1.0,), HALVINGS[:2], HALVINGS[2:]):
        for step, loss in zip(steps, engine.losses(steps), strict=True):
            new = loss + price(coef + step * delta)
            if new <= objective + ARMIJO * step * promise:
                engine.accept(step)
                return step
    return 0.0


def center(engine: Engine, coef: FloatArray, free: Sequence[int] | IntArray = (0,)) -> None:
    """Move the free coefficients until their gradient is nothing, as the certificate needs."""
    if len(free) > 1:
        center_all(engine, coef, free)
        return
    unit = np.zeros(len(coef))
    unit[0] = 1.0
    for _ in range(5):
        positive, negative = engine.gradient_masses()
        if abs(positive - negative) <= 1e-9 * (positive + negative):
            return
        change = (negative - positive) / max(engine.hessian_sum(), 1e-300)
        engine.propose(change * unit)
        engine.accept(1.0)
        coef[0] += change


def center_all(engine: Engine, coef: FloatArray, free: Sequence[int] | IntArray) -> None:
    """Take Newton steps in the free coefficients while they bring the gradient nearer to zero."""
    mass = sum(engine.gradient_masses())
    free = np.asarray(free)
    size = float(np.abs(engine.score()[free]).max())
    for _ in range(5):
        if size <= 1e-9 * mass:
            return
        step = np.zeros(len(coef))
        step[free] = -invert(engine.gram()[np.ix_(free, free)]) @ engine.score()[free]
        engine.propose(step)
        engine.accept(1.0)
        left = float(np.abs(engine.score()[free]).max())
        if left >= size:
            engine.accept(-1.0)
            return
        coef += step
        size = left
