"""Variants are compared on the same trials, and every number can be counted by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.settings import Settings
from recall_bench.core.usage import estimate_tokens
from recall_bench.features.comparison.ablation import (
    name_folder,
    plan_ablation,
    read_grid,
    run_ablation,
)
from recall_bench.features.comparison.ablation_report import (
    AblationDifference,
    AblationReport,
    AblationRow,
    compare_variants,
    describe_change,
    format_cells,
    list_heads,
    render_markdown,
    render_text,
)
from recall_bench.reporting.judge_scores import JudgeMean
from tests.gardener import PLANTS, write_persona

FORGETFUL = """
class Adapter:
    name = "forgetful"

    def __init__(self, keeps=10, crashes=False, strays=False):
        self.keeps, self.crashes, self.strays = keeps, crashes, strays

    def setup(self):
        self.days = []

    def ingest_day(self, day, content, metadata):
        if day <= self.keeps:
            self.days.append((day, content.splitlines()[-1]))

    def finalize_ingestion(self):
        pass

    def query(self, question):
        if self.crashes:
            raise KeyError("gone")
        plant = question.split()[-1].strip("?")
        found = [(day, line) for day, line in self.days if plant in line]
        return {
            "answer": found[0][1] if found else "There is no record of that.",
            "passages": [{"text": line, "day": day} for day, line in found if not self.strays]
            or [{"text": "### The beds", "day": 1}],
        }

    def teardown(self):
        pass
"""

EXACT = """
def judge(exhibit):
    bed = exhibit.item.truth.reference.split()[-1]
    right = exhibit.answer.text.endswith(f"number {bed}")
    return {"correctness": 3 if right else 0, "completeness": 2 if right else 0, "grounded": 1}
"""

Compared = Callable[..., AblationReport]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The gardener, an adapter that keeps as many days as it is told, a judge that is exact."""
    write_persona(tmp_path / "data")
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    (tmp_path / "exact.py").write_text(EXACT)
    return Settings(
        adapter=f"{tmp_path / 'forgetful.py'}:Adapter",
        data=tmp_path / "data",
        ranges=("5d", "10d"),
        judge=str(tmp_path / "exact.py"),
        into=tmp_path / "runs",
    )


@pytest.fixture
def compared(settings: Settings) -> Compared:
    def run(*grid: str, full: bool = False) -> AblationReport:
        ablation = plan_ablation(settings, read_grid(grid), full=full)
        folders = run_ablation(ablation, lambda _: None).folders
        return compare_variants(
            ablation.variants, folders, adapter=settings.adapter, base_config=ablation.base
        )

    return run


def row(comparison: AblationReport, name: str) -> AblationRow:
    return next(row for row in comparison.rows if row.variant == name)


def test_each_number_is_what_counting_by_hand_gives(compared: Compared) -> None:
    """Five questions at 5d and ten at 10d: with four days kept, four at either can be answered."""
    found = compared("keeps=4")

    base, four = found.rows
    assert (base.mean, base.trials, base.hit_share) == (6.0, 15, 1.0)
    assert four.mean == pytest.approx((8 * 6 + 7 * 1) / 15)
    assert four.hit_share == pytest.approx(8 / 15)
    assert four.difference is not None
    assert four.difference.mean == pytest.approx(-5 * 7 / 15)
    assert (four.difference.pairs, four.difference.questions) == (15, 10)
    assert four.excludes_zero
    assert describe_change(four).startswith("worse")


def test_the_base_is_first_and_compared_with_nothing(compared: Compared) -> None:
    found = compared("keeps=4,9")

    assert [row.variant for row in found.rows] == ["base", "keeps=4", "keeps=9"]
    assert found.rows[0].difference is None
    assert found.comparisons == 2


def test_tokens_are_of_the_passages_delivered(compared: Compared) -> None:
    lines = [f"I planted {plant} in bed number {7 * n}." for n, plant in enumerate(PLANTS, start=1)]
    delivered = [estimate_tokens(line) for line in lines]

    found = compared("keeps=4")

    assert found.rows[0].tokens == pytest.approx((sum(delivered[:5]) + sum(delivered)) / 15)
    heading = estimate_tokens("### The beds")
    assert found.rows[1].tokens == pytest.approx((2 * sum(delivered[:4]) + 7 * heading) / 15)


def test_a_passage_of_another_day_is_not_the_right_day(compared: Compared) -> None:
    """What it delivers stands in every day, and so is the first day's: right twice of 15."""
    astray = row(compared("strays=true"), "strays=true")

    assert astray.mean == 6.0
    assert astray.hit_share == pytest.approx(2 / 15)


def test_a_small_loss_is_not_called_one(compared: Compared) -> None:
    nine = row(compared("keeps=9"), "keeps=9")

    assert nine.difference is not None
    assert nine.difference.mean == pytest.approx(-5 / 15)
    assert not nine.excludes_zero
    assert describe_change(nine) == ""


def test_a_variant_that_fails_scores_nothing_and_says_so(compared: Compared) -> None:
    crashed = row(compared("crashes=true"), "crashes=true")

    assert crashed.mean == 0
    assert crashed.hit_share == 0
    assert (crashed.tokens, crashed.query_ms) == (None, None)
    assert crashed.caveat is not None
    assert "15 of 15 trials failed" in crashed.caveat


def test_a_value_that_is_the_bases_own_is_not_run_twice(settings: Settings) -> None:
    ablation = plan_ablation(
        Settings(adapter="hybrid", into=settings.into), read_grid(["weight=0.5,0.7"])
    )

    assert [variant.name for variant in ablation.variants] == ["base", "weight=0.5"]


def test_a_grid_of_the_base_alone_is_refused() -> None:
    with pytest.raises(UsageError, match="weight: these are already the settings of hybrid"):
        plan_ablation(Settings(), read_grid(["weight=0.7"]))


def test_a_value_the_system_refuses_is_refused_before_anything_runs() -> None:
    for full in (False, True):
        with pytest.raises(UsageError, match="chunking"):
            plan_ablation(Settings(), read_grid(["chunking=turn,word"]), full=full)


def test_of_all_combinations_those_refused_are_left_out_with_a_note() -> None:
    ablation = plan_ablation(
        Settings(), read_grid(["keyword=true,false", "vector=true,false"]), full=True
    )

    assert [variant.name for variant in ablation.variants] == [
        "base",
        "keyword=true, vector=false",
        "keyword=false, vector=true",
    ]
    (note,) = ablation.notes
    assert note.startswith("keyword=false, vector=false is left out")


def test_the_usual_grid_leaves_out_what_the_base_rules_out() -> None:
    ablation = plan_ablation(Settings(config={"keyword": False}), None)

    names = [variant.name for variant in ablation.variants]
    assert "keyword=true" in names
    assert "vector=false" not in names
    assert any("vector=false is left out" in note for note in ablation.notes)


@pytest.mark.parametrize(
    ("variant", "folder"),
    [("base", "base"), ("weight=0.3, rerank=true", "weight=0.3,rerank=true")],
)
def test_a_folder_is_named_after_its_variant(variant: str, folder: str) -> None:
    assert name_folder(variant) == folder


def test_names_that_no_folder_can_have_are_distinguished() -> None:
    odd = name_folder("path=/a/b"), name_folder("path=a/b"), name_folder("path=ab")

    assert len(set(odd)) == 3
    assert all("/" not in name for name in odd)


def a_row(
    name: str, difference: AblationDifference | None, *, survives: bool = False
) -> AblationRow:
    return AblationRow(
        variant=name,
        changes={},
        mean=2.5,
        trials=40,
        difference=difference,
        excludes_zero=bool(
            difference
            and difference.interval
            and difference.interval[0] * difference.interval[1] > 0
        ),
        survives=survives,
        hit_share=None,
        tokens=1234.4,
        query_ms=0.52,
    )


def a_table(*rows: AblationRow) -> AblationReport:
    return AblationReport(
        adapter="hybrid",
        base={},
        personas=("ada",),
        checkpoints=("5d",),
        judge="offline 2",
        questions=20,
        comparisons=len(rows) - 1,
        codes=("1",),
        rows=rows,
    )


BETTER = AblationDifference(mean=0.4, interval=(0.1, 0.7), pairs=40, questions=20)
SAME = AblationDifference(mean=-0.001, interval=(-0.2, 0.2), pairs=38, questions=20)


def test_a_row_says_plainly_what_its_interval_shows() -> None:
    assert format_cells(a_row("rerank=true", BETTER, survives=True)) == (
        "rerank=true", "41.7", "+6.7", "+1.7 to +11.7", "better*", "–", "1,234", "0.5",
    )  # fmt: skip
    assert describe_change(a_row("x", BETTER)) == "better"
    assert format_cells(a_row("x", SAME))[2:5] == ("0.0", "-3.3 to +3.3", "")


def test_the_table_warns_how_many_comparisons_were_made() -> None:
    text = render_text(a_table(a_row("base", None), *(a_row(f"v{n}", BETTER) for n in range(10))))

    assert "10 comparisons" in text
    assert "0.5 of them would look like one by chance" in text


def test_a_variant_without_verdicts_has_no_range_over_judges() -> None:
    judges = tuple(JudgeMean(judge=name, mean=mean) for name, mean in (("a", 2.4), ("b", 3.0)))
    table = a_table(a_row("base", None).replace(judges=judges), a_row("v", BETTER))

    cells = [format_cells(row, list_heads(table)) for row in table.rows]

    assert [row[-1] for row in cells] == ["40.0–50.0", "–"]
    assert {len(row) for row in cells} == {len(list_heads(table))}
    assert "40.0–50.0" in render_text(table)


def test_trials_that_could_not_be_paired_are_reported() -> None:
    assert "v: 38 trials could be paired" in render_text(
        a_table(a_row("base", None), a_row("v", SAME))
    )


def test_runs_by_several_versions_are_reported() -> None:
    table = a_table(a_row("base", None), a_row("v", BETTER))

    assert "versions of the harness" not in render_text(table)
    assert "2 versions of the harness" in render_text(table.replace(codes=("1", "2")))


def test_markdown_has_a_cell_for_every_head() -> None:
    text = render_markdown(a_table(a_row("base", None), a_row("a|b", BETTER, survives=True)))

    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "better\\*" in text
