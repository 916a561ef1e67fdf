"""The command line on rows in files that are read column by column."""

import json

import pandas as pd
import pytest

from ruleglm.cli import large
from tests.cli_cases import OTHERS, SMALL, people, run


@pytest.fixture
def rows(tmp_path):
    """The same rows in one file and in a folder of three; some have no target."""
    frame = people()
    frame.loc[::20, "income"] = None
    frame.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "parts").mkdir()
    for start, stop in ((0, 3), (3, 90), (90, 160)):
        frame[start:stop].to_parquet(tmp_path / "parts" / f"{start:03d}.parquet")
    return tmp_path


def read_model(path):
    document = json.loads(path.read_text())
    document.pop("created", None)
    return document


@pytest.mark.parametrize("more", [SMALL, ("--max-complexity", "4", "--cv", "2")])
def test_models_are_those_of_rows_in_memory(rows, more):
    words = ("-t", "income", "--weights", "weight", *OTHERS[:4], "--drop", "years", *more)
    sources = {"one": (rows / "rows.parquet", "--in-memory"), "all": (rows / "parts",)}
    sources["core"] = rows / "rows.parquet", "--out-of-core"
    for name, source in sources.items():
        told = run("fit", *source, *words, "-o", rows / f"{name}.json")
        assert ("column by column" in told.stderr) == (name != "one")
        assert "8 rows without a target" in told.stderr
    assert read_model(rows / "one.json") == read_model(rows / "all.json")
    assert read_model(rows / "one.json") == read_model(rows / "core.json")


def test_predictions_of_a_folder(rows):
    run("fit", rows / "parts", "-t", "income", *OTHERS, *SMALL, "-o", rows / "model.json")
    for source, out in ((rows / "rows.parquet", "one.csv"), (rows / "parts", "all.csv")):
        run("predict", rows / "model.json", source, "--keep", "age", "-o", rows / out)
    pd.testing.assert_frame_equal(*(pd.read_csv(rows / name) for name in ("one.csv", "all.csv")))
    wrong = run("predict", rows / "model.json", rows / "parts", "--keep", "ages", code=1)
    assert "did you mean 'age'" in wrong.stderr
    pd.DataFrame({"age": [3]}).to_parquet(rows / "few.parquet")
    told = run("predict", rows / "model.json", rows / "few.parquet", "--out-of-core", code=1)
    assert "The model needs columns that the rows lack" in told.stderr


def test_size_decides(rows, monkeypatch):
    words = ("fit", rows / "rows.parquet", "-t", "income", *OTHERS, *SMALL)
    assert "column by column" not in run(*words).stderr
    monkeypatch.setattr(large, "memory_bytes", lambda: 1000.0)
    assert "160 rows are read column by column" in run(*words).stderr
    assert "column by column" not in run(*words, "--in-memory").stderr


def test_the_memory_of_a_machine():
    assert 1e7 < large.memory_bytes() <= float("inf")


def test_mistakes_are_named(rows):
    words = ("-t", "income", *SMALL)
    (rows / "rows.csv").write_text("income,x\na,1\nb,2\n")
    for source, more, said in (
        (rows / "rows.csv", ("--out-of-core",), "is for Parquet and Arrow files"),
        (rows / "parts", ("--test-share", "0.2"), "give test rows by --test"),
        (rows / "parts", ("--drop", "agee"), "--drop: there is no column 'agee'; did you mean"),
        (rows / "none", (), "There is no file"),
        (rows, ("--weights", "wait"), "did you mean 'weight'"),
    ):
        assert said in run("fit", source, *words, *more, code=1).stderr.replace("\n", " ")
    pd.DataFrame({"income": []}).to_parquet(rows / "parts" / "000.parquet")
    assert "000.parquet" in run("fit", rows / "parts", *words, code=1).stderr
    (rows / "empty").mkdir()
    assert "names no file" in run("fit", rows / "empty", *words, code=1).stderr
