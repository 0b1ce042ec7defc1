"""Features that others wrote: what is wrong with one is said in a sentence."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from recall_bench.cli import main
from recall_bench.core import feature
from recall_bench.core.errors import UsageError
from recall_bench.core.feature import Command, Feature, list_features, list_offers, load_target

TWIN = Feature(name="twin", systems={"files": "json:loads"})
OWN_RUN = Feature(name="own-run", commands=(Command(name="run", target="json:loads"),))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The features that are installed; more can be added before they are listed."""
    entries = list(feature.read_entry_points(feature.GROUP))
    monkeypatch.setattr(feature, "read_entry_points", lambda _: EntryPoints(entries))
    caches = (list_features, main.read_commands)
    for cached in caches:
        cached.cache_clear()
    yield entries
    for cached in caches:
        cached.cache_clear()


def point(value: str) -> EntryPoint:
    return EntryPoint(name="other", value=value, group=feature.GROUP)


def test_one_that_was_taken_out_is_left_out(installed: list[EntryPoint]) -> None:
    names = [one.name for one in list_features()]
    list_features.cache_clear()
    installed.append(point("recall_bench.features.gone:FEATURE"))

    assert [one.name for one in list_features()] == names


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("json:no_such_name", "cannot be imported: AttributeError"),
        ("json:loads", "is no Feature"),
    ],
)
def test_a_broken_one_is_named(installed: list[EntryPoint], value: str, words: str) -> None:
    installed.append(point(value))

    with pytest.raises(UsageError, match=f"the feature other.*{words}"):
        list_features()


def test_two_cannot_offer_the_same(installed: list[EntryPoint]) -> None:
    installed.append(point(f"{__name__}:TWIN"))

    with pytest.raises(UsageError, match="two features offer 'files' among their systems"):
        list_offers("systems")


def test_a_command_of_ours_cannot_be_replaced(installed: list[EntryPoint]) -> None:
    installed.append(point(f"{__name__}:OWN_RUN"))

    with pytest.raises(UsageError, match="two commands are called 'run'"):
        main.read_commands()


@pytest.mark.parametrize("target", ["no_such_module:x", "json:no_such_name"])
def test_a_target_that_is_not_there_is_named(target: str) -> None:
    with pytest.raises(UsageError, match=f"{target} cannot be imported"):
        load_target(target)
