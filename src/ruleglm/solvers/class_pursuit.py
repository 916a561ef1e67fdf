"""Pursuit for more than two classes: a rule enters with one coefficient for each of them.

Rules are proposed class by class, and judged by what they give to all classes together. The second
derivatives between classes are left out of that judgement: a quadratic model a class, their gains
added and scaled so that they are right for two classes, and for classes of equal probability.
"""

from collections.abc import Sequence

import numpy as np

from ruleglm.binning import BinRule
from ruleglm.dtypes import BoolArray, FloatArray, IntArray
from ruleglm.engines.classes import ClassEngines
from ruleglm.pricing.gains import GainPricer
from ruleglm.pricing.neighbours import find_replacements
from ruleglm.pricing.problem import Limits
from ruleglm.pricing.worth import Candidate, round_off
from ruleglm.solvers.class_refit import refit_classes
from ruleglm.solvers.classes import null_class_coefs
from ruleglm.solvers.standing import ACCURACY
from ruleglm.solvers.stepwise import Stepwise
from ruleglm.solvers.walk import FULL, N_CANDIDATES, Walk

N_ASKED = 4
"""Classes whose candidates are searched in a round, twice as many when pairs are chosen anew."""

N_EACH = 6
"""The fewest candidates that a class may propose."""


SOFTER = 0.5
"""Power of the share of curvature that is left by which the ridge of the search falls.

The more classes, the fewer rows has each; with 1, as for two classes, small data are overfitted.
"""


class ClassTable(Stepwise):
    """The quadratic models of the classes, which move together."""

    def __init__(self, tables: Sequence[Stepwise]) -> None:
        self._tables = tables
        self._scale = (len(tables) - 1) / len(tables)
        self.member = tables[0].member

    @property
    def coef(self) -> FloatArray:
        """The coefficients at the minima, a column a class."""
        return np.column_stack([table.coef for table in self._tables])

    def toggle(self, column: int) -> None:
        """Take a column into the model of every class, or out of it."""
        for table in self._tables:
            table.toggle(column)

    def additions(self, doubt: float = 0.0) -> FloatArray:
        """Return twice the decrease that each column outside would bring, 0 inside."""
        gains = [table.additions(doubt) for table in self._tables]
        return np.asarray(self._scale * np.sum(gains, axis=0))

    def deletions(self) -> FloatArray:
        """Return twice the increase that the loss of each column would bring, infinity outside."""
        losses = [table.deletions() for table in self._tables]
        return np.asarray(self._scale * np.sum(losses, axis=0))

    def swaps(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Return twice the decrease of each swap, by columns inside (rows) and outside."""
        answers = [table.swaps() for table in self._tables]
        gains = self._scale * np.sum([gains for gains, _, _ in answers], axis=0)
        return gains, answers[0][1], answers[0][2]


class ClassWalk(Walk):
    """Where a pursuit of several classes stands; its coefficients have a column a class."""

    n_first = N_CANDIDATES

    def __init__(
        self,
        classes: ClassEngines,
        pricers: Sequence[GainPricer],
        ridge: float,
        mass: float,
        forced: Sequence[int] = (),
    ) -> None:
        self.classes = classes
        self.n_scores = len(classes)
        self.pricers = pricers
        self.engine = classes.engines[0]
        self.pricer = pricers[0]
        self.ridge = ridge
        self.mass = mass
        self.forced = list(forced)
        self.lines = np.zeros(self.engine.n_linear, np.bool_)
        self.lines[[k - 1 for k in forced if k <= self.engine.n_linear]] = True
        self.coef = np.column_stack(null_class_coefs(classes))
        self._hopes = np.full(len(classes), np.inf)
        self._done = {}
        self.stand()
        for k, pricer in enumerate(pricers):
            pricer.prepare(classes.turn_to(k))
        self._first_curvature = self.curvature()
        self._ridge_share = self._left = 1.0
        if self.forced:
            self.refit(ACCURACY**2 * self.loss)

    def noise(self) -> float:
        """Return the gain that a coefficient without effect is expected to have."""
        return self.classes.dispersion() / self.mass

    def curvature(self) -> float:
        """Return the sum of the second derivatives of all classes."""
        return sum(self.classes.turn_to(k).hessian_sum() for k in range(len(self.classes)))

    def search(self, limits: Limits) -> list[Candidate]:
        """Return the best rules of the classes that promised most, twice as many now and then."""
        full = self.due("search", FULL)
        n_asked = 2 * N_ASKED if full else N_ASKED
        asked = np.argsort(-self._hopes, kind="stable")[:n_asked].tolist()
        n_each = max(N_EACH, N_CANDIDATES // len(asked))
        noise, share = self.noise(), self.curvature_left() ** SOFTER
        for pricer in self.pricers:
            pricer.scale_ridge(share)
        found: dict[BinRule, Candidate] = {}
        for k in asked:
            engine = self.classes.turn_to(k)
            answers = self.pricers[k].price(engine, noise, n_each, limits, full=full)
            self._hopes[k] = max((round_off(one.gain) for one in answers), default=0.0)
            found.update({one.rule: one for one in answers})
        best = sorted(found.values(), key=lambda one: (-round_off(one.gain), one.rule))
        return best[: max(N_CANDIDATES, 2 * len(asked))]

    def neighbours(self, price: float) -> list[Candidate]:
        """Return neighbours of each rule, for the class that it says most about."""
        steps = self.coef[1 + len(self.lines) :]
        main = np.argmax(np.abs(steps - steps.mean(axis=1, keepdims=True)), axis=1)
        found: dict[BinRule, Candidate] = {}
        noise, n_fixed = self.noise(), self.n_forced_rules()
        for k in np.unique(main).tolist():
            engine = self.classes.turn_to(k)
            mine = [j for j in np.flatnonzero(main == k).tolist() if j >= n_fixed]
            coef = np.ascontiguousarray(steps[:, k])
            answers = find_replacements(self.pricers[k], engine, coef, noise, price, positions=mine)
            found.update({one.rule: one for one in answers})
        return list(found.values())

    def balance(self, tol: float) -> None:
        """Leave the intercepts as the refit of all classes has them."""

    # --- what is asked of the engines

    def add(self, rules: Sequence[BinRule], degrees: Sequence[int]) -> int:
        """Add columns to every class; return their number."""
        added = [engine.add_rules(rules, degrees) for engine in self.classes.engines]
        return added[0]

    def keep(self, positions: Sequence[int]) -> None:
        """Drop all rules but those at ``positions``."""
        for engine in self.classes.engines:
            engine.keep_rules(positions)

    def tabulate(self, members: BoolArray) -> Stepwise:
        """Return the quadratic models over all columns."""
        tables = []
        for k in range(len(self.classes)):
            engine, coef = self.classes.turn_to(k), self.coef[:, k]
            tables.append(Stepwise(engine.gram(), engine.score(), coef, self._ridges(), members))
        return ClassTable(tables)

    def move(self, coef: FloatArray) -> None:
        """Go to other coefficients."""
        self.coef = coef
        self.stand()

    def loss_at(self, coef: FloatArray) -> float:
        """Return the loss that other coefficients have."""
        loss = self.classes.set_coefficients(list(np.ascontiguousarray(coef.T)))
        self.stand()
        return loss

    def stand(self) -> None:
        """Bring the engines to the coefficients."""
        self.loss = self.classes.set_coefficients(list(np.ascontiguousarray(self.coef.T)))

    def refit(self, tol: float) -> None:
        """Fit the coefficients of the model's columns."""
        members = np.broadcast_to(self.members()[:, None], self.coef.shape)
        ridges = self._ridges()
        self.coef = refit_classes(self.classes, self.coef, members, ridges, max(tol, 1e-12))
        self.loss = self.classes.loss()
