"""A reply beyond the limits costs one question, over every transport, and never the run."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core.errors import NotAnAnswer, UnreadableVerdict
from recall_bench.core.memory import Answer, Passage, RetrievalReply
from recall_bench.core.retry import CallLimiter
from recall_bench.core.untrusted_json import (
    MAX_DEPTH,
    cut_deep_json,
    decode_untrusted_json,
    is_too_deep,
)
from recall_bench.core.usage import Usage
from recall_bench.features.mcp.server_map import SearchSpec
from recall_bench.features.mcp.tool_results import ToolReply, parse_hits
from recall_bench.judging.verdicts import parse_marks, parse_strict
from recall_bench.systems.memory_call import ask_memory
from recall_bench.systems.reply_limits import check_reply
from tests.loops import loop_over_rows
from tests.systems.diary import question


def nest(levels: int, value: object = 1) -> dict[str, object]:
    for _ in range(levels):
        value = {"a": value}
    assert isinstance(value, dict)
    return value


BAD_REPLIES = {
    "deep tool calls": Answer(text="x", tool_calls=(nest(MAX_DEPTH),)),
    "very deep tool calls": RetrievalReply(tool_calls=(nest(5000),)),
    "money back": Answer(text="x", usage=Usage(calls=1, cost_usd=-100.0)),
    "no number": Answer(text="x", usage=Usage(calls=1, cost_usd=math.nan)),
    "endless tokens": Answer(text="x", usage=Usage(calls=1, input_tokens=10**30)),
    "a day beyond 64 bits": RetrievalReply(passages=(Passage(text="x", day=-(10**30)),)),
    "half a character": Answer(text="\ud800"),
}


@pytest.mark.parametrize("reply", BAD_REPLIES.values(), ids=BAD_REPLIES)
@pytest.mark.anyio
async def test_a_reply_that_no_journal_can_hold_is_the_systems_fault(
    reply: Answer | RetrievalReply,
) -> None:
    class Memory:
        async def answer(self, _: object) -> Answer | RetrievalReply:
            return reply

    got = await ask_memory(
        Memory(),  # type: ignore[arg-type]
        question("Who?"),
        timeout_s=None,
        calls=CallLimiter(),
    )

    assert isinstance(got.content, NotAnAnswer)


def test_a_reply_within_the_limits_passes() -> None:
    check_reply(
        Answer(
            text="x",
            passages=(Passage(text="y", day=3, score=0.5),),
            tool_calls=(nest(MAX_DEPTH - 1), {"wide": [[]] * 1000}),
            usage=Usage(calls=1, input_tokens=7, cost_usd=0.1),
        )
    )


def test_a_reply_of_too_many_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bench.systems.reply_limits.MAX_REPLY_BYTES", 100)

    with pytest.raises(NotAnAnswer, match="100 are allowed"):
        check_reply(Answer(text="x" * 100))


values = st.recursive(
    st.none() | st.integers(-9, 9) | st.text('"\\[]{}a', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"}[', max_size=2), inner),
)


@given(values)
def test_shallow_json_is_not_cut(value: object) -> None:
    content = json.dumps(value).encode()

    assert cut_deep_json(content) == content


def test_what_is_too_deep_is_cut_and_the_rest_kept() -> None:
    content = b'{"deep":' + b"[" * 9000 + b'"]"' + b"]" * 9000 + b',"id":7,"text":"[[\\""}'

    cut = decode_untrusted_json(cut_deep_json(content), dict[str, object])

    assert (cut["id"], cut["text"]) == (7, '[["')
    assert not is_too_deep(cut)


@loop_over_rows("content", [b"[" * 9000, b"[" * 9000 + b"]" * 9000, b'"\xff"', b"", b"1 2"])
def test_unreadable_json_is_always_the_same_error(content: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_untrusted_json(content, object)


@pytest.mark.parametrize(
    "found",
    [
        '[{"t": "x", "s": ' + "9" * 400 + "}]",
        '[{"t": "x", "s": 1, "id": ' + "[" * 900 + "]" * 900 + "}]",
        '[{"no": ' + "[" * 900 + "]" * 900 + "}]",
        '[{"t": ' + "[" * 9000 + "]" * 9000 + "}]",
    ],
    ids=["a score beyond float", "a deep id", "deep without text", "too deep to read"],
)
def test_an_mcp_tools_bad_reply_is_no_answer(found: str) -> None:
    search = SearchSpec(tool="find", arguments={}, results="", text="t", score="s", id="id")

    with pytest.raises(NotAnAnswer):
        parse_hits(ToolReply(texts=(found,)), search)


@pytest.mark.parametrize(
    "mark",
    [10**400, 10**5000, -(10**5000), nest(5000)],
    ids=["400 digits", "5000 digits", "negative", "nested"],
)
def test_a_judges_huge_mark_is_an_unreadable_verdict(mark: object) -> None:
    marks = {"correctness": mark, "completeness": 2, "grounded": 1}

    with pytest.raises(UnreadableVerdict):
        parse_marks(marks)


def test_a_judges_reply_with_a_huge_integer_is_an_unreadable_verdict() -> None:
    for digits in (400, 5000):
        text = f'{{"correctness": {"9" * digits}, "completeness": 2, "grounded": 1}}'
        with pytest.raises(UnreadableVerdict):
            parse_strict(text)
