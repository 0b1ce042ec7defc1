"""The pass `verify-qa`: checks a question file, asks a model, and proposes repairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.core.atomic_file import remove_leftovers, replace_file
from recall_bench.core.errors import Malformed, UsageError
from recall_bench.core.text_values import split_words
from recall_bench.core.yaml12 import Document
from recall_bench.datasets.lint.boundary_checks import find_disclosures
from recall_bench.datasets.lint.lint_corpus import LintCorpus
from recall_bench.datasets.lint.value_index import LintQuestion
from recall_bench.datasets.persona_files import Layout
from recall_bench.datasets.yaml_fields import describe_value
from recall_bench.generate.checks.boundary_check import find_retold_sentences, find_secret_words
from recall_bench.generate.checks.check_result import (
    FoundProblem,
    ProblemKind,
    QuestionProblem,
    QuestionRepair,
    QuestionVerdict,
    VerifiedQuestion,
    VerifyResult,
)
from recall_bench.generate.checks.model_review import (
    ModelOpinion,
    ReviewAnswers,
    review_questions,
)
from recall_bench.generate.checks.repair import (
    QuestionSource,
    apply_changes,
    choose_findings_path,
    write_proposal,
)
from recall_bench.generate.checks.story_checker import (
    CheckedQuestion,
    StoryChecker,
    check_file,
    is_no_worse,
    parse_entry,
    read_corpus,
)
from recall_bench.generate.checks.support_check import GUARDED
from recall_bench.generate.pass_request import VerifyRequest
from recall_bench.generate.pass_run import OnProgress

if TYPE_CHECKING:
    from recall_bench.models.model import Model


def merge_opinion(
    checked: CheckedQuestion, opinion: ModelOpinion | None, checker: StoryChecker
) -> VerifiedQuestion:
    """The line of a question; the checker knows the other questions as repaired."""
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
        repair=repair,
        model=None if opinion is None else f"{opinion.verdict}: {opinion.reasoning}",
        refused=refused,
    )


def _choose_verdict(
    problems: list[QuestionProblem], opinion: ModelOpinion | None
) -> QuestionVerdict:
    """The worse verdict of the checks and the model."""
    own = QuestionVerdict.NEEDS_CLEANUP if problems else QuestionVerdict.ANSWERABLE
    if any(problem.is_severe for problem in problems):
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
    """Why the suggestion must not be proposed; None if it may be."""
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
    """Secret words that question and answer would newly tell."""
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


def verify_questions(
    request: VerifyRequest, on_progress: OnProgress = lambda _: None, model: "Model | None" = None
) -> VerifyResult:
    """Check every question of a file, and write the findings and a repaired version.

    The file itself is never changed. With a model each question is reviewed by it too; an
    interrupted run continues, and writes when all questions are reviewed.
    """
    layout = request.find_layout()
    file, rows = _read_file(request, layout)
    corpus = read_corpus(layout)
    checked = check_file(corpus, rows)
    asked = ReviewAnswers()
    if model is not None or not request.is_offline:
        asked = review_questions(request, corpus, checked, on_progress, model)
    lines = _merge_opinions(corpus, checked, asked.opinions)
    folder = request.out or layout.questions_file.parent
    verification, proposal = (
        _write_files(folder, file, layout, lines) if asked.stopped is None else (None, None)
    )
    return VerifyResult(
        persona=layout.id,
        file=file.name,
        days=len(corpus.days),
        lines=lines,
        verification=str(verification) if verification else None,
        proposal=str(proposal) if proposal else None,
        notes=_list_notes(verification, proposal, lines),
        missing=tuple(asked.missing),
        fill=request.resume_command,
        usage=asked.usage,
        spent=asked.spent,
        stopped=asked.stopped,
    )


def _read_file(request: VerifyRequest, layout: Layout) -> tuple[QuestionSource, Sequence[object]]:
    path = request.questions or layout.questions_file
    name = layout.name(path) if path.is_relative_to(layout.folder) else str(path)
    if not path.is_file():
        raise UsageError(f"{name} does not exist; name a question file with --questions")
    try:
        file = QuestionSource(path, name, path.read_bytes())
    except OSError as error:
        raise Malformed(name, f"cannot be read ({error.strerror}); check the file") from error
    content = Document(name, file.text).content
    if not isinstance(content, list) or not content:
        raise Malformed(
            name, f"holds {describe_value(content)} and no questions; write a list of them"
        )
    return file, content


def _merge_opinions(
    corpus: LintCorpus, checked: Sequence[CheckedQuestion], opinions: Mapping[int, ModelOpinion]
) -> tuple[VerifiedQuestion, ...]:
    """A line for each question; suggestions of a model are checked against all other questions."""
    checker = StoryChecker(corpus)
    for each in checked if opinions else ():
        if each.repaired is not None:
            checker.keep(each.repaired)
    lines = []
    for each in checked:
        opinion = opinions.get(each.place)
        if opinion is None or each.entry is None or each.repaired is None:
            lines.append(merge_opinion(each, None, checker))
            continue
        checker.release(each.repaired)
        line = merge_opinion(each, opinion, checker)
        checker.keep(apply_changes(each.entry, line.repair.changes) if line.repair else each.entry)
        lines.append(line)
    return tuple(lines)


def _write_files(
    folder: Path, file: QuestionSource, layout: Layout, lines: Sequence[VerifiedQuestion]
) -> tuple[Path, Path | None]:
    verification = choose_findings_path(folder, file, layout.questions_file)
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    for name in (verification.name, "*.proposed-*"):
        remove_leftovers(folder, name)
    replace_file(verification, content)
    repairs = {place: line.repair for place, line in enumerate(lines) if line.repair is not None}
    return verification, write_proposal(folder, file, repairs)


def _list_notes(
    verification: Path | None, proposal: Path | None, lines: Sequence[VerifiedQuestion]
) -> tuple[str, ...]:
    if verification is None:
        return ("nothing was written: not every question has been asked about",)
    found = [f"every question is in {verification}"]
    if proposal is not None:
        repairs = [line.repair for line in lines if line.repair is not None]
        removed = sum(repair.removes for repair in repairs)
        found.append(
            f"{len(repairs) - removed} questions changed and {removed} removed in {proposal}; "
            "compare it with the original before you use it"
        )
    return tuple(found)
