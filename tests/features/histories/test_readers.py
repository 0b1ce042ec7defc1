"""Every format gives who said what, where and when; what is left out is counted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.histories.history_formats import find_format
from recall_bench.features.histories.history_message import HistoryMessage, ReadingLog, ReadOptions
from recall_bench.features.histories.history_source import HistorySource
from tests.features.histories import exports
from tests.features.histories.exports import write_tree, write_zip


def read(
    path: Path, form: str | None = None, options: ReadOptions | None = None
) -> tuple[str, list[HistoryMessage], ReadingLog]:
    """The format, the messages and the log of a source."""
    log = ReadingLog(options or ReadOptions())
    with HistorySource(path) as source:
        found = find_format(source, form)
        messages = list(found.read(source, log))
    return found.name, messages, log


def tell(messages: list[HistoryMessage], log: ReadingLog) -> list[tuple[str, str]]:
    """Who said what."""
    return [(log.people[each.speaker].label, each.text) for each in messages]


def test_chatgpt_gives_the_branch_that_the_user_saw_last(tmp_path: Path) -> None:
    path = write_zip(
        tmp_path / "export.zip",
        {
            "conversations.json": exports.CHATGPT,
            "user.json": {"email": "ana.ruiz@example.org", "phone_number": "+49 170 1234567"},
            "chat.html": "<html>",
        },
    )

    name, messages, log = read(path, options=ReadOptions(users=("Ana Ruiz",)))

    assert name == "chatgpt"
    assert tell(messages, log) == [
        ("Ana Ruiz", "The hotel costs 140 euros a night."),
        ("ChatGPT", "# Plan\n\nThat is fair."),
        ("Ana Ruiz", "Bo's train arrives at 17:45 at Oriente."),
        ("ChatGPT", "Noted.\n# session: secret\n17:45."),
    ]
    assert [f"{each.at:%d %H:%M}" for each in messages] == [
        "05 14:00",
        "05 14:00",
        "06 14:00",
        "06 14:00",
    ]
    assert {each.title for each in messages} == {"Trip to Lisbon with Bo"}
    assert log.skipped == {"on other branches": 1, "by tools": 1}
    assert log.people["user"].addresses == {"ana.ruiz@example.org"}


def test_the_branch_of_chatgpt_ends_where_the_export_says(tmp_path: Path) -> None:
    chat = {**exports.CHATGPT[0], "current_node": "a1b"}

    _, messages, log = read(write_tree(tmp_path, {"conversations.json": [chat]}))

    assert [each.text for each in messages] == [
        "The hotel costs 140 euros a night.",
        "An answer that was replaced.",
    ]
    assert log.skipped == {"on other branches": 3}


def test_newer_exports_of_chatgpt_have_several_files(tmp_path: Path) -> None:
    second = [{**exports.CHATGPT[0], "conversation_id": "c-2"}]
    files = {"conversations-000.json": exports.CHATGPT, "conversations-001.json": second}

    _, messages, _ = read(write_tree(tmp_path, files))

    assert {each.conversation for each in messages} == {"c-1", "c-2"}


def test_without_a_mark_the_newest_leaf_of_chatgpt_is_the_end(tmp_path: Path) -> None:
    chat = {**exports.CHATGPT[0], "current_node": "lost"}

    _, messages, _ = read(write_tree(tmp_path, {"conversations.json": [chat]}))

    assert messages[-1].text.startswith("Noted.")


def test_claude_gives_texts_and_attached_texts_and_no_thoughts(tmp_path: Path) -> None:
    files = {
        "conversations.json": exports.CLAUDE,
        "users.json": [{"full_name": "Ana Ruiz", "email_address": "ana@example.org"}],
    }

    name, messages, log = read(write_zip(tmp_path / "data.zip", files))

    assert name == "claude"
    assert tell(messages, log) == [
        ("Ana Ruiz", "The queen is called Mabel.\n\n[hive.txt]\nTwo hives."),
        ("Claude", "A fine name."),
    ]


@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "folder"])
def test_slack_names_people_and_channels(tmp_path: Path, is_zip: bool) -> None:
    path = (write_zip if is_zip else write_tree)(tmp_path / "team.zip", exports.SLACK)

    name, messages, log = read(path, options=ReadOptions(users=("Ana Ruiz",)))

    assert name == "slack"
    said = {each.room.label: each for each in messages if each.speaker == "U2"}
    assert said["Bo Lund"].text == "Lunch at 12?"
    assert not said["Bo Lund"].room.is_group
    assert said["#general"].text == "The budget is 4,180 euros."
    first = next(each for each in messages if each.speaker == "U1")
    assert first.text == ("@Bo Lund see the plan (https://x.example/a) in #general & reply @here")
    assert first.conversation == said["#general"].conversation
    assert log.people["U1"].is_user
    assert log.people["U3"].is_agent
    assert log.skipped == {"notices": 1}


def test_a_channel_of_discord_names_authors_and_mentions(tmp_path: Path) -> None:
    name, messages, log = read(write_tree(tmp_path, {"seeds.json": exports.DISCORD_CHANNEL}))

    assert name == "discord"
    assert tell(messages, log) == [("Ana", "Leeks go to bed 7, @Bo.")]
    assert messages[0].room.label == "#seeds"
    assert log.people["12"].handles == {"bo92"}


def test_the_data_package_of_discord_holds_the_users_own_messages(tmp_path: Path) -> None:
    name, messages, log = read(write_zip(tmp_path / "p.zip", exports.DISCORD_PACKAGE))

    assert name == "discord"
    assert tell(messages, log) == [("Ana", "@someone leeks go to bed 7.")]
    assert messages[0].at.utcoffset() is not None


def test_older_packages_of_discord_are_tables(tmp_path: Path) -> None:
    files = {key: value for key, value in exports.DISCORD_PACKAGE.items() if "s.json" not in key}
    files["Messages/c5/messages.csv"] = (
        'ID,Timestamp,Contents,Attachments\n1,2024-03-05 14:00:00+00:00,"Bed 7,\nnot 8.",\n'
    )

    _, messages, _ = read(write_tree(tmp_path, files))

    assert [each.text for each in messages] == ["Bed 7,\nnot 8."]


def test_mail_is_taken_once_and_without_what_it_quotes(tmp_path: Path) -> None:
    name, messages, log = read(write_tree(tmp_path, {"mail.mbox": exports.MBOX}) / "mail.mbox")

    assert name == "mbox"
    assert tell(messages, log)[:2] == [
        ("Bo Lund", "Hi Ana,\nthe hotel now wants 155 euros."),
        ("Ana Ruiz", "155 euros & breakfast is fine."),
    ]
    assert messages[0].conversation == messages[1].conversation
    assert messages[1].title == "Hotel in Lisbon"
    assert messages[1].recipients == ("bo.lund@nordmail.example",)
    assert messages[2].identity == messages[1].identity
    assert log.skipped == {"in spam or trash": 1, "quoted lines of mail": 1, "without a date": 1}


@pytest.mark.parametrize("text", [exports.IOS_CHAT, exports.ANDROID_CHAT], ids=["ios", "android"])
def test_whatsapp_tells_day_and_month_by_the_whole_file(tmp_path: Path, text: str) -> None:
    path = write_tree(tmp_path, {"WhatsApp Chat with Family.txt": text})

    name, messages, _ = read(path / "WhatsApp Chat with Family.txt")

    assert name == "whatsapp"
    assert [f"{each.at:%Y-%m-%d %H:%M}" for each in messages] == [
        "2024-03-05 14:02",
        "2024-03-13 09:00",
    ]
    assert messages[0].text.startswith("The key is under the blue pot.")
    assert messages[0].room.label == "Family"


def test_rising_dates_tell_day_and_month_where_no_figure_does(tmp_path: Path) -> None:
    lines = [f"{day:02}/{month:02}/2024, 10:00 - Ana: Hi." for month in (3, 4) for day in (2, 9)]
    path = write_tree(tmp_path, {"chat.txt": "\n".join(lines)}) / "chat.txt"

    _, messages, _ = read(path)

    assert [f"{each.at:%m-%d}" for each in messages] == ["03-02", "03-09", "04-02", "04-09"]


def test_whatsapp_asks_where_nothing_tells_day_and_month(tmp_path: Path) -> None:
    path = write_tree(tmp_path, {"chat.txt": "03/04/2024, 10:00 - Ana: Hi.\n"}) / "chat.txt"

    with pytest.raises(UsageError, match="say --dates dmy or --dates mdy"):
        read(path)
    _, american, _ = read(path, options=ReadOptions(date_order="mdy"))

    assert f"{american[0].at:%Y-%m-%d}" == "2024-03-04"


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("2024-03-25, 10:05 - Ana: Hi.", "2024-03-25 10:05"),
        ("[25.3.2024 klo 10.05.06] Ana: Hi.", "2024-03-25 10:05"),
        ("25/3/24, 1:05 p. m. - Ana: Hi.", "2024-03-25 13:05"),
        ("[2024/3/25 下午1:05:06] Ana: Hi.", "2024-03-25 13:05"),
        ("25/3/2567, 12:05 am - Ana: Hi.", "2024-03-25 00:05"),
        ("٢٥/٣/٢٠٢٤, ١٠:٠٥ - Ana: Hi.", "2024-03-25 10:05"),
    ],
)
def test_whatsapp_writes_dates_as_the_phone_does(tmp_path: Path, line: str, at: str) -> None:
    _, messages, _ = read(write_tree(tmp_path, {"chat.txt": line}) / "chat.txt", "whatsapp")

    assert [f"{each.at:%Y-%m-%d %H:%M}" for each in messages] == [at]
    assert messages[0].text == "Hi."


TRACES = {
    "otel attributes": exports.OTEL,
    "otel events": exports.OTEL_EVENTS,
    "otel indexed": exports.OTEL_INDEXED,
    "otel logs": exports.OTEL_LOGS,
    "langfuse trace": exports.LANGFUSE,
    "langfuse page": {"data": [exports.LANGFUSE_OBSERVATION], "meta": {}},
    "langfuse session": {"id": "v1", "traces": [exports.LANGFUSE]},
    "langsmith runs": exports.LANGSMITH,
    "langsmith calls": {"runs": [exports.LANGSMITH_CALL]},
}


@pytest.mark.parametrize("name", TRACES)
def test_traces_give_what_user_and_model_said(tmp_path: Path, name: str) -> None:
    path = write_tree(tmp_path, {"trace.json": TRACES[name]}) / "trace.json"

    found, messages, log = read(path)

    assert found == name.partition(" ")[0]
    distinct = {each.identity: each for each in messages}
    said = tell(list(distinct.values()), log)
    assert said[:2] == [("User", "My cat is Plum."), ("Assistant", "Noted.")]
    assert len(said) == (4 if found == "otel" and "attributes" in name else 2)
    assert len({each.conversation for each in messages}) == 1


def test_calls_repeat_the_messages_before_them_and_each_is_one(tmp_path: Path) -> None:
    path = write_tree(tmp_path, {"trace.json": exports.OTEL}) / "trace.json"

    _, messages, _ = read(path)

    assert len(messages) == 6
    assert len({each.identity for each in messages}) == 4


def test_traces_may_be_one_document_a_line(tmp_path: Path) -> None:
    import json

    lines = "".join(json.dumps(each) + "\n" for each in (exports.OTEL, exports.OTEL_INDEXED))
    path = write_tree(tmp_path, {"spans.jsonl": lines}) / "spans.jsonl"

    found, messages, _ = read(path)

    assert found == "otel"
    assert len(messages) == 8


def test_plain_records_may_have_any_usual_names(tmp_path: Path) -> None:
    path = write_tree(tmp_path, {"log.jsonl": exports.JSONL}) / "log.jsonl"

    found, messages, log = read(path)

    assert found == "jsonl"
    assert tell(messages, log) == [("User", "My cat is Plum."), ("Assistant", "Noted.")]


def test_notes_are_dated_by_their_front_matter_or_name(tmp_path: Path) -> None:
    files = {"a.md": exports.NOTE, "2024-03-06.md": "Rain.", "undated.md": "Some day."}

    found, messages, log = read(write_tree(tmp_path, files))

    assert found == "markdown"
    assert {(f"{each.at:%m-%d}", each.title) for each in messages} == {
        ("03-05", "Bed 7"),
        ("03-06", "2024-03-06"),
    }
    assert log.skipped == {"without a date": 1}


BROKEN: dict[str, tuple[str | None, Callable[[Path], Path]]] = {
    "nothing there": (None, lambda folder: folder / "missing.zip"),
    "a damaged zip": (None, lambda f: _write_bytes(f / "x.zip", b"PK\x03\x04 and no more")),
    "cut off JSON": ("chatgpt", lambda f: _write_bytes(f / "c.json", b'[{"mapping": {"a"')),
    "no mapping": ("chatgpt", lambda f: _write_bytes(f / "c.json", b'[{"title": "x"}]')),
    "an empty file": ("claude", lambda f: _write_bytes(f / "c.json", b"")),
    "no chat_messages": ("claude", lambda f: _write_bytes(f / "c.json", b"[{}]")),
    "no users": ("slack", lambda f: write_tree(f / "s", {"channels.json": []})),
    "users that are no list": ("slack", lambda f: write_tree(f / "s", {"users.json": {}})),
    "no channel": ("discord", lambda f: _write_bytes(f / "d.json", b'{"messages": [{}]}')),
    "no mail": ("mbox", lambda f: _write_bytes(f / "m.mbox", b"Dear Ana,\n")),
    "no chat": ("whatsapp", lambda f: _write_bytes(f / "w.txt", b"Dear Ana,\n")),
    "no spans": ("otel", lambda f: _write_bytes(f / "o.json", b'{"resourceSpans": []}')),
    "no traces": ("langfuse", lambda f: _write_bytes(f / "l.json", b'{"data": [{"id": 1}]}')),
    "no runs": ("langsmith", lambda f: _write_bytes(f / "r.json", b"[]")),
    "a broken line": ("jsonl", lambda f: _write_bytes(f / "x.jsonl", b'{"role": "user"\n')),
    "no object": ("jsonl", lambda f: _write_bytes(f / "x.jsonl", b"[1]\n")),
    "no notes": ("markdown", lambda f: write_tree(f / "n", {"a.txt": "x"})),
    "no format": (None, lambda f: _write_bytes(f / "x.bin", b"\x00\x01\x02")),
}


def _write_bytes(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_export_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    form, write = BROKEN[name]

    with pytest.raises(UsageError) as refusal:
        read(write(tmp_path), form)

    message = str(refusal.value)
    assert message
    assert "\n" not in message


def test_a_zip_that_grows_beyond_measure_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bench.features.histories.history_source.UNPACKED_ALWAYS", 1000)
    files = {"conversations.json": '[{"mapping": {}, "title": "' + "x" * 3_000_000 + '"}]'}

    with pytest.raises(UsageError, match="far more than its size"):
        read(write_zip(tmp_path / "bomb.zip", files), "chatgpt")


def test_pipes_and_links_are_not_read(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "link.md").symlink_to(tmp_path / "secret.txt")

    with HistorySource(tmp_path) as source:
        assert [each.name for each in source.files] == ["secret.txt"]
    with pytest.raises(UsageError, match="pipe or a device"), HistorySource(tmp_path / "pipe.md"):
        pass


def test_a_line_of_mail_that_begins_with_from_is_text(tmp_path: Path) -> None:
    text = (
        "From a@x.example Tue Mar  5 00:00:00 2024\nFrom: Ana <a@x.example>\n"
        "Date: Tue, 05 Mar 2024 10:00:00 +0000\n\nHello.\n\nFrom Monday on I am away.\n\n"
        "From 2 to 8 March 2024\n\nFrom Berlin\nNote: bring cheese.\n\n"
        "From - Wed Mar  6 00:00:00 2024\nFrom: Bo <b@x.example>\n"
        "Date: Wed, 06 Mar 2024 10:00:00 +0000\n\nSecond.\n"
    )

    _, messages, log = read(write_tree(tmp_path, {"mail.mbox": text}) / "mail.mbox")

    assert [each.text.split("\n\n") for each in messages] == [
        [
            "Hello.",
            "From Monday on I am away.",
            "From 2 to 8 March 2024",
            "From Berlin\nNote: bring cheese.",
        ],
        ["Second."],
    ]
    assert not log.skipped


def test_messages_of_mail_may_begin_without_a_date(tmp_path: Path) -> None:
    head = "From x\nFrom: a@b.example\nDate: Tue, 05 Mar 2024 10:00:00 +0000\n\n"
    path = write_tree(tmp_path, {"mail.mbox": f"{head}One.\n\n{head}Two.\n"}) / "mail.mbox"

    assert [each.text for each in read(path)[1]] == ["One.", "Two."]


def test_mail_of_an_unknown_zone_is_dated_in_utc(tmp_path: Path) -> None:
    text = "From a\nFrom: a@b.example\nDate: Tue, 05 Mar 2024 23:30:00 -0000\n\nLate.\n"

    _, messages, _ = read(write_tree(tmp_path, {"mail.mbox": text}) / "mail.mbox")

    assert messages[0].at.isoformat() == "2024-03-05T23:30:00+00:00"


@pytest.mark.parametrize(
    "notice",
    [
        'Tom Foo changed the subject to "Trip: Rome"',
        'Tom Foo changed the subject from "Trip" to "Trip: Rome"',
        "Tom Foo hat den Betreff zu „Reise: Rom“ geändert",
        "Tom Foo changed the group name to Trip: Rome",
    ],
)
def test_a_notice_of_whatsapp_with_a_colon_is_no_ones_message(tmp_path: Path, notice: str) -> None:
    lines = [
        "25/3/24, 14:02 - Ana: The plan: Rome.",
        f"25/3/24, 14:03 - {notice}",
        '25/3/24, 14:04 - Tom "Tank" Foo: Hi.',
    ]
    path = write_tree(tmp_path, {"chat.txt": "\n".join(lines)}) / "chat.txt"

    _, messages, log = read(path)

    assert tell(messages, log) == [("Ana", "The plan: Rome."), ('Tom "Tank" Foo', "Hi.")]
    assert log.skipped == {"notices": 1}


def make_repeated_requests(name: str) -> list[dict[str, object]]:
    """Three days on which one session holds the same request, each call with the new one alone."""
    days = [f"2024-03-0{day}T10:00:00Z" for day in (5, 6, 7)]
    if name == "langfuse":
        return [
            {"id": at, "sessionId": "s", "timestamp": at, "input": "status?", "output": "fine"}
            for at in days
        ]
    return [
        {"id": at, "run_type": "chain", "start_time": at, "inputs": {"input": "status?"},
         "outputs": {"output": "fine"}, "extra": {"metadata": {"session_id": "s"}}}
        for at in days
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["langfuse", "langsmith"])
def test_what_is_said_again_in_a_session_is_kept(tmp_path: Path, name: str) -> None:
    path = write_tree(tmp_path, {"trace.json": make_repeated_requests(name)}) / "trace.json"

    found, messages, _ = read(path)

    assert found == name
    assert len(messages) == len({each.identity for each in messages}) == 6


def make_record(at: float, name: str, text: str, **more: str) -> dict[str, object]:
    body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": text}}]}}
    session = {"key": "session.id", "value": {"stringValue": "s"}}
    return {
        "timeUnixNano": str(int((exports.ANA_AT + at) * 1e9)),
        "eventName": f"gen_ai.{name}",
        "attributes": [session],
        "body": body,
        **more,
    }


def read_log_records(folder: Path, *records: dict[str, object]) -> list[str]:
    """The texts of the different messages of log records."""
    document = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    _, messages, _ = read(write_tree(folder, {"logs.json": document}) / "logs.json")
    return [each.text for each in {each.identity: each for each in messages}.values()]


def test_log_records_with_one_message_each_are_all_kept(tmp_path: Path) -> None:
    said = [(0, "ok"), (10, "next?"), (20, "ok")]
    records = [make_record(at, "user.message", text, traceId="t") for at, text in said]

    assert read_log_records(tmp_path, *records) == ["ok", "next?", "ok"]


def test_log_records_of_a_call_that_repeats_earlier_ones_are_counted_together(
    tmp_path: Path,
) -> None:
    first = [(0, "user.message", "ok"), (1, "choice", "What next?")]
    second = [
        (10, "user.message", "ok"),
        (10, "assistant.message", "What next?"),
        (10, "user.message", "ok"),
        (11, "choice", "Done."),
    ]
    records = [make_record(*each, spanId="a") for each in first]
    records += [make_record(*each, spanId="b") for each in second]

    assert read_log_records(tmp_path, *records) == ["ok", "What next?", "ok", "Done."]


@pytest.mark.parametrize("is_below", [False, True])
def test_a_json_file_may_be_one_conversation(tmp_path: Path, is_below: bool) -> None:
    about = {"id": "c1", "title": "Cat", "created_at": "2024-03-05T10:00:00Z"}
    turns = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    chat = {**turns, **about} if is_below else {**about, **turns}

    _, messages, log = read(write_tree(tmp_path, {"c.json": chat}) / "c.json", "jsonl")

    assert tell(messages, log) == [("User", "a"), ("Assistant", "b")]
    assert {(each.conversation, each.title, each.at.hour) for each in messages} == {
        ("c1", "Cat", 10)
    }


def test_conversations_without_a_name_stay_apart(tmp_path: Path) -> None:
    chats = [
        {"created_at": "2024-03-05T10:00:00Z", "messages": [{"role": "user", "content": text}] * 2}
        for text in ("a", "b")
    ]

    _, messages, _ = read(write_tree(tmp_path, {"c.json": chats}) / "c.json", "jsonl")

    assert len(messages) == 4
    assert len({each.conversation for each in messages}) == 2
