"""Settings of the whole suite."""

import os

from hypothesis import settings

# scikit-learn leaves out its check of array types unless SciPy's support for them is switched on,
# which has to happen before SciPy is first imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("suite")
