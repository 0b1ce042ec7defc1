"""Secrets are removed by name, shape and value, and ordinary text stays as it is."""

import typing
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.core import redaction
from recall_bench.core.event import Answered, Declared, Event, NotAnswered
from recall_bench.core.event_redaction import redact_event, redact_plan
from recall_bench.core.memory import Answer, Passage
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.redaction import (
    REDACTED,
    Redactor,
    TreeRedactor,
    find_secrets,
    get_redactor,
    is_secret_name,
    learn_secrets,
    redact_message,
)
from recall_bench.core.scenario import Scenario
from recall_bench.stories.shipped import load_catalogue, unpack_story
from tests.loops import loop_over_rows

KEY = "zq-1a2b3c4d5e6f"
NOW = datetime(2026, 5, 24, tzinfo=UTC)
TRIAL = Trial(scenario="ada", item="old-name", checkpoint="2d")


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", redaction._KnownSecrets())


@loop_over_rows(
    "name",
    [
        *("api_key", "apiKey", "API-KEY", "x-api-key", "OPENAI_API_KEY", "accessToken", "token"),
        *("hf_token", "password", "db.password", "--auth-token", "client_secret", "authorization"),
        *("PINECONE_KEY", "secretKey", "passphrase", "credentials"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@loop_over_rows(
    "name",
    [
        *("max_tokens", "tokens", "token_limit", "tokenizer", "stop_token", "eos_token", "key"),
        *("primary_key", "sort_key", "api_key_env", "keyword", "k", "secretary", "monkey", ""),
    ],
)
def test_names_of_ordinary_settings(name: str) -> None:
    assert not is_secret_name(name)


def test_no_field_of_an_event_has_the_name_of_a_secret() -> None:
    """Its value would be lost in the journal."""
    seen: set[object] = set()
    names: set[str] = set()

    def walk(kind: object) -> None:
        if kind in seen:
            return
        seen.add(kind)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            for name, each in typing.get_type_hints(kind).items():
                names.add(name)
                walk(each)
        for each in typing.get_args(kind):
            walk(each)

    walk(Event)
    assert {"answer", "tokens", "tool_calls", "verdict"} <= names
    assert not {name for name in names if is_secret_name(name)}


@loop_over_rows(
    ("setting", "secrets"),
    [
        ({"api_key": KEY, "k": 3}, [KEY]),
        ({"auth": {"user": "ada", "token": KEY}}, [KEY]),
        ({"password": {"old": "one1", "new": "two2"}}, ["one1", "two2"]),
        ({"password": 12345678}, ["12345678"]),
        ({"use_token": True, "token": None, "secret": ""}, []),
        (f"command:python prog.py --api-key={KEY} --k 3", [KEY]),
        (f"command:python prog.py --token {KEY}", [KEY]),
        (["prog", "--password", KEY], [KEY]),
        ("http://ada:p%40ss@host/v1", ["ada:p@ss", "p@ss"]),
        (f"http://host/v1?key={KEY}&page=2", [KEY]),
        ("hybrid", []),
    ],
)
def test_secrets_of_settings(setting: object, secrets: list[str]) -> None:
    assert list(find_secrets(setting)) == secrets


@loop_over_rows(
    ("text", "told"),
    [
        (f"prog --api-key {KEY} --k 3", f"prog --api-key {REDACTED} --k 3"),
        (f"prog --db-password={KEY}", f"prog --db-password={REDACTED}"),
        (f"GET /v1?key={KEY}&page=2", f"GET /v1?key={REDACTED}&page=2"),
        (f"{{'password': '{KEY}'}}", f"{{'password': '{REDACTED}'}}"),
        (f"client_secret: {KEY}", f"client_secret: {REDACTED}"),
        ("max_tokens=500 and tokens: 12345", "max_tokens=500 and tokens: 12345"),
        ("unexpected end, no token", "unexpected end, no token"),
        (f"[(b'x-api-key', b'{KEY}')]", f"[(b'x-api-key', b'{REDACTED}')]"),
        (f"api_key, {KEY}", f"api_key, {REDACTED}"),
        ("authorization, Basic cGFzczp3b3Jk", f"authorization, {REDACTED}"),
        ("api_key, 'secretword'", f"api_key, '{REDACTED}'"),
        ("set OPENAI_API_KEY, or name another", "set OPENAI_API_KEY, or name another"),
    ],
)
def test_messages_lose_what_looks_like_a_secret(text: str, told: str) -> None:
    assert Redactor(())(text) == told
    assert Redactor(())(told) == told, "twice is as once"


def test_a_value_is_known_wherever_it_appears_once_it_was_given_by_name() -> None:
    assert KEY in redact_message(f"refused: {KEY}")
    learn_secrets({"api_key": KEY})

    assert redact_message(f"refused: {KEY}") == f"refused: {REDACTED}"
    assert get_redactor().redact_keys(f"It is {KEY}.") == f"It is {REDACTED}."


def test_words_and_numbers_stay_in_answers_even_if_they_are_passwords() -> None:
    learn_secrets({"password": "development", "token": "20240105", "secret": "auto"})
    said = "The development started on 20240105, with the auto insurance."

    assert get_redactor().redact_keys(said) == said
    assert redact_message("auto") == "auto"
    assert redact_message("in development") == f"in {REDACTED}"


def test_variables_are_known_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GARDEN_API_KEY", KEY)
    monkeypatch.setenv("GARDEN_KEY_FILE", "/home/ada/garden.key")

    assert redact_message(f"{KEY} in /home/ada/garden.key") == f"{REDACTED} in /home/ada/garden.key"


def test_names_count_in_the_calls_of_tools_and_what_the_plan_names_stays() -> None:
    learn_secrets({"api_key": KEY})
    calls: tuple[dict[str, object], ...] = (
        {"name": "search", "token": "abc", "argv": ["x", "--password", "abc"]},
    )
    answered = Answered(
        at=NOW,
        trial=TRIAL.replace(item=KEY),
        answer=Answer(text=f"{KEY}!", passages=(Passage(text="Fig", id=KEY),), tool_calls=calls),
        seconds=0.1,
    )
    found = redact_event(answered)

    assert found.answer.text == f"{REDACTED}!"
    assert found.trial.item == KEY
    assert found.answer.passages[0].id == KEY
    assert found.answer.tool_calls == (
        {"name": "search", "token": REDACTED, "argv": ["x", "--password", REDACTED]},
    )
    assert redact_event(found) == found


def test_an_event_without_secrets_is_the_same_object(scenario: Scenario) -> None:
    answered = Answered(at=NOW, trial=TRIAL, answer=Answer(text="Fig."), seconds=0.1)
    failed = NotAnswered(at=NOW, trial=TRIAL, fault="SystemFault", message="no", seconds=0.1)
    declared = Declared(at=NOW, scenario="ada", items=scenario.items)

    for event in (answered, failed, declared):
        assert redact_event(event) is event


def test_the_questions_of_a_dataset_stay_as_their_digest_says(scenario: Scenario) -> None:
    item = scenario.items[0].replace(text="What does sk-proj-0123456789abcdef0 open?")
    declared = Declared(at=NOW, scenario="ada", items=(item,))

    assert redact_event(declared) is declared


def test_equal_plans_stay_equal_and_keys_are_no_part_of_them(plan: Plan) -> None:
    def configure(key: str) -> Plan:
        return redact_plan(plan.replace(system=plan.system.replace(config={"api_key": key})))

    assert redact_plan(plan) == plan
    assert configure("one").digest == configure("two").digest
    assert configure("one").system.config == {"api_key": REDACTED}


LEAVES = st.text() | st.integers() | st.none() | st.sampled_from(["--token", f"token={KEY}", KEY])
NAMES = st.sampled_from(["api_key", "k", "note"])


@given(st.recursive(LEAVES, lambda each: st.lists(each) | st.dictionaries(NAMES, each)))
def test_redacting_twice_is_as_once(content: object) -> None:
    once = TreeRedactor(is_prose=False).redact(content)

    assert TreeRedactor(is_prose=False).redact(once) == once


@given(st.text())
def test_a_text_that_may_hold_no_keys_holds_none(text: str) -> None:
    """The fast check must not be wrong: what it lets pass is written as it is."""
    if not redaction._may_hold_key(text):
        assert redaction._replace_shapes(text, redaction._KEY_SHAPES) == text


@pytest.mark.parametrize("times", [1, 100])
def test_a_text_without_a_key_holds_one_as_soon_as_the_key_is_known(times: int) -> None:
    """What is known of a text belongs to one redactor: another knows other secrets."""
    text = "The gate opens with harbour 77 lantern. " * times
    for secrets in ([], ["harbour 77 lantern"]):
        redactor = Redactor(secrets)
        assert redactor.holds_keys(text) == redactor.holds_keys(text) == bool(secrets)


SHORT_STORIES = [
    (name, story.arcs)
    for name, persona in load_catalogue().items()
    for story in persona.list_stories().values()
    if story.days <= 180
]


@pytest.mark.slow
@pytest.mark.parametrize(("persona", "arcs"), SHORT_STORIES)
def test_nothing_of_the_shipped_personas_is_redacted(persona: str, arcs: str) -> None:
    redactor = Redactor([KEY])
    texts = [
        path.read_text(encoding="utf-8")
        for path in unpack_story(persona, arcs).rglob("*")
        if path.suffix in (".md", ".yaml", ".jsonl")
    ]

    assert sum(map(len, texts)) > 10_000
    for text in texts:
        assert redactor.redact_keys(text) == text
