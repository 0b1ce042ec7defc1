"""Each setting of the hybrid changes what is found, and in the way its name promises.

Left alone, none changes anything: the answers are those of the plain system, letter for letter.
"""

import hashlib
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from recall_bench.core.history import Episode, Turn, story_day
from recall_bench.core.memory import Answer, Asker, Memory, MemorySystem
from recall_bench.core.question import Question
from recall_bench.errors import UsageError
from recall_bench.systems.builtin import baselines
from recall_bench.systems.builtin.options import RecencyOptions
from recall_bench.systems.builtin.passages import Chunking, Cutting
from recall_bench.systems.builtin.reranking import Lexicon
from recall_bench.systems.builtin.wording import exact_words
from tests.systems.asking import answered
from tests.systems.diary import EPISODES, QUESTIONS
from tests.systems.diary import question as diary_question

pytestmark = pytest.mark.anyio

EPOCH = date(2025, 3, 3)
"""A Monday."""

ALL_ON: Mapping[str, object] = {
    "rerank": True,
    "lexical_boost": True,
    "neighbours": 1,
    "chunking": "window",
    "window_chars": 60,
    "window_overlap": 30,
    "consolidate": "beside",
}


def episode(day: int, text: str) -> Episode:
    return Episode(id=f"day-{day:04}", day=day, at=story_day(EPOCH, day), text=text)


def asked(text: str, *, day: int = 28, session: str = "principal") -> Question:
    return Question(
        id="q", text=text, asked_at=story_day(EPOCH, day), scenario="story", session=session
    )


async def lived(system: MemorySystem, *episodes: Episode) -> Memory:
    memory = await system.open("story")
    for each in episodes:
        await memory.ingest(each)
    await memory.settle()
    return memory


async def found(text: str, *days: str, **config: object) -> Answer:
    """What the hybrid replies after these days, whether or not it is sure."""
    system = baselines.hybrid({"threshold": 0, **config})
    episodes = [episode(number, day) for number, day in enumerate(days, start=1)]
    return await answered(await lived(system, *episodes), asked(text))


def days_of(answer: Answer) -> list[int | None]:
    return [passage.day for passage in answer.passages]


async def replies(system: MemorySystem, days: int = 12) -> list[Answer]:
    memory = await lived(system, *EPISODES[:days])
    return [await answered(memory, diary_question(text)) for text in QUESTIONS]


async def test_left_alone_the_answers_are_those_of_the_plain_system() -> None:
    """The digest was taken before there was anything to switch."""
    said = [
        f"{[(p.day, p.source, p.text) for p in reply.passages]} {reply.text}"
        for name in (baselines.hybrid, baselines.recency)
        for reply in await replies(name({}))
    ]

    assert hashlib.sha256("\n".join(said).encode()).hexdigest() == (
        "f009437fe74e042f9fd55e6dd8f766bc7b570c56a8559821232e207d2d1fb9f5"
    )


async def test_with_vectors_off_it_is_word_search_to_the_last_digit() -> None:
    alone = await replies(baselines.bm25({}))

    assert await replies(baselines.hybrid({"vector": False, "temporal_boost": False})) == alone


async def test_with_keywords_off_it_is_vector_search_to_the_last_digit() -> None:
    alone = await replies(baselines.vector({}))

    assert await replies(baselines.hybrid({"keyword": False, "temporal_boost": False})) == alone


@pytest.mark.parametrize("system", [baselines.hybrid, baselines.recency])
def test_with_both_off_it_is_refused_in_one_sentence(system: object) -> None:
    assert callable(system)

    with pytest.raises(UsageError, match=r"keyword and vector are both off.*leave one on$"):
        system({"keyword": False, "vector": False})


def test_every_setting_is_explained_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs/how-to/ablate.md").read_text(encoding="utf-8")

    assert all(f"`{name}`" in guide for name in RecencyOptions.__struct_fields__)


def test_the_threshold_is_that_of_what_is_switched_on_unless_it_is_said() -> None:
    def threshold(**config: object) -> object:
        return baselines.hybrid(config).card.config["threshold"]

    assert threshold(vector=False) == 0.17
    assert threshold(keyword=False) == 0.43
    assert threshold(keyword=False, threshold=0.1) == 0.1


def test_the_card_names_the_parts_that_are_used() -> None:
    def parts(**config: object) -> set[str]:
        named = baselines.hybrid(config).card.config["parts"]
        assert isinstance(named, dict)
        return set(named)

    assert parts(vector=False) == {"PyStemmer", "bm25s", "numpy"}
    assert parts(keyword=False) == {"numpy", "tokenizers", "wordllama"}
    assert "wordllama" in parts(vector=False, rerank=True)
    assert "wordllama" in parts(vector=False, consolidate="only")


async def test_the_weight_decides_between_words_and_meaning() -> None:
    days = ("The doctor gave her pills for the pain.", "Parking for the physician and staff only.")
    text = "Which medication did the physician prescribe?"

    by_words = await found(text, *days, weight=0.9)
    by_meaning = await found(text, *days, weight=0.1)

    assert days_of(by_words)[0] == 2
    assert days_of(by_meaning)[0] == 1


async def test_fusion_by_rank_ignores_how_far_ahead_the_first_is() -> None:
    days = ("Okafor painted hut 7.", "The dog and the puppy were fed.", "Tulips were ordered.")
    text = "Did Okafor feed the dog in hut 7?"

    weighted = await found(text, *days, fusion="weighted")
    ranked = await found(text, *days, fusion="rank")

    assert _score(weighted, 1) - _score(weighted, 2) > 0.5
    assert 0 < _score(ranked, 1) - _score(ranked, 2) < 0.05


@pytest.mark.parametrize("name", ["temporal_boost", "date_weight"])
async def test_a_temporal_boost_lifts_the_date_the_question_names(name: str) -> None:
    days = ("Quiet day; rain.", "Quiet day; rain.", "Quiet day; rain.")
    text = "Was it a quiet day on 2025-03-04?"

    assert days_of(await found(text, *days, **{name: False}))[0] == 3
    assert days_of(await found(text, *days, **{name: 0.2}))[0] == 2
    assert days_of(await found(text, *days, **{name: True}))[0] == 2


def test_a_setting_under_its_old_and_its_new_name_at_once_is_refused() -> None:
    with pytest.raises(UsageError, match="no setting 'date_weight'"):
        baselines.hybrid({"date_weight": 0.1, "temporal_boost": 0.1})


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        pytest.param(
            "Who signed “the long night” order?",
            "Order: the long night. Signed by Ada, order signed.",
            "The night was long, the order was signed and signed again.",
            id="a quotation",
        ),
        pytest.param(
            "What did we pay for invoice 40-117?",
            "Paid invoice 40-117 late.",
            "Paid invoice 117 of 40, paid invoice 40-1175 and paid invoice 117.",
            id="a code",
        ),
        pytest.param(
            "When did Inspector Hale visit?",
            "Inspector Hale came to visit on a long and muddy afternoon in the far north field.",
            "An inspector will visit Mr Hale; Hale saw the inspector visit.",
            id="a name",
        ),
    ],
)
async def test_a_lexical_boost_lifts_what_the_question_says_word_for_word(
    question: str, right: str, wrong: str
) -> None:
    plain = await found(question, right, wrong)
    switched_on = await found(question, right, wrong, lexical_boost=True)
    strong = await found(question, right, wrong, lexical_boost=1)

    assert _score(switched_on, 1) == pytest.approx(_score(plain, 1) + 0.2, abs=1e-5)
    assert _score(switched_on, 2) == pytest.approx(_score(plain, 2), abs=1e-5)
    assert days_of(plain)[0] == 2
    assert days_of(strong)[0] == 1


@pytest.mark.parametrize(
    ("question", "exact"),
    [
        ('Who said "not today, thanks"?', {"not today, thanks"}),
        ("Did Bo's van cost $1,200 or 40%?", {"bo", "$1,200", "40%"}),
        ("What is the code of Ostgate Market Hall?", {"ostgate market hall"}),
        ("Where do I keep it?", set()),
        ("When was v2.3 released at 7:30?", {"v2.3", "7:30"}),
        ("", set()),
    ],
)
def test_quotations_names_numbers_and_codes_are_meant_word_for_word(
    question: str, exact: set[str]
) -> None:
    assert set(exact_words(question)) == exact


async def test_reranking_prefers_a_passage_with_something_like_every_word() -> None:
    """Both hold one word of the question, which is all that counts with k1 at 0."""
    days = ("The doctor handed the kid some tablets.", "The doctor painted the garden fence.")
    text = "Which doctor gave the child a pill?"

    once = await found(text, *days, vector=False, k1=0)
    twice = await found(text, *days, vector=False, k1=0, rerank=True)

    assert days_of(once) == [2, 1]
    assert days_of(twice) == [1, 2]


async def test_reranking_looks_at_the_best_fifty_and_no_others() -> None:
    """All hold one word, so the later are first; the one with the others is the fifty-first."""
    days = ["The doctor handed the kid some tablets."] + ["The doctor painted the fence."] * 50

    async def first(*days: str) -> int | None:
        text = "Which doctor gave the child a pill?"
        return days_of(await found(text, *days, vector=False, k1=0, b=0, rerank=True))[0]

    assert await first(*days[:-1]) == 1
    assert await first(*days) == 51


def _score(answer: Answer, day: int) -> float:
    return next((p.score or 0.0 for p in answer.passages if p.day == day), 0.0)


def test_words_are_compared_one_by_one_and_the_nearest_counts() -> None:
    lexicon = Lexicon()
    passages = [lexicon.numbered(text) for text in ("cold boiler", "cold pump", "", "a tulip")]

    same, half, nothing, other = lexicon.closeness("The cold boiler?", passages).tolist()

    assert same == pytest.approx(1.0, abs=1e-5)
    assert 0.5 < half < same
    assert nothing == 0
    assert other < half


DAY = (
    "# session: z\n\nNo goats.\n\n# session: a\n\nOne egg.\n\nThe boiler broke.\n\n"
    "Two hens.\n\nThe boiler works.\n\n# session: b\n\nThree cows."
)


@pytest.mark.parametrize(
    ("neighbours", "texts"),
    [
        (0, ["The boiler broke.", "The boiler works."]),
        (1, ["One egg. The boiler broke. Two hens.", "The boiler works."]),
        (2, ["One egg. The boiler broke. Two hens. The boiler works."]),
        (9, ["One egg. The boiler broke. Two hens. The boiler works."]),
    ],
)
async def test_neighbours_of_the_same_day_and_session_are_shown_once(
    neighbours: int, texts: list[str]
) -> None:
    answer = await found("boiler broke", DAY, weight=1.0, neighbours=neighbours)

    assert [passage.text for passage in answer.passages] == texts
    assert answer.text.startswith(f"On 2025-03-03 (a): {texts[0]}")


async def test_neighbours_in_windows_repeat_nothing() -> None:
    day = "One egg here. Two hens there. The boiler broke. Four cows left. Five pigs stayed."

    widened = await found(
        "boiler broke", day, weight=1.0, chunking="window", window_chars=32, window_overlap=18,
        neighbours=9, k=1,
    )  # fmt: skip

    assert [p.text for p in widened.passages] == [day]


LOG = (
    "# session: a\n\n### Orders\n\nIt rained. We ordered:\n- leeks\n- twine\n\n"
    "### Visits\n\nHale came.\n\n# session: b\n\nTess swam."
)
LIST = "It rained. We ordered:"
ORDERED = f"{LIST} leeks; twine"


@pytest.mark.parametrize(
    ("chunking", "texts"),
    [
        ("passage", [ORDERED, "Hale came.", "Tess swam."]),
        ("paragraph", [ORDERED, "Hale came.", "Tess swam."]),
        ("turn", [LIST, f"{LIST} leeks", f"{LIST} twine", "Hale came.", "Tess swam."]),
        ("session", [f"{ORDERED}; Hale came.", "Tess swam."]),
        ("window", [ORDERED, f"{LIST} twine; Hale came.", "Tess swam."]),
    ],
)
def test_passages_end_where_the_chunking_says(chunking: Chunking, texts: list[str]) -> None:
    cutting = Cutting(chunking=chunking, window_chars=36, window_overlap=8)

    assert [excerpt.text for excerpt in cutting(episode(1, LOG))] == texts


async def test_a_paragraph_is_never_cut_and_a_turn_is_one_utterance() -> None:
    long = " ".join(
        f"The bed number {n} was covered with straw before the frost." for n in range(9)
    )
    chat = Episode(
        id="chat",
        day=1,
        at=story_day(EPOCH, 1),
        text="",
        turns=(Turn(speaker="Ada", text=long), Turn(speaker="Bo", text="Fine.")),
    )

    async def texts(chunking: str) -> list[str]:
        memory = await lived(baselines.hybrid({"chunking": chunking, "threshold": 0}), chat)
        said = (await answered(memory, asked("Who covered the bed, fine?"))).passages
        return sorted(passage.text for passage in said)

    assert len(await texts("passage")) > 2
    assert await texts("turn") == [f"Ada: {long}", "Bo: Fine."]
    assert await texts("paragraph") == [f"Ada: {long}", "Bo: Fine."]
    assert await texts("session") == [f"Ada: {long} Bo: Fine."]


def fortnight() -> list[Episode]:
    """Two weeks and a day in which a boiler is the subject, and one day is not about it."""
    return [
        episode(
            day,
            f"# session: principal\n\nThe boiler was set to {day} degrees. The boiler ran well. "
            f"The boiler was cleaned at {day} o'clock.\n\nA heron stood on the wall.\n\n"
            "# session: family\n\nTess went for a swim.",
        )
        for day in range(1, 16)
    ]


async def summaries(days: int, **config: object) -> list[tuple[int | None, str | None]]:
    system = baselines.hybrid({"consolidate": "only", "threshold": 0, "k": 99, **config})
    memory = await lived(system, *fortnight()[:days])
    answer = await answered(memory, asked("boiler degrees swim"))
    return sorted({(passage.day, passage.source) for passage in answer.passages}, key=str)


async def test_a_week_is_summed_up_once_its_last_day_was_lived_and_dated_by_it() -> None:
    before, after = await summaries(6), await summaries(7)

    assert not any("week" in str(source) for _, source in before)
    assert (7, "principal, week summary") in after
    assert (7, "family, week summary") in after


async def test_a_month_is_summed_up_from_the_weeks_that_ended_in_it() -> None:
    episodes = [episode(day, f"The boiler was set to {day} degrees.") for day in range(1, 31)]
    memory = await lived(baselines.hybrid({"consolidate": "only", "k": 99}), *episodes)

    passages = (await answered(memory, asked("boiler degrees"))).passages

    (month,) = [passage for passage in passages if "month summary" in str(passage.source)]
    assert month.day == 29
    assert "29 degrees" not in month.text
    assert all(int(word) <= 28 for word in month.text.replace(".", "").split() if word.isdigit())


async def test_a_period_whose_last_day_is_missing_is_closed_by_the_next_day() -> None:
    days = fortnight()
    system = baselines.hybrid({"consolidate": "only", "threshold": 0, "k": 99})

    memory = await lived(system, *days[:5], days[8])

    answer = await answered(memory, asked("boiler degrees"))
    weeks = [p for p in answer.passages if "week summary" in str(p.source)]
    assert {passage.day for passage in weeks} == {5}


async def test_summaries_stand_beside_the_days_or_in_their_place() -> None:
    async def sources(consolidate: str) -> set[str]:
        system = baselines.hybrid({"consolidate": consolidate, "threshold": 0, "k": 99})
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
    system = baselines.hybrid({"consolidate": "only", "threshold": 0, "quotes": 20, "k": 20})
    memory = await lived(system, *fortnight()[:7])

    said = (await answered(memory, asked("boiler degrees"))).text

    assert "In the week to 2025-03-09 (principal): The boiler" in said


async def test_summaries_keep_to_their_session() -> None:
    system = baselines.hybrid(
        {"consolidate": "beside", "respect_sessions": True, "threshold": 0, "k": 99}
    )
    memory = await lived(system, *fortnight())

    answer = await answered(memory, asked("boiler degrees swim", session="family"))

    assert system.card.asker is Asker.HONOURED
    assert answer.passages
    assert all(str(passage.source).startswith("family") for passage in answer.passages)
    assert not any("boiler" in passage.text for passage in answer.passages)


async def test_recency_sums_up_no_day_it_has_forgotten() -> None:
    system = baselines.recency({"days": 3, "consolidate": "beside", "threshold": 0, "k": 99})
    memory = await lived(system, *fortnight())

    answer = await answered(memory, asked("boiler degrees"))

    degrees = {word for p in answer.passages for word in p.text.split() if word.isdigit()}
    assert degrees <= {"13", "14", "15"}
    assert any("week summary" in str(passage.source) for passage in answer.passages)


@pytest.mark.parametrize("consolidate", ["beside", "only"])
@pytest.mark.parametrize("system", [baselines.hybrid, baselines.recency])
async def test_forked_and_fresh_agree_with_everything_switched_on(
    system: object, consolidate: str
) -> None:
    assert callable(system)
    config = {**ALL_ON, "consolidate": consolidate}
    forked: MemorySystem = system(config)
    assert forked.snapshots is not None
    growing = await forked.open("story")
    for each in fortnight():
        await growing.ingest(each)
        if each.day in (2, 7, 9, 15):
            await growing.settle()
            copy = await forked.snapshots.open(await forked.snapshots.save(growing))
            fresh = await lived(system(config), *fortnight()[: each.day])

            question = asked("To how many degrees was the boiler set on 2025-03-08?")
            assert await answered(copy, question) == await answered(fresh, question)


async def test_only_days_that_were_lived_are_reported() -> None:
    memory = await lived(baselines.hybrid({**ALL_ON, "threshold": 0, "k": 99}), *fortnight()[:9])

    answer = await answered(memory, asked("boiler degrees swim"))

    assert set(days_of(answer)) <= set(range(1, 10))
    last = EPOCH + timedelta(days=8)
    assert all(f"{last + timedelta(days=n)}" not in answer.text for n in range(1, 7))
