"""Runs on public datasets go through every analysis by the scores of their protocol."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.comparison.comparison_text import render_comparison
from recall_bench.features.comparison.gate.gate_checks import CheckOutcome
from recall_bench.features.comparison.gate.gate_rules import GateRules
from recall_bench.features.comparison.gate.run_gate import check_run
from recall_bench.features.datasets.eval_report import EvalReport
from recall_bench.reporting.publication import publish_report
from recall_bench.reporting.report_text import render_report
from recall_bench.reporting.run_comparison import compare_runs
from recall_bench.reporting.trial_scores import (
    list_score_names,
    measure_figures,
    read_scored_trials,
)
from tests.commands import Invoke
from tests.features.datasets.evaluation.eval_datasets import (
    BOUGHT,
    FROST,
    HARVEST,
    LEMONS,
    SOLD,
    WHERE,
    figures,
    finding,
    report_on,
    request_for,
    write_locomo,
    write_longmemeval,
    write_personamem,
)

GOOD = {WHERE: [BOUGHT], HARVEST: [LEMONS]}
POOR = {WHERE: [FROST], HARVEST: [FROST]}


def measure_locomo(
    home: Path,
    replies: Mapping[str, Sequence[str]],
    *,
    protocol: str = "official",
    skip_qa: bool = False,
) -> tuple[RunFolder, EvalReport]:
    home.mkdir()
    data = write_locomo(home / "locomo10.json")
    request = request_for("locomo", data, home, protocol=protocol, skip_qa=skip_qa, floors=False)
    report = report_on(request, finding(replies, otherwise=[SOLD]))
    return RunFolder.open(home / "run"), report


@pytest.mark.parametrize("protocol", ["official", "strict"])
def test_the_figures_are_those_of_the_report_of_eval(tmp_path: Path, protocol: str) -> None:
    folder, report = measure_locomo(tmp_path / "a", GOOD, protocol=protocol)

    found = {each.name: each for each in measure_figures(folder, read_scored_trials(folder))}

    assert set(report.headline) <= set(found)
    for name, figure in figures(report).items():
        if name in found:
            mean = found[name].mean
            assert mean is not None
            assert mean.value == pytest.approx(figure.mean)
            assert mean.trials == figure.counted


def test_every_name_that_a_run_offers_can_be_read(tmp_path: Path) -> None:
    folder, report = measure_locomo(tmp_path / "a", GOOD, protocol="strict")
    known = figures(report)

    for name in list_score_names(folder):
        table = read_scored_trials(folder, name)
        values = [score / 6 for score in table.points.values()]
        assert table.scale is not None
        assert table.scale.name == name
        if name in known:
            assert sum(values) / len(values) == pytest.approx(known[name].mean), name


def test_the_default_score_is_that_of_the_answers_if_there_are_any(tmp_path: Path) -> None:
    answered, _ = measure_locomo(tmp_path / "a", GOOD)
    found, _ = measure_locomo(tmp_path / "b", GOOD, protocol="strict", skip_qa=True)
    judged, _ = measure_locomo(tmp_path / "c", GOOD, protocol="strict")

    scales = [read_scored_trials(each).scale for each in (answered, found, judged)]

    assert [each and (each.name, each.is_retrieval) for each in scales] == [
        ("locomo/official", False),
        ("turn recall@10", True),
        None,
    ]


def test_letters_are_scored_as_right_or_wrong(tmp_path: Path) -> None:
    data = write_personamem(tmp_path / "data")
    request = request_for("personamem-32k", data, tmp_path, floors=False)
    report_on(request, finding({}, otherwise=["I gave up rowing."]))

    table = read_scored_trials(RunFolder.open(tmp_path / "run"))

    assert table.scale is not None
    assert (table.scale.name, table.scale.label) == ("choice/letter", "accuracy")
    assert {*table.points.values()} <= {0.0, 6.0}


def test_two_runs_are_compared_by_question_and_right_or_wrong_by_mcnemar(tmp_path: Path) -> None:
    poor, _ = measure_locomo(tmp_path / "a", POOR, skip_qa=True, protocol="strict")
    good, _ = measure_locomo(tmp_path / "b", GOOD, skip_qa=True, protocol="strict")

    report = compare_runs([poor, good], score="turn hit@1")

    overall = report.contrasts[0].overall.comparison
    assert report.score is not None
    assert (report.score.label, report.unit) == ("turn hit@1", "conversation")
    assert (overall.wins, overall.losses, overall.is_mcnemar) == (2, 0, True)
    assert overall.p_value == 0.5
    text = render_comparison(report)
    assert "turn hit@1, of 100" in text
    assert "McNemar's exact test" in text
    assert "persona" not in text
    assert "by checkpoint" not in text


def test_shares_are_not_tested_by_mcnemar(tmp_path: Path) -> None:
    poor, _ = measure_locomo(tmp_path / "a", POOR)
    good, _ = measure_locomo(tmp_path / "b", GOOD)

    overall = compare_runs([poor, good]).contrasts[0].overall.comparison

    assert overall.difference.value > 0
    assert not overall.is_mcnemar


def test_runs_that_are_not_measured_alike_are_refused_in_a_sentence(tmp_path: Path) -> None:
    official, _ = measure_locomo(tmp_path / "a", GOOD)
    strict, _ = measure_locomo(tmp_path / "b", GOOD, protocol="strict")
    found, _ = measure_locomo(tmp_path / "c", GOOD, protocol="strict", skip_qa=True)
    data = write_longmemeval(tmp_path / "lme.json")
    request = request_for("longmemeval-s", data, tmp_path / "d", floors=False, skip_qa=True)
    report_on(request, finding({}, otherwise=[BOUGHT]))
    other = RunFolder.open(tmp_path / "d" / "run")

    for runs, why in (
        ((official, strict), r"measured by locomo/official \(official-1\) and locomo/strict"),
        ((official, other), "one is on locomo and the other on longmemeval-s"),
    ):
        for intersect in (False, True):
            with pytest.raises(UsageError, match=why):
                compare_runs(list(runs), intersect=intersect)
    with pytest.raises(UsageError, match=r"by marks and .* by turn recall@10; name a figure"):
        compare_runs([strict, found], intersect=True)


def test_other_bytes_of_the_same_dataset_take_intersect(tmp_path: Path) -> None:
    first, _ = measure_locomo(tmp_path / "a", POOR)
    home = tmp_path / "b"
    home.mkdir()
    data = write_locomo(home / "locomo10.json")
    data.write_text(data.read_text() + "\n")
    report_on(request_for("locomo", data, home, protocol="official", floors=False), finding(GOOD))
    second = RunFolder.open(home / "run")

    with pytest.raises(UsageError, match="they read different data of locomo; run both on the"):
        compare_runs([first, second])
    assert compare_runs([first, second], intersect=True).contrasts[0].owed == 7


def test_a_gate_goes_by_the_protocol(tmp_path: Path) -> None:
    poor, _ = measure_locomo(tmp_path / "a", POOR)
    good, _ = measure_locomo(tmp_path / "b", GOOD)
    rules = GateRules(
        min_figure={"turn recall@10": 20.0},
        max_figure={"session recall@10": 99.0},
        min_category={"single-hop": 1.0},
    )

    passed = check_run(good, poor, rules)
    failed = check_run(poor, None, GateRules(min_figure={"turn recall@10": 99.0}))

    assert passed.verdict is CheckOutcome.PASSED
    assert [each.rule for each in passed.checks if "figure" in each.rule] == [
        "max-figure",
        "min-figure",
    ]
    assert failed.verdict is CheckOutcome.FAILED
    with pytest.raises(UsageError, match=r"--min-figure: .* did you mean 'turn recall@10'"):
        check_run(poor, None, GateRules(min_figure={"turn recal@10": 9.0}))


def test_a_gate_does_not_decide_between_protocols(tmp_path: Path) -> None:
    official, _ = measure_locomo(tmp_path / "a", GOOD)
    strict, _ = measure_locomo(tmp_path / "b", GOOD, protocol="strict")

    gate = check_run(strict, official, GateRules())

    assert gate.verdict is CheckOutcome.UNDECIDED
    assert any("they are measured by" in each.said for each in gate.checks)


def test_the_report_says_what_there_is_not(tmp_path: Path) -> None:
    folder, _ = measure_locomo(tmp_path / "a", GOOD)

    done = publish_report(folder, data=tmp_path / "a" / "locomo10.json")
    text = render_report(done.report)
    page = done.files[0].read_text(encoding="utf-8")

    assert done.notes == ()
    assert "there is no time axis: locomo asks its questions once" in text
    assert "not known: locomo/official does not say what is invented" in text
    assert "token F1" in text
    assert "scored by locomo/official" in page
    assert 'id="heatmap"' not in page
    assert json.loads(done.files[1].read_text())["score"]["name"] == "locomo/official"


def test_misses_of_retrieval_are_not_laid_to_answers(tmp_path: Path) -> None:
    folder, _ = measure_locomo(tmp_path / "a", POOR, protocol="strict", skip_qa=True)

    found = publish_report(folder).report.attribution

    assert found.misses
    assert {each.leaf.value for each in found.leaves if each.trials} == {"not-retrieved"}


def test_a_matrix_has_datasets_as_rows(invoke: Invoke, tmp_path: Path) -> None:
    write_locomo(tmp_path / "locomo10.json")
    write_longmemeval(tmp_path / "lme.json")
    (tmp_path / "m.yaml").write_text(
        "systems: [bm25, none]\n"
        "datasets:\n"
        "  - {dataset: locomo, data: locomo10.json, protocol: official}\n"
        "  - {name: lme, dataset: longmemeval-s, data: lme.json, skipQa: true}\n"
    )

    shown = invoke("matrix", "m.yaml", "--into", "out")

    assert shown.code == 0, shown.err
    rows = [line.split() for line in shown.out.splitlines()]
    assert ["dataset", "score", "questions", "bm25", "none"] in rows
    assert any(row[:3] == ["locomo", "token", "F1"] for row in rows)
    assert any(row[:3] == ["lme", "session", "recall@10"] for row in rows)
    report = json.loads((tmp_path / "out" / "matrix.json").read_text())
    assert [each["dataset"] for each in report["settings"]] == ["locomo", "longmemeval-s"]
    assert report["between"] == []


def test_a_matrix_names_what_a_dataset_cannot_say(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "systems: [bm25]\ndatasets:\n  - {dataset: locomo, protocl: official}\n  - {data: x}\n"
    )

    shown = invoke("matrix", "m.yaml")

    assert shown.code == 2
    assert "unknown key 'protocl'; did you mean 'protocol'" in shown.err
    assert "a dataset must be a name, or a mapping with `dataset`" in shown.err


def test_a_persona_run_has_no_figure_to_choose(invoke: Invoke) -> None:
    invoke("run", "--personas", "executive-assistant", "--adapter", "none", "--ranges", "7d",
           "--into", "a", "--no-heatmap-png")  # fmt: skip

    shown = invoke("compare", "a", "a", "--score", "turn recall@10")

    assert shown.code == 2
    assert "a is a run on personas, which has marks and no figure of a protocol" in shown.err
