"""RuleFit of Friedman and Popescu (2008), put together from scikit-learn's trees and lasso.

Boosted trees of random sizes are grown, each of their nodes is a rule, and rules and winsorised
numbers enter a linear or logistic model with an L1 penalty. The numbers are those of the public
Python code: trees until their leaves number 2,000, sizes from an exponential distribution, learning
rate 0.01, each tree on a small sample of the rows. Other than there the whole path of penalties is
returned, the intercept is free, and of rules that agree on all rows, or on none, one is kept.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit
from sklearn.linear_model import lasso_path
from sklearn.tree import DecisionTreeRegressor

from experiments.protocol import BINARY

MAX_LEAVES = 2000
LEARNING_RATE = 0.01
TRIM = 0.025
"""Share of the rows at each end of a number that is winsorised."""
TYPICAL_DEVIATION = 0.4
"""Of a rule, to which linear terms are scaled."""
DEGREE_WEIGHT = 0.2
NEW_COLUMNS = 30
"""That enter a working set at a time, or a third of what it has where that is more."""
STALL, STALL_RATIO = 0.005, 0.003
"""Share of the loss that a model must gain, once penalties are such a share of the first."""

Rule = dict[tuple[int, bool], float]
"""Bounds by (column, is upper): ``lower < x <= upper``. Each bound is a condition."""


def grow_trees(X: np.ndarray, y: np.ndarray, task: str, tree_size: int, seed: int) -> list:
    """Return boosted trees whose mean number of leaves is ``tree_size``."""
    rng = np.random.default_rng(seed)
    n = len(y)
    n_sample = int(min(0.5, (100 + 6 * np.sqrt(n)) / n) * n)
    start = float(np.mean(y))
    scores = np.full(n, np.log(start / (1 - start)) if task == BINARY else start)
    trees, n_leaves = [], 0
    while n_leaves < MAX_LEAVES:
        size = 2 + int(rng.exponential(tree_size - 2))
        sample = rng.choice(n, n_sample, replace=False)
        means = expit(scores) if task == BINARY else scores
        residuals = y - means
        tree = DecisionTreeRegressor(max_leaf_nodes=size, random_state=int(rng.integers(2**31)))
        tree.fit(X[sample], residuals[sample], check_input=False)
        leaves = tree.tree_.apply(X)
        curvature = means * (1 - means) if task == BINARY else np.ones(n)
        sums = np.bincount(leaves[sample], residuals[sample], tree.tree_.node_count)
        curvatures = np.bincount(leaves[sample], curvature[sample], tree.tree_.node_count)
        scores += LEARNING_RATE * (sums / np.maximum(curvatures, 1e-6))[leaves]
        trees.append(tree)
        n_leaves += size  # as asked for, so that pure samples end the loop too
    return trees


def list_rules(tree: DecisionTreeRegressor) -> list[Rule]:
    """Return the rule of each node of a tree but its root."""
    nodes = tree.tree_
    rules: list[Rule] = [{} for _ in range(nodes.node_count)]
    for node in range(nodes.node_count):  # parents come before their children
        if nodes.children_left[node] < 0:
            continue
        column, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
        upper, lower = rules[node].get((column, True)), rules[node].get((column, False))
        bound = threshold if upper is None else min(threshold, upper)
        rules[nodes.children_left[node]] = {**rules[node], (column, True): bound}
        bound = threshold if lower is None else max(threshold, lower)
        rules[nodes.children_right[node]] = {**rules[node], (column, False): bound}
    return rules[1:]


def covers(rule: Rule, X: np.ndarray) -> np.ndarray:
    """Return which rows a rule is true for."""
    rows = np.ones(len(X), bool)
    for (column, is_upper), bound in rule.items():
        rows &= X[:, column] <= bound if is_upper else X[:, column] > bound
    return rows


def distinct_rules(trees: list, X: np.ndarray) -> list[Rule]:
    """Return the rules of trees, one of those that cover the same rows or the opposite ones."""
    unique = {frozenset(rule.items()): rule for tree in trees for rule in list_rules(tree)}
    kept: dict[bytes, Rule] = {}
    for rule in sorted(unique.values(), key=len):  # the shortest of each kind
        rows = covers(rule, X)
        if rows.any() and not rows.all():
            kept.setdefault(np.packbits(rows ^ rows[0]).tobytes(), rule)
    return list(kept.values())


@dataclass
class RuleColumns:
    """The columns of the linear model: rules, and numbers where they are asked for."""

    rules: list[Rule]
    linear: list[int] = field(default_factory=list)
    """Columns of X that are terms themselves."""

    def fit(self, X: np.ndarray) -> "RuleColumns":
        """Learn where to winsorise numbers and how to scale them."""
        numbers = X[:, self.linear]
        self.low, self.high = np.quantile(numbers, [TRIM, 1 - TRIM], axis=0)
        deviations = np.clip(numbers, self.low, self.high).std(axis=0)
        self.scales = TYPICAL_DEVIATION / np.where(deviations > 0, deviations, np.inf)
        self.centres = numbers.mean(axis=0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the columns as a matrix."""
        columns = np.empty((len(X), len(self.rules) + len(self.linear)), order="F")
        for j, rule in enumerate(self.rules):
            columns[:, j] = covers(rule, X)
        numbers = np.clip(X[:, self.linear], self.low, self.high) - self.centres
        columns[:, len(self.rules) :] = numbers * self.scales
        return columns

    @property
    def weights(self) -> np.ndarray:
        """The complexity of each column."""
        degrees = np.array([len(rule) for rule in self.rules], float)
        return np.concatenate([1 + DEGREE_WEIGHT * degrees, np.ones(len(self.linear))])


@dataclass
class L1Path:
    """Linear or logistic models by decreasing L1 penalty, on warm starts and working sets.

    Each minimises ``mean loss + penalty * sum |coefficient|`` by Newton's method, of which
    scikit-learn's lasso takes the steps; half of squared errors are the linear model's loss.
    """

    task: str
    n_penalties: int = 30
    ratio: float = 1e-5
    """Of the last penalty to the first, which allows no coefficient."""
    tolerance: float = 1e-2
    """Of the optimality conditions, as a share of the penalty."""
    max_steps: int = 15
    max_terms: int = 400
    """The first model with more, or with more than half as many as rows, ends the path, as does
    one that explains ``enough`` or, late, hardly more than the one before; the rest repeat it."""
    enough: float = 0.99999
    """Share of the deviance."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "L1Path":
        """Fit all models; ``coefficients`` has a row for each, with the intercept in front."""
        self._X, self._y = X, np.asarray(y, float)
        beta, intercept = np.zeros(X.shape[1]), self._link(self._y.mean())
        scores = np.full(len(y), intercept)
        null, max_terms = self._loss(scores), min(self.max_terms, len(y) // 2)
        first = float(np.abs(self._gradient(scores)).max(initial=1e-12))
        self.penalties = first * self.ratio ** np.linspace(0, 1, self.n_penalties)
        rows = [np.append(intercept, beta)]
        loss, ended = null, False
        for penalty in self.penalties[1:]:
            if not ended:
                beta, intercept, scores = self._solve(penalty, beta, intercept, scores)
                before, loss = loss, self._loss(scores)
                stalled = penalty < STALL_RATIO * first and before - loss < STALL * before
                ended = stalled or loss <= (1 - self.enough) * null
                ended |= np.count_nonzero(beta) > max_terms
            rows.append(np.append(intercept, beta))
        self.coefficients = np.array(rows)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predictions of each model as a row."""
        scores = self.coefficients[:, 1:] @ X.T + self.coefficients[:, :1]
        return expit(scores) if self.task == BINARY else scores

    def _link(self, mean):
        return float(np.log(mean / (1 - mean))) if self.task == BINARY else float(mean)

    def _loss(self, scores):
        if self.task == BINARY:
            return float(np.mean(np.logaddexp(0, scores) - self._y * scores))
        return float(np.mean((self._y - scores) ** 2) / 2)

    def _residuals(self, scores):
        return self._y - (expit(scores) if self.task == BINARY else scores)

    def _gradient(self, scores):
        return -(self._residuals(scores) @ self._X) / len(self._y)

    def _solve(self, penalty, beta, intercept, scores):
        for _ in range(self.max_steps):
            gradient = self._gradient(scores)
            active = beta != 0
            slack = np.abs(gradient + penalty * np.sign(beta)) - penalty * ~active
            if slack.max(initial=0.0) <= self.tolerance * penalty:
                break
            worst = np.where(active, 0.0, slack)
            n_new = max(NEW_COLUMNS, np.count_nonzero(active) // 3)
            entering = np.argsort(-worst, kind="stable")[:n_new]
            columns = np.union1d(np.flatnonzero(active), entering[worst[entering] > 0])
            steps = self._step(penalty, columns, beta[columns], scores)
            change, scores = self._go(penalty, beta[columns], scores, *steps)
            beta = beta.copy()
            beta[columns] += change[1:]
            intercept += change[0]
        return beta, intercept, scores

    def _step(self, penalty, columns, beta, scores):
        """Return the way to the minimum of the loss's quadratic model, and what it adds to scores.

        The intercept is eliminated: columns and target are centred by their weighted means.
        """
        means = expit(scores)
        weights = (
            np.maximum(means * (1 - means), 1e-5) if self.task == BINARY else np.ones(len(scores))
        )
        X = self._X[:, columns]
        residuals = self._residuals(scores)
        centres, shift = weights @ X / weights.sum(), residuals.sum() / weights.sum()
        roots = np.sqrt(weights)
        scaled = np.asfortranarray((X - centres) * roots[:, None])
        target = scaled @ beta + roots * (residuals / weights - shift)
        new = lasso_path(
            *(scaled, target),
            alphas=[penalty],
            precompute=scaled.T @ scaled,
            Xy=scaled.T @ target,
            coef_init=beta.copy(),  # it is overwritten
            tol=1e-7,
            max_iter=1000,
            check_input=False,
        )[1][:, 0]
        change = np.append(shift - centres @ (new - beta), new - beta)
        return change, X @ change[1:] + change[0]

    def _go(self, penalty, beta, scores, change, rise):
        """Go the way, or the half of it until the objective falls."""
        before = self._loss(scores) + penalty * np.abs(beta).sum()
        for _ in range(10):
            after = self._loss(scores + rise) + penalty * np.abs(beta + change[1:]).sum()
            if after <= before + 1e-12:
                break
            change, rise = change / 2, rise / 2
        return change, scores + rise
