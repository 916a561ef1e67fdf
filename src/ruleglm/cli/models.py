"""Saved models: the model itself and what its file says of the fit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.cli.errors import UserError
from ruleglm.cli.roles import Roles

if TYPE_CHECKING:
    from ruleglm.ensemble import RuleEnsemble

FIT = "fit"
"""Field of a file's summary that holds what the command line adds to it."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model and what is known of it.

    Attributes
    ----------
    ensemble : "RuleEnsemble"
    summary : mapping
        Supports, importances, certificate, and in ``fit`` the columns' roles, scores and path.
    """

    ensemble: "RuleEnsemble"
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fit(self) -> Mapping[str, Any]:
        """What the command line wrote down of the fit; empty for models from elsewhere."""
        found = self.summary.get(FIT, {})
        return found if isinstance(found, Mapping) else {}

    def text(self) -> str:
        """Return the text of the model's file."""
        from ruleglm.export import to_json

        return to_json(self.ensemble, summary=self.summary)

    def document(self) -> dict[str, Any]:
        """Return the same as dictionaries and lists."""
        document: dict[str, Any] = json.loads(self.text())
        return document

    def numbers(self, name: str) -> Any:
        """Return supports or importances, one a term, or None if the file has none."""
        values = self.summary.get(name)
        n_terms = len(self.ensemble.linear_terms) + len(self.ensemble.rules)
        if values is None or len(values) != n_terms:
            return None
        return np.array(values, dtype=np.float64)

    def reading(self) -> "RuleEnsemble":
        """Return the model with the columns that its terms read, and no others."""
        ensemble = self.ensemble
        used = {name for rule in ensemble.rules for name in rule.features}
        used |= {term.feature for term in ensemble.linear_terms}
        if not used:
            return ensemble
        return replace(
            ensemble,
            names=tuple(name for name in ensemble.names if name in used),
            kinds={name: kind for name, kind in ensemble.kinds.items() if name in used},
            orders={name: order for name, order in ensemble.orders.items() if name in used},
        )

    def texts(self) -> set[str]:
        """Return the columns whose levels are texts, and the target if its classes are."""
        from ruleglm.conditions import Levels

        rules = self.ensemble.rules
        parts = [part for rule in rules for part in rule.conditions if isinstance(part, Levels)]
        found = {part.feature for part in parts if any(isinstance(one, str) for one in part.levels)}
        target = self.fit.get("columns", {}).get("target")
        if target is not None and any(isinstance(label, str) for label in self.ensemble.classes):
            found.add(target)
        return found

    def roles(self, **given: str | None) -> Roles:
        """Return the roles of the columns as in the fit, where the user does not name others."""
        known = self.fit.get("columns", {})
        named: dict[str, Any] = {role: name or known.get(role) for role, name in given.items()}
        return Roles(**named)


def open_model(path: Path) -> SavedModel:
    """Read a model from its file.

    Raises
    ------
    UserError
        If there is no such file or it holds no model.
    """
    from ruleglm.export import load_model, load_summary

    if not path.is_file():
        raise UserError(f"There is no file {str(path)!r}; 'ruleglm fit ... --out' writes a model.")
    try:
        return SavedModel(load_model(path), load_summary(path))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
