"""Questions of a life edition that somebody words one by one."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import Malformed
from recall_bench.core.yaml12 import load_yaml
from recall_bench.generate.life import wording_replies
from recall_bench.generate.life.build import build_life_folder
from recall_bench.generate.life.edition import play_life
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.life.wording_replies import (
    iterate_wording_requests,
    list_wording_faults,
)
from recall_bench.generate.verification.verifier import verify_world
from recall_bench.generate.written.renderer import RenderedEdition
from recall_bench.generate.written.sources import WrittenQuestion
from tests.commands import Invoke, Shown
from tests.generate.life.played_library import play_library

SOURCES = Path(__file__).parent / "tool-library" / "life-200d"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return shutil.copytree(SOURCES.parent, tmp_path / "tool-library") / SOURCES.name


@pytest.fixture(scope="module")
def edition() -> RenderedEdition:
    """Nobody has worded a question of the library: all have the words of the templates."""
    return play_library().rendered


@pytest.fixture(scope="module")
def requests(edition: RenderedEdition) -> list[dict[str, Any]]:
    return [dict(each) for each in iterate_wording_requests(edition, {})]


Reply = Callable[..., Shown]


@pytest.fixture
def reply(
    invoke: Invoke, sources: Path, edition: RenderedEdition, monkeypatch: pytest.MonkeyPatch
) -> Reply:
    """The command takes replies to the questions of the library, which is played once."""
    monkeypatch.setattr(wording_replies, "render_templates", lambda _: edition)

    def send(*replies: dict[str, str]) -> Shown:
        file = sources.parent / "replies.jsonl"
        file.write_text("".join(json.dumps(each) + "\n" for each in replies), encoding="utf-8")
        return invoke("world", "reword", sources, "--replies", file)

    return send


def find(requests: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    return (each for each in requests if each["kind"] == kind)


def test_a_request_shows_the_lines_that_tell_the_answer(
    invoke: Invoke, sources: Path, tmp_path: Path, requests: list[dict[str, Any]]
) -> None:
    file = tmp_path / "requests.jsonl"
    assert invoke("world", "reword", sources, "--requests", file).code == 0
    written = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    told = next(find(written, "single-fact"))

    assert written == requests
    assert all(span["sentence"] in span["paragraph"] for span in told["evidence"])
    assert told["evidence"]


def test_wordings_are_asked_and_dropped_questions_are_not(
    sources: Path, requests: list[dict[str, Any]], reply: Reply, tmp_path: Path
) -> None:
    first, second, third = requests[0], requests[1], requests[2]
    ask = f"Please tell me: {first['ask'][0].lower()}{first['ask'][1:]}"

    found = reply(
        {"id": first["id"], "ask": ask},
        {"id": second["id"], "drop": "two answers are right"},
    )
    folder = build_life_folder(read_life(sources), tmp_path / "built")
    report = verify_world(folder, "arcs-200d.yaml")
    asked: Any = load_yaml(folder / "qa-200d" / "questions.yaml")

    assert found.code == 0, found.out
    assert report.findings == ()
    assert report.questions == len(requests) - 1
    assert asked[0]["question"] == ask
    # Whatever is dropped, the others keep their names.
    assert [each["id"] for each in asked[:2]] == [first["id"], third["id"]]


def test_a_line_cites_a_further_sentence(
    sources: Path, requests: list[dict[str, Any]], reply: Reply, tmp_path: Path
) -> None:
    told = next(each for each in requests if each["kind"] == "single-fact" and each["evidence"])
    reply({"id": told["id"], "ask": f"Please: {told['ask']}"})
    line = json.loads((sources / "wordings.jsonl").read_text(encoding="utf-8"))
    cite = {"day": 3, "text": "Tomasz Wilk leads the work"}

    def write(**citation: object) -> None:
        text = json.dumps(line | {"cite": [cite | citation]})
        (sources / "wordings.jsonl").write_text(text + "\n", encoding="utf-8")

    def build() -> str:
        folder = build_life_folder(read_life(sources), tmp_path / str(len([*tmp_path.iterdir()])))
        assert verify_world(folder, "arcs-200d.yaml").findings == ()
        questions: Any = load_yaml(folder / "qa-200d" / "questions.yaml")
        found = next(each for each in questions if each["id"] == told["id"])
        day = (folder / "memories-200d" / "day-0003.md").read_text(encoding="utf-8")
        return "|".join(
            day[span["start"] : span["end"]] for span in found["evidence"] if span["day"] == 3
        )

    write(text="Nobody leads")
    with pytest.raises(Malformed, match="0 sentences of day 3 begin with “Nobody leads”"):
        build()
    write()
    assert "Tomasz Wilk leads the work on the shed." in build()
    reply({"id": told["id"], "ask": f"Please tell me: {told['ask']}"})
    kept = json.loads((sources / "wordings.jsonl").read_text(encoding="utf-8"))
    assert kept["cite"] == [cite]
    assert kept["ask"].startswith("Please tell me")


def test_another_seed_is_asked_in_the_words_of_the_templates(
    sources: Path, requests: list[dict[str, Any]], reply: Reply
) -> None:
    before = play_library(1).written.questions
    reply({"id": requests[0]["id"], "drop": "two answers are right"})

    assert play_life(read_life(sources), 1).written.questions == before


def test_what_loses_adds_or_tells_too_much_is_refused(
    sources: Path, requests: list[dict[str, Any]], reply: Reply
) -> None:
    named = next(each for each in requests if "Harrow" in each["ask"][1:])
    plain = next(find(requests, "single-fact"))

    found = reply(
        {"id": named["id"], "ask": "What happened there?"},
        {"id": plain["id"], "ask": f"Is it {plain['answer']} according to Zebulon?"},
        {"id": "tool-library-w9999", "ask": "What was it?"},
        {"id": plain["id"], "ask": "No end of a sentence"},
    )

    assert found.code == 3
    assert "does not say harrow" in found.out
    assert "neither the question nor the evidence says zebulon" in found.out
    assert "the question holds the whole answer" in found.out
    assert "there is no such question" in found.out
    assert "ends with ? or ." in found.out
    assert (sources / "wordings.jsonl").read_text(encoding="utf-8") == ""


@pytest.mark.parametrize(
    ("ask", "new", "lost"),
    [
        ("Who should Orla Finnegan ring now?", "Who should I ring now?", ""),
        ("Who should Orla Finnegan ring now?", "Who should be rung now?", "finnegan, orla"),
        ("Who owns the Danish barn of Kingfisher?", "Who owns the barn of Kingfisher?", ""),
        ("Who owns the Danish barn of Kingfisher?", "Who owns the barn?", "danish, kingfisher"),
        ("Who bought the Kingfisher barn in May?", "Who bought the Kingfisher barn?", "may"),
        ("Who sold Piet Verhoeven Kingfisher?", "Who sold Kingfisher?", "piet, verhoeven"),
        ("Who let the Skagen barn of Kingfisher?", "Who let the barn of Kingfisher?", "skagen"),
    ],
)
def test_a_wording_may_leave_out_the_asker_and_what_no_line_tells(
    edition: RenderedEdition, ask: str, new: str, lost: str
) -> None:
    line = "Kingfisher is a barn in Skagen, and Tomasz Wilk has it."
    evidence = [{"heading": "Kingfisher: the barn", "paragraph": line, "sentence": line}]
    question = WrittenQuestion(
        ask=ask,
        kind="single-fact",
        category="factual-recall",
        derive="",
        answer="Tomasz Wilk.",
        difficulty="easy",
    )

    found = [*list_wording_faults(edition, {"evidence": evidence}, question, new)]

    assert found == ([f"it does not say {lost} any more"] if lost else [])


def test_a_wording_of_a_question_that_is_gone_is_found(invoke: Invoke, sources: Path) -> None:
    line = json.dumps({"of": "0123456789ab", "ask": "Who was it?"})
    (sources / "wordings.jsonl").write_text(line + "\n", encoding="utf-8")

    found = invoke("world", "check", sources)

    assert "wordings.jsonl, line 1: no question 0123456789ab is asked any more" in found.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"of": "0123456789ab"}', "either ask, cite or both, or drop"),
        ('{"of": "0123456789ab", "says": "x"}', "line 1"),
        ("[[[", "line 1"),
    ],
)
def test_a_bad_line_is_named(invoke: Invoke, sources: Path, line: str, message: str) -> None:
    (sources / "wordings.jsonl").write_text(line + "\n", encoding="utf-8")

    found = invoke("world", "check", sources)

    assert found.code == 3
    assert message in found.err
