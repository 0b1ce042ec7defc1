"""A day file is read sentence by sentence, and every offset leads back to the file."""

from recall_bench.generate.verification.day_parser import DaySentence, SentenceSplitter, parse_day
from tests.loops import loop_over_rows

FRONT = "---\ntype: daily\n---\n\n"


def read(body: str, *names: str) -> list[DaySentence]:
    day = parse_day(7, FRONT + body)
    return [
        s for block in day.blocks for s in SentenceSplitter(names).iterate_sentences(day, block)
    ]


def sentences(prose: str, *names: str) -> list[str]:
    return [s.text for s in read(f"# session: a\n\n{prose}\n", *names)]


def test_a_sentence_knows_its_day_its_session_and_its_place() -> None:
    body = "# session: oncall\n\n### Paged\nIt came in. We left.\n\n# session: deal\n\n### X\nNo.\n"

    found = read(body)

    assert [(s.session, s.text) for s in found] == [
        ("oncall", "Paged"),
        ("oncall", "It came in."),
        ("oncall", "We left."),
        ("deal", "X"),
        ("deal", "No."),
    ]
    assert all((FRONT + body)[s.start : s.end] == s.text for s in found)
    assert {s.day for s in found} == {7}


def test_front_matter_and_session_headings_are_no_sentences() -> None:
    assert [s.text for s in read("# session: a\n\n### H\n")] == ["H"]


@loop_over_rows(
    "prose",
    [
        "Dr. Okafor and Mr. Hale met Ms. Lind vs. St. Anne's team.",
        "It runs at 2.5 mg, e.g. Tuesday, i.e. Monday.",
        "Crane No. 4 is up.",
        "It began at 9 a.m. Monday and ended at 08:45 sharp.",
        "J. T. Marsh met Samuel T. Okafor.",
        "He asked “Why?” and left.",
        "Version 1.2.3 costs $1.50 now.",
        "Paid on Jan. 4 in full.",
    ],
)
def test_points_that_end_no_sentence_end_none(prose: str) -> None:
    assert sentences(prose) == [prose]


@loop_over_rows(
    ("prose", "parts"),
    [
        ("It was 840 ms. Priya left.", ["It was 840 ms.", "Priya left."]),
        ("Filed as LT-4471-B. Priya left.", ["Filed as LT-4471-B.", "Priya left."]),
        ("We took plan B. Priya left.", ["We took plan B.", "Priya left."]),
        ("Plan B. The rest is fine.", ["Plan B.", "The rest is fine."]),
        ("He said no. Priya left.", ["He said no.", "Priya left."]),
        ("It fell to 12%. 4 March is near.", ["It fell to 12%.", "4 March is near."]),
        ("“Done.” Priya left!", ["“Done.”", "Priya left!"]),
        ("What now? $40 it is.", ["What now?", "$40 it is."]),
        ("It came at 6 a.m. Priya left.", ["It came at 6 a.m.", "Priya left."]),
        ("Well... Priya left.", ["Well...", "Priya left."]),
    ],
)
def test_points_that_end_a_sentence_end_it(prose: str, parts: list[str]) -> None:
    assert sentences(prose) == parts


def test_a_point_within_a_known_name_ends_nothing() -> None:
    prose = "We met Halloway Inc. Systems today."

    assert sentences(prose, "Halloway Inc. Systems") == [prose]
    assert len(sentences(prose)) == 2


def test_entries_and_quoted_lines_stand_alone() -> None:
    assert sentences("It is so\n- first one\n- second one\n> and a quote\n1. third") == [
        "It is so",
        "first one",
        "second one",
        "and a quote",
        "third",
    ]


def test_an_entry_goes_on_in_an_indented_line_and_in_no_other() -> None:
    assert sentences("- first\n and more\nnot of it") == ["first  and more", "not of it"]


def test_a_wrapped_line_does_not_end_a_sentence_and_a_blank_one_does() -> None:
    assert sentences("It was\nlate\n\nand cold") == ["It was late", "and cold"]


def test_line_ends_of_any_kind_keep_the_offsets() -> None:
    raw = (
        "---\r\ntype: daily\r\n---\r\n\r\n# session: a\r\n\r\n### H\r\nOne\r\ntwo.\r\n- Three.\r\n"
    )
    day = parse_day(1, raw)

    found = [s for block in day.blocks for s in SentenceSplitter().iterate_sentences(day, block)]

    assert [raw[s.start : s.end] for s in found] == ["H", "One\r\ntwo.", "Three."]


def test_text_above_every_session_is_the_principals() -> None:
    assert [(s.session, s.text) for s in read("Good morning.")] == [("principal", "Good morning.")]
