"""A system may keep a summary of each day, week and month, made of its own sentences.

A summary is dated by the last day it holds, and exists only once that day was lived.
"""

import pytest

from recall_bench.core.memory import Asker
from recall_bench.systems.builtin import retrieval_systems
from tests.systems.asking import answered
from tests.systems.weeks import asked, episode, fortnight, found, lived

pytestmark = pytest.mark.anyio


async def summaries(days: int, **config: object) -> list[tuple[int | None, str | None]]:
    system = retrieval_systems.build_hybrid(
        {"consolidate": "only", "threshold": 0, "k": 99, **config}
    )
    memory = await lived(system, *fortnight()[:days])
    answer = await answered(memory, asked("boiler degrees swim"))
    return sorted({(passage.day, passage.source) for passage in answer.passages}, key=str)


async def test_a_week_is_summarised_after_its_last_day_and_dated_by_it() -> None:
    before, after = await summaries(6), await summaries(7)

    assert not any("week" in str(source) for _, source in before)
    assert (7, "principal, week summary") in after
    assert (7, "family, week summary") in after


async def test_a_month_is_summarised_from_the_weeks_that_ended_in_it() -> None:
    episodes = [episode(day, f"The boiler was set to {day} degrees.") for day in range(1, 31)]
    memory = await lived(
        retrieval_systems.build_hybrid({"consolidate": "only", "k": 99}), *episodes
    )

    passages = (await answered(memory, asked("boiler degrees"))).passages

    (month,) = [passage for passage in passages if "month summary" in str(passage.source)]
    assert month.day == 29
    assert "29 degrees" not in month.text
    assert all(int(word) <= 28 for word in month.text.replace(".", "").split() if word.isdigit())


async def test_a_period_whose_last_day_is_missing_is_closed_by_the_next_day() -> None:
    days = fortnight()
    system = retrieval_systems.build_hybrid({"consolidate": "only", "threshold": 0, "k": 99})

    memory = await lived(system, *days[:5], days[8])

    answer = await answered(memory, asked("boiler degrees"))
    weeks = [p for p in answer.passages if "week summary" in str(p.source)]
    assert {passage.day for passage in weeks} == {5}


async def test_summaries_stand_beside_the_days_or_in_their_place() -> None:
    async def sources(consolidate: str) -> set[str]:
        system = retrieval_systems.build_hybrid(
            {"consolidate": consolidate, "threshold": 0, "k": 99}
        )
        memory = await lived(system, *fortnight()[:7])
        passages = (await answered(memory, asked("boiler degrees swim"))).passages
        return {str(passage.source).partition(", ")[2] for passage in passages}

    assert await sources("none") == {""}
    assert await sources("beside") == {"", "day summary", "week summary"}
    assert await sources("only") == {"day summary", "week summary"}


async def test_a_summary_holds_what_the_day_was_about_in_its_own_words() -> None:
    text = " ".join(
        ["A heron stood on the far wall."]
        + [f"The boiler in room {n} was set to a new temperature." for n in "ABCDEFG"]
    )

    answer = await found("boiler temperature", text, consolidate="only")

    (passage,) = answer.passages
    assert "boiler" in passage.text
    assert "heron" not in passage.text
    assert all(sentence in text for sentence in passage.text.split(". "))
    assert answer.text.startswith("On 2025-03-03: The boiler")


async def test_a_summary_of_a_longer_time_says_so_in_the_answer() -> None:
    system = retrieval_systems.build_hybrid(
        {"consolidate": "only", "threshold": 0, "quotes": 20, "k": 20}
    )
    memory = await lived(system, *fortnight()[:7])

    said = (await answered(memory, asked("boiler degrees"))).text

    assert "In the week to 2025-03-09 (principal): The boiler" in said


async def test_summaries_keep_to_their_session() -> None:
    system = retrieval_systems.build_hybrid(
        {"consolidate": "beside", "respect_sessions": True, "threshold": 0, "k": 99}
    )
    memory = await lived(system, *fortnight())

    answer = await answered(memory, asked("boiler degrees swim", session="family"))

    assert system.card.asker is Asker.HONOURED
    assert answer.passages
    assert all(str(passage.source).startswith("family") for passage in answer.passages)
    assert not any("boiler" in passage.text for passage in answer.passages)


async def test_recency_summarises_no_day_outside_its_window() -> None:
    system = retrieval_systems.build_recency(
        {"days": 3, "consolidate": "beside", "threshold": 0, "k": 99}
    )
    memory = await lived(system, *fortnight())

    answer = await answered(memory, asked("boiler degrees"))

    degrees = {word for p in answer.passages for word in p.text.split() if word.isdigit()}
    assert degrees <= {"13", "14", "15"}
    assert any("week summary" in str(passage.source) for passage in answer.passages)
