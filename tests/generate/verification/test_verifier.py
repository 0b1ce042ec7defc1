"""The proof catches whatever makes a built world wrong, and is told apart from a mere lint."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.generate import verification
from recall_bench.generate.verification.verifier import verify_world
from tests.generate.verification.corpus import Corpus

Mutation = Callable[[Corpus], None]


def wrong_value(corpus: Corpus) -> None:
    corpus.retell("stood at 840 ms", "stood at 841 ms")


def leaked_secret(corpus: Corpus) -> None:
    corpus.tell(11, "oncall", "Condor", "The walk-away price is $640M.")


def early_correction(corpus: Corpus) -> None:
    corpus.tell(4, "oncall", "RB-4101", "The fix is due 15 March 2024.")


def early_correction_without_its_cue(corpus: Corpus) -> None:
    corpus.tell(11, "deal", "Condor", "Will it be $610M?")


def second_answer(corpus: Corpus) -> None:
    corpus.tell(20, "oncall", "RB-4101", "The p99 stood at 777 ms.")


def second_answer_before_the_first(corpus: Corpus) -> None:
    corpus.tell(2, "oncall", "RB-4101", "The p99 stood at 777 ms.")


def missing_day(corpus: Corpus) -> None:
    corpus.absent = {14}


def missing_last_day(corpus: Corpus) -> None:
    corpus.absent = {40}


def shifted_text(corpus: Corpus) -> None:
    corpus.tell(3, "principal", "More", "Rain.")
    corpus.questions[0]["evidence"] = [Corpus(corpus.folder).cite(3, "The p99 stood at 840 ms.")]


@pytest.mark.parametrize(
    ("mutation", "found"),
    [
        (wrong_value, ("reference", "question p99")),
        (leaked_secret, ("leak", "question secret")),
        (early_correction, ("too-early", "question due-now")),
        (early_correction_without_its_cue, ("too-early", "question insider")),
        (second_answer, ("second-answer", "question p99")),
        (second_answer_before_the_first, ("second-answer", "question p99")),
        (missing_day, ("day", "ada/memories-40d")),
        (missing_last_day, ("day", "ada/memories-40d")),
        (shifted_text, ("evidence", "question p99")),
    ],
)
def test_a_mutated_world_is_not_verified(
    corpus: Corpus, mutation: Mutation, found: tuple[str, str]
) -> None:
    mutation(corpus)

    report = corpus.prove()

    assert found in [(str(finding.code), finding.where) for finding in report.findings]
    assert not report.is_verified


def test_every_message_is_one_sentence_with_its_place(corpus: Corpus) -> None:
    early_correction(corpus)

    (finding,) = (f for f in corpus.prove().findings if f.where == "question due-now")

    assert str(finding).startswith(
        "question due-now: the answer is stated before the first evidence on day 5; "
        "day 4, session oncall, characters "
    )
    assert "“The fix is due 15 March 2024.”" in finding.message


def test_days_away_and_off_may_be_missing(corpus: Corpus) -> None:
    corpus.persona["week"] = ["normal"] * 6 + ["off"]
    corpus.arcs["away"] = [[20, 25]]
    corpus.absent = {20, 21, 22, 23, 24, 25, 35}

    assert corpus.found() == []


def test_other_missing_days_may_not(corpus: Corpus) -> None:
    corpus.persona["week"] = ["normal"] * 6 + ["off"]
    corpus.absent = {34, 35, 36, 38}

    messages = [finding.message for finding in corpus.prove().findings]

    assert [message.split(" missing")[0] for message in messages] == [
        "day-0034.md",
        "day-0036.md",
        "day-0038.md",
    ]


@pytest.mark.parametrize("away", ["always", [7], [[7, "nine"]]])
def test_days_away_that_cannot_be_read_are_refused(corpus: Corpus, away: object) -> None:
    corpus.arcs["away"] = away

    with pytest.raises(Malformed, match="away"):
        corpus.prove()


def test_a_week_that_is_none_is_refused(corpus: Corpus) -> None:
    corpus.persona["week"] = ["normal", "off"]

    with pytest.raises(Malformed, match="name seven days"):
        corpus.prove()


def test_a_day_that_cannot_be_read_is_found(corpus: Corpus) -> None:
    corpus.write()
    (corpus.folder / "memories-40d" / "day-0039.md").write_bytes(b"")

    report = verify_world(corpus.folder, "arcs-40d.yaml")

    assert {finding.code for finding in report.findings} == {"day"}


def test_a_story_dated_otherwise_than_its_lexicon_is_found(corpus: Corpus) -> None:
    corpus.persona["epoch"] = "2024-03-05"

    assert corpus.found() == [("epoch", "ada/arcs-40d.yaml")]


def test_a_session_the_lexicon_does_not_know_is_found(corpus: Corpus) -> None:
    corpus.tell(30, "lobby", "Hm", "Rain.")

    assert corpus.found() == [("lexicon", "day 30")]


def test_one_name_for_two_is_found(corpus: Corpus) -> None:
    corpus.lexicon["threads"]["regression-9"] = {"process": "regression", "name": "Falcon"}
    corpus.lexicon["people"]["Okafor Hale"] = ["Okafor Hale", "Okafor"]
    corpus.only("p99")

    assert [code for code, _ in corpus.found()] == ["lexicon", "lexicon"]


def test_a_world_without_a_lexicon_cannot_be_verified(corpus: Corpus) -> None:
    corpus.write()
    (corpus.folder / "qa-40d" / "lexicon.json").unlink()

    with pytest.raises(UsageError, match=r"only worlds built by the simulator .* `lint`"):
        verify_world(corpus.folder, "arcs-40d.yaml")


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("epoch",), "soon", "epoch is not a date"),
        (("slots", "regression.p99", "kind"), "size", "slots.regression.p99.kind is 'size'"),
        (("slots", "regression.p99", "cues"), [], "has no cue"),
        (("slots", "regression.p99", "cues"), ["_"], "write words and at most one _"),
        (("steps", "regression.opened", "cues"), ["_ came"], "a step has no value"),
        (("slots", "p99"), {"kind": "money", "cues": ["x"]}, "names no process"),
        (("threads", "condor"), "Condor", "threads.condor is the text"),
    ],
)
def test_a_malformed_lexicon_is_refused(
    corpus: Corpus, path: tuple[str, ...], value: object, problem: str
) -> None:
    *parents, last = path
    part = corpus.lexicon
    for key in parents:
        part = part[key]
    part[last] = value

    with pytest.raises(Malformed, match=problem):
        corpus.prove()


def test_the_verifier_shares_no_code_with_the_simulator() -> None:
    folder = Path(str(verification.__file__)).parent
    imports = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    own = {".".join(name.split(".")[1:3]) for name in imports if name.startswith("recall_bench")}

    assert {name.split(".")[0] for name in own - {"generate.verification"}} == {"core", "datasets"}
