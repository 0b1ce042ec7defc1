"""The checks and a model's opinion of a question made one verdict and one repair."""

from collections.abc import Mapping

from recall_bench.generate.checks.checker import Kind, Problem, Repair
from recall_bench.generate.checks.examining import StoryChecker, is_no_worse
from recall_bench.generate.checks.file_check import Checked
from recall_bench.generate.checks.opinion import Opinion
from recall_bench.generate.checks.repairs import applied
from recall_bench.generate.checks.secrecy import retold, secret_words
from recall_bench.generate.checks.story import read_entry
from recall_bench.generate.checks.support import GUARDED
from recall_bench.generate.checks.verified import FoundProblem, Line, ProposedRepair, Verdict
from recall_bench.lint.asked import Asked
from recall_bench.lint.boundary import discloses
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.words import words


def line_of(checked: Checked, opinion: Opinion | None, checker: StoryChecker) -> Line:
    """What is written of a question; the checker knows the others as they would be."""
    problems = list(checked.examined.problems)
    repair, refused = checked.examined.repair, None
    if opinion is not None:
        problems += _said(opinion)
        suggested = _suggested(opinion)
        if suggested and checked.mended is not None:
            refused = _refusal(checker, checked.mended, suggested)
            if refused is None:
                repair = _joined(repair, suggested, opinion)
    return Line(
        id=checked.name,
        verdict=_verdict(problems, opinion),
        problems=tuple(FoundProblem(kind=p.kind, message=p.message) for p in problems),
        repair=None
        if repair is None
        else ProposedRepair(changes=dict(repair.changes), why=repair.why, removes=repair.removes),
        model=None if opinion is None else f"{opinion.verdict}: {opinion.reasoning}",
        refused=refused,
    )


def _verdict(problems: list[Problem], opinion: Opinion | None) -> Verdict:
    """The worse of what the checks and the model say."""
    own = Verdict.NEEDS_CLEANUP if problems else Verdict.ANSWERABLE
    if any(problem.is_grave for problem in problems):
        own = Verdict.DEFECTIVE
    return max(own, opinion.verdict if opinion else own, key=lambda verdict: verdict.rank)


def _said(opinion: Opinion) -> list[Problem]:
    found = [
        Problem(
            kind=Kind.SUPPORT,
            message=f"the model finds no support for “{claim}”; leave it out, or name its day",
        )
        for claim in opinion.unsupported
    ]
    if opinion.irrelevant_after is not None:
        message = f"the model sees the answer change after day {opinion.irrelevant_after}"
        found.append(
            Problem(kind=Kind.STALENESS, message=f"{message}; add irrelevant_after, or a date")
        )
    if opinion.question is not None:
        message = f"the model would ask “{opinion.question}”; say what is meant"
        found.append(Problem(kind=Kind.VAGUENESS, message=message))
    if not found and opinion.verdict is not Verdict.ANSWERABLE:
        message = f"the model says: {opinion.reasoning or opinion.verdict}; look at it"
        found.append(Problem(kind=Kind.SUPPORT, message=message))
    return found


def _suggested(opinion: Opinion) -> dict[str, object]:
    changes: dict[str, object] = {}
    if opinion.question is not None:
        changes["question"] = opinion.question
    if opinion.answer is not None:
        changes["answer"] = opinion.answer
    if opinion.irrelevant_after is not None:
        changes["irrelevant_after"] = opinion.irrelevant_after
        changes["changes_on"] = opinion.irrelevant_after + 1
    return changes


def _joined(repair: Repair | None, suggested: dict[str, object], opinion: Opinion) -> Repair:
    before: Mapping[str, object] = repair.changes if repair else {}
    why = f"the model: {opinion.reasoning or opinion.verdict}"
    return Repair(changes={**before, **suggested}, why=f"{repair.why}; {why}" if repair else why)


def _refusal(
    checker: StoryChecker, entry: Mapping[str, object], suggested: dict[str, object]
) -> str | None:
    """Why the suggestion is not to be proposed; None if it may be."""
    corpus = checker.corpus
    was = read_entry(corpus, entry)
    becomes = read_entry(corpus, applied(entry, suggested))
    if not isinstance(becomes, Asked) or not isinstance(was, Asked):
        reasons = becomes if not isinstance(becomes, Asked) else ()
        return f"with what the model suggests the entry is malformed: {'; '.join(reasons)}"
    if becomes.item.truth.disclosure in GUARDED:
        told = [
            *discloses(corpus, becomes),
            *retold(corpus, becomes),
            *_new_secrets(corpus, was, becomes),
        ]
        if told:
            return f"what the model suggests would disclose {', '.join(dict.fromkeys(told))}"
    after, before = checker.problems(becomes), checker.problems(was)
    if is_no_worse(after, before):
        return None
    new = [problem.message for problem in after if problem not in before]
    return f"what the model suggests brings problems of its own: {'; '.join(new)}"


def _new_secrets(corpus: Corpus, was: Asked, becomes: Asked) -> list[str]:
    """What question and answer would say of a secret that they do not say now."""
    said = {*words(was.item.text), *words(was.reference)}
    new = Asked(becomes.item.but(text=""), None, becomes.extra)
    asked = Asked(
        becomes.item.but(text="", truth=becomes.item.truth.but(reference=becomes.item.text)),
        None,
        becomes.extra,
    )
    told = secret_words(corpus, new) | secret_words(corpus, asked)
    withheld = [
        text
        for text in (*becomes.item.truth.withheld, *becomes.item.truth.canaries)
        if text.lower() in f"{becomes.item.text} {becomes.reference}".lower()
    ]
    return [*withheld, *sorted(told - said)]
