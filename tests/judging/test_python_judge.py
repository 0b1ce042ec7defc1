"""Anybody's Python can judge: what it returns is a verdict or a fault, what it raises is one."""

import threading
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from recall_bench.core.errors import JudgeBusy, JudgeFault, UnreadableVerdict, UsageError
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.judging.python_judge import PythonJudge, load_judge
from tests.judging.harbour import exhibit, harbour, item
from tests.loops import loop_over_rows

SHOWN = exhibit(item("What?", "$465"), "$465")
MARKS = {"correctness": 3, "completeness": 2, "grounded": 1}
FULL = Verdict.of(3, 2, 1)


def written(folder: Path, code: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(dedent(code), encoding="utf-8")
    return str(path)


def returning(value: object) -> PythonJudge:
    return PythonJudge(lambda _: value, JudgeCard(name="test", version="1"))


def raising(error: BaseException) -> PythonJudge:
    def judge(_: object) -> object:
        raise error

    return PythonJudge(judge, JudgeCard(name="test", version="1"))


FUNCTION = """
    def judge(exhibit):
        right = exhibit.answer.text == exhibit.item.truth.reference
        return {"correctness": 3 * right + 0, "completeness": 2, "grounded": 1, "reason": "seen"}
"""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "name"),
    [
        pytest.param(FUNCTION, "", id="a function"),
        pytest.param(FUNCTION.replace("def judge", "async def judge"), "", id="an async function"),
        pytest.param(FUNCTION.replace("def judge", "def mine"), ":mine", id="a named function"),
        pytest.param(
            """
            class Judge:
                def judge(self, exhibit):
                    return {"correctness": 3, "completeness": 2, "hallucination": 1,
                            "reasoning": "seen"}
            """,
            "",
            id="a class called Judge",
        ),
        pytest.param(
            """
            class Mine:
                def __init__(self, config):
                    self.reason = config.get("reason", "seen")

                async def judge(self, exhibit):
                    return {"correctness": 3, "completeness": 2, "grounded": 1,
                            "reason": self.reason}
            """,
            ":Mine",
            id="a class that takes the settings",
        ),
        pytest.param(
            """
            from recall_bench.core.verdict import Verdict

            def make(config):
                return lambda exhibit: Verdict.of(3, 2, 1, "seen")
            """,
            ":make",
            id="a factory of a function",
        ),
        pytest.param(
            """
            class Mine:
                def judge(self, exhibit):
                    return {"correctness": 3, "completeness": 2, "grounded": 1, "reason": "seen"}

            ready = Mine()
            """,
            ":ready",
            id="an object",
        ),
        pytest.param(
            """
            class Mine:
                async def __call__(self, exhibit):
                    return {"correctness": 3, "completeness": 2, "grounded": 1, "reason": "seen"}

            ready = Mine()
            """,
            ":ready",
            id="an async callable",
        ),
    ],
)
async def test_every_form_of_judge_can_be_loaded(tmp_path: Path, code: str, name: str) -> None:
    judge = load_judge(written(tmp_path, code) + name, {})

    judge.study(harbour())

    assert await judge.judge(SHOWN) == Verdict.of(3, 2, 1, "seen")


@pytest.mark.anyio
async def test_an_importable_name_can_be_loaded() -> None:
    judge = load_judge("tests.faulty.fakes:ExactJudge", {})

    assert await judge.judge(SHOWN) == Verdict.of(3, 2, 1, "exact match")
    assert judge.card == JudgeCard(name="exact", version="1")


@pytest.mark.anyio
async def test_a_judge_may_import_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path, "WORDS = 'from next door'", "next_door_of_my_judge.py")
    code = """
        from next_door_of_my_judge import WORDS

        def judge(exhibit):
            return {"correctness": 0, "completeness": 0, "grounded": 1, "reason": WORDS}
    """

    judge = load_judge(written(tmp_path, code), {})

    assert (await judge.judge(SHOWN)).reason == "from next door"


@pytest.mark.anyio
async def test_the_settings_reach_a_class(tmp_path: Path) -> None:
    code = """
        class Judge:
            def __init__(self, config):
                self.points = config["points"]

            def judge(self, exhibit):
                return {"correctness": self.points, "completeness": 0, "grounded": 1}
    """

    judge = load_judge(written(tmp_path, code), {"points": 2})

    assert await judge.judge(SHOWN) == Verdict.of(2, 0, 1)


def test_settings_that_no_one_takes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'points' has no effect"):
        load_judge(written(tmp_path, FUNCTION), {"points": 2})
    with pytest.raises(UsageError, match="'points' has no effect"):
        load_judge(written(tmp_path, "class Judge:\n  def judge(self, e): ...\n"), {"points": 2})


def test_the_judge_may_study(tmp_path: Path) -> None:
    code = """
        class Judge:
            studied = []

            def study(self, scenario):
                self.studied.append(scenario.id)
                raise OSError("no disk")

            def judge(self, exhibit): ...
    """
    judge = load_judge(written(tmp_path, code), {})

    with pytest.raises(JudgeFault, match="failed to study harbour: OSError: no disk"):
        judge.study(harbour())


def test_the_card_names_the_target_and_digests_its_source(tmp_path: Path) -> None:
    target = written(tmp_path, FUNCTION)
    before = load_judge(target, {}).card
    again = load_judge(target, {}).card
    written(tmp_path, FUNCTION.replace("seen", "seen anew"))
    after = load_judge(target, {}).card

    assert before.name == target
    assert before == again
    assert before.version != after.version


def test_the_settings_are_part_of_the_version(tmp_path: Path) -> None:
    code = "class Judge:\n    def __init__(self, config): ...\n    def judge(self, exhibit): ...\n"
    target = written(tmp_path, code)

    assert load_judge(target, {"a": 1}).card != load_judge(target, {"a": 2}).card


def test_two_judges_from_one_file_share_no_globals(tmp_path: Path) -> None:
    target = written(tmp_path, "seen = []\ndef judge(exhibit): ...\ndef study(scenario): ...\n")

    first, second = load_judge(target, {}), load_judge(target, {})

    assert isinstance(first, PythonJudge)
    assert isinstance(second, PythonJudge)
    assert first._function is not second._function


@pytest.mark.parametrize(
    ("code", "name", "problem"),
    [
        pytest.param("x = 1", "", "has no 'judge'", id="no judge in the file"),
        pytest.param(FUNCTION, ":other", "has no 'other'", id="no such name"),
        pytest.param("def judge(:", "", "SyntaxError", id="a syntax error"),
        pytest.param("import surely_not_installed", "", "ModuleNotFoundError", id="an import"),
        pytest.param("1 / 0", "", "ZeroDivisionError", id="a crash on import"),
        pytest.param("raise SystemExit(3)", "", "SystemExit", id="an exit on import"),
        pytest.param("judge = 7", "", "is int, neither a function", id="not callable"),
        pytest.param("class Judge: ...", "", "neither a function nor", id="no judge method"),
        pytest.param(
            "class Judge:\n    def __init__(self): raise OSError('no key')",
            "",
            "cannot be built: OSError: no key",
            id="a crash in the constructor",
        ),
        pytest.param(
            "class Judge:\n    card = 'me'\n    def judge(self, exhibit): ...",
            "",
            "its card is str, not a JudgeCard",
            id="a card that is none",
        ),
        pytest.param(
            "class Judge:\n    def judge(self, exhibit): ...\n    async def study(self, s): ...",
            "",
            "study must not be async",
            id="an async study",
        ),
    ],
)
def test_what_cannot_be_loaded_is_a_usage_error_in_one_sentence(
    tmp_path: Path, code: str, name: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        load_judge(written(tmp_path, code) + name, {})

    assert str(caught.value).startswith("judge ")
    assert "\n" not in str(caught.value)


@loop_over_rows(
    ("target", "problem"),
    [
        ("nowhere/judge.py", "there is no file nowhere/judge.py"),
        ("nowhere/judge.py:mine", "there is no file nowhere/judge.py"),
        ("surely.not.installed:judge", "there is no module 'surely.not.installed'"),
        ("recall_bench.testing:Nobody", "has no 'Nobody'"),
        ("offline", "neither file.py, file.py:name nor package.module:name"),
        ("a:b:", "neither file.py"),
        ("", "neither file.py"),
    ],
)
def test_a_target_that_leads_nowhere_is_a_usage_error(target: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        load_judge(target, {})


@pytest.mark.anyio
@pytest.mark.parametrize(
    "returned",
    [
        FULL,
        MARKS,
        {"correctness": 3, "completeness": 2, "hallucination": 1},
        {"correctness": 3.0, "completeness": 2.0, "grounded": 1.0},
        {**MARKS, "reason": None},
        {**MARKS, "reasoning": ""},
    ],
)
async def test_a_verdict_or_exactly_its_marks_can_be_read(returned: object) -> None:
    assert await returning(returned).judge(SHOWN) == FULL


@pytest.mark.anyio
@pytest.mark.parametrize(
    "returned",
    [
        pytest.param(None, id="nothing"),
        pytest.param('{"correctness": 3, "completeness": 2, "grounded": 1}', id="a JSON string"),
        pytest.param((3, 2, 1), id="a tuple"),
        pytest.param(3, id="a number"),
        pytest.param({}, id="an empty mapping"),
        pytest.param({"correctness": 3, "completeness": 2}, id="a mark missing"),
        pytest.param({**MARKS, "hallucination": 1}, id="the third mark twice"),
        pytest.param({**MARKS, "score": 6}, id="a mark too many"),
        pytest.param({**MARKS, "correctness": float("nan")}, id="not a number"),
        pytest.param({**MARKS, "correctness": float("inf")}, id="infinity"),
        pytest.param({**MARKS, "correctness": "3"}, id="a number in quotes"),
        pytest.param({**MARKS, "correctness": True}, id="a truth value"),
        pytest.param({**MARKS, "correctness": 2.5}, id="a half"),
        pytest.param({**MARKS, "correctness": Decimal(3)}, id="a decimal"),
        pytest.param({**MARKS, "correctness": 300}, id="above the scale"),
        pytest.param({**MARKS, "completeness": -20}, id="below the scale"),
        pytest.param({**MARKS, "grounded": 7}, id="off the third scale"),
        pytest.param({**MARKS, "reason": 7}, id="a reason that is no text"),
        pytest.param({**MARKS, "reason": "a", "reasoning": "b"}, id="two reasons"),
        pytest.param({3: 3}, id="keys that are no names"),
    ],
)
async def test_anything_else_is_unreadable_and_shown(returned: object) -> None:
    with pytest.raises(UnreadableVerdict) as caught:
        await returning(returned).judge(SHOWN)

    assert len(str(caught.value)) > 20


@pytest.mark.anyio
async def test_what_the_judge_raises_is_a_fault_that_keeps_its_cause() -> None:
    cause = KeyError("reference")

    with pytest.raises(JudgeFault, match="judge test failed: KeyError: 'reference'") as caught:
        await raising(cause).judge(SHOWN)

    assert caught.value.__cause__ is cause
    assert not isinstance(caught.value, JudgeBusy)


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ConnectionRefusedError(), TimeoutError("slow")])
async def test_what_it_could_not_reach_may_be_tried_again(error: Exception) -> None:
    with pytest.raises(JudgeBusy):
        await raising(error).judge(SHOWN)


@pytest.mark.anyio
async def test_a_fault_of_ours_passes_unchanged() -> None:
    busy = JudgeBusy("come back later")

    with pytest.raises(JudgeBusy) as caught:
        await raising(busy).judge(SHOWN)

    assert caught.value is busy


@pytest.mark.anyio
async def test_an_exit_does_not_end_the_run() -> None:
    with pytest.raises(JudgeFault, match="SystemExit"):
        await raising(SystemExit(1)).judge(SHOWN)


@pytest.mark.anyio
async def test_a_judge_that_hangs_can_be_left_behind() -> None:
    """A sync judge is in a thread of its own; cancelling does not wait for it."""
    release = threading.Event()

    def judge(_: object) -> Mapping[str, int]:
        release.wait()
        return MARKS

    hanging = PythonJudge(judge, JudgeCard(name="test", version="1"))

    try:
        with anyio.move_on_after(0.01) as scope:
            await hanging.judge(SHOWN)
    finally:
        release.set()

    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_a_plain_function_runs_beside_the_loop_and_an_async_one_in_it() -> None:
    threads: list[str] = []

    def plain(_: object) -> object:
        threads.append(threading.current_thread().name)
        return MARKS

    async def cooperative(_: object) -> object:
        threads.append(threading.current_thread().name)
        return MARKS

    card = JudgeCard(name="test", version="1")
    await PythonJudge(plain, card).judge(SHOWN)
    await PythonJudge(cooperative, card).judge(SHOWN)

    assert threads[0] != threading.current_thread().name
    assert threads[1] == threading.current_thread().name
