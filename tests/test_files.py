"""Fits on rows in files: the models of the same rows in memory, in bounded memory."""

import gc
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, parquet

from ruleglm import RowFiles, RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV
from ruleglm.frames import read_table
from ruleglm.storage import GrowingRows, home, rows_beside

LIMITS = [0, 7, 7, 401, 402, 900]
"""Rows at which files end: one has no rows, one has one."""


def make_rows(n_rows=900, seed=0):
    """Rows of mixed types with missing values; a level appears in the last file only."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "count": rng.poisson(2.0, n_rows),
            "place": rng.choice(["north", "south", "east"], n_rows),
            "flag": rng.random(n_rows) < 0.4,
            "rate": rng.exponential(size=n_rows).round(1),
        }
    )
    frame.loc[::13, "size"] = np.nan
    frame.loc[5::17, "place"] = None
    frame.loc[(np.arange(n_rows) > 500) & (rng.random(n_rows) < 0.5), "place"] = "late"
    frame["weight"] = rng.choice([0.0, 1.0, 2.5], n_rows)
    frame["shift"] = 0.2 * rng.normal(size=n_rows)
    frame["time"] = rng.uniform(0.5, 2.0, n_rows)
    score = frame["size"].fillna(0.0) + (frame["place"] == "late") - frame["flag"]
    frame["label"] = np.where(score + rng.logistic(size=n_rows) > 0, "yes", "no")
    frame["number"] = score + 0.3 * frame["rate"] + 0.2 * rng.normal(size=n_rows)
    frame["events"] = rng.poisson(frame["time"] * np.exp(0.4 * score))
    frame["kind"] = np.select([score > 0.7, score < -0.5], ["high", "low"], "middle")
    return frame


ROLES = ["weight", "shift", "time", "label", "number", "events", "kind"]
FEATURES = ["size", "count", "place", "flag", "rate"]


def write(frame, folder, limits=LIMITS, writer=parquet.write_table, ending=".parquet"):
    for number, (start, stop) in enumerate(pairwise(limits)):
        table = pa.Table.from_pandas(frame[start:stop], preserve_index=False)
        if pa.types.is_null(table.schema.field("place").type):
            place = table.schema.names.index("place")
            table = table.set_column(place, "place", pa.array([None] * len(table), pa.string()))
        writer(table, str(Path(folder) / f"part-{number}{ending}"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    frame, folder = make_rows(), tmp_path_factory.mktemp("rows")
    write(frame, folder)
    return frame, folder


def assert_same(found, expected):
    """The same terms with the same coefficients."""
    mine, other = found.ensemble_, expected.ensemble_
    assert mine.terms == other.terms
    np.testing.assert_allclose(mine.coefficients, other.coefficients, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        mine.linear_coefficients, other.linear_coefficients, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(mine.intercept, other.intercept, rtol=0, atol=1e-10)


CASES = {
    "l1": (RuleClassifier(lambda_0=0.01), "label", {"sample_weight": "weight", "offset": "shift"}),
    "l1-auto": (RuleClassifier(lambda_0=0.01, bins="auto", linear_terms=True), "label", {}),
    "l0": (
        RuleRegressor(penalty="l0", linear_terms=True, bins="auto", max_complexity=12),
        "number",
        {"sample_weight": "weight", "offset": "shift"},
    ),
    "counts": (RuleRegressor(family="poisson", lambda_0=0.02), "events", {"exposure": "time"}),
    "classes": (RuleClassifier(lambda_0=0.02, class_weight="balanced"), "kind", {}),
    "categorical": (RuleClassifier(categorical=["count"], include=["place = 'late'"]), "label", {}),
    "cv": (
        RuleClassifierCV(max_complexity=6, cv=2),
        "label",
        {"sample_weight": "weight", "groups": "count"},
    ),
    "cv-l1": (RuleRegressorCV(penalty="l1", n_lambdas=4, max_degree=1, cv=2), "number", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_files_give_the_model_of_the_rows_in_memory(rows, name):
    frame, folder = rows
    estimator, target, vectors = CASES[name]
    used = {target, *vectors.values()}
    features = [column for column in FEATURES if column not in used]
    files = RowFiles(folder, columns=features)
    found = estimator.fit(files, target, **vectors)
    told = found.ensemble_
    in_memory = {key: frame[column] for key, column in vectors.items()}
    expected = estimator.__class__(**estimator.get_params())
    expected.fit(frame[features], frame[target], **in_memory)
    assert_same(found, expected)
    assert found.feature_names_in_.tolist() == features
    assert found.n_features_in_ == len(features)
    if hasattr(found, "path_"):
        np.testing.assert_allclose(found.path_.scores, expected.path_.scores, atol=1e-10)
    given = {key: vectors[key] for key in ("offset", "exposure") if key in vectors}
    again = expected.predict(frame[features], **{key: frame[given[key]] for key in given})
    answer = found.predict(folder, **given)
    if answer.dtype.kind == "f":
        np.testing.assert_allclose(answer, again, atol=1e-10)
    else:
        assert answer.tolist() == again.tolist()
    assert told.family == expected.ensemble_.family


def test_all_ways_to_name_files(rows, tmp_path):
    frame, folder = rows
    expected = read_table(frame[FEATURES])
    write(frame, tmp_path, writer=feather.write_feather, ending=".feather")
    (tmp_path / "notes.txt").write_text("no rows")
    (tmp_path / "_part-9.feather").write_text("hidden")
    paths = [str(folder / f"part-{k}.parquet") for k in range(5)]
    for source in (
        folder,
        str(folder),
        f"{folder}/*.parquet",
        paths,
        dataset.dataset(paths),
        tmp_path,
    ):
        table = read_table(RowFiles(source, columns=FEATURES))
        for column, other in zip(table.columns, expected.columns, strict=True):
            values = column.values if hasattr(column, "values") else column.codes
            wanted = other.values if hasattr(other, "values") else other.codes
            np.testing.assert_array_equal(values, wanted)
            assert getattr(column, "levels", ()) == getattr(other, "levels", ())
    one = RowFiles(paths[2], columns=["size"])
    assert (len(one), one.names) == (394, ("size",))
    assert "394 rows, 1 columns" in repr(one)


def test_rows_of_a_filtered_data_set_and_of_known_targets(rows):
    frame, folder = rows
    wanted = dataset.dataset(folder).filter(dataset.field("count") > 2)
    some = frame[frame["count"] > 2].reset_index(drop=True)
    found = RuleClassifier().fit(RowFiles(wanted, columns=FEATURES), "label")
    assert_same(found, RuleClassifier().fit(some[FEATURES], some["label"]))
    known = RowFiles(folder, columns=["size", "count"]).where_known("place")
    there = frame["place"].notna()
    assert known.n_rows == there.sum()
    np.testing.assert_array_equal(read_table(known).columns[1].values, frame["count"][there])


def test_folders_that_say_a_column(tmp_path):
    frame = make_rows(300)[["size", "count", "label"]]
    for year, part in frame.groupby(np.arange(300) % 2 + 2020):
        (tmp_path / f"year={year}").mkdir()
        parquet.write_table(
            pa.Table.from_pandas(part, preserve_index=False),
            tmp_path / f"year={year}" / "a.parquet",
        )
    files = RowFiles(tmp_path)
    assert files.names == ("size", "count", "label", "year")
    years = read_table(files.without(["label"])).column("year")
    assert years.values.tolist() == [2020.0] * 150 + [2021.0] * 150


def test_types_that_go_together(tmp_path):
    parts = [{"x": [1, 2], "n": [None, None]}, {"x": [0.5], "n": ["a"]}]
    for number, part in enumerate(parts):
        parquet.write_table(pa.table(part), tmp_path / f"{number}.parquet")
    table = read_table(tmp_path)
    assert table.column("x").values.tolist() == [1.0, 2.0, 0.5]
    assert (table.column("n").levels, table.column("n").codes.tolist()) == (("a",), [-1, -1, 0])


def test_ordered_categories(tmp_path):
    sizes = pd.Categorical(["S", "L", None, "M"], categories=["S", "M", "L"], ordered=True)
    whole = pd.DataFrame({"x": sizes})
    for number in range(2):
        table = pa.Table.from_pandas(whole[2 * number : 2 * number + 2], preserve_index=False)
        feather.write_feather(table, str(tmp_path / f"{number}.arrow"))
    (column,) = read_table(tmp_path).columns
    assert (column.levels, column.codes.tolist()) == (("S", "M", "L"), [0, 2, -1, 1])
    assert column.ordered


# -------------------------------------------------------------------------------------- mistakes


def write_pair(folder, first, second):
    parquet.write_table(pa.table(first), folder / "a.parquet")
    parquet.write_table(pa.table(second), folder / "b.parquet")


def fit_error(*given, **more):
    with pytest.raises((ValueError, TypeError)) as caught:
        RuleClassifier().fit(*given, **more)
    return str(caught.value)


def test_mistakes_are_named(rows, tmp_path):
    frame, folder = rows
    assert "There is no column 'lable' in part-0.parquet" in fit_error(folder, "lable")
    assert "no column 'wt'" in fit_error(folder, "label", sample_weight="wt")
    assert "requires y" in fit_error(folder, None)
    assert "no column 'age'" in fit_error(RowFiles([str(folder)]), "age")
    assert "names no file" in fit_error(str(tmp_path / "*.parquet"), "label")
    assert "names no file" in fit_error(tmp_path, "label")
    assert "y has 10" in fit_error(RowFiles(folder, columns=FEATURES), np.zeros(10))
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    assert "copy 'rows.csv' to 'rows.parquet'" in fit_error(tmp_path / "rows.csv", "b")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 or not")
    assert "cannot be read as parquet" in fit_error(tmp_path, "b")
    with pytest.raises(ValueError, match=r"`workdir` is .*nowhere"):
        RowFiles(folder, workdir=tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no column 'sise' in part-0"):
        RowFiles(folder, columns=["sise"])
    scored = RuleClassifierCV(scoring="accuracy", cv=3)
    with pytest.raises(ValueError, match="nothing of `offset`, `exposure` and files"):
        scored.fit(RowFiles(folder, columns=FEATURES), "label")
    assert frame is not None


def test_files_that_do_not_go_together_are_named(tmp_path):
    write_pair(tmp_path, {"x": [1, 2], "y": [0, 1]}, {"y": [1]})
    assert "There is no column 'x' in b.parquet; a.parquet has it" in fit_error(tmp_path, "y")
    write_pair(tmp_path, {"y": [0, 1]}, {"x": [1.0], "y": [1]})
    assert "There is no column 'x' in a.parquet; b.parquet has it" in fit_error(tmp_path, "y")
    write_pair(tmp_path, {"x": [1, 2], "y": [0, 1]}, {"x": ["one"], "y": [1]})
    told = fit_error(tmp_path, "y")
    assert "Column 'x' has the type int64 in a.parquet and string in b.parquet" in told
    write_pair(tmp_path, {"x": [1, 2], "y": [0, 1]}, {"x": [1], "y": [None]})
    assert "y is nan in row 2" in fit_error(tmp_path, "y")
    feather.write_feather(pa.table({"x": [1]}), str(tmp_path / "c.feather"))
    assert "several formats" in fit_error(tmp_path, "y")


def test_without_pyarrow_the_message_names_the_extra(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"ruleglm\[parquet\]"):
        RuleClassifier().fit(str(rows[1]), "label")


# ------------------------------------------------------------------------------- temporary files


def mapped(folder):
    """Mappings of files in a folder, deleted ones too."""
    return [
        line for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line
    ]


needs_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux")


@needs_proc
@pytest.mark.parametrize("ending", ["done", "error", "interrupt"])
def test_nothing_is_left_of_temporary_files(rows, tmp_path, ending):
    seen = []

    def watch(_):
        seen.append(len(mapped(tmp_path)))
        if ending == "error":
            raise ZeroDivisionError
        if ending == "interrupt":
            raise KeyboardInterrupt

    files = RowFiles(rows[1], columns=FEATURES, workdir=tmp_path)
    model = RuleClassifierCV(max_complexity=5, cv=2, callback=watch)
    if ending == "done":
        model.fit(files, "label")
    else:
        with pytest.raises((ZeroDivisionError, KeyboardInterrupt)):
            model.fit(files, "label")
    assert min(seen) > 0
    gc.collect()
    assert mapped(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_arrays_in_files_are_arrays(tmp_path):
    rows = GrowingRows(3, np.float64, str(tmp_path))
    rows.append(np.arange(3))
    rows.append(np.array([5.0, np.nan, -1.0]))
    array = rows.array()
    assert type(array) is np.ndarray
    np.testing.assert_array_equal(array, [[0, 1, 2], [5, np.nan, -1]])
    assert home(array) == home(array[1:][:, ::2]) == str(tmp_path)
    assert home(np.empty(3)) is None
    beside = rows_beside(array)
    beside.append(array[0])
    assert home(beside.array()) == str(tmp_path)
    assert GrowingRows(3, np.uint8, str(tmp_path)).array().shape == (0, 3)
    held = GrowingRows(2, np.uint8)
    held.append(np.array([1, 2], np.uint8))
    assert (held.array().tolist(), home(held.array())) == ([[1, 2]], None)


def test_a_full_folder_is_named(tmp_path):
    rows = GrowingRows(3, np.float64, str(tmp_path))
    rows._file.close()
    rows._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115, PTH123
    with rows._file, pytest.raises(OSError, match="choose another folder as `workdir`"):
        rows.append(np.arange(3))


# ---------------------------------------------------------------------------------------- memory


def peak_memory(folder, frame, n_columns):
    """Bytes of arrays and of pyarrow's buffers at the peak of a fit to some of the columns."""
    files = RowFiles(folder, columns=list(frame.columns[:n_columns]))
    model = RuleClassifier(penalty="l0", linear_terms=True, max_complexity=3, max_degree=1)
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        model.fit(files, "y")
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def test_memory_grows_with_rows_not_with_columns(tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 60_000
    frame = pd.DataFrame(rng.normal(size=(n_rows, 40)).round(2)).add_prefix("x")
    frame["y"] = (frame["x0"] + rng.normal(size=n_rows) > 0).astype(int)
    write_pair(tmp_path, *(pa.Table.from_pandas(frame[k::2]).to_pydict() for k in range(2)))
    RuleClassifier(penalty="l0", linear_terms=True).fit(frame[:99][["x0"]], frame["y"][:99])
    few, many = (peak_memory(tmp_path, frame, n_columns) for n_columns in (5, 40))
    assert many < few + 20 * n_rows + 1e6  # codes of the other columns alone would be 35
    assert many < 140 * n_rows
