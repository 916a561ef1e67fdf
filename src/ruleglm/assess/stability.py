"""How much of a model is found again when its rows are drawn anew."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.assess.bootstrap import Bootstrap, Resample, interruptible_threads, spawn_seeds
from ruleglm.checks import check_offset
from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.parallel import one_blas_thread
from ruleglm.progress import progress

if TYPE_CHECKING:
    import pandas as pd

_BLOCK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Stability:
    """A model beside those of its resamples.

    Attributes
    ----------
    ensemble : RuleEnsemble
        The model.
    resamples : tuple of Resample
        What came out of each resample.
    """

    ensemble: RuleEnsemble
    resamples: tuple[Resample, ...]

    def terms(self, level: float = 0.9) -> "pd.DataFrame":
        """Return how often each term of the model is found again.

        Parameters
        ----------
        level : float, default=0.9
            Of the intervals.

        Returns
        -------
        DataFrame
            One line a term, in the order of the ensemble: its ``coefficient``; ``same``, the share
            of resamples whose model has a rule that covers the same rows (or just the others, which
            is the same term but for the intercept); ``similar``, the share with one that covers
            about the same rows; of the coefficient, fitted anew to each resample with the
            model's rules held, the interval from ``low`` to ``high`` and ``same_sign``, the
            share of resamples that agree on its sign. A line is found again if its feature
            has one. Of more than two classes each has its ``low``, ``high`` and ``same_sign``.
        """
        import pandas as pd

        ensemble, edges = self.ensemble, _edges(level)
        known = np.array([one.coefficients for one in self.resamples])
        lines = [term.label() for term in ensemble.linear_terms]
        own = ensemble.all_coefficients()[1:]
        intervals = np.full((3, *own.shape), np.nan)
        for place in zip(*np.nonzero(~np.isnan(known).all(axis=0)), strict=True):
            seen = known[(slice(None), *place)]
            seen = seen[~np.isnan(seen)]
            agree = np.mean(np.sign(seen) == np.sign(own[place]))
            intervals[(slice(None), *place)] = *np.quantile(seen, edges), agree
        return pd.DataFrame(
            {
                "rule": lines + [rule.text() for rule in ensemble.rules],
                **ensemble.class_columns("coefficient", own),
                "same": np.mean([one.same for one in self.resamples], axis=0),
                "similar": np.mean([one.similar for one in self.resamples], axis=0),
                **ensemble.class_columns("low", intervals[0]),
                **ensemble.class_columns("high", intervals[1]),
                **ensemble.class_columns("same_sign", intervals[2]),
            }
        )

    def features(self) -> "pd.DataFrame":
        """Return the share of resamples whose model uses each feature, the most frequent first.

        The columns: ``feature``, ``frequency``, and whether the model itself uses it.
        """
        import pandas as pd

        counts = Counter(
            feature for one in self.resamples for feature in _features_of(one.ensemble)
        )
        own = _features_of(self.ensemble)
        names = sorted(self.ensemble.names, key=lambda name: -counts[name])
        return pd.DataFrame(
            {
                "feature": names,
                "frequency": [counts[name] / len(self.resamples) for name in names],
                "in_model": [name in own for name in names],
            }
        )

    def pairs(self) -> "pd.DataFrame":
        """Return the share of resamples with a rule on each pair of features.

        The columns: ``feature``, ``other``, ``frequency``, and whether the model itself has such a
        rule. Pairs that no model has are left out.
        """
        import pandas as pd

        counts = Counter(pair for one in self.resamples for pair in _pairs_of(one.ensemble))
        own = _pairs_of(self.ensemble)
        pairs = sorted({*counts, *own}, key=lambda pair: (-counts[pair], pair))
        return pd.DataFrame(
            {
                "feature": [one for one, _ in pairs],
                "other": [other for _, other in pairs],
                "frequency": [counts[pair] / len(self.resamples) for pair in pairs],
                "in_model": [pair in own for pair in pairs],
            }
        )

    def complexities(self) -> FloatArray:
        """Return the complexity of each resample's model."""
        return np.array([one.ensemble.complexity for one in self.resamples])

    def interval(
        self, X: Any, level: float = 0.9, *, offset: Any = None, exposure: Any = None
    ) -> "pd.DataFrame":
        """Return between which values the models of the resamples predict each row.

        It tells how sure the mean (or the probability) is, not where a target will fall.

        Parameters
        ----------
        X : frame or array with n rows
        level : float, default=0.9
            Share of the models between ``low`` and ``high``.
        offset, exposure : array-like of shape (n,), optional
            As for `predict`.

        Returns
        -------
        DataFrame
            One line a row: ``prediction`` of the model, ``low``, ``high``; of two classes, for the
            probability of the second; of more, three columns for each class, whose label is the
            first level of their names.
        """
        import pandas as pd

        edges = _edges(level)
        table = self.ensemble.read(X)
        shift = check_offset(offset, exposure, self.ensemble.family, table.n_rows)
        parts = []
        for start in range(0, table.n_rows, _BLOCK_ROWS):
            rows = np.arange(start, min(start + _BLOCK_ROWS, table.n_rows))
            block, more = table.take(rows), None if shift is None else shift[rows]
            predicted = [one.ensemble.predict(block, more) for one in self.resamples]
            middle = self.ensemble.predict(block, more)
            parts.append(np.stack([middle, *np.quantile(predicted, edges, axis=0)], axis=-1))
        values = np.concatenate(parts)
        names = ["prediction", "low", "high"]
        if values.ndim == 2:
            return pd.DataFrame(values, columns=names)
        columns = pd.MultiIndex.from_product([self.ensemble.classes, names])
        return pd.DataFrame(values.reshape(len(values), -1), columns=columns)

    def __str__(self) -> str:
        terms = self.terms()
        return (
            f"{len(self.resamples)} resamples: of {len(terms)} terms, a model has the same "
            f"{terms['same'].mean():.0%} and similar ones {terms['similar'].mean():.0%}"
        )


def assess_stability(
    bootstrap: Bootstrap, n_bootstrap: int, random_state: Any, n_threads: int, verbose: bool
) -> Stability:
    """Fit models to resamples, in threads; the result does not depend on their number."""
    seeds = spawn_seeds(random_state, n_bootstrap)
    with (
        one_blas_thread(),
        progress(verbose) as begin,
        interruptible_threads(n_threads) as run_all,
    ):
        advance = begin("resamples", n_bootstrap)
        resamples = []
        for one in run_all(bootstrap.run, seeds):
            resamples.append(one)
            advance()
    return Stability(bootstrap.ensemble, tuple(resamples))


def _edges(level: float) -> FloatArray:
    """Return the shares below and up to the ends of a central interval."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` is {level}; give a number between 0 and 1")
    return np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])


def _features_of(ensemble: RuleEnsemble) -> set[str]:
    rules = {feature for rule in ensemble.rules for feature in rule.features}
    return rules | {term.feature for term in ensemble.linear_terms}


def _pairs_of(ensemble: RuleEnsemble) -> set[tuple[str, str]]:
    found: Iterable[tuple[str, str]] = (
        pair for rule in ensemble.rules for pair in combinations(sorted(rule.features), 2)
    )
    return set(found)
