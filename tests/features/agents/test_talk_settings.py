"""A setting of another type is refused with what to write, and without what may be a secret."""

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.agents.talk_settings import (
    ChatSettings,
    PeerSettings,
    TalkSettings,
    read_talk_settings,
)
from tests.loops import loop_over_rows


@loop_over_rows(
    ("kind", "name", "value", "said"),
    [
        (ChatSettings, "max_steps", 2.5, "write a whole number, not 2.5"),
        (ChatSettings, "conversation", "two", "write new or one, not two"),
        (ChatSettings, "headers", {"X-Size": 1}, "values are texts, such as {name: text}"),
        (ChatSettings, "body", "fast", "write a mapping, such as {name: value}"),
        (PeerSettings, "metadata", ["a"], "write a mapping, such as {name: value}"),
    ],
)
def test_what_to_write_is_said(
    kind: type[TalkSettings], name: str, value: object, said: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        read_talk_settings({name: value}, kind)

    assert str(refusal.value).startswith(f"--config {name}: write ")
    assert str(refusal.value).endswith(said)


@pytest.mark.parametrize("name", ["headers", "body"])
@pytest.mark.parametrize("value", ["Authorization: tk-31ab77", 311277, ["tk-31ab77"]])
def test_what_stands_in_place_of_a_mapping_is_not_shown(name: str, value: object) -> None:
    """It is a token, where the name of the header was forgotten."""
    with pytest.raises(UsageError) as refusal:
        read_talk_settings({name: value}, ChatSettings)

    assert "31" not in str(refusal.value)
