"""A portrait says in numbers what a dataset is like, whoever made it."""

from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.personas.dataset_statistics import (
    DatasetStatistics,
    PartOfWhole,
    compute_spread,
    compute_statistics,
    mask_sentence,
    render_statistics,
)
from tests.stories.lint.lint_story import ARCS, Question, question, secret, write

ASKED = question("What did Hob pay?", "£40.", 1)


def portrait(tmp_path: Path, days: dict[int, str], *asked: Question) -> DatasetStatistics:
    return compute_statistics(write(tmp_path / "data", days, asked or (ASKED,)), ARCS)


def test_percentiles_are_numbers_that_occur() -> None:
    assert list(compute_spread([30, 10, 20]).values()) == [10, 10, 20, 30, 30]
    assert list(compute_spread(range(1, 11)).values()) == [1, 1, 5, 9, 10]


def test_nothing_has_no_spread_and_no_share() -> None:
    assert compute_spread([]) == {}
    assert str(PartOfWhole(part=0, whole=0)).endswith("-- ")


def test_days_are_counted_by_their_words_and_not_by_their_marks(tmp_path: Path) -> None:
    """The lock's day has one heading of one word; session and front matter do not count."""
    lengths = {1: 198, 2: 199, 3: 299, 4: 899, 5: 900}
    found = portrait(tmp_path, {day: "word " * n + "- —" for day, n in lengths.items()})

    assert list(found.words_a_day.values()) == [199, 199, 300, 901, 901]
    assert [share.part for name, share in found.shares.items() if name.startswith("days have")] == [
        0,
        1,
        2,
        1,
    ]


def test_days_without_a_file_are_gaps(tmp_path: Path) -> None:
    calendar = portrait(tmp_path, dict.fromkeys((2, 3, 6, 10), "Rain."))

    assert (calendar.days, calendar.last_day) == (4, 10)
    assert (calendar.shares["days have no file"].part, calendar.longest_gap) == (6, 3)


def test_sessions_are_counted_by_day(tmp_path: Path) -> None:
    two = "# session: principal\n\nRain.\n\n# session: boats\n\nFog.\n\n# session: boats\n\nSun."
    calendar = portrait(tmp_path, {1: two, 2: "Rain.", 3: "Rain."})

    assert list(calendar.sessions_a_day.values()) == [1, 1, 1, 2, 2]


def test_a_sentence_is_new_word_for_word_or_by_its_skeleton(tmp_path: Path) -> None:
    prose = portrait(
        tmp_path,
        {
            1: "Hob paid £40 at the upper gate. Too short to count.",
            2: "Vera paid £55 at the upper gate.",
            3: "Hob paid £40 at the upper gate. The wind took a slate off the roof.",
        },
    )

    assert [
        share
        for name, share in prose.shares.items()
        if name.startswith(("sentences of six", "are new with"))
    ] == [PartOfWhole(part=3, whole=4), PartOfWhole(part=2, whole=4)]
    assert prose.repeated == {"@ paid # at the upper gate.": 3}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        pytest.param(
            "We sold 1,240 of 2.5 mg at 07:40 for $4,350.", "We sold # of # mg at # for #."
        ),
        pytest.param("We read INC-204 and 12%, no more.", "We read # and #, no more.", id="codes"),
        pytest.param("We met Hob Tarn and Vera.", "We met @ and @.", id="names"),
        pytest.param("We heard “all clear” twice.", "We heard “…” twice.", id="quotations"),
        pytest.param("Hob and I paid; I'm sure.", "@ and I paid; I'm sure.", id="the writer"),
        pytest.param("Water rose; so did Hob.", "Water rose; so did @.", id="an ordinary start"),
    ],
)
def test_a_skeleton_masks_figures_names_and_quotations(sentence: str, expected: str) -> None:
    assert mask_sentence(sentence, frozenset({"we", "water"})) == expected


def test_a_name_is_known_even_where_a_sentence_starts_with_it(tmp_path: Path) -> None:
    """`Gate` is written small elsewhere; `Hob` too, but more often with a capital."""
    prose = portrait(
        tmp_path,
        {
            1: "Gate and sill were scraped by noon. Hob was at the upper gate by noon.",
            2: "Vera was at the upper gate by noon. Sill and beam were scraped by noon.",
            3: "I asked Hob. He asked Hob. Write to hob@lock.example.",
        },
    )

    assert list(prose.repeated) == ["@ was at the upper gate by noon."]


def test_the_vocabulary_is_words_and_not_figures(tmp_path: Path) -> None:
    prose = portrait(tmp_path, {1: "Rain, rain and 14 boats; boat 15."})

    assert prose.shares["different words are used once"] == PartOfWhole(
        part=4, whole=5
    )  # log and boats boat, but rain twice


def test_questions_are_counted_by_category_third_and_difficulty(tmp_path: Path) -> None:
    portrayed = portrait(
        tmp_path,
        dict.fromkeys((1, 3, 4, 9), "Rain."),
        question("What fell first?", "Rain.", 1),
        question("What fell then?", "Rain.", 3, difficulty="hard"),
        question("What fell after that?", "Rain.", 1, answerable_from=4),
        question("What fell on both?", "Rain.", 3, 9, category="synthesis", difficulty="medium"),
    )

    factual, synthesis = (portrayed.categories[k] for k in ("factual-recall", "synthesis"))
    assert (factual.questions, factual.thirds) == (3, (2, 1, 0))
    assert factual.difficulties == {"easy": 2, "medium": 0, "hard": 1}
    assert (synthesis.questions, synthesis.thirds) == (1, (0, 0, 1))
    assert portrayed.overall.thirds == (2, 1, 1)
    assert len(portrayed.categories) == 10


def test_early_is_what_a_checkpoint_on_day_30_asks(tmp_path: Path) -> None:
    overall = portrait(
        tmp_path,
        dict.fromkeys((1, 30, 31), "Rain."),
        question("What fell by then?", "Rain.", 30),
        question("What fell later?", "Rain.", 31),
        question("What fell for a while?", "Rain.", 1, irrelevant_after=29),
    ).overall

    assert overall.early == 1


def test_overlap_is_with_the_sentences_that_answer(tmp_path: Path) -> None:
    """Of `sum`, `Hob`, `pay` and `gate` the sentence has two; the rest of the day has more."""
    day = "Hob was at the gate. The sum to pay was £40."
    written = f"---\ntype: daily\n---\n\n# session: principal\n\n### Log\n{day}\n"
    start = written.index("Hob was")
    span = {"day": 1, "session": "principal", "start": start, "end": start + 20}
    asked = portrait(
        tmp_path,
        {1: day},
        question("What sum did Hob pay at the gate?", "£40.", 1, evidence=[span]),
        question("How much fell?", "Rain.", 1, evidence=[span]),
        question("What came first?", "Rain.", 1),
    )

    assert written[start : start + 20] == "Hob was at the gate."
    assert asked.overall.overlap == pytest.approx((2 / 4 + 0) / 2)
    assert asked.shares["questions share no word with their evidence"] == PartOfWhole(
        part=1, whole=2
    )


def test_no_sentences_no_overlap(tmp_path: Path) -> None:
    asked = portrait(tmp_path, {1: "Rain."})

    assert asked.overall.overlap is None
    assert asked.shares["questions share no word with their evidence"].whole == 0


def test_constant_answers_have_their_shares(tmp_path: Path) -> None:
    asked = portrait(
        tmp_path,
        {1: "Rain."},
        question("Did the gate jam?", "No, never.", 1, category="negative-recall"),
        question("Did the gate open?", "Yes, at 07:00.", 1, category="negative-recall"),
        question("Did the roof leak?", "No.", 1, category="negative-recall"),
        secret("What did the auditor find?", "That stays in the audit.", 1),
        secret("What may we know?", "The date.", 1, expected_disclosure="answer"),
    )

    wanted = {name: share for name, share in asked.shares.items() if "want" in name}
    assert wanted == {
        "negative-recall questions want a No": PartOfWhole(part=2, whole=3),
        "questions want a No": PartOfWhole(part=2, whole=5),
        "information-boundary questions want a refusal": PartOfWhole(part=1, whole=2),
        "questions want a refusal": PartOfWhole(part=1, whole=5),
    }


PUMPS = {
    1: "Pump P-1 came in; the cost is £40.",
    3: "Pump P-2 came in; the cost is £90.",
    8: "Pump P-1 drew 30 l.",
    11: "Nothing about pumps.",
    14: "Still pump P-1: the cost is £40.",
}


def test_a_folder_without_days_has_no_statistics(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", {1: "Rain."}, [ASKED])
    (folder / "memories-20d" / "day-0001.md").unlink()
    (folder / "memories-20d").rmdir()

    with pytest.raises(UsageError, match="memories-20d"):
        compute_statistics(folder, ARCS)


def test_faults_are_counted_and_the_rest_is_drawn(tmp_path: Path) -> None:
    wrong = question("What fell?", "Rain.", 7)
    portrayed = portrait(tmp_path, {1: "Rain."}, ASKED, wrong)

    assert portrayed.problems == 1
    assert portrayed.overall.questions == 1
    assert "1 fault in its files" in render_statistics(portrayed)


@pytest.mark.parametrize("days", [PUMPS, {}], ids=["days", "no days"])
def test_what_is_printed_fits_a_hundred_columns(tmp_path: Path, days: dict[int, str]) -> None:
    long = "This and that of the many things at the gate, the sill and the wall went on and on."
    folder = write(tmp_path / "data", days | dict.fromkeys(days, long * 3), [ASKED])

    text = render_statistics(compute_statistics(folder, ARCS))

    assert max(map(len, text.splitlines())) <= 100
    assert text.startswith("lock, arcs-20d.yaml: ")
