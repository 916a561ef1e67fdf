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


def name_outputs(ensemble: RuleEnsemble) -> list[tuple[str, str]]:
    """Return names for the linear predictor and the mean, a pair for each class of several."""
    mean = "probability" if ensemble.classes else "mean"
    if not ensemble.family.output_shape:
        return [("linear_predictor", mean)]
    labels = [str(label) for label in ensemble.classes]
    if len({label.casefold() for label in labels}) < len(labels):
        labels = [str(k) for k in range(len(labels))]
    return [(f"linear_predictor_{label}", f"{mean}_{label}") for label in labels]
