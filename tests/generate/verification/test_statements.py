"""A sentence states a value of a thread by a cue; what can be read in two ways states nothing."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from recall_bench.generate.verification.day_parser import parse_day
from recall_bench.generate.verification.lexicon import read_lexicon
from recall_bench.generate.verification.statements import StatementTable
from recall_bench.generate.verification.verifier import read_statements
from tests.generate.verification.corpus import LEXICON, Corpus

ONE, TWO = "regression-1", "regression-2"


def read(tmp_path: Path, *blocks: str, **slots: dict[str, Any]) -> StatementTable:
    """The table of one day that tells these blocks in one session."""
    lexicon = deepcopy(LEXICON)
    lexicon["slots"] |= {f"regression.{name}": slot for name, slot in slots.items()}
    (tmp_path / "lexicon.json").write_text(json.dumps(lexicon), encoding="utf-8")
    told = parse_day(5, "# session: oncall\n\n" + "\n\n".join(f"### {block}" for block in blocks))
    return read_statements(read_lexicon(tmp_path / "lexicon.json", "l"), [told]).table


def stated(table: StatementTable, slot: str, thread: str = ONE) -> list[tuple[str, bool]]:
    return [(s.value.surface, s.is_stale) for s in table.stated.get((thread, slot), [])]


def doubted(table: StatementTable, what: str, thread: str = ONE) -> int:
    return len(table.doubts.get((thread, what), []))


def test_the_thread_named_in_the_heading_is_meant(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nWe looked. The P99 stood at 840 ms.")

    assert stated(table, "p99") == [("840 ms", False)]


def test_the_thread_named_in_the_sentence_comes_before_the_blocks(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nThe p99 of RB-4102 stood at 840 ms.")

    assert stated(table, "p99") == []
    assert stated(table, "p99", TWO) == [("840 ms", False)]


def test_a_sentence_before_any_name_is_about_nothing(tmp_path: Path) -> None:
    table = read(tmp_path, "Paged\nThe p99 stood at 840 ms. It was RB-4101.")

    assert (table.stated, table.doubts) == ({}, {})


def test_a_name_does_not_reach_into_the_next_block(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nWe looked.", "Else\nThe p99 stood at 840 ms.")

    assert table.stated == {}


def test_an_entry_is_about_the_thread_it_names(tmp_path: Path) -> None:
    table = read(
        tmp_path, "Also\n- RB-4101 again. The p99 stood at 1 ms.\n- RB-4102. The p99 is 2 ms."
    )

    assert stated(table, "p99") == [("1 ms", False)]
    assert stated(table, "p99", TWO) == [("2 ms", False)]


def test_an_unattributed_cue_in_a_block_of_two_threads_is_a_doubt(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101 and RB-4102\nThe p99 stood at 840 ms. We rolled back.")

    assert (table.stated, table.steps) == ({}, {})
    assert [doubted(table, what, who) for what in ("p99", "rolled-back") for who in (ONE, TWO)] == [
        1
    ] * 4


def test_so_it_is_if_only_one_of_the_two_has_the_cue(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101 and Condor\nThe p99 stood at 840 ms.")

    assert table.stated == {}
    assert doubted(table, "p99") == 1


def test_a_sentence_that_names_two_of_a_kind_is_a_doubt(tmp_path: Path) -> None:
    table = read(tmp_path, "Both\nThe p99 of RB-4101 and RB-4102 stood at 840 ms.")

    assert table.stated == {}
    assert doubted(table, "p99") == doubted(table, "p99", TWO) == 1


def test_two_values_of_the_kind_are_a_doubt(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nThe p99 stood at 840 ms or 850 ms.")

    assert table.stated == {}
    assert doubted(table, "p99") == 1


def test_values_of_another_kind_or_unit_are_none_of_it(tmp_path: Path) -> None:
    table = read(
        tmp_path, "RB-4101\nOn 4 March at 08:45 the p99 was 840 ms over 30 s, 12% more for $3."
    )

    assert stated(table, "p99") == [("840 ms", False)]


def test_the_same_value_twice_is_one(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nThe p99 stood at 1,200 ms, yes, 1200 ms.")

    assert stated(table, "p99") == [("1,200 ms", False)]


def test_a_cue_with_a_place_takes_the_value_there_and_no_other(tmp_path: Path) -> None:
    table = read(
        tmp_path,
        "RB-4101\nOkafor said Priya Raman took it. Priya had it for a fee of $40, not $50.",
    )

    assert stated(table, "owner") == [("Priya Raman", False)]
    assert stated(table, "fee") == [("$40", False), ("$50", True)]


def test_two_values_in_places_are_a_doubt(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nPriya took it, then it was assigned to Okafor.")

    assert table.stated == {}
    assert doubted(table, "owner") == 1


@pytest.mark.parametrize(
    "marker",
    [
        "from",
        "instead of",
        "not",
        "no longer",
        "rather than",
        "previously",
        "formerly",
        "replacing",
    ],
)
def test_a_value_right_after_such_words_is_stale(tmp_path: Path, marker: str) -> None:
    table = read(tmp_path, f"RB-4101\nThe p99 is 910 ms, {marker} 840 ms.")

    assert stated(table, "p99") == [("910 ms", False), ("840 ms", True)]


def test_a_cue_that_ends_in_such_a_word_states_its_value(tmp_path: Path) -> None:
    cue = {"kind": "person", "cues": ["inherited from _"]}

    table = read(tmp_path, "RB-4101\nIt was inherited from Priya.", giver=cue)

    assert stated(table, "giver") == [("Priya", False)]


def test_a_stale_value_is_not_stated_by_the_words_after_it(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nIt is no longer Priya took it.")

    assert table.stated == {}


def test_a_cue_is_whole_words_in_any_case(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nThe P99s were 840 ms. It overcame in. Foreclosed!")

    assert (table.stated, table.steps) == ({}, {})


def test_a_cue_may_be_wrapped(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101\nWe have a fix\nis due 11\nMarch 2024. It came\nin.")

    assert stated(table, "due") == [("11 March 2024", False)]
    assert (ONE, "opened") in table.steps


def test_a_heading_can_tell_of_a_step(tmp_path: Path) -> None:
    table = read(tmp_path, "RB-4101 rolled back\nDone.")

    assert [s.text for s in table.steps[ONE, "rolled-back"]] == ["RB-4101 rolled back"]


def test_a_threads_own_name_is_no_value(tmp_path: Path) -> None:
    cue = {"kind": "code", "cues": ["tagged"]}

    table = read(tmp_path, "Paged\nRB-4101 was tagged 7B at 9.", tag=cue)

    assert stated(table, "tag") == [("7B", False)]


def test_a_bare_number_is_a_code_only_where_a_cue_puts_it(tmp_path: Path) -> None:
    placed = {"kind": "code", "cues": ["row _"]}
    near = {"kind": "code", "cues": ["tagged"]}

    table = read(tmp_path, "RB-4101\nIt is in row 4471. It was tagged 9.", row=placed, tag=near)

    assert stated(table, "row") == [("4471", False)]
    assert stated(table, "tag") == []


def test_an_ambiguous_sentence_is_found_where_it_touches_a_question(corpus: Corpus) -> None:
    corpus.tell(20, "oncall", "RB-4101", "Some say the p99 was 1 ms, some say 2 ms.")

    assert corpus.found() == [("ambiguous", f"question {name}") for name in ("p99", "highest")]


def test_an_ambiguous_step_is_found_where_it_touches_a_question(corpus: Corpus) -> None:
    corpus.tell(20, "oncall", "RB-4101 and RB-4102", "Some say we rolled back.")
    corpus.only("did")

    assert corpus.found() == [("ambiguous", "question did")]


def test_an_ambiguous_sentence_after_the_last_asking_is_no_finding(corpus: Corpus) -> None:
    corpus.tell(20, "oncall", "RB-4101", "Some say the fix is due 1 March or 2 March.")
    corpus.only("due-first")

    assert corpus.found() == []


def test_an_ambiguous_sentence_without_a_question_is_no_finding(corpus: Corpus) -> None:
    corpus.tell(35, "oncall", "RB-4103", "It was assigned to Priya, then assigned to Okafor.")

    assert corpus.found() == []
