"""What is exported: an ensemble, or the ensemble of a fitted estimator and what is said of it."""

from typing import Any

from ruleglm.ensemble import RuleEnsemble

FITTED = ("complexity", "certificate", "certified", "objective", "lower_bound", "gap")


def get_ensemble(model: Any) -> RuleEnsemble:
    """Return an ensemble as it is, and the ensemble of a fitted estimator."""
    ensemble = getattr(model, "ensemble_", model)
    if not isinstance(ensemble, RuleEnsemble):
        raise TypeError(
            f"A {type(model).__name__} cannot be exported; give a RuleEnsemble or an estimator "
            "that has been fitted."
        )
    return ensemble


def summarize(model: Any) -> dict[str, Any]:
    """Return what a fit says of its model; nothing for an ensemble by itself."""
    if isinstance(model, RuleEnsemble):
        return {}
    return {
        "estimator": type(model).__name__,
        **{name: getattr(model, f"{name}_", None) for name in FITTED},
        "supports": getattr(model, "_supports", None),
        "importances": getattr(model, "_importances", None),
    }
