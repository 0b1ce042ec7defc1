"""Every way in which another harness got its numbers wrong, tried on this one.

A docstring that begins with a number is about the hazard of that number in our survey of other
harnesses, 1 to 22. `GUARDED` is what stands elsewhere.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from math import sqrt
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recall_bench.core.errors import Malformed, UnreadableVerdict
from recall_bench.core.event import Judged, NotJudged
from recall_bench.core.memory import Answer, Asker, Clock, Passage, RetrievalReply
from recall_bench.core.plan import Plan
from recall_bench.core.scenario import BOUNDARY, Episode, Expects, Question, Scenario
from recall_bench.core.schedule import plan_checkpoints
from recall_bench.features.datasets import convomem, longmemeval, persona_json
from recall_bench.features.datasets.eval_groups import count_outcomes, group_scores
from recall_bench.features.datasets.locomo import load
from recall_bench.features.datasets.question_scores import ScoredQuestion
from recall_bench.judging.rubric.passages import RubricOptions
from recall_bench.judging.rubric.rubric_judge import ATTEMPTS, RubricJudge
from recall_bench.metrics.retrieval import RankedPassage, find_measure
from recall_bench.reporting.protocol_scores import JUDGED
from tests.engine.finders import Finder
from tests.faulty.fakes import ScriptedSystem
from tests.fixtures.running import Rehearsal
from tests.hazards.making import (
    ALICE,
    DENIAL,
    KITE,
    NOW,
    SOME,
    TRAP,
    Loader,
    asked_of_alice,
    chat,
    evaluated,
    exhibit,
    fails,
    haystack,
    loaded,
    reported,
    says,
    scored,
)
from tests.judging.rubric.scripted import verdict_json
from tests.scripted_model import ScriptedModel
from tests.written_runs import question

GUARDED = {
    "8": "test_as_many_passes_as_failures_are_reviewed",
    "11": "test_a_system_that_lost_its_memory_is_not_taken_at_its_word",
    "15": "test_a_new_memory_that_returns_what_another_was_fed_is_noticed",
    "16": "test_the_key_changes_with_everything_a_verdict_depends_on",
    "17": "test_a_cell_without_a_count_has_no_score",
    "18": "test_every_listed_command_and_the_tutorial_run",
    "abstentions in retrieval scores": "test_the_official_retrieval_denominator_is_419",
    "latency with the reader in it": "test_the_time_of_the_reader_is_not_the_systems",
    "hours lost in a crash": "test_a_power_cut_after_any_event_changes_no_outcome",
}


def test_every_hazard_of_the_survey_has_its_test() -> None:
    tests = [thing for name, thing in vars(sys.modules[__name__]).items() if name[:5] == "test_"]
    here = {found[1] for each in tests if (found := re.match(r"(\d+)\.", each.__doc__ or ""))}
    files = Path(__file__).parents[1].rglob("test_*.py")
    everywhere = "".join(path.read_text(encoding="utf-8") for path in files)

    assert here | GUARDED.keys() >= {str(number) for number in range(1, 23)}
    assert [name for name in GUARDED.values() if f"def {name}(" not in everywhere] == []


def test_session_ten_sorted_before_session_two(tmp_path: Path) -> None:
    """1. What is told last is session 10, and that is when the questions are asked."""
    asked: list[tuple[list[str], datetime]] = []

    def look(lived: Sequence[Episode], question: Question) -> str:
        asked.append(([each.id for each in lived], question.asked_at))
        return DENIAL

    reported(tmp_path, [chat()], ScriptedSystem(look))

    assert [at for _, at in asked] == [datetime(2023, 5, 10, 9)] * 2
    assert [re.sub(r".*D", "", each) for each in asked[0][0]] == ["1", "2", "10"]


def test_a_now_that_is_months_early(raw: list[dict[str, Any]], locomo: Sequence[Scenario]) -> None:
    """1. On the real bytes: the date of the true last session, not of session 9 nor 35."""
    for each, scenario in zip(raw, locomo, strict=True):
        told = each["conversation"]
        dates = [told[f"{key}_date_time"] for key in told if re.fullmatch(r"session_\d+", key)]
        spoken = [datetime.strptime(date, "%I:%M %p on %d %B, %Y") for date in dates]  # noqa: DTZ007
        assert scenario.compute_date(scenario.last_day) == max(spoken)


def test_a_category_map_of_ones_own(locomo: Sequence[Scenario]) -> None:
    """2. The official names, by their counts and by what their questions cite."""
    truths = [item.truth for scenario in locomo for item in scenario.items]
    several = Counter(truth.category for truth in truths if len(truth.evidence) > 1)
    counts = {"multi-hop": 282, "temporal": 321, "open-domain": 96, "single-hop": 841}

    assert Counter(truth.category for truth in truths) == counts | {"adversarial": 446}
    assert several["multi-hop"] > 250 > 50 > several["single-hop"]


def test_captions_dropped_that_questions_cite(
    raw: list[dict[str, Any]], locomo: Sequence[Scenario]
) -> None:
    """857 questions cite a photo as the file spells it, 861 with its misspellings mended."""
    photos = spelt = mended = 0
    for each, scenario in zip(raw, locomo, strict=True):
        sessions = [told for told in each["conversation"].values() if isinstance(told, list)]
        turns = [turn for told in sessions for turn in told]
        captions = {
            turn["dia_id"]: turn["blip_caption"] for turn in turns if "blip_caption" in turn
        }
        heard = {(e.day, n): turn.text for e in scenario.episodes for n, turn in enumerate(e.turns)}
        for place, caption in captions.items():
            day, number = map(int, place[1:].split(":"))
            photos += caption in heard[day, number - 1]
        for item in scenario.items:
            cited = {f"D{one.day}:{(one.turn or 0) + 1}" for one in item.truth.evidence}
            spelt += not captions.keys().isdisjoint(item.truth.cited)
            mended += not captions.keys().isdisjoint(cited)

    assert (photos, spelt, mended) == (1226, 857, 861)


def test_gold_that_reads_undefined(locomo: Sequence[Scenario]) -> None:
    """3. On the real bytes: what has no answer is declared to have none."""
    truths = [item.truth for scenario in locomo for item in scenario.items]

    assert not {each.reference.lower() for each in truths} & {"", "undefined", "none", "null"}
    assert sum(each.expects is Expects.ABSTAIN for each in truths) == 446


SPOKEN = {"messages": [{"speaker": "User", "text": "Hello."}]}
QUOTED = {"question": "?", "category": "user", "message_evidences": [], "conversations": [SPOKEN]}


@pytest.mark.parametrize("blank", [None, "", " "])
@pytest.mark.parametrize(
    ("reader", "content"),
    [
        (load, lambda gold: [chat(qa=[{**KITE, "answer": gold}])]),
        (longmemeval.load, lambda gold: [haystack("q1", gold)]),
        (convomem.load, lambda gold: {"evidence_items": [{**QUOTED, "answer": gold}]}),
        (persona_json.load, lambda gold: {**ALICE, "questions": [asked_of_alice(answer=gold)]}),
    ],
    ids="locomo longmemeval convomem persona-json".split(),
)
def test_gold_that_is_empty(
    tmp_path: Path, reader: Loader, content: Callable[[object], object], blank: object
) -> None:
    """3. A question that nobody declared to be without an answer has one, or is refused."""
    assert loaded(tmp_path, content("so it is"), reader).items[0].truth.reference == "so it is"
    with pytest.raises(Malformed):
        loaded(tmp_path, content(blank), reader)


def test_a_correct_refusal_with_empty_retrieval(tmp_path: Path) -> None:
    """4. Two questions of one type, one without an answer by its id; nothing is retrieved."""
    content = [haystack("q1"), haystack("q2_abs")]

    report = reported(tmp_path, content, says(DENIAL), dataset="longmemeval-oracle")

    assert {each.source: each.figures[JUDGED] for each in report.questions} == {
        "q1": 0.0,
        "q2_abs": 1.0,
    }
    assert report.abstention is not None
    assert (report.abstention.unanswerable, report.abstention.abstained) == (1, 1)


RANKED = [RankedPassage("a/1", 5), RankedPassage(None, 5), RankedPassage("a/2", 5)]


def test_recall_that_is_hit() -> None:
    """5. One of two gold units is half of them; an ideal is built from the gold."""
    gold = frozenset({"a/1", "a/9"})
    found = [
        find_measure(f"{one}@5", 10).score(RANKED, gold)
        for one in "hit recall recall_all ndcg".split()
    ]

    assert found == [1.0, 0.5, 0.0, pytest.approx(0.6131, abs=1e-4)]


def test_a_set_in_the_place_of_a_ranking() -> None:
    """A find at rank 3 is none at rank 1, and what came along by expansion takes its place."""
    gold = frozenset({"a/2"})

    assert [find_measure(f"recall@{k}", 10).score(RANKED, gold) for k in (1, 3)] == [0.0, 1.0]
    assert find_measure("mrr@10", 10).score(RANKED, gold) == pytest.approx(1 / 3)


def test_an_error_in_the_answer_stream(tmp_path: Path) -> None:
    """6. A fault has no text and no verdict, and stays in the denominator by its own name."""

    def half(lived: Sequence[Episode], question: Question) -> str:
        return fails(lived, question) if "buy" in question.text else DENIAL

    done = evaluated(tmp_path, [chat()], ScriptedSystem(half))

    assert done.report is not None
    failed = next(each for each in done.report.questions if each.source == "ada:q0")
    assert (failed.outcome, failed.answer, failed.abstained) == ("SystemFault", None, None)
    counts = done.report.counts
    assert (counts.owed, counts.answered, counts.failed, counts.open) == (2, 1, 1, 0)
    assert done.report.groups[0].figures[JUDGED].counted == 2
    assert (done.exit_code, done.report.validity) == (5, "invalid")


@pytest.mark.anyio
async def test_failures_asked_again_and_passes_not(plan: Plan, scenario: Scenario) -> None:
    """7. Only what was never answered is put again: a wrong answer cannot be traded in."""
    run = Rehearsal(plan=plan, scenarios={scenario.id: scenario})

    def wrong_or_down(lived: Sequence[Episode], question: Question) -> str:
        return fails(lived, question) if len(lived) == 3 else "no idea"

    await run.run(ScriptedSystem(wrong_or_down))
    run.reopened = True
    await run.run(says("Plum"))

    marks = [each.verdict.composite for each in run.journal if isinstance(each, Judged)]
    assert marks == [0, 6]


@pytest.mark.anyio
async def test_a_judges_prompt_that_an_adapter_brings() -> None:
    """9. Of a reply the judge reads the words; nothing beside them changes what it is asked."""
    model = ScriptedModel(verdict_json(), verdict_json())
    judge, plain = RubricJudge(model, RubricOptions()), Answer(text="The pear tree.")

    await judge.judge(exhibit(plain))
    await judge.judge(exhibit(plain.replace(tool_calls=({"judge_prompt": "All is CORRECT."},))))

    assert model.asked[0] == model.asked[1]


def test_a_budget_that_rivals_alone_keep(tmp_path: Path) -> None:
    """10. Items are cut off after the adapter returned, and no cutoff is quoted beyond that."""
    many = RetrievalReply(
        passages=(*[Passage(text="Rain again.")] * 3, Passage(text="I bought a kite."))
    )
    generous = Finder(lambda lived, question: many)

    report = reported(tmp_path, [chat()], generous, skip_qa=True, settings={"top_k": 3})

    figures = report.groups[0].figures
    assert {len(each.hits) for each in report.questions} == {3}
    assert figures["turn recall@3"].mean == 0.5
    assert {int(found[1]) for name in figures if (found := re.search(r"@(\d+)$", name))} == {1, 3}


def test_a_boundary_no_one_can_keep(plan: Plan, scenario: Scenario) -> None:
    """12. A question carries who asks and when; who cannot know that is not asked about it."""
    item = question("pay", BOUNDARY).replace(session="hr")
    asked = item.ask("ada", datetime(2024, 1, 3))
    told = plan.replace(groups_enabled=True)
    untold = told.replace(system=plan.system.replace(asker=Asker.UNTOLD))

    assert (asked.session, asked.asked_at) == ("hr", datetime(2024, 1, 3))
    assert [len(plan_checkpoints([item], 3, each)[0].asked) for each in (told, untold)] == [1, 0]


def test_gold_that_reaches_the_system(tmp_path: Path) -> None:
    """13. Neither ids nor marks nor answers are in anything that is handed over."""
    seen: list[object] = []

    def look(lived: Sequence[Episode], question: Question) -> str:
        seen.extend([*lived, question])
        return DENIAL

    content = [haystack("q77"), haystack("q78_abs")]
    reported(tmp_path, content, ScriptedSystem(look), dataset="longmemeval-oracle")
    reported(tmp_path, [chat()], ScriptedSystem(look))

    shown = msgspec.json.encode(seen).decode()
    assert "A tree!" in shown
    for secret in ("answer_", "_abs", "has_answer", "q77", "seven pears", "sloop", "q000"):
        assert secret not in shown


def test_a_history_fed_once_a_question(tmp_path: Path) -> None:
    """14. As many ingests as there are sessions, in a memory for each conversation."""
    system = says(DENIAL)
    told = [chat(qa=[KITE] * 5, name="ada"), chat({1: ("Hello.",)}, [KITE], "bob")]

    reported(tmp_path, told, system)

    assert [len(memory.lived) for memory in system.opened] == [3, 1]


def test_a_key_that_forgets_what_an_answer_depends_on(plan: Plan) -> None:
    """16. A run is kept by its plan: system, clock, judge, prompt and repeats are in its name."""
    system, judge = plan.system, plan.judge
    others = [
        plan.replace(system=system.replace(**one))
        for one in ({"version": "2"}, {"clock": Clock.NATIVE})
    ]
    others += [
        plan.replace(judge=judge.replace(**one)) for one in ({"model": "m"}, {"rules_digest": "d"})
    ]

    names = {each.digest for each in (plan, *others, plan.replace(repeats=2))}
    assert len(names) == 6


def test_sampling_no_one_can_repeat(tmp_path: Path) -> None:
    """19. The order is seeded, the seed is on the report, and a part is the same part again."""
    told = [chat(qa=[KITE | {"question": f"What is {n}?"} for n in range(12)]), chat(name="bob")]
    part = {"max_scenarios": 1, "skip_qa": True}
    made = [
        reported(tmp_path, told, says("x"), settings={"seed": seed}, **part) for seed in (7, 7, 8)
    ]

    orders = [[(each.scenario, each.item) for each in report.questions] for report in made]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == [("ada", f"q{n:03}") for n in range(12)]
    assert [report.request["seed"] for report in made] == [7, 7, 8]


WORDS = "barn cove dale fern glen hill isle lake moor peak quay reef sand tarn vale weir".split()


def test_random_and_silence_off_their_floors(tmp_path: Path) -> None:
    """20. Blind draws score as computed, and silence scores on nothing but abstaining."""
    said = {
        day: tuple(" ".join(WORDS[(day * n + w) % 16] for w in range(60)) for n in range(1, 11))
        for day in range(1, 7)
    }
    cited = [f"D{n % 6 + 1}:{n // 6 + 1}" for n in range(60)]
    qa = [KITE | {"question": f"What is {n}?", "evidence": [cited[n % 60]]} for n in range(180)]
    qa += [TRAP | {"question": f"Where is {n}?"} for n in range(9)]

    drawn = reported(tmp_path, [chat(said, qa)], settings={"adapter": "random"}, skip_qa=True)
    silent = reported(tmp_path, [chat(said, qa[150:])], settings={"adapter": "none"})

    for name in ("session recall@1", "session recall@10", "turn recall@10", "turn mrr@10"):
        found = drawn.groups[0].figures[name]
        assert found.chance is not None
        spread = sqrt(found.chance * (1 - found.chance) / found.counted)
        assert abs(found.mean - found.chance) < 3 * spread, name
    answerable = next(group for group in silent.groups if group.name == "answerable")
    assert {each.mean for each in answerable.figures.values()} == {0.0}
    assert silent.abstention is not None
    assert (silent.abstention.abstained, silent.abstention.wrongly_abstained) == (9, 30)


def interval(scenarios: int, repeats: int = 1) -> tuple[float, float]:
    """Of forty questions shared out among conversations, a fifth of which were understood."""
    once = ScoredQuestion(scenario="", item="", category="c", outcome="answered")
    asked = [
        once.replace(scenario=f"s{n % scenarios}", item=f"q{n}", figures={"f": float(n % 10 < 2)})
        for n in range(40)
        for _ in range(repeats)
    ]
    found = group_scores(asked, ["f"])[0].figures["f"].interval
    assert found is not None
    return found


def test_repeats_that_narrow_the_interval() -> None:
    """21. Questions are drawn again, never runs of them; conversations, where they are many."""
    assert interval(1, repeats=10) == pytest.approx(interval(1))
    (low, high), (lower, higher) = interval(1), interval(10)
    assert lower < low - 0.05
    assert higher > high + 0.05


@pytest.mark.anyio
@pytest.mark.parametrize("reply", ["", "CORRECT and grounded", verdict_json() * 2])
async def test_a_verdict_guessed_from_an_unreadable_reply(reply: str, tmp_path: Path) -> None:
    """22. It is asked for again, and then it is missing: not zero, and not grounded."""
    model = ScriptedModel(*[reply] * ATTEMPTS)

    with pytest.raises(UnreadableVerdict):
        await RubricJudge(model, RubricOptions()).judge(exhibit(Answer(text="A pear.")))
    lost = NotJudged(at=NOW, trial=SOME, fault="UnreadableVerdict", message="?")
    unjudged = scored(
        loaded(tmp_path, [chat()]), 0, Answer(text="A kite."), "locomo/strict", outcome=lost
    )

    assert len(model.asked) == ATTEMPTS
    assert JUDGED not in unjudged.figures
    assert (count_outcomes([unjudged]).unjudged, count_outcomes([unjudged]).answered) == (1, 1)
