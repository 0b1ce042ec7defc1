"""A reply is the same from an adapter in our process and from one in a process of its own."""

import datetime
import types
import typing
from pathlib import Path

import anyio
import msgspec
import pytest

from recall_bench.core.errors import NotAnAnswer
from recall_bench.core.memory import Answer, MemorySystem, RetrievalReply
from recall_bench.core.record import Record
from recall_bench.core.scenario import Question
from recall_bench.core.settings import Settings
from recall_bench.systems.python.adapter import parse_reply
from recall_bench.systems.python.isolated_system import load_isolated_system
from recall_bench.systems.python.system import load_python_system

QUESTION = Question(
    id="q1", text="Which plant?", asked_at=datetime.datetime(2026, 1, 9), scenario="ada"
)


def fill(kind: typing.Any, number: int = 7) -> typing.Any:
    """A value of a type with no field at its default."""
    if isinstance(kind, type) and issubclass(kind, Record):
        hints = typing.get_type_hints(kind)
        made = {name: fill(hints[name], 7 + at) for at, name in enumerate(kind.__struct_fields__)}
        return kind(**made)
    match typing.get_origin(kind):
        case typing.Union | types.UnionType:
            return fill(next(each for each in typing.get_args(kind) if each is not type(None)))
        case origin if origin is tuple:
            inner = typing.get_args(kind)[0]
            return (fill(inner, number), fill(inner, number + 1))
        case origin if origin is dict:
            return {"key": number, "deep": {"list": [1, "two", None]}}
        case None:
            return {str: f"text {number}", int: number, float: number / 8, object: number}[kind]
        case other:
            raise AssertionError(f"what is a value of {other}?")


def write_adapter(folder: Path, reply: Answer | RetrievalReply) -> Path:
    """An adapter that returns this record."""
    written = msgspec.json.encode(reply)
    path = folder / "replies.py"
    path.write_text(
        "import msgspec\nfrom recall_bench.core import memory\n"
        "class Adapter:\n"
        "    def ingest_day(self, day, content, metadata): pass\n"
        "    def query(self, question):\n"
        f"        return msgspec.json.decode({written!r}, type=memory.{type(reply).__name__})\n"
    )
    return path


def ask(system: MemorySystem) -> Answer | RetrievalReply:
    async def run() -> Answer | RetrievalReply:
        try:
            memory = await system.open("ada")
            try:
                return await memory.answer(QUESTION)
            finally:
                await memory.close()
        finally:
            await system.close()

    return anyio.run(run)


@pytest.mark.parametrize("kind", [Answer, RetrievalReply])
def test_every_field_of_a_reply_survives(
    tmp_path: Path, kind: type[Answer] | type[RetrievalReply]
) -> None:
    whole = fill(kind)
    path = write_adapter(tmp_path, whole)

    alone = ask(load_isolated_system(Settings(adapter=str(path))))

    assert alone == parse_reply(whole) == whole
    assert alone == ask(load_python_system(str(path), {}))


def test_a_filled_record_has_no_default() -> None:
    """Otherwise a field that is lost would not be noticed."""

    def list_defaults(record: Record) -> list[str]:
        found = []
        for field in msgspec.structs.fields(record):
            value = getattr(record, field.name)
            inner = value if isinstance(value, tuple) else (value,)
            found += [
                name for each in inner if isinstance(each, Record) for name in list_defaults(each)
            ]
            if value in (field.default, None, (), 0, ""):
                found.append(field.name)
        return found

    assert list_defaults(fill(Answer)) == list_defaults(fill(RetrievalReply)) == []


def test_a_reply_without_a_record_is_no_answer(tmp_path: Path) -> None:
    """The process of an adapter is the adapter's: it can send what our side of it never would."""
    path = write_adapter(tmp_path, Answer(text="leeks"))
    path.write_text(
        path.read_text() + "from recall_bench.systems.python import adapter_process\n"
        "async def ask(self, request): return adapter_process.RecordReply()\n"
        "adapter_process._LoadedHost._ask = ask\n"
    )

    with pytest.raises(NotAnAnswer, match="neither an answer nor passages"):
        ask(load_isolated_system(Settings(adapter=str(path))))
