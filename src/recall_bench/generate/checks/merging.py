"""The checks and a model's opinion of a question made one verdict and one repair."""

from collections.abc import Mapping

from recall_bench.generate.checks.checker import ProblemKind, QuestionProblem, QuestionRepair
from recall_bench.generate.checks.examining import StoryChecker, is_no_worse
from recall_bench.generate.checks.file_check import CheckedQuestion
from recall_bench.generate.checks.opinion import ModelOpinion
from recall_bench.generate.checks.repairs import apply_changes
from recall_bench.generate.checks.secrecy import find_retold_sentences, find_secret_words
from recall_bench.generate.checks.story import parse_entry
from recall_bench.generate.checks.support import GUARDED
from recall_bench.generate.checks.verified import (
    FoundProblem,
    ProposedRepair,
    QuestionVerdict,
    VerifiedQuestion,
)
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.boundary import find_disclosures
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.words import split_words


def merge_opinion(
    checked: CheckedQuestion, opinion: ModelOpinion | None, checker: StoryChecker
) -> VerifiedQuestion:
    """What is written of a question; the checker knows the others as they would be."""
    problems = list(checked.examined.problems)
    repair, refused = checked.examined.repair, None
    if opinion is not None:
        problems += _list_model_problems(opinion)
        suggested = _collect_suggestions(opinion)
        if suggested and checked.repaired is not None:
            refused = _find_refusal(checker, checked.repaired, suggested)
            if refused is None:
                repair = _join_repairs(repair, suggested, opinion)
    return VerifiedQuestion(
        id=checked.name,
        verdict=_choose_verdict(problems, opinion),
        problems=tuple(FoundProblem(kind=p.kind, message=p.message) for p in problems),
        repair=None
        if repair is None
        else ProposedRepair(changes=dict(repair.changes), why=repair.why, removes=repair.removes),
        model=None if opinion is None else f"{opinion.verdict}: {opinion.reasoning}",
        refused=refused,
    )


def _choose_verdict(
    problems: list[QuestionProblem], opinion: ModelOpinion | None
) -> QuestionVerdict:
    """The worse of what the checks and the model say."""
    own = QuestionVerdict.NEEDS_CLEANUP if problems else QuestionVerdict.ANSWERABLE
    if any(problem.is_grave for problem in problems):
        own = QuestionVerdict.DEFECTIVE
    return max(own, opinion.verdict if opinion else own, key=lambda verdict: verdict.rank)


def _list_model_problems(opinion: ModelOpinion) -> list[QuestionProblem]:
    found = [
        QuestionProblem(
            kind=ProblemKind.SUPPORT,
            message=f"the model finds no support for “{claim}”; leave it out, or name its day",
        )
        for claim in opinion.unsupported
    ]
    if opinion.irrelevant_after is not None:
        message = f"the model sees the answer change after day {opinion.irrelevant_after}"
        found.append(
            QuestionProblem(
                kind=ProblemKind.STALENESS, message=f"{message}; add irrelevant_after, or a date"
            )
        )
    if opinion.question is not None:
        message = f"the model would ask “{opinion.question}”; say what is meant"
        found.append(QuestionProblem(kind=ProblemKind.VAGUENESS, message=message))
    if not found and opinion.verdict is not QuestionVerdict.ANSWERABLE:
        message = f"the model says: {opinion.reasoning or opinion.verdict}; look at it"
        found.append(QuestionProblem(kind=ProblemKind.SUPPORT, message=message))
    return found


def _collect_suggestions(opinion: ModelOpinion) -> dict[str, object]:
    changes: dict[str, object] = {}
    if opinion.question is not None:
        changes["question"] = opinion.question
    if opinion.answer is not None:
        changes["answer"] = opinion.answer
    if opinion.irrelevant_after is not None:
        changes["irrelevant_after"] = opinion.irrelevant_after
        changes["changes_on"] = opinion.irrelevant_after + 1
    return changes


def _join_repairs(
    repair: QuestionRepair | None, suggested: dict[str, object], opinion: ModelOpinion
) -> QuestionRepair:
    before: Mapping[str, object] = repair.changes if repair else {}
    why = f"the model: {opinion.reasoning or opinion.verdict}"
    return QuestionRepair(
        changes={**before, **suggested}, why=f"{repair.why}; {why}" if repair else why
    )


def _find_refusal(
    checker: StoryChecker, entry: Mapping[str, object], suggested: dict[str, object]
) -> str | None:
    """Why the suggestion is not to be proposed; None if it may be."""
    corpus = checker.corpus
    was = parse_entry(corpus, entry)
    becomes = parse_entry(corpus, apply_changes(entry, suggested))
    if not isinstance(becomes, LintQuestion) or not isinstance(was, LintQuestion):
        reasons = becomes if not isinstance(becomes, LintQuestion) else ()
        return f"with what the model suggests the entry is malformed: {'; '.join(reasons)}"
    if becomes.item.truth.disclosure in GUARDED:
        told = [
            *find_disclosures(corpus, becomes),
            *find_retold_sentences(corpus, becomes),
            *_find_new_secrets(corpus, was, becomes),
        ]
        if told:
            return f"what the model suggests would disclose {', '.join(dict.fromkeys(told))}"
    after, before = checker.list_problems(becomes), checker.list_problems(was)
    if is_no_worse(after, before):
        return None
    new = [problem.message for problem in after if problem not in before]
    return f"what the model suggests brings problems of its own: {'; '.join(new)}"


def _find_new_secrets(corpus: LintCorpus, was: LintQuestion, becomes: LintQuestion) -> list[str]:
    """What question and answer would say of a secret that they do not say now."""
    said = {*split_words(was.item.text), *split_words(was.reference)}
    new = LintQuestion(becomes.item.replace(text=""), None, becomes.extra)
    asked = LintQuestion(
        becomes.item.replace(
            text="", truth=becomes.item.truth.replace(reference=becomes.item.text)
        ),
        None,
        becomes.extra,
    )
    told = find_secret_words(corpus, new) | find_secret_words(corpus, asked)
    withheld = [
        text
        for text in (*becomes.item.truth.withheld, *becomes.item.truth.canaries)
        if text.lower() in f"{becomes.item.text} {becomes.reference}".lower()
    ]
    return [*withheld, *sorted(told - said)]
