"""A map says which tools take in and find, and a wrong one is refused in a sentence before use."""

import os
import time
from pathlib import Path

import pytest
import yaml

from recall_bench.core.errors import DataError, NotAnAnswer, SystemFault, UsageError
from recall_bench.core.memory import Asker
from recall_bench.features.mcp.server_map import (
    SearchSpec,
    ServerMap,
    compile_pattern,
    fill_for_each,
    fill_template,
    has_match,
    read_server_map,
)
from recall_bench.features.mcp.tool_results import (
    ToolHit,
    ToolReply,
    extract_keywords,
    parse_hits,
    rank_hits,
)
from tests.features.mcp.mcp_maps import child_map
from tests.loops import loop_over_rows

SERVERS = Path(read_server_map.__code__.co_filename).with_name("servers")
SEARCH = {"tool": "recall", "arguments": {"query": "{question}"}}
INGEST = {"tool": "remember", "arguments": {"text": "{text}"}}


def refused(path: Path) -> str:
    with pytest.raises((UsageError, DataError)) as caught:
        read_server_map(path)
    return str(caught.value)


def test_a_map_names_its_tools(tmp_path: Path) -> None:
    found = read_server_map(child_map(tmp_path, settle={"tool": "settle"}))

    assert found.tools == ("remember_all", "recall", "settle")


def test_here_is_the_folder_of_the_map(tmp_path: Path) -> None:
    found = read_server_map(child_map(tmp_path, server={"command": ["{here}/run", "{state_dir}"]}))

    assert found.server.command == (f"{tmp_path.resolve()}/run", "{state_dir}")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"server": {}}, "server has both or neither of command and url; write one of them"),
        ({"server": {"url": "ftp://x"}, "snapshots": None}, "server.url is 'ftp://x'; write an"),
        (
            {"server": {"url": "http://x", "headers": {"X": "NO_SUCH"}}, "snapshots": None},
            "the environment variable NO_SUCH, which is not set",
        ),
        (
            {"server": {"command": ["{python}"]}, "snapshots": None},
            "server.command has a place {python} that nothing fills; there are {here}, {state_dir}",
        ),
        ({"ingest": {**INGEST, "arguments": {}}}, 'ingest.arguments have no "{text}"'),
        ({"search": {**SEARCH, "arguments": {}}}, 'search.arguments have no "{question}"'),
        (
            {"search": {**SEARCH, "arguments": {"query": "{question} {mood}"}}},
            "search.arguments has a place {mood} that nothing fills",
        ),
        ({"ingest": {**INGEST, "done": "("}}, "ingest.done is not a regular expression"),
        ({"ingest": {**INGEST, "batch": 5}}, "have 0 lists of one entry"),
        (
            {
                "ingest": {
                    "tool": "t",
                    "batch": 5,
                    "arguments": {"on": "{date}", "all": [{"text": "{text}"}]},
                }
            },
            "have a place of a note outside the list that a batch repeats",
        ),
        (
            {"ingest": {**INGEST, "each": "day", "arguments": {"a": "{text} {session}"}}},
            "have {session}, which a whole day has not",
        ),
        ({"search": {**SEARCH, "results": "hits"}}, "search has no text"),
        ({"search": {**SEARCH, "pattern": "("}}, "search.pattern is not a regular expression"),
        ({"search": {**SEARCH, "pattern": "a"}}, "search.pattern has no group (?P<text>…)"),
        (
            {"search": {**SEARCH, "pattern": "(?P<text>((a{999}){999}){999})"}},
            "search.pattern is not a regular expression (it is too large)",
        ),
        ({"ingest": {**INGEST, "done": "a?" * 2000}}, "ingest.done is not a regular expression"),
        ({"search": {**SEARCH, "nothing": "none"}}, "search.nothing is for a pattern alone"),
        ({"snapshots": "copy", "server": {"command": ["x"]}}, "snapshots is copy, but neither"),
        ({"honours_sessions": True}, "honours_sessions is declared, but search has no"),
        (
            {"search": {**SEARCH, "arguments": {"query": "{question}", "in": "{memory}"}}},
            "has {memory} in one of ingest and search alone",
        ),
        ({"search": {**SEARCH, "retry": 3}}, "search.retry is not a key here; there are tool, "),
        ({"speed": "fast"}, "speed is not a key here; there are transport, server, "),
        ({"ingest": None}, "object missing required field ingest; add it"),
        ({"k": 0}, "k is below 1"),
    ],
)
def test_a_wrong_map_is_refused_in_one_sentence(
    tmp_path: Path, changed: dict[str, object], says: str
) -> None:
    path = child_map(tmp_path, **changed)

    message = refused(path)

    assert says in message
    assert message.startswith(f"{path}, line ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("arguments", "honours", "asker"),
    [
        ({"query": "{question}"}, False, Asker.UNTOLD),
        ({"query": "{question}", "who": "{session}"}, False, Asker.TOLD),
        ({"query": "{question}", "who": "{session}"}, True, Asker.HONOURED),
    ],
)
def test_the_asker_is_sent_if_the_arguments_name_it(
    tmp_path: Path, arguments: dict[str, object], honours: bool, asker: Asker
) -> None:
    search = {"tool": "recall", "arguments": arguments}

    found = read_server_map(child_map(tmp_path, search=search, honours_sessions=honours))

    assert found.asker is asker


@pytest.mark.parametrize("path", sorted(SERVERS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_map_that_is_shipped_can_be_read(path: Path) -> None:
    found = read_server_map(path)

    assert isinstance(found, ServerMap)
    assert found.name == path.stem


def test_the_worked_example_of_the_docs_is_the_map_that_is_shipped(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "mcp-server.md"
    example = page.read_text(encoding="utf-8").split("```yaml\n")[1].partition("```")[0]
    path = tmp_path / "memory.yaml"
    path.write_text(example, encoding="utf-8")

    told = read_server_map(path)
    shipped = read_server_map(SERVERS / "mcp-server-memory.yaml")

    assert (told.ingest, told.search, told.snapshots, told.clock, told.server.env) == (
        shipped.ingest,
        shipped.search,
        shipped.snapshots,
        shipped.clock,
        shipped.server.env,
    )


def test_a_place_alone_keeps_its_kind() -> None:
    template = {"limit": "{k}", "said": "{k} of {question}", "deep": [{"also": "{k}"}], "plain": 7}

    assert fill_template(template, {"k": 3, "question": "all"}) == {
        "limit": 3,
        "said": "3 of all",
        "deep": [{"also": 3}],
        "plain": 7,
    }


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert fill_template("{text}!", {"text": "{id}", "id": "7"}) == "{id}!"


def test_the_outermost_list_is_repeated() -> None:
    template = {"in": "{memory}", "all": [{"name": "{id}", "notes": ["{text}"]}], "tags": ["a"]}

    written = fill_for_each(
        template, {"memory": "m"}, [{"id": "1", "text": "one"}, {"id": "2", "text": "two"}]
    )

    assert written == {
        "in": "m",
        "all": [{"name": "1", "notes": ["one"]}, {"name": "2", "notes": ["two"]}],
        "tags": ["a"],
    }


def search(**given: object) -> SearchSpec:
    return SearchSpec(**{"tool": "find", "arguments": {}, **given})  # type: ignore[arg-type]


def test_results_are_taken_from_structured_content() -> None:
    reply = ToolReply(texts=("see there",), structured={"a": {"b": [{"t": "x", "s": "0.5"}]}})

    assert parse_hits(reply, search(results="a.b", text="t", score="s")) == [
        ToolHit(text="x", score=0.5)
    ]


def test_results_are_taken_from_json_in_text() -> None:
    reply = ToolReply(texts=('[{"t": ["x", "y"], "n": 7}]',))

    assert parse_hits(reply, search(results="", text="t", id="n")) == [ToolHit(text="x\ny", id="7")]


def test_each_block_of_text_is_a_result_where_no_list_is_named() -> None:
    plain = ToolReply(texts=("one", "two"))
    written = ToolReply(texts=('{"t": "one"}', '{"t": "two"}'))

    assert parse_hits(plain, search()) == parse_hits(written, search(text="t"))


def test_several_fields_are_joined_line_by_line() -> None:
    reply = ToolReply(texts=(), structured={"r": [{"title": "A", "body": {"text": "b"}}]})

    assert parse_hits(reply, search(results="r", text=("title", "body.text"))) == [
        ToolHit(text="A\nb")
    ]


def test_prose_is_read_by_a_pattern() -> None:
    reply = ToolReply(texts=("Found 2:\n* one [a, 0.9]\n* two [b, 0.1]",))
    pattern = r"(?m)^\* (?P<text>.+) \[(?P<id>\w+), (?P<score>[\d.]+)\]$"

    assert parse_hits(reply, search(pattern=pattern)) == [
        ToolHit(text="one", id="a", score=0.9),
        ToolHit(text="two", id="b", score=0.1),
    ]


@pytest.mark.parametrize(
    ("pattern", "reply"),
    [
        (r"(?P<text>(a|aa)+)$", "a" * 5000 + "!"),
        (r"(?P<text>(.*?,){25}P)", "1," * 2000),
    ],
    ids=["exponential", "polynomial"],
)
def test_a_pattern_that_takes_too_long_on_a_reply_is_refused_with_a_word(
    monkeypatch: pytest.MonkeyPatch, pattern: str, reply: str
) -> None:
    monkeypatch.setattr("recall_bench.features.mcp.server_map.PATTERN_TIMEOUT_S", 0.2)
    began = time.thread_time()

    with pytest.raises(NotAnAnswer, match=r"search\.pattern of the map takes more than 0\.2 s"):
        parse_hits(ToolReply(texts=(reply,)), search(pattern=pattern))
    with pytest.raises(NotAnAnswer, match=r"ingest\.done of the map takes more than 0\.2 s"):
        has_match(pattern, reply, "ingest.done")

    assert time.thread_time() - began < 5


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<text>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}) [0-9a-f]{64} [0-9a-f]{8}(-[0-9a-f]{4}){3}",
        r"(?P<text>[({\]99}]+)\{99\}{2}",
    ],
)
def test_an_ordinary_pattern_with_counts_is_not_too_large(pattern: str) -> None:
    assert compile_pattern(pattern).groupindex == {"text": 1}


def test_prose_that_says_so_found_nothing() -> None:
    reply = ToolReply(texts=("Nothing found.",))

    assert parse_hits(reply, search(pattern="(?P<text>x)", nothing="Nothing found")) == []


@loop_over_rows(
    ("reply", "spec", "says"),
    [
        (ToolReply(texts=("Hello!",)), search(results="r", text="t"), "where JSON was expected"),
        (ToolReply(texts=('{"r": 1}',)), search(results="r", text="t"), "has no list at 'r'"),
        (ToolReply(texts=("Oops",)), search(pattern="(?P<text>x)"), "contains neither a match"),
        (
            ToolReply(texts=(), structured={"r": [{"t": {"a": 1}}]}),
            search(results="r", text="t"),
            "has no text at 't'",
        ),
        (
            ToolReply(texts=(), structured={"r": [{"body": "x"}]}),
            search(results="r", text="t"),
            "has no text at 't'",
        ),
        (
            ToolReply(texts=(), structured={"r": [{"t": "x", "s": "high"}]}),
            search(results="r", text="t", score="s"),
            "'high' at s is no number",
        ),
    ],
)
def test_a_reply_that_is_not_as_the_map_says_is_no_answer(
    reply: ToolReply, spec: SearchSpec, says: str
) -> None:
    with pytest.raises(NotAnAnswer) as caught:
        parse_hits(reply, spec)

    assert says in str(caught.value)
    assert isinstance(caught.value, SystemFault)


def test_the_words_of_a_question_are_searched_once_each_without_stop_words() -> None:
    assert extract_keywords("What did Ada pay for the CAT, and what for a cat?") == (
        "ada",
        "pay",
        "cat",
    )


def test_what_has_more_of_the_words_comes_first() -> None:
    one, both, other = ToolHit(text="one"), ToolHit(text="both"), ToolHit(text="other")

    hits = rank_hits([[one, both], [], [both, other]], notes=10)

    assert hits[0].text == "both"


def test_one_rare_word_counts_for_more_than_two_common_ones() -> None:
    common = [ToolHit(text=f"common {number}") for number in range(50)]

    hits = rank_hits([common, common, [ToolHit(text="rare")]], notes=100)

    assert hits[0].text == "rare"


def test_of_equals_what_is_listed_later_comes_first() -> None:
    hits = rank_hits([[ToolHit(text="old"), ToolHit(text="new")]], notes=2)

    assert [hit.text for hit in hits] == ["new", "old"]


def test_a_token_in_the_environment_is_not_in_the_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "s3cret")
    server = {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "A_TOKEN"}}

    found = read_server_map(child_map(tmp_path, server=server, snapshots=None))

    assert os.environ["A_TOKEN"] not in repr(found)
    assert yaml.safe_load((tmp_path / "child.yaml").read_text())["server"] == server
