"""Plugins are found by name among what is installed, and loaded only when wanted."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from recall_bench.core import feature, user_code
from recall_bench.core.errors import AmbiguousPlugin, UnknownPlugin, UsageError
from recall_bench.core.plain_text import suggest


@pytest.fixture
def _offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An honest plugin, two that clash, and one that explodes on import."""
    entries = EntryPoints(
        EntryPoint(name=name, value=value, group="recall_bench.judges")
        for name, value in [
            ("json", "json:loads"),
            ("twice", "no_such_a:b"),
            ("twice", "no_such_c:d"),
            ("broken", "no_such_module:x"),
            ("nameless", "json:no_such_name"),
        ]
    )
    monkeypatch.setattr(user_code, "read_entry_points", lambda group: entries.select(group=group))
    # What features there are is kept: asked for here, it would be none for the rest of the process.
    monkeypatch.setattr(feature, "list_features", tuple)


@pytest.mark.usefixtures("_offers")
def test_a_name_becomes_its_factory() -> None:
    assert user_code.load_plugin("judges", "json")("[1]") == [1]


@pytest.mark.usefixtures("_offers")
def test_listing_imports_nothing() -> None:
    names = [entry.name for entry in user_code.list_plugins("judges")]

    assert names == ["broken", "json", "nameless", "twice", "twice"]


@pytest.mark.usefixtures("_offers")
def test_a_plugin_that_cannot_be_imported_is_described_as_such() -> None:
    described = dict(user_code.describe_plugins("judges"))

    assert described["json"].startswith("Deserialize ``s``")
    assert described["broken"] == (
        "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert described["nameless"] == (
        "cannot be imported: AttributeError: module 'json' has no attribute 'no_such_name'"
    )


@pytest.mark.usefixtures("_offers")
@pytest.mark.parametrize("name", ["broken", "nameless"])
def test_a_plugin_that_cannot_be_imported_is_a_mistake_of_its_author(name: str) -> None:
    with pytest.raises(UsageError, match=rf"the judges plugin {name} \(.*no_such.*\) cannot be"):
        user_code.load_plugin("judges", name)


@pytest.mark.usefixtures("_offers")
def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        UnknownPlugin,
        match=r"no judge named 'jason'; did you mean 'json'\? Installed: broken, json",
    ):
        user_code.load_plugin("judges", "jason")


@pytest.mark.usefixtures("_offers")
def test_two_plugins_with_one_name_are_refused() -> None:
    with pytest.raises(AmbiguousPlugin, match="no_such_a:b and no_such_c:d"):
        user_code.load_plugin("judges", "twice")


def test_the_built_ins_are_plugins_like_any_other() -> None:
    installed = {entry.name for entry in user_code.list_plugins("systems")}
    bracket = {"none", "random", "recency", "oracle", "full-context"}
    searching = {"bm25", "vector", "hybrid"}
    assert bracket | searching <= installed
    assert [entry.name for entry in user_code.list_plugins("judges")] == [
        "offline",
        "stub",
    ]


def test_a_name_like_none_of_the_known_ones_is_answered_with_no_guess() -> None:
    """Half of the letters of `grpcc` are in `recency`, in order, which is no slip of the keys."""
    assert suggest("grpcc", ["recency", "bm25"], "known: bm25") == "known: bm25"
    assert suggest("recensy", ["recency", "bm25"]) == "did you mean 'recency'?"
