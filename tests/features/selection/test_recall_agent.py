"""One pass chooses, a second one strikes out, and what went wrong on the way is told."""

from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import (
    ModelBusy,
    ModelFault,
    ModelGone,
    NotAnAnswer,
    SystemBusy,
    SystemFault,
    SystemGone,
    SystemTimeout,
)
from recall_bench.core.memory import MeteringSystem
from recall_bench.core.usage import Usage
from recall_bench.features.selection.selectors.agent_prompt import REMINDER
from tests.features.selection.scripted_agent import (
    BREAD,
    FLIGHTS,
    MEMORIES,
    PARKING,
    PROMPT,
    WIFI,
    SilentModel,
    agent,
    opened,
    selected,
)
from tests.scripted_model import CALL, ScriptedModel, cut_off, filtered

pytestmark = pytest.mark.anyio

TWICE = CALL + CALL


async def test_a_single_pass_picks_what_the_model_names() -> None:
    model = ScriptedModel(f"{PARKING}\n{FLIGHTS}")

    selection = await selected(model)

    assert selection.names == (PARKING, FLIGHTS)
    assert (selection.usage, selection.notes, selection.presearched) == (CALL, (), None)
    assert "when driving to an airport" in model.asked[0].user
    assert "Car park C" not in model.asked[0].user


async def test_a_name_that_is_not_on_disk_stays_in_a_single_pass() -> None:
    selection = await selected(ScriptedModel(f"memory/ghost.md\n{PARKING}"))

    assert selection.names == ("memory/ghost.md", PARKING)


async def test_the_second_pass_reads_the_candidates_and_no_other_memory() -> None:
    first, second = ScriptedModel(f"{PARKING}\n{FLIGHTS}"), ScriptedModel(PARKING)

    selection = await selected(first, second)

    assert selection.names == (PARKING,)
    assert selection.notes == ()
    asked = second.asked[0].user
    assert "Car park C" in asked
    assert "Seat by the aisle" in asked
    assert "rye starter" not in asked
    assert WIFI not in asked


async def test_the_passes_cost_what_both_cost() -> None:
    selection = await selected(ScriptedModel("junk", PARKING), ScriptedModel(PARKING))

    assert selection.usage == Usage(calls=3, input_tokens=30, output_tokens=3)


async def test_what_the_second_pass_adds_is_left_out_and_noted() -> None:
    selection = await selected(ScriptedModel(PARKING), ScriptedModel(f"{BREAD}\n{PARKING}"))

    assert selection.names == (PARKING,)
    assert selection.notes == (
        f"the second pass named {BREAD}, which the first had not chosen: left out",
    )


async def test_the_second_pass_may_strike_out_everything() -> None:
    selection = await selected(ScriptedModel(PARKING), ScriptedModel("NONE"))

    assert selection.names == ()


async def test_a_name_that_is_not_on_disk_does_not_reach_the_second_pass() -> None:
    second = ScriptedModel(PARKING)

    selection = await selected(ScriptedModel(f"memory/ghost.md\n{PARKING}"), second)

    assert selection.names == (PARKING,)
    assert "ghost" not in second.asked[0].user
    assert selection.notes == (
        "the first pass named memory/ghost.md, which is not on disk: left out",
    )


@pytest.mark.parametrize("reply", ["NONE", "memory/ghost.md"])
async def test_nothing_chosen_ends_after_the_first_pass(reply: str) -> None:
    second = ScriptedModel()

    selection = await selected(ScriptedModel(reply), second)

    assert selection.names == ()
    assert selection.usage == CALL
    assert second.asked == []


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (ScriptedModel(ModelFault("scripted: broke off")), "pass 2: scripted: broke off"),
        (ScriptedModel("Let me think.", "Hm."), "last replied 'Hm.' (stop)"),
        (ScriptedModel(filtered(""), filtered("")), "last replied '' (filtered)"),
        (SilentModel(), "scripted:silent gave no reply within 0.01 s"),
    ],
)
async def test_a_second_pass_that_fails_leaves_the_first_and_says_so(
    second: ScriptedModel | SilentModel, why: str
) -> None:
    first = ScriptedModel(f"{PARKING}\n{FLIGHTS}")

    selection = await selected(first, second, call_timeout_s=0.01)

    assert selection.names == (PARKING, FLIGHTS)
    (note,) = selection.notes
    assert note.startswith("the second pass failed, so the first one's choice stands: ")
    assert why in note


async def test_the_calls_of_a_second_pass_that_failed_are_paid_for() -> None:
    selection = await selected(ScriptedModel(PARKING), ScriptedModel("junk", "junk"))

    assert selection.usage == CALL + TWICE


@pytest.mark.parametrize("junk", ["I think parking.", "", cut_off(PARKING), filtered("")])
async def test_a_reply_that_is_no_list_is_asked_for_once_more(junk: str) -> None:
    model = ScriptedModel(junk, PARKING)

    selection = await selected(model)

    assert selection.names == (PARKING,)
    assert selection.usage == TWICE
    assert model.asked[1].user == model.asked[0].user + REMINDER
    (note,) = selection.notes
    assert note.startswith("pass 1 was asked again: ")


async def test_a_model_that_never_lists_names_fails_the_selection() -> None:
    model = ScriptedModel("I think parking.", "The parking one!")

    with pytest.raises(NotAnAnswer, match=r"asked 2 times .* last replied 'The parking one!'"):
        await selected(model)


async def test_a_first_pass_without_a_reply_is_a_timeout() -> None:
    with pytest.raises(
        SystemTimeout, match=r"pass 1: scripted:silent gave no reply within 0\.01 s"
    ):
        await selected(SilentModel(), call_timeout_s=0.01)


async def test_every_call_has_the_whole_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = list[float | None]()
    usual = anyio.move_on_after

    def noted(delay: float | None) -> anyio.CancelScope:
        limits.append(delay)
        return usual(delay)

    monkeypatch.setattr(anyio, "move_on_after", noted)
    await selected(ScriptedModel("junk", PARKING), ScriptedModel(PARKING), call_timeout_s=7)

    assert limits == [7, 7, 7]


async def test_a_fault_of_the_model_fails_the_first_pass() -> None:
    with pytest.raises(SystemFault, match="pass 1: scripted: no completion"):
        await selected(ScriptedModel(ModelFault("scripted: no completion")))


async def test_a_busy_model_is_retried_after_its_delay() -> None:
    with pytest.raises(SystemBusy, match="pass 1: slow down") as busy:
        await selected(ScriptedModel(ModelBusy("slow down", 7.5)))

    assert busy.value.retry_after_s == 7.5


@pytest.mark.parametrize("turn", [1, 2])
async def test_a_model_that_cannot_be_reached_is_gone_without_a_fault(turn: int) -> None:
    gone = ScriptedModel(ModelGone("the key is refused"))
    first = gone if turn == 1 else ScriptedModel(PARKING)

    with pytest.raises(SystemGone, match=f"pass {turn}: the key is refused"):
        await selected(first, gone)


async def test_a_busy_second_pass_is_retried_without_the_first() -> None:
    first = ScriptedModel(f"memory/ghost.md\n{PARKING}", BREAD)
    chooser = await opened(first, ScriptedModel(ModelBusy("slow down"), PARKING, BREAD))

    with pytest.raises(SystemBusy):
        await chooser.select(PROMPT)
    again = await chooser.select(PROMPT)
    later = await chooser.select(PROMPT)

    assert (again.names, again.usage) == ((PARKING,), TWICE)
    assert "ghost" in again.notes[0]
    assert (later.names, later.usage, later.notes) == ((BREAD,), TWICE, ())
    assert len(first.asked) == 2


async def test_a_busy_prompt_does_not_answer_for_another() -> None:
    first = ScriptedModel(PARKING, BREAD)
    chooser = await opened(first, ScriptedModel(ModelBusy("slow down"), BREAD))

    with pytest.raises(SystemBusy):
        await chooser.select(PROMPT)

    assert (await chooser.select("How do I feed the starter?")).names == (BREAD,)


async def test_the_cost_of_failed_selections_is_reported_once() -> None:
    ours = agent(ScriptedModel("junk", "junk", PARKING, PARKING), ScriptedModel(PARKING))
    chooser = await ours.open(MEMORIES)

    with pytest.raises(NotAnAnswer):
        await chooser.select(PROMPT)
    await chooser.select(PROMPT)

    assert isinstance(ours, MeteringSystem)
    assert ours.drain() == TWICE
    assert ours.drain() == Usage()


async def test_the_cost_of_a_busy_selection_is_reported_at_the_end() -> None:
    ours = agent(ScriptedModel(PARKING), ScriptedModel(ModelBusy("slow down")))
    chooser = await ours.open(MEMORIES)

    with pytest.raises(SystemBusy):
        await chooser.select(PROMPT)
    before = ours.drain()
    await chooser.close()

    assert (before, ours.drain()) == (Usage(), CALL)


async def test_the_cost_of_a_cancelled_selection_is_reported() -> None:
    silent = SilentModel()
    ours = agent(ScriptedModel(PARKING), silent)
    chooser = await ours.open(MEMORIES)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(chooser.select, PROMPT)
            await silent.asked.wait()
            tasks.cancel_scope.cancel()

    assert ours.drain() == CALL


@pytest.mark.parametrize("prompt", ["", " \n"])
async def test_an_empty_prompt_makes_no_call(prompt: str) -> None:
    selection = await (await opened(ScriptedModel())).select(prompt)

    assert (selection.names, selection.usage) == ((), None)


async def test_an_empty_folder_makes_no_call() -> None:
    chooser = await agent(ScriptedModel()).open(())

    assert (await chooser.select(PROMPT)).names == ()


async def test_presearch_narrows_what_the_first_pass_is_shown() -> None:
    model = ScriptedModel(PARKING)

    selection = await selected(model, presearch="on")

    assert selection.presearched == (PARKING,)
    assert PARKING in model.asked[0].user
    assert BREAD not in model.asked[0].user


async def test_presearch_that_leaves_nothing_makes_no_call() -> None:
    chooser = await opened(ScriptedModel(), presearch="on")

    selection = await chooser.select("Zebras?")

    assert (selection.names, selection.presearched, selection.usage) == ((), (), None)


@pytest.mark.parametrize(("content", "left"), [("off", ()), ("on", (BREAD,))])
async def test_presearch_in_the_content_finds_what_no_keyword_says(
    content: str, left: tuple[str, ...]
) -> None:
    model = ScriptedModel("NONE")
    chooser = await opened(model, presearch="on", presearch_content=content)

    selection = await chooser.select("Rye?")

    assert selection.presearched == left


async def test_the_card_has_all_that_can_change_a_pick() -> None:
    model = ScriptedModel()
    plain = agent(model, model).card

    assert (plain.name, plain.version) == ("recall-agent", "1")
    assert plain.config["scheme"] == "double"
    assert plain.config["models"] == ["scripted", "scripted"]
    assert [each["name"] for each in plain.config["prompts"]] == [  # type: ignore[attr-defined]
        "recall-v1-pass1",
        "recall-v1-pass2",
    ]
    others = [
        agent(model),
        agent(SilentModel(), model),
        agent(model, SilentModel()),
        agent(model, model, prompts="recall-v1-single/recall-v1-pass2"),
        agent(model, model, prompts="recall-v1-pass1/recall-v1-single"),
        agent(model, model, presearch=True),
        agent(model, model, presearch_content=True),
        agent(model, model, call_timeout_s=1),
    ]
    assert len({each.card.digest for each in others} | {plain.digest}) == 9


async def test_a_letter_changed_in_a_template_is_another_agent(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    cards = set()

    for text in ("Choose.", "Choose!"):
        path.write_text(text)
        cards.add(agent(ScriptedModel(), prompts=str(path)).card.digest)

    assert len(cards) == 2


async def test_every_model_is_closed_once() -> None:
    class Counted(ScriptedModel):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    one, other, shared = Counted(), Counted(), Counted()

    await agent(one, other).close()
    await agent(shared).close()

    assert (one.closed, other.closed, shared.closed) == (1, 1, 1)
