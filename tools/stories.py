"""The packed stories of the package, for their authors: unpack one, pack it, see what changed.

    python tools/stories.py unpack executive-assistant arcs-180d.yaml --into work
    python tools/stories.py mend work/executive-assistant stories/errata.yaml
    python tools/stories.py diff work/executive-assistant
    python tools/stories.py pack work/executive-assistant
    python tools/stories.py build drafts/executive-assistant --into work

A story is a persona folder in the public format with one story in it. `pack` refuses a folder in
which a run would find problems, and writes the archive and the entry of the catalogue; a release
that changes the days or questions of a story gives it a new --edition, so that scores under one
name stay comparable. The archive is the same for the same files.

`mend` applies named errata to the questions. `build` makes a story of a draft that goes on from
the shipped half-year: words of evidence become ranges, and a question of the half-year is asked
until a later day may change its answer.
"""

import argparse
import difflib
import io
import json
import lzma
import re
import shutil
import sys
import tarfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.errors import BenchError, Malformed, Problems, UsageError
from recall_bench.core.scenario import BOUNDARY, NEGATIVE, PRINCIPAL, Expects, compute_story_date
from recall_bench.core.yaml12 import load_yaml
from recall_bench.core.yaml_writer import dump_yaml
from recall_bench.stories import shipped
from recall_bench.stories.persona import inspect_persona
from recall_bench.stories.persona_files import STATEMENTS_FILE, Layout, list_stories
from recall_bench.stories.persona_story import read_persona
from recall_bench.stories.shipped import (
    ShippedPersona,
    ShippedStory,
    digest_folder,
    load_catalogue,
    locate_pack,
    unpack_story,
)
from recall_bench.text.sentences import split_sentences

HALF_YEAR = "arcs-180d.yaml"
HALF_YEAR_DAYS = 180
UNTRUE = frozenset({"rumour", "wrong"})
"""How a value is told that does not hold: it changes no answer."""

Entry = dict[str, Any]
"""A question or a statement, as its file has it."""

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_CALENDAR = re.compile(
    r"\b(?:this|last|next|the (?:new|half|past))[- ](?:year|half|quarter|month|week)|\bnew year\b"
    r"|\b(?:spring|summer|winter|autumn|fall|easter|christmas)\b|\byear"
    r"|\b(?:annual|general meeting|results|roadshow|away day|party|audit|interim|dividend"
    r"|graduation|boot camp|survey)\b"
    rf"|\b(?:{_MONTH})\b(?! 20|(?: \d{{1,2}})?,? 20)",
    re.IGNORECASE,
)
"""A time, or what recurs each year, that somebody would place in another year a year later."""
_PRESENT = re.compile(
    r"\b(?:now|at present|nowadays|still|current(?:ly)?|latest|newest|today|these days|moment|ever"
    r"|yet|so far|any more|always|usual(?:ly)?|is|are|am|do|does|has|have|can|may|must|needs?)\b",
    re.IGNORECASE,
)
"""What holds at the time of asking, which may have changed without a statement of it."""


def unpack(persona: str, arcs: str | None, edition: int | None, into: Path) -> Path:
    """Copy a shipped story to `into`, to be worked on."""
    folder = into / persona
    if folder.exists():
        raise UsageError(f"{folder} exists already; remove it, or name another place with --into")
    shutil.copytree(unpack_story(persona, arcs, edition=edition), folder)
    return folder


def pack(folder: Path, edition: int | None) -> ShippedStory:
    """Pack a folder as a story of the package, and record it in the catalogue."""
    arcs = find_only_story(folder)
    inspection = inspect_persona(folder, arcs=arcs)
    if inspection.problems or inspection.card is None:
        raise Problems(inspection.problems)
    persona = load_catalogue().get(folder.name)
    released = {} if persona is None else persona.list_stories()
    newest = released[arcs].edition if arcs in released else 1
    story = ShippedStory(
        arcs=arcs,
        edition=edition or newest,
        digest=digest_folder(folder),
        days=inspection.card.episodes,
        questions=inspection.card.items,
    )
    locate_pack(folder.name, story).write_bytes(build_archive(folder))
    write_catalogue(folder, story)
    return story


def mend(folder: Path, errata: Path) -> int:
    """Apply the named errata to the questions of a folder; returns how many were changed."""
    layout = Layout(folder, find_only_story(folder))
    entries = {entry["id"]: entry for entry in read_entries(layout.questions_file)}
    problems: list[BenchError] = []
    mended: set[str] = set()
    for erratum in read_entries(errata):
        for name in erratum["questions"]:
            if not name.startswith(f"{folder.name}-"):
                continue
            if name not in entries:
                problems.append(Malformed(errata.name, f"{erratum['name']}: no question {name}"))
                continue
            changes = dict(erratum["changes"])
            if changes.pop("dated", False):
                add_dates(entries[name]["evidence"], read_epoch(layout))
            entries[name].update(changes)
            mended.add(name)
    if problems:
        raise Problems(problems)
    write_entries(layout.questions_file, entries.values())
    return len(mended)


def build(draft: Path, into: Path) -> Path:
    """Make a persona folder of a draft, in the public format."""
    source = Layout(draft, find_only_story(draft))
    layout = Layout(into / draft.name, source.arcs)
    if layout.folder.exists():
        raise UsageError(f"{layout.folder} exists already; remove it, or name another place")
    early = Layout(unpack_story(draft.name, HALF_YEAR), HALF_YEAR)
    days = {int(path.stem[4:]): path.read_text("utf-8") for path in source.memories.glob("*.md")}
    problems: list[BenchError] = [
        Malformed(path.name, "differs from the half-year, which is released")
        for path in sorted(early.memories.glob("*.md"))
        if days.get(int(path.stem[4:])) != path.read_text("utf-8")
    ]
    statements = [
        json.loads(line)
        for path in sorted((draft / "facts").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    persona = read_persona(draft)
    closed = {session.id for session in persona.sessions if session.isolated}
    entries = list(carry_questions(early, draft, statements, days))
    drafts = chain.from_iterable(map(read_entries, sorted((draft / "questions").glob("*.yaml"))))
    epoch = read_epoch(source)
    last = max(int(entry["id"].rpartition("-w")[2]) for entry in entries)
    for number, drafted in enumerate(drafts, last + 1):
        evidence = place_evidence(drafted, days, epoch, problems)
        latest = max(day for day in days if day <= drafted["answerable_from"])
        name = f"{draft.name}-w{number:03}"
        entries.append(make_entry(name, drafted, evidence, closed, latest))
    placed = [place_statement(statement, days, problems) for statement in statements]
    if problems:
        raise Problems(problems)
    shutil.copytree(source.memories, layout.memories)
    for path in (source.persona_file, source.arcs_file):
        shutil.copy(path, layout.folder / path.name)
    write_entries(layout.questions_file, entries)
    said = early.questions_file.with_name(STATEMENTS_FILE).read_text("utf-8")
    layout.questions_file.with_name(STATEMENTS_FILE).write_text(
        said + "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in placed if each),
        "utf-8",
    )
    return layout.folder


def carry_questions(
    early: Layout, draft: Path, statements: Iterable[Entry], days: Mapping[int, str]
) -> Iterator[Entry]:
    """The half-year's questions, each with the last day on which its answer is known to hold.

    `half-year.yaml` of the draft names those that stay right for good, by somebody who read them.
    Of the others one ends where a later value of one of its things is stated, or where what is
    not on record may come to be; one in the present tense, or about a secret, ends with the
    half-year; and one with a season, a month or what
    recurs each year ends with its calendar year.
    """
    decided = load_yaml(draft / "half-year.yaml")
    stays = frozenset(decided["stays"] if isinstance(decided, dict) else ())
    changes: dict[str, int] = {}
    for statement in statements:
        if statement["day"] > HALF_YEAR_DAYS and statement["told"] not in UNTRUE:
            before = changes.get(statement["fact"], statement["day"])
            changes[statement["fact"]] = min(before, statement["day"])
    epoch = read_epoch(early)
    next_year = (date(epoch.year + 1, 1, 1) - epoch).days + 1
    for entry in read_entries(early.questions_file):
        if "changes_on" not in entry:
            is_settled = entry["id"].rpartition("-")[2] in stays
            is_secret = entry.get("expected_disclosure") in {"refuse", "partial"}
            change = None if is_settled or is_secret else find_change(entry, changes)
            is_open = not is_settled and change is None
            ends = [find_doubt(entry, days) if is_open else None]
            if _CALENDAR.search(entry["question"]):
                ends.append(next_year)
            end = min((day for day in (change, *ends) if day is not None), default=None)
            if end is not None:
                entry["irrelevant_after"] = end - 1
            if change is not None and change == end:
                entry["changes_on"] = change
        yield entry


def find_change(entry: Entry, changes: Mapping[str, int]) -> int | None:
    """The day on which one of the things that a question asks for gets another value."""
    if entry["kind"] == "value-as-of":
        return None
    facts = (state.rpartition(".")[0] for state in entry["derive"].get("states", ()))
    return min((changes[fact] for fact in facts if fact in changes), default=None)


def find_doubt(entry: Entry, days: Mapping[int, str]) -> int | None:
    """The day from which nobody has looked whether the answer of a question still holds."""
    if entry.get("expected_disclosure") in {"refuse", "partial"}:
        return HALF_YEAR_DAYS + 1
    if "words" in entry["derive"]:
        return next(iter(find_words(entry["derive"]["words"], days)), None)
    is_present = entry["kind"] != "value-as-of" and _PRESENT.search(entry["question"])
    return HALF_YEAR_DAYS + 1 if is_present else None


def find_words(words: Collection[str], days: Mapping[int, str]) -> list[int]:
    """The days after the half-year with a sentence that has all these words."""
    return [
        day
        for day in sorted(days)
        if day > HALF_YEAR_DAYS
        and any(
            all(word.lower() in sentence.lower() for word in words)
            for line in days[day].splitlines()
            for sentence in split_sentences(line)
        )
    ]


def place_evidence(
    drafted: Entry, days: Mapping[int, str], epoch: date, problems: list[BenchError]
) -> list[Entry]:
    """The evidence of a drafted question by ranges, with dates where the draft wants them."""
    evidence = []
    for cited in drafted.get("evidence") or ():
        day, session = cited["day"], cited["session"]
        span = find_span(days.get(day, ""), session, cited["quote"])
        if span is None:
            problem = f"day {day} does not say once: {cited['quote']:.60}"
            problems.append(Malformed(drafted["id"], problem))
            continue
        evidence.append({"day": day, "session": session, "start": span[0], "end": span[1]})
        if cited.get("dated"):
            add_dates(evidence[-1:], epoch)
    return evidence


def make_entry(
    name: str, drafted: Entry, evidence: Sequence[Entry], closed: Collection[str], latest: int
) -> Entry:
    """A question of a draft as questions.yaml has it.

    `closed` are the isolated sessions, `latest` is the last day when it is first asked: the public
    format wants a day also of a question that cites none.
    """
    expects, category = Expects(drafted["expects"]), drafted["category"]
    disclosure = "answer" if category == BOUNDARY else None
    if expects is Expects.WITHHOLD:
        category, disclosure = BOUNDARY, "refuse"
    elif category == NEGATIVE and re.match(r"No\b", drafted["answer"]):
        expects = Expects.CORRECT if expects is Expects.ANSWER else expects
    asker = drafted.get("asked_from")
    forbidden = None
    if expects is Expects.WITHHOLD:
        asker = asker or PRINCIPAL
        sessions = list(dict.fromkeys(cited["session"] for cited in evidence))
        others = [session for session in sessions if session != asker]
        forbidden = [session for session in others if session in closed] or others or sessions
    changes_on = drafted.get("changes_on")
    entry = {
        "id": name,
        "question": drafted["question"],
        "answer": drafted["answer"],
        "category": category,
        "difficulty": drafted["difficulty"],
        "expects": None if expects in {Expects.ANSWER, Expects.WITHHOLD} else str(expects),
        "relevant_days": list(dict.fromkeys(cited["day"] for cited in evidence)) or [latest],
        "requires_synthesis": category == "synthesis",
        "query_session": asker,
        "forbidden_sessions": forbidden,
        "expected_disclosure": disclosure,
        "irrelevant_after": changes_on and changes_on - 1,
        "answerable_from": drafted["answerable_from"],
        "changes_on": changes_on,
        **{
            key: [str(value) for value in drafted.get(key) or ()] or None
            for key in ("aliases", "atoms", "stale", "distractors", "withheld")
        },
        "evidence": evidence,
        "kind": drafted["kind"],
    }
    return {key: value for key, value in entry.items() if value is not None}


def place_statement(
    statement: Entry, days: Mapping[int, str], problems: list[BenchError]
) -> Entry | None:
    """A fact of a draft as statements.jsonl has it, with the range of its sentence."""
    day, session = statement["day"], statement["session"]
    span = find_span(days.get(day, ""), session, statement["quote"])
    if span is None:
        where = f"{statement['fact']}.{statement['state']}"
        problems.append(Malformed(where, f"day {day} does not say once: {statement['quote']:.60}"))
        return None
    value = str(statement["value"])
    place = days[day].find(value, *span)
    start, end = (place, place + len(value)) if place >= 0 else span
    kept = {key: statement[key] for key in ("fact", "state", "what", "kind")}
    return {**kept, "day": day, "session": session, "start": start, "end": end}


def find_span(text: str, session: str, quote: str) -> tuple[int, int] | None:
    """The range of the sentences that hold a quotation; None unless it stands there once."""
    heading = "# session: "
    places = [
        match.start()
        for match in re.finditer(re.escape(quote), text)
        if text[text.rfind(heading, 0, match.start()) + len(heading) :].startswith(f"{session}\n")
    ]
    if len(places) != 1:
        return None
    first, last = places[0], places[0] + len(quote)
    position = text.rfind("\n", 0, first) + 1
    start, end = first, last
    for sentence in split_sentences(text[position : text.find("\n", last)]):
        position = text.index(sentence, position)
        if position <= first:
            start = position
        if position < last:
            end = max(last, position + len(sentence))
        position += len(sentence)
    return start, end


def add_dates(evidence: Iterable[Entry], epoch: date) -> None:
    """Write its calendar date to each piece of evidence, since the answer rests on it."""
    for cited in evidence:
        cited["date"] = compute_story_date(epoch, cited["day"]).date().isoformat()


def read_epoch(layout: Layout) -> date:
    """The date of the first day of a story."""
    story = load_yaml(layout.arcs_file)
    assert isinstance(story, dict)  # noqa: S101 - the file was inspected, or is about to be
    return date.fromisoformat(story["epoch"])


def read_entries(path: Path) -> list[Entry]:
    """The entries of a YAML list."""
    content = load_yaml(path)
    if not isinstance(content, list):
        raise Malformed(path.name, "holds no list")
    return content


def write_entries(path: Path, entries: Iterable[Entry]) -> None:
    """Write questions.yaml."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(dump_yaml([entry]) for entry in entries), "utf-8")


def find_only_story(folder: Path) -> str:
    """The story of a folder; UsageError unless it has exactly one."""
    stories = list_stories(folder) if folder.is_dir() else ()
    if len(stories) != 1:
        raise UsageError(f"{folder} should hold one story, and holds {len(stories)}")
    return stories[0]


def build_archive(folder: Path) -> bytes:
    """The archive of a folder: names and bytes alone, in order, so that it can be made again."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return lzma.compress(content.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def write_catalogue(folder: Path, story: ShippedStory) -> None:
    """Record the story; it replaces one of the same arcs and edition, newer editions are first."""
    described = read_persona(folder)
    catalogue = dict(load_catalogue())
    before = catalogue[folder.name].stories if folder.name in catalogue else ()
    kept = [one for one in before if (one.arcs, one.edition) != (story.arcs, story.edition)]
    catalogue[folder.name] = ShippedPersona(
        id=folder.name,
        name=described.name,
        role=described.role,
        domain=described.domain,
        stories=tuple(sorted([*kept, story], key=lambda one: (-one.edition, one.arcs))),
    )
    content = msgspec.json.encode(list(catalogue.values()))
    shipped.CATALOGUE.write_bytes(msgspec.json.format(content, indent=1) + b"\n")
    load_catalogue.cache_clear()


def diff(folder: Path, edition: int | None) -> Iterator[str]:
    """The lines in which a folder differs from the story as released."""
    released = unpack_story(folder.name, find_only_story(folder), edition=edition)
    before, after = read_files(released), read_files(folder)
    for name in sorted(before.keys() | after.keys()):
        yield from difflib.unified_diff(
            before.get(name, ()), after.get(name, ()), f"released/{name}", str(folder / name)
        )


def read_files(folder: Path) -> Mapping[str, Sequence[str]]:
    """The lines of every file of a folder by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8").splitlines(keepends=True)
        for path in folder.rglob("*")
        if path.is_file()
    }


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line; the exit code is that of `recall-bench`, and 1 for differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    unpacking = commands.add_parser("unpack", help="copy a shipped story to a folder")
    unpacking.add_argument("persona")
    unpacking.add_argument("arcs", nargs="?")
    building = commands.add_parser("build", help="make a persona folder of a draft")
    mending = commands.add_parser("mend", help="apply errata to the questions of a folder")
    packing = commands.add_parser("pack", help="pack a folder and record its digest")
    comparing = commands.add_parser("diff", help="show what changed since the release")
    for command in (packing, comparing, mending, building):
        command.add_argument("folder", type=Path)
    mending.add_argument("errata", type=Path)
    for command in (unpacking, building):
        command.add_argument("--into", type=Path, default=Path())
    for command in (unpacking, packing, comparing):
        command.add_argument("--edition", type=int)
    given = parser.parse_args(words)
    try:
        if given.command == "unpack":
            print(unpack(given.persona, given.arcs, given.edition, given.into))
        elif given.command == "build":
            print(build(given.folder, given.into))
        elif given.command == "mend":
            print(f"{mend(given.folder, given.errata)} questions changed")
        elif given.command == "pack":
            story = pack(given.folder, given.edition)
            print(f"{given.folder.name} {story.arcs}, edition {story.edition}: {story.digest}")
        else:
            lines = list(diff(given.folder, given.edition))
            sys.stdout.writelines(lines)
            return int(bool(lines))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
