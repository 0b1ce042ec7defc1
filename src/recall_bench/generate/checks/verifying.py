"""`verify-qa`: a question file held against its story, and repairs proposed beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.datasets.fields import describe_value
from recall_bench.datasets.layout import Layout
from recall_bench.errors import Malformed, UsageError
from recall_bench.generate.checks.asking import OnProgress, ReviewAnswers, review_questions
from recall_bench.generate.checks.checker import QuestionRepair
from recall_bench.generate.checks.examining import StoryChecker
from recall_bench.generate.checks.file_check import CheckedQuestion, check_file
from recall_bench.generate.checks.merging import merge_opinion
from recall_bench.generate.checks.opinion import ModelOpinion
from recall_bench.generate.checks.proposing import (
    QuestionSource,
    choose_findings_path,
    write_proposal,
)
from recall_bench.generate.checks.repairs import apply_changes
from recall_bench.generate.checks.request import VerifyRequest
from recall_bench.generate.checks.story import read_corpus
from recall_bench.generate.checks.verified import VerifiedQuestion, VerifyResult
from recall_bench.lint.corpus import LintCorpus
from recall_bench.replacement import remove_leftovers, replace_file
from recall_bench.yaml12 import Document

if TYPE_CHECKING:
    from recall_bench.models.model import Model


def verify_questions(
    request: VerifyRequest, told: OnProgress = lambda _: None, model: "Model | None" = None
) -> VerifyResult:
    """Examine every question of a file, and write the findings and a repaired version.

    The file itself is never changed. With a model each question is put to it as well; a run that
    was cut short goes on where it stopped, and writes when it has asked about all of them.
    """
    layout = request.find_layout()
    file, rows = _read_file(request, layout)
    corpus = read_corpus(layout)
    checked = check_file(corpus, rows)
    asked = ReviewAnswers()
    if model is not None or not request.is_offline:
        asked = review_questions(request, corpus, checked, told, model)
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
        fill=request.again,
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
    """A line for each question; what a model suggests is examined beside all the others."""
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
    repairs = {
        place: QuestionRepair(
            changes=line.repair.changes, why=line.repair.why, removes=line.repair.removes
        )
        for place, line in enumerate(lines)
        if line.repair is not None
    }
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
