"""Killed at any moment and run again, the files are the same, and nothing was paid for twice."""

from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import anyio
import pytest

from recall_bench.core.append_log import AppendLog
from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.usage import Usage
from recall_bench.features.personas.checks.check_result import QuestionCheck
from recall_bench.features.personas.pass_request import QuestionsRequest
from recall_bench.features.personas.questions.question_pass import generate_questions
from recall_bench.systems.models.model import Prompt, Reply
from tests.features.personas.scripted_questions import (
    STRANGE,
    OneWord,
    Scripted,
    asked,
    files,
    repeating,
    usual,
    write_story,
)
from tests.thoroughness import choose_number

STRIDE = choose_number(3, 1)
"""Odd, so that some moments are before a change and some after one."""


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def kill(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Ends the work before or after its n-th change on disk."""
    append, commit = AppendLog.append_line, AtomicFile.commit

    def arm(steps: int) -> None:
        left = [steps]

        def step(change: Any, *args: Any) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise Killed
            change(*args)
            left[0] -= 1
            if left[0] == -1:
                raise Killed

        monkeypatch.setattr(AppendLog, "append_line", lambda *args: step(append, *args))
        monkeypatch.setattr(AtomicFile, "commit", lambda *args: step(commit, *args))

    return arm


@pytest.mark.parametrize("overwrite", [False, True])
def test_killed_at_any_moment_and_run_again_the_files_are_the_same(
    tmp_path: Path, kill: Callable[[int], None], *, overwrite: bool
) -> None:
    start = write_story(tmp_path / "start" / "mill")
    (start / "qa-14d").mkdir()
    (start / "qa-14d" / "questions.yaml").write_text(STRANGE, encoding="utf-8")
    if overwrite:
        asked(start)
    whole = Path(copytree(start, tmp_path / "whole" / "mill"))
    asked(whole, Scripted(repeating), overwrite=overwrite)
    deaths = 0
    for moment in range(0, 10**3, STRIDE):
        folder = Path(copytree(start, tmp_path / f"killed-{moment}" / "mill"))
        kill(moment)
        try:
            asked(folder, Scripted(repeating), overwrite=overwrite)
        except Killed:
            deaths += 1
        else:
            break
        if b"overwritten" in (folder / ".generation/questions-14d.windows.jsonl").read_bytes():
            break  # all was done, and the same command would be another round
        kill(10**6)
        asked(folder, Scripted(repeating), overwrite=overwrite)
        assert files(folder) == files(whole), moment

    assert deaths > 15 / STRIDE


class AtOnce(Scripted):
    """Replies to two windows in the same moment."""

    def __init__(self) -> None:
        super().__init__()
        self._both = anyio.Event()

    async def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        if len(self.asked) == 2:
            self._both.set()
        await self._both.wait()
        return Reply(text=usual(prompt), usage=Usage(calls=1))


class Breaking(OneWord):
    """Breaks at the first question it is shown, and at no other."""

    def __init__(self) -> None:
        super().__init__()
        self.is_broken = False

    def check(self, entry: Mapping[str, object]) -> QuestionCheck:
        if not self.is_broken:
            self.is_broken = True
            raise RuntimeError("no room")
        return super().check(entry)


def test_no_window_is_decided_after_one_that_could_not_be(tmp_path: Path) -> None:
    """Both replies are there when the first breaks: the second must not take its place."""
    folder = write_story(tmp_path / "mill")
    request = QuestionsRequest(persona=folder, model="scripted")

    with pytest.raises(RuntimeError, match="no room"):
        generate_questions(request, model=AtOnce(), make_checker=lambda *_: Breaking())

    assert not (folder / "qa-14d").exists()


def test_nothing_is_paid_twice(tmp_path: Path, kill: Callable[[int], None]) -> None:
    folder = write_story(tmp_path / "mill")
    first = Scripted()
    kill(9)
    with pytest.raises(Killed):
        asked(folder, first, parallelism=1)
    kill(10**6)
    second = Scripted()

    asked(folder, second, parallelism=1)

    assert len(first.asked) + len(second.asked) == 2
