"""The package itself: what it offers, and that offering it loads nothing."""

import subprocess
import sys
from importlib import import_module

import pytest

import ruleglm


@pytest.mark.parametrize("name", ruleglm.__all__)
def test_names_come_from_their_modules(name):
    module = import_module(f"ruleglm.{ruleglm.HOMES[name]}")
    assert getattr(ruleglm, name) is getattr(module, name)
    assert name in dir(ruleglm)


def test_every_name_has_a_module():
    assert set(ruleglm.__all__) == set(ruleglm.HOMES)


def test_modules_are_found_and_other_names_are_not():
    assert ruleglm.families.FAMILIES
    with pytest.raises(AttributeError, match="has no attribute 'RuleClassifer'"):
        _ = ruleglm.RuleClassifer
    assert not hasattr(ruleglm, "_nothing")


@pytest.mark.parametrize(
    ("work", "unloaded"),
    [
        ("import ruleglm", {"sklearn", "numba", "pandas", "scipy"}),
        ("import ruleglm.cli.app", {"sklearn", "numba", "pandas", "scipy"}),
        ("import ruleglm; ruleglm.load_model", {"numba"}),
    ],
)
def test_what_is_not_needed_is_not_loaded(work, unloaded):
    code = f"{work}; import sys; print(*sorted({unloaded} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "\n"
