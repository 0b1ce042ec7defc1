"""Every operation follows from the text alone, and says why where nothing follows."""

from typing import Any

import pytest

from recall_bench.core.errors import DataError
from tests.generate.verification.corpus import Corpus

WRONG = {
    "p99": "850 ms",
    "owner": "Dr. Samuel Okafor",
    "due-first": "12 March 2024",
    "due-now": "11 March 2024",
    "due-then": "15 March 2024",
    "due-history": "From 15 March 2024 to 11 March 2024",
    "rollback-date": "12 March 2024",
    "rollback-gap": "4 days",
    "first": "Closing the second came before the rollback of the first.",
    "did": "No.",
    "did-not": "Yes, on 11 March 2024.",
    "count": "3 in March 2024",
    "total": "$751",
    "highest": "RB-4101, at 1,210 ms",
    "shared": "A bad index",
    "partly": "Priya Raman leads it; the price I cannot share.",
    "insider": "$640M",
}


def test_the_hand_written_world_is_verified(corpus: Corpus) -> None:
    report = corpus.prove()

    assert report.findings == ()
    assert (report.questions, report.rederived) == (18, 18)
    assert report.is_verified


@pytest.mark.parametrize("name", sorted(WRONG))
def test_another_reference_is_wrong(corpus: Corpus, name: str) -> None:
    corpus.only(name, answer=WRONG[name])

    report = corpus.prove()

    assert "reference" in {finding.code for finding in report.findings}
    assert report.rederived == 0


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_reference_that_also_holds_a_wrong_value_is_wrong(corpus: Corpus, name: str) -> None:
    (right,) = (asked["answer"] for asked in corpus.questions if asked["id"] == name)
    corpus.only(name, answer=f"{WRONG[name]} And so: {right}")

    assert ("reference", f"question {name}") in corpus.found()


@pytest.mark.parametrize("name", sorted(set(WRONG) - {"first", "due-history"}))
def test_other_atoms_are_wrong(corpus: Corpus, name: str) -> None:
    corpus.only(name, atoms=[WRONG[name]])

    assert ("atoms", f"question {name}") in corpus.found()


@pytest.mark.parametrize("name", ["first", "due-history", "did", "highest"])
def test_atoms_in_the_wrong_order_or_too_few_are_wrong(corpus: Corpus, name: str) -> None:
    atoms = {
        "first": ["closing the second", "the rollback of the first"],
        "due-history": ["15 March 2024"],
    }
    corpus.only(name, atoms=atoms.get(name, ["Yes", "RB-4102"]))

    assert ("atoms", f"question {name}") in corpus.found()


def derive_of(corpus: Corpus, name: str, **changes: Any) -> None:
    (asked,) = (asked for asked in corpus.questions if asked["id"] == name)
    corpus.only(name, derive=asked["derive"] | changes)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("p99", {"op": "guess"}),
        ("p99", {"thread": "regression-9"}),
        ("p99", {"slot": "p50"}),
        ("p99", {"slot": None}),
        ("p99", {"as_of": "day 4"}),
        ("did", {"step": "exploded"}),
        ("count", {"month": "March"}),
        ("first", {"events": [["regression-1", "closed", "x"]]}),
        (
            "first",
            {"events": [["regression-1", "opened", "x"], ["regression-2", "opened", "x"]]},
        ),
        ("shared", {"of": "both"}),
        ("secret", {"why": "because"}),
        ("total", {"slot": "owner"}),
    ],
)
def test_a_derive_that_cannot_be_read_is_found(
    corpus: Corpus, name: str, changes: dict[str, Any]
) -> None:
    if name == "total":
        corpus.tell(6, "oncall", "RB-4102", "Priya took it.")
    derive_of(corpus, name, **changes)

    assert corpus.found() == [("derive", f"question {name}")]


def test_a_question_without_derive_is_found(corpus: Corpus) -> None:
    corpus.only("p99", derive=None)

    assert corpus.found() == [("derive", "question p99")]


def test_a_derive_that_is_no_mapping_is_refused_with_its_line(corpus: Corpus) -> None:
    corpus.only("p99", derive="value p99")

    with pytest.raises(DataError, match=r"questions\.yaml, line 1.*derive of .*; write a mapping"):
        corpus.prove()


def test_a_value_never_stated_is_found_with_the_sentence_that_nearly_does(corpus: Corpus) -> None:
    corpus.retell("stood at 840 ms", "stood at 840 milliseconds")
    corpus.only("p99")

    (finding,) = corpus.prove().findings

    assert finding.code == "unstated"
    assert "no number that can be read with it: day 3, session oncall" in finding.message
    assert "The p99 stood at 840 milliseconds." in finding.message


def test_so_it_is_where_a_cue_has_a_place_for_the_value(corpus: Corpus) -> None:
    corpus.retell("Priya Raman took it", "The new hire took it")
    corpus.only("owner")

    (finding,) = corpus.prove().findings

    assert "no person that can be read with it: day 3, session oncall" in finding.message


def test_a_value_only_called_a_former_one_is_not_stated(corpus: Corpus) -> None:
    corpus.retell("stood at 840 ms", "is no longer 840 ms")
    corpus.only("p99")

    (finding,) = corpus.prove().findings

    assert finding.code == "unstated"
    assert "this one calls its value a former one: day 3, session oncall" in finding.message


def test_from_makes_a_value_a_former_one_only_beside_another(corpus: Corpus) -> None:
    corpus.retell("The p99 stood at 840 ms.", "The p99 counts from 840 ms.")
    corpus.only("p99", cites=[(3, "The p99 counts from 840 ms.")])

    assert corpus.found() == []


LOWEST = {"op": "lowest", "process": "regression", "slot": "p99", "month": "2024-03"}


def test_the_lowest_is_found_like_the_highest(corpus: Corpus) -> None:
    corpus.only(
        "highest",
        derive=LOWEST,
        answer="RB-4101, at 840 ms",
        atoms=["RB-4101", "840 ms"],
        distractors=[],
    )

    assert corpus.found() == []


def test_the_highest_is_not_the_lowest(corpus: Corpus) -> None:
    corpus.only("highest", derive=LOWEST)

    assert ("reference", "question highest") in corpus.found()


def test_a_thread_never_named_is_found(corpus: Corpus) -> None:
    corpus.lexicon["threads"]["regression-1"]["name"] = "RB-9999"
    corpus.only("p99")

    (finding,) = corpus.prove().findings

    assert finding.message.endswith("the text never names the thread")


@pytest.mark.parametrize("name", ["rollback-date", "rollback-gap", "first", "did"])
def test_a_step_stated_on_two_days_is_found(corpus: Corpus, name: str) -> None:
    corpus.tell(20, "oncall", "RB-4101", "Remember how we rolled back?")
    corpus.only(name)

    assert corpus.found() == [("told-twice", f"question {name}")]


@pytest.mark.parametrize("name", ["rollback-date", "rollback-gap", "first"])
def test_a_step_never_stated_is_found(corpus: Corpus, name: str) -> None:
    corpus.retell("We rolled back before lunch.", "We reverted before lunch.")
    corpus.only(name, cites=[], relevant_days=[8], evidence=[])

    assert ("unstated", f"question {name}") in corpus.found()


def test_a_step_before_the_first_is_found(corpus: Corpus) -> None:
    corpus.move(8, day=2)
    corpus.only("rollback-gap", cites=[], relevant_days=[8], evidence=[])

    assert corpus.found() == [("reference", "question rollback-gap")]


def test_events_of_one_day_have_no_order(corpus: Corpus) -> None:
    corpus.move(9, day=8)
    corpus.only("first", cites=[], relevant_days=[8], evidence=[])

    assert corpus.found() == [("ambiguous", "question first")]


def test_three_events_are_all_named_in_order(corpus: Corpus) -> None:
    events = [
        ["regression-3", "opened", "the third"],
        ["regression-1", "opened", "the first"],
        ["regression-2", "opened", "the second"],
    ]
    cites = [(3, "RB-4101 came in at 06:10."), (6, "It came in late."), (30, "It came in at noon.")]
    derive = {"op": "order", "events": events}
    corpus.ask("three", "The first, the second, the third.", derive, *cites, atoms=["The first"])
    also = dict(corpus.questions[0], id="short", answer="The first, then the second.")
    corpus.questions.append(also)

    assert corpus.found() == [("reference", "question short")]


def test_no_needs_the_thread_to_be_known(corpus: Corpus) -> None:
    corpus.only("did-not", derive={"op": "did", "thread": "regression-3", "step": "rolled-back"})

    assert corpus.found()[0] == ("unstated", "question did-not")


def test_no_becomes_wrong_when_it_happens_after_all(corpus: Corpus) -> None:
    corpus.tell(25, "oncall", "RB-4102", "We rolled back at last.")
    corpus.only("did-not")

    assert corpus.found() == [("second-answer", "question did-not")]


def test_a_count_needs_every_beginning(corpus: Corpus) -> None:
    corpus.retell("It came in late.", "It is late.")
    corpus.only("count", cites=[], relevant_days=[6], evidence=[])

    (finding,) = corpus.prove().findings

    assert finding.code == "unstated"
    assert "RB-4102 is mentioned" in finding.message


def test_a_count_is_asked_when_the_month_is_over(corpus: Corpus) -> None:
    corpus.move(30, day=20)
    corpus.only("count")

    assert corpus.found() == [("second-answer", "question count")]


def test_a_total_takes_the_first_values(corpus: Corpus) -> None:
    corpus.tell(20, "oncall", "RB-4101", "Settled for a fee of $310.")
    corpus.only("total")

    assert corpus.found() == []


def test_sums_in_two_currencies_have_no_total(corpus: Corpus) -> None:
    corpus.retell("$450", "£450")
    corpus.only("total", cites=[], relevant_days=[6], evidence=[])

    assert corpus.found() == [("ambiguous", "question total")]


def test_two_highest_are_none(corpus: Corpus) -> None:
    corpus.retell("840 ms", "1,210 ms")
    corpus.only("highest", cites=[], relevant_days=[6], evidence=[])

    assert corpus.found() == [("ambiguous", "question highest")]


def test_a_value_called_stale_is_not_the_first(corpus: Corpus) -> None:
    corpus.retell("A fee of $450 was agreed.", "Instead of $440, a fee of $450 was agreed.")
    cites = [(3, "Priya Raman took it, at a fee of $300.")]
    cites += [(6, "Instead of $440, a fee of $450 was agreed.")]
    corpus.only("total", cites=cites)

    assert corpus.found() == []


def test_a_history_is_whole(corpus: Corpus) -> None:
    corpus.only("due-history", answer="11 March 2024")

    assert corpus.found() == [("reference", "question due-history")]


def test_a_value_as_of_a_day_need_not_name_the_one_before(corpus: Corpus) -> None:
    (now,) = (asked for asked in corpus.questions if asked["id"] == "due-now")
    corpus.only("due-now", derive=now["derive"] | {"as_of": 9}, stale=[], answerable_from=20)

    assert corpus.found() == []


def test_a_value_true_twice_is_too_early(corpus: Corpus) -> None:
    corpus.tell(2, "oncall", "RB-4101", "The fix is due 15 March 2024.")
    corpus.only("due-now")

    assert corpus.found() == [("too-early", "question due-now")]


def test_a_value_that_replaces_none_may_occur_before_it_is_stated(corpus: Corpus) -> None:
    corpus.tell(2, "oncall", "RB-4101", "Will it reach 840 ms?")
    corpus.only("p99")

    assert corpus.found() == []


def test_a_date_may_occur_before_it_is_the_new_one(corpus: Corpus) -> None:
    """Any other thing may be on that day, where a sum without a cue is the price already."""
    corpus.tell(4, "oncall", "RB-4101", "We talk again on 15 March 2024.")
    corpus.only("due-now")

    assert corpus.found() == []


def test_a_link_the_text_spells_out_is_found(corpus: Corpus) -> None:
    corpus.tell(20, "principal", "Odd", "RB-4102 looks like Falcon.")
    corpus.only("shared")

    assert corpus.found() == [("second-answer", "question shared")]


def test_threads_that_share_nothing_are_found(corpus: Corpus) -> None:
    corpus.retell("blamed on a stale cache", "blamed on a bad index")
    corpus.only("shared", cites=[], relevant_days=[14], evidence=[])

    assert corpus.found() == [("reference", "question shared")]


def test_a_value_that_returns_in_between_is_a_second_answer(corpus: Corpus) -> None:
    """The first and the last day agree; a day between them does not."""
    corpus.tell(20, "oncall", "RB-4101", "The p99 stood at 999 ms.")
    corpus.tell(22, "oncall", "RB-4101", "The p99 stood at 840 ms.")
    corpus.only("p99")

    (finding,) = corpus.prove().findings

    assert finding.code == "second-answer"
    assert "p99 of RB-4101 was “840 ms” and is “999 ms” on day 20" in finding.message


def test_a_date_without_its_year_means_the_year_it_is_about(corpus: Corpus) -> None:
    corpus.retell("15 March 2024", "15 October 2024")
    moved = {"aliases": ["October 15"], "distractors": ["October 16"]}
    sentence = "The fix is due 15 October 2024 instead of 11 March 2024."
    corpus.only("due-now", answer="15 October 2024", atoms=["15 October 2024"], **moved)
    corpus.questions[0]["cites"] = [(5, sentence)]

    assert corpus.found() == []


def test_a_recent_restatement_spoils_a_question_after_a_long_silence(corpus: Corpus) -> None:
    corpus.tell(35, "oncall", "RB-4101", "For the record, the p99 was 840 ms.")
    corpus.only("p99", category="recency-bias-resistance", answerable_from=30)

    assert corpus.found() == [("restated", "question p99")]


def test_an_earlier_value_is_no_restatement(corpus: Corpus) -> None:
    corpus.only("due-now", category="recency-bias-resistance", answerable_from=30)

    assert corpus.found() == []


def test_a_question_is_not_asked_before_its_evidence(corpus: Corpus) -> None:
    cites = [(3, "The p99 stood at 840 ms."), (6, "The p99 stood at 1,210 ms.")]
    corpus.only("p99", cites=cites, answerable_from=3)

    messages = [f.message for f in corpus.prove().findings if f.code == "span"]

    assert messages == ["it is answerable from day 3, before its evidence of day 6"]


def test_an_answer_is_irrelevant_from_the_day_it_changes(corpus: Corpus) -> None:
    corpus.only("due-first", irrelevant_after=3)

    (finding,) = corpus.prove().findings

    assert finding.message.endswith("it is irrelevant after day 4 and not 3")


def test_a_day_that_says_something_else_changes_nothing(corpus: Corpus) -> None:
    corpus.only("p99", changes_on=8, irrelevant_after=7)

    assert corpus.found() == [("span", "question p99")]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"answerable_from": 2}, "unstated"),
        ({"answerable_from": 41}, "span"),
        ({"changes_on": 9}, "span"),
        ({"changes_on": 9, "irrelevant_after": 8}, "span"),
        ({"evidence": [], "relevant_days": [3]}, "evidence"),
    ],
)
def test_the_days_of_a_question_fit_together(
    corpus: Corpus, changes: dict[str, Any], code: str
) -> None:
    corpus.only("p99", **changes)

    assert (code, "question p99") in corpus.found()
