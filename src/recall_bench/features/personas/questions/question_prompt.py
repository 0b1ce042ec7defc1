"""The prompt for the questions of a window, and the questions in a reply."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from recall_bench.core.scenario import DIFFICULTIES, NEGATIVE
from recall_bench.features.personas.model_reply import RejectedReply, parse_json_reply
from recall_bench.features.personas.prompts import load_prompt
from recall_bench.features.personas.questions.candidates import read_text
from recall_bench.features.personas.questions.quotation import VisibilityRule
from recall_bench.features.personas.questions.story_view import StoryView, build_excerpts
from recall_bench.features.personas.questions.window import (
    RULES,
    QuestionWindow,
    describe_category,
)
from recall_bench.systems.models.json_schema import (
    FLAG,
    TEXT,
    TEXTS,
    WHOLE,
    Schema,
    make_choice,
    make_list,
    make_nullable,
    make_object,
)
from recall_bench.systems.models.model import FencedText, Prompt, fence_blocks

DAY_TOKENS = 48_000
"""Limit for the text of the days in a prompt."""

_DAYS = make_list(WHOLE)
EVIDENCE = make_list(make_object(day=WHOLE, session=TEXT, quote=TEXT))


def build_schema(**fields: Schema) -> Schema:
    """The schema of a list of questions with the common fields and these, all required."""
    question = make_object(
        question=TEXT,
        answer=TEXT,
        difficulty=make_choice(*DIFFICULTIES),
        evidence=EVIDENCE,
        aliases=TEXTS,
        atoms=TEXTS,
        **fields,
    )
    return make_object(questions=make_list(question))


SCHEMA = build_schema(
    category=make_choice(*RULES),
    relevant_days=_DAYS,
    requires_synthesis=FLAG,
    twin=make_nullable(make_object(question=TEXT, answer=TEXT, relevant_days=_DAYS)),
)


def build_questions_prompt(
    telling: StoryView,
    window: QuestionWindow,
    categories: Sequence[str],
    is_visible: VisibilityRule,
) -> Prompt:
    """The prompt for questions of these categories."""
    days = build_excerpts(
        telling.list_days(window), DAY_TOKENS, is_visible, earlier=telling.list_earlier_days(window)
    )
    arcs = telling.describe_arcs(window.last, is_visible)
    blocks = fence_blocks({"people": telling.describe_people(), "matters under way": arcs, **days})
    task = load_prompt("questions-task").format(
        today=telling.format_date(window.last),
        wanted=_describe_counts(categories),
        rules="\n".join(
            f"- {name}: {describe_category(name, telling.language)}"
            for name in dict.fromkeys(categories)
        ),
        common=load_prompt("questions-rules"),
        negative=NEGATIVE,
    )
    return build_prompt(task, blocks, SCHEMA)


def build_prompt(task: str, blocks: FencedText, form: Schema) -> Prompt:
    """A prompt of the task and its blocks."""
    return Prompt(
        system=load_prompt("questions-system").format(mark=blocks.mark),
        user=f"{task}\n\n{blocks.text}",
        schema=form,
    )


def _describe_counts(categories: Sequence[str]) -> str:
    lines = []
    for name, count in Counter(categories).items():
        note = ", each with its twin" if name == NEGATIVE else ""
        lines.append(f"- {count} × {name}{note}")
    return "\n".join(lines)


_OPENING = re.compile(r"\[\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,]*")
_MAX_OPENINGS = 50
"""Lists that are tried as the list of questions; each try takes time."""
_MAX_DEPTH = 20

Raw = Mapping[str, Any]


def read_questions(text: str) -> tuple[Raw, ...] | RejectedReply:
    """The complete objects of the list, up to where it is cut or broken.

    An empty list means that there is nothing to ask. Rejected if there is no list or no object with
    question and answer.
    """
    results = _find_list(text)
    if results == []:
        return ()
    whole = (
        _recover_questions(text)
        if results is None
        else tuple(e for e in results if isinstance(e, dict))
    )
    if not whole:
        return RejectedReply(_NOTHING)
    return _make_recordable(whole)


_FORM = 'reply with {"questions": [{…}, …]} and nothing else'
_NOTHING = (f"it holds no list of questions; {_FORM}",)
_UNREADABLE = (
    "nothing in its list is a question, for each needs a text under question and one under "
    f"answer; {_FORM}, with an empty list if there is nothing to ask"
)


def _find_list(text: str) -> list[Any] | None:
    """The list in a complete reply; None if there is none."""
    whole = parse_json_reply(text, dict)
    if not isinstance(whole, RejectedReply) and isinstance(whole.get("questions"), list):
        return list(whole["questions"])
    json_reply = parse_json_reply(text, list)
    # An empty list inside another object is not the list of questions.
    is_beside = not isinstance(whole, RejectedReply) and json_reply == []
    return None if isinstance(json_reply, RejectedReply) or is_beside else json_reply


def _make_recordable(questions: tuple[Raw, ...]) -> tuple[Raw, ...] | RejectedReply:
    """The questions without halves of surrogate pairs, which no file can hold."""
    if any(_is_deep(item, _MAX_DEPTH) for item in questions):
        return RejectedReply(
            ("a question is nested too deeply; give each field as it was asked for",)
        )
    if not any(all(read_text(item, key) for key in ("question", "answer")) for item in questions):
        return RejectedReply((_UNREADABLE,))
    return tuple(
        json.loads(json.dumps(item, ensure_ascii=False).encode(errors="ignore"))
        for item in questions
    )


def _is_deep(part: object, left: int) -> bool:
    """Whether it is nested deeper than `left` levels; readers of the record have a limit."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return left < 0 or any(_is_deep(item, left - 1) for item in parts)


def _recover_questions(text: str) -> tuple[Raw, ...]:
    """The leading questions of the first list that has any."""
    decoder = json.JSONDecoder()
    for opening in islice(_OPENING.finditer(text), _MAX_OPENINGS):
        questions: list[Raw] = []
        place = opening.end()
        while True:
            try:
                item, end = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                break
            # Evidence is a list of objects too.
            if not isinstance(item, dict) or "question" not in item:
                break
            questions.append(item)
            between = _BETWEEN.match(text, end)
            place = between.end() if between else end
        if questions:
            return tuple(questions)
    return ()
