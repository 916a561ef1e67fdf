"""Where a pursuit stands: columns, coefficients, the ridge they have, the models it gives.

The engine has the rows; moves are made on the Gram matrix of its columns (`Stepwise`), and the
model that they lead to is then fitted to the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import BoolArray, FloatArray
from ruleglm.engines.base import Engine
from ruleglm.ensemble import DEGREE_WEIGHT
from ruleglm.pricing.gains import GainPricer
from ruleglm.pricing.worth import Candidate, rule_costs
from ruleglm.solvers.columns import null_coefficients, spread_ridge
from ruleglm.solvers.master import refit
from ruleglm.solvers.stepwise import Stepwise

RIDGE_GROWTH = 5.0, 60.0
"""The ridge grows with the complexity plus the first, and is what is given at the second."""

SURE = 0.2
"""Share of the curvature of the empty model below which the ridge falls in proportion to it."""

LEAST_RIDGE = 5.0
"""In rows; with less, a model that tells the classes apart is sure at once, and at its end."""

RARE_RIDGE = 3.0
"""In rows as curved as the average one is: what every rule has, however few rows it tells apart.

With less, a row far off the others is a rule of its own.
"""

ACCURACY = 0.02
"""Share of a round's gain to which coefficients are fitted."""

N_BALANCE = 5
"""The most steps that the intercept takes by itself."""

HUGE = 1e100
"""Loss without a term that is about to go, at which its derivatives are of no use."""


@dataclass(frozen=True, eq=False)
class PursuitModel:
    """A model of the path.

    Attributes
    ----------
    rules, degrees : its rules
    linear : positions of its linear terms
    coef : (1 + n_linear + n_rules,) float64, at the ridge of the search
    loss : float, mean loss
    ridge : float, on the mean loss; `spread_ridge` gives that of each column
    price : float, decrease of the mean loss per unit of complexity of the step that made it
    """

    rules: tuple[BinRule, ...]
    degrees: tuple[int, ...]
    linear: tuple[int, ...]
    coef: FloatArray
    loss: float
    ridge: float
    price: float

    @property
    def n_terms(self) -> int:
        """Rules and lines."""
        return len(self.rules) + len(self.linear)

    @cached_property
    def complexity(self) -> float:
        """1 for each term, and 0.2 for each condition of a rule."""
        return self.n_terms + DEGREE_WEIGHT * sum(self.degrees)


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What follows from an engine's columns alone.

    Attributes
    ----------
    degrees : list, the engine's own, by which it is known whether the columns are the same
    costs : (n_columns,) float64, what each adds to the complexity
    spreads : (n_columns,) float64, the share of a ridge that each has
    """

    degrees: list[int]
    costs: FloatArray
    spreads: FloatArray

    @classmethod
    def of(cls, engine: Engine) -> "ColumnFacts":
        """Return the facts of the columns that an engine holds."""
        fixed = [0.0] + [1.0] * engine.n_linear
        costs = np.concatenate([fixed, rule_costs(engine.degrees)])
        return cls(engine.degrees, costs, spread_ridge(engine, 1.0, power=1.0))


class Standing:
    """Where a pursuit stands: the engine's columns, their coefficients, the linear terms in use."""

    n_scores = 1
    """Linear predictors of the model."""

    _facts: ColumnFacts | None = None

    def __init__(
        self,
        engine: Engine,
        pricer: GainPricer,
        ridge: float,
        mass: float,
        forced: Sequence[int] = (),
    ) -> None:
        self.engine = engine
        self.pricer = pricer
        self.ridge = ridge
        self.mass = mass
        self.forced = list(forced)
        self.lines = np.zeros(engine.n_linear, np.bool_)
        self.lines[[k - 1 for k in forced if k <= engine.n_linear]] = True
        self.coef = null_coefficients(engine)
        self.loss = engine.set_coefficients(self.coef)
        pricer.prepare(engine)
        self._first_curvature = self.curvature()
        self._ridge_share = self._left = 1.0
        self._done: dict[str, float] = {}
        if self.forced:
            self.refit(ACCURACY**2 * self.loss)

    def due(self, work: str, factor: float) -> bool:
        """Tell whether the complexity has grown by ``factor`` since ``work`` was last done."""
        complexity = self.complexity()
        if complexity < factor * self._done.get(work, 0.0):
            return False
        self._done[work] = complexity
        return True

    def complexity(self) -> float:
        """Return the complexity of the model."""
        return float(self.costs()[self.members()].sum())

    def n_terms(self) -> int:
        """Return the number of rules and lines of the model."""
        return int(np.count_nonzero(self.members())) - 1

    def members(self) -> BoolArray:
        """Return which of the engine's columns are in the model."""
        rules = np.ones(len(self.coef) - 1 - len(self.lines), np.bool_)
        return np.concatenate([[True], self.lines, rules])

    def costs(self) -> FloatArray:
        """Return what each of the engine's columns adds to the complexity; not to be changed."""
        return self._known_columns().costs

    def _known_columns(self) -> "ColumnFacts":
        """Return what is known of the engine's columns; a list of them only ever grows."""
        facts, degrees = self._facts, self.engine.degrees
        n_columns = 1 + len(self.lines) + len(degrees)
        if facts is None or facts.degrees is not degrees or len(facts.costs) < n_columns:
            facts = self._facts = ColumnFacts.of(self.engine)
        return facts

    def n_forced_rules(self) -> int:
        """Return how many rules, the first ones, are always in the model."""
        return sum(k > len(self.lines) for k in self.forced)

    def noise(self) -> float:
        """Return the gain that a rule without effect is expected to have."""
        return self.engine.dispersion() / self.mass

    def curvature(self) -> float:
        """Return the sum of the second derivatives of the loss."""
        return self.engine.hessian_sum()

    def curvature_left(self) -> float:
        """Return which share of the curvature of the empty model is left.

        As a model of classes becomes sure, its second derivatives vanish, and a ridge that stays
        would hide from the search what is still wrong.
        """
        return self.curvature() / max(self._first_curvature, 1e-300)

    def ridge_share(self) -> float:
        """Return which share of the ridge the model should have.

        Little at first, since there is nothing yet that others could share, and more as rules come
        in. And the less, the less noise or curvature is left, by their roots; where the classes are
        nearly told apart, what a ridge leaves unexplained would call for copies of the same rules.
        """
        first, whole = RIDGE_GROWTH
        growth = (first + self.complexity()) / whole
        noise = np.sqrt(min(1.0, self.mass * self.noise()))
        left = self._left
        return float(growth * noise * min(np.sqrt(left), left / np.sqrt(SURE)))

    def take_stock(self) -> None:
        """Choose the ridge for where the model stands."""
        self._left = min(1.0, self.curvature_left())
        self._ridge_share = self.ridge_share()

    # --- between the rows and the algebra

    def offer(self, candidates: list[Candidate]) -> Stepwise:
        """Put candidates beside the model's columns."""
        members = self.members() & ~self.turned()
        n_new = self.add([one.rule for one in candidates], [one.degree for one in candidates])
        members = np.concatenate([members, np.zeros(n_new, np.bool_)])
        self.coef = np.concatenate([self.coef, np.zeros((n_new, *self.coef.shape[1:]))])
        return self.tabulate(members)

    def settle(self, table: Stepwise, tol: float) -> None:
        """Keep the columns of the model, and fit their coefficients."""
        first = 1 + len(self.lines)
        member = table.member.copy()
        member[self.forced] = True
        self.lines = member[1:first].copy()
        kept = np.flatnonzero(member[first:])
        every = np.concatenate([np.arange(first), first + kept])
        # where the quadratic model is the loss, its coefficients are the fit
        fitted = self.engine.exact_gram and not self.engine.column_signs().any()
        start = table.coef if fitted else self.coef.copy()
        start[~member] = 0.0
        if (start != self.coef).any():
            self.move(start)
        self.coef = self.coef[every]
        self.keep(kept.tolist())
        if not fitted:
            self.refit(tol)
            if tol > ACCURACY * self.loss:  # there is less left than the tolerance was meant for
                self.refit(ACCURACY * self.loss)
            self.drop_turned()
        self.balance(tol)

    def balance(self, tol: float) -> None:
        """Fit the intercept until what it leaves does not look like the gain of a rule.

        Gains of rules take it for fitted; of many rows, the ridge of the search hides little.
        """
        engine, most = self.engine, np.sqrt(tol * self.pricer.ridge)
        unit = np.zeros(len(self.coef))
        unit[0] = 1.0
        for _ in range(N_BALANCE):
            positive, negative = engine.gradient_masses()
            slope = positive - negative
            step = -slope / max(engine.hessian_sum(), 1e-300)
            if abs(slope) <= most or abs(step) > 1.0:  # that far, there is no curvature to go by
                break
            engine.propose(step * unit)
            engine.accept(1.0)
            self.coef = self.coef + step * unit
        self.loss = float(engine.losses((0.0,))[0])

    def breaks_signs(self, coef: FloatArray) -> bool:
        """Tell whether a coefficient does not have the sign that it has to have."""
        signs = self.engine.column_signs()
        return bool(signs.any()) and bool((signs * coef < 0.0).any())

    def turned(self) -> BoolArray:
        """Return which terms are at 0 because their coefficients would have the wrong sign."""
        signs = self.engine.column_signs()
        if not signs.any():
            return np.zeros(len(signs), np.bool_)
        at_zero: BoolArray = (self.coef == 0.0) & (signs != 0)
        return self.members() & at_zero

    def drop_turned(self) -> None:
        """Take out the terms at 0 that need not be in the model."""
        turned = self.turned()
        turned[self.forced] = False
        if turned.any():
            first = 1 + len(self.lines)
            self.lines &= ~turned[1:first]
            self.keep(np.flatnonzero(~turned[first:]).tolist())
            self.coef = np.concatenate([self.coef[:first], self.coef[first:][~turned[first:]]])

    def objective(self, coef: FloatArray | None = None, loss: float | None = None) -> float:
        """Return the mean loss plus the ridge, here or at other coefficients that have a loss."""
        coef, loss = (self.coef if coef is None else coef), (self.loss if loss is None else loss)
        return loss + 0.5 * float((self._ridges() @ coef**2).sum())

    def _whole_ridge(self) -> float:
        share = self._ridge_share * self._first_curvature / self.n_scores
        return max(self.ridge * share, LEAST_RIDGE / self.mass)

    def least_ridge(self) -> float:
        """Return the ridge that every rule and line has at least."""
        return RARE_RIDGE / self.mass * self._first_curvature / self.n_scores * self._left

    def _ridges(self) -> FloatArray:
        ridges = self._whole_ridge() * self._known_columns().spreads
        ridges[1:] = np.maximum(ridges[1:], self.least_ridge())
        return ridges

    def record(self, price: float) -> PursuitModel:
        """Return the model as it stands."""
        engine = self.engine
        return PursuitModel(
            tuple(engine.rules),
            tuple(engine.degrees),
            tuple(np.flatnonzero(self.lines).tolist()),
            self.coef[self.members()],
            self.loss,
            self._whole_ridge(),
            price,
        )

    def pass_by(self, table: Stepwise, price: float) -> PursuitModel:
        """Return a model on the way to the next, with the coefficients of the quadratic model."""
        engine, first = self.engine, 1 + len(self.lines)
        coef = table.coef
        kept = np.flatnonzero(table.member[first:]).tolist()
        return PursuitModel(
            tuple(engine.rules[k] for k in kept),
            tuple(engine.degrees[k] for k in kept),
            tuple(np.flatnonzero(table.member[1:first]).tolist()),
            coef[table.member],
            self.loss_at(coef),
            self._whole_ridge(),
            price,
        )

    def jump(self, rules: list[BinRule], degrees: list[int], coef: FloatArray) -> None:
        """Go to a model of these rules and of the lines that have a coefficient, and fit it."""
        self.keep([])
        self.add(rules, degrees)
        slopes = coef[1 : 1 + len(self.lines)]
        self.lines = self.lines | np.any(slopes != 0.0, axis=tuple(range(1, slopes.ndim)))
        self.coef = coef
        self.stand()
        self.take_stock()
        self.refit(ACCURACY**2 * self.loss)

    def restore(self, model: PursuitModel) -> None:
        """Go back to a model."""
        self.keep([])
        self.add(model.rules, model.degrees)
        self.lines = np.zeros(len(self.lines), np.bool_)
        self.lines[list(model.linear)] = True
        n_columns = 1 + len(self.lines) + len(model.rules)
        self.coef = np.zeros((n_columns, *self.coef.shape[1:]))
        self.coef[self.members()] = model.coef
        self.stand()

    # --- what is asked of the engine

    def add(self, rules: Sequence[BinRule], degrees: Sequence[int]) -> int:
        """Add columns; return their number."""
        return self.engine.add_rules(rules, degrees)

    def keep(self, positions: Sequence[int]) -> None:
        """Drop all rules but those at ``positions``."""
        self.engine.keep_rules(positions)

    def tabulate(self, members: BoolArray) -> Stepwise:
        """Return the quadratic model over all columns."""
        engine = self.engine
        signs = engine.column_signs()
        return Stepwise(engine.gram(), engine.score(), self.coef, self._ridges(), members, signs)

    def move(self, coef: FloatArray) -> None:
        """Go to other coefficients, or to those of the empty model where the loss is huge."""
        self.engine.propose(coef - self.coef)
        self.engine.accept(1.0)
        self.coef = coef
        if not self.engine.losses((0.0,))[0] < HUGE:
            self.coef = null_coefficients(self.engine)
            self.stand()

    def loss_at(self, coef: FloatArray) -> float:
        """Return the loss that other coefficients have."""
        if self.engine.exact_gram:
            step, engine = coef - self.coef, self.engine
            return float(self.loss + step @ (engine.score() + 0.5 * (engine.gram() @ step)))
        self.engine.propose(coef - self.coef)
        return float(self.engine.losses((1.0,))[0])

    def stand(self) -> None:
        """Bring the engine to the coefficients."""
        self.loss = self.engine.set_coefficients(self.coef)

    def refit(self, tol: float) -> None:
        """Fit the coefficients of the model's columns."""
        ridges = self._ridges()
        state = refit(self.engine, self.coef, ridges, max(tol, 1e-12), self.members(), loose=True)
        self.coef = state.coef
        self.loss = state.objective - 0.5 * float(ridges @ self.coef**2)
