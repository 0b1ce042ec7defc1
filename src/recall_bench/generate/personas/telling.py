"""What was made, in words, and what to type next."""

import shlex
from collections import Counter
from collections.abc import Iterator

from recall_bench.datasets.identity import Persona
from recall_bench.datasets.layout import Layout, stories, usual
from recall_bench.datasets.story import ARC_TYPES, Story
from recall_bench.generate.personas.request import CreateRequest


def told_of(
    request: CreateRequest, persona: Persona | None, story: Story | None
) -> tuple[str, ...]:
    """Sentences about what there is now; the last is the next command, once all is there."""
    lines = []
    if persona is not None:
        lines.append(
            f"{persona.name}, {persona.role}: {_number(len(persona.cast), 'person')} in the cast"
        )
    if story is not None:
        lines += _of_story(request, story)
        lines.append(f"next: {_next_command(request)}")
    return tuple(lines)


def leftovers(request: CreateRequest, written: list[str]) -> tuple[str, ...]:
    """What lies in the folder and was made for what has just been replaced."""
    layout = request.story
    if layout.arcs not in written:
        return ()
    old = _made_from(layout)
    if "persona.yaml" in written:
        for arcs in stories(layout.folder):
            if arcs != layout.arcs:
                old += [arcs, *_made_from(Layout(layout.folder, arcs))]
    if not old:
        return ()
    told = f"{', '.join(old)} told of what was there before; write it anew, or remove it"
    return (told,)


def _made_from(layout: Layout) -> list[str]:
    """The folders of a story that are there."""
    folders = (layout.memories, layout.conversations, layout.tools, layout.questions_file.parent)
    return [folder.name for folder in folders if folder.exists()]


def _of_story(request: CreateRequest, story: Story) -> Iterator[str]:
    there = Counter(arc.type for arc in story.arcs)
    kinds = ", ".join(f"{there[kind]} {kind}" for kind in ARC_TYPES if there[kind])
    yield (
        f"{request.story.arcs}: {_number(len(story.arcs), 'arc')} over "
        f"{_number(request.days, 'day')} from {story.epoch}: {kinds}"
    )
    rooms = ", ".join(
        f"{session.id} (isolated)" if session.isolated else session.id for session in story.sessions
    )
    yield f"{_number(len(story.sessions), 'session')}: {rooms}"


def _next_command(request: CreateRequest) -> str:
    words = ["recall-bench", "generate", "--persona", str(request.persona)]
    if usual(stories(request.persona)) != request.story.arcs:
        words += ["--arcs", request.story.arcs]
    return shlex.join([*words, "--model", request.model])


def _number(count: int, what: str) -> str:
    many = {"person": "people"}.get(what, f"{what}s")
    return f"{count} {what if count == 1 else many}"
