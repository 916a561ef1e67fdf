"""Settings of the whole suite."""

import os
import signal

import pytest
from hypothesis import settings

# scikit-learn leaves out its check of array types unless SciPy's support for them is switched on,
# which has to happen before SciPy is first imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# A shell starts background jobs with interrupts ignored, and the tests of interrupts need them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def cli_folder(tmp_path_factory):
    """A folder with rows and models that the command line wrote."""
    from tests.cli_cases import fill_folder

    return fill_folder(tmp_path_factory.mktemp("cli"))
