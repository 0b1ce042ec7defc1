"""Every change of a canary is named: new, healed, unclear, unasked, or another question."""

from pathlib import Path

import msgspec

from recall_bench.core.trial_states import TrialState
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.reporting.analyses.canaries import (
    CanaryQuestion,
    CanaryWatch,
    compare_canaries,
    find_canaries,
    is_recovery,
    update_canaries,
    watch_file,
    write_canaries,
)
from recall_bench.reporting.report_sections import describe_canaries
from recall_bench.reporting.sections import render_parts
from tests.loops import loop_over_rows
from tests.reporting.analyses.answer_tables import MADE_UP, SOUND, asked, table_of
from tests.written_runs import question

CALM = [asked(f"calm{n}", days=days) for n in range(30) for days in (100, 200, 300)]


def shown(watch: CanaryWatch, most: int | None = None) -> str:
    return "\n".join(render_parts(describe_canaries(watch, most=most))).rstrip()


def answers(name: str, made_up: int, sound: int = 0, **settings: object) -> list[TrialRow]:
    """This many answers to one question, each at its own size."""
    marks = [MADE_UP] * made_up + [SOUND] * sound
    return [
        asked(name, each, days=100 * (place + 1), **settings)  # type: ignore[arg-type]
        for place, each in enumerate(marks)
    ]


def run(*rows: TrialRow) -> TrialTable:
    return table_of([*CALM, *rows])


KEPT = find_canaries([run(*answers("a", 4), *answers("b", 4), *answers("c", 4))])


def changes(found: CanaryWatch) -> dict[str, str]:
    return {each.canary.question: each.change.value for each in found.watched}


def test_the_canaries_on_file_are_there() -> None:
    assert [each.question for each in KEPT] == ["a", "b", "c"]


@loop_over_rows(
    ("made_up", "sound", "change"),
    [
        (4, 0, "still"),
        (1, 0, "still"),
        (1, 1, "still"),
        (0, 1, "unclear"),
        (1, 2, "unclear"),
        (0, 2, "healed"),
        (1, 3, "healed"),
        (2, 4, "healed"),
        (0, 0, "unasked"),
    ],
)
def test_what_became_of_one(made_up: int, sound: int, change: str) -> None:
    found = compare_canaries([run(*answers("a", made_up, sound))], KEPT[:1])

    assert changes(found) == {"a": change}
    assert (found.watched[0].asked, found.watched[0].hallucinated) == (made_up + sound, made_up)


def test_a_system_that_repeats_itself_at_one_size_has_not_healed() -> None:
    """As many places as it takes to be found: two sizes, or two runs."""
    again = [asked("a", days=100, repeat=repeat) for repeat in range(5)]

    assert changes(compare_canaries([run(*again)], KEPT[:1])) == {"a": "unclear"}
    assert changes(compare_canaries([run(*again, asked("a", days=200))], KEPT[:1])) == {
        "a": "healed"
    }
    assert changes(compare_canaries([run(*again), run(*again)], KEPT[:1])) == {"a": "healed"}
    assert update_canaries(KEPT[:1], [run(*again)]) == KEPT[:1]


def test_half_made_up_at_one_size_is_still_a_canary() -> None:
    rows = [asked("a", MADE_UP if n % 2 else SOUND, days=100, repeat=n) for n in range(10)]

    assert changes(compare_canaries([run(*rows)], KEPT[:1])) == {"a": "still"}


def test_healed_is_what_a_canary_hardly_ever_looks_like() -> None:
    """By the binomial distribution: 0.2² is 4 %, one of three at 4 in 5 is 10 %."""
    assert not is_recovery(1, 0)
    assert is_recovery(2, 0)
    assert not is_recovery(3, 1)
    assert is_recovery(4, 1)
    assert not is_recovery(5, 2)
    assert is_recovery(10, 5)
    assert not is_recovery(10, 6)


def test_an_answer_without_a_verdict_is_not_asked() -> None:
    assert changes(compare_canaries([run(asked("a", TrialState.NOT_JUDGED))], KEPT[:1])) == {
        "a": "unasked"
    }


def test_one_that_is_not_on_file_is_new() -> None:
    found = compare_canaries([run(*answers("a", 3), *answers("n", 3))], KEPT[:1])

    assert changes(found) == {"n": "new", "a": "still"}
    assert found.watched[0].canary.asked == found.watched[0].asked == 3


def test_another_text_or_reference_is_another_question() -> None:
    item = question("a")
    item = msgspec.structs.replace(item, truth=item.truth.replace(reference="something else"))

    found = compare_canaries([run(*answers("a", 0, 4, item=item))], KEPT[:1])

    assert changes(found) == {"a": "changed"}


def test_another_question_may_be_a_canary_of_its_own() -> None:
    item = msgspec.structs.replace(question("a"), text="What else?")

    found = compare_canaries([run(*answers("a", 4, item=item))], KEPT[:1])

    assert [each.change.value for each in found.watched] == ["new", "changed"]
    assert found.watched[0].canary.text == "What else?"
    assert found.watched[1].canary.text == "What about a?"


def test_a_question_that_was_changed_and_not_asked_is_changed() -> None:
    table = run()
    item = msgspec.structs.replace(question("a"), text="What else?")
    table.items["ada"] = (*table.items["ada"], item)  # type: ignore[index]

    assert changes(compare_canaries([table], KEPT[:1])) == {"a": "changed"}


def test_what_changed_comes_first_then_by_name() -> None:
    rows = [*answers("a", 4), *answers("b", 0, 4), *answers("y", 3), *answers("n", 3)]

    found = compare_canaries([run(*rows)], KEPT)

    assert [(each.change.value, each.canary.question) for each in found.watched] == [
        ("new", "n"),
        ("new", "y"),
        ("healed", "b"),
        ("still", "a"),
        ("unasked", "c"),
    ]


def test_a_run_is_watched_against_a_file(tmp_path: Path) -> None:
    path = tmp_path / "canaries.json"
    write_canaries(path, KEPT, [])
    before = path.read_bytes()

    found = watch_file(run(*answers("a", 4), *answers("b", 0, 4)), path)

    assert found.file == str(path)
    assert changes(found) == {"b": "healed", "a": "still", "c": "unasked"}
    assert path.read_bytes() == before
    assert "80 % of the time" in found.rule


def test_without_a_file_all_are_new() -> None:
    found = watch_file(run(*answers("a", 4)), None)

    assert found.file is None
    assert changes(found) == {"a": "new"}


def test_an_update_drops_the_healed_and_keeps_what_was_not_asked() -> None:
    again = run(*answers("a", 3), *answers("b", 0, 4), *answers("n", 3))

    kept = update_canaries(KEPT, [again])

    assert [(each.question, each.asked) for each in kept] == [("a", 3), ("c", 4), ("n", 3)]


def test_an_update_keeps_what_is_unclear_as_it_was() -> None:
    assert update_canaries(KEPT[:1], [run(*answers("a", 1, 2))]) == KEPT[:1]
    assert update_canaries(KEPT[:1], [run(*answers("a", 1))]) == KEPT[:1]


def test_an_update_puts_another_question_in_the_place_of_the_old() -> None:
    item = msgspec.structs.replace(question("a"), text="What else?")

    (kept,) = update_canaries(KEPT[:1], [run(*answers("a", 4, item=item))])

    assert kept.text == "What else?"
    assert kept.digest != KEPT[0].digest
    assert update_canaries(KEPT[:1], [run(*answers("a", 0, 1, item=item))]) == ()


def test_the_text_names_every_change_and_counts_the_rest() -> None:
    rows = [*answers("a", 4), *answers("b", 0, 4), *answers("n", 3)]

    text = shown(compare_canaries([run(*rows)], KEPT))

    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "new What about n? ada/n 3 of 3 3 of 3" in lines
    assert "healed What about b? ada/b 0 of 4 4 of 4" in lines
    assert "still        1 · still hallucinates" in text
    assert "unasked      1 · not asked here" in text


def test_where_room_is_short_some_are_shown_and_all_are_counted() -> None:
    rows = [row for n in range(9) for row in answers(f"n{n}", 3)]

    text = shown(compare_canaries([run(*rows)], ()), most=2)

    assert "new          9 · " in text
    assert text.count("What about") == 2
    assert text.endswith("(2 of 9 canaries shown; --json has all)")
    assert "none is kept, so all are new" in text


def test_nothing_in_a_question_steers_a_terminal() -> None:
    hostile = "\x1b[2J\r" + "long " * 200
    canary: CanaryQuestion = KEPT[0].replace(text=hostile, persona="\x1b]0;x\x07", question="q\n")

    text = shown(
        compare_canaries([run()], [canary.replace(asked=1)]).replace(watched=(_new(canary),))
    )

    assert "\x1b" not in text
    assert "\r" not in text
    assert len(text) < 1000


def _new(canary: CanaryQuestion) -> object:
    (found,) = compare_canaries([run(*answers("a", 4))], ()).watched
    return found.replace(canary=canary)


def test_no_canaries_are_none() -> None:
    assert "Canaries     none" in shown(compare_canaries([run()], ()))
