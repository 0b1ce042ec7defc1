"""Every text is kept once, whole as long as it is not endless, and found again by its place."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Item
from recall_bench.engine.runs.journal import JOURNAL, encode_events, read_events
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.reporting.pages.page_data import (
    MAX_TEXT_LENGTH,
    PersonaDetails,
    collect_details,
    count_utf16,
    encode_heatmap,
    truncate_text,
)
from tests.reporting.charts.sample_report import sampled_report
from tests.reporting.pages.sample_pages import DAY, SENTENCE, STORIES, ada, ada_run
from tests.written_runs import PERFECT, Story, plan_of, trial


def details_of(folder: RunFolder) -> PersonaDetails:
    places = {item.id: place for place, item in enumerate(ada())}
    rows = {result.trial: row for row, result in enumerate(folder.results("ada"))}
    return collect_details(folder, "ada", STORIES["ada"], places=places, rows=rows)


def test_answers_are_kept_once_in_the_order_of_the_questions(tmp_path: Path) -> None:
    details = details_of(ada_run(tmp_path).open())

    assert details.answers == [
        "The cat is Fig.",
        "The cat is Plum.",
        "The dog flew in from Rome.",
        "There is no fox.",
    ]
    assert details.answer_of == {0: 0, 3: 1, 4: 2, 2: 3, 5: 3}


def test_texts_lie_by_day_and_the_day_comes_before_its_passages(tmp_path: Path) -> None:
    details = details_of(ada_run(tmp_path).open())

    assert [(each.day, each.text) for each in details.texts] == [
        (1, DAY),
        (1, SENTENCE),
        (2, "The dog moved in."),
    ]


def test_a_journal_with_references_gives_the_same_details(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ada()}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    for each in (trial("cat"), trial("cat", "4d")):
        story.answer(each, "Fig", Passage(text=SENTENCE * 9, day=1), Passage(text=SENTENCE, day=1))
    journal = story.save() / JOURNAL
    told = details_of(RunFolder.open(journal.parent))

    journal.write_bytes(b"".join(encode_events(list(read_events(journal)))))

    assert b'"text_at":[' in journal.read_bytes()
    assert details_of(RunFolder.open(journal.parent)) == told


def test_a_passage_that_is_the_whole_day_is_kept_once(tmp_path: Path) -> None:
    details = details_of(ada_run(tmp_path).open())
    cat = details.questions[0]["trials"]
    dog = details.questions[1]["evidence"]

    assert isinstance(cat, dict)
    assert cat["0"]["passages"] == [1, 2]
    assert dog == [{"day": 2, "text": 2}]


def test_a_span_is_counted_as_a_browser_counts(tmp_path: Path) -> None:
    """The owl in front of it is one character here and two there."""
    details = details_of(ada_run(tmp_path).open())

    start = DAY.index(SENTENCE) + 1
    assert details.questions[0]["evidence"] == [
        {"day": 1, "text": 0, "span": [start, start + len(SENTENCE)]}
    ]
    assert count_utf16("a🦉b") == 4


def test_an_endless_answer_is_cut_and_says_so(tmp_path: Path) -> None:
    scenarios: dict[str, Sequence[Item]] = {"ada": ada()}
    story = Story(tmp_path, scenarios, plan_of(scenarios))
    story.answer(
        trial("cat"), "a" * (MAX_TEXT_LENGTH + 5), Passage(text="b" * (MAX_TEXT_LENGTH + 7), day=1)
    )
    story.judge(trial("cat"), PERFECT)

    details = details_of(story.open())

    assert details.answers[0].endswith("a… [5 more characters are in the journal]")
    assert any(
        each.text.endswith("b… [7 more characters are in the journal]") for each in details.texts
    )
    assert truncate_text("a" * MAX_TEXT_LENGTH) == "a" * MAX_TEXT_LENGTH


def test_what_a_judge_who_does_not_tell_found_is_not_nothing(tmp_path: Path) -> None:
    """The first judge tells, for it noticed something once; the second never did."""
    details = details_of(ada_run(tmp_path).open())
    cat, fox = details.questions[0]["trials"], details.questions[2]["trials"]

    assert isinstance(cat, dict)
    assert isinstance(fox, dict)
    assert cat["0"]["verdict"]["findings"] == ()
    assert cat["3"]["verdict"]["findings"] == ("contradiction",)
    assert fox["2"]["verdict"]["findings"] is None
    assert fox["2"]["primary"]["findings"] == ()


def test_a_heatmap_has_its_figures_as_text_with_silence_and_ceiling() -> None:
    heatmap = sampled_report(3).heatmaps[0]

    found = encode_heatmap(heatmap)

    rows = found["rows"]
    assert isinstance(rows, list)
    assert [row["name"] for row in rows[-3:]] == ["overall", "invented", "leaked"]
    first, mean = rows[0]["cells"][0], heatmap.rows[0].cells[0]
    assert mean is not None
    assert first[:4] == ["83", "s50", f"{100 * mean.value / 6:.1f} of 100", "77.5 to 90.3"]
    assert rows[0]["bounds"] == ["25", "93"]
    assert "bounds" not in rows[-1]
