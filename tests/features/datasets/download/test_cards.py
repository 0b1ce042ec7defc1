"""A card says what a dataset is and counts what is there."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Item
from recall_bench.features.datasets.dataset_card import build_card, list_entries
from recall_bench.stories.catalogue import DatasetSource, PublicDataset, SourceFile
from recall_bench.stories.dataset_folder import Presence
from tests.fixtures.datasets_download import BODY, Publish, pinned

TALKS = DatasetSource(
    licence="MIT",
    homepage="https://talks.example",
    files=(pinned("talks.json", BODY), pinned("audit.json", b"{}", layer="audit")),
)


@pytest.fixture
def mine(publish: Publish, tmp_path: Path) -> Path:
    publish(
        talks=TALKS,
        dateless=DatasetSource(licence="MIT", files=(SourceFile(name="x"),)),
        own=DatasetSource(licence="yours"),
    )
    path = tmp_path / "mine.json"
    path.write_bytes(BODY)
    return path


def test_counts_are_of_what_was_given(mine: Path) -> None:
    counts = build_card("talks", mine).counts

    assert counts is not None
    assert (counts.scenarios, counts.sessions, counts.turns, counts.questions) == (1, 2, 4, 4)
    assert counts.categories == {"facts": 2, "letters": 1, "tricks": 1}
    assert (counts.abstaining, counts.choices) == (1, 1)
    assert (counts.turn_evidence, counts.session_evidence, counts.no_evidence) == (2, 1, 1)
    assert (counts.first_session, counts.last_session) == (date(2024, 1, 1), date(2024, 1, 2))


def test_dates_that_are_made_up_are_not_stated(mine: Path) -> None:
    counts = build_card("dateless", mine).counts

    assert counts is not None
    assert (counts.first_session, counts.last_session) == (None, None)


def test_a_protocol_counts_its_own_questions(mine: Path) -> None:
    def scored(_: PublicDataset, item: Item) -> Iterator[str]:
        yield "official"
        if item.truth.evidence:
            yield "retrieval"

    counts = build_card("talks", mine, denominators=scored).counts

    assert counts is not None
    assert counts.denominators == {"official": 4, "retrieval": 3}


def test_a_card_says_whether_its_data_is_as_published(mine: Path, tmp_path: Path) -> None:
    variant = tmp_path / "variant.json"
    variant.write_bytes(BODY + b"\n")

    assert build_card("talks", mine).is_published is True
    assert build_card("talks", variant).is_published is False
    assert build_card("dateless", mine).is_published is None


def test_without_data_nothing_is_counted(mine: Path) -> None:
    card = build_card("talks")

    assert (card.data, card.counts, card.is_published) == (None, None, None)
    assert card.errata[0].name == "typos"
    assert card.layers[0].name == "audit"


def test_what_was_downloaded_is_counted(mine: Path, cache: Path) -> None:
    (cache / "talks").mkdir(parents=True)
    (cache / "talks/talks.json").write_bytes(BODY)

    card = build_card("talks")

    assert card.data == str(cache / "talks/talks.json")
    assert card.is_published is True
    assert card.counts is not None


def test_the_list_says_how_much_is_here(mine: Path, cache: Path) -> None:
    (cache / "talks").mkdir(parents=True)
    (cache / "talks/talks.json.part").write_bytes(BODY[:10])

    talks, dateless, own = list_entries()

    assert (talks.state, talks.bytes, talks.bytes_here) == (Presence.PART, len(BODY) + 2, 10)
    assert [file.state for file in talks.files] == [Presence.PART, Presence.ABSENT]
    assert (talks.is_pinned, dateless.is_pinned, own.is_pinned) == (True, False, None)
    assert (dateless.state, own.state) == (Presence.ABSENT, None)


def test_an_unknown_dataset_has_no_card(mine: Path) -> None:
    with pytest.raises(UsageError, match="no dataset named 'nothing'"):
        build_card("nothing")
