"""The picture has one row a class and one dot a judge, and refuses to compare unlike audits."""

from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.verdict import JudgeCard
from recall_bench.features.judges.audit import audit_judge
from recall_bench.features.judges.audit_report import AuditClass, AuditReport
from recall_bench.features.judges.judge_charts import build_audit_chart, write_audit_chart
from recall_bench.judging.judges import StubJudge
from tests.features.judges.audit.known_judges import Generous, Oracle
from tests.features.judges.audit.stories import SHORT, load_story


@pytest.fixture(scope="module")
def reports() -> list[AuditReport]:
    story = load_story(*SHORT, per_class=4)
    some = story.items[::2]

    async def audit_all() -> list[AuditReport]:
        judges = (Oracle(some), Generous(), StubJudge({}))
        return [await audit_judge(judge, [story.scenario], some) for judge in judges]

    return anyio.run(audit_all)


def test_a_picture_is_drawn_as_its_name_says(reports: list[AuditReport], tmp_path: Path) -> None:
    write_audit_chart(reports[:1], tmp_path / "audit.png")
    write_audit_chart(reports, tmp_path / "audit.svg")

    assert (tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "audit.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    for kind in AuditClass:
        assert f">{kind.value}</text>" in svg
    # Several judges are distinguished by name.
    for name in ("oracle 1", "generous 1", "stub 1"):
        assert f">{name}</text>" in svg


def test_judges_of_one_name_are_numbered(reports: list[AuditReport]) -> None:
    described = str(build_audit_chart([reports[0], reports[0]])["description"])

    assert "oracle 1 (1) gives" in described
    assert "oracle 1 (2) gives" in described


def test_the_picture_is_also_reported_in_words(reports: list[AuditReport]) -> None:
    described = str(build_audit_chart(reports)["description"])

    assert "stub 1 gives a pass in correctness to: right 0 %" in described


def test_audits_of_different_answers_are_not_drawn_together(
    reports: list[AuditReport],
) -> None:
    with pytest.raises(UsageError, match="different answers"):
        build_audit_chart([reports[0], reports[1].replace(audit_set="other")])


def test_more_judges_than_colours_are_refused(reports: list[AuditReport]) -> None:
    many = [
        reports[0].replace(judge=JudgeCard(name=f"judge-{number}", version="1"))
        for number in range(7)
    ]

    with pytest.raises(UsageError, match="room for 6"):
        build_audit_chart(many)


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(UsageError, match="no audit"):
        build_audit_chart([])


def test_a_picture_of_an_unknown_kind_is_refused(
    reports: list[AuditReport], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="png"):
        write_audit_chart(reports, tmp_path / "audit.gif")
