"""Day numbers become the dates that readers of the log know."""

import pytest

from recall_bench.features.personas.checks.story_checker import read_corpus
from recall_bench.features.personas.checks.time_check import replace_day_numbers
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.persona_files import Layout
from tests.stories.lint.lint_story import ARCS, write


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> LintCorpus:
    days = {day: f"Fog, {day} herons." for day in range(1, 8)}
    return read_corpus(Layout(write(tmp_path_factory.mktemp("lock"), days), ARCS))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What was seen on day 2?", "What was seen on 2025-03-04?"),
        ("What was seen on Day 2?", "What was seen on 2025-03-04?"),
        ("What was seen on days 2–4?", "What was seen from 2025-03-04 to 2025-03-06?"),
        ("Across days 2 through 4, what?", "From 2025-03-04 to 2025-03-06, what?"),
        ("Between day 2 and day 4?", "Between 2025-03-04 and 2025-03-06?"),
        ("On days 1, 3 and 5?", "On 2025-03-03, 2025-03-05 and 2025-03-07?"),
        ("By day 7.", "By 2025-03-09."),
    ],
)
def test_each_number_becomes_its_date(corpus: LintCorpus, text: str, wanted: str) -> None:
    assert replace_day_numbers(corpus, text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "On day 8?",
        "On days 5–8?",
        "For 3 days?",
        "In 2 days 4 boats came.",
        "On day 2 of the trial?",
        "Day 2.5?",
        "Today?",
    ],
)
def test_what_is_no_day_of_the_story_is_left_alone(corpus: LintCorpus, text: str) -> None:
    assert replace_day_numbers(corpus, text) is None
