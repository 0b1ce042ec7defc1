"""What `judge-lab` printed as JSON, read back: how often a judge errs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.verdict import JudgeCard
from recall_bench.errors import Malformed, UsageError
from recall_bench.judge_lab.agreement import Agreement
from recall_bench.judge_lab.audit.report import AuditReport, MarkFigures
from recall_bench.judge_lab.correction import JudgeErrors
from recall_bench.metrics.agreement_correction import EffectiveShare, ErrorRates


def load_agreement(path: Path) -> JudgeErrors:
    """The error rates in what `judge-lab agreement --json` printed."""
    found: Agreement = _load_json(path, Agreement, "agreement")
    return JudgeErrors.from_agreement(
        found.judge,
        "agreement",
        found.marks,
        found.categories,
        memory_window=found.memory_window,
    )


def load_audit(path: Path, judge: JudgeCard) -> JudgeErrors:
    """The error rates of this judge in what `judge-lab audit --json` printed.

    Of several judges it is this one's; where it is not among them, the first one's, for whoever
    corrects to refuse.
    """
    found: AuditReport | list[AuditReport] = _load_json(
        path, AuditReport | list[AuditReport], "audit"
    )
    reports = found if isinstance(found, list) else [found]
    if not reports:
        raise Malformed(str(path), "holds no audit; print it anew with `judge-lab audit --json`")
    report = next((part for part in reports if part.judge == judge), reports[0])
    return JudgeErrors(
        judge=report.judge,
        source="audit",
        marks=_collect_audit_rates(report.marks),
        categories={
            name: _collect_audit_rates(part.marks) for name, part in report.categories.items()
        },
        memory_window=report.memory_window,
    )


def _collect_audit_rates(figures: Mapping[str, MarkFigures]) -> dict[str, ErrorRates]:
    return {
        mark: ErrorRates(
            sensitivity=EffectiveShare(share=part.sensitivity.rate, size=part.sensitivity.of),
            specificity=EffectiveShare(share=part.specificity.rate, size=part.specificity.of),
        )
        for mark, part in figures.items()
        if part.sensitivity is not None and part.specificity is not None
    }


def _load_json(path: Path, kind: Any, command: str) -> Any:  # noqa: ANN401 - a type, and its value
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); name what "
            f"`judge-lab {command} --json` printed"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise Malformed(
            str(path), f"is not what `judge-lab {command} --json` prints ({error}); print it anew"
        ) from error
