"""All that the page knows, as plain values for JSON; terms are listed once for all models."""

from collections.abc import Mapping, Sequence

import numpy as np

from ruleglm.ensemble import RuleEnsemble
from ruleglm.export import to_sql
from ruleglm.refitting import Rows
from ruleglm.report.features import (
    PageFeature,
    Term,
    Value,
    collect_features,
    find_column,
    finite,
)
from ruleglm.report.scores import Metric, choose_metrics, predict_rows, score_model
from ruleglm.report.subject import Candidate, Subject
from ruleglm.rules import LinearTerm

DIGITS = 6
"""Significant digits of what is only shown; what the page computes with has all of them."""


def build_payload(
    subject: Subject,
    tests: Rows | None = None,
    *,
    title: str | None = None,
    date: str | None = None,
) -> Value:
    """Return what the page shows.

    Parameters
    ----------
    subject : Subject
        The models.
    tests : Rows, optional
        Rows to score them on.
    title, date : str, optional
        As for `write_report`.
    """
    first = subject.candidates[0].ensemble
    terms = _describe_terms(subject)
    places = {term: place for place, term in enumerate(terms)}
    features = collect_features(subject.features, terms)
    table = None if tests is None else tests.table
    return {
        "title": title or f"Rule model of {subject.target or 'the target'}",
        "date": date or "",
        "estimator": subject.estimator,
        "family": first.family.name,
        "link": first.family.link,
        "classes": [str(label) for label in first.classes],
        "target": subject.target,
        "rows": subject.n_rows,
        "columns": len(first.names),
        "folds": subject.n_folds,
        "testRows": 0 if table is None else table.n_rows,
        "chosen": subject.chosen,
        "metrics": list_metrics(subject, tests),
        "features": [each.describe(find_column(table, name)) for name, each in features.items()],
        "terms": [{**about, **_describe_term(term, features)} for term, about in terms.items()],
        "models": [_describe_model(each, places, tests) for each in subject.candidates],
    }


def list_metrics(subject: Subject, tests: Rows | None) -> list[Value]:
    """Return the scores that every model has: cross-validated, of test rows, of training rows."""
    metrics = []
    if subject.n_folds:
        name = subject.scoring or "loss"
        cv = Metric("cv_mean", f"cross-validated {name}", subject.greater_is_better)
        metrics.append({**_describe_metric(cv), "error": "cv_se"})
    if tests is not None:
        for metric in choose_metrics(subject.candidates[0].ensemble):
            label = f"{metric.label} on test rows"
            metrics.append({**_describe_metric(metric), "label": label})
    if len(subject.candidates) > 1:
        metrics.append(_describe_metric(Metric("train_loss", "training loss", False)))
    return metrics


def _describe_metric(metric: Metric) -> Value:
    return {"key": metric.key, "label": metric.label, "greater": metric.greater_is_better}


def _list_terms(candidate: Candidate) -> tuple[Term, ...]:
    ensemble = candidate.ensemble
    return (*ensemble.linear_terms, *ensemble.rules)


def _describe_terms(subject: Subject) -> dict[Term, Value]:
    """Return what the training rows say of each term of any model."""
    terms: dict[Term, Value] = {}
    for candidate in subject.candidates:
        spread = candidate.spread
        for term, mean, sd in zip(_list_terms(candidate), spread.means, spread.sds, strict=True):
            terms.setdefault(term, {"mean": _round(mean), "sd": _round(sd)})
    return terms


def _describe_term(term: Term, features: Mapping[str, PageFeature]) -> Value:
    place = {name: number for number, name in enumerate(features)}
    if isinstance(term, LinearTerm):
        ends = {"low": term.low, "high": term.high, "fill": term.fill}
        line = {"feature": place[term.feature], **ends}
        return {"text": term.label(), "line": line}
    conditions = [
        {
            "feature": place[condition.feature],
            **features[condition.feature].describe_condition(condition),
        }
        for condition in term.conditions
    ]
    return {"text": term.text(), "conditions": conditions}


def _describe_model(candidate: Candidate, places: Mapping[Term, int], tests: Rows | None) -> Value:
    ensemble = candidate.ensemble
    coefficients = ensemble.all_coefficients()
    scores, groups = (
        ({}, []) if tests is None else score_model(ensemble, predict_rows(ensemble, tests))
    )
    numbers = {**candidate.scores, **scores}
    return {
        "intercept": coefficients[0].tolist(),
        "terms": [places[term] for term in _list_terms(candidate)],
        "coefs": coefficients[1:].tolist(),
        "rules": len(ensemble.rules),
        "lines": len(ensemble.linear_terms),
        "conditions": sum(rule.degree for rule in ensemble.rules),
        "complexity": _round(ensemble.complexity),
        "place": candidate.place,
        "certificate": candidate.certificate,
        "sql": _write_sql(ensemble),
        "scores": {key: _round(value) for key, value in numbers.items()},
        "calibration": [[_round_all(group) for group in one] for one in groups],
    }


def _write_sql(ensemble: RuleEnsemble) -> str:
    """Return the model as a query, nothing if it cannot be written (or without sqlglot)."""
    try:
        return to_sql(ensemble)
    except (ImportError, ValueError):
        return ""


def _round(value: float) -> float | None:
    return finite(float(np.format_float_scientific(value, DIGITS - 1)))


def _round_all(values: Sequence[float]) -> list[float | None]:
    return [_round(value) for value in values]
