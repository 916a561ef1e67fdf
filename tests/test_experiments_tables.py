"""The study's tables and figures from made-up results: whole, with gaps, and of a single fold."""

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from experiments.comparisons import rank, reproduce
from experiments.curves import front, is_efficient, simplest_reaching
from experiments.figures import compact, write_figures
from experiments.markdown import BLANK, join_figures
from experiments.records import METRICS, Study, show_percent, show_plain, show_scientific
from experiments.tables import write_tables

from tests.study_results import make_results

BRIER, ACCURACY, R2 = METRICS
ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results"
FEW = ["heart", "pima", "fico", "wine", "bike"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Five data sets and all methods, with gaps as slow methods leave them."""
    folder = make_results(tmp_path_factory.mktemp("study"), FEW, points=4)
    change(folder, drop_gaps)
    write_tables(folder)
    return folder


def change(folder, edit):
    scores = pd.read_csv(folder / "scores.csv")
    edit(scores).to_csv(folder / "scores.csv", index=False)


def drop_gaps(scores):
    """EBM on one fold of pima, no RuleFit on fico, XGBoost on heart only, and a note."""
    ebm = (scores.method == "EBM") & (scores.dataset == "pima") & (scores.fold > 0)
    rulefit = (scores.method == "RuleFit") & (scores.dataset == "fico")
    xgboost = (scores.method == "XGBoost") & (scores.dataset != "heart")
    scores["note"] = scores.note.astype(object)
    scores.loc[(scores.method == "SVM") & (scores.dataset == "fico"), "note"] = "5,000 rows"
    scores.loc[(scores.method == "LRRI") & (scores.fold == 3), "score"] = np.nan
    return scores[~(ebm | rulefit | xgboost)]


def read_row(text, title, name):
    """Return the cells of a data set in the first table after a title, by method."""
    lines = text[text.index(title) :].splitlines()
    table = [line[2:-2].split(" | ") for line in lines if line.startswith("|")]
    head = table[0]
    row = next(row for row in table if row[0].startswith(name))
    return dict(zip(head, row, strict=True))


def test_cells_are_means_with_errors_beside_the_papers(results):
    text = (results / "tables.md").read_text(encoding="utf-8")
    scores = pd.read_csv(results / "scores.csv")
    lines = scores.query("dataset == 'pima' and metric == 'brier' and method == 'LRRN'")
    cell = read_row(text, "## Brier score", "pima")["LRRN"]
    ours, paper = cell.split("<br>")
    found = re.fullmatch(r"(?:\*\*)?([\d.]+)(?:\*\*)?\s\(([\d.]+)\)\sE.1", ours)
    assert float(found[1]) / 10 == pytest.approx(lines.score.mean(), abs=5e-4)
    assert float(found[2]) / 10 == pytest.approx(lines.score.std() / 10**0.5, abs=5e-4)
    assert paper == f"*1.65{join_figures(' (0.08) E-1')}*"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_best_of_a_line_is_bold(results, metric):
    text = (results / "tables.md").read_text(encoding="utf-8")
    summary = Study.read(results).summary(metric.name)
    for name in Study.read(results).datasets(metric.name):
        row = read_row(text, f"## {metric.title}", name)
        means = {m: metric.sign * summary[name, m].mean for m in row if (name, m) in summary}
        assert [m for m in row if "**" in row[m]] == [max(means, key=means.get)]


def test_gaps_are_marked(results):
    text = (results / "tables.md").read_text(encoding="utf-8")
    assert read_row(text, "## Brier score", "fico")["RuleFit"].startswith("*")  # the paper's only
    assert read_row(text, "## Brier score", "fico")["SVM"].split("<br>")[0].endswith("†")
    assert "- SVM, fico: 5,000 rows" in text
    further = text[text.index("does not have") :]
    assert read_row(further, "does not", "pima")["XGBoost"] == "\N{EN DASH}"
    one_fold = read_row(further, "does not", "pima")["EBM"]
    assert re.fullmatch(r"(\*\*)?\d\.\d\d(\*\*)?\sE.1<sup>1</sup>", one_fold)
    assert read_row(further, "does not", "pima")["LRRI"].endswith("<sup>9</sup>")
    summary = (results / "summary.md").read_text(encoding="utf-8")
    assert read_row(summary, "What was run", "EBM")["fewer folds"] == "pima 1"
    assert read_row(summary, "What was run", "XGBoost")["data sets"] == "1 of 5"


def test_ranks_are_over_what_all_methods_have(results):
    study = Study.read(results)
    everyone = rank(study, BRIER, study.methods("brier"))
    assert "XGBoost" in everyone.left_out
    assert "RuleFit" in everyone.left_out  # two sets of three are fewer than three quarters
    assert (everyone.n_sets, everyone.folds) == (3, (1, 9))
    lines = study.of("brier").query("dataset == 'pima' and fold == 0").set_index("method").score
    means, folds = study.shared("brier", list(everyone.ranks))
    assert folds["pima"] == 1
    np.testing.assert_allclose(means.loc["pima"], lines[list(everyone.ranks)])
    pair = rank(study, R2, ["LR1", "LRRN"])
    assert sum(pair.ranks.values()) == 3.0
    assert pair.folds == (10, 10)


def test_sums_in_another_order_tie(tmp_path):
    make_results(tmp_path, ["heart", "pima"], ["LR1", "LRR"], folds=3)
    parts = {"LR1": [0.1, 0.2, 0.3], "LRR": [0.3, 0.2, 0.1]}
    assert sum(parts["LR1"]) != sum(parts["LRR"])
    change(tmp_path, lambda scores: scores.assign(score=np.tile([*parts["LR1"], *parts["LRR"]], 4)))
    study = Study.read(tmp_path)
    assert rank(study, ACCURACY, ["LR1", "LRR"]).ranks == {"LR1": 1.5, "LRR": 1.5}
    assert (
        study.summary("accuracy")["pima", "LR1"].mean
        == study.summary("accuracy")["pima", "LRR"].mean
    )


def test_ranks_of_complexity_prefer_small(results):
    study = Study.read(results)
    ranks = rank(study, R2, ["LR1N", "RuleFitN", "SVM"], value="complexity").ranks
    assert ranks == {"LR1N": 1.0, "RuleFitN": 2.0}


def test_sizes_are_medians_over_data_sets(results):
    text = (results / "summary.md").read_text(encoding="utf-8")
    scores = pd.read_csv(results / "scores.csv").query("metric == 'brier' and method == 'LRRN'")
    size = scores.groupby("dataset").complexity.mean().median()
    row = read_row(text, "### Size", "LRRN")
    assert row["for Brier score"] == f"{size:,.0f}"
    assert read_row(text, "### Size", "SVM")["for Brier score"] == BLANK


def make_one(folder, score, dataset="bank-mkt", metric="brier"):
    """Write results of LR1 alone, with the same score on two folds."""
    make_results(folder, [dataset], ["LR1"], folds=2)
    change(folder, lambda scores: scores[scores.metric == metric].assign(score=score))
    return Study.read(folder)


@pytest.mark.parametrize(
    ("score", "verdict", "in_errors"),
    [  # the paper's LR1: 1.00 (0.00) E-1, so that an error is half of 1e-3
        (0.0999, "as good or better", 0.2),
        (0.10099, "within 2 SE", -1.98),
        (0.1011, "worse", -2.2),
    ],
)
def test_verdicts_at_an_error_printed_as_zero(tmp_path, score, verdict, in_errors):
    (line,) = reproduce(make_one(tmp_path, score), BRIER, "LR1")
    assert line.in_paper_errors == pytest.approx(in_errors)
    assert line.in_combined_errors == line.in_paper_errors
    assert line.verdict == verdict


def test_verdicts_know_that_much_r2_is_good_and_our_errors_too(tmp_path):
    make_results(tmp_path, ["wine"], ["LR1"], folds=2)  # paper: 32.3 (1.0)
    change(tmp_path, lambda scores: scores.assign(score=[0.28, 0.32]))
    (line,) = reproduce(Study.read(tmp_path), R2, "LR1")
    assert line.in_paper_errors == pytest.approx(-2.3)
    assert line.in_combined_errors == pytest.approx(-2.3 / 5**0.5)
    assert line.verdict == "within 2 combined SE"
    assert not line.met


def test_a_single_fold_of_a_single_method_is_enough(tmp_path):
    make_results(tmp_path, ["wine"], ["Pursuit"], folds=1, points=1)
    (tmp_path / "versions.csv").unlink()
    write_tables(tmp_path)
    text = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert re.search(r"\| wine \| \*\*[\d.]+\*\*<sup>1</sup> \|", text)
    assert not re.search(r"\bnan\b", text)
    write_figures(tmp_path, tmp_path / "figures")
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["r2-wine.svg"]


def test_without_curves_there_are_tables_and_no_figures(tmp_path):
    make_results(tmp_path, ["heart"], ["LR1", "GBT"], folds=2)
    (tmp_path / "curves.csv").unlink()
    write_tables(tmp_path)
    write_figures(tmp_path, tmp_path / "figures")
    assert list((tmp_path / "figures").iterdir()) == []


def test_bad_results_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="run stage"):
        Study.read(tmp_path)
    make_results(tmp_path, ["wine"], ["LR1"], folds=1)
    change(tmp_path, lambda scores: pd.concat([scores, scores]))
    with pytest.raises(ValueError, match="two lines for r2, wine, LR1, 0"):
        Study.read(tmp_path)
    change(tmp_path, lambda scores: scores.drop(columns="note"))
    with pytest.raises(ValueError, match="lacks the columns note"):
        Study.read(tmp_path)


def test_figures_come_out_the_same_and_keep_their_text(tmp_path):
    results, out = make_results(tmp_path, ["pima", "wine"], points=4), tmp_path / "study"
    change(results, lambda scores: scores[(scores.method != "EBM") | (scores.fold < 3)])
    write_figures(results, out)
    files = sorted(out.iterdir())
    assert [path.stem for path in files] == ["accuracy-pima", "brier-pima", "r2-wine"]
    first = [path.read_bytes() for path in files]
    (out / "brier-gone.svg").write_text("old")
    write_figures(results, out)
    assert [path.read_bytes() for path in sorted(out.iterdir())] == first
    words = {text.strip() for text in ET.fromstring(first[1]).itertext()}
    assert {"LR1", "LRRN", "Pursuit", "RuleFitN", "LightGBM", "EBM³"} <= words
    listed = (results / "figures.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(study/(\S+)\.svg\)", listed)) == {path.stem for path in files}
    main = (results / "figures-main.md").read_text(encoding="utf-8")
    assert re.findall(r"!\[[^\]]*\]\(study/(\S+)\.svg", main) == ["brier-pima", "r2-wine"]


def test_efficient_points_are_those_that_none_beats():
    rng = np.random.default_rng(0)
    points = pd.DataFrame(rng.integers(0, 8, size=(40, 2)), columns=["complexity", "score"])
    for metric in (BRIER, R2):
        gains = metric.sign * points.score
        beaten = [
            any(
                (points.complexity[j] <= points.complexity[k] and gains[j] > gains[k])
                or (points.complexity[j] < points.complexity[k] and gains[j] >= gains[k])
                or (j < k and points.iloc[j].equals(points.iloc[k]))
                for j in points.index
            )
            for k in points.index
        ]
        np.testing.assert_array_equal(is_efficient(points, metric), np.logical_not(beaten))
        assert front(points, metric).complexity.is_monotonic_increasing


def test_the_simplest_model_of_a_score():
    points = pd.DataFrame({"complexity": [1.0, 5.0, 9.0], "score": [0.3, 0.2, 0.1]})
    assert simplest_reaching(points, BRIER, 0.25) == 5.0
    assert simplest_reaching(points, BRIER, 0.05) is None
    assert simplest_reaching(points, R2, 0.2) == 1.0


def test_numbers_look_as_in_the_paper():
    assert "".join(show_scientific(0.00258, 0.00075)) == "2.58 (0.75) E-3"
    assert "".join(show_scientific(0.09996, 0.001)) == "1.00 (0.01) E-1"
    assert "".join(show_scientific(0.0, 0.0)) == "0.00 (0.00)"
    assert "".join(show_percent(0.7725, np.nan)) == "77.2"
    assert "".join(show_plain(1255.66, 25.4)) == "1255.7 (25.4)"


def test_compact_figures_keep_words_and_styles():
    svg = '<g><use x="1.26" style="a: 0.75"/> <use x="2.0" style="a: 0.75"/></g><text>0.125</text>'
    assert compact(svg) == ('<g style="a: 0.75"><use x="1.3"/> <use x="2"/></g><text>0.125</text>')


@pytest.mark.skipif(not (RESULTS / "scores.csv").exists(), reason="no results are committed")
def test_committed_tables_are_those_of_the_committed_scores(tmp_path):
    for name in ("scores.csv", "curves.csv", "versions.csv"):
        shutil.copy(RESULTS / name, tmp_path)
    write_tables(tmp_path)
    for name in ("tables.md", "summary.md"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (RESULTS / name).read_text(
            encoding="utf-8"
        )
    listed = re.findall(
        r"!\[[^\]]*\]\((\S+)\)", (RESULTS / "figures.md").read_text(encoding="utf-8")
    )
    files = [ROOT / "docs" / path for path in listed]
    assert set(files) == set((ROOT / "docs" / "study").iterdir())
    assert sum(path.stat().st_size for path in files) < 3e6
