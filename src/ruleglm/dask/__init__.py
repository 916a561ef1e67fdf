"""Fits on rows that are spread over a Dask cluster; needs ``pip install "ruleglm[dask]"``.

The algorithm is that of the other estimators: partitions are binned where they are, every round
sends the model to the workers and brings back sums over rows.
"""

try:
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError('ruleglm.dask needs Dask: pip install "ruleglm[dask]"') from error

from ruleglm.dask.estimators import (
    DaskRuleClassifier,
    DaskRuleClassifierCV,
    DaskRuleRegressor,
    DaskRuleRegressorCV,
)
from ruleglm.dask.session import ClusterLostError

__all__ = [
    "ClusterLostError",
    "DaskRuleClassifier",
    "DaskRuleClassifierCV",
    "DaskRuleRegressor",
    "DaskRuleRegressorCV",
]
