"""Estimators for rows that are spread over a cluster: the others, with another engine."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted, check_random_state

from ruleglm.checks import warn_of_light_weights
from ruleglm.dask.blocks import Fold, View, glance
from ruleglm.dask.prediction import predict_blocks
from ruleglm.dask.rows import DaskRaw, DaskRows, held_out
from ruleglm.dask.session import ClusterLostError, Session
from ruleglm.dask.sources import column_names, is_collection, load_blocks, open_source
from ruleglm.dtypes import AnyArray
from ruleglm.estimators import RuleClassifier, RuleRegressor
from ruleglm.estimators_cv import RuleClassifierCV, RuleRegressorCV
from ruleglm.expert import Columns, read_entries
from ruleglm.family import Family
from ruleglm.models import RuleModel
from ruleglm.pricing import Penalty
from ruleglm.selection import Plan, read_ratios
from ruleglm.solvers.columns import KEEP_ABOVE
from ruleglm.targets import check_classes

if TYPE_CHECKING:
    import pandas as pd

LOST = "the last model before the cluster was lost, of which nothing is proved"

DOC = """{what}, learned where the rows are.

    The rules and coefficients are those that `{local}` learns of the same rows: exactly as long as
    no column has more than 100,000 distinct values, beyond which thresholds are chosen from
    summaries.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None means the current one.
    **parameters
        Those of `{local}`. ``n_jobs`` are threads here, and folds at a time; on the workers every
        thread is used.

    Attributes
    ----------
    traffic_ : pandas.DataFrame
        What was moved: for each kind of question how often it was asked, messages, bytes and
        seconds. ``trace_`` has the messages and bytes of each round.
    ... : as `{local}`
    """


class _DaskModel(RuleModel):
    """What the four share: data come from collections, predictions may go to them."""

    _local: ClassVar[Any]
    client: Any

    def __init__(self, *, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        names: list[str] = cls._local._get_param_names()
        return sorted([*names, "client"])

    def __sklearn_clone__(self) -> Any:
        parameters = self.get_params(deep=False)
        return type(self)(**parameters)  # the client is shared

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    # --- fits

    @staticmethod
    def _open(X: Any, *vectors: Any) -> tuple[Any, ...]:
        """Leave files to the workers."""
        return X, *vectors

    def _fit(self, *given: Any) -> Any:
        with self._on_cluster():
            return super()._fit(*given)

    def _prepare(self, *given: Any) -> Any:
        """Check and code the rows, and let go of what they were coded from."""
        rows = super()._prepare(*given)
        self._session.release(self._session.blocks)
        return rows

    @contextmanager
    def _on_cluster(self) -> Iterator[None]:
        """Leave nothing on the cluster, whatever happens, and keep the last model if it is lost."""
        self._session = Session(find_client(self.client))
        self._coded: list[ref[DaskRows]] = []
        try:
            yield
        except ClusterLostError:
            self._hold_last()
            raise
        finally:
            self.traffic_: pd.DataFrame = self._session.table()
            self._session.close()
            del self._session, self._coded

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any = None
    ) -> Any:
        """Check the data before anything long begins."""
        X = open_source(X)
        vectors = {
            "y": y,
            "sample_weight": sample_weight,
            "offset": offset,
            "exposure": exposure,
            "groups": getattr(self, "_groups", None),
        }
        vectors = {role: values for role, values in vectors.items() if values is not None}
        if "y" not in vectors:
            raise ValueError("requires y to be passed, but the target y is None")
        names = column_names(X, vectors)
        self._note_features(names, X)
        blocks = self._session.blocks = load_blocks(self._session, X, vectors)
        family = self._look(blocks, "sample_weight" in vectors)
        self._target_name = y if isinstance(y, str) else str(getattr(y, "name", None) or "")
        categorical = () if self.categorical is None else tuple(self.categorical)
        labels = self.classes_ if is_classifier(self) else None
        view = View(family, categorical, labels)
        raw = self._with_wishes(
            DaskRaw(self._session, blocks, view, "sample_weight" in vectors, coded=self._coded)
        )
        self._describe_rows(raw)
        return raw

    def _note_features(self, names: list[str] | None, X: Any) -> None:
        self.n_features_in_ = X.shape[1] if names is None else len(names)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _look(self, blocks: list[Any], weighted: bool) -> Family:
        """Check target and weights of every partition; return the family."""
        classify = is_classifier(self)
        family = None if classify else self._make_family()
        looks = self._session.map_blocks("glance", glance, blocks, classify, family)
        self._n_rows = sum(look.n_rows for look in looks)
        if self._n_rows == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if family is not None:
            return family
        masses: dict[Any, float] = {}
        for look in looks:
            for label, mass in look.labels.items():
                masses[label] = masses.get(label, 0.0) + mass
        labels = np.array(list(masses))
        self.classes_ = np.unique(labels)
        weights = np.array(list(masses.values()))
        check_classes(labels, self.classes_, weights if weighted else None)
        if len(self.classes_) > 2:
            raise ValueError(
                f"y holds {len(self.classes_)} classes, and more than two are fitted on one "
                "machine only: use RuleClassifier, or a DaskRuleClassifier for each class"
            )
        return self._make_family()

    def _with_wishes(self, raw: DaskRaw) -> DaskRaw:
        """Read what is to be included and excluded."""
        include, exclude = self.include, self.exclude
        if include or exclude:
            raw.expert = read_entries(include, exclude, Columns(raw.scan()))
        return raw

    def _describe_rows(self, raw: DaskRaw) -> None:
        counts = self._class_weights()
        counted = raw.weigh(counts).summary()
        if not counted.sketches:
            raise ValueError("`sample_weight` is zero in every row; at least one row has to count")
        if (raw.weighted or counts is not None) and self.penalty == "l0":
            warn_of_light_weights(counted.weight, sum(counted.counts))
        self._target_mean = raw.summary().mean

    def _hold_last(self) -> None:
        """Make the model that the fit last stood at this estimator's own."""
        alive = [rows for rows in (each() for each in self._coded) if rows is not None]
        engine = alive[0].first_engine if alive else None
        if engine is None:
            return
        units, n_linear = alive[0].units, engine.n_linear
        used = np.flatnonzero(np.abs(engine.coef[1:]) > KEEP_ABOVE)
        rules = used[used >= n_linear] - n_linear
        said = units.translate(
            [engine.rules[k] for k in rules],
            used[used < n_linear].tolist(),
            engine.coef[[0, *(1 + used)]],
            engine.supports()[rules],
        )
        self._show(said)
        self._features, self._thresholds = units.binning.features, units.binning.thresholds
        self.objective_ = self.lower_bound_ = self.gap_ = np.nan
        self.certified_, self.certificate_ = False, LOST
        self.n_iter_, self._trace = 0, ()

    # --- predictions

    def _predict(self, method: str, X: Any, sample: AnyArray, **vectors: Any) -> Any:
        if not is_collection(X):
            given = {name: values for name, values in vectors.items() if values is not None}
            return getattr(super(), method)(X, **given)
        check_is_fitted(self, "ensemble_")
        model = copy(self)
        model.client = None
        return predict_blocks(model, method, X, vectors, sample)


class _DaskClassifier(_DaskModel):
    classes_: AnyArray

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """Return the most probable class of each row; a dask collection for one."""
        return self._predict("predict", X, self._classes()[:0], offset=offset)

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Return the probability of each class; a dask collection for one."""
        sample = np.zeros((0, len(self._classes())))
        return self._predict("predict_proba", X, sample, offset=offset)

    def decision_function(self, X: Any, *, offset: Any = None) -> Any:
        """Return the log-odds of the second class; a dask collection for one."""
        return self._predict("decision_function", X, np.zeros(0), offset=offset)

    def _classes(self) -> AnyArray:
        return getattr(self, "classes_", np.zeros(0))


class _DaskRegressor(_DaskModel):
    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """Return the mean of the target in each row; a dask collection for one."""
        return self._predict("predict", X, np.zeros(0), offset=offset, exposure=exposure)


class _DaskChoice(_DaskModel):
    """What the two that choose by cross-validation share."""

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        offset: Any,
        exposure: Any = None,
    ) -> Any:
        if not isinstance(self.cv, (int, np.integer)) and self.cv is not None:
            raise TypeError("`cv` has to be a number of folds: row numbers mean nothing here")
        if self.cv is not None and self.cv < 2:
            raise ValueError(f"`cv` is {self.cv}; give at least 2 folds")
        if self.scoring is not None:
            raise ValueError("`scoring` has to be None, the mean loss: it is computed on workers")
        self._groups = groups
        try:
            return super()._fit(X, y, sample_weight, None, offset, exposure)
        finally:
            del self._groups

    def _plan(self, X: Any, raw: Any, groups: Any) -> Plan:  # noqa: ARG002
        ratios = read_ratios(self.lambda_ratio)[: None if self.penalty == "l1" else 1]
        settings = tuple(
            self._make_settings(Penalty(1.0, ratio), float(self.max_complexity), path=True)
            for ratio in ratios
        )
        return Plan(raw, raw.view.family, settings, self.n_lambdas, self._folds(), None, held_out)

    def _folds(self) -> Any:
        """Return the two sides of each fold; see `Fold`."""
        n_folds = 5 if self.cv is None else int(self.cv)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        stratified = is_classifier(self)
        return tuple(
            tuple(Fold(number, n_folds, seed, stratified, side) for side in (False, True))
            for number in range(n_folds)
        )


def _with_client(cls: Any) -> Any:
    """Give an estimator the parameters of the local one, and the client."""
    known = inspect.signature(cls._local).parameters.values()
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    cls.__signature__ = inspect.Signature([*known, client])
    constraints = cls._local._parameter_constraints
    cls._parameter_constraints = {**constraints, "client": "no_validation"}
    return cls


@_with_client
class DaskRuleClassifier(_DaskClassifier, RuleClassifier):  # noqa: D101
    _local = RuleClassifier
    __doc__ = DOC.format(
        what="Probabilities of classes from a few short rules", local="RuleClassifier"
    )


@_with_client
class DaskRuleRegressor(_DaskRegressor, RuleRegressor):  # noqa: D101
    _local = RuleRegressor
    __doc__ = DOC.format(
        what="Numbers, counts or rates from a few short rules", local="RuleRegressor"
    )


@_with_client
class DaskRuleClassifierCV(_DaskChoice, _DaskClassifier, RuleClassifierCV):  # noqa: D101
    _local = RuleClassifierCV
    __doc__ = DOC.format(what="As many short rules as held-out rows ask", local="RuleClassifierCV")


@_with_client
class DaskRuleRegressorCV(_DaskChoice, _DaskRegressor, RuleRegressorCV):  # noqa: D101
    _local = RuleRegressorCV
    __doc__ = DOC.format(what="As many short rules as held-out rows ask", local="RuleRegressorCV")


def find_client(client: Any) -> Any:
    """Return the client given, or the current one."""
    from distributed import default_client

    if client is not None:
        return client
    try:
        return default_client()
    except ValueError as error:
        raise ValueError(
            "there is no Dask client; make one, e.g. distributed.Client() for this machine, or "
            "give one as `client`"
        ) from error
