"""A page is fit to publish: its tables are whole, and every figure stands beside its floors."""

import re
from pathlib import Path

import pytest

from recall_bench.core.memory import SystemCard
from recall_bench.features.datasets.eval_groups import ALL, EvalCounts, EvalEstimate, EvalGroup
from recall_bench.features.datasets.eval_page import render_page, render_summary
from recall_bench.features.datasets.eval_report import EvalReport
from tests.features.datasets.evaluation.eval_datasets import (
    PAINTED,
    SOLD,
    WHAT,
    finding,
    report_on,
    request_for,
    write_locomo,
    write_longmemeval,
    write_persona,
    write_personamem,
)


def tables(page: str) -> list[list[list[str]]]:
    """Every table of a page: its rows, and their cells without the bars that are escaped."""
    found: list[list[list[str]]] = []
    inside = False
    for line in page.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        assert line.endswith("|")
        found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def table_with(page: str, name: str) -> dict[str, list[str]]:
    """The first table with a row of this name, by the names of its rows."""
    for table in tables(page):
        rows = {row[0]: row[1:] for row in table}
        if name in rows:
            return rows
    raise AssertionError(f"no table has a row {name!r}")


def section(page: str, title: str) -> str:
    return page.split(f"## {title}\n")[1].split("\n## ", maxsplit=1)[0]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same system on four datasets, floors and all."""
    home = tmp_path_factory.mktemp("pages")
    data = {
        "locomo": write_locomo(home / "locomo10.json"),
        "longmemeval-oracle": write_longmemeval(home / "oracle.json"),
        "persona-json": write_persona(home / "ada.json"),
        "personamem-32k": write_personamem(home / "personamem"),
    }
    return {
        name: render_page(report_on(request_for(name, path, home / name, adapter="recency")))
        for name, path in data.items()
    }


@pytest.fixture
def report(tmp_path: Path) -> EvalReport:
    """One question's gold is found second, the others' not at all; nothing is said."""
    data = write_locomo(tmp_path / "locomo10.json")
    request = request_for("locomo", data, tmp_path, skip_qa=True)
    return report_on(request, finding({WHAT: [PAINTED, SOLD]}))


DATASETS = ["locomo", "longmemeval-oracle", "persona-json", "personamem-32k"]


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(
    pages: dict[str, str], dataset: str
) -> None:
    found = tables(pages[dataset])

    assert len(found) >= 4
    for table in found:
        assert len({len(row) for row in table}) == 1, table
        assert set("".join(table[1])) <= set("-:")


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_floor_beside_the_system_is_explained(pages: dict[str, str], dataset: str) -> None:
    page = pages[dataset]

    head = tables(page)[0][0]

    assert head[2] == "recency"
    assert {"random", "bm25", "none"} <= set(head)
    for name in ("random", "bm25", "none", "oracle", "best possible"):
        assert (f"*{name}*: " in page) is (name in head), "no more is explained than shown"
    assert ("oracle" in head) is (dataset != "personamem-32k")


def test_a_dataset_without_evidence_says_why_it_has_no_oracle(pages: dict[str, str]) -> None:
    page = pages["personamem-32k"]

    assert "`oracle` has no figures: the dataset does not say where its answers stand." in page


def test_a_bar_or_a_new_line_in_a_setting_tears_no_table(report: EvalReport) -> None:
    strange = SystemCard(name="a|b", version="1\n2", config={"pattern": "x|y", "text": "l1\nl2"})

    page = render_page(report.replace(system=strange))

    for table in tables(page):
        assert len({len(row) for row in table}) == 1, table
    assert table_with(page, "its settings")["its settings"] == ["pattern=x\\|y, text=l1 l2"]


def test_the_screen_says_that_summaries_count_for_no_session(report: EvalReport) -> None:
    service = report.service.replace(summaries=1.0)
    shown = " ".join(render_summary(report.replace(service=service)).split())

    assert "100% are summaries, which count for no session" in shown
    assert "summaries" not in render_summary(report)


def test_rankings_stand_above_random_bm25_and_the_best_possible(report: EvalReport) -> None:
    rows = table_with(section(render_page(report), "What was found: turns"), "**recall**")

    names = list(rows)
    place = names.index("**recall**")
    assert names[0] == ""
    assert rows[""] == ["@1", "@3", "@5", "@10"]
    assert rows["**recall**"] == ["**0.000**", "**0.083**", "**0.083**", "**0.083**"]
    assert place < names.index("**precision**")


def test_layers_have_the_floor_of_a_blind_draw_too(pages: dict[str, str]) -> None:
    part = section(pages["persona-json"], "What was found: wordings of the answer")

    (table,) = tables(part)
    below = {row[0]: table[n + 1] for n, row in enumerate(table[:-1])}
    assert below["**snippet_r**"] == ["random", "0.167", "0.833", "1.000"]
    assert below["**document_r**"] == ["random", "0.333", "1.000", "1.000"]


def test_without_answers_nothing_is_said_of_answers(report: EvalReport) -> None:
    page = render_page(report)

    for word in ("judged right", "locomo/official", "What was said", "not known", "oracle*"):
        assert word not in page
    assert table_with(page, "judge")["judge"] == ["–"]
    assert table_with(page, "reader")["reader"] == ["–"]


def test_what_is_unknown_is_a_dash_and_not_a_zero(pages: dict[str, str]) -> None:
    row = table_with(section(pages["locomo"], "By category"), "open-domain (1)")

    assert row["open-domain (1)"][:3] == ["–", "–", "–"]


def test_an_invalid_run_says_so_before_its_figures(report: EvalReport) -> None:
    page = render_page(
        report.replace(
            validity="invalid",
            reason="too many failures",
            counts=EvalCounts(owed=7, answered=5, failed=2, open=0, unjudged=0),
        )
    )

    assert "**These figures are invalid: too many failures.**" in page
    assert page.index("These figures are invalid") < page.index("|---|")
    assert "5 answered, 2 failed" in page


def test_a_control_that_was_not_run_says_why(report: EvalReport) -> None:
    control = report.controls[0].replace(groups=(), reason="it would cost money")

    page = render_page(report.replace(controls=(control,)))

    assert "`bm25` has no figures: it would cost money." in page
    assert "bm25" not in tables(page)[0][0]


def test_a_category_named_all_stands_beside_that_of_the_control(report: EvalReport) -> None:
    def group(mean: float, *, is_category: bool) -> EvalGroup:
        figures = {"locomo/official": EvalEstimate(name="locomo/official", mean=mean, counted=1)}
        return EvalGroup(name=ALL, questions=1, figures=figures, is_category=is_category)

    ours = (group(0.5, is_category=False), group(0.1, is_category=True))
    theirs = (group(0.6, is_category=False), group(0.2, is_category=True))
    control = report.controls[0].replace(groups=theirs)

    page = render_page(report.replace(groups=ours, controls=(control,)))

    (table,) = tables(section(page, "What was said"))
    assert table[2:] == [["all (1)", "**0.500**", "0.600"], ["all (1)", "**0.100**", "0.200"]]


def test_the_data_is_named_by_its_digest_and_by_no_path_of_this_machine(
    report: EvalReport, tmp_path: Path
) -> None:
    page = render_page(report)

    assert report.dataset.files[0].sha256 in page
    assert str(tmp_path) not in page


def test_letters_have_the_floor_of_a_guess_and_of_the_longest_option(
    pages: dict[str, str],
) -> None:
    page = pages["personamem-32k"]

    row = table_with(page, "choice/letter")["choice/letter"]
    assert row[tables(page)[0][0].index("random") - 1] == "0.500"
    assert row[tables(page)[0][0].index("longest option") - 1] == "1.000"
    assert "Naming the longest option does as well or better at choice/letter" in page
