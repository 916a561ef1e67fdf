"""The moves of a pursuit: growth, swaps, deletions (design, section 6).

Candidates are put beside the model's columns, and all moves are made on the Gram matrix of both;
then the coefficients are fitted to the rows.
"""

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.pricing.neighbours import find_replacements
from ruleglm.pricing.problem import Limits
from ruleglm.pricing.worth import Candidate
from ruleglm.solvers.standing import ACCURACY, PursuitModel, Standing
from ruleglm.solvers.stepwise import Stepwise

GROWTH = 1.0
"""Share of the model's terms that one round may add."""

N_CANDIDATES, FIRST_CANDIDATES = 24, 8
"""Rules outside the model that a round looks at; at first fewer, and two more for each term."""

MOST_CANDIDATES = 512
"""Rules that a round looks at, about, where copies of columns hide others, before the path ends."""

GOOD = 0.2, 0.5
"""Share of a round's best worth below which rules wait for the next round's search, from and to.

It is the second where the best stands out of the noise; see `DOUBT`.
"""

DOUBT = 2.0
"""Gains of rules without effect by which the worth of rules has to differ to tell them apart."""

POLISH = 1.35
"""Factor by which the complexity grows from one polish to the next."""

FEW = 3
"""Terms up to which a polish comes before the search of a round: it changes what is to be found.

In larger models the moves of both are made at once, which saves a table and a refit.
"""

STEP = 4, 10
"""A round adds what is less good too, up to one term for so many of the model, and so many in all.

The first terms come in one after the other.
"""

FULL = 1.3
"""Factor by which the complexity grows from one search of all pairs to the next."""

SPACING = 1.1, 8.0
"""Factor by which the complexity grows from one model of the path to the next, and how much, about.

The smaller of both counts.
"""

KEEP = 0.7
"""Share of the price of its complexity that a term has to earn to stay."""

WORTHWHILE = 0.05
"""Share of the price of a unit of complexity that a swap has to earn."""


class Walk(Standing):
    """A pursuit on its way: what it looks at, and the moves that it makes."""

    passed: list[PursuitModel]
    """Models on the way of the last step."""

    grown: float
    """Complexity after the last step."""

    price = 0.0
    """Gain per unit of complexity of what was added last."""

    n_first = FIRST_CANDIDATES
    """Rules outside the empty model that a round looks at."""

    # --- candidates

    def search(self, limits: Limits) -> list[Candidate]:
        """Return the best rules outside the model."""
        full = self.due("search", FULL)
        self.pricer.scale_ridge(self.curvature_left())
        n_rules = max(self.n_first, min(N_CANDIDATES, self.n_first + 2 * self.n_terms()))
        return self.pricer.price(
            self.engine, self.noise(), n_rules, limits, full=full, n_extended=n_rules
        )

    def neighbours(self, price: float) -> list[Candidate]:
        """Return rules that might serve better than the model's own."""
        steps = self.coef[1 + len(self.lines) :]
        n_fixed = self.n_forced_rules()
        return find_replacements(self.pricer, self.engine, steps, self.noise(), price, n_fixed)

    def luck(self) -> FloatArray:
        """Return the gain of each column that is put down to the length of the search."""
        rules = self.noise() * self.pricer.lucks(self.engine.degrees)
        return np.concatenate([np.zeros(1 + len(self.lines)), rules])

    # --- moves

    def grow(self, limits: Limits, least: float, most: float = np.inf) -> float | None:
        """Add the best candidates; return the gain per unit of complexity of the last one added.

        Now and then rules are first swapped for neighbours. None is added whose gain per unit is
        below ``least``; without any, return None. Beyond the complexity ``most`` the walk is over,
        and the model is not fitted any more.
        """
        self.take_stock()
        self.passed = []
        polish = self.price > 0.0 and self.due("polish", POLISH)
        if polish and self.n_terms() <= FEW:
            self.polish(self.price)
            polish = False
        found = self.search(limits)
        others = self.neighbours(self.price) if polish else []
        here = self.record(self.price)
        table = self.offer([*found, *others])
        copies = len(self.engine.rules) - len(here.rules) < len(found) + len(others)
        if others and not self.swap(table, self.price, here):
            table = self.offer(found)
        added = self.add_best(table, least)
        if not added:
            self.settle(table, 0.0)
            if self.n_first >= (MOST_CANDIDATES if copies else N_CANDIDATES):
                return None
            self.n_first *= 4  # copies of the model's columns may have hidden others
            return self.grow(limits, least, most)
        self.price = min(added[-1], 2.0 * self.loss)  # derivatives may promise more than there is
        self.delete(table, KEEP * self.price, len(added) - 1)
        self.grown = float(self.costs()[table.member].sum())
        if self.grown <= most:
            self.settle(table, ACCURACY * min(self.price, self.loss))
        return self.price

    def add_best(self, table: Stepwise, least: float) -> list[float]:
        """Take candidates into the model; return what each was worth."""
        costs, luck = self.costs(), self.luck()
        prices = np.where(costs > 0.0, costs, 1.0)  # the intercept costs nothing
        n_terms = int(table.member.sum()) - 1
        size = last = float(costs[table.member].sum())
        enough = min(n_terms // STEP[0] - 1, STEP[1])
        good = 0.0
        added: list[float] = []
        for _ in range(max(1, round(GROWTH * n_terms))):
            worth = table.additions(self.pricer.ridge)
            worth -= luck
            worth /= prices
            worth[table.member] = 0.0
            k = int(worth.argmax())
            if worth[k] <= 0.0 or worth[k] < least:
                break
            if added and len(added) >= enough and worth[k] < good:
                break
            if added and size > min(SPACING[0] * last, SPACING[1] + last):
                self.passed.append(self.pass_by(table, 0.5 * added[-1]))
                last = size
            if not added:
                good = self.good_enough(float(worth[k]))
                least = max(least, GOOD[0] * float(worth[k]))
            added.append(float(worth[k]))
            size += float(costs[k])
            table.toggle(k)
        return added

    def good_enough(self, best: float) -> float:
        """Return the worth from which on rules come in together with the best one."""
        lowest, highest = GOOD
        return min(highest * best, max(lowest * best, best - DOUBT * self.noise()))

    def polish(self, price: float) -> None:
        """Swap rules for neighbours while that pays, and fit the model."""
        here, others = self.record(price), self.neighbours(price)
        if others:
            table = self.offer(others)
            if self.swap(table, price, here):
                self.settle(table, ACCURACY * min(price, self.loss))

    def swap(self, table: Stepwise, price: float, here: PursuitModel) -> bool:
        """Swap rules for others, and delete some, while that pays at a price of complexity.

        Where the objective rises by it, or coefficients have the wrong sign, the model is fitted to
        the rows, and if that does not help the walk goes back ``here``; then the columns outside
        the model are gone, and the answer is False.
        """
        members = table.member.copy()
        costs, luck = self.costs(), self.luck()
        before = self.objective() + 0.5 * price * here.complexity
        values = price * costs + luck
        given_up = values.copy()
        given_up[[0, *self.forced]] = -np.inf  # nothing takes their place
        for _ in range(len(costs)):
            gains, inside, outside = table.swaps()
            if not gains.size:
                break
            gains += given_up[inside][:, None]
            gains -= values[outside]
            i, j = divmod(int(gains.argmax()), len(outside))
            if gains[i, j] < WORTHWHILE * price:
                break
            table.toggle(int(inside[i]))
            table.toggle(int(outside[j]))
        self.delete(table, KEEP * price, len(costs))
        if (table.member == members).all():
            return True
        model = self.pass_by(table, 0.5 * price)
        after = self.objective(table.coef, model.loss) + 0.5 * price * model.complexity
        if after <= before and not self.breaks_signs(table.coef):
            self.passed.append(model)
            return True
        self.settle(table, ACCURACY * min(price, self.loss))
        if self.objective() + 0.5 * price * self.complexity() <= before:
            self.passed.append(self.record(0.5 * price))
        else:
            self.restore(here)
        return False

    @np.errstate(divide="ignore", invalid="ignore")
    def delete(self, table: Stepwise, price: float, most: int) -> None:
        """Take out terms, at most so many, that do not earn ``price`` for a unit of complexity."""
        costs, luck = self.costs(), self.luck()
        for _ in range(most):
            worth = (table.deletions() - luck) / costs
            worth[[0, *self.forced]] = np.inf
            k = int(worth.argmin())
            if worth[k] >= price:
                return
            table.toggle(k)
