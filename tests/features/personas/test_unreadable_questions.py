"""A reply that asks nothing is sent back, and a window that got no other is missing."""

import json
from pathlib import Path

import pytest

from recall_bench.features.personas.pass_request import MODES, STANDARD
from recall_bench.systems.models.model import Prompt
from tests.features.personas.scripted_questions import Scripted, asked, usual, write_story

CHATTER = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]'
SECRET = {
    "question": "What sum did the lender put on the table on 5 March 2025?",
    "answer": "A loan of £3,500.",
    "secret": ["£3,500"],
    "difficulty": "medium",
    "evidence": [{"day": 3, "session": "bank", "quote": "offered a loan of £3,500 at noon"}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_story(tmp_path / "mill")


def sound(mode: str, prompt: Prompt) -> str:
    return usual(prompt) if mode == STANDARD else json.dumps({"questions": [SECRET]})


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_without_a_question_leaves_its_window_missing(folder: Path, mode: str) -> None:
    model = Scripted(lambda _: CHATTER)

    done = asked(folder, model, mode=mode)

    assert done.exit_code == 10
    assert (done.written, len(done.missing)) == (0, done.wanted)
    assert "nothing in its list is a question" in done.missing[0].reason
    assert len(model.asked) == 3 * done.wanted
    assert sum("nothing in its list is a question" in each.user for each in model.asked) == (
        2 * done.wanted
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_missing_window_is_asked_about_again(folder: Path, mode: str) -> None:
    first = asked(folder, Scripted(lambda _: CHATTER), mode=mode)

    second = asked(folder, Scripted(lambda prompt: sound(mode, prompt)), mode=mode)

    assert (second.exit_code, second.written, second.kept) == (0, first.wanted, 0)
    assert (folder / "qa-14d" / "questions.yaml").exists()


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_was_sent_back_may_be_mended(folder: Path, mode: str) -> None:
    def script(prompt: Prompt) -> str:
        return sound(mode, prompt) if "nothing in its list" in prompt.user else CHATTER

    assert asked(folder, Scripted(script), mode=mode).exit_code == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_window_with_nothing_to_ask_is_done_and_named(folder: Path, mode: str) -> None:
    silent = Scripted(lambda _: '{"questions": []}')

    done = asked(folder, silent, mode=mode, end=7)

    assert (done.exit_code, done.written) == (0, 1)
    _, note = done.notes
    assert note == (
        "the model found nothing to ask in window 1 (days 1–7); to ask again, run the same "
        "command with --overwrite --start 1 --end 7"
    )
    assert asked(folder, silent, mode=mode, end=7).kept == 1
    assert len(silent.asked) == 1


def test_asking_again_as_the_note_says_leaves_other_windows_alone(folder: Path) -> None:
    def script(prompt: Prompt) -> str:
        return usual(prompt) if "<<day 8," in prompt.user else '{"questions": []}'

    asked(folder, Scripted(script))
    before = (folder / "qa-14d" / "questions.yaml").read_bytes()
    model = Scripted()

    done = asked(folder, model, overwrite=True, start=1, end=7)

    assert (done.exit_code, done.wanted, done.written) == (0, 1, 1)
    assert len(model.asked) == 1
    assert (folder / "qa-14d" / "questions.yaml").read_bytes().startswith(before)


def test_every_silent_window_is_named(folder: Path) -> None:
    silent = Scripted(lambda _: "[]")

    note = asked(folder, silent, days=14).notes[1]

    assert note.startswith(
        "the model found nothing to ask in window 1 (days 1–7), window 2 (days 8–14); "
    )
    assert note.endswith("--start 1 --end 7 in the place of --days, and so on for each")
