"""The prompt for one session's entry of one day, and the requirements for the entry."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from recall_bench.features.personas.day_log import format_date
from recall_bench.features.personas.days.day_plan import (
    DayDensity,
    DayKind,
    PlannedDay,
    SessionPlan,
    has_news,
    is_secret,
)
from recall_bench.features.personas.days.diary import PastEntries
from recall_bench.features.personas.days.knowledge import (
    HiddenValues,
    describe_persona,
    describe_session,
    describe_thread,
)
from recall_bench.features.personas.prompts import load_prompt
from recall_bench.stories.lint.history_checks import CorrectionArc, read_correction
from recall_bench.stories.persona_story import Arc, Persona
from recall_bench.systems.models.model import Prompt, fence_blocks
from recall_bench.text.languages import get_language, join_list
from recall_bench.text.text_values import NAME, TextValue, find_claims

USUAL_TOKENS = 500
"""The usual length of an entry."""


_LENGTHS = {
    DayDensity.QUIET: ("a quiet day", "one or two topics", 60, 140),
    DayDensity.NORMAL: ("an ordinary day", "two or three topics", 120, 260),
    DayDensity.BUSY: ("a busy day", "three or four topics", 220, 450),
    DayDensity.DENSE: ("a very full day", "four to six topics", 350, 700),
}
_MENTION = ("one topic", 30, 100)
_LEAST_WORDS = 80, 25
"""The least words for a thread with news, and for any other: a day with little news is short."""
_THREAD, _HEARD, _SINCE = "thread", "heard of", "since then"


@dataclass(frozen=True, slots=True)
class EntryLength:
    """The length of an entry in words."""

    fewest: int
    most: int


def choose_length(session_plan: SessionPlan, day: int) -> EntryLength:
    """The length of an entry; short if the session only mentions arcs of others.

    The least grows with the number of threads, more for those with news today.
    """
    if session_plan.echoes and not session_plan.arcs:
        return EntryLength(*_MENTION[1:])
    fewest, most = _LENGTHS[session_plan.density][2:]
    if session_plan.arcs:
        thread, echo = _LEAST_WORDS
        news = sum(has_news(arc, day) for arc in session_plan.arcs)
        others = len(session_plan.arcs) - news + len(session_plan.echoes)
        fewest = min(fewest, thread * news + echo * others)
    return EntryLength(fewest, most)


def collect_material(
    persona: Persona,
    epoch: date,
    planned: PlannedDay,
    session_plan: SessionPlan,
    *,
    hidden: HiddenValues,
    past: PastEntries,
) -> dict[str, str]:
    """The blocks of the prompt by name."""
    blocks = {
        "persona": describe_persona(persona, hidden),
        "conversation": describe_session(session_plan.session),
    }
    for number, arc in enumerate((*session_plan.arcs, *session_plan.echoes)):
        about = describe_thread(arc, planned.day, epoch, hidden)
        if about is None:
            continue
        if past.headings[number]:
            lines = "\n".join(f"- {line}" for line in past.headings[number])
            about += f"\nWhat the log has on it:\n{lines}"
        name = _THREAD if number < len(session_plan.arcs) else _HEARD
        blocks[f"{name} {number + 1}"] = about
    for number, entry in enumerate(past.entries, start=1):
        blocks[f"earlier entry {number}"] = entry
    if past.between:
        blocks[_SINCE] = "\n".join(past.between)
    return blocks


def build_entry_prompt(
    planned: PlannedDay, session_plan: SessionPlan, blocks: dict[str, str]
) -> Prompt:
    """Build the prompt from these three alone."""
    marked = fence_blocks(blocks)
    task = _describe_task(planned, session_plan, blocks)
    return Prompt(
        system=load_prompt("entry-rules"),
        user=f"{task}\n\nThe material stands between lines with the mark "
        f"{marked.mark}.\n\n{marked.text}",
    )


def _describe_task(planned: PlannedDay, session_plan: SessionPlan, blocks: dict[str, str]) -> str:
    mood, count, *_ = _LENGTHS[session_plan.density]
    length = choose_length(session_plan, planned.day)
    if session_plan.echoes and not session_plan.arcs:
        count = _MENTION[0]
    elif session_plan.arcs:
        count = "one topic or two for each thread"
    first = f"Write the entry of the conversation below for {format_date(planned.at)}."
    lines = [f"{first} It is {mood}: {count}, {length.fewest} to {length.most} words."]
    has_threads = any(name.startswith(_THREAD) for name in blocks)
    has_hearsay = any(name.startswith(_HEARD) for name in blocks)
    if has_threads:
        lines.append("The threads belong to this conversation.")
        lines += _describe_news(planned, session_plan, blocks)
    if has_hearsay:
        lines.append("What is only heard of gets a sentence or two.")
    if planned.kind is DayKind.GAP or not (has_threads or has_hearsay):
        lines.append("Nothing of note happens: small steps, routine, loose ends.")
    if session_plan.session.isolated:
        lines.append("What is said in this conversation stays in it.")
    if _SINCE in blocks:
        lines.append(
            "Of the days just before this one you see no entries, only what happened, under “since "
            "then”."
        )
    return " ".join(lines)


def _describe_news(
    planned: PlannedDay, session_plan: SessionPlan, blocks: dict[str, str]
) -> Iterator[str]:
    """List the sentences on threads with news today and on those without."""
    names = {f"{_THREAD} {number}": arc for number, arc in enumerate(session_plan.arcs, start=1)}
    fresh = [name for name, arc in names.items() if name in blocks and has_news(arc, planned.day)]
    others = [name for name in names if name in blocks and name not in fresh]
    if fresh:
        yield "What has news today is told in as much depth as the material allows."
    if others:
        yield (
            f"For {join_list(others, get_language('en'))} nothing is given for today: a sentence "
            "or two on the work that went on and on what is open, in general words and without a "
            "result."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredStatement:
    """Values that have to occur in sentences on a topic."""

    atoms: tuple[TextValue, ...]
    about: frozenset[str]
    """Stems of which the sentence needs one; empty for any sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRequirements:
    """What an entry has to contain and what it must not contain."""

    session: str
    day: int
    at: date
    length: EntryLength
    due: tuple[TextValue, ...]
    """Exact values of the day's events."""
    stated: tuple[RequiredStatement, ...]
    """Beliefs that start on this day."""
    hidden: HiddenValues
    early: tuple[RequiredStatement, ...]
    """Values of later corrections."""
    stale: tuple[RequiredStatement, ...]
    """Values that a correction has replaced."""
    shown: tuple[str, ...]
    """Earlier entries in the prompt."""
    material: str
    """The text of the prompt's blocks: its words are allowed."""


def collect_requirements(
    planned: PlannedDay,
    session_plan: SessionPlan,
    arcs: tuple[Arc, ...],
    isolated: frozenset[str],
    *,
    hidden: HiddenValues,
    blocks: dict[str, str],
    shown: tuple[str, ...],
) -> EntryRequirements:
    """The requirements of one entry."""
    day = planned.day
    open_arcs = [arc for arc in arcs if not is_secret(arc, session_plan.session, isolated)]
    corrections = [item for arc in open_arcs if (item := read_correction(arc)) is not None]
    own = [item for arc in session_plan.arcs if (item := read_correction(arc)) is not None]
    stated = [
        RequiredStatement(atoms=item.wrong, about=item.about)
        for item in own
        if item.arc.wrong_day == day and day < item.day
    ]
    stated += [
        RequiredStatement(atoms=item.right, about=item.about) for item in own if item.day == day
    ]
    return EntryRequirements(
        session=session_plan.session.id,
        day=day,
        at=planned.at,
        length=choose_length(session_plan, day),
        due=tuple(
            value
            for arc in session_plan.arcs
            for directive in arc.directives
            if directive.day == day
            for value in find_claims(directive.event)
            if value.is_exact
        ),
        stated=tuple(stated),
        hidden=hidden,
        early=tuple(_find_early_values(corrections, day, hidden)),
        stale=tuple(_find_stale_values(corrections, day)),
        shown=shown,
        material="\n".join(blocks.values()).lower(),
    )


def _find_early_values(
    corrections: list[CorrectionArc], day: int, hidden: HiddenValues
) -> Iterator[RequiredStatement]:
    secret = {(value.kind, value.value) for value in hidden.atoms}
    for correction in corrections:
        if day < correction.day:
            belief = correction.arc.corrected_belief or ""
            names = (value for value in find_claims(belief) if value.kind == NAME)
            secrets = [v for v in (*correction.right, *names) if (v.kind, v.value) in secret]
            yield RequiredStatement(atoms=tuple(secrets), about=correction.about)


def _find_stale_values(corrections: list[CorrectionArc], day: int) -> Iterator[RequiredStatement]:
    for correction in corrections:
        if correction.day < day:
            # A later correction may have made the value right again.
            again = {
                (value.kind, value.value)
                for other in corrections
                if correction.day < other.day <= day
                for value in other.right
            }
            rest = tuple(v for v in correction.wrong if (v.kind, v.value) not in again)
            yield RequiredStatement(atoms=rest, about=correction.about)
