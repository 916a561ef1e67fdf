import gzip
import hashlib
import io
import json
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from experiments import registry
from experiments.download import Archive, Manual, OpenML, arrange, fetch
from experiments.protocol import BINARY, REGRESSION
from experiments.registry import SETS, DataSet, available, check, compare, load, prepare


def write(folder, file, **columns):
    pd.DataFrame(columns).to_csv(folder / f"{file}.csv.gz", index=False)


def make_set(origin, **changes):
    dataset = DataSet("toy", "TOY", BINARY, "yes", 3, 2, 2, origin)
    return replace(dataset, **changes)


@pytest.fixture
def serve():
    """Serve bytes at addresses of this machine."""
    pages = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path in pages else 404)
            self.end_headers()
            self.wfile.write(pages.get(self.path, b""))

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def add(path, content):
        pages[path] = content
        return f"http://127.0.0.1:{server.server_address[1]}{path}"

    yield add
    server.shutdown()
    thread.join()
    server.server_close()


def make_zip(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()


def test_the_papers_sets_are_complete_and_in_order():
    tasks = [dataset.task for dataset in SETS.values()]
    assert tasks == [BINARY] * 16 + [REGRESSION] * 8
    assert next(iter(SETS)) == "banknote"
    assert [SETS[name].paper_name for name in ("ilpd", "wdbc", "fico", "meps")] == [
        *("ILPD", "WDBC", "FICO", "MEPS")
    ]
    for name, dataset in SETS.items():
        assert dataset.name == name == dataset.paper_name.lower()
        assert (dataset.positives is None) == (dataset.task == REGRESSION)
        assert dataset.source
        assert dataset.target
    ids = [d.origin.data_id for d in SETS.values() if isinstance(d.origin, OpenML)]
    assert len(set(ids)) == len(ids)


def test_load_gives_integers_for_classes_and_floats_for_a_regression(tmp_path):
    write(tmp_path, "pima", preg=[1, 2, 0], glucose=[0, 5, 6], target=[0, 1, 1])
    write(tmp_path, "wine", color=["red", "white"], ph=[3.1, None], target=[5, 6])
    X, y = load(tmp_path, "pima")
    assert list(X) == ["preg", "glucose"]
    assert y.dtype.kind == "i"
    assert y.tolist() == [0, 1, 1]
    X, y = load(str(tmp_path), "wine")
    assert y.dtype == float
    assert X["color"].tolist() == ["red", "white"]
    assert X["ph"].isna().tolist() == [False, True]


def test_heart_keeps_patients_with_known_vessels_and_number_codes_become_names(tmp_path):
    codes = {
        "sex": [1.0, 0.0, 1.0],
        "cp": [4.0, 3.0, 1.0],
        "restecg": [0, 2, 1],
        "slope": [1, 2, 3],
    }
    write(tmp_path, "heart", **codes, ca=[0.0, None, 2.0], thal=[3.0, 7.0, None], target=[0, 1, 1])
    X, y = load(tmp_path, "heart")
    assert X.index.tolist() == [0, 1]
    assert X["cp"].tolist() == ["4", "1"]
    assert X["thal"][0] == "3"
    assert pd.isna(X["thal"][1])
    assert X["ca"].tolist() == [0.0, 2.0]
    assert y.tolist() == [0, 1]


def test_heart_with_names_in_place_of_numbers_stays_as_it_is(tmp_path):
    names = {"sex": ["male"], "cp": ["typical"], "restecg": ["n"], "slope": ["flat"], "thal": ["x"]}
    write(tmp_path, "heart", **names, ca=[0.0], target=[1])
    assert load(tmp_path, "heart")[0]["cp"].tolist() == ["typical"]


def test_liver_predicts_drinks_and_forgets_the_selector(tmp_path):
    write(tmp_path, "liver", mcv=[80, 81, 82], drinks=[2.0, 3.0, 0.5], target=[1, 0, 1])
    X, y = load(tmp_path, "liver")
    assert list(X) == ["mcv"]
    assert y.tolist() == [0, 1, 0]


def test_rows_without_content_are_dropped(tmp_path):
    write(tmp_path, "ilpd", Age=[1, 2, 3], TP=[1.0, None, 3.0], target=[0, 1, 1])
    assert load(tmp_path, "ilpd")[1].tolist() == [0, 1]
    write(tmp_path, "fico", a=[-9, -9, 5, -8], b=[-9, 3, -9, -7], target=[1, 0, 1, 1])
    X, y = load(tmp_path, "fico")
    assert X["a"].tolist() == [-9, 5, -8]
    assert y.tolist() == [0, 1, 1]


def test_bank_is_read_without_the_length_of_the_call(tmp_path):
    write(tmp_path, "bank-mkt", age=[30], duration=[100], target=[1])
    assert list(load(tmp_path, "bank-mkt")[0]) == ["age"]


def test_gas_prefers_the_whole_file_and_is_gas_one_against_the_rest(tmp_path):
    write(tmp_path, "gas-partial", s=[1.0, 2.0, 3.0], target=[1, 6, 2])
    assert load(tmp_path, "gas")[1].tolist() == [1, 0, 0]
    write(tmp_path, "gas", s=[1.0, 2.0], target=[3, 1])
    assert load(tmp_path, "gas")[1].tolist() == [0, 1]


def test_what_is_absent_says_how_to_get_it(tmp_path):
    write(tmp_path, "wine", a=[1], target=[5])
    write(tmp_path, "gas-partial", a=[1], target=[5])
    assert available(tmp_path) == ["gas", "wine"]
    messages = registry.absent(tmp_path)
    assert len(messages) == 22
    assert "--download --only pima" in messages["pima"]
    assert "openml.org/d/37" in messages["pima"]
    assert "HC-181" in messages["meps"]
    assert "--download" not in messages["meps"]
    with pytest.raises(FileNotFoundError, match="HC-181"):
        load(tmp_path, "meps")
    with pytest.raises(ValueError, match="no data set 'iris'"):
        load(tmp_path, "iris")


def test_meps_is_read_once_it_is_there(tmp_path):
    write(tmp_path, "meps", age=[20, 50], target=[0, 1250])
    assert load(tmp_path, "meps")[1].tolist() == [0.0, 1250.0]
    assert check(tmp_path, "meps") == []


def test_differences_name_both_counts_and_known_variants(tmp_path):
    write(tmp_path, "banknote", a=[1, 2], target=[0, 1])
    rows, positives, features = check(tmp_path, "banknote")
    assert rows == "banknote has 2 rows, 1,372 expected"
    assert positives == "banknote has 1 rows of class 1, 610 expected"
    assert features == "banknote has 1 features, 4 expected"
    bank, y = SETS["bank-mkt"], np.zeros(45211, int)
    y[:5289] = 1
    assert compare(bank, pd.DataFrame({"age": y}), y) == [
        "bank-full, not bank-additional-full as in the paper"
    ]
    y = np.arange(41188) < 4640
    assert compare(bank, pd.DataFrame(np.zeros((41188, 19))), y.astype(int)) == []


def test_files_of_another_form_are_refused():
    pima, wine = SETS["pima"], SETS["wine"]
    with pytest.raises(ValueError, match=r"pima: no column 'target' among \['a'\]"):
        prepare(pima, pd.DataFrame({"a": [1]}))
    with pytest.raises(ValueError, match=r"0 or 1, but there are \[2.0\]"):
        prepare(pima, pd.DataFrame({"a": [1, 1], "target": [1, 2]}))
    with pytest.raises(ValueError, match="0 or 1, but there are"):
        prepare(pima, pd.DataFrame({"a": [1, 1], "target": [1, None]}))
    with pytest.raises(ValueError, match="liver: its file lacks the column 'drinks'"):
        prepare(SETS["liver"], pd.DataFrame({"mcv": [1], "target": [1]}))
    with pytest.raises(ValueError, match="wine: 1 targets are not finite"):
        prepare(wine, pd.DataFrame({"a": [1, 1], "target": [1.5, None]}))


def test_archives_may_hold_archives(serve):
    text = b'age;job;y\n30;"unknown";"yes"\n41;admin.;no\n'
    inner = make_zip(bank__full_csv=text, bank__names_txt=b"")
    url = serve("/bank.zip", make_zip(other_csv=b"x\n1\n", inner_zip=inner))
    source = Archive(url, ("full.csv",), "y", ("yes",), separator=";")
    frame = fetch(source)
    assert list(frame) == ["age", "job", "target"]
    assert frame.to_numpy().tolist() == [[30, "unknown", 1], [41, "admin.", 0]]
    with pytest.raises(ValueError, match=r"holds no file .half\.csv."):
        fetch(replace(source, members=("half.csv",)))


def test_archives_without_header_and_of_several_members(serve):
    files = make_zip(red_csv=b"3.1, 5\n?, 6\n", white_csv=b"3.3, 7\n")
    source = Archive(
        serve("/wine.zip", files),
        ("red.csv", "white.csv"),
        "quality",
        names=("ph",),
        label="color",
        labels=("red", "white"),
    )
    frame = fetch(source)
    assert list(frame) == ["color", "ph", "target"]
    assert frame["color"].tolist() == ["red", "red", "white"]
    assert frame["target"].tolist() == [5, 6, 7]
    assert frame["ph"].isna().tolist() == [False, True, False]


def test_a_plain_file_needs_no_archive(serve):
    url = serve("/hour.csv", b"instant,hr,cnt\n1,0,16\n2,1,40\n")
    frame = fetch(Archive(url, ("hour.csv",), "cnt", drop=("instant",)))
    assert frame.to_dict("list") == {"hr": [0, 1], "target": [16, 40]}


def test_openml_tables_are_arranged(monkeypatch):
    raw = pd.DataFrame(
        {
            "fLength:": [1.0, 2.0, 3.0],
            "class:": pd.Categorical(["g", "h", "g"]),
            "ID": [1, 2, 3],
            "w": pd.Categorical(["a", None, "b"]),
        }
    )

    class Answer:
        frame = raw

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: Answer)
    frame = fetch(OpenML(1120, "Class", ("g",), drop=("id", "not there")))
    assert list(frame) == ["fLength", "w", "target"]
    assert frame["target"].tolist() == [1, 0, 1]
    renamed = fetch(OpenML(1120, "class", ("g",), ("ID",), names=("length", "width")))
    assert list(renamed) == ["length", "width", "target"]
    with pytest.raises(ValueError, match="2 features, not 1"):
        fetch(OpenML(1120, "class", ("g",), ("ID",), names=("length",)))
    with pytest.raises(ValueError, match="no column 'y' among"):
        fetch(OpenML(1120, "y"))


def serve_openml(serve, monkeypatch, arff, columns):
    """Let scikit-learn find one data set, number 7, on this machine."""
    content = arff.encode()
    description = {
        "id": "7",
        "name": "toy",
        "version": "1",
        "status": "active",
        "format": "ARFF",
        "description": "made up",
        "md5_checksum": hashlib.md5(content).hexdigest(),
        "url": serve("/data/v1/download/7/toy.arff", content),
    }
    features = [
        {
            "index": str(k),
            "name": name,
            "data_type": kind,
            "is_target": "false",
            "is_ignore": "false",
            "is_row_identifier": str(name == "ID").lower(),
        }
        for k, (name, kind) in enumerate(columns.items())
    ]
    answers = {
        "_DATA_INFO": {"data_set_description": description},
        "_DATA_FEATURES": {"data_features": {"feature": features}},
        "_DATA_QUALITIES": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": 3}]}
        },
    }
    for name, answer in answers.items():
        url = serve(f"/api/{name}", json.dumps(answer).encode())
        monkeypatch.setattr(f"sklearn.datasets._openml.{name}", url)


def test_a_download_by_way_of_scikit_learn(tmp_path, serve, monkeypatch):
    arff = "@relation toy\n@attribute ID numeric\n@attribute 'V1' numeric\n"
    arff += "@attribute V2 {'a b',c}\n@attribute Class {1,2,6}\n@data\n"
    arff += "1,0.5,'a b',1\n2,?,c,6\n3,2.5,?,1\n"
    columns = {"ID": "numeric", "V1": "numeric", "V2": "nominal", "Class": "nominal"}
    serve_openml(serve, monkeypatch, arff, columns)
    origin = OpenML(7, "Class", drop=("ID",), names=("x", "kind"))
    toy = make_set(origin, clean=registry.keep_ethanol)
    monkeypatch.setitem(SETS, "toy", toy)
    path = registry.download(tmp_path, "toy")
    assert gzip.decompress(path.read_bytes()) == b"x,kind,target\n0.5,a b,1\n,c,6\n2.5,,1\n"
    assert load(tmp_path, "toy")[1].tolist() == [1, 0, 1]


def test_labels_that_are_numbers_match_their_text():
    raw = pd.DataFrame({"x": [1, 2, 3], "Class": [1.0, 2.0, 2.0]})
    assert arrange(raw, OpenML(1, "Class", ("2",)))["target"].tolist() == [0, 1, 1]
    raw["Class"] = [1, 2, 2]
    assert arrange(raw, OpenML(1, "Class", ("2",)))["target"].tolist() == [0, 1, 1]


def test_a_download_is_checked_then_written_once(tmp_path, serve, monkeypatch):
    url = serve("/toy.csv", b"a,b,y\n1,u,yes\n2,v,no\n3,,yes\n")
    toy = make_set(Archive(url, ("toy.csv",), "y", ("yes",)))
    monkeypatch.setitem(SETS, "toy", toy)
    folder = tmp_path / "data"
    path = registry.download(folder, "toy")
    assert gzip.decompress(path.read_bytes()) == b"a,b,target\n1,u,1\n2,v,0\n3,,1\n"
    assert check(folder, "toy") == []
    assert list(folder.iterdir()) == [path]
    with pytest.raises(FileExistsError, match="never overwritten"):
        registry.download(folder, "toy")


def test_a_download_with_other_counts_is_refused_with_both(tmp_path, serve, monkeypatch):
    url = serve("/toy.csv", b"a,b,y\n1,u,yes\n2,v,no\n")
    monkeypatch.setitem(SETS, "toy", make_set(Archive(url, ("toy.csv",), "y", ("yes",))))
    with pytest.raises(ValueError, match=r"toy has 2 rows, 3 expected.*1 rows of class 1, 2 exp"):
        registry.download(tmp_path, "toy")
    assert list(tmp_path.iterdir()) == []


def test_the_command_lists_and_downloads(tmp_path, serve, monkeypatch, capsys):
    url = serve("/toy.csv", b"a,b,y\n1,u,yes\n2,v,no\n3,,yes\n")
    monkeypatch.setitem(SETS, "toy", make_set(Archive(url, ("toy.csv",), "y", ("yes",))))
    gone = make_set(Archive(url + "gone", ("toy.csv",), "y"), name="gone")
    monkeypatch.setitem(SETS, "gone", gone)
    monkeypatch.setitem(SETS, "own", make_set(Manual("it yourself"), name="own"))
    arguments = ["--data", str(tmp_path), "--only", "toy", "gone", "own"]
    assert registry.main(arguments) == 0
    assert capsys.readouterr().out.count(" absent ") == 3
    assert registry.main([*arguments, "--download"]) == 1
    out = capsys.readouterr().out
    assert "toy          present       3 rows    2 features       2 of class 1" in out
    assert "as expected" in out
    assert "gone: could not be downloaded: HTTP Error 404" in out
    assert "own is not in" in out
    assert "get it yourself" in out


def test_what_everyone_must_get_for_himself_is_not_fetched():
    with pytest.raises(TypeError, match="cannot be downloaded: it yourself"):
        fetch(Manual("it yourself"))
