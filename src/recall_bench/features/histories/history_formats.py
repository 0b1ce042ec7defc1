"""The formats of histories, and how each is recognised by names and content."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from recall_bench.core.errors import UsageError
from recall_bench.features.histories.chat_exports import read_chatgpt, read_claude
from recall_bench.features.histories.history_message import Reader
from recall_bench.features.histories.history_source import HistoryFile, HistorySource
from recall_bench.features.histories.json_records import read_markdown, read_records
from recall_bench.features.histories.mail import read_mbox
from recall_bench.features.histories.team_exports import SLACK_LISTS, read_discord, read_slack
from recall_bench.features.histories.traces import read_langfuse, read_langsmith, read_otel
from recall_bench.features.histories.whatsapp import match_head, read_whatsapp


@dataclass(frozen=True, slots=True)
class HistoryFormat:
    """One format: its name, its reader, and what makes a source look like it."""

    name: str
    read: Reader
    recognise: Callable[[HistorySource, dict[str, bytes]], bool]
    """By the beginnings of its files."""


_LOOKED_AT = 12
"""Files whose beginning is read to recognise a format; the largest folders have thousands."""
_CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json")


def _holds(*words: bytes) -> Callable[[HistorySource, dict[str, bytes]], bool]:
    """Whether the beginning of a file is JSON with all of these keys."""
    keys = [re.compile(rb'"%s"\s*:' % re.escape(word)) for word in words]
    return lambda _, heads: any(
        head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"[", b"{")
        and all(k.search(head) for k in keys)
        for head in heads.values()
    )


def _is_slack(source: HistorySource, _: dict[str, bytes]) -> bool:
    names = {file.base for file in source.files}
    return "users.json" in names and bool(names & set(SLACK_LISTS))


def _is_discord(source: HistorySource, heads: dict[str, bytes]) -> bool:
    names = [file.name.lower() for file in source.files]
    is_package = any(re.search(r"messages/c?\d+/channel\.json$", name) for name in names)
    return is_package or _holds(b"channel", b"guild")(source, heads)


def _is_mbox(source: HistorySource, heads: dict[str, bytes]) -> bool:
    is_named = any(file.base.endswith((".mbox", ".mbx")) for file in source.files)
    return is_named or any(
        re.match(rb"\s*From \S+.*\n(?:[\w-]+:|>From )", head) for head in heads.values()
    )


def _is_whatsapp(_: HistorySource, heads: dict[str, bytes]) -> bool:
    return any(
        match_head(line)
        for name, head in heads.items()
        if name.lower().endswith(".txt") or len(heads) == 1
        for line in head[:4096].decode("utf-8", "replace").splitlines()[:3]
    )


def _is_otel(source: HistorySource, heads: dict[str, bytes]) -> bool:
    is_otlp = any(_holds(key)(source, heads) for key in (b"resourceSpans", b"resourceLogs"))
    return is_otlp or any(b"gen_ai." in head for head in heads.values())


def _is_langfuse(source: HistorySource, heads: dict[str, bytes]) -> bool:
    shapes = ((b"observations",), (b"traceId", b"input"), (b"sessionId", b"input"), (b"traces",))
    shapes += ((b"timestamp", b"input", b"output"),)  # type: ignore[assignment]
    return any(_holds(*shape)(source, heads) for shape in shapes)


def _is_json(source: HistorySource, heads: dict[str, bytes]) -> bool:
    return _holds()(source, heads)


def _is_markdown(source: HistorySource, _: dict[str, bytes]) -> bool:
    return any(file.base.endswith(".md") for file in source.files)


FORMATS = (
    HistoryFormat("chatgpt", read_chatgpt, _holds(b"mapping")),
    HistoryFormat("claude", read_claude, _holds(b"chat_messages")),
    HistoryFormat("slack", read_slack, _is_slack),
    HistoryFormat("discord", read_discord, _is_discord),
    HistoryFormat("mbox", read_mbox, _is_mbox),
    HistoryFormat("whatsapp", read_whatsapp, _is_whatsapp),
    HistoryFormat("otel", read_otel, _is_otel),
    HistoryFormat("langsmith", read_langsmith, _holds(b"run_type")),
    HistoryFormat("langfuse", read_langfuse, _is_langfuse),
    HistoryFormat("jsonl", read_records, _is_json),
    HistoryFormat("markdown", read_markdown, _is_markdown),
)
"""In the order in which they are tried."""


def find_format(source: HistorySource, name: str | None) -> HistoryFormat:
    """The format of this name, or the one that the source looks like; UsageError without any."""
    if name is not None:
        return next(form for form in FORMATS if form.name == name)
    heads = {file.name: file.peek() for file in _choose_files(source)}
    for form in FORMATS:
        if form.recognise(source, heads):
            return form
    raise UsageError(
        f"{source.path} looks like none of the formats {', '.join(f.name for f in FORMATS)}; "
        "check the file, or say --format"
    )


def _choose_files(source: HistorySource) -> list[HistoryFile]:
    files = source.files
    conversations = [file for file in files if _CONVERSATIONS.fullmatch(file.base)]
    if conversations:
        return conversations[:1]
    kinds = (".json", ".jsonl", ".ndjson", ".txt", ".mbox")
    return [e for e in files if source.is_file or e.base.endswith(kinds)][:_LOOKED_AT]
