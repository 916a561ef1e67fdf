"""Runs ONNX graphs on frames."""

import numpy as np
import onnxruntime

GONE = "<missing>"
"""Stands for a missing text."""


def run_onnx(model, frame, **more):
    """Feed the columns that the graph asks for, and return its outputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    feeds = {}
    for given in session.get_inputs():
        values = more[given.name] if given.name in more else frame[given.name]
        values = np.asarray(values, dtype=object)[:, None]
        if given.type == "tensor(string)":
            feeds[given.name] = np.array(
                [[GONE if value is None or value != value else str(value)] for (value,) in values],
                dtype=object,
            )
        else:
            assert given.type == "tensor(double)"
            feeds[given.name] = values.astype(float)
    return session.run(None, feeds)
