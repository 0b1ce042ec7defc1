"""The days as a prompt shows them: by session, in story order, within so many tokens.

Too much text is cut evenly: a day gives up nothing as long as it takes less than an even share of
the room, what it leaves is the others', and within a day its sessions share alike. A session is cut
after the last whole line that fits, and a line says so.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from recall_bench.core.tokens import CHARACTERS_A_TOKEN
from recall_bench.generate.questions.quoting import DayPart, VisibilityRule, split_parts
from recall_bench.generate.told_days import StoryDay
from recall_bench.lint.day import NO_SESSION

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t\r]*\n.*?\n---[ \t\r]*(?:\n|\Z)", re.DOTALL)

CUT = "[the rest is left out]"


def build_excerpts(
    days: Sequence[StoryDay],
    tokens: int,
    is_visible: VisibilityRule,
    *,
    earlier: Sequence[StoryDay] = (),
) -> Mapping[str, str]:
    """Blocks of text by the names the prompt gives them; days without anything to show have none.

    Earlier days come first in the story and last in the sharing: they get a quarter of the room
    and what the others leave.
    """
    seen = {day.number: _select_visible(day, is_visible) for day in (*earlier, *days)}
    room = tokens * CHARACTERS_A_TOKEN
    main = {day.number: seen[day.number] for day in days if seen[day.number]}
    shown = _fit_days(main, room - (room // 4 if earlier else 0))
    left = room - sum(len(part) for blocks in shown.values() for part in blocks)
    shown |= _fit_days({day.number: seen[day.number] for day in earlier if seen[day.number]}, left)
    return {
        format_block_name(day): "\n\n".join(shown[day.number])
        for day in sorted((*earlier, *days), key=lambda each: each.number)
        if day.number in shown
    }


def format_block_name(day: StoryDay) -> str:
    """What a prompt calls the block of a day."""
    return f"day {day.number}, {day.in_words}"


def _select_visible(day: StoryDay, is_visible: VisibilityRule) -> list[DayPart]:
    first, *others = split_parts(day.text)
    before = replace(first, text=_FRONT_MATTER.sub("", first.text, count=1))
    return [
        part
        for part in (before, *others)
        if is_visible(part.session or NO_SESSION) and part.text.strip()
    ]


def _fit_days(days: Mapping[int, list[DayPart]], room: int) -> dict[int, list[str]]:
    whole = {number: [_render_part(part) for part in told] for number, told in days.items()}
    sizes = {number: sum(map(len, blocks)) for number, blocks in whole.items()}
    return {
        number: _cut_blocks(blocks, share)
        for (number, blocks), share in zip(
            whole.items(), divide_room(list(sizes.values()), room), strict=True
        )
    }


def _render_part(part: DayPart) -> str:
    heading = "" if part.session is None else f"# session: {part.session}\n\n"
    return f"{heading}{part.text.strip()}"


def divide_room(sizes: Sequence[int], room: int) -> list[int]:
    """How much of the room each gets: what it takes, or an even share of what is left."""
    given = [0] * len(sizes)
    left = room
    for rank, place in enumerate(sorted(range(len(sizes)), key=lambda each: sizes[each])):
        given[place] = min(sizes[place], max(0, left) // (len(sizes) - rank))
        left -= given[place]
    return given


def _cut_blocks(blocks: Sequence[str], room: int) -> list[str]:
    limits = divide_room([len(block) for block in blocks], room)
    return [
        block if len(block) <= limit else _truncate(block, limit)
        for block, limit in zip(blocks, limits, strict=True)
    ]


def _truncate(block: str, limit: int) -> str:
    head, line_end = block.split("\n", 1)[0], block.rfind("\n", 0, limit)
    kept = block[: max(line_end, len(head))].rstrip()
    return f"{kept}\n{CUT}"
