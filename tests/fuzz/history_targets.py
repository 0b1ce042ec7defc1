"""Targets that read histories: exports of chats and teams, mail, and traces.

What an import records of a history is the folder that it writes. So the identity of what was read
is that folder: a change that is accepted shows in a day, in the persona, or in what was left out.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from recall_bench.features.histories.history_formats import FORMATS
from recall_bench.features.histories.history_message import ReadingLog, ReadOptions
from recall_bench.features.histories.history_source import HistorySource
from recall_bench.features.histories.import_history import HistoryRequest, import_history
from recall_bench.features.histories.pseudonyms import PseudonymMap
from tests.features.histories import exports
from tests.fuzz.target import FuzzTarget, Reading, make_file_target, write_files

_FILES: Mapping[str, Mapping[str, object]] = {
    "chatgpt": {"conversations.json": exports.CHATGPT, "user.json": {"email": "a@b.example"}},
    "claude": {"conversations.json": exports.CLAUDE, "users.json": [{"full_name": "Ana"}]},
    "slack": exports.SLACK,
    "discord": {"seeds.json": exports.DISCORD_CHANNEL},
    "discord package": exports.DISCORD_PACKAGE,
    "mbox": {"mail.mbox": exports.MBOX},
    "whatsapp": {"chat.txt": exports.IOS_CHAT},
    "otel": {"trace.json": exports.OTEL},
    "otel events": {"trace.json": exports.OTEL_EVENTS},
    "otel logs": {"trace.json": exports.OTEL_LOGS},
    "langfuse": {"trace.json": exports.LANGFUSE},
    "langsmith": {"runs.json": exports.LANGSMITH},
    "jsonl": {"log.jsonl": exports.JSONL},
    "markdown": {"a.md": exports.NOTE},
}


def _read_with(form: str) -> Callable[[Path], Reading]:
    reader = next(each for each in FORMATS if each.name == form)

    def look(folder: Path) -> Reading:
        log = ReadingLog(ReadOptions())
        with HistorySource(folder) as source:
            messages = tuple(reader.read(source, log))
        return Reading(messages, (messages, log.people, log.skipped))

    return look


def _make_reader_target(name: str, files: Mapping[str, object]) -> FuzzTarget:
    texts = {
        path: content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        for path, content in files.items()
    }
    return make_file_target(
        f"history {name}", write_files(texts), _read_with(name.partition(" ")[0])
    )


def _import_all(folder: Path) -> Reading:
    """Import into a folder beside, and read what was written."""
    target = folder / ".imported"
    request = HistoryRequest(
        paths=(folder / "seeds.json", folder / "mail.mbox"),
        into=target,
        is_pseudonymised=True,
        map_file=folder / "map.json",
    )
    kept = (folder / "map.json").read_bytes()
    try:
        import_history(request)
        files = tuple(_read_tree(target))
    finally:
        _remove_tree(target)
        (folder / "map.json").write_bytes(kept)
    return Reading(files, files)


def _read_tree(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _remove_tree(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def list_history_targets() -> Sequence[FuzzTarget]:
    """Every reader of a history, and the import with pseudonyms as a whole."""
    known = PseudonymMap(seed="7", names={"ana": "Zora"}, addresses={"a@b.example": "z@b.example"})
    files = {
        "seeds.json": json.dumps(exports.DISCORD_CHANNEL),
        "mail.mbox": exports.MBOX,
        "map.json": json.dumps({field: getattr(known, field) for field in known.__struct_fields__}),
    }
    return (
        *(_make_reader_target(name, content) for name, content in _FILES.items()),
        make_file_target("history with pseudonyms", write_files(files), _import_all),
    )
