"""The script that draws is bundled once and kept, and a damaged copy is made again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_bench.reporting.pages.document import load_vega_script


@pytest.fixture(autouse=True)
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """Every time the script was bundled, in an empty cache."""
    calls: list[str] = []

    def bundle(snippet: str) -> str:
        calls.append(snippet)
        return "vega;\nembed;"

    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    load_vega_script.cache_clear()
    yield calls
    load_vega_script.cache_clear()


def again() -> str:
    load_vega_script.cache_clear()
    return load_vega_script()


def test_another_process_finds_what_was_kept(bundled: list[str]) -> None:
    assert (load_vega_script(), again()) == ("vega;\nembed;", "vega;\nembed;")
    assert len(bundled) == 1


@pytest.mark.parametrize("content", [b"", b"// 00\nvega;", b"vega;\nembed;", b"\xff\xfe"])
def test_a_damaged_copy_is_made_again(bundled: list[str], tmp_path: Path, content: bytes) -> None:
    load_vega_script()
    (kept,) = (tmp_path / "cache" / "charting").iterdir()
    kept.write_bytes(content)

    assert again() == "vega;\nembed;"
    assert len(bundled) == 2
    assert again() == "vega;\nembed;"
    assert len(bundled) == 2


def test_a_cache_that_cannot_be_written_is_done_without(bundled: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")

    assert (load_vega_script(), again()) == ("vega;\nembed;", "vega;\nembed;")
    assert len(bundled) == 2
