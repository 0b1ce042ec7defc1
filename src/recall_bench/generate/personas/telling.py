"""What was made, in words, and what to type next."""

import shlex
from collections import Counter
from collections.abc import Iterator

from recall_bench.datasets.identity import Persona
from recall_bench.datasets.layout import Layout, choose_story, list_stories
from recall_bench.datasets.story import ARC_TYPES, Story
from recall_bench.generate.personas.request import CreateRequest


def describe_result(
    request: CreateRequest, persona: Persona | None, story: Story | None
) -> tuple[str, ...]:
    """Sentences about what there is now; the last is the next command, once all is there."""
    lines = []
    if persona is not None:
        lines.append(
            f"{persona.name}, {persona.role}: {_format_number(len(persona.cast), 'person')} in the cast"
        )
    if story is not None:
        lines += _describe_story(request, story)
        lines.append(f"next: {_build_next_command(request)}")
    return tuple(lines)


def find_leftovers(request: CreateRequest, written: list[str]) -> tuple[str, ...]:
    """What lies in the folder and was made for what has just been replaced."""
    layout = request.story
    if layout.arcs not in written:
        return ()
    old = _list_story_folders(layout)
    if "persona.yaml" in written:
        for arcs in list_stories(layout.folder):
            if arcs != layout.arcs:
                old += [arcs, *_list_story_folders(Layout(layout.folder, arcs))]
    if not old:
        return ()
    told = f"{', '.join(old)} told of what was there before; write it anew, or remove it"
    return (told,)


def _list_story_folders(layout: Layout) -> list[str]:
    """The folders of a story that are there."""
    folders = (layout.memories, layout.conversations, layout.tools, layout.questions_file.parent)
    return [folder.name for folder in folders if folder.exists()]


def _describe_story(request: CreateRequest, story: Story) -> Iterator[str]:
    there = Counter(arc.type for arc in story.arcs)
    kinds = ", ".join(f"{there[kind]} {kind}" for kind in ARC_TYPES if there[kind])
    yield (
        f"{request.story.arcs}: {_format_number(len(story.arcs), 'arc')} over "
        f"{_format_number(request.days, 'day')} from {story.epoch}: {kinds}"
    )
    rooms = ", ".join(
        f"{session.id} (isolated)" if session.isolated else session.id for session in story.sessions
    )
    yield f"{_format_number(len(story.sessions), 'session')}: {rooms}"


def _build_next_command(request: CreateRequest) -> str:
    words = ["recall-bench", "generate", "--persona", str(request.persona)]
    if choose_story(list_stories(request.persona)) != request.story.arcs:
        words += ["--arcs", request.story.arcs]
    return shlex.join([*words, "--model", request.model])


def _format_number(count: int, what: str) -> str:
    many = {"person": "people"}.get(what, f"{what}s")
    return f"{count} {what if count == 1 else many}"
