"""Why one row is predicted as it is: the terms that are at work, and what each of them adds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.importance import term_features
from ruleglm.explain.rows import effect_sizes, find_class, read_row
from ruleglm.frames import Level, NumberColumn, Table

if TYPE_CHECKING:
    import pandas as pd

OFFSET = "(offset)"


@dataclass(frozen=True, eq=False)
class Explanation:
    """The prediction of one row as a sum.

    Attributes
    ----------
    terms : pandas.DataFrame
        The intercept, the offset if there is one, and the terms at work, largest first: ``term``,
        ``features``, their ``value`` in the row, ``contribution`` to the linear predictor (for
        several classes one for each), and ``mean``, the prediction from the terms so far. The
        contributions add up to ``eta``, and the last ``mean`` is the prediction.
    features : pandas.DataFrame
        The contributions by feature, or by group of features for rules of several, in the same way.
    eta : float, or (n_classes,) float64
        The linear predictor.
    mean : float, or (n_classes,) float64
        The prediction: the mean of the target, or the probability of a class.
    values : dict
        What the row holds in the columns that the model reads; None is missing.
    what : str
        What the mean is of.
    link : str
        What leads from the mean to the linear predictor.
    """

    terms: "pd.DataFrame"
    features: "pd.DataFrame"
    eta: Any
    mean: Any
    values: dict[str, Level | None]
    what: str
    link: str

    def __str__(self) -> str:
        shown = self.terms.drop(columns="features")
        if np.ndim(self.mean) == 0:
            title = f"{self.what}: {float(self.mean):.4g} (linear predictor {float(self.eta):.4g})"
        else:
            title = f"{self.what}: " + ", ".join(f"{share:.4g}" for share in self.mean)
        return f"{title}\n{shown.to_string(index=False, float_format='{:.4g}'.format)}"


def explain_row(
    ensemble: RuleEnsemble, row: Any, *, offset: float = 0.0, class_: Level | None = None
) -> Explanation:
    """Explain the prediction of one row.

    Parameters
    ----------
    ensemble : RuleEnsemble
    row : mapping, pandas.Series, list, one-dimensional array, or data of one row
    offset : float
        Added to the linear predictor (the logarithm of an exposure).
    class_ : label, optional
        Only this class of several.
    """
    table = read_row(ensemble, row)
    parts = ensemble.contributions(table)[0]
    names, groups = [*ensemble.terms], [(), *term_features(ensemble)]
    at_work = np.ones(len(parts), dtype=np.bool_)
    first_rule = 1 + len(ensemble.linear_terms)
    at_work[first_rule:] = [rule.holds(table)[0] for rule in ensemble.rules]
    if offset:
        shape = ensemble.family.output_shape
        parts = np.concatenate([parts[:1], np.full((1, *shape), float(offset)), parts[1:]])
        names.insert(1, OFFSET)
        groups.insert(1, ())
        at_work = np.insert(at_work, 1, True)
    kept = np.flatnonzero(at_work)
    names, groups, parts = [names[k] for k in kept], [groups[k] for k in kept], parts[kept]
    values = {name: read_value(table, name) for name in ensemble.names}
    place = None if class_ is None else find_class(ensemble, class_)
    eta = parts.sum(axis=0)
    mean = ensemble.family.mean(eta)
    return Explanation(
        _frame(ensemble, "term", names, groups, parts, values, place),
        _frame(ensemble, "feature", *_group(names, groups, parts), values, place),
        _pick(eta, place),
        _pick(mean, place),
        {name: value for name, value in values.items() if any(name in group for group in groups)},
        describe_mean(ensemble, class_),
        ensemble.family.link,
    )


def describe_mean(ensemble: RuleEnsemble, class_: Level | None = None) -> str:
    """Say what a model's prediction is."""
    if class_ is not None:
        return f"probability of {class_}"
    if ensemble.family.name == "multinomial":
        return "probabilities of " + ", ".join(map(str, ensemble.classes))
    if ensemble.classes:
        return f"probability of {ensemble.classes[1]}"
    return "probability" if ensemble.family.link == "logit" else "prediction"


def _pick(values: FloatArray, place: int | None) -> Any:
    if place is not None:
        return float(values[place])
    return float(values) if np.ndim(values) == 0 else values


def _group(
    names: list[str], groups: list[tuple[str, ...]], parts: FloatArray
) -> tuple[list[str], list[tuple[str, ...]], FloatArray]:
    """Add up the terms of the same features; what has no features stays by itself."""
    sums: dict[tuple[tuple[str, ...], str], Any] = {}
    for name, group, part in zip(names, groups, parts, strict=True):
        key = group, "" if group else name
        sums[key] = sums.get(key, 0.0) + part
    texts = [" and ".join(group) or name for group, name in sums]
    return texts, [group for group, _ in sums], np.array(list(sums.values()))


def _frame(
    ensemble: RuleEnsemble,
    kind: str,
    names: list[str],
    groups: list[tuple[str, ...]],
    parts: FloatArray,
    values: dict[str, Level | None],
    place: int | None,
) -> "pd.DataFrame":
    """Lay the parts out, what has no features first, then by size, with the means so far."""
    import pandas as pd

    seen = parts if place is None else parts[:, place]
    first = names.count(OFFSET) + 1 if () in groups else 0
    order = sorted(range(len(names)), key=lambda k: (k >= first, k if k < first else _neg(seen, k)))
    sums = np.cumsum(parts[order], axis=0)
    means = ensemble.family.mean(sums)
    columns: dict[str, Any] = {
        kind: [names[k] for k in order],
        "features": [groups[k] for k in order],
        "value": [", ".join(write_value(values[name]) for name in groups[k]) for k in order],
    }
    if seen.ndim == 1:
        columns["contribution"] = seen[order]
        columns["mean"] = means if place is None else means[:, place]
    else:
        for prefix, numbers in (("contribution to", parts[order]), ("mean of", means)):
            named = zip(ensemble.classes, numbers.T, strict=True)
            columns |= {f"{prefix} {label}": column for label, column in named}
    return pd.DataFrame(columns)


def _neg(seen: FloatArray, k: int) -> float:
    return -float(effect_sizes(seen[k : k + 1])[0])


def read_value(table: Table, name: str, row: int = 0) -> Level | None:
    """Return the value of a column in a row, None if it is missing."""
    column = table.column(name)
    if isinstance(column, NumberColumn):
        number = float(column.values[row])
        return None if np.isnan(number) else number
    code = int(column.codes[row])
    return None if code < 0 else column.levels[code]


def write_value(value: Level | None) -> str:
    """Write a value for a person to read."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
