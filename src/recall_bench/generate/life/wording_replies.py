"""Questions of a life edition for a writer to word, and the checks of what the writer replies."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from recall_bench.core.append_log import read_lines
from recall_bench.core.errors import Malformed
from recall_bench.core.record import Record
from recall_bench.core.text_values import list_words
from recall_bench.core.value_patterns import MONTHS
from recall_bench.generate.life.drafts import NAMING_KINDS, gives_away
from recall_bench.generate.life.edition import play_life
from recall_bench.generate.life.question_wordings import (
    WORDINGS_FILE,
    QuestionWording,
    compute_question_key,
    decode_line,
    read_wordings,
    reword_questions,
)
from recall_bench.generate.life.sources import LifeSources
from recall_bench.generate.written.checks import SourceFinding
from recall_bench.generate.written.question_entries import EntryBuilder
from recall_bench.generate.written.renderer import RenderedEdition
from recall_bench.generate.written.sources import WrittenQuestion

_MOST_WORDS = 45
_SINGLED_OUT = re.compile(r"(?<!^)(?<![.?!:] )\b(?:[A-Z][\w’'-]*|\d[\d.,:-]*\d|\d)")
"""Names and figures within a sentence: they tell one question from the next."""
_FIRST_PERSON = {"i", "me", "my", "mine"}
_POSSESSIVE = re.compile(r"[’']s$|[’']$")


class WordingReply(Record, frozen=True, kw_only=True):
    """What a writer says to one question: another wording, a reason to drop it, or neither."""

    id: str
    ask: str | None = None
    drop: str | None = None


def render_templates(sources: LifeSources) -> RenderedEdition:
    """The story as authored, with its questions in the words of the templates."""
    return play_life(sources, in_own_words=False).rendered


def check_wordings(sources: LifeSources) -> Iterator[SourceFinding]:
    """The wordings of questions that the story does not ask any more."""
    wordings = read_wordings(sources.folder)
    if not wordings:
        return
    written = play_life(sources, in_own_words=False).written
    asked = {compute_question_key(question) for _, question in written.questions}
    for number, key in enumerate(wordings, start=1):
        if key not in asked:
            where = f"{WORDINGS_FILE}, line {number}"
            yield SourceFinding(where, f"no question {key} is asked any more; delete the line")


def read_replies(path: Path) -> Iterator[WordingReply]:
    """The replies of a writer, one JSON object a line."""
    for number, (_, line) in enumerate(read_lines(path), start=1):
        if line.strip():
            yield decode_line(line, WordingReply, f"{path.name}, line {number}")


def iterate_wording_requests(
    edition: RenderedEdition, wordings: Mapping[str, QuestionWording]
) -> Iterator[Mapping[str, Any]]:
    """What a writer needs to know of each question: its answer, and the lines that tell it.

    The edition is that of the templates; a question that was worded shows its wording, and one that
    was dropped is left out.
    """
    builder = EntryBuilder(edition)
    for number, (_, question) in enumerate(edition.sources.questions, start=1):
        wording = wordings.get(compute_question_key(question))
        if wording is not None and wording.drop is not None:
            continue
        entry = builder.build(number, question)
        kept = {
            "id": entry["id"],
            "ask": (wording and wording.ask) or entry["question"],
            "answer": entry["answer"],
            "category": entry["category"],
            "kind": entry["kind"],
            "asked_in": question.session,
            "from_day": entry["answerable_from"],
            "until_day": entry["irrelevant_after"],
            "no_longer_true": entry["stale"],
            "evidence": [_show_span(edition, span) for span in entry["evidence"]],
        }
        yield {key: value for key, value in kept.items() if value is not None}


def _show_span(edition: RenderedEdition, span: Mapping[str, Any]) -> Mapping[str, Any]:
    """The paragraph of a sentence with the heading above it, and the sentence itself."""
    text = edition.texts[span["day"]]
    start = text.rfind("\n\n", 0, span["start"]) + 2
    end = text.find("\n\n", span["end"])
    heading = text.rfind("\n##", 0, span["start"]) + 1
    return {
        "day": span["day"],
        "session": span["session"],
        "heading": text[heading : text.find("\n", heading)].strip("# ") if heading else "",
        "paragraph": text[max(start, 0) : end if end >= 0 else None].strip(),
        "sentence": text[span["start"] : span["end"]],
    }


def accept_replies(
    edition: RenderedEdition,
    wordings: Mapping[str, QuestionWording],
    replies: Iterable[WordingReply],
) -> tuple[dict[str, QuestionWording], list[Malformed]]:
    """All wordings with the new ones, and what is wrong with the replies that are not taken."""
    requests = {each["id"]: each for each in iterate_wording_requests(edition, {})}
    written = [question for _, question in edition.sources.questions]
    questions = dict(zip(requests, written, strict=True))
    now = reword_questions(written, wordings)
    asked = {(each.session, each.ask.casefold()) for each in now}
    taken, faults = dict(wordings), list[Malformed]()
    for reply in replies:
        question = questions.get(reply.id)
        if question is None:
            faults.append(Malformed(reply.id, "there is no such question"))
            continue
        key = compute_question_key(question)
        if reply.drop is not None:
            taken[key] = QuestionWording(of=key, drop=reply.drop)
        if reply.ask is None or (key in taken and reply.ask == taken[key].ask):
            continue
        found = [*list_wording_faults(edition, requests[reply.id], question, reply.ask)]
        if reply.ask != question.ask and (question.session, reply.ask.casefold()) in asked:
            found.append("another question is asked in these words already")
        faults += [Malformed(reply.id, f"“{reply.ask}”: {each}") for each in found]
        if not found:
            asked.add((question.session, reply.ask.casefold()))
            cite = taken[key].cite if key in taken else ()
            taken[key] = QuestionWording(of=key, ask=reply.ask, cite=cite)
    return taken, faults


def list_wording_faults(
    edition: RenderedEdition, request: Mapping[str, Any], question: WrittenQuestion, ask: str
) -> Iterator[str]:
    """What a new wording loses, adds or gives away."""
    words = ask.split()
    if not ask.endswith(("?", ".")) or "\n" in ask or ask != " ".join(words):
        yield "a question is one line, with single spaces, that ends with ? or ."
    if len(words) > _MOST_WORDS:
        yield f"{len(words)} words; {_MOST_WORDS} are enough"
    evidence = " ".join(f"{each['heading']} {each['paragraph']}" for each in request["evidence"])
    is_open = question.kind not in NAMING_KINDS and question.expects == "answer"
    is_side = question.answer.split(maxsplit=1)[0].strip(".,:;").casefold() in ("yes", "no")
    if is_open and not is_side and gives_away(ask, question.answer):
        yield "the question holds the whole answer"
    lost = _list_marks(question.ask) - {*list_words(ask)}
    if lost := lost - _list_spare_words(edition, request, question, ask):
        yield f"it does not say {', '.join(sorted(lost))} any more"
    known = {*list_words(question.ask), *list_words(evidence)}
    if added := _list_marks(ask) - known:
        yield f"neither the question nor the evidence says {', '.join(sorted(added))}"
    if is_open and not is_side:
        yield from _list_given_away(question, ask)


def _list_spare_words(
    edition: RenderedEdition, request: Mapping[str, Any], question: WrittenQuestion, ask: str
) -> set[str]:
    """Words of names that a wording may leave out.

    The name of the only person in the room, who says "I"; and what no paragraph of the evidence
    tells, such as "Italian", where the wording names its matter as a heading does. Dates and people
    stay.
    """
    spare, words = set[str](), {*list_words(ask)}
    sessions = {each.id: each.participants for each in edition.sources.persona.sessions}
    in_room = sessions[question.session]
    if len(in_room) == 1 and words & _FIRST_PERSON:
        spare |= {*list_words(in_room[0])}
    headings = {word for each in request["evidence"] for word in list_words(each["heading"])}
    if _list_marks(ask) & headings:
        told = " ".join(each["paragraph"] for each in request["evidence"])
        kept = {*list_words(told), *list_words(" ".join((*edition.sources.people, *MONTHS)))}
        spare |= {word for word in _list_marks(question.ask) - kept if not word.isdigit()}
    return spare


def _list_given_away(question: WrittenQuestion, ask: str) -> Iterator[str]:
    """Parts of the answer that only the new wording tells."""
    now, before = f" {' '.join(list_words(ask))} ", f" {' '.join(list_words(question.ask))} "
    for atom in question.atoms or [question.answer.rstrip(".")]:
        shown = f" {' '.join(list_words(atom))} "
        if shown.strip() and shown in now and shown not in before:
            yield f"it tells a part of the answer: {atom}"


def _list_marks(text: str) -> set[str]:
    """The words of names and figures, without the first word of a sentence."""
    return {
        word
        for found in _SINGLED_OUT.findall(text)
        for word in list_words(_POSSESSIVE.sub("", found))
        if len(word) > 1 or word.isdigit()
    }
