"""Build a persona folder in the public format from the sources of a written edition."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from recall_bench.core.errors import Malformed, Problems
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.datasets.persona_files import (
    STATEMENTS_FILE,
    name_conversation_file,
    name_day_file,
)
from recall_bench.generate.world.build import choose_new_folder, write_text, write_whole_folder
from recall_bench.generate.written.checks import check_sources
from recall_bench.generate.written.question_entries import EntryBuilder
from recall_bench.generate.written.renderer import RenderedDay, RenderedEdition, render_edition
from recall_bench.generate.written.sources import WrittenSources

_ONLY_OURS = ("alternatives", "week", "epoch", "dates")
"""Keys of persona.yaml that belong to the simulator."""


def build_written_folder(sources: WrittenSources, out: Path, *, seed: int = 0) -> Path:
    """Render the edition and write its folder under `out`; a failure leaves nothing behind."""
    folder = choose_new_folder(out, sources.persona.id)
    if findings := check_sources(sources):
        raise Problems([Malformed(each.where, each.message) for each in findings])
    out.mkdir(parents=True, exist_ok=True)
    with write_whole_folder(folder) as partial:
        write_edition(render_edition(sources, seed), partial)
    return folder


def write_edition(edition: RenderedEdition, folder: Path, *, until: int | None = None) -> None:
    """Write all files of a rendered edition.

    With `until`, of the beginning alone: the days up to this one, and the questions that can be
    asked on it and cite no later day. Each question is as in the whole edition.
    """
    sources = edition.sources
    suffix = f"{sources.story.days}d"
    memories, qa = folder / f"memories-{suffix}", folder / f"qa-{suffix}"
    memories.mkdir(parents=True)
    qa.mkdir()
    write_text(folder / "persona.yaml", dump_yaml(_build_persona_file(sources)))
    write_text(folder / f"arcs-{suffix}.yaml", dump_yaml(_build_arcs_file(sources)))
    last = sources.story.days if until is None else until
    days = [day for day in edition.days if day.day <= last]
    for day in days:
        write_text(memories / name_day_file(day.day), day.text)
    if edition.dialogues:
        (conversations := folder / f"conversations-{suffix}").mkdir()
        for number, text in edition.dialogues.items():
            if number <= last:
                write_text(conversations / name_conversation_file(number), text)
    builder = EntryBuilder(edition)
    entries = [
        builder.build(number, question)
        for number, (_, question) in enumerate(sources.questions, start=1)
        if until is None or builder.is_open(question, until)
    ]
    write_text(qa / "questions.yaml", dump_yaml(entries))
    with (qa / STATEMENTS_FILE).open("w", encoding="utf-8", newline="\n") as lines:
        _write_statements(edition, days, lines)


def _build_persona_file(sources: WrittenSources) -> Mapping[str, object]:
    own = {key: part for key, part in sources.persona_file.items() if key not in _ONLY_OURS}
    extra = [
        {key: value for key, value in _describe_cast(entry) if value}
        for entry in sources.story.cast
    ]
    return own | {"cast": [*sources.persona_file["cast"], *extra]}


def _describe_cast(entry: object) -> Iterator[tuple[str, object]]:
    for key in ("name", "role", "kind", "groups", "pronoun"):
        yield key, getattr(entry, key)


def _build_arcs_file(sources: WrittenSources) -> Mapping[str, object]:
    story = sources.story
    return {
        "epoch": story.epoch,
        "gaps": True,
        "off": story.off,
        "sessions": story.sessions or None,
        "arcs": story.arcs,
    }


def _write_statements(
    edition: RenderedEdition, days: Iterable[RenderedDay], lines: IO[str]
) -> None:
    facts = edition.sources.story.facts
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for day in days:
        for statement in day.statements:
            planned = facts.get(statement.state.key)
            record = {
                "fact": statement.state.key,
                "state": statement.state.number,
                "about": planned.about if planned else None,
                "what": planned.what if planned else None,
                "kind": edition.values.values[statement.state].kind,
                "day": statement.day,
                "session": statement.session,
                "start": statement.start,
                "end": statement.end,
            }
            lines.write(encode(record) + "\n")
