"""`gate` ends with 0, 11 or 12, writes what CI reads, and refuses the rest in one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from recall_bench.core.verdict import JudgeCard
from tests.commands import Invoke
from tests.reporting.simulated_runs import LABELS, questions, write_run
from tests.written_runs import trial

ITEMS = questions(24, "factual-recall", "synthesis")


def written(folder: str, mark: int, **settings: object) -> None:
    """A finished run in which every second question got these points, the others 5."""
    marks = {
        trial(f"q{n}", label): 5 if n % 2 else mark for n in range(len(ITEMS)) for label in LABELS
    }
    write_run(Path(folder), ITEMS, marks, **settings)


@pytest.fixture
def runs(invoke: Invoke) -> Invoke:
    """Two runs, of which one lost a quarter of all marks, in the folder that commands run in."""
    written("good", 5)
    written("bad", 2)
    return invoke


def test_a_run_that_lost_fails_with_its_own_exit_code_and_the_other_way_round_passes(
    runs: Invoke,
) -> None:
    lost = runs("gate", "bad", "--baseline", "good")
    won = runs("gate", "good", "--baseline", "bad")

    assert (lost.code, won.code) == (11, 0), lost.out + lost.err + won.out
    assert "Verdict      FAILED: 2 of 6 checks failed: margin (overall)" in lost.out
    assert "Verdict      PASSED: all 6 checks passed" in won.out
    assert max(map(len, (lost.out + won.out).splitlines())) <= 100


def test_junit_markdown_and_json_say_the_same(runs: Invoke) -> None:
    shown = runs(
        *("gate", "bad", "--baseline", "good", "--min-score", "99", "--json"),
        *("--junit", "gate.xml", "--markdown", "gate.md"),
    )

    gate = json.loads(shown.out)
    assert (shown.code, gate["verdict"]) == (11, "failed")
    failed = [f"{c['rule']} {c['of']}" for c in gate["checks"] if c["outcome"] == "failed"]
    assert failed == ["min-score overall", "margin overall", "category-margin factual-recall"]
    cases = ElementTree.fromstring(Path("gate.xml").read_bytes()).iter("testcase")
    assert [case.attrib["name"] for case in cases if case.find("failure") is not None] == failed
    summary = Path("gate.md").read_text(encoding="utf-8")
    assert summary.startswith("### Recall Bench gate: failed")
    assert summary.count("❌ failed") == 3


def test_rules_come_from_a_file_and_flags_win_over_it(runs: Invoke) -> None:
    Path("gate.yaml").write_text("minScore: 99\nminCategory: {factual-recall: 99}\n")

    strict = runs("gate", "good", "--rules", "gate.yaml")
    mild = runs(
        *("gate", "good", "--rules", "gate.yaml", "--min-score", "1"),
        *("--min-category", "factual-recall=1"),
    )

    assert (strict.code, mild.code) == (11, 0), mild.out + mild.err


def test_what_cannot_be_decided_has_an_exit_code_of_its_own(runs: Invoke) -> None:
    written("other", 5, judge=JudgeCard(name="other", version="3"))

    unlike = runs("gate", "other", "--baseline", "good", "--junit", "gate.xml")
    unasked = runs("gate", "good", "--max-leaks", "0")

    assert (unlike.code, unasked.code) == (12, 12)
    assert "baseline and run differ in judge" in " ".join(unlike.out.split())
    assert 'errors="3"' in Path("gate.xml").read_text(), "and CI gets them"


def test_a_real_run_whose_system_broke_fails_where_one_that_works_passes(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    alike = ("--data", data, "--ranges", "5d", "--no-heatmap-png")
    invoke("run", *alike, "--adapter", "bm25", "--into", "works")
    invoke("run", *alike, "--adapter", adapter(query="raise KeyError"), "--into", "broken")

    broken = invoke("gate", "broken", "--baseline", "works")
    works = invoke("gate", "works", "--min-score", "10")

    assert (broken.code, works.code) == (11, 0)
    assert "the run is invalid" in " ".join(broken.out.split())


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["good"], 2, "no rule is set; give --baseline, --min-score or --rules"),
        (["nowhere", "--min-score", "1"], 2, "there is no folder nowhere"),
        (["good", "--baseline", "nowhere"], 2, "there is no folder nowhere"),
        (["good", "--baseline", "good"], 2, "is its own baseline"),
        (["good", "--margin", "1"], 2, "--margin needs a baseline"),
        (["good", "--baseline", "bad", "--prove"], 2, "--prove: a loss of exactly 0"),
        (["good", "--min-score", "nan"], 2, "--min-score: nan is not between 0 and 100"),
        (["good", "--min-category", "x"], 2, "--min-category: 'x' has no '='"),
        (["good", "--min-category", "=1"], 2, "--min-category: '=1' has no name before '='"),
        (
            ["good", "--min-category", "x=high"],
            2,
            "--min-category: 'x=high' has no name before '='",
        ),
        (["good", "--min-category", "x=1"], 2, "there is no category 'x'"),
        (["good", "--rules", "none.yaml"], 2, "--rules: there is no file none.yaml"),
        (["good", "--rules", "empty.yaml"], 2, "empty.yaml: sets no rule; set for example minSc"),
        (["good", "--rules", "."], 2, "--rules: . is a folder; name a file"),
        (["good", "--rules", "odd.yaml"], 2, "odd.yaml: unknown key 'minscore'; did you mean"),
        (["good", "--rules", "torn.yaml"], 3, "torn.yaml, line 1: is not YAML"),
        (["good", "--min-score", "1", "--junit", "no/x.xml"], 2, "--junit: there is no folder no"),
        (["good", "--min-score", "1", "--markdown", "."], 2, "--markdown: . is not a file"),
        (
            ["good", "--min-score", "1", "--junit", "x", "--markdown", "./x"],
            2,
            "--junit and --markdown name the same file",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    runs: Invoke, words: list[str], code: int, complaint: str
) -> None:
    Path("odd.yaml").write_text("minscore: 3\n")
    Path("torn.yaml").write_text("minScore: [\n")
    Path("empty.yaml").write_text("# minScore: 30\n")

    shown = runs("gate", *words)

    assert (shown.code, shown.out) == (code, "")
    assert complaint in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_file_that_is_there_is_replaced_whole(runs: Invoke) -> None:
    Path("gate.md").write_text("old\n" * 1000)

    runs("gate", "good", "--min-score", "1", "--markdown", "gate.md")

    assert "old\n" not in Path("gate.md").read_text(encoding="utf-8")
    assert not list(Path().glob(".gate.md*")), "nothing is left beside it"
