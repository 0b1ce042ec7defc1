"""Traces of OpenTelemetry's conventions for generative AI, of Langfuse, and of LangSmith.

OpenTelemetry: OTLP as JSON, one document or one a line, or the spans that the SDK prints. The
conventions had four forms: attributes `gen_ai.prompt.0.content`, events `gen_ai.content.prompt`,
events or log records `gen_ai.user.message` and `gen_ai.choice`, and attributes
`gen_ai.input.messages` and `gen_ai.output.messages`. Langfuse: traces, sessions or observations as
the UI and the API give them. LangSmith: runs; those without a parent are the user's requests, and
only a file without any is read by its model calls.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from recall_bench.features.histories.chat_exports import stream_file
from recall_bench.features.histories.history_message import (
    HistoryMessage,
    ReadingLog,
    decode_element,
    find_time,
    get_dict,
    get_list,
    get_text,
)
from recall_bench.features.histories.history_source import HistoryFile, HistorySource
from recall_bench.features.histories.json_records import is_json_lines, iterate_lines
from recall_bench.features.histories.trace_messages import (
    ChatTurn,
    TracedCall,
    build_messages,
    decode_nested,
    read_asked,
    read_content,
    read_replied,
)

_JSON_NAMES = r".*\.(?:json|jsonl|ndjson|txt|log)"
_START = ("startTimeUnixNano", "start_time", "startTime", "timestamp", "timeUnixNano")
_END = ("endTimeUnixNano", "end_time", "endTime")


def _read_documents(
    source: HistorySource, what: str, *arrays: str
) -> Iterator[tuple[str, Any, str]]:
    """Every document of the JSON files: key of its array, value, and where it is."""
    for file in source.choose_files(_JSON_NAMES, f"JSON file; name the export of {what}"):
        yield from _read_file(file, arrays)


def _read_file(file: HistoryFile, arrays: tuple[str, ...]) -> Iterator[tuple[str, Any, str]]:
    if is_json_lines(file):
        for raw, where in iterate_lines(file):
            value = decode_element(raw, where)
            present = [key for key in arrays if get_list(value, key)]
            for key in present:
                for element in get_list(value, key):
                    yield key, element, where
            if not present:
                yield "", value, where
        return
    rest: dict[str, Any] = {}
    for key, raw, where in stream_file(file, *arrays):
        if key == "" or key in arrays:
            yield key, decode_element(raw, where), where
        else:
            rest[key] = decode_element(raw, where)
    if rest:
        yield "", rest, file.shown


def read_otel(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message of the spans and log records of model calls."""

    def list_calls() -> Iterator[TracedCall]:
        arrays = ("resourceSpans", "resourceLogs")
        for key, value, _ in _read_documents(source, "OpenTelemetry", *arrays):
            yield from filter(None, map(_read_span, _list_spans(key, value)))

    missing = (
        f"{source.path} holds no message of a model call; record the content of messages "
        "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true), or say --format"
    )
    return build_messages(list_calls, missing, log)


def _list_spans(key: str, value: object) -> Iterator[dict[str, Any]]:
    if key == "resourceSpans" or get_list(value, "scopeSpans"):
        for scope in get_list(value, "scopeSpans") or get_list(
            value, "instrumentationLibrarySpans"
        ):
            yield from (span for span in get_list(scope, "spans") if isinstance(span, dict))
    elif key == "resourceLogs" or get_list(value, "scopeLogs"):
        for scope in get_list(value, "scopeLogs"):
            records = filter(_is_dict, get_list(scope, "logRecords"))
            for name, group in groupby(records, key=_name_span):
                yield from _merge_records(list(map(_wrap_record, group)), is_call=bool(name))
    elif get_list(value, "spans"):
        yield from (span for span in value["spans"] if isinstance(span, dict))  # type: ignore[index]
    elif isinstance(value, dict):
        yield _wrap_record(value) if "body" in value else value


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _name_span(record: object) -> str:
    return get_text(record, "spanId", "span_id")


def _merge_records(records: list[dict[str, Any]], *, is_call: bool) -> Iterator[dict[str, Any]]:
    """Records of one call as one span; each alone if they do not say which call they are of."""
    if not is_call:
        yield from records
        return
    events = [event for record in records for event in record["events"]]
    attributes: dict[str, Any] = {}
    for record in records:
        attributes.update(record["attributes"])
    ends = {"endTimeUnixNano": records[-1].get("timeUnixNano")}
    yield {**records[0], **ends, "attributes": attributes, "events": events}


def _wrap_record(record: object) -> dict[str, Any]:
    """A log record as a span with one event."""
    attributes = _read_attributes(record)
    name = get_text(record, "eventName", "event_name") or get_text(attributes, "event.name")
    body = _unwrap_value(get_dict(record, "body")) if isinstance(record, dict) else None
    merged = {**attributes, **(body if isinstance(body, dict) else {"content": body})}
    fields = dict(record) if isinstance(record, dict) else {}
    return {**fields, "attributes": attributes, "events": [{"name": name, "attributes": merged}]}


def _unwrap_value(value: object) -> object:
    """A value of OTLP without the name of its type."""
    if not isinstance(value, dict):
        return value
    if "arrayValue" in value:
        return [_unwrap_value(part) for part in get_list(value["arrayValue"], "values")]
    if "kvlistValue" in value:
        return {
            get_text(part, "key"): _unwrap_value(part.get("value"))
            for part in get_list(value["kvlistValue"], "values")
            if isinstance(part, dict)
        }
    for name in ("stringValue", "intValue", "doubleValue", "boolValue"):
        if name in value:
            return value[name]
    return {key: _unwrap_value(part) for key, part in value.items()}


def _read_attributes(holder: object) -> dict[str, Any]:
    raw = holder.get("attributes") if isinstance(holder, dict) else None
    if isinstance(raw, list):
        pairs = ((get_text(pair, "key"), pair) for pair in raw if isinstance(pair, dict))
        return {key: _unwrap_value(pair.get("value")) for key, pair in pairs if key}
    return raw if isinstance(raw, dict) else {}


def _read_span(span: dict[str, Any]) -> TracedCall | None:
    attributes = _read_attributes(span)
    sent = [*read_asked(attributes.get("gen_ai.input.messages"))]
    replied = [*read_replied(attributes.get("gen_ai.output.messages"))]
    if not sent and not replied:
        sent = [*_read_indexed(attributes, "gen_ai.prompt", "user")]
        replied = [*_read_indexed(attributes, "gen_ai.completion", "assistant")]
    for event in get_list(span, "events"):
        event_attributes = _read_attributes(event)
        more = _read_event(get_text(event, "name"), event_attributes)
        sent += more[0]
        replied += more[1]
    at = find_time(span, _START)
    if at is None or not (sent or replied):
        return None
    context = get_dict(span, "context")
    trace = get_text(span, "traceId", "trace_id") or get_text(context, "trace_id")
    thread = get_text(
        attributes, "gen_ai.conversation.id", "session.id", "langfuse.session.id", "thread.id"
    )
    return TracedCall(
        at=at,
        ended=find_time(span, _END),
        conversation=thread or trace,
        request=_name_request(span, trace),
        title=get_text(attributes, "gen_ai.agent.name") or "Assistant",
        asked=tuple(sent),
        replied=tuple(replied),
    )


def _name_request(span: dict[str, Any], trace: str) -> str:
    """The trace; of a log record, which may be one of many in it, the call or the time."""
    if "body" not in span:
        return trace
    return f"{trace}/{_name_span(span) or find_time(span, _START)}"


_EVENT_ROLES = {
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.system.message": "system",
    "gen_ai.tool.message": "tool",
}


def _read_event(name: str, held: dict[str, Any]) -> tuple[list[ChatTurn], list[ChatTurn]]:
    """The messages of an event: those sent to the model, and those that it returned."""
    body = decode_nested(held.get("gen_ai.event.content"))
    merged = {**held, **body} if isinstance(body, dict) else held
    if name in _EVENT_ROLES:
        text = read_content(decode_nested(merged.get("content")))
        return [ChatTurn(_EVENT_ROLES[name], text)], []
    if name == "gen_ai.choice":
        message = decode_nested(merged.get("message"))
        text = read_content(message if message is not None else merged.get("content"))
        return [], [ChatTurn("assistant", text)]
    sent = merged.get("gen_ai.prompt") or merged.get("gen_ai.input.messages")
    replied = merged.get("gen_ai.completion") or merged.get("gen_ai.output.messages")
    return [*read_asked(sent)], [*read_replied(replied)]


def _read_indexed(attributes: dict[str, Any], prefix: str, role: str) -> Iterator[ChatTurn]:
    """Messages whose number is part of the attribute's name."""
    pattern = re.compile(rf"{re.escape(prefix)}\.(\d{{1,6}})\.(role|content)")
    numbered: dict[int, dict[str, Any]] = defaultdict(dict)
    for key, value in attributes.items():
        if match := pattern.fullmatch(key):
            numbered[int(match[1])][match[2]] = value
    if not numbered and attributes.get(prefix):
        reading = read_asked if role == "user" else read_replied
        yield from reading(attributes[prefix])
    for number in sorted(numbered):
        text = read_content(decode_nested(numbered[number].get("content")))
        yield ChatTurn(get_text(numbered[number], "role") or role, text)


def read_langfuse(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message of the traces; of observations alone, those of the generations."""

    def list_calls() -> Iterator[TracedCall]:
        for key, value, _ in _read_documents(source, "Langfuse", "data", "traces"):
            yield from _list_langfuse_calls(key, value)

    missing = f"{source.path} holds no trace with input or output; name another export"
    return build_messages(list_calls, missing, log)


def _list_langfuse_calls(key: str, value: object) -> Iterator[TracedCall]:
    if not isinstance(value, dict):
        return
    nested = get_dict(value, "trace")
    trace = {**nested, **value} if nested else value
    own = _make_langfuse_call(trace)
    if (
        own is not None
        and (own.asked or own.replied)
        and (get_text(trace, "type") in ("", "GENERATION"))
    ):
        yield own
        return
    for part in get_list(trace, "observations"):
        if get_text(part, "type") == "GENERATION" and isinstance(part, dict):
            call = _make_langfuse_call({"sessionId": trace.get("sessionId"), **part})
            if call is not None:
                yield call
    for part in get_list(trace, "traces") if key != "traces" else ():
        yield from _list_langfuse_calls("traces", part)


def _make_langfuse_call(trace: dict[str, Any]) -> TracedCall | None:
    at = find_time(trace, ("timestamp", "startTime", "start_time", "createdAt"))
    sent, replied = read_asked(trace.get("input")), read_replied(trace.get("output"))
    if at is None or not (sent or replied):
        return None
    return TracedCall(
        at=at,
        ended=find_time(trace, _END),
        conversation=get_text(trace, "sessionId", "session_id", "traceId", "id"),
        request=get_text(trace, "traceId", "id"),
        title=get_text(trace, "name") or "Assistant",
        asked=sent,
        replied=replied,
    )


def read_langsmith(source: HistorySource, log: ReadingLog) -> Iterator[HistoryMessage]:
    """Every message of the runs without a parent; without any, of the model calls."""
    has_roots = any(_is_root(run) for _, run, _ in _read_documents(source, "LangSmith", "runs"))
    is_wanted: Callable[[object], bool] = _is_root if has_roots else _is_model_call

    def list_calls() -> Iterator[TracedCall]:
        runs = (run for _, run, _ in _read_documents(source, "LangSmith", "runs"))
        yield from filter(None, map(_make_langsmith_call, filter(is_wanted, runs)))

    missing = f"{source.path} holds no run with inputs or outputs; name another export"
    return build_messages(list_calls, missing, log)


def _is_root(run: object) -> bool:
    return isinstance(run, dict) and "run_type" in run and not run.get("parent_run_id")


def _is_model_call(run: object) -> bool:
    return get_text(run, "run_type") == "llm"


def _make_langsmith_call(run: dict[str, Any]) -> TracedCall | None:
    at = find_time(run, ("start_time",))
    sent = read_asked(decode_nested(run.get("inputs")))
    replied = read_replied(decode_nested(run.get("outputs")))
    if at is None or not (sent or replied):
        return None
    metadata = get_dict(get_dict(run, "extra"), "metadata")
    thread = get_text(metadata, "session_id", "thread_id", "conversation_id")
    return TracedCall(
        at=at,
        ended=find_time(run, ("end_time",)),
        conversation=thread or get_text(run, "trace_id", "id"),
        request=get_text(run, "trace_id", "id"),
        title=get_text(run, "name") or "Assistant",
        asked=sent,
        replied=replied,
    )
