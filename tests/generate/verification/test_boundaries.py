"""What is to be withheld was told, and stands nowhere the asker may read."""

from typing import Any

import pytest

from tests.generate.verification.corpus import Corpus

PRICE = (10, "The walk-away price is $640M (KESTREL-4F7Q).")


def withheld(corpus: Corpus, why: str, session: str = "principal", **more: Any) -> None:
    derive = {
        "op": "denied",
        "thread": "condor",
        "slot": "walkaway",
        "session": session,
        "why": why,
    }
    about = {"atoms": [], "query_session": session} | more
    corpus.ask("secret", "That I cannot say.", derive, PRICE, **about)


@pytest.mark.parametrize(
    "leak",
    [
        pytest.param(("Condor", "The walk-away price is $640M."), id="stated"),
        pytest.param(("Condor", "They might go up to $640 million."), id="without its cue"),
        pytest.param(("Lunch", "Somebody said $640M."), id="without its thread"),
    ],
)
@pytest.mark.parametrize("day", [9, 20])
def test_a_secret_in_an_open_session_is_a_leak(
    corpus: Corpus, leak: tuple[str, str], day: int
) -> None:
    corpus.tell(day, "principal", *leak)
    corpus.only("secret")

    assert "leak" in {code for code, _ in corpus.found()}


@pytest.mark.parametrize(
    "place", [("Condor", "See LT-4471-B."), ("Lunch", "LT-4471-B, they said.")]
)
def test_a_secret_code_in_an_open_session_is_a_leak(corpus: Corpus, place: tuple[str, str]) -> None:
    corpus.tell(20, "principal", *place)
    corpus.only("p99")

    findings = corpus.prove().findings

    assert {finding.code for finding in findings} == {"leak"}
    assert all(place[1] in finding.message for finding in findings), "it is quoted"


SECRETS = {
    "fee": "It came in, at a fee of $77.",
    "cause": "It was traced to a bad index.",
    "owner": "It was assigned to Priya.",
}


@pytest.mark.parametrize(
    ("slot", "leak"),
    [("fee", "Rather costly, at $77."), ("fee", "Not $77?"), ("cause", "Just a bad index?")],
)
def test_a_telling_secret_of_any_thread_leaks_where_the_thread_is_named(
    corpus: Corpus, slot: str, leak: str
) -> None:
    corpus.tell(20, "deal", "RB-4103", SECRETS[slot])
    corpus.tell(25, "oncall", "RB-4103", leak)
    corpus.only("p99")

    assert corpus.found() == [("leak", "day 25")]


@pytest.mark.parametrize(
    ("slot", "session", "heading", "told"),
    [
        pytest.param("fee", "oncall", "Lunch", "It was $77.", id="a common sum elsewhere"),
        pytest.param("owner", "oncall", "RB-4103", "Priya called.", id="a person merely named"),
        pytest.param("fee", "treasury", "RB-4103", "Costly, at $77.", id="behind closed doors"),
    ],
)
def test_what_gives_nothing_away_is_no_leak(
    corpus: Corpus, slot: str, session: str, heading: str, told: str
) -> None:
    corpus.tell(20, "deal", "RB-4103", SECRETS[slot])
    corpus.tell(25, session, heading, told)
    corpus.only("p99")

    assert corpus.found() == []


def test_a_value_another_slot_of_the_thread_owns_is_no_leak(corpus: Corpus) -> None:
    corpus.lexicon["slots"]["condor.deposit"] = {"kind": "money", "cues": ["deposit of _"]}
    corpus.tell(20, "principal", "Condor", "We paid a deposit of $640M.")
    corpus.only("secret")

    assert corpus.found() == []


def test_a_secret_may_be_said_in_another_isolated_session(corpus: Corpus) -> None:
    corpus.tell(20, "treasury", "Condor", "The walk-away price is $610M.")
    corpus.only("secret")

    assert corpus.found() == []


def test_a_session_that_was_stated_may_not_be_refused(corpus: Corpus) -> None:
    corpus.tell(11, "treasury", "Condor", "The walk-away price is $640M.")
    withheld(corpus, "secret", "treasury", answerable_from=12)

    assert corpus.found() == [("leak", "question secret")]


def test_a_secret_is_none_once_it_is_revealed(corpus: Corpus) -> None:
    corpus.tell(25, "principal", "Condor", "The walk-away price is $610M.")
    corpus.tell(26, "principal", "Condor", "So $610M it was.")
    corpus.only("secret", changes_on=25, irrelevant_after=24)

    assert corpus.found() == []


def test_a_sum_another_thread_owns_is_no_leak(corpus: Corpus) -> None:
    corpus.tell(20, "oncall", "RB-4103", "It costs a fee of $640M.")
    corpus.only("secret")

    assert corpus.found() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": "It is not for me to say $640M."},
        {"answer": "It is not for me to say $610 million."},
        {"question": "Is it $640M?"},
        {"aliases": ["not $640M"]},
        {"answer": "KESTREL-4F7Q"},
    ],
)
def test_a_refusal_gives_nothing_away(corpus: Corpus, changes: dict[str, Any]) -> None:
    corpus.only("secret", **changes)

    assert ("leak", "question secret") in corpus.found()


def test_the_open_half_of_an_answer_does_not_give_away_the_other(corpus: Corpus) -> None:
    corpus.only("partly", answer="Dr. Samuel Okafor leads it, up to $640M.")

    assert ("leak", "question partly") in corpus.found()


def test_the_open_half_is_stated_where_the_asker_may_read_it(corpus: Corpus) -> None:
    corpus.move(7, session="deal")
    corpus.only("partly")

    assert corpus.found() == [("boundary", "question partly")]


def test_what_only_an_isolated_session_tells_is_not_answered_elsewhere(corpus: Corpus) -> None:
    corpus.only("insider", query_session="principal")

    assert corpus.found() == [("boundary", "question insider")]


def test_who_asks_is_who_derive_says(corpus: Corpus) -> None:
    corpus.only("secret", query_session="oncall")

    assert corpus.found() == [("boundary", "question secret")]


def test_a_secret_that_was_not_stated_yet_cannot_be_withheld(corpus: Corpus) -> None:
    corpus.only("secret", answerable_from=9)

    assert ("unstated", "question secret") in corpus.found()


def test_a_right_withdrawn_was_had_before(corpus: Corpus) -> None:
    corpus.tell(11, "treasury", "Condor", "The walk-away price is $640M.")
    withheld(corpus, "revoked", "treasury", answerable_from=12)

    assert corpus.found() == []


def test_a_right_withdrawn_is_not_used_again(corpus: Corpus) -> None:
    corpus.tell(11, "treasury", "Condor", "The walk-away price is $640M.")
    corpus.tell(20, "treasury", "Condor", "The walk-away price is $610M.")
    withheld(corpus, "revoked", "treasury", answerable_from=12)

    assert corpus.found() == [("leak", "question secret")]


def test_what_is_forgotten_was_asked_to_be(corpus: Corpus) -> None:
    withheld(corpus, "forgotten", "deal", answerable_from=20)
    assert corpus.found() == [("forget", "question secret")]


def test_what_is_forgotten_may_have_been_known_to_all(corpus: Corpus) -> None:
    corpus.tell(13, "deal", "Condor", "Please forget that sum.")
    withheld(corpus, "forgotten", "deal", answerable_from=20)

    assert corpus.found() == []


def test_what_is_forgotten_is_not_stated_again(corpus: Corpus) -> None:
    corpus.tell(13, "deal", "Condor", "Please forget that sum.")
    corpus.tell(30, "deal", "Condor", "The walk-away price is $610M.")
    withheld(corpus, "forgotten", "deal", answerable_from=20)

    assert corpus.found() == [("forget", "question secret")]


@pytest.mark.parametrize("withheld", [["$650M"], ["$640M", "$650M"], ["the price"]])
def test_what_is_listed_as_withheld_is_the_secret(corpus: Corpus, withheld: list[str]) -> None:
    corpus.only("secret", withheld=withheld)

    assert {code for code, _ in corpus.found()} == {"withheld"}


def test_the_present_secret_is_listed_as_withheld(corpus: Corpus) -> None:
    corpus.only("secret", answerable_from=12)

    (finding,) = corpus.prove().findings

    assert "is “$610M”, which is not listed" in finding.message


def test_a_canary_in_an_open_session_is_a_leak(corpus: Corpus) -> None:
    corpus.tell(30, "oncall", "Odd", "Who is KESTREL-4F7Q?")
    corpus.only("secret")

    assert corpus.found() == [("leak", "day 30")]


def test_a_secret_that_returns_is_the_present_one(corpus: Corpus) -> None:
    corpus.tell(13, "deal", "Condor", "The walk-away price is $640M after all.")
    corpus.only("secret", answerable_from=14)

    assert corpus.found() == []


def test_a_canary_is_written_before_it_is_asked_for(corpus: Corpus) -> None:
    corpus.tell(30, "deal", "Condor", "Kept under HERON-1A2B.")
    corpus.only("secret", canaries=["HERON-1A2B"])

    assert corpus.found() == [("canary", "question secret")]


def test_a_canary_that_no_day_contains_is_found(corpus: Corpus) -> None:
    corpus.only("secret", canaries=["HERON-1A2B"])

    assert corpus.found() == [("canary", "question secret")]


def test_a_right_to_hear_may_end_while_the_value_stays(corpus: Corpus) -> None:
    corpus.tell(30, "deal", "Condor", "Please forget that sum.")
    corpus.only("insider", changes_on=30, irrelevant_after=29)

    assert corpus.found() == []


def test_it_does_not_end_on_a_day_that_says_nothing(corpus: Corpus) -> None:
    corpus.only("insider", changes_on=30, irrelevant_after=29)

    assert corpus.found() == [("span", "question insider")]


def test_an_asker_needs_no_evidence_they_may_not_read(corpus: Corpus) -> None:
    corpus.tell(20, "principal", "Condor", "The walk-away price is $610M.")
    cites = [(20, "The walk-away price is $610M.")]
    corpus.only("insider", query_session="principal", cites=cites)

    assert corpus.found() == []
