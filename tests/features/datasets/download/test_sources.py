"""`datasets.toml` knows every dataset of the catalogue, and says nothing it cannot stand by."""

import gzip
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.stories.catalogue import (
    DatasetSource,
    find_dataset,
    find_source,
    list_datasets,
    load_sources,
)
from tests.conftest import shared_data

FILES = [(name, file) for name, source in load_sources().items() for file in source.files]
OWN_PLACES = {"raw.githubusercontent.com", "huggingface.co"}
"""Where publishers put their files themselves."""


def urls(source: DatasetSource) -> list[str]:
    return [url for file in source.files for url in source.list_urls(file)]


def test_every_dataset_has_its_source_and_the_other_way_round() -> None:
    assert [dataset.name for dataset in list_datasets()] == list(load_sources())


def test_every_layer_has_its_file_and_the_other_way_round() -> None:
    for dataset in list_datasets():
        named = {file.layer for file in find_source(dataset.name).files if file.layer is not None}
        assert set(dataset.about.layers) == named, dataset.name


def test_a_dataset_without_notes_says_where_they_belong() -> None:
    unknown = replace(find_dataset("longmemeval-s"), family="new")

    with pytest.raises(
        LookupError, match=r"longmemeval-s: datasets\.toml has no entry \[notes\.new\]"
    ):
        _ = unknown.about


def test_an_unknown_dataset_has_no_source() -> None:
    with pytest.raises(UsageError, match="no source is known for 'nothing'"):
        find_source("nothing")


def test_pins_are_whole_and_no_two_files_share_one() -> None:
    # Tiers of one release may share a file, which has one name then.
    pins = {(file.name, file.sha256) for _, file in FILES if file.sha256 is not None}

    assert all(re.fullmatch("[0-9a-f]{64}", pin) for _, pin in pins)
    assert len({pin for _, pin in pins}) == len(pins) == 22


def test_names_stay_in_their_folder_and_are_distinguished() -> None:
    for name, source in load_sources().items():
        paths = [PurePosixPath(file.name) for file in source.files]
        assert not any(path.is_absolute() or ".." in path.parts for path in paths), name
        assert len(set(paths)) == len(paths), name


def test_every_file_lies_somewhere_at_a_revision_that_cannot_change() -> None:
    for name, file in FILES:
        found = find_source(name).list_urls(file)
        assert found, file.name
        for url in found:
            assert url.startswith("https://"), url
            assert re.search("[0-9a-f]{40}", url), url


def test_what_is_not_pinned_comes_from_its_publisher_alone() -> None:
    """Somebody else's copy can be told from the original only by a pin."""
    for name, file in FILES:
        if file.sha256 is None:
            hosts = {urlsplit(url).hostname for url in find_source(name).list_urls(file)}
            assert hosts <= OWN_PLACES, file.name


def test_a_length_is_known_in_full_or_not_at_all() -> None:
    assert find_source("locomo").bytes == 2_805_274 + 150_552
    assert find_source("membench-first").bytes is None
    assert find_source("convomem").bytes is None


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("locomo10.json", "locomo/locomo10.json"),
        ("locomo_audit_errors.json", "locomo/locomo_audit_errors.json"),
        ("longmemeval_oracle.json", "longmemeval/longmemeval_oracle.json.gz"),
    ],
)
def test_pins_fit_the_real_files(name: str, place: str) -> None:
    path = shared_data(place)
    body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()

    (file,) = [file for _, file in FILES if file.name == name]

    assert (file.sha256, file.bytes) == (sha256(body).hexdigest(), len(body))


def test_the_guide_names_the_licence_of_each_dataset() -> None:
    """A row is for `beam-100k`, `-500k` and so on, where they have one licence."""
    guide = (Path(__file__).parents[4] / "docs" / "how-to" / "datasets.md").read_text(
        encoding="utf-8"
    )
    rows = re.findall(
        r"^\| (`.+?) \| (.+?) \|.*\|$", guide.partition("## Licences")[2], re.MULTILINE
    )
    licences: dict[str, str] = {}
    for names, licence in rows:
        first = ""
        for name in re.findall(r"`([\w-]+)`", names.partition(", and the audit")[0]):
            whole = first.rpartition("-")[0] + name if name.startswith("-") else name
            first = first or whole
            licences[whole] = licence

    assert licences == {name: source.licence for name, source in load_sources().items()}
