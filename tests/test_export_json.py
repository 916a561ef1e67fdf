import json
import math

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import ruleglm
from ruleglm import RuleClassifier, RuleEnsemble, RuleRegressor, load_model, parse_rule, save_model
from ruleglm.export import ModelFormatError, from_json, load_summary, model_schema, to_json
from ruleglm.families import Poisson, get_family
from ruleglm.multinomial import Multinomial
from ruleglm.rules import LinearTerm
from tests.data import mixed_frame, target_of
from tests.export_cases import adult_frame, ensembles, fit_three

VALIDATOR = jsonschema.Draft202012Validator(model_schema())


def typed(ensemble):
    """Every level and label with its type, which == does not look at (True == 1 == 1.0)."""
    orders = [level for _, order in sorted(ensemble.orders.items()) for level in order]
    parts = [part for rule in ensemble.rules for part in rule.conditions]
    inside = [level for part in parts for level in getattr(part, "levels", ())]
    ranked = [level for part in parts for level in getattr(part, "order", None) or ()]
    return [(type(level), level) for level in (*ensemble.classes, *orders, *inside, *ranked)]


def example(**changes):
    parts = {
        "intercept": 0.1,
        "rules": (parse_rule("age > 50"), parse_rule("sex = 'F' and size <= 'M'", {"size": "SML"})),
        "coefficients": np.array([1.5, -2.0]),
        "linear_terms": (LinearTerm("age", 20, 80, 45),),
        "linear_coefficients": np.array([0.25]),
        "family": get_family("binomial"),
        "names": ("age", "sex", "size"),
        "kinds": {"age": "number", "sex": "level", "size": "ordered"},
        "orders": {"size": ("S", "M", "L")},
        "classes": ("no", "yes"),
    }
    return RuleEnsemble(**{**parts, **changes})


@settings(max_examples=60)
@given(ensembles())
def test_any_ensemble_reads_back_as_it_was(ensemble):
    text = to_json(ensemble)
    again = from_json(text)
    assert again == ensemble
    assert typed(again) == typed(ensemble)
    assert to_json(again) == text
    VALIDATOR.validate(json.loads(text))


def test_the_schema_is_one():
    VALIDATOR.check_schema(model_schema())


def test_a_lone_surrogate_survives(tmp_path):
    ensemble = example(
        names=("age", "sex", "size", "\ud800"), classes=("\udfff😀", "\\ud800"), kinds={}
    )
    save_model(ensemble, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json") == ensemble


def test_a_saved_classifier_predicts_the_same(tmp_path):
    X = mixed_frame(200)
    y = np.where(target_of("binomial", X) > 0, "ill", "well")
    model = RuleClassifier(lambda_0=0.02, linear_terms=True).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded == model.ensemble_
    assert loaded.predict(X).tolist() == model.predict_proba(X)[:, 1].tolist()
    assert loaded.predict_class(X).tolist() == model.predict(X).tolist()
    summary = load_summary(tmp_path / "model.json")
    assert summary["certificate"] == model.certificate_
    assert summary["certified"] is True
    assert summary["complexity"] == model.complexity_
    assert sorted(summary["importances"], reverse=True) == model.rules_["importance"].tolist()
    assert len(summary["supports"]) == len(model.rules_)
    VALIDATOR.validate(json.loads(model.to_json()))


def test_a_saved_classifier_of_three_classes_predicts_the_same(tmp_path):
    model, X = fit_three(), adult_frame(60).drop(columns="select")
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded == model.ensemble_
    assert loaded.predict(X).tolist() == model.predict_proba(X).tolist()
    assert loaded.predict_class(X).tolist() == model.predict(X).tolist()
    VALIDATOR.validate(json.loads(model.to_json()))


def test_numbers_that_are_none_become_null(tmp_path):
    X = mixed_frame(150)
    model = RuleRegressor(penalty="l0", max_rules=2).fit(X, target_of("gaussian", X))
    assert math.isnan(model.objective_)
    model.save(tmp_path / "model.json")
    assert load_summary(tmp_path / "model.json")["objective"] is None
    VALIDATOR.validate(json.loads(model.to_json()))


def test_a_summary_can_be_given(tmp_path):
    save_model(
        example(), tmp_path / "m.json", summary={"rows": np.int64(3), "auc": [np.float64(0.5)]}
    )
    assert load_summary(tmp_path / "m.json") == {"rows": 3, "auc": [0.5]}
    save_model(example(), tmp_path / "m.json")
    assert load_summary(tmp_path / "m.json") == {}


def test_labels_of_classes():
    X = pd.DataFrame({"age": [60.0, 30.0], "sex": ["F", "M"], "size": ["L", "L"]})
    assert example(linear_terms=(), linear_coefficients=[]).predict_class(X).tolist() == [
        "yes",
        "yes",
    ]
    low = example(linear_terms=(), linear_coefficients=[], intercept=-1.0)
    assert low.predict_class(X).tolist() == ["yes", "no"]
    odd = example(intercept=-20.0, classes=(True, "yes"))
    assert odd.predict_class(X).tolist() == [True, True]
    several = example(
        intercept=[0.0, 1.0, 0.5],
        coefficients=[[0, 0, 9.0], [0, 0, 0]],
        linear_terms=(),
        linear_coefficients=np.empty((0, 3)),
        family=Multinomial(3),
        classes=(10, 20, 30),
    )
    assert several.predict_class(X).tolist() == [30, 20]
    with pytest.raises(ValueError, match="without classes predicts no labels"):
        example(classes=()).predict_class(X)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    save_model(example(), path)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_model(example(intercept=9.0), path)
    assert load_model(path) == example()
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_unknown_fields_are_ignored():
    document = json.loads(to_json(example()))
    document["new"] = document["rules"][0]["new"] = document["family"]["new"] = {"a": 1}
    document["rules"][0]["conditions"][0]["new"] = document["columns"][0]["new"] = [1]
    document["version"] = "1.7"
    assert from_json(json.dumps(document)) == example()


def test_what_can_be_left_out():
    document = json.loads(to_json(example(classes=(), kinds={}, orders={})))
    del document["classes"], document["rules"][0]["text"]
    del document["rules"][1]["conditions"][0]["negated"]
    document["columns"][1] = {"name": "sex", "kind": None, "order": None}
    assert from_json(json.dumps(document)) == example(classes=(), kinds={}, orders={})


def test_a_later_format_is_refused():
    document = json.loads(to_json(example()))
    document["version"] = "2.0"
    with pytest.raises(ModelFormatError, match=r"format version 2.0.*install a newer ruleglm"):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["version"], 1, "Field `version` is 1; a text is needed"),
        (["version"], "x", "a version such as '1.0' is needed"),
        (["family", "name"], "normal", "Field `family.name` is 'normal'; one of 'gaussian'"),
        (["family", "name"], ["normal"], r"Field `family.name` is \['normal'\]; one of"),
        (["family"], {"name": "tweedie", "power": 3.0}, "Field `family` is no .*power=3.0"),
        (["family"], {"name": "tweedie", "power": "a"}, "Field `family.power` is 'a'; a number"),
        (["family"], {"name": "multinomial", "n_classes": 2.5}, "a whole number is needed"),
        (["intercept"], "0.1", "Field `intercept` is '0.1'; a number is needed"),
        (["intercept"], True, "Field `intercept` is True; a number is needed"),
        (["intercept"], 10**400, "a finite number is needed"),
        (["intercept"], [0.1], r"Field `intercept` is \[0.1\]; a number is needed"),
        (["columns"], {}, "Field `columns` is {}; a list is needed"),
        (["columns", 1, "name"], 3, r"Field `columns\[1\].name` is 3; a text"),
        (["columns", 1, "name"], "age", "The document is no .* names have to differ"),
        (["columns", 1, "kind"], "text", r"Field `columns\[1\].kind` is 'text'; one of 'number'"),
        (["columns", 2, "order"], [None], r"Field `columns\[2\].order\[0\]` is None; a number"),
        (["classes"], ["no"], "The document is no valid part of a model: 1 classes do not suit"),
        (["rules", 0], 3, r"Field `rules\[0\]` is 3; an object is needed"),
        (["rules", 0, "coefficient"], None, r"Field `rules\[0\].coefficient` is None; a number"),
        (["rules", 0, "conditions", 0, "type"], "like", r"`rules\[0\].conditions\[0\].type` is"),
        (["rules", 0, "conditions", 0, "low"], "5", r"conditions\[0\].low` is '5'; a number"),
        (["rules", 0, "conditions", 0, "low"], None, r"conditions\[0\]` is no .* needs a bound"),
        (["rules", 0, "conditions", 0, "high"], 2, r"conditions\[0\]` is no .*No row can satisfy"),
        (["rules", 0, "conditions", 0, "feature"], "agee", "The document is no .*'agee'"),
        (["rules", 1, "conditions", 0, "levels"], [], r"conditions\[0\]` is no .*No row can"),
        (["rules", 1, "conditions", 0, "negated"], 1, "negated` is 1; true or false"),
        (["linear_terms", 0, "fill"], None, r"Field `linear_terms\[0\].fill` is None; a number"),
        (["linear_terms", 0, "low"], 90, r"`linear_terms\[0\]` is no .*low <= high"),
    ],
)  # fmt: skip
def test_a_damaged_field_is_named(place, value, message):
    document = json.loads(to_json(example()))
    inside = document
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    with pytest.raises(ModelFormatError, match=message):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    "name", ["family", "columns", "intercept", "linear_terms", "rules", "version"]
)
def test_a_lacking_field_is_named(name):
    document = json.loads(to_json(example()))
    del document[name]
    with pytest.raises(ModelFormatError, match=f"Field `{name}` is lacking"):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON text"),
        ("{", "no JSON text"),
        (b"\xff\xfe", "no JSON text"),
        ("[" * 100_000, "no JSON text"),
        ("[]", "`format` is not 'ruleglm model'"),
        ('{"format": "else"}', "`format` is not 'ruleglm model'"),
        ('{"format": "ruleglm model", "version": NaN}', "NaN, which is no JSON number"),
    ],
)
def test_what_is_no_model_is_refused(text, message):
    with pytest.raises(ModelFormatError, match=message):
        from_json(text)


def test_several_classes_need_several_coefficients():
    document = json.loads(to_json(example()))
    document["family"] = {"name": "multinomial", "n_classes": 3}
    document["intercept"] = [1, 2]
    with pytest.raises(ModelFormatError, match=r"`intercept` is \[1, 2\]; a list of 3 numbers"):
        from_json(json.dumps(document))


def test_what_cannot_be_saved_is_refused():
    class Own(Poisson):
        pass

    with pytest.raises(ValueError, match="none of gaussian"):
        to_json(example(family=Own(), classes=()))
    with pytest.raises(TypeError, match=r"`classes` holds Timestamp.*astype\(str\)"):
        to_json(example(classes=(pd.Timestamp("2020-01-01"), "b")))
    with pytest.raises(TypeError, match="A RuleClassifier cannot be exported"):
        to_json(RuleClassifier())
    with pytest.raises(ValueError, match="not fitted"):
        RuleClassifier().to_json()
    assert ruleglm.save_model is save_model
