"""The prompts for a persona and for its story, and the JSON schemas of the replies.

The prompts depend only on the description, on persona.yaml, and on the story's length and start.
"""

from datetime import date

from recall_bench.features.personas.creation.story_rules import (
    LONGEST_QUIET,
    MAX_CONCURRENT_ARCS,
    QUIET_FROM,
    SECRETS_FROM,
    SHORTEST_QUIET,
    compute_arc_bounds,
    count_fewest_arcs,
    count_fewest_with_directives,
    count_most_quiet_periods,
)
from recall_bench.features.personas.prompts import load_prompt
from recall_bench.features.personas.world.fact_values import Dates
from recall_bench.stories.persona_story import ARC_TYPES
from recall_bench.systems.models.json_schema import (
    FLAG,
    TEXT,
    TEXT_OR_NONE,
    TEXTS,
    WHOLE,
    WHOLE_OR_NONE,
    Schema,
    make_choice,
    make_list,
    make_object,
)
from recall_bench.systems.models.model import Prompt, fence_blocks


def build_persona_schema() -> Schema:
    """The schema of the reply with a persona."""
    return make_object(
        name=TEXT,
        role=TEXT,
        domain=TEXT,
        company=TEXT_OR_NONE,
        institution=TEXT_OR_NONE,
        team_size=WHOLE,
        profile=TEXT,
        communication_style=TEXT,
        principal=make_object(name=TEXT, role=TEXT, profile=TEXT),
        cast=make_list(make_object(name=TEXT, role=TEXT, kind=make_choice("human", "agent"))),
        sessions=make_list(
            make_object(
                id=TEXT,
                kind=make_choice("1to1", "group"),
                participants=TEXTS,
                isolated=FLAG,
                shared=FLAG,
                sensitive_topics=TEXTS,
            )
        ),
        projects=make_list(make_object(id=TEXT, name=TEXT, description=TEXT)),
        sharedKnowledge=TEXTS,
    )


def build_story_schema() -> Schema:
    """The schema of the reply with a story."""
    return make_object(
        sessions=make_list(make_object(id=TEXT, firstDay=WHOLE_OR_NONE, lastDay=WHOLE_OR_NONE)),
        arcs=make_list(
            make_object(
                id=TEXT,
                type=make_choice(*ARC_TYPES),
                title=TEXT,
                description=TEXT,
                startDay=WHOLE,
                endDay=WHOLE,
                primarySession=TEXT,
                referencedSessions=TEXTS,
                participants=TEXTS,
                wrongDay=WHOLE_OR_NONE,
                correctedDay=WHOLE_OR_NONE,
                wrongBelief=TEXT_OR_NONE,
                correctedBelief=TEXT_OR_NONE,
                directives=make_list(make_object(day=WHOLE, event=TEXT)),
            )
        ),
    )


_PAUSES = (
    f"There are quiet periods, {{few}}: {SHORTEST_QUIET} to {LONGEST_QUIET} days in a row in which "
    "no arc at all is active, such as holidays. No arc lasts through one: let arcs end before and "
    f"start after it. Otherwise fewer than {SHORTEST_QUIET} days in a row are without an arc."
)
_NO_PAUSES = "There are no longer pauses: at most {gap} in a row without any arc."
_INSIDERS = (
    " Where primarySession is isolated, only people who sit in it; the texts may still talk about "
    "others."
)
_SECRETS = (
    "- {few} of the arcs happen in a session that is isolated. Their referencedSessions are empty, "
    "and their participants are people who sit in that session; others may be talked about in the "
    "texts. Their secrets are exact values, and no other arc tells them.\n"
)

_LENGTHS = {
    "project": (60, 200),
    "incident": (3, 14),
    "decision": (10, 40),
    "learning": (20, 120),
    "relationship": (60, 250),
    "correction": (20, 90),
}
"""The usual shortest and longest arc of each type in a story of 1,000 days."""


def build_persona_prompt(description: str) -> Prompt:
    """The prompt for a persona."""
    blocks = fence_blocks({"description": description})
    return Prompt(
        system=load_prompt("persona-system").format(mark=blocks.mark),
        user=load_prompt("persona-task").format(material=blocks.text),
        schema=build_persona_schema(),
    )


def build_story_prompt(
    persona_yaml: str, description: str, days: int, epoch: date, *, has_secrets: bool = True
) -> Prompt:
    """The prompt for the arcs of a persona's story.

    `has_secrets` says whether any of its sessions is isolated.
    """
    wishes = {"description": description} if description else {}
    blocks = fence_blocks({"persona.yaml": persona_yaml, **wishes})
    least, most = compute_arc_bounds(days)
    dates = Dates(epoch, "day-first")
    secrets = _describe_secrets(days) if has_secrets else ""
    return Prompt(
        system=load_prompt("persona-system").format(mark=blocks.mark),
        user=load_prompt("story-task").format(
            material=blocks.text,
            days=days,
            first=dates.format_heading(1),
            last=dates.format_heading(days),
            least=least,
            most=most,
            counts=_describe_counts(days),
            directed=count_fewest_with_directives(most),
            lengths=", ".join(f"{kind} {_describe_length(kind, days)}" for kind in _LENGTHS),
            at_once=MAX_CONCURRENT_ARCS,
            pauses=_describe_pauses(days),
            insiders=_INSIDERS if secrets else "",
            secrets=secrets,
        ),
        schema=build_story_schema(),
    )


def _describe_counts(days: int) -> str:
    counts = [f"{count} of type {kind}" for kind, count in count_fewest_arcs(days).items() if count]
    return f"at least {', '.join(counts)}" if counts else "of any type"


def _describe_length(kind: str, days: int) -> str:
    # The number of arcs grows with the cube root of the length, so their length with its square.
    scale = (days / 1000) ** (2 / 3)
    shortest, longest = (round(length * scale) for length in _LENGTHS[kind])
    least = min(days, max(shortest, 2))
    return f"{least}–{min(days, max(longest, least + 2))}" if least < days else f"{days}"


def _describe_pauses(days: int) -> str:
    if days >= QUIET_FROM:
        most = count_most_quiet_periods(days)
        return _PAUSES.format(few="one or two" if most == 2 else f"one to {most}")
    gap = days // 8
    if gap == 0:
        return "Every day has an arc."
    return _NO_PAUSES.format(gap="1 day" if gap == 1 else f"{gap} days")


def _describe_secrets(days: int) -> str:
    if days < SECRETS_FROM:
        return ""
    return _SECRETS.format(few="One or two" if days < 365 else "Two to four")
