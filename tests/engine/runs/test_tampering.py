"""A journal that was changed after it was written is noticed, and nothing is scored from it."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.append_log import LineChain, split_link
from recall_bench.core.errors import DataError
from recall_bench.core.event import decode_event, encode_event
from recall_bench.engine.runs.journal import JOURNAL, Journal, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from tests.written_runs import ADA, PERFECT, POOR, Story, plan_of, trial

FLIPS = 500

Lines = list[bytes]


@pytest.fixture
def finished(tmp_path: Path) -> Story:
    """Two right answers, one wrong one and a timeout."""
    story = Story(tmp_path / "run", {"ada": ADA}, plan_of({"ada": ADA}))
    for day in (1, 2):
        story.ingest("ada", day, "2d")
    story.settle("ada", "2d")
    story.both(trial("cat", "2d"), PERFECT)
    story.both(trial("dog", "2d"), POOR, "something wrong")
    for day in (3, 4):
        story.ingest("ada", day, "4d")
    story.settle("ada", "4d")
    story.both(trial("cat", "4d"), PERFECT)
    story.not_answered(trial("dog", "4d"))
    story.both(trial("house", "4d"), POOR)
    story.end()
    story.save()
    return story


def read_journal(story: Story) -> Lines:
    return (story.folder / JOURNAL).read_bytes().splitlines()


def write_journal(story: Story, lines: Lines) -> None:
    (story.folder / JOURNAL).write_bytes(b"".join(line + b"\n" for line in lines))


def find(lines: Lines, words: bytes, *, last: bool = False) -> int:
    found = [number for number, line in enumerate(lines) if words in line]
    return found[-1 if last else 0]


def change(lines: Lines, number: int, old: bytes, new: bytes) -> None:
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new, 1)


def strip(lines: Lines, start: int = 0) -> None:
    lines[start:] = [split_link(line)[0] for line in lines[start:]]


def better_mark(lines: Lines) -> None:
    change(lines, find(lines, b"half of it"), b'"correctness":1', b'"correctness":3')


def other_answer(lines: Lines) -> None:
    change(lines, find(lines, b"something wrong"), b"something wrong", b"something right")


def shorter_time(lines: Lines) -> None:
    change(lines, find(lines, b'"type":"answered"'), b"0.125", b"0.025")


def deleted_timeout(lines: Lines) -> None:
    del lines[find(lines, b'"type":"not_answered"')]


def deleted_answer_and_verdict(lines: Lines) -> None:
    number = find(lines, b"something wrong")
    del lines[number : number + 2]


def swapped_lines(lines: Lines) -> None:
    lines[2], lines[3] = lines[3], lines[2]


def repeated_line(lines: Lines) -> None:
    lines.insert(5, lines[4])


def appended_verdict(lines: Lines) -> None:
    verdict = split_link(lines[find(lines, b"all there")])[0]
    lines.append(verdict.replace(b'"cat"', b'"dog"'))


def appended_verdict_with_old_link(lines: Lines) -> None:
    lines.append(lines[find(lines, b"all there")])


def foreign_line(lines: Lines) -> None:
    lines.insert(3, b'{"type":"run_ended","at":"2026-05-24T12:00:04Z"}')


def removed_end(lines: Lines) -> None:
    strip(lines, len(lines) - 1)


def links_removed_after_the_start(lines: Lines) -> None:
    strip(lines, 1)


def first_link_removed(lines: Lines) -> None:
    lines[0] = split_link(lines[0])[0]


def emptied_line(lines: Lines) -> None:
    lines[4] = b"{}"


def other_plan(lines: Lines) -> None:
    change(lines, 0, b'"k":3', b'"k":9')


def other_judge(lines: Lines) -> None:
    change(lines, 0, b'"exact"', b'"model"')


TAMPERINGS: tuple[Callable[[Lines], None], ...] = (
    better_mark,
    other_answer,
    shorter_time,
    deleted_timeout,
    deleted_answer_and_verdict,
    swapped_lines,
    repeated_line,
    appended_verdict,
    appended_verdict_with_old_link,
    foreign_line,
    removed_end,
    links_removed_after_the_start,
    first_link_removed,
    emptied_line,
    other_plan,
    other_judge,
)


def test_every_change_of_a_line_is_named_with_its_line(finished: Story) -> None:
    whole = read_journal(finished)
    for tamper in TAMPERINGS:
        lines = list(whole)
        tamper(lines)
        write_journal(finished, lines)
        with pytest.raises(DataError, match=f"{JOURNAL}, line "):
            RunFolder.open(finished.folder)


def linked_anew(lines: Lines) -> Lines:
    chain = LineChain()
    return [chain.add(split_link(line)[0]) for line in lines]


def fewer_questions(lines: Lines) -> None:
    event = decode_event(lines[1])
    kept = event.replace(items=event.items[:1])  # type: ignore[union-attr]
    lines[1] = encode_event(kept)


def easier_question(lines: Lines) -> None:
    change(lines, 1, b"the house", b"anything")


def verdict_without_answer(lines: Lines) -> None:
    del lines[find(lines, b"something wrong")]


def verdict_on_a_timeout(lines: Lines) -> None:
    verdict = lines[find(lines, b"all there", last=True)].replace(b'"cat"', b'"dog"')
    lines.insert(len(lines) - 1, verdict)


def verdict_on_a_trial_nobody_planned(lines: Lines) -> None:
    number = find(lines, b"all there")
    lines.insert(number + 1, lines[number].replace(b'"2d"', b'"3d"'))


@pytest.mark.parametrize("mark", ["4", "-1", "1" + "0" * 40])
def test_a_floor_that_no_answer_can_have_is_refused(finished: Story, mark: str) -> None:
    lines = read_journal(finished)
    start = '{"type":"bounds","at":"2026-05-24T12:00:04Z","scenario":"ada",'
    lines.insert(2, f'{start}"floor":{{"cat":[{mark},0,1]}}}}'.encode())
    write_journal(finished, linked_anew(lines))
    with pytest.raises(DataError, match=f"{JOURNAL}, line 3"):
        RunFolder.open(finished.folder)


@pytest.mark.parametrize("relink", [linked_anew, lambda lines: [split_link(e)[0] for e in lines]])
def test_what_contradicts_the_plan_is_noticed_whatever_the_links(
    finished: Story, relink: Callable[[Lines], Lines]
) -> None:
    """Somebody who links the lines anew, or removes all links, gains nothing by these."""
    whole = read_journal(finished)
    for tamper in (
        fewer_questions,
        easier_question,
        verdict_without_answer,
        verdict_on_a_timeout,
        verdict_on_a_trial_nobody_planned,
    ):
        lines = list(whole)
        tamper(lines)
        write_journal(finished, relink(lines))
        with pytest.raises(DataError, match=f"{JOURNAL}, line "):
            RunFolder.open(finished.folder)


def test_single_bits_that_flip_are_noticed_or_change_nothing(finished: Story) -> None:
    """A flip in the last newline makes the last line a torn one: the run is unfinished then."""
    path = finished.folder / JOURNAL
    whole = path.read_bytes()
    before = summarise(RunFolder.open(finished.folder))
    chance = random.Random(23)
    for _ in range(FLIPS):
        place = chance.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        try:
            folder = RunFolder.open(finished.folder)
        except DataError:
            continue
        assert place == len(whole) - 1
        assert not folder.is_finished
        assert summarise(folder).overall.mean == before.overall.mean


def test_a_journal_of_an_earlier_version_goes_on_with_links(finished: Story) -> None:
    lines = read_journal(finished)
    strip(lines)
    write_journal(finished, lines)
    assert not RunFolder.open(finished.folder).is_chained

    with Journal(finished.folder / JOURNAL) as journal:
        journal.append(next(read_events(finished.folder / JOURNAL)).replace())
    after = read_journal(finished)

    assert after[:-1] == lines
    assert split_link(after[-1])[1]
