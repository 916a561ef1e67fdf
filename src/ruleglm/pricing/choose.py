"""Names of pricers, as a user gives them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ruleglm.pricing.bans import Bans, ExcludingPricer
from ruleglm.pricing.beam import BeamOptions, BeamPricer
from ruleglm.pricing.histogram import HistogramPricer
from ruleglm.pricing.mip import MipOptions, MipPricer
from ruleglm.pricing.problem import Pricer
from ruleglm.pricing.vocabulary import ConditionTable

PRICERS = ("auto", "histogram", "beam", "mip")

N_RULES = 60
"""The most rules that histograms add in one round."""


def build_pricer(
    name: str,
    table: ConditionTable,
    max_degree: int | None,
    options: Mapping[str, Any] | None = None,
    bans: Bans | None = None,
) -> Pricer:
    """Return the pricer of a name.

    Parameters
    ----------
    name : {"auto", "histogram", "beam", "mip"}
        "histogram" searches the whole class in every round; "auto" stops at the lowest degree
        that has improving rules, and searches the whole class to finish and certify.
    table : ConditionTable
    max_degree : int or None
    options : mapping, fields of BeamOptions or MipOptions
    bans : Bans, rules that must not be returned
    """
    pricer = _build_plain(name, table, max_degree, dict(options or {}), bans)
    return ExcludingPricer(pricer, bans, max_degree) if bans else pricer


def _build_plain(
    name: str,
    table: ConditionTable,
    max_degree: int | None,
    given: dict[str, Any],
    bans: Bans | None,
) -> Pricer:
    kinds: dict[str, type[BeamOptions] | type[MipOptions]] = {
        "beam": BeamOptions,
        "mip": MipOptions,
    }
    known = [field.name for field in fields(kinds[name])] if name in kinds else []
    for key in given:
        if key not in known:
            allowed = f"it knows {', '.join(known)}" if known else "it has none"
            raise ValueError(f"`pricing_options` has {key!r}, but pricing={name!r}: {allowed}")
    if name == "beam":
        return BeamPricer(table, max_degree, BeamOptions(**given))
    if name == "mip":
        if table.constraints.limits_interactions:
            raise ValueError(
                "pricing='mip' knows nothing of `allowed_interactions` and "
                "`forbidden_interactions`; use pricing='auto'"
            )
        return MipPricer(table, max_degree, MipOptions(**given))
    return HistogramPricer(table, max_degree, staged=name == "auto", n_rules=N_RULES, bans=bans)
