"""The one-file explorer, opened in a real browser."""

import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import metrics

from ruleglm import (
    LinearTerm,
    RuleClassifier,
    RuleClassifierCV,
    RuleEnsemble,
    RuleRegressor,
    parse_rule,
)
from ruleglm.bins import LevelBins, NumberBins
from ruleglm.explain import build_shapes, measure_terms, pair_importances
from ruleglm.multinomial import Multinomial
from ruleglm.refitting import Rows
from ruleglm.report import Candidate, Subject, write_report
from ruleglm.report.features import PageFeature, collect_features
from ruleglm.report.page import _read_asset, embed_json
from ruleglm.rules import Levels, Rule
from tests.data import mixed_frame, mixed_signal, target_of
from tests.rule_strategies import (
    floats,
    level_sets,
    levels,
    missings,
    ordered_ranges,
    orders,
    ranges,
    value_satisfies,
)

HOSTILE = "<script>hacked = 1</script>"
HOSTILE_LEVEL = "</script><img src=x onerror='hacked=2'>\"&"


def hostile_frame(n=300, seed=0):
    frame = mixed_frame(n, seed).rename(columns={"age": HOSTILE})
    frame["region"] = frame["region"].cat.rename_categories({"south": HOSTILE_LEVEL})
    return frame


@pytest.fixture(scope="module")
def fitted():
    """A path of classifiers, and test rows."""
    X, frame = hostile_frame(), mixed_frame(300)
    together = (frame["claims"] == 0) & (frame["sex"] == "F")
    y = np.where(mixed_signal(frame) + 2.0 * together > 1.0, "yes", "no")
    model = RuleClassifierCV(cv=3, max_complexity=16)
    model.fit(X[:220], pd.Series(y[:220], name="</title>"))
    return model, X[220:], y[220:]


@pytest.fixture(scope="module")
def file(fitted, tmp_path_factory):
    model, X, y = fitted
    return model.report(tmp_path_factory.mktemp("report") / "report.html", X, y)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    with sync_api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except sync_api.Error as error:
            pytest.skip(f"no browser: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Opens a file as a double click does, and watches for errors, dialogs and requests."""
    contexts = []

    def go(path, width=1300, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        address = path.resolve().as_uri()
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.on("request", lambda r: r.url == address or page.complaints.append(r.url[:99]))
        page.goto(address)
        return page

    yield go
    for context in contexts:
        for page in context.pages:
            assert page.complaints == []
            assert page.evaluate("typeof hacked") == "undefined"
        context.close()


def encode_rows(page, X):
    """Rows as the page sees them."""
    features = page.evaluate("data.features")
    return [[encode_value(f, row[f["name"]]) for f in features] for _, row in X.iterrows()]


def encode_value(feature, value):
    if pd.isna(value):
        return None
    if feature["kind"] == "number":
        return float(value)
    text = {True: "true", False: "false"}.get(value, str(value))
    return feature["levels"].index(text) if text in feature["levels"] else -1


def test_figures_and_their_errors_stay_short(file, visit):
    page = visit(file)
    text = "([score, error]) => scoreText({scores: {a: score, b: error}}, {key: 'a', error: 'b'})"
    assert page.evaluate(text, [0.5312, 0.0123]) == "0.531 ± 0.012"
    assert page.evaluate(text, [-0.5312, 1.23]) == "\N{MINUS SIGN}0.5 ± 1.2"
    assert page.evaluate(text, [3.92e-5, 2.8e-8]) == "3.92e-5 ± 2.80e-8".replace(
        "-", "\N{MINUS SIGN}"
    )


def predictions(page, index, rows):
    return page.evaluate(
        "([k, rows]) => rows.map((row) => evaluate(data, data.models[k], row).mean)", [index, rows]
    )


def edge_rows(X, ensembles):
    """Rows on all thresholds and just beyond, with missing values and unseen levels."""
    edges = {}
    for condition in (c for e in ensembles for rule in e.rules for c in rule.conditions):
        for bound in (getattr(condition, "low", math.inf), getattr(condition, "high", math.inf)):
            if math.isfinite(bound) and condition.order is None:
                edges.setdefault(condition.feature, set()).update(
                    {bound, math.nextafter(bound, math.inf), math.nextafter(bound, -math.inf)}
                )
    rows = []
    for name, values in edges.items():
        rows += [{**X.iloc[len(rows) % len(X)], name: value} for value in sorted(values)]
    for name in X:
        rows.append({**X.iloc[len(rows) % len(X)], name: None})
        if X[name].dtype.name in ("category", "object", "str"):
            rows.append({**X.iloc[len(rows) % len(X)], name: "never seen"})
    return pd.DataFrame(rows, columns=X.columns).astype(
        {name: float for name in X if X[name].dtype.kind in "if"}
    )


# ------------------------------------------------------------------------------------- the file


def test_names_and_levels_cannot_leave_the_data():
    value = {"a": ["</script>", "<!--", "&amp;", "\u2028", "\ud800", 'quo"te']}
    text = embed_json(value)
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == value


def test_the_file_is_whole_and_repeats(fitted, file, tmp_path):
    model, X, y = fitted
    again = model.report(tmp_path / "other.html", X, y)
    assert again.read_bytes() == file.read_bytes()
    assert len(again.read_bytes()) < 1_000_000
    dated = model.report(again, X, y, date="7 May", title="A & B").read_text("utf-8")
    assert "<title>A &amp; B</title>" in dated
    assert "7 May" in dated
    assert [path.name for path in tmp_path.iterdir()] == ["other.html"]
    with pytest.raises(FileNotFoundError, match="no folder"):
        model.report(tmp_path / "nowhere" / "x.html")


def test_a_failed_write_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    model, _, _ = fitted
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.report(path)
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["report.html"]


def test_wrong_test_rows_are_refused(fitted, tmp_path):
    model, X, y = fitted
    path = tmp_path / "report.html"
    with pytest.raises(ValueError, match="both"):
        model.report(path, X)
    with pytest.raises(ValueError, match="'maybe'"):
        model.report(path, X, ["maybe"] * len(X))
    with pytest.raises(ValueError, match="rows"):
        model.report(path, X, y[:-1])
    assert not path.exists()


def test_plain_text_of_the_page_has_no_address(file):
    text = file.read_text("utf-8")
    assert text.count("Permission to use, copy, modify") == 2  # the licences of D3 and Plot
    own = text[text.index("<body>") : text.index('<script id="data"')]
    assert "http" not in own


# ------------------------------------------------------------------------------- the arithmetic

number_cases = st.tuples(
    ranges(st.just("f")) | level_sets(st.just("f")) | missings(st.just("f")),
    st.lists(st.none() | floats, max_size=4),
)


@st.composite
def level_cases(draw):
    """A condition on levels, ordered ones too, and some of the levels that it could see."""
    known = draw(st.lists(levels, min_size=1, max_size=4, unique=True))
    among = st.sampled_from(known)
    condition = draw(
        level_sets(st.just("f"), among | levels)
        | missings(st.just("f"))
        | ordered_ranges(st.just("f"), st.just(tuple(known)) if len(known) > 1 else orders)
    )
    return known, condition, draw(st.lists(st.none() | among | levels, max_size=4))


@pytest.fixture(scope="module")
def script(browser):
    page = browser.new_page()
    page.add_script_tag(content=_read_asset("model.js"))
    yield page
    page.close()


def ask(page, feature, condition, values):
    described = json.loads(embed_json(feature.describe_condition(condition)))
    return page.evaluate("([c, values]) => values.map((v) => holds(c, v))", [described, values])


@settings(max_examples=60)
@example(case=(Levels("f", (2**60 + 1, 10**400, "x")), [2.0**60]))
@given(case=number_cases)
def test_conditions_on_numbers(script, case):
    condition, values = case
    edges = [getattr(condition, "low", 0.0), getattr(condition, "high", 0.0)]
    named = [v for v in getattr(condition, "levels", ()) if not isinstance(v, str)]
    values = [*values, *edges, *(float(v) for v in named if abs(v) < 1e300)]
    values = [v for v in values if v is None or math.isfinite(v)]
    feature = PageFeature(NumberBins("f", (), 1), (), ())
    answers = ask(script, feature, condition, values)
    assert answers == [value_satisfies(condition, value) for value in values]


@settings(max_examples=60)
@given(case=level_cases())
def test_conditions_on_levels(script, case):
    known, condition, values = case
    bins = LevelBins("f", tuple(known), 1)
    feature = collect_features((bins,), [Rule([condition])])["f"]
    place = {level: number for number, level in enumerate(feature.levels)}
    numbers = [None if value is None else place.get(value, -1) for value in values]
    answers = ask(script, feature, condition, numbers)
    assert answers == [value_satisfies(condition, value) for value in values]


# ----------------------------------------------------------------------------------- the scores


def read_data(path):
    text = path.read_text("utf-8")
    start = text.index('type="application/json">') + len('type="application/json">')
    return json.loads(text[start : text.index("</script>", start)])


def test_scores_are_those_of_scikit_learn(fitted, file):
    model, X, y = fitted
    data = read_data(file)
    truth = y == "yes"
    for each in data["models"]:
        plain = model.at(each["place"])
        share = plain.predict_proba(X)[:, 1]
        expected = {
            "test_loss": metrics.log_loss(truth, share),
            "test_auc": metrics.roc_auc_score(truth, share),
            "test_brier": metrics.brier_score_loss(truth, share),
            "test_accuracy": metrics.accuracy_score(y, plain.predict(X)),
        }
        for key, value in expected.items():
            assert each["scores"][key] == pytest.approx(value, rel=1e-5)
    table = model.path_.table().sort_values(["complexity", "train_loss"])
    assert [each["place"] for each in data["models"]] == table.index.tolist()
    assert data["models"][data["chosen"]]["place"] == model.best_index_


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_scores_of_regressions(family, tmp_path):
    X = mixed_frame(200)
    y, weights = target_of(family, X), np.arange(1.0, 201.0)
    model = RuleRegressor(family=family, lambda_0=0.05).fit(X, y)
    path = model.report(tmp_path / "report.html", X, y, sample_weight=weights)
    (one,) = read_data(path)["models"]
    mean = model.predict(X)
    if family == "gaussian":
        assert one["scores"]["test_r2"] == pytest.approx(
            metrics.r2_score(y, mean, sample_weight=weights), rel=1e-5
        )
    else:
        assert one["scores"]["test_d2"] == pytest.approx(
            metrics.d2_tweedie_score(y, mean, power=1, sample_weight=weights), rel=1e-5
        )
        assert one["scores"]["test_deviance"] == pytest.approx(
            metrics.mean_poisson_deviance(y, mean, sample_weight=weights), rel=1e-5
        )
    rmse = metrics.root_mean_squared_error(y, mean, sample_weight=weights)
    assert one["scores"]["test_rmse"] == pytest.approx(rmse, rel=1e-5)


def test_calibration_is_that_of_the_estimator(fitted, file):
    model, X, y = fitted
    for each in read_data(file)["models"]:
        expected = model.at(each["place"]).calibration(X, y).bins
        (groups,) = each["calibration"]
        np.testing.assert_allclose(groups, expected.to_numpy(), rtol=1e-5, atol=1e-12)


# ---------------------------------------------------------------------------------- the browser


def test_the_page_predicts_what_the_models_predict(fitted, file, visit):
    model, X, _ = fitted
    page = visit(file)
    ensembles = [model.path_.ensemble(each["place"]) for each in page.evaluate("data.models")]
    edges = edge_rows(X, ensembles)
    assert len(edges) > 20
    for X_now in (X, edges):
        rows = encode_rows(page, X_now)
        for index, ensemble in enumerate(ensembles):
            seen = np.array(predictions(page, index, rows))[:, 0]
            np.testing.assert_allclose(seen, ensemble.predict(X_now), rtol=1e-11, atol=1e-12)


def mean_shown(page):
    return float(page.locator("#mean").get_attribute("data-value"))


def test_what_if_follows_the_inputs_and_the_model(fitted, file, visit):
    model, _, _ = fitted
    page = visit(file)
    places = page.evaluate("data.models.map((m) => m.place)")
    features = page.evaluate("data.features")
    row = {}
    for feature in features:
        start = feature["start"]
        row[feature["name"]] = start if feature["kind"] == "number" else feature["levels"][start]
    row["smoker"] = row.get("smoker") == "true"
    full = {name: row.get(name, 0) for name in model.ensemble_.names}

    def expected(index, **changes):
        return model.path_.ensemble(places[index]).predict(pd.DataFrame([{**full, **changes}]))[0]

    chosen = page.evaluate("data.chosen")
    assert mean_shown(page) == pytest.approx(expected(chosen), abs=1e-12)
    page.locator("#pick").focus()
    page.keyboard.press("End")
    last = len(places) - 1
    assert page.locator("#bar-text").inner_text().startswith(f"Model {last + 1} of {last + 1}")
    assert mean_shown(page) == pytest.approx(expected(last), abs=1e-12)

    numbers = {f["name"]: k for k, f in enumerate(features)}
    bound = next(
        c.high if math.isfinite(c.high) else c.low
        for rule in model.path_.ensemble(places[last]).rules
        for c in rule.conditions
        if c.feature == HOSTILE
    )
    field = page.locator(f"#input-{numbers[HOSTILE]}")
    seen = set()
    for value in (bound, math.nextafter(bound, math.inf), -1e6, 1e6):
        field.fill(repr(value))
        assert mean_shown(page) == pytest.approx(expected(last, **{HOSTILE: value}), abs=1e-12)
        seen.add(mean_shown(page))
    assert len(seen) > 1
    page.locator(f"#missing-{numbers[HOSTILE]}").check()
    assert mean_shown(page) == pytest.approx(expected(last, **{HOSTILE: None}), abs=1e-12)

    region = page.locator(f"#input-{numbers['region']}")
    for label, value in [("missing", None), ("other (unseen)", "new"), (HOSTILE_LEVEL,) * 2]:
        region.select_option(label=label)
        now = expected(last, **{HOSTILE: None, "region": value})
        assert mean_shown(page) == pytest.approx(now, abs=1e-12)

    page.locator("#simpler").click()
    now = expected(last - 1, **{HOSTILE: None, "region": HOSTILE_LEVEL})
    assert mean_shown(page) == pytest.approx(now, abs=1e-12)
    page.locator("#reset").click()
    assert mean_shown(page) == pytest.approx(expected(last - 1), abs=1e-12)


def test_the_parts_add_up(file, visit):
    page = visit(file)
    read = "(items) => items.map((x) => Number(x.dataset.value))"
    *parts, total = page.locator("#sum .figure").evaluate_all(read)
    assert len(parts) > 1
    assert sum(parts) == pytest.approx(total, abs=1e-12)
    assert 1 / (1 + math.exp(-total)) == pytest.approx(mean_shown(page), abs=1e-12)


def test_a_click_on_the_curve_picks_a_model(file, visit):
    page = visit(file)
    box = page.locator("#tradeoff-chart svg").bounding_box()
    page.mouse.click(box["x"] + 60, box["y"] + box["height"] / 2)
    assert page.locator("#bar-text").inner_text().startswith("Model 1 of")
    assert page.locator("#rules-table").inner_text().count("intercept") == 2  # empty, and its value
    page.locator("#metric").select_option(label="AUC on test rows")
    assert "AUC" in page.locator("#tradeoff-chart").inner_text()
    assert page.locator("#shapes").is_hidden()
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    assert page.locator("#bar-text").inner_text().startswith("Model 2 of")


def test_rules_are_searched_sorted_and_copied(fitted, file, visit):
    model, _, _ = fitted
    page = visit(file)
    rules = page.locator("#rules-table tbody .rule")
    assert rules.all_inner_texts() == model.rules_["rule"].str.replace("\n", " ").tolist()
    page.get_by_role("button", name="coefficient").click()
    by_coefficient = model.rules_.sort_values("coefficient", ascending=False)["rule"]
    assert rules.all_inner_texts() == by_coefficient.str.replace("\n", " ").tolist()
    page.locator("#search").fill("1</SCRIPT>  = ")
    assert all(HOSTILE in text for text in rules.all_inner_texts())
    assert 0 < rules.count() < len(model.rules_)
    page.evaluate("copy = (text) => { copied = text; }; copied = ''")
    page.locator("#copy-text").click()
    lines = page.evaluate("copied").split("\n", 1)[1]
    page.locator("#copy-sql").click()
    assert page.evaluate("copied") == model.to_sql()
    for rule, coefficient in zip(model.rules_["rule"], model.rules_["coefficient"], strict=True):
        assert f"{coefficient:+.6g}  {rule}\n" in lines


def test_shapes_and_importances_are_those_of_explain(fitted, file, visit):
    model, X, _ = fitted
    page = visit(file)
    grid = edge_rows(X, [model.ensemble_])
    rows = encode_rows(page, grid)
    shapes = build_shapes(model.ensemble_)
    chosen = page.evaluate("data.chosen")
    names = [feature["name"] for feature in page.evaluate("data.features")]
    table = model.ensemble_.read(grid)
    seen = page.evaluate(
        """([k, rows]) => data.features.map((_, f) => {
            const shape = shapeOf(data, data.models[k], f, 0);
            return shape.terms.length ? rows.map((row) => shape.at(row[f])) : null;
        })""",
        [chosen, rows],
    )
    drawn = {name: values for name, values in zip(names, seen, strict=True) if values}
    assert len(drawn) >= 2
    for name, values in drawn.items():
        shape = next(each for each in shapes if each.feature == name)
        np.testing.assert_allclose(values, shape.values(table.column(name)), atol=1e-12)
    importances = page.evaluate(f"featureImportances(data, data.models[{chosen}], 0)")
    expected = model.importances().set_index("feature")["importance"]
    for place, importance in importances:
        assert importance == pytest.approx(expected[names[place]], rel=1e-4)
    assert len(importances) == (expected > 0).sum()
    largest = model.at(page.evaluate("data.models.at(-1).place"))
    pairs = pair_importances(largest.ensemble_, largest._spread())
    expected = {frozenset(row[:2]): row[3] for row in pairs.itertuples(index=False)}
    seen = page.evaluate("pairImportances(data, data.models.at(-1), 0)")
    assert {frozenset(names[k] for k in pair): x for pair, x in seen} == pytest.approx(
        expected, rel=1e-4
    )
    assert len(seen) > 0


def test_curves_jump_where_the_shape_does(visit, tmp_path):
    X = pd.DataFrame({"x": np.arange(200.0) % 40})
    y = 3.0 * (X["x"] > 20) + 0.1 * X["x"]
    model = RuleRegressor(penalty="l0", max_rules=3, linear_terms=True).fit(X, y)
    page = visit(model.report(tmp_path / "report.html"))
    pieces = page.evaluate("piecesOf(shapeOf(data, data.models[0], 0, 0), 0, 39)")
    (shape,) = build_shapes(model.ensemble_)
    for (x0, y0), (x1, y1) in pieces:
        inside = pd.DataFrame({"x": [x0 + 1e-9 * (x1 - x0), (x0 + x1) / 2, x1]})
        values = shape.values(model.ensemble_.read(inside).column("x"))
        np.testing.assert_allclose([y0, (y0 + y1) / 2, y1], values, atol=1e-6)
    assert page.locator("#tradeoff").is_hidden()
    assert page.locator("#bar").is_hidden()


def test_ranges_of_extreme_numbers(visit, tmp_path):
    rows = np.arange(200)
    X = pd.DataFrame({"x": (rows / 100 - 1.0) * 1.7e308, "tiny": (rows % 20) * 1e-320})
    y = 1.0 * (X["x"] > 0) + (X["tiny"] > 1e-319)
    model = RuleRegressor(lambda_0=0.01, max_degree=1).fit(X, y)
    assert set(model.importances().query("importance > 0")["feature"]) == {"x", "tiny"}
    page = visit(model.report(tmp_path / "report.html", X, np.ones(200)))
    seen = predictions(page, 0, encode_rows(page, X))
    np.testing.assert_allclose(np.ravel(seen), model.predict(X), rtol=1e-12)
    assert page.locator("#shapes-grid svg").count() == 2


def test_edited_models_and_models_of_a_path(fitted, visit, tmp_path):
    X = mixed_frame(200)
    y = target_of("gaussian", X)
    rule = "age not in {30, 31.5} and size <= 'M' and sex not in {'M', 'other'}"
    edited = RuleRegressor(lambda_0=0.2).fit(X, y).refit(X, y, add=[rule, "income > 20000.125"])
    page = visit(edited.report(tmp_path / "edited.html"))
    rows = pd.concat([X, X.assign(age=30.0), X.assign(age=31.5, sex="new", income=2e9)])
    seen = predictions(page, 0, encode_rows(page, rows))
    np.testing.assert_allclose(np.ravel(seen), edited.predict(rows), rtol=1e-12)
    one = fitted[0].at(3)
    page = visit(one.report(tmp_path / "one.html"))
    assert page.locator("#tradeoff").is_hidden()
    assert page.locator("#rules-table tbody tr").count() == len(one.rules_)


def test_small_screens_have_no_sideways_scroll(file, visit):
    page = visit(file, width=390, height=700)
    page.locator("#pick").focus()
    page.keyboard.press("End")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for width in (320, 620, 800, 1100):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_light_dark_and_print(file, visit):
    page = visit(file, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme").click()
    light = page.evaluate(background)
    assert dark != light
    page.emulate_media(color_scheme="light")
    assert page.evaluate(background) == light
    page.locator("#theme").click()
    assert page.evaluate(background) == dark
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert page.locator("#bar").is_hidden()
    assert page.locator("#rules").is_visible()


def test_several_classes(visit, tmp_path):
    rules = tuple(map(parse_rule, ["x > 1", "x <= 3 and c = 'a'", "c is missing"]))
    rng = np.random.default_rng(0)
    ensemble = RuleEnsemble(
        intercept=[0.1, 0.2, -0.3],
        rules=rules,
        coefficients=rng.standard_normal((3, 3)),
        linear_terms=(LinearTerm("x", 0.0, 4.0, 2.0),),
        linear_coefficients=rng.standard_normal((1, 3)),
        family=Multinomial(3),
        names=("x", "c"),
        kinds={"x": "number", "c": "level"},
        classes=("red", "green", "<b>"),
    )
    X = pd.DataFrame({"x": [0.0, 1.0, 3.0, 3.5, np.nan, 9.0], "c": ["a", "b", "a", None, "z", "b"]})
    bins = (NumberBins("x", (1.0, 3.0), 0b1111), LevelBins("c", ("a", "b"), 0b1111))
    candidate = Candidate(ensemble, measure_terms(ensemble, X), "by hand")
    subject = Subject((candidate,), bins, "RuleEnsemble", len(X), "colour")
    labels = ["red", "green", "<b>", "red", "red", "green"]
    rows = Rows.read(ensemble, X, labels, None, None, None)
    page = visit(write_report(tmp_path / "report.html", subject, rows))
    shares = ensemble.predict(X)
    scores = page.evaluate("data.models[0].scores")
    order = np.argsort(ensemble.classes)
    loss = metrics.log_loss(labels, shares[:, order], labels=sorted(ensemble.classes))
    assert scores["test_loss"] == pytest.approx(loss, rel=1e-5)
    hits = np.array(ensemble.classes)[shares.argmax(axis=1)] == np.array(labels)
    assert scores["test_accuracy"] == pytest.approx(hits.mean(), rel=1e-5)
    assert page.evaluate("data.models[0].calibration.length") == 3
    seen = predictions(page, 0, encode_rows(page, X))
    np.testing.assert_allclose(seen, ensemble.predict(X), rtol=1e-12)
    shown = page.locator("#result output").evaluate_all("(all) => all.map((x) => +x.dataset.value)")
    assert sum(shown) == pytest.approx(1.0)
    page.locator("#class").select_option(label="<b>")
    first = page.locator("#rules-table tbody tr").filter(has_text="c is missing")
    figure = first.locator(".c-coef .figure").inner_text().replace("\u2212", "-")
    assert float(figure) == pytest.approx(ensemble.coefficients[2, 2], abs=6e-4)


def test_a_fit_of_several_classes(visit, tmp_path):
    X = mixed_frame(240)
    y = pd.Series(pd.qcut(mixed_signal(X), 3, labels=["low", "middle", "high"]), name="level")
    model = RuleClassifier(lambda_0=0.03).fit(X, y.astype(str))
    page = visit(model.report(tmp_path / "report.html", X, y.astype(str)))
    seen = predictions(page, 0, encode_rows(page, X))
    np.testing.assert_allclose(seen, model.predict_proba(X), rtol=1e-11)
    assert page.evaluate("data.classes") == model.classes_.tolist()
    for k, label in enumerate(model.classes_):
        expected = model.importances(class_=label).set_index("feature")["importance"]
        names = [feature["name"] for feature in page.evaluate("data.features")]
        for place, importance in page.evaluate(f"featureImportances(data, data.models[0], {k})"):
            assert importance == pytest.approx(expected[names[place]], rel=1e-4)
