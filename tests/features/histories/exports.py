"""Small exports in every format, written by hand after the schemas of the programs."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ANA_AT = 1709647200.0
"""5 March 2024, 14:00 UTC."""


def make_node(
    name: str, parent: str | None, children: list[str], said: tuple[str, str, float] | None = None
) -> dict[str, Any]:
    """A node of ChatGPT's tree."""
    message = None
    if said is not None:
        role, text, at = said
        message = {
            "id": name,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": at,
            "content": {"content_type": "text", "parts": [text]},
            "recipient": "all",
            "metadata": {},
        }
    return {name: {"id": name, "message": message, "parent": parent, "children": children}}


CHATGPT: list[dict[str, Any]] = [
    {
        "title": "Trip to Lisbon with Bo",
        "create_time": ANA_AT,
        "update_time": ANA_AT + 90_000,
        "conversation_id": "c-1",
        "current_node": "a2",
        "mapping": {
            **make_node("root", None, ["u1"]),
            **make_node(
                "u1", "root", ["a1", "a1b"], ("user", "The hotel costs 140 euros a night.", ANA_AT)
            ),
            **make_node("a1b", "u1", [], ("assistant", "An answer that was replaced.", ANA_AT + 5)),
            **make_node("a1", "u1", ["t1"], ("assistant", "# Plan\n\nThat is fair.", ANA_AT + 10)),
            **make_node("t1", "a1", ["u2"], ("tool", "search results", ANA_AT + 11)),
            **make_node(
                "u2",
                "t1",
                ["a2"],
                ("user", "Bo's train arrives at 17:45 at Oriente.", ANA_AT + 86_400),
            ),
            **make_node(
                "a2",
                "u2",
                [],
                ("assistant", "Noted.\n# session: secret\n17:45.", ANA_AT + 86_410),
            ),
        },
    }
]

CLAUDE: list[dict[str, Any]] = [
    {
        "uuid": "k-1",
        "name": "Bees",
        "created_at": "2024-04-01T08:00:00.123456Z",
        "updated_at": "2024-04-01T09:00:00Z",
        "account": {"uuid": "acc"},
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "The queen is called Mabel.",
                "content": [{"type": "text", "text": "The queen is called Mabel."}],
                "created_at": "2024-04-01T08:00:01Z",
                "attachments": [{"file_name": "hive.txt", "extracted_content": "Two hives."}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_use", "name": "x", "input": {}},
                    {"type": "text", "text": "A fine name."},
                ],
                "created_at": "2024-04-01T08:00:09Z",
                "attachments": [],
            },
        ],
    }
]

MBOX = """\
From bo@nordmail.example Thu Mar  7 09:00:00 2024
From: "Lund, Bo" <bo.lund@nordmail.example>
To: Ana Ruiz <ana.ruiz@example.org>
Subject: Hotel in Lisbon
Date: Thu, 7 Mar 2024 09:00:00 +0100
Message-ID: <1@x>
Content-Type: text/plain; charset=utf-8

Hi Ana,
the hotel now wants 155 euros.

On Tue, 5 Mar 2024, Ana Ruiz wrote:
> The hotel costs 140 euros.
--\x20
Bo Lund

From ana@example.org Thu Mar  7 10:00:00 2024
From: Ana Ruiz <ana.ruiz@example.org>
To: Bo Lund <bo.lund@nordmail.example>
Subject: =?utf-8?q?Re=3A_Hotel_in_Lisbon?=
Date: Thu, 7 Mar 2024 10:30:00 +0100
Message-ID: <2@x>
References: <1@x>
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="b"

--b
Content-Type: text/html; charset=utf-8

<style>p {}</style><p>155 euros &amp; breakfast is fine.</p>
--b--

From ana@example.org Thu Mar  7 10:00:00 2024
From: Ana Ruiz <ana.ruiz@example.org>
To: Bo Lund <bo.lund@nordmail.example>
Subject: again
Date: Thu, 7 Mar 2024 10:30:00 +0100
Message-ID: <2@x>

The same message under another label.

From spam@example.org Thu Mar  7 11:00:00 2024
From: spam@example.org
Subject: Win
Date: Thu, 7 Mar 2024 11:00:00 +0100
Message-ID: <3@x>
X-Gmail-Labels: Spam,Unread

Win now.

From x@example.org Thu Mar  7 12:00:00 2024
From: x@example.org
Subject: undated

No date.
"""

IOS_CHAT = (
    "[05.03.24, 14:02:11] Familie: \u200eMessages and calls are end-to-end encrypted.\n"
    "[05.03.24, 14:02:40] Ana Ruiz: The key is under the blue pot.\n"
    "It is the left one.\n"
    "\u200e[05.03.24, 14:03:00] Bo: \u200eimage omitted\n"
    "[13.03.24, 09:00:00] ~ Bo: Thanks!\n"
)
ANDROID_CHAT = (
    "3/5/24, 2:02\u202fPM - Messages and calls are end-to-end encrypted.\n"
    "3/5/24, 2:02\u202fPM - Ana Ruiz: The key is under the blue pot.\n"
    "3/5/24, 2:03\u202fPM - +49 170 1234567: <Media omitted>\n"
    "3/13/24, 9:00\u202fAM - +49 170 1234567: Thanks!\n"
)

SLACK: dict[str, object] = {
    "users.json": [
        {
            "id": "U1",
            "name": "ana",
            "profile": {"real_name": "Ana Ruiz", "email": "ana.ruiz@example.org"},
        },
        {"id": "U2", "name": "bo_l", "profile": {"real_name": "Bo Lund", "display_name": "bo_l"}},
        {"id": "U3", "name": "buildbot", "is_bot": True, "profile": {"real_name": "Build"}},
    ],
    "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
    "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    "general/2024-03-05.json": [
        {
            "type": "message",
            "subtype": "channel_join",
            "user": "U2",
            "text": "x",
            "ts": "1709647100",
        },
        {
            "type": "message",
            "user": "U1",
            "text": "<@U2> see <https://x.example/a|the plan> in <#C1|general> &amp; reply <!here>",
            "ts": "1709647200.000100",
            "thread_ts": "1709647200.000100",
        },
        {
            "type": "message",
            "user": "U2",
            "text": "The budget is 4,180 euros.",
            "ts": "1709733600.000200",
            "thread_ts": "1709647200.000100",
        },
    ],
    "D1/2024-03-06.json": [
        {"type": "message", "user": "U2", "text": "Lunch at 12?", "ts": "1709715600.000100"}
    ],
}

DISCORD_CHANNEL: dict[str, Any] = {
    "guild": {"id": "9", "name": "Garden club"},
    "channel": {"id": "5", "type": "GuildTextChat", "name": "seeds"},
    "dateRange": {"after": None, "before": None},
    "messages": [
        {
            "id": "1",
            "type": "Default",
            "timestamp": "2024-03-05T14:00:00.1234567+00:00",
            "content": "Leeks go to bed 7, @Bo.",
            "author": {"id": "11", "name": "ana_r", "nickname": "Ana", "isBot": False},
            "mentions": [{"id": "12", "name": "bo92", "nickname": "Bo", "isBot": False}],
        },
        {
            "id": "2",
            "type": "GuildMemberJoin",
            "timestamp": "2024-03-05T14:01:00+00:00",
            "content": "joined",
            "author": {"id": "12", "name": "bo92", "nickname": "Bo", "isBot": False},
        },
    ],
}
DISCORD_PACKAGE: dict[str, object] = {
    "Account/user.json": {"username": "ana_r", "global_name": "Ana", "email": "ana@example.org"},
    "Messages/index.json": {"5": "seeds in Garden club"},
    "Messages/c5/channel.json": {"id": "5", "type": "GUILD_TEXT", "name": "seeds"},
    "Messages/c5/messages.json": [
        {"ID": 1, "Timestamp": "2024-03-05 14:00:00", "Contents": "<@12> leeks go to bed 7."}
    ],
}


def make_span(attributes: Mapping[str, str], *, start: float, **more: object) -> dict[str, Any]:
    """A span of OTLP."""
    return {
        "traceId": "t1",
        "spanId": "s1",
        "name": "chat gpt",
        "startTimeUnixNano": str(int(start * 1e9)),
        "endTimeUnixNano": str(int((start + 2) * 1e9)),
        "attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
        ],
        **more,
    }


def make_otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """A document of OTLP."""
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": list(spans)}]}]}


def make_parts(role: str, text: str) -> dict[str, Any]:
    """A message as `gen_ai.input.messages` has it."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


_FIRST = [make_parts("system", "Be short."), make_parts("user", "My cat is Plum.")]
_SECOND = [*_FIRST, make_parts("assistant", "Noted."), make_parts("user", "And my dog is Fig.")]
OTEL = make_otlp(
    make_span(
        {
            "gen_ai.conversation.id": "v1",
            "gen_ai.input.messages": json.dumps(_FIRST),
            "gen_ai.output.messages": json.dumps([make_parts("assistant", "Noted.")]),
        },
        start=ANA_AT,
    ),
    make_span(
        {
            "gen_ai.conversation.id": "v1",
            "gen_ai.input.messages": json.dumps(_SECOND),
            "gen_ai.output.messages": json.dumps([make_parts("assistant", "A full house.")]),
        },
        start=ANA_AT + 60,
    ),
)
OTEL_EVENTS = make_otlp(
    make_span(
        {"session.id": "v1"},
        start=ANA_AT,
        events=[
            {
                "name": "gen_ai.user.message",
                "attributes": [{"key": "content", "value": {"stringValue": "My cat is Plum."}}],
            },
            {
                "name": "gen_ai.choice",
                "attributes": [
                    {"key": "message", "value": {"stringValue": '{"content": "Noted."}'}}
                ],
            },
        ],
    )
)
OTEL_INDEXED = make_otlp(
    make_span(
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "My cat is Plum.",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Noted.",
        },
        start=ANA_AT,
    )
)
OTEL_LOGS = {
    "resourceLogs": [
        {
            "scopeLogs": [
                {
                    "logRecords": [
                        {
                            "timeUnixNano": str(int(ANA_AT * 1e9)),
                            "traceId": "t1",
                            "eventName": "gen_ai.user.message",
                            "body": {
                                "kvlistValue": {
                                    "values": [
                                        {
                                            "key": "content",
                                            "value": {"stringValue": "My cat is Plum."},
                                        }
                                    ]
                                }
                            },
                        },
                        {
                            "timeUnixNano": str(int((ANA_AT + 2) * 1e9)),
                            "traceId": "t1",
                            "attributes": [
                                {"key": "event.name", "value": {"stringValue": "gen_ai.choice"}}
                            ],
                            "body": {
                                "kvlistValue": {
                                    "values": [
                                        {
                                            "key": "message",
                                            "value": {
                                                "kvlistValue": {
                                                    "values": [
                                                        {
                                                            "key": "content",
                                                            "value": {"stringValue": "Noted."},
                                                        }
                                                    ]
                                                }
                                            },
                                        }
                                    ]
                                }
                            },
                        },
                    ]
                }
            ]
        }
    ]
}

LANGFUSE: dict[str, Any] = {
    "id": "t1",
    "timestamp": "2024-03-05T14:00:00.000Z",
    "name": "support",
    "sessionId": "v1",
    "input": {"messages": [{"role": "user", "content": "My cat is Plum."}]},
    "output": {"role": "assistant", "content": "Noted."},
    "observations": [
        {
            "id": "o1",
            "type": "GENERATION",
            "startTime": "2024-03-05T14:00:00.000Z",
            "input": [{"role": "user", "content": "A prompt that the user never saw."}],
            "output": "Noted.",
        }
    ],
}
LANGFUSE_OBSERVATION: dict[str, Any] = {
    "id": "o1",
    "traceId": "t1",
    "type": "GENERATION",
    "startTime": "2024-03-05T14:00:00.000Z",
    "input": json.dumps([{"role": "user", "content": "My cat is Plum."}]),
    "output": {"choices": [{"message": {"role": "assistant", "content": "Noted."}}]},
}
LANGSMITH: list[dict[str, Any]] = [
    {
        "id": "r1",
        "trace_id": "r1",
        "run_type": "chain",
        "name": "agent",
        "parent_run_id": None,
        "start_time": "2024-03-05T14:00:00.000000",
        "end_time": "2024-03-05T14:00:02.000000",
        "inputs": {"messages": [{"type": "human", "content": "My cat is Plum."}]},
        "outputs": {
            "messages": [
                {"type": "human", "content": "My cat is Plum."},
                {"type": "ai", "content": "Noted."},
            ]
        },
        "extra": {"metadata": {"thread_id": "v1"}},
    },
    {
        "id": "r2",
        "trace_id": "r1",
        "run_type": "llm",
        "parent_run_id": "r1",
        "start_time": "2024-03-05T14:00:01",
        "inputs": {"messages": [[{"lc": 1, "kwargs": {"content": "x", "type": "human"}}]]},
        "outputs": {},
    },
]
LANGSMITH_CALL: dict[str, Any] = {
    "id": "r2",
    "trace_id": "r1",
    "run_type": "llm",
    "parent_run_id": "r1",
    "start_time": "2024-03-05T14:00:00",
    "end_time": "2024-03-05T14:00:02",
    "inputs": {
        "messages": [
            [
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "schema", "messages", "HumanMessage"],
                    "kwargs": {"content": "My cat is Plum.", "type": "human"},
                }
            ]
        ]
    },
    "outputs": {
        "generations": [
            [
                {
                    "text": "Noted.",
                    "message": {
                        "id": ["langchain", "schema", "messages", "AIMessage"],
                        "kwargs": {"content": "Noted.", "type": "ai"},
                    },
                }
            ]
        ]
    },
}
JSONL = (
    '{"timestamp": "2024-03-05T14:00:00Z", "role": "user", "content": "My cat is Plum."}\n'
    '{"timestamp": 1709647202, "role": "assistant", '
    '"content": [{"type": "text", "text": "Noted."}]}\n'
)
NOTE = '---\ntitle: "Bed 7"\ndate: 2024-03-05\n---\n# Leeks\nLeeks go to bed 7.\n'


def write_tree(folder: Path, files: Mapping[str, object]) -> Path:
    """Write files below a folder; what is no text is written as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return folder


def write_zip(path: Path, files: Mapping[str, object]) -> Path:
    """Write files into a zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            archive.writestr(name, text)
    return path
