"""Rows from files of every format, from standard input and from queries."""

import gzip
import io
import sys

import pandas as pd
import pytest

from ruleglm.cli import sources
from ruleglm.cli.errors import UserError
from ruleglm.cli.files import check_outputs, write_frame
from ruleglm.cli.guess import guess_family, told_family
from ruleglm.cli.roles import find_identifiers
from ruleglm.cli.sources import guess_delimiter, read_source
from ruleglm.cli.view import align_numbers, lay_out, wrap_rule
from tests.cli_cases import SMALL, people, run

NAMES = [
    "rows.csv",
    "rows.txt",
    "rows.tsv",
    "rows.csv.gz",
    "rows.tsv.xz",
    "rows.CSV.BZ2",
    "rows.parquet",
    "rows.pq",
    "rows.feather",
    "rows.arrow",
]


def give_stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_question_mark_is_a_missing_value(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("power, maker\n1.5, ?\n?, b c\n")
    frame = read_source(str(path))
    assert frame["power"].dtype == float
    assert frame.columns.tolist() == ["power", "maker"]
    assert frame["maker"].isna().tolist() == [True, False]
    assert frame["maker"][1] == "b c"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_back(tmp_path, name):
    write_frame(people(), tmp_path / name)
    pd.testing.assert_frame_equal(read_source(str(tmp_path / name)), people(), check_dtype=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "stream", "gzip"])
def test_standard_input_is_recognised(tmp_path, monkeypatch, kind):
    pyarrow = pytest.importorskip("pyarrow")
    if kind == "stream":
        table, sink = pyarrow.Table.from_pandas(people()), io.BytesIO()
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue()
    else:
        path = tmp_path / ("rows.csv" if kind == "gzip" else f"rows.{kind}")
        write_frame(people(), path)
        data = gzip.compress(path.read_bytes()) if kind == "gzip" else path.read_bytes()
    give_stdin(monkeypatch, data)
    pd.testing.assert_frame_equal(read_source("-"), people(), check_dtype=False)


def test_models_from_every_format_are_the_same(tmp_path):
    texts = set()
    for name in ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.parquet", "rows.feather"]:
        write_frame(people(), tmp_path / name)
        out = tmp_path / "model.json"
        run("fit", tmp_path / name, "-t", "income", *SMALL, "--out", out, "--force")
        texts.add(out.read_text())
    data = (tmp_path / "rows.csv").read_text()
    run("fit", "-", "-t", "income", *SMALL, "--out", out, "--force", stdin=data)
    texts.add(out.read_text())
    query = f"sql:select * from '{tmp_path / 'rows.parquet'}'"
    run("fit", query, "-t", "income", *SMALL, "--out", out, "--force")
    texts.add(out.read_text())
    assert len(texts) == 1


# ---------------------------------------------------------------------------------------- queries


@pytest.fixture
def database(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "shop.db"
    rows = people()
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table people as select * from rows")
        connection.execute('create table "odd ""name" as select * from rows limit 7')
        connection.execute("create schema other; create table other.t as select 1 as a")
    assert len(rows) == 160
    return path


def test_tables_and_queries_of_a_database(database):
    assert len(read_source(f"duckdb:{database}?people")) == 160
    assert len(read_source(f'duckdb:{database}?odd "name')) == 7
    assert read_source(f"duckdb:{database}?other.t")["a"].tolist() == [1]
    query = "select age, income from people where age > 50"
    frame = read_source(f"duckdb:{database}?{query}")
    assert list(frame) == ["age", "income"]
    assert frame["age"].min() > 50


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("duckdb:{}", "say which table"),
        ("duckdb:{}?peple", "there is no table 'peple'; it has"),
        ("duckdb:{}?select nothing from people", "nothing"),
        ("duckdb:no.db?people", "There is no database 'no.db'"),
        ("sql:select * from 'no.parquet'", "no.parquet"),
        ("sql:selct 1", "syntax error"),
        ("select * from people", "write a query as 'sql:select"),
    ],
)
def test_mistakes_in_queries_are_named(database, source, said):
    with pytest.raises(UserError) as error:
        read_source(source.format(database))
    assert said in str(error.value)


def test_a_database_is_never_written_to(database):
    before = database.read_bytes()
    with pytest.raises(UserError, match="read-only"):
        read_source(
            f"duckdb:{database}?with x as (select 1) insert into people select * from people"
        )
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("package", "source", "extra"),
    [("pyarrow", "rows.parquet", "parquet"), ("duckdb", "sql:select 1", "duckdb")],
)
def test_extras_are_named(tmp_path, monkeypatch, package, source, extra):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.chdir(tmp_path)
    write_frame(people(), tmp_path / "rows.parquet")
    monkeypatch.setattr(sources.importlib, "import_module", refuse)
    with pytest.raises(UserError, match=rf'needs {package}: pip install "ruleglm\[{extra}\]"'):
        read_source(source)


# --------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b"a,b\n", "no rows"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "fields"),
        ("a.csv", b"a,b\n1,2,3\n4,5,6\n", "fields"),
        ("a.csv", b"a,b\n\xe4,1\n", "not text in UTF-8"),
        ("a.parquet", b"a,b\n1,2\n", "not a parquet file"),
        ("a.feather", b"a,b\n1,2\n", "not a arrow file"),
        ("a.csv.gz", b"a,b\n1,2\n", "gzip"),
        ("a.xlsx", b"", "not a format that can be read"),
        ("a.parquet.gz", b"", "not a format that can be read"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=said):
        read_source(str(tmp_path / name))


def test_two_columns_of_one_name_are_refused():
    pytest.importorskip("duckdb")
    with pytest.raises(UserError, match="two columns have the name 'a'"):
        sources._check_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]), "x")


def test_outputs_of_one_name_are_refused(tmp_path):
    with pytest.raises(UserError, match="same name"):
        check_outputs([tmp_path / "a", tmp_path / "a"], force=True)


def test_devices_are_written_to_as_they_are(tmp_path):
    check_outputs([tmp_path / "a", None], force=False)
    device = tmp_path / "null"
    device.symlink_to("/dev/null")
    write_frame(people(), tmp_path / "rows.csv")
    from ruleglm.cli.files import write_file

    write_file("text", device)
    assert device.is_symlink()
    assert device.exists()
    assert not device.is_file()


# ---------------------------------------------------------------------------------- small helpers


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [("a,b", ","), ("a;b", ";"), ("a\tb", "\t"), ("a|b", "|"), ('"a,b";c', ";"), ("a", ",")],
)
def test_delimiters_are_guessed(header, delimiter):
    assert guess_delimiter(header) == delimiter


def test_semicolons_and_a_byte_order_mark(tmp_path):
    (tmp_path / "a.csv").write_bytes("\ufeffa;b\n1;x\n".encode())
    assert read_source(str(tmp_path / "a.csv")).to_dict("list") == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize(
    ("values", "exposed", "family"),
    [
        (["a", "b", "a"], False, "binomial"),
        (["a", "b", "c"], False, "multinomial"),
        ([True, False, True], False, "binomial"),
        ([0, 1, 1], False, "binomial"),
        ([0.5, 1.5, -1.0], False, "gaussian"),
        ([0, 2, 3], False, "gaussian"),
        ([0, 1, 1], True, "poisson"),
        ([0.0, 1.5, 2.0], True, "tweedie"),
        ([0.1, 1.5, 2.0], True, "gamma"),
    ],
)
def test_family_of_a_target(values, exposed, family):
    y = pd.Series(values, name="y")
    exposure = y.index.to_numpy(float) + 1 if exposed else None
    guess = guess_family(y, exposure)
    assert guess.family == family
    assert guess.classifier == (family in ("binomial", "multinomial"))


@pytest.mark.parametrize(
    ("values", "exposed", "said"),
    [
        ([1, 1], False, "is 1 in every row"),
        ([f"n{k}" for k in range(60)], False, "60 different texts such as 'n0'"),
        ([-1.0, 0.5], True, "goes down to -1"),
    ],
)
def test_targets_that_make_no_sense(values, exposed, said):
    y = pd.Series(values, name="y")
    with pytest.raises(UserError) as error:
        guess_family(y, y.index.to_numpy(float) + 1 if exposed else None)
    assert said in str(error.value)


def test_shares_are_no_classes():
    assert not told_family("binomial", pd.Series([0.1, 0.5, 0.9])).classifier
    assert told_family("binomial", pd.Series([0, 1])).classifier
    with pytest.raises(UserError, match="binomial is for two"):
        told_family("multinomial", pd.Series([0, 1], name="y"))


def test_few_rows_have_no_identifiers():
    frame = pd.DataFrame({"row": range(60), "x": [0, 1] * 30, "s": [f"a{k}" for k in range(60)]})
    assert find_identifiers(frame) == ["row", "s"]
    assert find_identifiers(frame.head(10)) == []


def test_rules_are_broken_between_conditions():
    parts = ("age > 50", "sex = 'F'", "job in {'clerk', 'farmer', 'teacher', 'other'}")
    assert wrap_rule(parts, 200) == [" and ".join(parts)]
    assert wrap_rule(parts, 26) == [
        "age > 50 and sex = 'F'",
        "and job in {'clerk',",
        "    'farmer', 'teacher',",
        "    'other'}",
    ]


def test_numbers_share_their_decimals():
    assert align_numbers(pd.Series([1.5, -0.25, 0.0, 0.00012]).to_numpy(), "+") == [
        "+1.500",
        "-0.250",
        "+0.000",
        "+0.00012",
    ]
    assert align_numbers(pd.Series([12345.6, 20.0]).to_numpy()) == ["12,346", "20"]


def test_tables_are_aligned():
    text = lay_out(["n", "name"], [("1", "a\nb"), ("10", "c")], left={1})
    assert text.plain == " n  name\n 1  a\n    b\n10  c"
