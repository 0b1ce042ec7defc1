"""What the events of all trials of a run come to, to be kept in a cache."""

from datetime import datetime

import msgspec

from recall_bench.core.trial_states import CheckpointTimes, ReviewChange
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import JudgeCard
from recall_bench.runs.service_stats import DeliveryCounts


class ScenarioSnapshot(msgspec.Struct, kw_only=True):
    """What the events of the trials of one scenario come to; arrays as their bytes."""

    grid: bytes
    answered: bytes
    outcome: bytes
    fault: bytes
    reviews: dict[int, ReviewChange]
    labelled: set[int]
    times: list[CheckpointTimes]
    last_times: list[datetime | None]


class FolderSnapshot(msgspec.Struct, kw_only=True):
    """What the events of all trials come to, and where the other events are."""

    course: bytes
    """The offsets of the events that are not about the outcome of a trial."""
    end: int
    last_link: str | None
    is_chained: bool
    ended: datetime
    paused_us: int
    faults: list[str]
    fault_examples: dict[str, str]
    judges_with_findings: list[JudgeCard]
    usage: Usage
    review_usage: Usage
    reading_usage: Usage
    deliveries: DeliveryCounts
    reader_usage: Usage
    answer_usage: Usage
    latencies: bytes
    scenarios: dict[str, ScenarioSnapshot]
