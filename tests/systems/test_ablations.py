"""Each setting of the hybrid changes what is found, and in the way its name promises.

Left alone, none changes anything: the answers are those of the plain system, letter for letter.
"""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import Answer, MemorySystem
from recall_bench.core.scenario import Episode, Turn, compute_story_date
from recall_bench.systems.builtin import retrieval_systems
from recall_bench.systems.builtin.chunks import Chunker
from recall_bench.systems.builtin.exact_words import find_exact_words
from recall_bench.systems.builtin.options import Chunking, RecencyOptions
from recall_bench.systems.builtin.word_index import WordVectorTable
from tests.loops import loop_over_rows
from tests.systems.asking import answered
from tests.systems.diary import EPISODES, QUESTIONS
from tests.systems.diary import question as diary_question
from tests.systems.weeks import EPOCH, asked, episode, fortnight, found, lived

pytestmark = pytest.mark.anyio

ALL_ON: Mapping[str, object] = {
    "rerank": True,
    "lexical_boost": True,
    "neighbours": 1,
    "chunking": "window",
    "window_chars": 60,
    "window_overlap": 30,
    "consolidate": "beside",
}


def days_of(answer: Answer) -> list[int | None]:
    return [passage.day for passage in answer.passages]


async def replies(system: MemorySystem, days: int = 12) -> list[Answer]:
    memory = await lived(system, *EPISODES[:days])
    return [await answered(memory, diary_question(text)) for text in QUESTIONS]


async def test_left_alone_the_passages_are_those_of_the_plain_system() -> None:
    """The digest was taken before there was anything to switch."""
    said = [
        f"{[(p.day, p.source, p.text) for p in reply.passages]}"
        for name in (retrieval_systems.build_hybrid, retrieval_systems.build_recency)
        for reply in await replies(name({}))
    ]

    assert hashlib.sha256("\n".join(said).encode()).hexdigest() == (
        "f0d92f5342bdf6ddaead4bc757e562db3bda3474ec37176bdf8daa90a6e1ee94"
    )


async def test_with_vectors_off_it_is_word_search_to_the_last_digit() -> None:
    alone = await replies(retrieval_systems.build_bm25({}))

    assert (
        await replies(retrieval_systems.build_hybrid({"vector": False, "temporal_boost": False}))
        == alone
    )


async def test_with_keywords_off_it_is_vector_search_to_the_last_digit() -> None:
    alone = await replies(retrieval_systems.build_vector({}))

    assert (
        await replies(retrieval_systems.build_hybrid({"keyword": False, "temporal_boost": False}))
        == alone
    )


@pytest.mark.parametrize(
    "system", [retrieval_systems.build_hybrid, retrieval_systems.build_recency]
)
def test_with_both_off_it_is_refused_in_one_sentence(system: object) -> None:
    assert callable(system)

    with pytest.raises(UsageError, match=r"keyword and vector are both off.*leave one on$"):
        system({"keyword": False, "vector": False})


def test_every_setting_is_explained_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs/how-to/ablate.md").read_text(encoding="utf-8")

    assert all(f"`{name}`" in guide for name in RecencyOptions.__struct_fields__)


def test_the_default_threshold_is_that_of_the_enabled_parts() -> None:
    def threshold(**config: object) -> object:
        return retrieval_systems.build_hybrid(config).card.config["threshold"]

    assert threshold(vector=False) == 0.17
    assert threshold(keyword=False) == 0.43
    assert threshold(keyword=False, threshold=0.1) == 0.1


def test_the_card_names_the_parts_that_are_used() -> None:
    def parts(**config: object) -> set[str]:
        named = retrieval_systems.build_hybrid(config).card.config["parts"]
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
        retrieval_systems.build_hybrid({"date_weight": 0.1, "temporal_boost": 0.1})


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


@loop_over_rows(
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
def test_quotations_names_numbers_and_codes_match_word_for_word(
    question: str, exact: set[str]
) -> None:
    assert set(find_exact_words(question)) == exact


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
    lexicon = WordVectorTable()
    passages = [lexicon.number_words(text) for text in ("cold boiler", "cold pump", "", "a tulip")]

    same, half, nothing, other = lexicon.score_closeness("The cold boiler?", passages).tolist()

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
    assert answer.text.startswith("On 2025-03-03 (a): The boiler broke.")


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


@loop_over_rows(
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
    cutting = Chunker(chunking=chunking, window_chars=36, window_overlap=8)

    assert [excerpt.text for excerpt in cutting(episode(1, LOG))] == texts


async def test_a_paragraph_is_never_cut_and_a_turn_is_one_utterance() -> None:
    long = " ".join(
        f"The bed number {n} was covered with straw before the frost." for n in range(9)
    )
    chat = Episode(
        id="chat",
        day=1,
        at=compute_story_date(EPOCH, 1),
        text="",
        turns=(Turn(speaker="Ada", text=long), Turn(speaker="Bo", text="Fine.")),
    )

    async def texts(chunking: str) -> list[str]:
        memory = await lived(
            retrieval_systems.build_hybrid({"chunking": chunking, "threshold": 0}), chat
        )
        said = (await answered(memory, asked("Who covered the bed, fine?"))).passages
        return sorted(passage.text for passage in said)

    assert len(await texts("passage")) > 2
    assert await texts("turn") == [f"Ada: {long}", "Bo: Fine."]
    assert await texts("paragraph") == [f"Ada: {long}", "Bo: Fine."]
    assert await texts("session") == [f"Ada: {long} Bo: Fine."]


@pytest.mark.parametrize("consolidate", ["beside", "only"])
@pytest.mark.parametrize(
    "system", [retrieval_systems.build_hybrid, retrieval_systems.build_recency]
)
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


async def test_only_ingested_days_are_reported() -> None:
    memory = await lived(
        retrieval_systems.build_hybrid({**ALL_ON, "threshold": 0, "k": 99}), *fortnight()[:9]
    )

    answer = await answered(memory, asked("boiler degrees swim"))

    assert set(days_of(answer)) <= set(range(1, 10))
    last = EPOCH + timedelta(days=8)
    assert all(f"{last + timedelta(days=n)}" not in answer.text for n in range(1, 7))
