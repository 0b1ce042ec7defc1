"""An evaluation is one call from Python, with an adapter of one's own if one likes."""

from pathlib import Path

import pytest

import recall_bench
from recall_bench.core.errors import UsageError
from tests.features.datasets.evaluation.eval_datasets import figures, write_locomo


class Parrot:
    """Repeats the last thing it was told."""

    name, version = "parrot", "1"

    def setup(self) -> None:
        self.last = ""

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        self.last = content

    def query(self, question: str) -> dict[str, object]:
        return {"answer": self.last, "passages": [{"text": self.last}]}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_locomo(tmp_path / "locomo10.json")


def test_a_class_of_ones_own_is_measured(data: Path) -> None:
    found = recall_bench.evaluate("locomo", data=data, adapter=Parrot, floors=False)

    assert found.exit_code == 0
    assert found.report is not None
    assert found.report.system.name == "parrot"
    assert figures(found.report)["session recall@1"].mean == pytest.approx((0.5 + 1 + 1) / 6)
    assert found.place is not None
    assert found.finished.folder.path.name.startswith("locomo-parrot-")
    assert found.place.as_posix() == "reports/locomo/strict-2/run-1"
    assert not list(found.finished.folder.path.glob("heatmap.*")), "it has no days to draw"
    assert len(repr(found)) < 300
    assert found._repr_markdown_() == (found.place / "locomo.md").read_text(encoding="utf-8")


def test_a_single_word_may_stand_for_a_list(data: Path) -> None:
    found = recall_bench.evaluate(
        "locomo", data=data, adapter="bm25", skip_qa=True, floors=False, categories="temporal"
    )

    assert found.report is not None
    assert found.report.counts.owed == 1


def test_a_mode_is_a_word_and_not_ignored(data: Path) -> None:
    with pytest.raises(UsageError, match="it is not known how bm25 consolidates"):
        recall_bench.evaluate("locomo", data=data, adapter="bm25", mode="consolidated")


def test_an_unknown_mode_is_refused(data: Path) -> None:
    with pytest.raises(
        UsageError, match="mode: 'cooked' is not valid; choose one of raw, consolidated"
    ):
        recall_bench.evaluate("locomo", data=data, adapter="bm25", mode="cooked")


def test_an_unknown_setting_is_refused(data: Path) -> None:
    with pytest.raises(UsageError, match="no setting 'top_kk'; did you mean 'top_k'"):
        recall_bench.evaluate("locomo", data=data, adapter="bm25", top_kk=3)
