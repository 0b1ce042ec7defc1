"""A yes and a no are known in every language that stories are told in."""

from recall_bench.core.scenario import Item, Truth
from recall_bench.stories.lint.value_index import LintQuestion
from recall_bench.text.languages import get_language, is_affirmation, is_denial
from tests.loops import loop_over_rows


def make_question(answer: str) -> LintQuestion:
    truth = Truth(reference=answer, category="negative-recall")
    return LintQuestion(Item(id="q", text="?", truth=truth, known_from=1), None)


@loop_over_rows(
    ("code", "answer", "side"),
    [
        ("en", "Yes, on Monday.", "yes"),
        ("en", "Yesterday.", None),
        ("en", "No.", "no"),
        ("de", "Ja, sagte sie.", "yes"),
        ("de", "Januar.", None),
        ("de", "Nein, erst im Mai.", "no"),
        ("es", "Sí, el lunes.", "yes"),
        ("es", "No, nadie.", "no"),
        ("ja", "はい、月曜日です。", "yes"),
        ("ja", "いいえ、違います。", "no"),
        ("ar", "نعم، يوم الاثنين.", "yes"),
        ("ar", "لا، لم يحدث.", "no"),
    ],
)
def test_an_answer_that_begins_with_yes_or_no(code: str, answer: str, side: str | None) -> None:
    language, question = get_language(code), make_question(answer)

    assert is_affirmation(answer, language) is (side == "yes")
    assert is_denial(answer, language) is (side == "no")
    assert (question.affirms, question.denies) == (side == "yes", side == "no")
