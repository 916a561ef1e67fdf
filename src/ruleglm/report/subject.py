"""What a report is about: models from simple to complex, and what is known of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ruleglm.bins import FeatureBins
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain import TermSpread


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model and what the training rows say of it.

    Attributes
    ----------
    ensemble : RuleEnsemble
    spread : TermSpread, means and standard deviations of its terms on the training rows
    certificate : str, what is proved, in words
    place : int, its row in the table of the path, -1 if there is no path
    scores : mapping of str to float
        ``cv_mean``, ``cv_se``, ``train_loss`` if there is a path.
    """

    ensemble: RuleEnsemble
    spread: TermSpread
    certificate: str
    place: int = -1
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Subject:
    """What a report is about.

    Attributes
    ----------
    candidates : tuple of Candidate, at least one
    features : tuple of FeatureBins, the columns of the training data
    estimator : str, how it was made
    n_rows : int, training rows
    target : str, empty if it has no name
    chosen : int, position of the model that the estimator holds
    scoring : str, name of the cross-validated score, empty for the mean loss
    greater_is_better : bool, about the cross-validated score
    n_folds : int, 0 if there was no cross-validation
    """

    candidates: tuple[Candidate, ...]
    features: tuple[FeatureBins, ...]
    estimator: str
    n_rows: int
    target: str
    chosen: int = 0
    scoring: str = ""
    greater_is_better: bool = False
    n_folds: int = 0
