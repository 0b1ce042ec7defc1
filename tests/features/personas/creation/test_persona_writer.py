"""create-persona: two files, each whole and sound or not there, and nothing paid for twice."""

import json
import os
import signal
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.append_log import AppendLog
from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import FolderBusy, Malformed, ModelGone, UsageError
from recall_bench.features.personas.call_log import CallLog, log_path
from recall_bench.features.personas.creation.persona_writer import MAX_ROUNDS, create_persona
from recall_bench.features.personas.creation.story_rules import check_persona, check_story
from recall_bench.features.personas.pass_request import CreateRequest, make_slug
from recall_bench.features.personas.pass_run import PassResult
from recall_bench.stories.persona_story import read_persona, read_story
from recall_bench.systems.models.model import Finish, Model, Prompt, Reply
from tests.commands import Invoke
from tests.features.personas import made_personas
from tests.features.personas.made_personas import Scripted, said
from tests.loops import loop_over_rows
from tests.thoroughness import choose_number

DAYS = 30
PERSONA, STORY = made_personas.PERSONA, made_personas.story(DAYS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "boats"


def create(
    folder: Path, author: Model, told: Callable[[str], None] = lambda _: None, **changes: Any
) -> PassResult:
    usual: dict[str, Any] = {
        "prompt": "An aide in a boatyard",
        "days": DAYS,
        "resume_command": "again",
    }
    return create_persona(CreateRequest(persona=folder, **usual | changes), told, author)


def files(folder: Path) -> dict[str, bytes]:
    """What there is to see, without the log of calls."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in {".jsonl", ".lock"}
    }


def log(folder: Path) -> list[dict[str, Any]]:
    lines = log_path(folder, "create-persona", "").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_persona_and_its_story_are_made_of_a_description(folder: Path) -> None:
    model = Scripted(PERSONA, STORY)

    made = create(folder, model, epoch=date(2026, 3, 2))

    assert (made.exit_code, made.written, made.kept, made.wanted) == (0, 2, 0, 2)
    persona, story = read_persona(folder), read_story(folder, "arcs-30d.yaml")
    assert check_persona(persona) == ()
    assert check_story(persona, story, DAYS) == ()
    assert (persona.id, story.epoch, story.has_gaps) == ("boats", date(2026, 3, 2), True)
    assert made.spent.calls == 2


def test_it_says_what_was_made_and_what_to_type_next(folder: Path) -> None:
    lines: list[str] = []

    made = create(folder, Scripted(PERSONA, STORY), lines.append, model="openai:small")

    assert lines[0].startswith("about 2 calls")
    assert lines[1:] == ["Wrote persona.yaml", "Wrote arcs-30d.yaml"]
    assert "Tallow, AI aide to the owner of a boatyard: 4 people in the cast" in made.in_words
    assert (
        "arcs-30d.yaml: 7 arcs over 30 days from 2024-01-01: 2 project, 1 incident, 1 decision, "
        "1 learning, 1 relationship, 1 correction" in made.in_words
    )
    assert "3 sessions: principal, yard, bank-room (isolated)" in made.in_words
    assert f"next: recall-bench generate --persona {folder} --model openai:small" in made.in_words


def test_the_story_is_asked_for_with_the_persona_that_is_on_disk(folder: Path) -> None:
    model = Scripted(PERSONA, STORY)

    create(folder, model)

    assert (folder / "persona.yaml").read_text() in model.asked[1].user


def spoiled(**changes: Any) -> dict[str, Any]:
    raw = made_personas.story(DAYS)
    raw["arcs"][-1].update(changes)
    return raw


def test_a_reply_goes_back_with_just_what_is_wrong(folder: Path) -> None:
    lines: list[str] = []
    model = Scripted("Gladly!", PERSONA, spoiled(endDay=44), spoiled(title="At 7:25"), STORY)

    made = create(folder, model, lines.append)

    assert made.exit_code == 0
    mended = model.asked[3].user
    assert "endDay 44 lies beyond day 30, the last of the story" in mended
    assert mended.split("What is wrong with it:\n")[1].count("\n- ") == 0
    assert "gives away 7:25" in model.asked[4].user
    assert "lies beyond day 30" not in model.asked[4].user
    assert sum("sent back" in line for line in lines) == 3


def test_a_reply_that_was_cut_off_goes_back(folder: Path) -> None:
    cut = said(json.dumps(PERSONA)[:200], Finish.LENGTH)
    model = Scripted(cut, PERSONA, STORY)

    assert create(folder, model).exit_code == 0
    assert "cut off at the token limit" in model.asked[1].user


def test_after_the_last_round_nothing_half_made_is_left(folder: Path) -> None:
    unsound = [spoiled(endDay=40 + number) for number in range(MAX_ROUNDS)]

    made = create(folder, Scripted(PERSONA, *unsound))

    assert made.exit_code == 10
    assert [each.unit for each in made.missing] == ["arcs-30d.yaml"]
    assert f"endDay {39 + MAX_ROUNDS} lies beyond day 30" in made.missing[0].reason
    assert "to fill them: again" in made.in_words
    assert sorted(path.name for path in folder.iterdir()) == [".generation", "persona.yaml"]


def test_the_next_run_goes_on_with_the_mending(folder: Path) -> None:
    unsound = [spoiled(endDay=40 + number) for number in range(MAX_ROUNDS)]
    create(folder, Scripted(PERSONA, *unsound))
    model = Scripted(STORY)

    made = create(folder, model)

    assert (made.exit_code, made.written, made.kept) == (0, 1, 1)
    assert len(model.asked) == 1
    assert f"endDay {39 + MAX_ROUNDS} lies beyond" in model.asked[0].user
    assert made.spent.calls == 2 + MAX_ROUNDS


def test_without_a_persona_there_is_no_story(folder: Path) -> None:
    model = Scripted(*["No."] * 20)

    made = create(folder, model)

    assert len(model.asked) == MAX_ROUNDS
    assert [each.unit for each in made.missing] == ["persona.yaml", "arcs-30d.yaml"]
    assert not (folder / "persona.yaml").exists()


def test_what_is_there_is_not_asked_for_again(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    before = files(folder)
    model = Scripted()

    made = create(folder, model)

    assert (made.exit_code, made.written, made.kept, model.asked) == (0, 0, 2, [])
    assert "next: recall-bench generate" in made.in_words
    assert files(folder) == before


def test_another_length_keeps_the_persona_and_adds_a_story(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    model = Scripted(made_personas.story(10))

    made = create(folder, model, days=10)

    assert (made.written, made.kept, len(model.asked)) == (1, 1, 1)
    assert "--arcs arcs-10d.yaml --model" in made.in_words


def test_a_model_that_goes_leaves_the_persona(folder: Path) -> None:
    made = create(folder, Scripted(PERSONA, ModelGone("scripted: no such key")))

    assert made.stopped is not None
    assert made.exit_code == ModelGone.exit_code
    assert (folder / "persona.yaml").exists()
    assert create(folder, Scripted(STORY)).exit_code == 0


def test_no_more_is_spent_than_allowed(folder: Path) -> None:
    made = create(folder, Scripted(PERSONA, STORY), max_cost_usd=0.01)

    assert made.exit_code == 8
    assert create(folder, Scripted(STORY), max_cost_usd=1.0).exit_code == 0


def test_a_persona_from_another_description_is_rejected(folder: Path) -> None:
    folder.mkdir()
    (folder / "persona.yaml").write_text("name: Mine\n")
    model = Scripted(PERSONA, STORY)

    with pytest.raises(UsageError, match=r"boats/persona.yaml exists.*--arcs-only.*--overwrite"):
        create(folder, model)

    assert model.asked == []
    assert [path.name for path in folder.iterdir()] == ["persona.yaml"]


@pytest.mark.parametrize("change", ["another description", "an edit"])
def test_a_persona_made_otherwise_is_refused(folder: Path, change: str) -> None:
    create(folder, Scripted(PERSONA, STORY))
    if change == "an edit":
        path = folder / "persona.yaml"
        path.write_text(path.read_text().replace("Tallow", "Wick"))

    with pytest.raises(UsageError, match="was not made from this description"):
        create(
            folder, Scripted(), prompt="An aide in a boatyard" if change == "an edit" else "A zoo"
        )


def test_arcs_alone_for_a_persona_that_is_there(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    path = folder / "persona.yaml"
    path.write_text(path.read_text().replace("Tallow", "Wick"))
    model = Scripted(made_personas.story(180))

    made = create(folder, model, days=180, prompt="", arcs_only=True)

    assert (made.exit_code, made.wanted, made.written) == (0, 1, 1)
    assert 'name: "Wick"' in model.asked[0].user
    assert "Wick" in path.read_text()


def test_arcs_begin_when_the_persona_does(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY), epoch=date(2026, 3, 2))

    create(folder, Scripted(made_personas.story(10)), days=10, prompt="", arcs_only=True)

    assert read_story(folder, "arcs-10d.yaml").epoch == date(2026, 3, 2)


def test_overwriting_makes_everything_anew(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    (folder / "memories-30d").mkdir()
    model = Scripted({**PERSONA, "name": "Wick"}, STORY)

    made = create(folder, model, overwrite=True)

    assert (made.written, made.kept, len(model.asked)) == (2, 0, 2)
    assert read_persona(folder).name == "Wick"
    assert "memories-30d belong to what was there before" in made.in_words


def test_overwriting_goes_on_where_it_was_cut_short(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    create(folder, Scripted({**PERSONA, "name": "Wick"}, ModelGone("gone")), overwrite=True)
    model = Scripted(STORY)

    made = create(folder, model, overwrite=True)

    assert (made.exit_code, made.written, made.kept) == (0, 1, 1)
    assert read_persona(folder).name == "Wick"
    assert create(folder, Scripted({**PERSONA, "name": "Lamp"}, STORY), overwrite=True).written == 2


def test_overwriting_with_another_description_starts_over(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    create(folder, Scripted({**PERSONA, "name": "Wick"}, ModelGone("gone")), overwrite=True)
    model = Scripted({**PERSONA, "name": "Lamp"}, STORY)

    assert create(folder, model, overwrite=True, prompt="A lighthouse").written == 2
    assert read_persona(folder).name == "Lamp"


def test_a_story_of_the_persona_before_is_not_passed_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed just before its end, a round has written a story that a later persona is not in."""
    with monkeypatch.context() as patched:
        patched.setattr(CallLog, "end_round", lambda _: None)
        create(folder, Scripted(PERSONA, STORY), overwrite=True)
    lamp = Scripted({**PERSONA, "name": "Lamp"}, ModelGone("gone"))
    create(folder, lamp, overwrite=True, prompt="A lighthouse")
    model = Scripted(STORY)

    made = create(folder, model, overwrite=True, prompt="A lighthouse")

    assert (made.written, made.kept, len(model.asked)) == (1, 1, 1)
    assert 'name: "Lamp"' in model.asked[0].user


def test_overwriting_arcs_alone_leaves_the_persona(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    before = files(folder)
    retold = made_personas.story(DAYS)
    retold["arcs"][0]["title"] = "Otherwise"

    made = create(folder, Scripted(retold), overwrite=True, arcs_only=True)

    assert (made.written, made.wanted) == (1, 1)
    changed = {name for name, content in files(folder).items() if before[name] != content}
    assert changed == {"arcs-30d.yaml"}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no description": ({"prompt": " "}, "--prompt is missing"),
    "too long": ({"days": 10_000}, "--days: 10000 is too long"),
    "no days": ({"days": 0}, "--days: 0 is not a story day"),
    "the end of time": ({"epoch": date(9999, 12, 30)}, "--epoch: 30 days from 9999-12-30 on leave"),
    "no persona": ({"arcs_only": True}, "--arcs-only: boats/persona.yaml does not exist"),
    "days of a pass": ({"start": 3, "end": 4}, "a story is made whole"),
    "a trade of the world": ({"trade": "er-physician"}, "--trade is only for --model offline"),
    "a seed of the world": ({"seed": 0}, "--seed is only for --model offline"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_request_is_refused_before_any_call(folder: Path, fault: str) -> None:
    changes, words = REFUSED[fault]
    model = Scripted(PERSONA, STORY)

    with pytest.raises(UsageError, match=words):
        create(folder, model, **changes)

    assert model.asked == []
    assert not folder.exists()


@pytest.mark.parametrize("name", ["My Boats", "boats_", "böats", "-boats"])
def test_a_folder_must_have_a_name_that_can_be_an_id(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a persona's id; name a folder in lower-case"):
        create(tmp_path / name, Scripted())


@loop_over_rows(
    ("name", "id_"),
    [
        ("My Boats", "my-boats"),
        ("ünï", "uni"),
        ("Straße", "strasse"),
        ("Яна 1", "my-persona"),
        ("日本-a", "my-persona"),
        ("_", "my-persona"),
    ],
)
def test_the_name_that_is_proposed_reads_like_the_one_given(name: str, id_: str) -> None:
    assert make_slug(name) == id_


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "boats").write_text("")

    with pytest.raises(UsageError, match="is a file; name a folder"):
        create(tmp_path / "boats", Scripted())
    with pytest.raises(UsageError, match=r"is a file, so .* cannot be made in it"):
        create(tmp_path / "boats" / "inner", Scripted())


def test_arcs_without_their_persona_are_refused(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    (folder / "persona.yaml").unlink()

    with pytest.raises(UsageError, match=r"its persona\.yaml does not; --overwrite writes both"):
        create(folder, Scripted())


def test_arcs_that_begin_on_another_day_are_not_passed_off(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))

    with pytest.raises(UsageError, match="begins on 2024-01-01; --overwrite writes it again"):
        create(folder, Scripted(), epoch=date(2026, 3, 2))


def test_arcs_that_tell_of_other_rooms_are_not_passed_off(folder: Path) -> None:
    create(folder, Scripted(PERSONA, STORY))
    path = folder / "arcs-30d.yaml"
    text = path.read_text().replace('primarySession: "yard"', 'primarySession: "attic"')
    path.write_text(text)

    with pytest.raises(UsageError, match=r"uses session attic, which persona\.yaml does not"):
        create(folder, Scripted())


def test_a_persona_without_a_principal_session_is_rejected(folder: Path) -> None:
    folder.mkdir()
    raw = {key: part for key, part in PERSONA.items() if key != "sessions"}
    (folder / "persona.yaml").write_text(json.dumps({"id": "boats", **raw}))

    with pytest.raises(UsageError, match="has no session principal; add the agent's sessions"):
        create(folder, Scripted(), arcs_only=True)

    (folder / "persona.yaml").write_text("name: [")
    with pytest.raises(Malformed, match=r"persona\.yaml, line 1: is not YAML"):
        create(folder, Scripted(), arcs_only=True)


def test_only_one_run_at_a_time(folder: Path) -> None:
    with CallLog(log_path(folder, "create-persona", "")), pytest.raises(FolderBusy):
        create(folder, Scripted(PERSONA, STORY))


class Author:
    """A model whose reply follows from what it is asked: a bad one first, then a sound one."""

    name = "author"
    is_priced = True

    async def complete(self, prompt: Prompt) -> Reply:
        is_mending = "An earlier reply was rejected" in prompt.user
        if "Invent the AI agent" in prompt.user:
            return said(json.dumps(PERSONA) if is_mending else "Gladly!")
        return said(json.dumps(STORY if is_mending else spoiled(endDay=44)))

    async def close(self) -> None:
        return


TOUCHES = (
    (AppendLog, "append_line"),
    (AtomicFile, "__enter__"),
    (AtomicFile, "write"),
    (AtomicFile, "commit"),
)
"""Everything that touches the disk."""


def kill_at(moment: int) -> None:
    """Die just before the so many-th touch of the disk."""
    left = [moment]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def touch(*words: Any, **flags: Any) -> Any:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*words, **flags)

        return touch

    for owner, name in TOUCHES:
        setattr(owner, name, counted(getattr(owner, name)))


def in_child(folder: Path, moment: int, **changes: Any) -> bool:
    """Create in a fork that is killed at this moment; whether it came to its end before."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        kill_at(moment)
        create(folder, Author(), **changes)
    finally:
        os._exit(0)


ROUND_ENDED = [{"type": "overwritten"}]


@pytest.mark.parametrize("overwrite", [False, True])
def test_killed_at_any_moment_it_ends_in_the_same_folder(tmp_path: Path, overwrite: bool) -> None:
    """And every reply that was on record is paid for once."""
    whole = tmp_path / "whole" / "boats"
    create(whole, Author())
    earlier = 2 if overwrite else 0
    for moment in range(0, 100, choose_number(5, 3) if overwrite else choose_number(3, 1)):
        folder = tmp_path / str(moment) / "boats"
        if overwrite:
            create(folder, Scripted({**PERSONA, "name": "Wick"}, STORY), prompt="A lamp")
        if in_child(folder, moment, overwrite=overwrite) or log(folder)[-1:] == ROUND_ENDED:
            break

        made = create(folder, Author(), overwrite=overwrite)

        assert made.exit_code == 0
        assert files(folder) == files(whole), f"killed at moment {moment}"
        calls = [entry["key"] for entry in log(folder) if entry["type"] == "call"]
        assert len(calls) == len(set(calls)) == earlier + 4
    assert moment > 10


def test_the_command_makes_a_persona_with_a_model_of_ones_own(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("author.py").write_text(
        "import json\n"
        f"PERSONA = {json.dumps(PERSONA)!r}\nSTORY = {json.dumps(STORY)!r}\n"
        "def write(system: str, user: str) -> str:\n"
        "    return PERSONA if 'Invent the AI agent' in user else STORY\n"
    )
    Path("wish.txt").write_text("An aide in a boatyard")
    words = ["create-persona", "--prompt-file", "wish.txt", "--persona", "boats", "--days", "30"]

    shown = invoke(*words, "--model", "author.py:write", "--epoch", "2026-03-02")

    assert shown.code == 0, shown.err
    assert "2 of 2 files are in boats" in shown.out
    assert "next: recall-bench generate --persona boats --model author.py:write" in shown.out
    assert read_story(Path("boats"), "arcs-30d.yaml").epoch == date(2026, 3, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--prompt", "x", "--prompt-file", "y"), "--prompt and --prompt-file exclude each other"),
        (("--prompt-file", "nowhere.txt"), "nowhere.txt cannot be read"),
        (("--prompt", "x", "--epoch", "soon"), "--epoch: soon is not a date; write year-month-day"),
        (("--prompt", "x", "--epoch", "2026-02-30"), "2026-02-30 is not a date"),
        (("--prompt", "x", "--trade", "baker"), "'baker' is not one of 'backend-eng-saas', "),
        (("--prompt", "x", "--model", "a:b", "--seed", "0"), "--seed is only for --model offline"),
        (("--trade", "er-physician", "--arcs-only"), "--trade chooses a persona"),
        (("--prompt", "A chef who runs a restaurant"), "it names none of the 6 offline trades"),
        (("--prompt", "x", "--days", "0"), "0 is not in the range"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    invoke: Invoke, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    shown = invoke("create-persona", "--persona", str(tmp_path / "boats"), *words)

    assert shown.code == 2
    assert said in shown.err
    assert not (tmp_path / "boats").exists()


def test_the_world_makes_one_without_a_model(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "mine"

    shown = invoke(
        "create-persona", "--trade", "er-physician", "--persona", str(folder), "--days", "30"
    )

    assert shown.code == 0, shown.err
    assert read_story(folder, "arcs-30d.yaml").last_day <= 30
    assert f"next: recall-bench generate --persona {folder} --model offline" in shown.out
