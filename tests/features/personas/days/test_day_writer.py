"""However a run ends, its days are whole, and the same request goes on to the same folder."""

import re
import shutil
from itertools import product
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed, ModelGone, Problems, UsageError
from recall_bench.features.personas.days.day_writer import generate_days
from recall_bench.features.personas.pass_request import DaysRequest
from recall_bench.features.personas.pass_run import PassResult
from recall_bench.stories.lint.history_checks import CORRECTION_LINTS as CORRECTIONS
from recall_bench.stories.lint.history_checks import HISTORY_LINTS as HISTORY
from recall_bench.stories.lint.lint_corpus import read_corpus
from recall_bench.stories.persona import inspect_persona
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.persona_story import read_persona
from recall_bench.systems.models.model import Prompt, Reply
from tests.commands import Invoke
from tests.features.personas.scripted_days import ARCS, PERSONA, STORY, Fault, Scripted, nursery
from tests.thoroughness import choose_cases

DATED = re.compile(r"for \w+day, (\d+ \w+) \d+\.")
TWELFTH = "13 February"
"""The date of day 12."""


def write(folder: Path, model: Scripted | None = None, **flags: object) -> PassResult:
    given = {
        "model": "command:x",
        "resume_command": "recall-bench generate --persona nursery",
        **flags,
    }
    request = DaysRequest(persona=folder, **given)  # type: ignore[arg-type]
    return generate_days(request, model=model or Scripted())


def days(folder: Path) -> dict[str, bytes]:
    """Every file of the days, whatever it is."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("memories-66d/*"))}


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is lost here."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder after one undisturbed run, one call at a time; not to be touched."""
    folder = nursery(tmp_path_factory.mktemp("whole"))
    write(folder, parallelism=1)
    return folder


@pytest.fixture(scope="module")
def whole(undisturbed: Path) -> dict[str, bytes]:
    """The days in it."""
    return days(undisturbed)


@pytest.fixture
def finished(undisturbed: Path, tmp_path: Path) -> Path:
    """The same folder, to do with as one likes."""
    return Path(shutil.copytree(undisturbed, tmp_path / "finished" / undisturbed.name))


def fails_on(date: str, how: str = "fails", session: str = "") -> Fault:
    """A fault on every call for one day."""

    def fault(prompt: Prompt, _: int) -> str | None:
        dated = DATED.search(prompt.user)
        is_meant = dated is not None and dated[1] == date
        return how if is_meant and f">>\n{session}" in prompt.user else None

    return fault


def test_a_day_is_a_file_with_a_heading_for_each_session(whole: dict[str, bytes]) -> None:
    text = whole["day-0012.md"].decode()

    assert text.startswith("---\ntype: daily\n---\n\n# session: principal\n\n### ")
    assert re.findall(r"^# .*$", text, re.MULTILINE) == [
        "# session: principal",
        "# session: crew",
        "# session: lender",
    ]
    assert "The Halvorsen bid is accepted at $4,200" in text
    assert text.endswith(".\n")


def test_what_is_written_stands_up_to_the_loader_and_the_lints(finished: Path) -> None:
    (finished / "qa-66d").mkdir()
    (finished / "qa-66d" / "questions.yaml").write_text(QUESTION, encoding="utf-8")

    assert not inspect_persona(finished, arcs=ARCS).problems
    corpus = read_corpus(finished, ARCS)
    remarks = [each for lint in (*CORRECTIONS, *HISTORY) for each in lint.check(corpus)]
    assert not remarks


QUESTION = """\
- id: nursery-q001
  question: At which price was the Halvorsen bid accepted?
  answer: $4,200
  category: factual-recall
  difficulty: easy
  relevant_days: [12]
"""


@pytest.mark.parametrize("parallelism", choose_cases([2, 8, 32], 2))
def test_the_folder_is_the_same_however_many_are_written_at_once(
    parallelism: int, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    folder, model = nursery(tmp_path), Scripted(delay_s=0.01)
    write(folder, model, parallelism=parallelism)

    assert days(folder) == whole
    assert 1 < model.most_under_way <= parallelism


class PowerCut(BaseException):
    """Not an Exception: nothing may catch it."""


@pytest.mark.parametrize(
    ("calls", "parallelism"), choose_cases([*product((0, 1, 7, 20, 49), (1, 8))], 4)
)
def test_nor_does_it_matter_when_a_run_was_cut_short(
    calls: int, parallelism: int, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    folder = nursery(tmp_path)

    def cut(_: Prompt, number: int) -> str | None:
        if number > calls:
            raise PowerCut
        return None

    with pytest.raises(PowerCut):
        write(folder, Scripted(cut), parallelism=parallelism)
    again = Scripted()
    write(folder, again, parallelism=parallelism)

    assert days(folder) == whole
    assert len(again.asked) + calls == CALLS


CALLS = 50
"""What the whole story takes."""


def test_what_is_there_is_skipped_before_any_call(finished: Path) -> None:
    model = Scripted()
    found = write(finished, model)

    assert model.asked == []
    assert (found.written, found.kept, found.wanted) == (0, 37, 37)
    assert found.exit_code == 0


def test_nothing_is_asked_twice_when_a_day_is_lost(finished: Path, whole: dict[str, bytes]) -> None:
    model = Scripted()
    (finished / "memories-66d" / "day-0012.md").unlink()
    found = write(finished, model)

    assert model.asked == []
    assert found.written == 1
    assert days(finished) == whole


def test_parts_make_the_same_whole(tmp_path: Path, whole: dict[str, bytes]) -> None:
    folder = nursery(tmp_path)
    write(folder, days=9)
    assert set(days(folder)) == {f"day-{day:04}.md" for day in (1, 2, 3, 4, 5, 8, 9)}
    write(folder, start=10, end=30)
    write(folder, start=31)

    assert days(folder) == whole


def test_only_the_days_asked_for_are_counted(tmp_path: Path) -> None:
    lines: list[str] = []
    request = DaysRequest(
        persona=nursery(tmp_path), model="command:x", start=8, end=12, parallelism=1
    )
    found = generate_days(request, lines.append, Scripted())

    assert found.wanted == found.written == 5
    assert "Generated day 12/12 (5 unique)" in lines


def test_days_beyond_the_story_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="day 70 lies beyond the story's last day, 66"):
        write(nursery(tmp_path), start=70)


def test_progress_counts_distinct_days_on_disk(tmp_path: Path) -> None:
    folder, lines = nursery(tmp_path), list[str]()
    write(folder, days=9)
    request = DaysRequest(persona=folder, model="command:x", parallelism=1)
    generate_days(request, lines.append, Scripted())

    assert lines[0].startswith("[generator] covenant: its events of day 9 fall on days when")
    assert lines[1].startswith("about 42 calls,")
    assert lines[2] == "Generated day 10/66 (8 unique)"
    assert lines[-1] == "Generated day 66/66 (37 unique)"


@pytest.mark.parametrize("how", ["fails", "cut", "prose", "other session", "On day 12 all is $1."])
def test_a_day_that_cannot_be_had_is_named_and_the_run_goes_on(how: str, tmp_path: Path) -> None:
    folder, lines = nursery(tmp_path), list[str]()
    request = DaysRequest(
        persona=folder, model="command:x", resume_command="recall-bench generate --x"
    )
    found = generate_days(request, lines.append, Scripted(fails_on(TWELFTH, how, "crew")))

    (line,) = [line for line in lines if "skipped" in line]
    assert line.startswith("[generator] arc=frost,north-pump day=12 skipped: session crew: ")
    assert "day-0012.md" not in days(folder)
    assert len(days(folder)) == 36
    assert [missing.day for missing in found.missing] == [12]
    assert found.exit_code == 10
    assert "missing: day 12" in found.in_words
    assert "to fill them: recall-bench generate --x" in found.in_words


def test_the_sessions_that_were_had_are_not_paid_for_again(tmp_path: Path) -> None:
    folder, again = nursery(tmp_path), Scripted()
    write(folder, Scripted(fails_on(TWELFTH, "prose", "crew")))
    found = write(folder, again)

    assert len(again.asked) == 1
    assert "An earlier reply was rejected" in again.asked[0].user
    assert (found.written, found.kept, found.missing) == (1, 36, ())


def test_a_fault_now_and_then_is_mended_within_the_run(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    faults = ("fails", "cut", "prose", "other session")
    folder = nursery(tmp_path)
    model = Scripted(lambda _, number: faults[number % 4] if number % 3 == 0 else None)
    found = write(folder, model, parallelism=1)

    assert not found.missing
    assert days(folder) == whole


def test_an_early_secret_is_sent_back_and_never_written(tmp_path: Path) -> None:
    secret = "The last frost in our valley is expected on April 19."
    folder = nursery(tmp_path)

    def leaks(prompt: Prompt, _: int) -> str | None:
        is_early = "takes this for a fact" in prompt.user and "was rejected" not in prompt.user
        return secret if is_early else None

    model = Scripted(leaks)
    found = write(folder, model)

    assert not found.missing
    early = {name: text for name, text in days(folder).items() if name < "day-0022.md"}
    assert not [name for name, text in early.items() if b"April 19" in text]
    sent_back = [prompt for prompt in model.asked if "was rejected" in prompt.user]
    assert sent_back
    assert all("it says April 19, which nobody here has heard" in each.user for each in sent_back)


class Gone(Scripted):
    """Has no key."""

    async def complete(self, prompt: Prompt) -> Reply:
        if len(self.asked) >= 5:
            raise ModelGone("scripted: the key is wrong")
        return await super().complete(prompt)


def test_a_model_that_is_gone_stops_the_run_and_the_same_request_goes_on(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    folder = nursery(tmp_path)
    found = write(folder, Gone())

    assert found.stopped is not None
    assert found.exit_code == ModelGone.exit_code
    assert 0 < len(days(folder)) < 37
    write(folder)
    assert days(folder) == whole


class Louder(Scripted):
    """Writes another entry than the plain one."""

    async def complete(self, prompt: Prompt) -> Reply:
        reply = await super().complete(prompt)
        return Reply(text=f"{reply.text}\nNobody minded.", usage=reply.usage, finish=reply.finish)


def test_overwriting_asks_anew_and_goes_on_when_it_was_cut_short(
    finished: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "one" / finished.name))
    write(finished, Louder(), overwrite=True)

    class Cut(Louder):
        async def complete(self, prompt: Prompt) -> Reply:
            if len(self.asked) >= 20:
                raise PowerCut
            return await super().complete(prompt)

    with pytest.raises(PowerCut):
        write(folder, Cut(), overwrite=True)
    assert len(days(folder)) == 37
    rest = Louder()
    found = write(folder, rest, overwrite=True)

    assert days(folder) == days(finished)
    assert all(b"Nobody minded." in text for text in days(folder).values())
    assert len(rest.asked) == CALLS - 20
    assert found.written + found.kept == 37
    once_more = Louder()
    write(folder, once_more, overwrite=True)
    assert len(once_more.asked) == CALLS


def test_a_round_of_overwriting_that_only_lacked_its_end_is_ended(finished: Path) -> None:
    write(finished, overwrite=True)
    log = finished / ".generation" / "days-66d.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    assert '"overwritten"' in lines[-1]
    log.write_text("".join(lines[:-1]), encoding="utf-8")

    ending, anew = Scripted(), Scripted()
    assert write(finished, ending, overwrite=True).kept == 37
    write(finished, anew, overwrite=True)

    assert (len(ending.asked), len(anew.asked)) == (0, CALLS)


def test_days_written_by_others_are_looked_back_on(tmp_path: Path) -> None:
    folder, model = nursery(tmp_path), Scripted()
    (folder / "memories-66d").mkdir()
    mine = "---\ntype: daily\n---\n\n# session: crew\n\n### The heron\nA heron stood on the tank.\n"
    (folder / "memories-66d" / "day-0001.md").write_text(mine, encoding="utf-8")
    write(folder, model, lag=2)

    assert days(folder)["day-0001.md"] == mine.encode()
    third = next(prompt for prompt in model.asked if "4 February 2026. It" in prompt.user)
    assert "A heron stood on the tank." in third.user


def test_a_day_looks_back_no_nearer_than_its_lag(tmp_path: Path) -> None:
    folder, model = nursery(tmp_path), Scripted()
    write(folder, model, lag=3, history_window=1, parallelism=1)

    crew = [prompt for prompt in model.asked if ">>\ncrew:" in prompt.user]
    eighth = next(prompt for prompt in crew if "5 February 2026. It" in prompt.user)
    assert re.findall(r"<<earlier entry \d \w+>>\n(.*)\n", eighth.user) == [
        "Monday, 2 February 2026"
    ]
    assert "- Tuesday, 3 February 2026: small steps only" in eighth.user
    assert "- Wednesday, 4 February 2026: small steps only" in eighth.user


def test_older_entries_are_remembered_by_their_headings(tmp_path: Path) -> None:
    folder, model = nursery(tmp_path), Scripted()
    (folder / "memories-66d").mkdir()
    for day in (1, 2, 3):
        text = f"# session: crew\n\n### The north pump, part {'abc'[day - 1]}\nIt drips.\n"
        (folder / "memories-66d" / f"day-{day:04}.md").write_text(text, encoding="utf-8")
    write(folder, model, lag=1, history_window=1)

    fourth = next(prompt for prompt in model.asked if "5 February 2026. It" in prompt.user)
    assert "What the log has on it:\n- Monday, 2 February 2026: The north pump, part a\n" in (
        fourth.user
    )
    assert "It drips." in fourth.user
    assert "part c" in fourth.user


def test_a_long_entry_is_shown_in_part(tmp_path: Path) -> None:
    folder, model = nursery(tmp_path), Scripted()
    (folder / "memories-66d").mkdir()
    text = "# session: crew\n\n### Much\n" + "One more line of it.\n" * 500
    (folder / "memories-66d" / "day-0001.md").write_text(text, encoding="utf-8")
    write(folder, model, lag=1, days=2)

    assert "[…]" in model.asked[-1].user
    assert len(model.asked[-1].user) < 6000


def test_a_quiet_period_stays_quiet(whole: dict[str, bytes]) -> None:
    assert not [name for name in whole if "day-0045.md" < name < "day-0060.md"]


def test_a_broken_day_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    folder, model = nursery(tmp_path), Scripted()
    (folder / "memories-66d").mkdir()
    (folder / "memories-66d" / "day-0004.md").write_text("", encoding="utf-8")
    (folder / "memories-66d" / "day-7.md").write_text("x", encoding="utf-8")

    with pytest.raises(Problems, match=r"day-0004\.md: is empty") as found:
        write(folder, model)

    assert len(found.value.problems) == 2
    assert model.asked == []


def test_a_disk_that_fails_leaves_no_half_of_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: dict[str, bytes]
) -> None:
    folder = nursery(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        stopped = write(folder).stopped
    assert stopped is not None
    assert "no space left on the disk" in stopped.reason
    assert days(folder) == {}
    write(folder)

    assert days(folder) == whole


def test_a_broken_story_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    folder = nursery(
        tmp_path, story=STORY.replace("primarySession: principal", "primarySession: x")
    )
    with pytest.raises(Problems, match="frost: its primarySession is x"):
        write(folder)
    (folder / ARCS).write_text("arcs: 1", encoding="utf-8")
    with pytest.raises(Malformed):
        write(folder)


def test_a_story_without_gaps_has_a_file_for_every_day(tmp_path: Path) -> None:
    folder = nursery(tmp_path, story=STORY.replace("gaps: true\n", ""))
    write(folder, days=20)

    assert len(days(folder)) == 20


def test_a_persona_needs_neither_sessions_nor_cast(tmp_path: Path) -> None:
    bare = PERSONA[: PERSONA.index("principal:")]
    story = re.sub(r"(?m)^sessions.*\n|^    (?:primary|referenced)Session.*\n", "", STORY)
    folder = nursery(tmp_path, persona=bare, story=story)
    write(folder, days=12)

    assert read_persona(folder).sessions == ()
    assert b"# session: principal" in days(folder)["day-0012.md"]


@pytest.mark.parametrize(
    ("flags", "problem"),
    [({"lag": 0}, "--lag: 0"), ({"history_window": -1}, "--history-window: -1")],
)
def test_impossible_numbers_are_refused(
    flags: dict[str, int], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=problem):
        DaysRequest(persona=tmp_path, **flags)  # type: ignore[arg-type]


def test_the_command_writes_with_a_python_file_and_says_what_it_did(
    tmp_path: Path, invoke: Invoke
) -> None:
    folder = nursery(tmp_path)
    (tmp_path / "writer.py").write_text(WRITER, encoding="utf-8")
    model = str(tmp_path / "writer.py")

    words = ("--persona", str(folder), "--model", model, "--days", "4", "--parallelism", "1")
    shown = invoke("generate", *words)

    assert "Generated day 4/4 (4 unique)" in shown.err
    assert shown.out.startswith(f"4 of 4 days are in {Layout(folder, ARCS).memories}")
    assert shown.code == 0


WRITER = """\
from tests.features.personas.scripted_days import entry_for
from recall_bench.systems.models.model import Prompt

def complete(system, user):
    return entry_for(Prompt(system=system, user=user))
"""


def test_the_command_wants_a_persona(invoke: Invoke) -> None:
    shown = invoke("generate", "--model", "command:x")

    assert shown.code == 2
    assert "--persona is missing" in shown.err


@pytest.mark.parametrize(
    ("flags", "writer"),
    [
        ({}, "ledger_days.write_offline_days"),
        ({"from_ledger": True}, "ledger_days.write_offline_days"),
        ({"from_ledger": True, "model": "command:x"}, "ledger_days.write_from_ledger"),
    ],
)
def test_the_world_writes_where_it_is_asked_to(
    flags: dict[str, object], writer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[DaysRequest] = []
    monkeypatch.setattr(
        f"recall_bench.features.personas.days.{writer}", lambda request, *_: asked.append(request)
    )
    request = DaysRequest(persona=tmp_path, **flags)  # type: ignore[arg-type]
    generate_days(request)

    assert asked == [request]
