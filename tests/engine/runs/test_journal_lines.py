"""A journal holds each text of a passage once, and every reader sees it with every answer."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from recall_bench.core.append_log import LineChain
from recall_bench.core.errors import DataError
from recall_bench.core.event import Answered, Event, Ingested, encode_event
from recall_bench.core.memory import Answer, Delivery, Passage
from recall_bench.core.plan import Trial
from recall_bench.core.untrusted_json import MAX_REPLY_BYTES
from recall_bench.core.usage import Usage
from recall_bench.engine.runs import journal_lines
from recall_bench.engine.runs.journal import JOURNAL, Journal, encode_events, read_events
from recall_bench.engine.runs.recorded_answers import RecordedRun
from recall_bench.engine.runs.run_folder import RunFolder
from tests.written_runs import ALL_OF_ADA, PERFECT, Story

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
CAT = "Ada took in a cat on the first day, and called it Smoke."
DOG = 'Ada\'s dog is called "Pfütze"; it came\non the second day, from the harbour. 🐕'
TRIAL = Trial(scenario="ada", item="cat", checkpoint="2d", repeat=0)


def answered(*texts: str, number: int = 0, **more: object) -> Answered:
    passages = tuple(Passage(text=text, day=day) for day, text in enumerate(texts, start=1))
    answer = Answer(text="Smoke", passages=passages).replace(**more)
    at = NOON + timedelta(seconds=number)
    return Answered(at=at, trial=TRIAL, answer=answer, seconds=0.5)


def write(path: Path, events: Sequence[Event]) -> bytes:
    with Journal(path) as journal:
        for event in events:
            journal.append(event)
    return path.read_bytes()


def forge(path: Path, *passages: object) -> None:
    """Write a journal with a whole answer, and one with these passages."""
    chain, whole = LineChain(), answered(CAT)
    content = msgspec.to_builtins(whole)
    content["answer"]["passages"] = list(passages)
    lines = (encode_event(whole), msgspec.json.encode(content))
    path.write_bytes(b"".join(chain.add(line) + b"\n" for line in lines))


def count_text(content: bytes, text: str) -> int:
    return content.count(msgspec.json.encode(text))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / JOURNAL


EVENTS = (
    answered(CAT, number=0),
    answered(DOG, CAT, number=1),
    Ingested(at=NOON, scenario="ada", day=2, checkpoint="2d", seconds=0.1),
    answered(CAT, "short", DOG, number=2),
)


def test_a_text_is_written_once_and_read_with_every_answer(path: Path) -> None:
    content = write(path, EVENTS)

    assert (count_text(content, CAT), count_text(content, DOG)) == (1, 1)
    assert tuple(read_events(path)) == EVENTS


def test_a_reference_is_the_place_of_the_text_in_an_earlier_line(path: Path) -> None:
    content = write(path, EVENTS)

    last = msgspec.json.decode(content.splitlines()[-1])
    start, length = last["answer"]["passages"][2]["text_at"]

    assert msgspec.json.decode(content[start : start + length]) == DOG
    assert start + length <= content.index(content.splitlines()[-1])


def test_every_field_of_an_answer_survives_beside_a_reference(path: Path) -> None:
    passage = Passage(
        text=CAT,
        id="day-1",
        day=1,
        turn=2,
        turns=(2, 3),
        source="log",
        score=0.5,
        claimed=4,
    )
    usage = Usage(calls=1)
    answer = Answer(
        text="Smoke", passages=(passage,), tool_calls=({"text_at": [1, 2]},), usage=usage
    )
    event = Answered(
        at=NOON,
        trial=TRIAL,
        answer=answer,
        seconds=0.5,
        delivery=Delivery(offered=1, kept=1, tokens=9, traced=1),
        reading_s=0.25,
        reading_usage=usage,
    )
    for record in (passage, answer, event):
        fields = msgspec.structs.fields(record)
        unset = [each.name for each in fields if getattr(record, each.name) == each.default]
        assert not unset, "set them above, so that this test covers them"

    content = write(path, (event, event))

    assert b'"text_at":[' in content.splitlines()[1].split(b"tool_calls")[0]
    assert tuple(read_events(path)) == (event, event)


def test_a_text_shorter_than_a_reference_stays_in_its_place(path: Path) -> None:
    content = write(path, (answered("short"), answered("short")))

    assert count_text(content, "short") == 2


def test_a_passage_without_text_stays_empty_beside_a_reference(path: Path) -> None:
    events = (answered(CAT), answered("", CAT))
    write(path, events)

    assert tuple(read_events(path)) == events


def test_an_answer_that_has_a_text_twice_refers_to_no_line_but_earlier_ones(path: Path) -> None:
    events = (answered(CAT, CAT), answered(CAT, CAT))
    content = write(path, events)

    assert count_text(content, CAT) == 2
    assert tuple(read_events(path)) == events


def test_a_key_in_a_passage_is_never_written_and_its_redacted_text_is_written_once(
    path: Path,
) -> None:
    key = "sk-proj-0123456789abcdefABCDEF"
    keyed = answered(CAT, f"The key of the harbour office is {key}, said Ada.")

    content = write(path, (keyed, keyed, keyed))

    redacted = "The key of the harbour office is [redacted], said Ada."
    assert key.encode() not in content
    assert count_text(content, redacted) == 1
    assert tuple(read_events(path)) == (answered(CAT, redacted),) * 3


def test_a_key_in_the_name_of_a_place_is_not_written_beside_a_reference(path: Path) -> None:
    key = "sk-proj-0123456789abcdefABCDEF"
    whole = answered(CAT)
    passage = Passage(text=CAT, day=1, source=f"notes/{key}")
    named = whole.replace(answer=whole.answer.replace(passages=(passage,)))

    assert key.encode() not in write(path, (whole, named))


def test_cut_off_at_any_byte_the_journal_goes_on_and_every_text_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bench.core.append_log.os.fsync", lambda _: None)
    content = write(path, EVENTS[:2])
    first = len(content.splitlines(keepends=True)[0])

    for cut in range(first - 10, len(content) + 1):
        path.write_bytes(content[:cut])
        left = EVENTS[: (cut >= first) + (cut >= len(content))]
        assert tuple(read_events(path)) == left
        write(path, EVENTS[-1:])

        assert tuple(read_events(path)) == (*left, EVENTS[-1])
        assert count_text(path.read_bytes(), CAT) == count_text(path.read_bytes(), DOG) == 1


def test_another_process_goes_on_with_the_same_bytes(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_lines, "_MOST_TEXTS", 3)
    texts = [f"This is the text number {number} of the story." for number in (0, 1, 2, 3, 0, 4, 1)]
    events = [answered(*texts[n : n + 2], number=n) for n in range(6)]

    undisturbed = write(tmp_path / "other" / JOURNAL, events)
    for event in events:
        continued = write(path, [event])

    assert continued == undisturbed
    assert count_text(continued, texts[0]) == 2, "it was forgotten, and written again"
    assert list(read_events(path)) == events


def test_a_journal_of_an_earlier_version_is_read_and_goes_on(path: Path) -> None:
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in EVENTS))

    content = write(path, EVENTS)

    assert tuple(read_events(path)) == EVENTS + EVENTS
    assert count_text(content, DOG) == 2, "as often as before"


@pytest.mark.parametrize(
    ("passage", "problem"),
    [
        pytest.param({"day": 1, "source": "text_at"}, "missing", id="no text"),
        pytest.param({"text_at": [0, 1 << 40]}, "not before it", id="beyond the file"),
        pytest.param({"text_at": [400, 40]}, "not before it", id="in its own line"),
        pytest.param({"text_at": [1, 7]}, "malformed", id="no JSON string"),
        pytest.param({"text_at": [2, 0]}, "truncated", id="nothing"),
        pytest.param({"text_at": [-1, 4]}, ">= 0", id="before the file"),
        pytest.param({"text_at": [1]}, "length 2", id="no length"),
        pytest.param({"text": None, "text_at": None}, "str", id="neither"),
    ],
)
def test_a_reference_to_anything_else_is_an_error_that_names_the_line(
    path: Path, passage: object, problem: str
) -> None:
    forge(path, passage)

    with pytest.raises(DataError, match=f"line 2: not a journal event .*{problem}"):
        list(read_events(path))


def test_a_passage_without_text_beside_a_reference_is_an_error(path: Path) -> None:
    forge(path)
    start = path.read_bytes().index(msgspec.json.encode(CAT))
    forge(path, {"text_at": [start, len(CAT) + 2]}, {"day": 1})

    with pytest.raises(DataError, match="neither text nor text_at"):
        list(read_events(path))


def test_references_make_no_answer_longer_than_a_reply_can_be(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge(path)
    start = path.read_bytes().index(msgspec.json.encode(CAT))
    span = {"text_at": [start, len(CAT) + 2]}
    forge(path, span, span)
    assert len(list(read_events(path))) == 2
    assert len(CAT) < MAX_REPLY_BYTES

    monkeypatch.setattr(journal_lines, "MAX_REPLY_BYTES", 2 * len(CAT) - 1)

    with pytest.raises(DataError, match="longer than any reply"):
        list(read_events(path))


def test_a_reader_that_keeps_few_texts_reads_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_lines, "_KEPT_CHARACTERS", len(CAT))
    write(path, EVENTS + EVENTS)

    assert tuple(read_events(path)) == EVENTS + EVENTS


def write_ada(story: Story) -> Path:
    """Ada's run, each answer with the same two passages, as a journal with references."""
    for each in ALL_OF_ADA:
        story.answer(each, "something", Passage(text=CAT, day=1), Passage(text=DOG, day=2))
        story.judge(each, PERFECT)
    story.end()
    journal = story.save() / JOURNAL
    journal.write_bytes(b"".join(encode_events(list(read_events(journal)))))
    assert count_text(journal.read_bytes(), DOG) == 1
    return story.folder


def read_texts(run: RunFolder) -> list[tuple[str, ...]]:
    found = [result.answered for result in run.results("ada")]
    return [tuple(p.text for p in each.answer.passages) for each in found if each is not None]


def test_results_have_their_texts_in_any_order(story: Story) -> None:
    assert read_texts(RunFolder.open(write_ada(story))) == [(CAT, DOG)] * len(ALL_OF_ADA)


def test_stored_results_are_the_results_and_refer_to_their_texts(story: Story) -> None:
    run = RunFolder.open(write_ada(story))

    stored, results = list(run.read_stored_results("ada")), list(run.results("ada"))

    assert [(each.trial, each.item, each.outcome, each.others) for each in stored] == [
        (each.trial, each.item, each.outcome, each.others) for each in results
    ]
    passages = [
        (each.offset, passage)
        for each in stored
        if each.answered is not None
        for passage in each.answered.answer.passages
    ]
    assert [each.text for _, each in passages] == [CAT, DOG] + [None, None] * 4
    assert [run.read_text(each.text_at, offset) for offset, each in passages[2:]] == [CAT, DOG] * 4
    with pytest.raises(DataError, match="neither text nor text_at"):
        run.read_text(None, passages[0][0])


def test_results_are_read_without_passages_where_these_are_not_wanted(story: Story) -> None:
    run = RunFolder.open(write_ada(story))

    found = run.read_results_of("ada", lambda _: True, reads_passages=False)

    assert [each.answered for each in found] == [
        each.answered and each.answered.replace(answer=each.answered.answer.replace(passages=()))
        for each in run.results("ada")
    ]


def test_events_that_are_appended_later_have_their_texts(story: Story) -> None:
    folder = write_ada(story)
    content = (folder / JOURNAL).read_bytes()
    lines = content.splitlines(keepends=True)
    (folder / JOURNAL).write_bytes(b"".join(lines[:4]))
    run = RunFolder.open(folder)
    (folder / JOURNAL).write_bytes(content)

    assert run.read_on() == len(lines) - 4
    assert read_texts(run) == [(CAT, DOG)] * len(ALL_OF_ADA)


def test_a_copy_of_the_answers_refers_to_its_own_texts(story: Story, tmp_path: Path) -> None:
    run = RecordedRun.open(write_ada(story))

    run.copy_answers(story.plan.replace(seed=7), tmp_path / "copy")

    assert read_texts(RunFolder.open(tmp_path / "copy")) == [(CAT, DOG)] * len(ALL_OF_ADA)
    assert count_text((tmp_path / "copy" / JOURNAL).read_bytes(), DOG) == 1
