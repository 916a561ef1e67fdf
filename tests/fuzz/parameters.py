"""Random parameters of the four estimators."""

from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV
from ruleglm.conditions import format_level, quote_name
from tests.fuzz.frames import pick

ESTIMATORS = {
    ("classes", False): RuleClassifier,
    ("classes", True): RuleClassifierCV,
    ("numbers", False): RuleRegressor,
    ("numbers", True): RuleRegressorCV,
}


def draw_model(rng, frame, target):
    """An unfitted estimator, and the flaws that its parameters have."""
    cv = bool(rng.random() < 0.25)
    kind = "classes" if target.family == "classes" else "numbers"
    penalty = pick(rng, ("l0", "l1"))
    flaws = set()
    given = {
        "penalty": penalty,
        "max_degree": pick(rng, ("auto", 1, 2, 3, None)),
        "bins": pick(rng, ("auto", 2, 5, 32, 254)),
        "linear_terms": bool(rng.random() < 0.5),
        "min_level_share": pick(rng, (0.0, 0.0, 0.1)),
        "n_jobs": pick(rng, (None, 2)),
    }
    if is_long(given, frame):
        given["max_degree"] = 2
    if kind == "numbers":
        given["family"] = target.family
        given["power"] = pick(rng, (1.5, 1.01, 1.99))
        given["alpha"] = pick(rng, (1.0, 1e-6, 100.0))
    elif rng.random() < 0.2:
        given["class_weight"] = "balanced"
    draw_search(rng, given, flaws, cv)
    draw_budget(rng, given, cv)
    draw_wishes(rng, given, flaws, frame, target)
    if rng.random() < 0.1:
        given["time_limit"] = pick(rng, (1e-9, 0.01, 0.5))
    return ESTIMATORS[kind, cv](**given), flaws


def is_long(given, frame):
    """Whether a search of all rules would take minutes, as the parameter's documentation says."""
    degree = 9 if given["max_degree"] is None else given["max_degree"]
    if given["penalty"] == "l0" or degree in ("auto", 1, 2):
        return False
    return len(frame.names) > (3 if degree == 9 else 8) or frame.n_rows > 100


def draw_search(rng, given, flaws, cv):
    pricing = pick(rng, ("auto", "histogram", "beam", "mip"), (0.5, 0.25, 0.22, 0.03))
    if cv and pricing == "mip":  # a program for each class, penalty and fold
        pricing = "auto"
    given["pricing"] = pricing
    if pricing in ("beam", "mip") and given["penalty"] == "l0":
        flaws.add("pricing")
    if pricing == "beam" and rng.random() < 0.3:
        given["pricing_options"] = {
            "beam_width": 2,
            "early_stop": pick(rng, ("no", "at_once", "degree")),
        }
    if pricing == "mip":
        given["pricing_options"] = {"seconds": 0.3}
        given["max_rounds"] = 3
        given["max_degree"] = 2


def draw_budget(rng, given, cv):
    if cv:
        given["cv"] = pick(rng, (2, 3))
        given["max_complexity"] = pick(rng, (0, 5, 20))
        given["n_lambdas"] = pick(rng, (1, 4, 10))
        given["select"] = pick(rng, ("min", "1se", {"max_rules": 3}))
    elif given["penalty"] == "l1":
        given["lambda_0"] = pick(rng, (0.3, 0.02, 0.02, 0.003))
        given["lambda_1"] = pick(rng, (None, 0.0, 0.01))
        given["debias"] = pick(rng, (True, False, 0.5))
    else:
        given["max_complexity"] = pick(rng, (None, 0, 1, 7.3, 20))
        given["max_rules"] = pick(rng, (None, None, 0, 4))
        given["price"] = pick(rng, (None, None, 1e-3))
        given["ridge"] = pick(rng, (10.0, 1e-3, 1e3))


def draw_wishes(rng, given, flaws, frame, target):
    """What a person asks of the rules: given ones, constraints, numbers that are categories."""
    kinds = frame.kinds()
    if "duplicates" in frame.flaws or not kinds:
        return
    names = list(kinds)
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    filled = [any(value is not None for value in column.values) for column in frame.columns]
    kept = [name for name, some in zip(kinds, filled, strict=True) if some]  # polars: text if empty
    ordered = [name for name in kept if kinds[name] in ("number", "ordered")]
    if numbers and rng.random() < 0.1:
        given["categorical"] = [pick(rng, numbers)]
        return  # what follows would have to know
    if rng.random() < 0.15:
        line = numbers and rng.random() < 0.3
        entry, flaw = (pick(rng, numbers), set()) if line else draw_rule(rng, frame)
        given["include"] = [entry]
        flaws |= {"include"} | flaw
    if rng.random() < 0.15:
        whole = rng.random() < 0.5
        entry, flaw = (pick(rng, names), set()) if whole else draw_rule(rng, frame)
        many = target.classes > 2 and given["penalty"] == "l1"  # without a bound: takes minutes
        given["exclude"] = None if many else [entry]
        flaws |= set() if many else flaw
        flaws |= {"include"} if given.get("include") == [entry] else set()
    if ordered and rng.random() < 0.2:
        given["monotone"] = {pick(rng, ordered): pick(rng, (1, -1))}
        flaws |= {"monotone"} if target.classes > 2 else set()
    if len(names) > 1 and rng.random() < 0.2:
        pair = tuple(names[k] for k in rng.permutation(len(names))[:2])
        key = pick(rng, ("allowed_interactions", "forbidden_interactions"))
        given[key] = [pair]
        flaws |= {"mip"} if given["pricing"] == "mip" else set()
    full = [name for name in kept if kinds[name] == "number"]
    if full and rng.random() < 0.1:
        given["thresholds"] = {pick(rng, full): sorted({0.0, float(rng.normal())})}


def draw_rule(rng, frame):
    """The text of a rule about one of the columns, most often a sensible one, and its flaws."""
    kinds = frame.kinds()
    place = int(rng.integers(len(kinds)))
    name, column = list(kinds)[place], frame.columns[place]
    present = [value for value in column.values if value is not None]
    said = quote_name(name)
    if rng.random() < 0.15 or not present or not column.kind:
        return f"{said} is missing", set()
    if column.kind == "number":
        value = float(pick(rng, present))
        return f"{said} > {value!r}" if abs(value) < 1e308 else f"{said} is not missing", set()
    level = pick(rng, present)
    if column.kind == "ordered" and rng.random() < 0.8:
        sign = pick(rng, ("<=", ">"))
        last = sign == ">" and level == column.dtype.categories[-1]
        return f"{said} {sign} {format_level(level)}", {"no level above"} if last else set()
    text = f"{said} {pick(rng, ('=', '!='))} {format_level(level)}"
    return text, {"levels of an order"} if column.kind == "ordered" else set()
