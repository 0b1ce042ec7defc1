"""The words people use for checkpoints: `30d`, `6mo`, `1y`, `full`, `every:7`."""

import re
from collections.abc import Iterable

from recall_bench.core.plan import Checkpoint
from recall_bench.errors import UsageError

FULL = 2**53 - 1
"""`full` as the public files spell it: more days than any history has."""

NAMED_RANGES = {"30d": 30, "90d": 90, "6mo": 180, "1y": 365, "full": FULL}

_UNIT_DAYS = {"": 1, "d": 1, "m": 30, "mo": 30, "y": 365}
_LABEL_UNIT = {"": "d", "d": "d", "m": "mo", "mo": "mo", "y": "y"}


def parse_range(word: str | int) -> Checkpoint:
    """One checkpoint from one word, as the public harness labels it."""
    text = str(word).strip().lower()
    if text in NAMED_RANGES:
        return Checkpoint(label=text, days=NAMED_RANGES[text])
    match = re.fullmatch(r"([0-9]+)(d|mo|m|y)?", text)
    if match is None or int(match[1]) == 0:
        raise UsageError(
            f"--ranges: {str(word)!r} is not a range; "
            f"say a day count such as 45 or 45d, 6mo, 2y, every:7, or one of {', '.join(NAMED_RANGES)}"
        )
    count, unit = int(match[1]), match[2] or ""
    return Checkpoint(label=f"{count}{_LABEL_UNIT[unit]}", days=count * _UNIT_DAYS[unit])


def parse_ranges(words: Iterable[str | int], last_day: int) -> tuple[Checkpoint, ...]:
    """The checkpoints meant, by days, each label once.

    Words may themselves be lists, separated by commas or blanks. `every:N` means every Nth
    day of a history of `last_day` days, and its last day.
    """
    found: dict[str, Checkpoint] = {}
    for word in words:
        for part in re.split(r"[\s,]+", str(word).strip(" \t,") or str(word)):
            for checkpoint in _expand_range(part, last_day):
                found.setdefault(checkpoint.label, checkpoint)
    if not found:
        raise UsageError("--ranges: nothing given; say for example 30d,90d,full")
    return tuple(sorted(found.values(), key=lambda checkpoint: checkpoint.days))


def _expand_range(part: str, last_day: int) -> list[Checkpoint]:
    step = re.fullmatch(r"every:([0-9]+)d?", part.lower())
    if step is None:
        return [parse_range(part)]
    if int(step[1]) == 0:
        raise UsageError(f"--ranges: {part!r} has no step; say for example every:7")
    days = [*range(int(step[1]), last_day, int(step[1])), last_day]
    return [Checkpoint(label=f"{day}d", days=day) for day in days]
