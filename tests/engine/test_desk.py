"""What a system returns is cut and traced for everyone alike, and read where it is no answer.

The budget holds whatever the system makes of it. A reader's failures are ours: they end the run,
cost the system nothing, and the same command goes on.
"""

from collections.abc import Callable, Sequence

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core import retry
from recall_bench.core.errors import BudgetSpent, ModelBusy, ReaderFault
from recall_bench.core.event import Answered, NotAnswered, Postponed
from recall_bench.core.memory import Answer, Delivery, Passage, RetrievalReply
from recall_bench.core.plan import Plan
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.trial_states import TrialState
from recall_bench.core.usage import Usage, estimate_tokens
from recall_bench.core.verdict import JudgeCard
from recall_bench.systems import memory_call, reply
from recall_bench.systems.reply import cut_to_budget
from tests.engine.finders import Finder, ScriptedReader, everything, latest_word
from tests.engine.many import many
from tests.fixtures.running import Rehearsal

CALL = Usage(calls=1, input_tokens=10, output_tokens=2, cost_usd=0.25)


def answered(rehearsal: Rehearsal) -> list[Answered]:
    return [event for event in rehearsal.journal if isinstance(event, Answered)]


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(text=text) for text in texts)


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "RETRY_PAUSES_S", (0.0, 0.0, 0.0))


@pytest.mark.anyio
async def test_a_reader_answers_for_a_system_that_only_finds(rehearsal: Rehearsal) -> None:
    states = await rehearsal.run(Finder(everything), reader=ScriptedReader(latest_word))

    assert [event.answer.text for event in answered(rehearsal)] == ["Rain", "Plum"]
    assert all(event.reading_s is not None for event in answered(rehearsal))
    assert states.has_ended


@pytest.mark.anyio
async def test_the_days_of_what_was_found_are_recorded_and_counted(rehearsal: Rehearsal) -> None:
    def find(lived: Sequence[Episode], _: Question) -> RetrievalReply:
        return RetrievalReply(passages=passages("The cat is Fig.", "The dog is Bo."))

    await rehearsal.run(Finder(find), reader=ScriptedReader(latest_word))

    first = answered(rehearsal)[0]
    assert [passage.day for passage in first.answer.passages] == [1, None]
    assert first.delivery == Delivery(offered=2, kept=2, tokens=8, traced=1, spans=((0, 15), None))


@pytest.mark.anyio
async def test_what_is_fed_after_the_checkpoint_cannot_be_traced(rehearsal: Rehearsal) -> None:
    def clairvoyant(_: Sequence[Episode], question: Question) -> RetrievalReply:
        return RetrievalReply(passages=passages("The cat is now Plum."))

    await rehearsal.run(Finder(clairvoyant), reader=ScriptedReader(latest_word))

    days = [event.answer.passages[0].day for event in answered(rehearsal)]
    assert days == [None, 3]


@pytest.mark.anyio
async def test_a_system_receives_how_many_passages_count_and_no_more_are_kept(
    rehearsal: Rehearsal,
) -> None:
    told: list[int | None] = []

    def find(lived: Sequence[Episode], question: Question) -> RetrievalReply:
        told.append(question.top_k)
        return everything(lived, question)

    reader = ScriptedReader(latest_word)
    await rehearsal.run(Finder(find), reader=reader, top_k=1)

    assert told == [1, 1]
    assert [len(shown) for shown in reader.shown] == [1, 1]
    assert [event.delivery for event in answered(rehearsal)] == [
        Delivery(offered=2, kept=1, tokens=2, traced=1, cut_days=(1,), spans=((0, 5),)),
        Delivery(offered=3, kept=1, tokens=5, traced=1, cut_days=(1, 2), spans=((0, 20),)),
    ]


@pytest.mark.anyio
async def test_the_days_of_what_the_budget_cut_off_are_those_of_its_text(
    rehearsal: Rehearsal,
) -> None:
    def find(lived: Sequence[Episode], _: Question) -> RetrievalReply:
        claimed = Passage(text=lived[0].text, day=2)
        return RetrievalReply(
            passages=(*passages("Rain.", "The cat is now Plum."), claimed, claimed)
        )

    await rehearsal.run(Finder(find), reader=ScriptedReader(latest_word), max_context_tokens=2)

    deliveries = [event.delivery for event in answered(rehearsal)]
    assert [each.kept for each in deliveries if each] == [1, 1]
    assert [each.cut_days for each in deliveries if each] == [(1,), (1, 3)]


@pytest.mark.anyio
async def test_what_is_cut_off_far_below_the_budget_is_not_traced(rehearsal: Rehearsal) -> None:
    def find(lived: Sequence[Episode], _: Question) -> RetrievalReply:
        strangers = passages(*(f"stranger {n}" for n in range(reply.MAX_CUT_TRACED)))
        return RetrievalReply(passages=(*strangers, *passages(lived[1].text, lived[0].text)))

    await rehearsal.run(Finder(find), reader=ScriptedReader(latest_word), top_k=1)

    assert [event.delivery.cut_days for event in answered(rehearsal) if event.delivery] == [
        (2,),
        (2,),
    ]


@pytest.mark.anyio
async def test_a_system_that_answers_keeps_its_words_and_its_passages_are_cut_alike(
    rehearsal: Rehearsal,
) -> None:
    def reply(lived: Sequence[Episode], question: Question) -> Answer:
        return Answer(text="mine", passages=everything(lived, question).passages)

    await rehearsal.run(Finder(reply, answers=True), top_k=2)

    for event in answered(rehearsal):
        assert event.answer.text == "mine"
        assert len(event.answer.passages) == 2
        assert all(passage.day is not None for passage in event.answer.passages)
        assert event.reading_s is None


@pytest.mark.anyio
async def test_a_reader_speaks_for_a_system_that_answers_where_there_are_passages(
    rehearsal: Rehearsal,
) -> None:
    def reply(lived: Sequence[Episode], question: Question) -> Answer:
        return Answer(text="mine", passages=passages("It is Fig.") if len(lived) == 2 else ())

    reader = ScriptedReader(latest_word)
    await rehearsal.run(Finder(reply, answers=True), reader=reader)

    assert [event.answer.text for event in answered(rehearsal)] == ["Fig", "mine"]
    assert [event.delivery is None for event in answered(rehearsal)] == [False, True]


@pytest.mark.anyio
async def test_finding_nothing_is_read_too(rehearsal: Rehearsal) -> None:
    await rehearsal.run(
        Finder(lambda lived, question: RetrievalReply()), reader=ScriptedReader(latest_word)
    )

    assert [event.answer.text for event in answered(rehearsal)] == ["nothing", "nothing"]


@pytest.mark.anyio
@pytest.mark.parametrize("reply", [everything, lambda lived, question: RetrievalReply()])
async def test_a_missing_answer_costs_that_trial_where_there_is_no_reader(
    rehearsal: Rehearsal, reply: Callable[..., RetrievalReply]
) -> None:
    await rehearsal.run(Finder(reply, answers=True))

    lost = rehearsal.of(NotAnswered)
    assert [event.fault for event in lost if isinstance(event, NotAnswered)] == ["NotAnAnswer"] * 2
    assert "answers = False, or name a --reader" in str(lost[0])


@pytest.mark.anyio
async def test_what_reading_cost_is_recorded_beside_what_the_system_says_it_spent(
    rehearsal: Rehearsal,
) -> None:
    spent = Usage(calls=2, input_tokens=5)

    def find(lived: Sequence[Episode], question: Question) -> RetrievalReply:
        return everything(lived, question).replace(usage=spent)

    reader = ScriptedReader(latest_word, usage=CALL, model="m")
    states = await rehearsal.run(Finder(find), reader=reader)

    assert [event.answer.usage for event in answered(rehearsal)] == [spent, spent]
    assert [event.reading_usage for event in answered(rehearsal)] == [CALL, CALL]
    assert states.reading_usage == CALL + CALL
    assert states.usage == Usage()


class StoppedClock:
    """Goes on only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.mark.anyio
async def test_the_time_of_the_reader_is_not_the_systems(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = StoppedClock()
    monkeypatch.setattr(memory_call, "time", clock)
    monkeypatch.setattr(reply, "time", clock)

    def find(lived: Sequence[Episode], question: Question) -> RetrievalReply:
        clock.now += 2
        return everything(lived, question)

    def read(found: Sequence[Passage]) -> str:
        clock.now += 5
        return latest_word(found)

    states = await rehearsal.run(Finder(find), reader=ScriptedReader(read))

    assert [(event.seconds, event.reading_s) for event in answered(rehearsal)] == [(2, 5), (2, 5)]
    clocks = states.scenarios["ada"].times
    assert [(each.query_s, each.reading_s) for each in clocks] == [(2, 5), (2, 5)]


class Slow(ScriptedReader):
    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        await anyio.sleep(0.05)
        return await super().read(question, passages)


@pytest.mark.anyio
async def test_the_time_allowed_for_an_answer_is_the_systems_alone(rehearsal: Rehearsal) -> None:
    await rehearsal.run(Finder(everything), reader=Slow(latest_word), answer_timeout_s=0.01)

    assert not rehearsal.of(NotAnswered)


class BusyReader(ScriptedReader):
    """Asks to come back so many times before it reads."""

    def __init__(self, times: int) -> None:
        super().__init__(latest_word)
        self._left = times

    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        if self._left:
            self._left -= 1
            raise ModelBusy("slow down")
        return await super().read(question, passages)


@pytest.mark.anyio
@pytest.mark.usefixtures("_no_pauses")
async def test_a_busy_reader_is_asked_again_and_the_system_is_not(rehearsal: Rehearsal) -> None:
    asked: list[str] = []

    def find(lived: Sequence[Episode], question: Question) -> RetrievalReply:
        asked.append(question.id)
        return everything(lived, question)

    await rehearsal.run(Finder(find), reader=BusyReader(3))

    assert len(answered(rehearsal)) == len(asked) == 2
    assert [event.fault for event in rehearsal.journal if isinstance(event, Postponed)] == [
        "ModelBusy"
    ] * 3


@pytest.mark.anyio
@pytest.mark.usefixtures("_no_pauses")
async def test_a_reader_that_stays_busy_costs_the_run_and_not_the_system(
    rehearsal: Rehearsal,
) -> None:
    with pytest.raises(ReaderFault, match="slow down; run the same command again to continue"):
        await rehearsal.run(Finder(everything), reader=BusyReader(4))

    assert not rehearsal.of(NotAnswered)
    assert rehearsal.fold_states().scenarios["ada"].count_states(TrialState.OPEN) == 2

    states = await rehearsal.run(Finder(everything), reader=BusyReader(0))

    assert states.scenarios["ada"].count_states(TrialState.JUDGED) == 2


class Hung(ScriptedReader):
    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.anyio
@pytest.mark.usefixtures("_no_pauses")
async def test_a_reader_that_hangs_is_given_up(rehearsal: Rehearsal) -> None:
    with pytest.raises(ReaderFault, match="no answer within"):
        await rehearsal.run(Finder(everything), reader=Hung(latest_word), judge_timeout_s=0.01)


class BreaksOnce(ScriptedReader):
    """Fails at one reading while others are under way."""

    def __init__(self) -> None:
        super().__init__(lambda _: "r")
        self.begun = 0

    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        self.begun += 1
        is_first = self.begun == 1
        while self.begun < 4:
            await anyio.lowlevel.checkpoint()
        if is_first:
            raise ReaderFault("broken")
        await anyio.sleep(0.01)
        return await super().read(question, passages)


@pytest.mark.anyio
async def test_readings_under_way_are_finished_when_another_fails(plan: Plan) -> None:
    rehearsal, reader = many(plan), BreaksOnce()

    with pytest.raises(ReaderFault, match="broken"):
        await rehearsal.run(Finder(everything, max_concurrency=4), reader=reader, parallelism=4)

    assert len(answered(rehearsal)) == len(reader.shown) == reader.begun - 1 == 3


@pytest.mark.anyio
async def test_reading_stops_when_the_money_is_spent_and_goes_on_with_more(plan: Plan) -> None:
    rehearsal = many(plan)
    rehearsal.plan = rehearsal.plan.replace(judge=JudgeCard(name="exact", version="1"))
    reader = ScriptedReader(lambda _: "r", usage=CALL, model="m")

    with pytest.raises(BudgetSpent, match=r"reading and judging have cost \$1\.0000"):
        await rehearsal.run(Finder(everything), reader=reader, max_cost_usd=1.0)
    assert len(reader.shown) == 4
    with pytest.raises(BudgetSpent):
        await rehearsal.run(Finder(everything), reader=reader, max_cost_usd=1.0)
    assert len(reader.shown) == 4
    states = await rehearsal.run(Finder(everything), reader=reader, max_cost_usd=100.0)

    assert len(reader.shown) == 12
    assert states.reading_usage.cost_usd == 3.0


@pytest.mark.anyio
async def test_a_reader_whose_price_no_one_knows_ends_a_run_with_a_limit(plan: Plan) -> None:
    reader = ScriptedReader(lambda _: "r", usage=Usage(calls=1, unpriced=1), model="m")

    with pytest.raises(BudgetSpent, match="the reader's server does not report"):
        await many(plan).run(Finder(everything), reader=reader, max_cost_usd=1.0)


@pytest.mark.anyio
async def test_reading_stops_when_its_tokens_are_spent_or_unknown(plan: Plan) -> None:
    reader = ScriptedReader(lambda _: "r", usage=CALL, model="m")
    silent = ScriptedReader(lambda _: "r", usage=Usage(calls=1), model="m")

    with pytest.raises(BudgetSpent, match="reading and judging have taken 24 tokens"):
        await many(plan).run(Finder(everything), reader=reader, max_tokens=20)
    with pytest.raises(BudgetSpent, match=r"the reader's server .* --max-tokens cannot be kept"):
        await many(plan).run(Finder(everything), reader=silent, max_tokens=200)

    assert (len(reader.shown), len(silent.shown)) == (2, 1)


@pytest.mark.anyio
async def test_answers_judged_again_are_not_paid_for_again(plan: Plan) -> None:
    rehearsal = many(plan)
    reader = ScriptedReader(lambda _: "r", usage=CALL, model="m")
    await rehearsal.run(Finder(everything), reader=reader)
    rehearsal.journal = [e for e in rehearsal.journal if type(e).__name__ != "Judged"][:-1]

    states = await rehearsal.run(Finder(everything), asks=False, max_cost_usd=1.0)

    assert states.scenarios["many"].count_states(TrialState.JUDGED) == 12


def kept(plan: Plan, *texts: str) -> list[str]:
    return [passage.text for passage in cut_to_budget(passages(*texts), plan)]


def test_passages_are_whole_and_the_first_that_does_not_fit_ends_it(plan: Plan) -> None:
    budget = plan.replace(max_context_tokens=5)

    assert kept(budget, "a" * 12, "b" * 12, "c") == ["a" * 12]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("one two three", "one two", id="inside of a word"),
        pytest.param("one more three", "one more", id="at the end of a word"),
        pytest.param("one\ntwo-three", "one", id="at a line break"),
        pytest.param("onetwothree", "onetwoth", id="where there is no other place"),
    ],
)
def test_a_first_passage_beyond_the_whole_budget_is_cut_at_a_word(
    plan: Plan, text: str, left: str
) -> None:
    assert kept(plan.replace(max_context_tokens=2), text, "x") == [left]


@given(
    texts=st.lists(st.text(max_size=40), max_size=12),
    top_k=st.integers(1, 12),
    budget=st.none() | st.integers(1, 30),
)
def test_the_budget_holds_for_any_passages(
    texts: list[str], top_k: int, budget: int | None
) -> None:
    plan = PLAN.replace(top_k=top_k, max_context_tokens=budget)

    left = kept(plan, *texts)

    assert len(left) <= top_k
    assert budget is None or sum(map(estimate_tokens, left)) <= budget
    assert bool(left) == bool(texts)
    assert left[1:] == texts[1 : len(left)]
    assert not left or texts[0].startswith(left[0])


PLAN = Plan(
    scenarios=(),
    checkpoints=(),
    system=Finder(everything).card,
    judge=JudgeCard(name="exact", version="1"),
)
