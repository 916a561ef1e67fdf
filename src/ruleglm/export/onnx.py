"""A model as an ONNX graph of standard operators, in double precision throughout."""

from typing import TYPE_CHECKING, Any

from ruleglm.export.source import get_ensemble

if TYPE_CHECKING:
    import onnx


def to_onnx(model: Any, *, missing: str = "", offset: str | None = None) -> "onnx.ModelProto":
    """Write a model as an ONNX graph.

    Parameters
    ----------
    model : RuleEnsemble or fitted estimator
    missing : str
        The text that stands for a missing value in inputs of text, where ONNX has no other. It must
        not be a level that the model knows.
    offset : str, optional
        Name of one more input that is added to the linear predictor.

    Returns
    -------
    onnx.ModelProto
        One input of shape (n, 1) for each column that the model reads, of the column's name:
        doubles for numbers and booleans (0 and 1), NaN if missing, and strings for text. The
        outputs are ``linear_predictor`` and ``mean`` (of a classifier ``probability``), doubles
        of shape (n, 1) or (n, n_classes), and for labels of one type ``label``, shape (n,). An
        output that a column is called like gets an underscore at its end.
    """
    try:
        from ruleglm.export.onnx_graph import Graph
    except ImportError as error:
        raise ImportError('to_onnx needs onnx: pip install "ruleglm[onnx]".') from error
    return Graph(get_ensemble(model), missing, offset).build()
