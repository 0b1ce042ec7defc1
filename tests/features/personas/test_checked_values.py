"""A story is indexed once for every question there may be, and says the same as for one."""

from pathlib import Path

from recall_bench.features.personas.checks.story_checker import parse_entry, read_corpus
from recall_bench.stories.lint.value_index import LintQuestion, ValueIndex
from recall_bench.stories.persona_files import Layout
from recall_bench.text.text_values import MONEY, find_claims
from tests.stories.lint.lint_story import ARCS, question, write

DAYS = {
    1: "The toll is £40, or forty pounds, says Hob Tarn: “pay at the gate”.",
    2: 'Vera Sand saw 3 boats at 09:40. "Pay at the gate", she said.',
    3: "Nothing but fog.",
}
ANSWER = 'Hob Tarn took £40 at 9:40 AM and said "pay at the gate".'


def test_an_index_of_everything_knows_what_one_of_the_answer_knows(tmp_path: Path) -> None:
    corpus = read_corpus(Layout(write(tmp_path, DAYS), ARCS))
    wanted = find_claims(ANSWER)
    narrow = ValueIndex(corpus.days, wanted)

    assert len(wanted) == 4
    for atom in wanted:
        assert corpus.index.find_spots(atom) == narrow.find_spots(atom)
        assert corpus.index.find_loose_days(atom) == narrow.find_loose_days(atom)
        assert [said.text for said in corpus.index.find_mentions(atom)] == [
            said.text for said in narrow.find_mentions(atom)
        ]


def test_values_of_a_kind_can_be_listed(tmp_path: Path) -> None:
    corpus = read_corpus(Layout(write(tmp_path, DAYS), ARCS))

    assert [(value, said.day) for value, said in corpus.index.find_kind(MONEY)] == [("gbp 40", 1)]


def test_other_questions_are_asked_of_the_same_days(tmp_path: Path) -> None:
    corpus = read_corpus(Layout(write(tmp_path, DAYS), ARCS))
    asked = parse_entry(corpus, question("What is the toll?", "£40.", 1))
    assert isinstance(asked, LintQuestion)

    other = corpus.replace_questions([asked])

    assert other.questions == (asked,)
    assert other.index is corpus.index
    assert other.text_dates is corpus.text_dates
    assert corpus.questions == ()
