"""What was found and said is measured question by question; a failure costs the system."""

from collections.abc import Sequence
from math import log2
from pathlib import Path

import pytest

from recall_bench.core.errors import SystemFault, SystemTimeout
from recall_bench.core.memory import Answer, Passage, RetrievalReply
from recall_bench.core.scenario import Episode, Question
from recall_bench.features.datasets.eval_report import EvalReport
from tests.engine.finders import Finder
from tests.features.datasets.evaluation.eval_datasets import (
    BAIT,
    BOUGHT,
    CHESS,
    CLEOS,
    FROST,
    HARVEST,
    LEMONS,
    PAINTED,
    RED,
    RIVER,
    SOLD,
    WHAT,
    WHEN,
    WHERE,
    figures,
    finding,
    means,
    question,
    report_on,
    request_for,
    write_locomo,
    write_longmemeval,
    write_persona,
    write_personamem,
)


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    return write_locomo(tmp_path / "locomo10.json")


@pytest.fixture
def longmemeval(tmp_path: Path) -> Path:
    return write_longmemeval(tmp_path / "longmemeval_oracle.json")


def found_in(data: Path, texts: list[str], *, asking: str = WHAT, **given: object) -> EvalReport:
    """The report of a system that returns these texts to one question, and nothing to others."""
    request = request_for("locomo", data, data.parent, skip_qa=True, floors=False, **given)
    return report_on(request, finding({asking: texts}))


def test_the_figures_of_a_ranking_are_those_worked_by_hand(locomo: Path) -> None:
    """The gold is sold and bought; it comes at ranks 2 and 4, and a repeat takes up rank 3."""
    report = found_in(locomo, [PAINTED, BOUGHT, BOUGHT, SOLD])

    got = means(report, "multi-hop")

    assert got["turn hit@1"] == 0
    assert got["turn hit@3"] == got["turn hit@5"] == 1
    assert [got[f"turn recall@{k}"] for k in (1, 3, 5, 10)] == [0, 0.5, 1, 1]
    assert [got[f"turn recall_all@{k}"] for k in (1, 3, 5)] == [0, 0, 1]
    assert got["turn precision@3"] == pytest.approx(1 / 3)
    assert got["turn precision@5"] == pytest.approx(2 / 5)
    assert got["turn mrr@10"] == 1 / 2
    assert got["turn map@10"] == (1 / 2 + 2 / 4) / 2
    ideal = 1 + 1 / log2(3)
    assert got["turn ndcg@5"] == pytest.approx((1 / log2(3) + 1 / log2(5)) / ideal)
    assert {name: value for name, value in got.items() if name.startswith("session ")} == {
        name.replace("turn", "session"): value
        for name, value in got.items()
        if name.startswith("turn ")
    }


def test_a_passage_of_another_conversation_finds_nothing_though_it_has_a_session_10_too(
    locomo: Path,
) -> None:
    report = found_in(locomo, [FROST], asking=WHEN)

    scored = question(report, "q002")
    assert scored.gold["session"] == ("conv-1/10",)
    assert [(hit.session, hit.turn) for hit in scored.hits] == [(None, None)]
    assert means(report, "temporal")["session hit@10"] == 0


def test_a_false_word_about_the_session_is_not_believed_against_the_text(locomo: Path) -> None:
    def says_ten(_: object, __: Question) -> RetrievalReply:
        return RetrievalReply(passages=(Passage(text=PAINTED, day=10),))

    request = request_for("locomo", locomo, locomo.parent, skip_qa=True, floors=False)
    report = report_on(request, Finder(says_ten))

    assert question(report, "q002").hits[0].session == "conv-1/2"
    assert means(report, "temporal")["session hit@10"] == 0


def test_the_right_session_without_its_words_finds_nothing_and_is_counted_apart(
    locomo: Path,
) -> None:
    def name_all(_: object, __: Question) -> RetrievalReply:
        return RetrievalReply(passages=tuple(Passage(text="Summary.", day=d) for d in (1, 2, 10)))

    request = request_for("locomo", locomo, locomo.parent, skip_qa=True, floors=False)
    report = report_on(request, Finder(name_all))

    hits = question(report, "q002").hits
    assert [(hit.session, hit.claimed) for hit in hits] == [
        (None, f"conv-1/{day}") for day in (1, 2, 10)
    ]
    assert means(report, "temporal")["session hit@10"] == 0
    assert report.service.summaries == pytest.approx(19 / 21), "one names a session that is none"
    assert report.service.traced == 0


def test_hits_and_gold_are_named_with_their_conversation(locomo: Path) -> None:
    report = found_in(locomo, [SOLD, RED])

    scored = question(report, "q001")
    assert [hit.turn for hit in scored.hits] == ["conv-1/10:0", "conv-1/1:1"]
    assert [hit.rank for hit in scored.hits] == [1, 2]
    assert scored.gold == {
        "session": ("conv-1/1", "conv-1/10"),
        "turn": ("conv-1/10:0", "conv-1/1:0"),
    }


def test_a_question_without_evidence_counts_nowhere_in_strict_and_as_found_officially(
    locomo: Path,
) -> None:
    strict = found_in(locomo, [])
    official = found_in(locomo, [], protocol="official", into=locomo.parent / "official")

    assert "turn recall@10" not in figures(strict, "open-domain")
    assert figures(strict)["turn recall@10"].counted == 6
    assert means(official, "open-domain")["turn recall@10"] == 1
    assert figures(official)["turn recall@10"].counted == 7
    assert means(official)["turn recall@10"] == pytest.approx(1 / 7)


def test_officially_a_session_of_longmemeval_takes_one_place(longmemeval: Path) -> None:
    """Three passages of one session, then gold: rank 2 of sessions, and rank 4 of passages."""
    texts = [BOUGHT, "Noted: I bought", BOUGHT, SOLD]
    given = {"skip_qa": True, "floors": False}
    home = longmemeval.parent
    asked = {"What about boat?": texts}
    official = report_on(
        request_for("longmemeval-oracle", longmemeval, home, protocol="official", **given),
        finding(asked),
    )
    strict = report_on(
        request_for("longmemeval-oracle", longmemeval, home, into=home / "strict", **given),
        finding(asked),
    )

    got, ours = means(official, "multi-session"), means(strict, "multi-session")

    assert (got["session recall_all@1"], got["session recall_all@3"]) == (0, 1)
    assert (ours["session recall_all@3"], ours["session recall_all@5"]) == (0, 1)
    assert "session recall@3" not in got


def test_officially_ranks_1_and_2_of_longmemeval_are_worth_the_same(longmemeval: Path) -> None:
    asked = {"What about boat?": [CHESS, BOUGHT, LEMONS, SOLD]}
    request = request_for(
        "longmemeval-oracle",
        longmemeval,
        longmemeval.parent,
        protocol="official",
        skip_qa=True,
        floors=False,
    )

    got = means(report_on(request, finding(asked)), "multi-session")

    assert got["session ndcg_lme@1"] == 0
    assert got["session ndcg_lme@3"] == pytest.approx(1 / 2)
    assert got["session ndcg_lme@5"] == pytest.approx((1 + 1 / log2(4)) / 2)
    assert "session ndcg@5" not in got


def test_officially_what_only_the_assistant_said_does_not_count(longmemeval: Path) -> None:
    request = request_for(
        "longmemeval-oracle",
        longmemeval,
        longmemeval.parent,
        protocol="official",
        skip_qa=True,
        floors=False,
    )

    report = report_on(request, finding({}, otherwise=["Take oolong."]))

    assert figures(report)["session hit@10"].counted == 2
    assert figures(report, "single-session-assistant") == {}


def failing(fault: type[SystemFault]) -> Finder:
    """Finds what is asked for, and fails at two questions."""

    def reply(_: object, asked: Question) -> RetrievalReply:
        if asked.text in (WHERE, WHAT):
            raise fault("not today")
        return RetrievalReply(passages=(Passage(text=SOLD),))

    return Finder(reply)


@pytest.mark.parametrize("fault", [SystemFault, SystemTimeout])
def test_a_question_the_system_failed_at_found_nothing_and_is_never_dropped(
    locomo: Path, fault: type[SystemFault]
) -> None:
    request = request_for(
        "locomo", locomo, locomo.parent, floors=False, error_budget=0.5, skip_qa=True
    )

    report = report_on(request, failing(fault))

    assert (report.counts.owed, report.counts.answered, report.counts.failed) == (7, 5, 2)
    assert figures(report)["turn recall@10"].counted == 6
    assert means(report, "multi-hop")["turn recall@10"] == 0
    assert means(report)["turn recall@10"] == pytest.approx(1 / 6)
    assert question(report, "q000").outcome not in ("answered", "open")
    assert question(report, "q000").hits == ()


def test_a_failure_is_wrong_and_no_abstention(locomo: Path) -> None:
    """A system that crashes at a trap has not seen through it."""

    def reply(_: object, asked: Question) -> Answer:
        if asked.text in (BAIT, CLEOS):
            raise SystemFault("not today")
        return Answer(text="I do not know.")

    request = request_for("locomo", locomo, locomo.parent, floors=False, error_budget=0.5)
    report = report_on(request, Finder(reply, answers=True))

    assert means(report, "adversarial") == {
        **means(report, "adversarial"),
        "judged right": 0.0,
        "locomo/official": 0.0,
    }
    assert report.abstention is not None
    assert report.abstention.unanswerable == report.abstention.traps == 0
    assert question(report, "q004").abstained is None
    assert question(report, "q004").fell_for_trap is None


SAID = {
    WHERE: "She bought it in Lisbon.",
    WHAT: "I do not know.",
    WHEN: "On 10 May 2023.",
    RIVER: "Likely yes.",
    BAIT: "Bo bought it in Lisbon.",
    HARVEST: "forty",
    CLEOS: "That was not mentioned.",
}


def talking(_: object, asked: Question) -> Answer:
    return Answer(text=SAID[asked.text])


def test_adversarial_questions_count_by_abstaining_and_by_the_trap(locomo: Path) -> None:
    request = request_for("locomo", locomo, locomo.parent, floors=False)

    report = report_on(request, Finder(talking, answers=True))

    known = report.abstention
    assert known is not None
    assert (known.unanswerable, known.abstained) == (2, 1)
    assert (known.answerable, known.wrongly_abstained) == (5, 1)
    assert (known.traps, known.fell_for_trap) == (2, 1)
    assert question(report, "q004").fell_for_trap is True
    assert question(report, "q001", "conv-2").abstained is True


def test_token_f1_and_the_two_phrases_are_as_the_authors_have_them(locomo: Path) -> None:
    request = request_for("locomo", locomo, locomo.parent, protocol="official", floors=False)

    report = report_on(request, Finder(talking, answers=True))

    got = {each.item: each.figures for each in report.questions if each.scenario == "conv-1"}
    assert got["q004"]["locomo/official"] == 0
    assert question(report, "q001", "conv-2").figures["locomo/official"] == 1
    assert question(report, "q000", "conv-2").figures["locomo/official"] == 1
    assert 0 < got["q000"]["locomo/official"] < 1
    assert not any("judged right" in each for each in got.values())


def test_a_trap_without_words_is_no_trap(tmp_path: Path) -> None:
    """An `adversarial_answer` of signs alone must not end a run that is otherwise done."""
    data = write_locomo(tmp_path / "locomo10.json")
    text = data.read_text().replace('"adversarial_answer": "Tomas"', '"adversarial_answer": "?!"')
    data.write_text(text)

    report = report_on(
        request_for("locomo", data, tmp_path, floors=False), Finder(talking, answers=True)
    )

    assert question(report, "q001", "conv-2").fell_for_trap is None
    assert report.abstention is not None
    assert report.abstention.traps == 1


def test_a_letter_is_right_or_wrong_and_guessing_gets_one_of_n(tmp_path: Path) -> None:
    def second(_: object, __: Question) -> Answer:
        return Answer(text="(b)")

    data = write_personamem(tmp_path / "pm")
    request = request_for("personamem-32k", data, tmp_path, floors=False)
    report = report_on(request, Finder(second, answers=True))

    got = figures(report)["choice/letter"]
    assert (got.mean, got.counted, got.chance) == (0.5, 2, 0.5)
    assert report.longest_option == 1
    assert report.abstention is None


@pytest.mark.parametrize("said", ["(a) or (b)", "Neither.", ""])
def test_no_letter_or_two_is_wrong(tmp_path: Path, said: str) -> None:
    request = request_for(
        "personamem-32k", write_personamem(tmp_path / "pm"), tmp_path, floors=False
    )
    system = Finder(lambda _, __: Answer(text=said), answers=True)

    assert means(report_on(request, system))["choice/letter"] == 0


def test_wordings_are_looked_for_in_what_was_returned_and_in_its_sources(tmp_path: Path) -> None:
    """`Lisbon` stands in the first session and not in the passage returned of it."""
    data = write_persona(tmp_path / "ada.json")
    texts = ["Which river will you paddle?", SOLD]
    request = request_for("persona-json", data, tmp_path, skip_qa=True, floors=False)

    report = report_on(request, finding({}, otherwise=texts))

    single, several = means(report, "single-hop"), means(report, "multi-hop")
    assert (single["snippet_r@1"], single["snippet_r@5"]) == (0, 0)
    assert (single["document_r@1"], single["document_r@5"]) == (1, 1)
    assert (several["snippet_r@1"], several["snippet_r@5"]) == (0, 0.5)
    assert (several["document_r@1"], several["document_r@5"]) == (0.5, 1)


def test_the_floors_of_the_layers_are_what_a_blind_draw_holds(tmp_path: Path) -> None:
    """One of six turns and one of three sessions hold each fact."""
    data = write_persona(tmp_path / "ada.json")
    request = request_for("persona-json", data, tmp_path, skip_qa=True, floors=False)

    got = figures(report_on(request, finding({})))

    assert got["snippet_r@1"].chance == pytest.approx(1 / 6)
    assert got["snippet_r@5"].chance == pytest.approx(5 / 6)
    assert got["document_r@1"].chance == pytest.approx(1 / 3)
    assert got["document_r@5"].chance == pytest.approx(1)


def test_finding_the_bait_of_a_persona_is_no_merit(tmp_path: Path) -> None:
    data = write_persona(tmp_path / "ada.json")
    request = request_for("persona-json", data, tmp_path, floors=False)

    report = report_on(request, Finder(_kayak, answers=True))

    assert figures(report, "adversarial") == {}
    assert figures(report)["snippet_r@5"].counted == 2
    assert report.abstention is not None
    assert (report.abstention.fell_for_trap, report.abstention.abstained) == (1, 0)


def _kayak(lived: Sequence[Episode], _: Question) -> Answer:
    passages = tuple(Passage(text=turn.text) for turn in lived[0].turns)
    return Answer(text="It was the kayak.", passages=passages)
