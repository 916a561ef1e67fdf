"""Which rules and which features matter: Friedman and Popescu (2008), sections 6 and 7.

The importance of a rule is ``|coefficient| * sd``, the standard deviation of what it adds to the
linear predictor; a line has the same. A rule's importance is shared equally among its features.
With more than two classes, ``|coefficient|`` is the Euclidean norm over the classes, of the
differences from their mean.
"""

from typing import TYPE_CHECKING

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.rows import TermSpread, effect_sizes, find_class
from ruleglm.frames import Level

if TYPE_CHECKING:
    import pandas as pd


def term_importances(
    ensemble: RuleEnsemble, spread: TermSpread, class_: Level | None = None
) -> FloatArray:
    """Return the importance of each linear term and rule.

    Parameters
    ----------
    ensemble : RuleEnsemble
    spread : TermSpread
        Of any rows: `measure_terms`.
    class_ : label, optional
        For the score of this class only; otherwise that of all classes together.

    Returns
    -------
    ndarray of shape (n_linear_terms + n_rules,), float64
    """
    coefficients = ensemble.all_coefficients()[1:]
    if class_ is not None:
        coefficients = coefficients[:, find_class(ensemble, class_)]
    return effect_sizes(coefficients) * spread.sds


def rule_importances(
    ensemble: RuleEnsemble, spread: TermSpread, class_: Level | None = None
) -> "pd.DataFrame":
    """Return one line a term, most important first.

    The columns: ``rule``, ``coefficient`` (or one for each class), what the coefficient does to the
    mean where the link has a name for it (``odds_ratio``, ``ratio``), ``degree``, ``support``,
    ``importance``. A line has degree 0 and support 1.
    """
    import pandas as pd

    n_lines = len(ensemble.linear_terms)
    lines = [term.label() for term in ensemble.linear_terms]
    coefficients = ensemble.all_coefficients()[1:]
    frame = pd.DataFrame(
        {
            "rule": lines + [rule.text() for rule in ensemble.rules],
            **ensemble.class_columns("coefficient", coefficients),
            **effect_columns(ensemble, coefficients),
            "degree": [0] * n_lines + [rule.degree for rule in ensemble.rules],
            "support": np.concatenate([np.ones(n_lines), spread.means[n_lines:]]),
            "importance": term_importances(ensemble, spread, class_),
        }
    )
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


EFFECTS = {"logit": "odds_ratio", "log": "ratio"}
"""Column of the factor by which a coefficient multiplies the odds or the mean, by link."""


def effect_columns(ensemble: RuleEnsemble, coefficients: FloatArray) -> dict[str, FloatArray]:
    """Return the factors by which coefficients multiply the odds or the mean, if they do."""
    name = EFFECTS.get(ensemble.family.link)
    if name is None:
        return {}
    with np.errstate(over="ignore"):
        return {name: np.exp(coefficients)}


def feature_importances(
    ensemble: RuleEnsemble, spread: TermSpread, class_: Level | None = None
) -> "pd.DataFrame":
    """Return one line a feature, most important first.

    The columns: ``feature``, ``importance``, ``share`` of the sum, ``alone`` and ``together``, the
    parts of the importance from terms with this feature only and with others, ``n_terms``.
    """
    import pandas as pd

    place = {name: k for k, name in enumerate(ensemble.names)}
    parts, counts = np.zeros((len(place), 2)), np.zeros(len(place), dtype=np.int64)
    importances = term_importances(ensemble, spread, class_)
    for features, importance in zip(term_features(ensemble), importances, strict=True):
        for name in features:
            parts[place[name], int(len(features) > 1)] += importance / len(features)
            counts[place[name]] += 1
    sums = parts.sum(axis=1)
    frame = pd.DataFrame(
        {
            "feature": list(ensemble.names),
            "importance": sums,
            "share": sums / (sums.sum() or 1.0),
            "alone": parts[:, 0],
            "together": parts[:, 1],
            "n_terms": counts,
        }
    )
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def term_features(ensemble: RuleEnsemble) -> list[tuple[str, ...]]:
    """Return the features of each linear term and rule."""
    lines = [(term.feature,) for term in ensemble.linear_terms]
    return lines + [rule.features for rule in ensemble.rules]
