"""The smallest cases of what the fuzzers found, one test each."""

import gc
import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import msgspec
import pytest

from recall_bench.core.errors import BenchError, DataError, Malformed, ModelFault, UsageError
from recall_bench.core.event import Answered
from recall_bench.core.profile import read_profile
from recall_bench.core.redaction import find_secrets, redact_message
from recall_bench.core.untrusted_json import MAX_DEPTH, decode_plain_json
from recall_bench.core.usage import read_token_count
from recall_bench.core.verdict import JudgeCard, Verdict
from recall_bench.core.yaml12 import Document
from recall_bench.features.archive.leaderboard.replay import locate_replay, read_replay
from recall_bench.features.judges.correction import load_audit
from recall_bench.features.models.compatible_server import CompatibleServer, resolve_server
from recall_bench.features.models.embedders import ServedEmbedder
from recall_bench.features.models.model_spec import parse_spec
from recall_bench.features.personas.conversations import parse_dialogue
from recall_bench.features.personas.model_reply import RejectedReply
from recall_bench.features.personas.simulator.values import find_bounds_fault
from recall_bench.features.personas.worlds import build_world
from recall_bench.judging.verdicts import VerdictCache
from recall_bench.reporting.analyses.canaries import read_canaries
from recall_bench.stories.catalogue import find_dataset
from recall_bench.stories.seeds import read_challenge
from recall_bench.systems.servers.stdio_server import DirectWriter, Pipes, serve_stdio
from recall_bench.systems.transports import wire
from tests.features.datasets.test_personamem import row as personamem_row
from tests.features.datasets.test_personamem import write as write_personamem
from tests.fuzz.dataset_targets import CHAT
from tests.fuzz.model_targets import DAY
from tests.fuzz.reply_targets import open_once, run_async
from tests.warm_commands import start_command

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "features" / "personas"
DEEP = "[" * 3000 + "]" * 3000


def nest(levels: int) -> str:
    return "[" * levels + "1" + "]" * levels


def test_json_is_read_as_deep_as_it_may_be_written() -> None:
    assert decode_plain_json(nest(MAX_DEPTH))
    with pytest.raises(msgspec.DecodeError, match="nested too deeply"):
        decode_plain_json(nest(MAX_DEPTH + 1))


@pytest.mark.parametrize("odd", [("qa", "question"), ("session_1", "speaker")])
def test_locomo_refuses_a_list_in_place_of_a_text(tmp_path: Path, odd: tuple[str, str]) -> None:
    chat = json.loads(json.dumps(CHAT))
    rows = chat["qa"] if odd[0] == "qa" else chat["conversation"][odd[0]]
    rows[0][odd[1]] = ["five"]
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps([chat]))

    with pytest.raises(Malformed, match="Expected `str`, got `array`"):
        find_dataset("locomo").load(path, {})


@pytest.mark.parametrize("answer", [nest(600), '"\\ud800"', "9" * 5000], ids=str.__len__)
def test_memoryarena_refuses_answers_that_no_file_can_hold(tmp_path: Path, answer: str) -> None:
    path = tmp_path / "progressive_search.jsonl"
    path.write_text(f'{{"questions": ["a", "b"], "answers": ["x", {answer}]}}\n')

    with pytest.raises(Malformed, match="cannot be read as JSON"):
        list(find_dataset("memoryarena").load(path, {}))


def test_personamem_refuses_an_id_that_no_file_can_hold(tmp_path: Path) -> None:
    (tmp_path / "questions_32k.csv").write_text("question_id\n")
    (tmp_path / "shared_contexts_32k.jsonl").write_text('{"\\ud800": []}\n')

    with pytest.raises(Malformed, match="line 1: has no id"):
        find_dataset("personamem-32k").load(tmp_path, {})


def test_personamem_refuses_a_cut_of_thousands_of_digits(tmp_path: Path) -> None:
    row = personamem_row(end_index_in_shared_context="1" * 5000)

    with pytest.raises(Malformed, match="is not a count of messages"):
        find_dataset("personamem-32k").load(write_personamem(tmp_path / "d", row), {})


CANARIES = {
    "deep": b'{"version": 1, "x": ' + DEEP.encode() + b"}",
    "no text": b'{"version": 1, "rule": "\xff", "runs": [], "canaries": []}',
    "digits": b'{"version": ' + b"9" * 5000 + b"}",
    "digits and no JSON": b'{"version": ' + b"9" * 5000,
}


@pytest.mark.parametrize("content", CANARIES.values(), ids=CANARIES)
def test_a_file_of_canaries_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.json").write_bytes(content)

    with pytest.raises(DataError):
        read_canaries(tmp_path / "c.json")


READERS: dict[str, Callable[[Path], object]] = {
    "challenge": read_challenge,
    "audit": lambda path: load_audit(path, JudgeCard(name="a", version="1")),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("content", [DEEP, f'{{"seed": {DEEP}}}', "9" * 5000])
def test_a_file_that_is_nested_too_deeply(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "x.json").write_text(content)

    with pytest.raises(DataError):
        READERS[name](tmp_path / "x.json")


def test_a_damaged_replay_or_cached_verdict_is_none(tmp_path: Path) -> None:
    locate_replay(tmp_path / "run").write_text(DEEP)
    cache = VerdictCache(tmp_path)
    cache.keep("ab", Verdict.of(1, 1, 1))
    next(tmp_path.rglob("ab.json")).write_text(f'{{"key": {DEEP}}}')

    assert read_replay(tmp_path / "run", "abc") is None
    assert cache.find("ab") is None


def test_aliases_do_not_make_billions_of_values() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]

    with pytest.raises(Malformed, match=r"aliases make more than 2,000,000 values"):
        Document("bomb.yaml", "\n".join(lines))


def test_an_alias_may_repeat_a_value() -> None:
    assert Document("a.yaml", "a: &a [1, 2]\nb: [*a, *a]").content == {
        "a": [1, 2],
        "b": [[1, 2], [1, 2]],
    }


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "0o" + "7" * 5000, "9" * 5000])
def test_a_number_in_yaml_has_as_many_digits_as_python_prints(number: str) -> None:
    with pytest.raises(Malformed, match="cannot be read as int"):
        Document("a.yaml", f"a: {number}")


def test_yaml_is_read_as_deep_as_it_may_be_written() -> None:
    assert Document("a.yaml", nest(MAX_DEPTH)).content
    for levels in (MAX_DEPTH + 1, 490, 5000):
        with pytest.raises(Malformed, match="nested too deeply"):
            Document("a.yaml", nest(levels))


def test_nothing_is_collected_while_yaml_is_read() -> None:
    """The collector took 10 s for 1 MB of it."""
    seen: list[str] = []

    def note(phase: str, _: object) -> None:
        seen.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    try:
        document = Document("a.yaml", "[" + "[]," * 30_000 + "]")
    finally:
        gc.callbacks.remove(note)

    assert document.content == [[]] * 30_000
    # Once, when it is switched on again.
    assert seen.count("start") <= 1
    assert gc.isenabled()


def test_the_lines_of_ten_thousand_problems_are_found_at_once() -> None:
    document = Document("a.yaml", "".join(f"k{n}: 1\n" for n in range(10_000)))
    before = time.process_time()

    lines = [document.find_line(f"k{n}") for n in range(10_000)]

    assert lines == list(range(1, 10_001))
    assert time.process_time() - before < 3


@pytest.mark.parametrize("end", [1_000_000, 2**63])
def test_steps_of_a_profile_end_where_ranges_do(tmp_path: Path, end: int) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"run: {{ranges: {{start: 10, end: {end}, step: 10}}}}\n")

    with pytest.raises(UsageError, match=f"run.ranges.end: {end} is beyond every story"):
        read_profile(path)


@pytest.mark.parametrize("start", [0, -(10**30)])
def test_steps_of_a_profile_begin_with_a_day(tmp_path: Path, start: int) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"run: {{ranges: {{start: {start}, end: 30, step: 10}}}}\n")

    with pytest.raises(UsageError, match=f"run.ranges.start: {start} must be at least 1"):
        read_profile(path)


def test_the_runner_of_make_fuzz_prints_its_table(tmp_path: Path) -> None:
    """Its processes must find what they are given to do."""
    words = ["--target", "verdict of a", "--cases", "5", "--processes", "1", "--keep", tmp_path]

    copy = start_command(words, cwd=ROOT, module="tests.fuzz")
    out, err = copy.communicate()

    assert copy.returncode == 0, err.decode()
    assert "5 cases in" in out.decode()
    assert "0 findings" in out.decode()


def test_secrets_are_looked_for_in_a_long_word_at_once() -> None:
    """Every letter could begin a scheme: 150,000 of them took 13 s. Then 600,000 took 6 s."""
    before = time.process_time()

    found = list(find_secrets("x" * 600_000 + " http://me:pass-word-7@host/"))

    assert "pass-word-7" in found
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    "text",
    [
        "' ' " + "x" * 600_000,
        "'" + "x" * 600_000 + "' ",
        "\\x" * 300_000 + ' "\\x"',
        " '" + '"' * 600_001,
    ],
)
def test_a_long_command_with_quotes_is_split_at_once(text: str) -> None:
    """With one quote in it, 400,000 letters took 3.5 s."""
    before = time.process_time()

    found = list(find_secrets(f"{text} --token pass-word-7"))

    assert found == ["pass-word-7"]
    assert time.process_time() - before < 2


def test_credentials_are_redacted_from_a_long_answer_at_once() -> None:
    """Every letter of `a.a.a` could begin a scheme: 50 kB took 12 s for each pattern."""
    before = time.process_time()

    shown = redact_message(
        "a." * 50_000 + " http://me:pass-word-7@host/ -https://me:other-word-8@host/"
    )

    assert "pass-word-7" not in shown
    assert "other-word-8" not in shown
    assert time.process_time() - before < 3


def test_a_message_is_no_longer_than_a_person_reads() -> None:
    error = UsageError(f"p.yaml: {'x' * 200_000!r} is no key; correct it\nand another")

    first, second = str(error).splitlines()

    assert first.startswith("p.yaml: 'xxx")
    assert first.endswith("is no key; correct it")
    assert len(first) < 2100
    assert second == "and another"


@pytest.mark.parametrize("role", [{}, [], None, 3])
def test_a_turn_of_no_role_is_rejected(role: object) -> None:
    found = parse_dialogue(json.dumps([{"role": role, "content": "x"}]), DAY)

    assert isinstance(found, RejectedReply)


def open_server() -> CompatibleServer:
    spec = parse_spec("openai:e;http://127.0.0.1:9/v1")
    assert spec is not None
    server = resolve_server(spec, {})
    assert server is not None
    return server


@pytest.mark.parametrize("number", [DEEP, "9" * 400, "1e300", "null"])
def test_embeddings_that_are_no_numbers_are_the_models_fault(
    monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    content = f'{{"data": [{{"index": 0, "embedding": [0.5, {number}]}}]}}'.encode()
    client = httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, content=content))
    )
    embedder = ServedEmbedder(open_server())
    monkeypatch.setattr(embedder._client, "_open_client", lambda: client)

    with pytest.raises(ModelFault):
        embedder.embed(["a"])


@pytest.mark.parametrize("counted", [10**400, -1, "7", None, 1.5])
def test_a_count_of_tokens_that_cannot_be_is_none(counted: object) -> None:
    assert read_token_count(counted) == 0
    assert read_token_count(7) == 7


def test_a_program_that_finds_a_day_of_thousands_of_digits_found_no_day(tmp_path: Path) -> None:
    reply = {"hits": [{"path": f"day-{'1' * 5000}.md", "snippet": "x"}]}

    event = open_once(tmp_path).parse(json.dumps(reply).encode()).records

    assert isinstance(event, Answered)
    assert [(each.text, each.day) for each in event.answer.passages] == [("x", None)]


LINES = {
    "a cancellation of nothing": b'{"id": 1, "do": "cancel", "body": {"id": "x"}}\n',
    "a cancellation of a list": b'{"id": 1, "do": "cancel", "body": {"id": []}}\n',
    "a deep body": b'{"id": 1, "do": "open", "body": {"scenario": %s}}\n' % nest(900).encode(),
    "a deep line": DEEP.encode() + b"\n",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_request_ends_a_server_on_standard_input(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "requests").write_bytes(line)

    async def handle(_: wire.Request) -> wire.Reply:
        return wire.DoneReply()

    with (tmp_path / "requests").open("rb") as requests, (tmp_path / "replies").open("wb") as out:
        pipes = Pipes(requests=requests.fileno(), replies=out.fileno())
        try:
            run_async(serve_stdio(handle, pipes, writer=DirectWriter))
        except BenchError as error:
            assert "holds something that is not a request" in str(error)  # noqa: PT017 - or a reply


@pytest.mark.parametrize(
    ("kind", "bounds", "says"),
    [
        ("number", [1, 9, 0], "a step that is not above 0"),
        ("money", [1, float("inf")], "not a number"),
        ("percent", [9, 1], "a lowest value above the highest"),
        ("number", [1], "a lowest and a highest value"),
        ("time", ["9:30", "noon"], "not a time such as 9:30"),
        ("time", ["9:30", "10:00", 0], "a step that is not above 0"),
        ("date", [1, 2, 3, 4], "a lowest and a highest value"),
    ],
)
def test_bounds_that_nothing_can_be_drawn_from(kind: str, bounds: list[float], says: str) -> None:
    assert says in str(find_bounds_fault(kind, bounds))
    assert find_bounds_fault(kind, ["9:30", "10:00"] if kind == "time" else [-3, 5]) is None


def test_a_step_of_nothing_is_named_with_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "bakery"
    shutil.copytree(SOURCES / "simulator" / "bakery", folder)
    matters = folder / "matters.yaml"
    text = matters.read_text(encoding="utf-8")
    changed = re.sub(r"number: \[(\d+), (\d+)[^\]]*\]", r"number: [\1, \2, 0]", text, count=1)
    matters.write_text(changed, encoding="utf-8")

    with pytest.raises(BenchError, match="number has a step that is not above 0"):
        build_world(str(folder), tmp_path / "out", days=5)

    assert changed != text
