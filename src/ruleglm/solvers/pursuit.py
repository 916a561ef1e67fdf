"""Pursuit: the loop that pays for complexity directly (design, section 6).

Each round adds the rules with the largest gain per unit of complexity and refits all coefficients;
now and then every rule is tried against its neighbours and swapped where that helps, and what no
longer pays is deleted. Nothing depends on where the path is to end, so that a shorter path is the
beginning of a longer one.
"""

import warnings
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ruleglm.binning import BinRule
from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.gains import GainPricer
from ruleglm.pricing.problem import Limits
from ruleglm.solvers.standing import PursuitModel
from ruleglm.solvers.walk import Walk

LOOKAHEAD = 1.05, 1.6
"""How far the path goes on beyond a complexity before its best model is final.

As a factor, and by how much at least: a rule of three conditions. Swaps may bring a larger model
below that complexity; one that they shorten by more than this is no model of the path, so that
where a path ends changes nothing before.
"""

ROUNDING = 1e-9
"""Of complexities, which are sums of fifths."""

CIRCLES = 10
"""Rounds one after the other that lead to models seen before, after which the path ends."""

LEAST_GAIN = 1e-10
"""Gain per unit of complexity, relative to the null loss, at which there is nothing left."""


Start: TypeAlias = tuple[list[BinRule], list[int], FloatArray]
"""Rules, degrees and coefficients of a model to start from."""


def run_pursuit(
    engine: Engine,
    pricer: GainPricer,
    limits: Limits,
    *,
    max_complexity: float,
    price: float = 0.0,
    ridge: float,
    mass: float,
    keep_on_interrupt: bool = True,
    forced: Sequence[int] = (),
    start: FloatArray | None = None,
) -> list[PursuitModel]:
    """Follow the path from the empty model to the largest within the limits.

    Parameters
    ----------
    engine : Engine, without rules but for those forced and those of a model to start from
    pricer : GainPricer
    limits : Limits, at which the path so far is returned
    max_complexity : float, of the largest model
    price : float, the least decrease of the mean loss for a unit of complexity
    ridge : float, as a share of the curvature of the empty model, see `spread_ridge`
    mass : float, the number of rows, or the sum of their weights
    keep_on_interrupt : bool, whether a keyboard interrupt too ends the path and no more
    forced : positions of coefficients that are always in the model; of rules the engine's first
    start : (1 + n_columns,) float64, coefficients of the model to start from, or None
    """
    rules, degrees = list(engine.rules), list(engine.degrees)
    engine.keep_rules(range(sum(k > engine.n_linear for k in forced)))
    return follow(
        Walk(engine, pricer, ridge, mass, forced),
        limits,
        max_complexity=max_complexity,
        price=price,
        keep_on_interrupt=keep_on_interrupt,
        start=None if start is None else (rules, degrees, start),
    )


def follow(
    walk: Walk,
    limits: Limits,
    *,
    max_complexity: float,
    price: float,
    keep_on_interrupt: bool,
    start: Start | None = None,
) -> list[PursuitModel]:
    """Follow a walk that stands at the empty model; see `run_pursuit`."""
    seen = [walk.record(0.0)]
    reached = 0.0
    known: set[tuple[frozenset[BinRule], tuple[int, ...]]] = set()
    n_again = 0
    if start is not None:
        walk.jump(*start)
        if walk.complexity() <= max_complexity:
            reached = walk.complexity()
            seen.append(walk.record((seen[0].loss - walk.loss) / max(reached, 1.0)))
        else:
            walk.restore(seen[0])
    max_complexity += ROUNDING
    most = horizon(max_complexity)
    try:
        while reached < most and not limits.over():
            gain = walk.grow(limits, 2.0 * max(price, LEAST_GAIN * seen[0].loss), most)
            for model in walk.passed:
                reached = max(reached, model.complexity)
                if reached <= horizon(model.complexity):
                    seen.append(model)
                limits.report(model.n_terms, model.complexity, model.loss, np.nan)
            if gain is None:
                break
            reached = max(reached, walk.grown)
            if reached > most:
                break
            model = walk.record(0.5 * gain)
            if reached <= horizon(model.complexity):
                seen.append(model)
            limits.report(model.n_terms, model.complexity, model.loss, np.nan)
            where = frozenset(model.rules), model.linear
            n_again = n_again + 1 if where in known else 0
            known.add(where)
            if n_again == CIRCLES:
                break
    except KeyboardInterrupt:
        if not keep_on_interrupt:
            raise
        warnings.warn(
            "The fit was interrupted; this is the best model so far",
            ConvergenceWarning,
            stacklevel=2,
        )
    return [model for model in efficient(seen) if model.complexity <= max_complexity]


def horizon(complexity: float) -> float:
    """Return the complexity up to which a walk may come back to a smaller one.

    It is 0 where no term fits in.
    """
    factor, least = LOOKAHEAD
    return max(factor * complexity, complexity + least) if complexity >= 1.0 else 0.0


def efficient(models: Sequence[PursuitModel]) -> list[PursuitModel]:
    """Return the models that no simpler one equals, simplest first.

    A simpler one does, if its loss is not larger; of one with a smaller ridge that says nothing.
    """
    kept: list[PursuitModel] = []
    for model in sorted(models, key=lambda one: (one.complexity, one.loss)):
        if kept and model.complexity <= kept[-1].complexity:
            continue
        if not any(one.loss <= model.loss and one.ridge >= model.ridge for one in kept):
            kept.append(model)
    return kept
