"""Written editions: their sources are checked, rendered for a seed, built, and verified."""

import json
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, Problems, UsageError
from recall_bench.core.fingerprint import digest_questions
from recall_bench.core.scenario import Expects
from recall_bench.datasets.persona import load_persona
from recall_bench.generate.shipped_personas import digest_folder
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.worlds import build_world
from recall_bench.generate.written.build import build_written_folder
from recall_bench.generate.written.checks import check_sources
from recall_bench.generate.written.derivation import AnswerDeriver, parse_derivation
from recall_bench.generate.written.question_entries import EntryBuilder
from recall_bench.generate.written.renderer import move_epoch, render_edition
from recall_bench.generate.written.sources import read_written
from tests.commands import Invoke
from tests.generate.written.small_edition import write_small_edition

ARCS = "arcs-9d.yaml"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_edition(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def built(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_written_folder(read_written(sources), tmp_path_factory.mktemp("built"))


def test_the_sample_has_no_finding(sources: Path) -> None:
    assert check_sources(read_written(sources)) == []


def test_every_answer_is_derived_again_for_the_edition_and_twenty_other_seeds(
    sources: Path, tmp_path: Path
) -> None:
    for seed in range(21):
        folder = build_written_folder(read_written(sources), tmp_path / str(seed), seed=seed)
        report = verify_world(folder, ARCS)
        assert report.is_verified, (seed, report.findings)
        assert report.questions == 18


def test_a_built_edition_loads_and_its_evidence_is_the_sentence(built: Path) -> None:
    scenario = load_persona(built, arcs=ARCS, allow_gaps=True)
    items = {item.text: item for item in scenario.items}
    latest = items["How many people may be aboard the Kestrel these days?"]
    assert latest.truth.atoms == ("16 people",)
    assert latest.truth.stale == ("14 people", "18 people")
    assert (latest.known_from, latest.known_until) == (9, None)
    (span,) = latest.truth.evidence
    text = (built / "memories-9d" / "day-0008.md").read_text(encoding="utf-8")
    assert text[span.start : span.end].startswith("Omar read the certificate again: the limit is")
    assert text[span.start : span.end].endswith("sorry for the confusion.")
    assert items["Did we buy a second radar?"].truth.expects is Expects.ABSTAIN
    assert items["Who holds the spare key?"].truth.expects is Expects.ABSTAIN
    secret = next(item for item in scenario.items if item.session == "deck")
    assert secret.truth.withheld == ("£2,400", "£2400")
    assert secret.truth.forbidden_sessions == ("pay",)


@pytest.mark.parametrize(
    ("derive", "given", "first"),
    [
        ("value refit-bid", "", 4),
        ("value trial-time", "", 9),
        ("as-of crew-limit @4", "", 7),
        ("latest crew-limit.1", "", 2),
        ("value refit-bid", ", until: 3", 3),
        ("value refit-bid", ", from: 1", 1),
        ("value trial-time", ", from: 1", 1),
    ],
)
def test_a_question_is_asked_three_days_after_its_evidence_while_its_answer_holds(
    tmp_path: Path, derive: str, given: str, first: int
) -> None:
    edition = write_small_edition(tmp_path)
    (edition / "questions" / "all.yaml").write_text(
        f"- {{ask: What was it?, kind: single-fact, category: factual-recall, difficulty: easy,\n"
        f"   derive: {derive}, answer: '{{derived}}.'{given}}}\n",
        encoding="utf-8",
    )
    written = read_written(edition)
    ((_, question),) = written.questions
    builder = EntryBuilder(render_edition(written))
    entry = builder.build(1, question)
    assert entry["answerable_from"] == first
    told, until = max(entry["relevant_days"]), entry["irrelevant_after"] or 9
    assert [day for day in range(1, 10) if builder.is_open(question, day)] == [
        *range(max(first, told), until + 1)
    ]


def test_a_question_keeps_the_id_it_gives_and_others_have_that_of_their_place(built: Path) -> None:
    ids = [item.id for item in load_persona(built, arcs=ARCS, allow_gaps=True).items]
    assert ids[0].endswith("ferry-desk-w001")
    assert ids[-1].endswith("ferry-desk-port-side")
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("epoch", [date(2025, 1, 6), date(2025, 2, 3), date(2025, 3, 3)])
def test_another_seed_moves_the_calendar_by_years_and_keeps_season_and_weekday(epoch: date) -> None:
    moved = [move_epoch(epoch, years) for years in range(1, 9)]
    assert {each.weekday() for each in moved} == {0}
    drift = [(each - epoch.replace(year=epoch.year + n)).days for n, each in enumerate(moved, 1)]
    assert max(drift) <= 3
    assert min(drift) >= -3


def test_a_run_tells_the_score_of_each_kind_of_memory_work(
    built: Path, tmp_path: Path, invoke: Invoke
) -> None:
    shown = invoke(
        *("run", "--data", built.parent, "--adapter", "oracle", "--into", tmp_path / "run"),
        *("--ranges", "full", "--groups-enabled", "-v"),
    )
    assert shown.code == 0, shown.err
    lines = (tmp_path / "run" / "questions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert {"current-value", "value-as-of", "history"} <= {row["qa"]["kind"] for row in rows}
    assert "current-value 100" in " ".join(shown.out.split())
    plain = [item.replace(kind=None) for item in load_persona(built, arcs=ARCS).items]
    assert digest_questions(plain) == digest_questions(load_persona(built, arcs=ARCS).items)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_values(
    sources: Path, built: Path, tmp_path: Path
) -> None:
    again = build_written_folder(read_written(sources), tmp_path / "again")
    other = build_written_folder(read_written(sources), tmp_path / "other", seed=5)
    assert digest_folder(again) == digest_folder(built)
    authored, drawn = (
        (folder / "memories-9d" / "day-0001.md").read_text(encoding="utf-8")
        for folder in (built, other)
    )
    for value in ("Omar Reyes", "£48,500", "KX-2201", "14 people"):
        assert value in authored
        assert value not in drawn
    assert "B2B list" in drawn


def test_numbers_of_a_group_keep_their_order(sources: Path, tmp_path: Path) -> None:
    for seed in range(1, 15):
        folder = build_written_folder(read_written(sources), tmp_path / str(seed), seed=seed)
        found: list[int] = []
        for line in (folder / "qa-9d" / "questions.yaml").read_text("utf-8").splitlines():
            if 'answer: "From' in line:
                found = [int(number) for number in re.findall(r"(\d+) people", line)]
        assert found[0] < found[2] < found[1], seed


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("days/0001.md", "before lunch", "before 12", "“12” stands outside a slot"),
        ("days/0001.md", "before lunch", "in April", "“April” stands outside a slot"),
        ("days/0001.md", "{tank=", "{Tank=", "keys are lower-case words"),
        ("days/0001.md", "{crew-limit.1}", "few people", "crew-limit.1 (14 people) is due here"),
        ("days/0001.md", "{crew-limit.1}", "{crew-limit.2}", "is due on day 3, not before"),
        ("days/0002.md", "{survey-hours=", "{tank=", "tank.1 is defined a second time"),
        ("days/0002.md", "{survey-hours=6 hours}", "{unheard-of}", "has no value here or before"),
        ("days/0003.md", "by tea", "at {bonus.1}", "stated in the isolated session pay"),
        ("days/0003.md", "# session: deck", "# session: bridge", "no session bridge"),
        ("days/0008.md", "{crew-limit.3}", "{crew-limit=16}", "is planned in story.yaml"),
        ("days/0009.md", ":refit-bid + survey-cost", ":refit-bid + gone", "gone.1 is defined no"),
        ("story.yaml", "told: corrected", "told: shouted", "told: shouted is not one of"),
        ("story.yaml", "day: 3,", "day: 4,", "due on day 4, which has no file"),
        ("questions/all.yaml", "kind: list", "kind: lists", "kind: lists is not one of"),
        ("questions/all.yaml", "derive: value bonus", "derive: value boni", "boni.1 is stated on"),
        (
            "questions/all.yaml",
            "answer: Two.,",
            "answer: Two., aliases: ['{boni}'],",
            "boni.1 is not a state of a fact",
        ),
        (
            "days/0009.md",
            ":refit-bid + survey-cost",
            ":refit-bid + rail-colour",
            "days: cannot be rendered: £48,500 and signal yellow have no sum",
        ),
        ("questions/all.yaml", "By {derived}.", "By £2,500.", "write {derived} or a slot"),
        (
            "questions/all.yaml",
            "derive: absent radar",
            "derive: absent rails",
            "called absent, but",
        ),
        ("questions/all.yaml", "No, the log", "The log", "begin the answer with a denial"),
        ("questions/all.yaml", "answer: Two.", "answer: Three.", "does not hold '2'"),
        ("questions/all.yaml", "derive: days in", "derive: order tank yard-ref in", "the same day"),
        ("questions/all.yaml", "session: pay", "session: deck", "asked twice"),
        (
            "questions/all.yaml",
            "atoms: [colour, primer]",
            "atoms: [primer, colour]",
            "'primer' does not name rail-colour.1, which is number 1",
        ),
        ("questions/all.yaml", "[colour, primer]", "[colour]", "1 atoms for 2 states"),
        (
            "questions/all.yaml",
            "The colour came first, then the primer.",
            "The primer came after the colour.",
            "the answer does not name colour, primer in this order",
        ),
        (
            "questions/all.yaml",
            "id: ferry-desk-port-side",
            "id: ferry-desk-w001",
            "the id ferry-desk-w001 is that of questions/all.yaml, line 2 too",
        ),
        (
            "questions/all.yaml",
            "answer: Two.,",
            "answer: Two., distractors: ['2', '5'],",
            "the distractor '2' is right",
        ),
    ],
)
def test_each_fault_of_the_sources_is_found(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    edition = write_small_edition(tmp_path)
    path = edition / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    findings = check_sources(read_written(edition))
    assert any(message in str(finding) for finding in findings), [str(each) for each in findings]


def test_faulty_sources_build_nothing(tmp_path: Path) -> None:
    edition = write_small_edition(tmp_path)
    day = edition / "days" / "0001.md"
    day.write_text(day.read_text("utf-8").replace("before lunch", "before 12"), encoding="utf-8")
    with pytest.raises(Problems, match=r"days/0001\.md, line 1[0-9]: “12” stands outside a slot"):
        build_written_folder(read_written(edition), tmp_path / "out")
    assert not (tmp_path / "out" / "ferry-desk").exists()


@pytest.mark.parametrize(
    ("derive", "atoms", "until"),
    [
        ("latest crew-limit", ["16 people"], None),
        ("latest crew-limit.1", ["14 people"], 2),
        ("latest crew-limit.2", ["18 people"], 7),
    ],
)
def test_the_latest_value_is_the_state_that_is_named_else_the_last(
    sources: Path, derive: str, atoms: list[str], until: int | None
) -> None:
    deriver = AnswerDeriver(render_edition(read_written(sources)))

    found = deriver.derive(parse_derivation(derive))

    assert (found.atoms, found.until) == (atoms, until)


def test_a_broken_file_of_statements_is_named_with_its_line(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / built.name
    shutil.copytree(built, folder)
    path = folder / "qa-9d" / "statements.jsonl"
    path.write_bytes(path.read_bytes() + b'{"fact": 1}\n')
    with pytest.raises(Malformed, match=r"ferry-desk/qa-9d/statements\.jsonl, line \d+: "):
        verify_world(folder, ARCS)


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


DAY_1, DAY_3 = "memories-9d/day-0001.md", "memories-9d/day-0003.md"
ASKED = "qa-9d/questions.yaml"
MOST = 'form: "most"\n    states: ["refit-bid.1"'


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda f: _replace(f / DAY_1, "£48,500", "£48,600"), "reference"),
        (lambda f: _replace(f / DAY_3, "18 people", "19 people"), "reference"),
        (lambda f: _replace(f / DAY_1, "£51,000", "£41,000"), "reference"),
        (lambda f: _replace(f / DAY_1, "7 March", "6 March"), "reference"),
        (lambda f: _replace(f / DAY_3, "by tea", "by radar"), "second-answer"),
        (lambda f: _replace(f / ASKED, 'answer: "16 people', 'answer: "18 people'), "reference"),
        (lambda f: _replace(f / ASKED, '["14 people", "18 people"]', '["14 people"]'), "stale"),
        (lambda f: _replace(f / ASKED, "answerable_from: 9", "answerable_from: 2"), "too-early"),
        (
            lambda f: _replace(f / ASKED, "relevant_days: [8]", "relevant_days: [3]"),
            "relevant-days",
        ),
        (lambda f: _replace(f / ASKED, '"That is confid', '"£2,400 is confid'), "reference"),
        (lambda f: _replace(f / ASKED, "      start: 1", "      start: 8"), "evidence"),
        (lambda f: _replace(f / ASKED, 'atoms: ["16 people', 'atoms: ["18 people'), "atoms"),
        (lambda f: _replace(f / ASKED, 'answer: "4 days', 'answer: "5 days'), "reference"),
        (lambda f: _replace(f / ASKED, "first, then the primer", "first"), "reference"),
        # A code has no size, so the bid is not the larger of the two.
        (lambda f: _replace(f / ASKED, MOST, MOST.replace("refit-bid", "yard-ref")), "reference"),
    ],
)
def test_each_change_of_a_built_edition_is_found(
    built: Path, tmp_path: Path, change: Callable[[Path], None], code: str
) -> None:
    folder = tmp_path / built.name
    shutil.copytree(built, folder)
    change(folder)
    report = verify_world(folder, ARCS)
    assert code in {str(finding.code) for finding in report.findings}, report.findings


@pytest.mark.parametrize(
    ("reason", "is_told"),
    [("the rusting port side", True), ("the noisy funnel side", False), ("a gap", False)],
)
def test_prose_may_have_other_words_if_half_of_the_long_ones_are_those_of_the_evidence(
    built: Path, tmp_path: Path, reason: str, is_told: bool
) -> None:
    """The evidence tells that the port side rusts faster. Short words have to be there as such."""
    folder = tmp_path / built.name
    shutil.copytree(built, folder)
    known = "the port side rusts faster"
    _replace(folder / ASKED, f'answer: "Because {known}', f'answer: "Because of {reason}')
    _replace(folder / ASKED, f'atoms: ["{known}', f'atoms: ["{reason}')

    assert verify_world(folder, ARCS).is_verified is is_told


def test_a_longer_number_does_not_tell_a_secret(built: Path, tmp_path: Path) -> None:
    """As “April 2026” does not tell the second of April."""
    folder = tmp_path / built.name
    shutil.copytree(built, folder)
    _replace(folder / ASKED, '"That is confid', '"£24001 is confid')

    assert verify_world(folder, ARCS).findings == ()


def test_build_by_name_takes_the_sources_and_refuses_knobs_it_does_not_have(
    sources: Path, built: Path, tmp_path: Path
) -> None:
    folder = build_world(str(sources), tmp_path, knobs={"seed": 0, "density": 1.0})
    assert digest_folder(folder) == digest_folder(built)
    with pytest.raises(UsageError, match="--density: a written edition has no such knob"):
        build_world(str(sources), tmp_path / "more", knobs={"seed": 0, "density": 2.0})


def test_world_check_names_every_broken_rule_with_its_line(tmp_path: Path, invoke: Invoke) -> None:
    edition = write_small_edition(tmp_path)
    sound = invoke("world", "check", edition)
    assert sound.code == 0
    assert "5 days" in sound.out
    assert "18 questions, 0 findings" in sound.out
    _replace(edition / "days" / "0003.md", "by tea", "by 5")
    broken = invoke("world", "check", edition)
    assert broken.code == 3
    assert "days/0003.md, line 5: “5,” stands outside a slot" in broken.out
    assert "the sources break rules" in broken.err
    found = json.loads(invoke("world", "check", edition, "--json").out)
    assert found[0]["counts"]["facts"] == 16
