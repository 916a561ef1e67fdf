"""Generalized linear rule models: a few short if-then rules, each with a coefficient.

Names are looked up in their modules when they are first used, so that a saved model can predict,
and the command line can answer, without loading what only fits need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ruleglm.dispersion import estimate_alpha
    from ruleglm.ensemble import RuleEnsemble
    from ruleglm.estimators import RuleClassifier, RuleRegressor
    from ruleglm.estimators_cv import RuleClassifierCV, RuleRegressorCV
    from ruleglm.export import load_model, save_model
    from ruleglm.files import RowFiles
    from ruleglm.parser import RuleSyntaxError, parse_rule
    from ruleglm.path import TradeoffPath
    from ruleglm.progress import FitProgress
    from ruleglm.refitting import refit
    from ruleglm.rules import LinearTerm, Rule

__version__ = "0.1.0"

__all__ = [
    "FitProgress",
    "LinearTerm",
    "RowFiles",
    "Rule",
    "RuleClassifier",
    "RuleClassifierCV",
    "RuleEnsemble",
    "RuleRegressor",
    "RuleRegressorCV",
    "RuleSyntaxError",
    "TradeoffPath",
    "estimate_alpha",
    "load_model",
    "parse_rule",
    "refit",
    "save_model",
]

HOMES = {
    "FitProgress": "progress",
    "LinearTerm": "rules",
    "RowFiles": "files",
    "Rule": "rules",
    "RuleClassifier": "estimators",
    "RuleClassifierCV": "estimators_cv",
    "RuleEnsemble": "ensemble",
    "RuleRegressor": "estimators",
    "RuleRegressorCV": "estimators_cv",
    "RuleSyntaxError": "parser",
    "TradeoffPath": "path",
    "estimate_alpha": "dispersion",
    "load_model": "export",
    "parse_rule": "parser",
    "refit": "refitting",
    "save_model": "export",
}
"""Module of each name that the package offers."""


def __getattr__(name: str) -> Any:
    """Load a name of ``__all__``, or a module of the package, when it is first asked for."""
    if name in HOMES:
        value = getattr(import_module(f"ruleglm.{HOMES[name]}"), name)
        globals()[name] = value
        return value
    module = f"ruleglm.{name}"
    try:
        if not name.startswith("_"):
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    raise AttributeError(f"module 'ruleglm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *HOMES]
