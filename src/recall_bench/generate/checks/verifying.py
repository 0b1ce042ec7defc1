"""`verify-qa`: a question file held against its story, and repairs proposed beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recall_bench.datasets.fields import shown
from recall_bench.datasets.layout import Layout
from recall_bench.errors import Malformed, UsageError
from recall_bench.generate.checks.asking import Answers, Told, ask_about
from recall_bench.generate.checks.checker import Repair
from recall_bench.generate.checks.examining import StoryChecker
from recall_bench.generate.checks.file_check import Checked, check_file
from recall_bench.generate.checks.merging import line_of
from recall_bench.generate.checks.opinion import Opinion
from recall_bench.generate.checks.proposing import QuestionFile, findings_path, propose
from recall_bench.generate.checks.repairs import applied
from recall_bench.generate.checks.request import VerifyRequest
from recall_bench.generate.checks.story import read_story_days
from recall_bench.generate.checks.verified import Line, Verified
from recall_bench.lint.corpus import Corpus
from recall_bench.replacement import replace_file, sweep
from recall_bench.yaml12 import Document

if TYPE_CHECKING:
    from recall_bench.models.model import Model


def verify_questions(
    request: VerifyRequest, told: Told = lambda _: None, model: "Model | None" = None
) -> Verified:
    """Examine every question of a file, and write the findings and a repaired version.

    The file itself is never changed. With a model each question is put to it as well; a run that
    was cut short goes on where it stopped, and writes when it has asked about all of them.
    """
    layout = request.layout()
    file, rows = _read(request, layout)
    corpus = read_story_days(layout)
    checked = check_file(corpus, rows)
    asked = Answers()
    if model is not None or not request.is_offline:
        asked = ask_about(request, corpus, checked, told, model)
    lines = _lines(corpus, checked, asked.opinions)
    folder = request.out or layout.questions_file.parent
    verification, proposal = (
        _written(folder, file, layout, lines) if asked.stopped is None else (None, None)
    )
    return Verified(
        persona=layout.id,
        file=file.name,
        days=len(corpus.days),
        lines=lines,
        verification=str(verification) if verification else None,
        proposal=str(proposal) if proposal else None,
        notes=_notes(verification, proposal, lines),
        missing=tuple(asked.missing),
        fill=request.again,
        usage=asked.usage,
        spent=asked.spent,
        stopped=asked.stopped,
    )


def _read(request: VerifyRequest, layout: Layout) -> tuple[QuestionFile, Sequence[object]]:
    path = request.questions or layout.questions_file
    name = layout.name(path) if path.is_relative_to(layout.folder) else str(path)
    if not path.is_file():
        raise UsageError(f"{name} does not exist; name a question file with --questions")
    try:
        file = QuestionFile(path, name, path.read_bytes())
    except OSError as error:
        raise Malformed(name, f"cannot be read ({error.strerror}); check the file") from error
    content = Document(name, file.text).content
    if not isinstance(content, list) or not content:
        raise Malformed(name, f"holds {shown(content)} and no questions; write a list of them")
    return file, content


def _lines(
    corpus: Corpus, checked: Sequence[Checked], opinions: Mapping[int, Opinion]
) -> tuple[Line, ...]:
    """A line for each question; what a model suggests is examined beside all the others."""
    checker = StoryChecker(corpus)
    for each in checked if opinions else ():
        if each.mended is not None:
            checker.keep(each.mended)
    lines = []
    for each in checked:
        opinion = opinions.get(each.place)
        if opinion is None or each.entry is None or each.mended is None:
            lines.append(line_of(each, None, checker))
            continue
        checker.release(each.mended)
        line = line_of(each, opinion, checker)
        checker.keep(applied(each.entry, line.repair.changes) if line.repair else each.entry)
        lines.append(line)
    return tuple(lines)


def _written(
    folder: Path, file: QuestionFile, layout: Layout, lines: Sequence[Line]
) -> tuple[Path, Path | None]:
    verification = findings_path(folder, file, layout.questions_file)
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    for name in (verification.name, "*.proposed-*"):
        sweep(folder, name)
    replace_file(verification, content)
    repairs = {
        place: Repair(changes=line.repair.changes, why=line.repair.why, removes=line.repair.removes)
        for place, line in enumerate(lines)
        if line.repair is not None
    }
    return verification, propose(folder, file, repairs)


def _notes(
    verification: Path | None, proposal: Path | None, lines: Sequence[Line]
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
