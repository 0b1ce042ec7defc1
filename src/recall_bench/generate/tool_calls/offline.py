"""What an agent saves of a day, without a model: every topic of the log, dated, as it stands."""

import re

from recall_bench.datasets.transcripts import ToolCall
from recall_bench.generate.told_days import LogTopic, StoryDay
from recall_bench.generate.tool_calls.rendering import INTERNAL, SAVE


def list_calls(day: StoryDay) -> tuple[ToolCall, ...]:
    """One call for each paragraph of each topic."""
    return tuple(
        ToolCall(
            session=topic.session or INTERNAL, tool=SAVE, content=_format_content(day, topic, part)
        )
        for topic in day.topics
        for part in re.split(r"\n\s*\n", topic.text)
        if part.strip()
    )


def _format_content(day: StoryDay, topic: LogTopic, paragraph: str) -> str:
    """Dated and headed, so that it can be understood alone."""
    dated = day.date.isoformat()
    if topic.heading is None:
        about = dated
    elif str(day.date.year) in topic.heading:
        about = topic.heading
    else:
        about = f"{dated}, {topic.heading}"
    return f"{about}: {paragraph.strip()}"
