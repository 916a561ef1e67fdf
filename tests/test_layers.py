"""Who may import whom: every module knows only the layers below its own."""

import ast
import sys
from pathlib import Path

import pytest

import ruleglm

LAYERS = [  # low to high; modules of one line do not know each other either
    ["dtypes", "progress"],
    ["kernels", "datasets", "storage"],
    ["parallel"],
    ["columns", "files"],
    ["frames"],
    ["conditions", "lookalikes", "family"],
    ["rules", "families", "class_weights"],
    ["multinomial"],
    ["parser", "checks", "targets"],
    ["ensemble", "dispersion"],
    ["export"],
    ["bins", "thresholds"],
    ["sketches"],
    ["binning", "linear"],
    ["explain", "constraints"],
    ["engines"],
    ["expert"],
    ["pricing"],
    ["solvers"],
    ["training"],
    ["grid"],
    ["fitting", "refitting"],
    ["multiclass"],
    ["adaptive"],
    ["path"],
    ["selection"],
    ["assess"],
    ["report"],
    ["models"],
    ["estimators"],
    ["estimators_cv"],
    ["dask"],
    ["__init__"],
    ["cli"],
]

NARROWER = {  # modules that know less than the layers below them
    "kernels": {"dtypes"},
    "checks": {"family", "dtypes"},
}

LIBRARIES = {
    "kernels": {"numpy", "numba", "llvmlite"}
}  # beside the standard library; others use any

ONLY_IN = {"numba": "kernels", "llvmlite": "kernels"}

HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}
SOURCE = Path(ruleglm.__file__).parent


def find_imports(text):
    """Dotted names of all imports, those inside functions and for type checking included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module == "ruleglm":  # `from ruleglm import kernels` is about kernels
                yield from (f"ruleglm.{alias.name}" for alias in node.names)
            else:
                yield module


def name_part(imported):
    """The part of the package that an import is about: what the package offers is __init__'s."""
    part = (imported.split(".") + ["__init__"])[1]
    return part if part in HEIGHT else "__init__"


def find_offences(part, text):
    """What a module of that part of the package imports and should not."""
    if part not in HEIGHT:
        return [f"{part} has no place in LAYERS"]
    allowed = NARROWER.get(part, {other for other in HEIGHT if HEIGHT[other] < HEIGHT[part]})
    offences = []
    for imported in find_imports(text):
        library = imported.split(".")[0]
        if library == "":
            offences.append(f"{part}: write {imported} as an absolute import")
        elif library == "ruleglm":
            if name_part(imported) not in allowed | {part}:
                offences.append(f"{part} must not import {imported}")
        elif library not in LIBRARIES.get(part, {library}) | sys.stdlib_module_names:
            offences.append(f"{part} must not import {imported}")
        elif ONLY_IN.get(library, part) != part:
            offences.append(f"{part} must not import {imported}, only {ONLY_IN[library]} may")
    return offences


def test_no_module_imports_a_layer_above_its_own():
    modules = sorted(SOURCE.rglob("*.py"))
    assert {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in modules} >= {
        "dtypes",
        "kernels",
        "estimators",
    }
    offences = []
    for path in modules:
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        offences += find_offences(part, path.read_text(encoding="utf-8"))
    assert offences == []


@pytest.mark.parametrize(
    ("part", "text", "offence"),
    [
        ("rules", "from ruleglm.ensemble import RuleEnsemble", "import ruleglm.ensemble"),
        ("rules", "import ruleglm.ensemble", "import ruleglm.ensemble"),
        ("rules", "from ruleglm import parser", "import ruleglm.parser"),
        ("rules", "from ruleglm.families import Family", "import ruleglm.families"),
        ("engines", "def f():\n    from ruleglm.solvers.master import refit", "solvers.master"),
        ("pricing", "if TYPE_CHECKING:\n    from ruleglm.fitting import x", "ruleglm.fitting"),
        ("fitting", "from ruleglm import RuleClassifier", "import ruleglm.RuleClassifier"),
        ("fitting", "import ruleglm", "import ruleglm"),
        ("estimators", "from . import cli", "absolute import"),
        ("checks", "from ruleglm.frames import Table", "import ruleglm.frames"),
        ("kernels", "from ruleglm.columns import Column", "import ruleglm.columns"),
        ("kernels", "import scipy.linalg", "import scipy.linalg"),
        ("engines", "import numba", "only kernels may"),
        ("solvers", "from numba import njit", "only kernels may"),
        ("brand_new", "import math", "no place in LAYERS"),
    ],
)
def test_offences_are_found(part, text, offence):
    (found,) = find_offences(part, text)
    assert offence in found


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("kernels", "import sys\nimport numba\nimport numpy as np\nfrom ruleglm import dtypes"),
        ("kernels", "from ruleglm.kernels.compile import kernel"),
        ("engines", "from ruleglm import kernels\nfrom ruleglm.engines.base import Engine"),
        ("estimators", "import sklearn.base\nfrom ruleglm.fitting import fit_rules"),
        ("cli", "from ruleglm import RuleClassifier, __version__"),
    ],
)
def test_what_is_allowed_is_no_offence(part, text):
    assert find_offences(part, text) == []
