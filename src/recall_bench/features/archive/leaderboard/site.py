"""The pages of a leaderboard: static files without scripts, and the same figures as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.output_folder import refuse_other_files
from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.features.archive.leaderboard.board import (
    AS_RELEASED,
    BADGES,
    MODEL_JUDGED,
    SELF_REPORTED,
    VERIFIED,
    Board,
    BoardSuite,
    CategoryScore,
    Entry,
)
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.formats import (
    format_duration,
    format_number,
    format_score,
    format_seconds,
    format_slug,
)
from recall_bench.reporting.headlines import (
    DOUBT_NOTE,
    INVENTION_NOTE,
    WAY_NOTE,
    format_rate,
    format_way,
    mark_doubt,
)
from recall_bench.reporting.judge_scores import JudgeMean, format_judge_range
from recall_bench.reporting.pages.document import (
    SCORE_STEPS,
    PageAssets,
    list_page_assets,
    render_document,
)
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element

INDEX: Final = "index.html"
_ASSETS = PageAssets(styles=(*list_page_assets("base"), (__package__, "leaderboard")), scripts=())
_FOLDERS = ("category", "system")
GROUP_NOTE = (
    "Systems in one group do not differ significantly from the best of that group: a paired test "
    "of every question, p-values adjusted over all pairs of the table (Holm), 5 %"
)

JUDGES_NOTE = (
    "where a run has several judges, the first gives the score, and the range over all of them "
    "stands beside it; the verdicts of the first are derived again, those of the others are the "
    "word of its authors"
)


@dataclass(frozen=True, slots=True)
class SiteFile:
    """One file of the site."""

    name: str
    content: bytes


def write_site(board: Board, out: Path) -> int:
    """Write the site, remove pages of systems without runs, and return the number of files."""
    files = list(list_files(board))
    refuse_other_files(out, (INDEX, "board.json", *_FOLDERS))
    current = {out / file.name for file in files}
    for folder in _FOLDERS:
        for path in (out / folder).glob("*.*"):
            if path not in current:
                path.unlink()
    for file in files:
        replace_file(out / file.name, file.content)
    return len(files)


def list_files(board: Board) -> Iterator[SiteFile]:
    """Every page and every JSON file of a board."""
    yield from _make_pair(board, "", board.title, _render_index(board), board)
    names = (c.name for suite in board.suites for entry in suite.entries for c in entry.categories)
    for name in dict.fromkeys(names):
        scores = {
            suite.title: {
                entry.system: score
                for entry in suite.entries
                if (score := _find_category(entry, name)) is not None
            }
            for suite in board.suites
        }
        body = _render_category(board, name)
        yield from _make_pair(board, f"category/{name}", format_slug(name), body, scores)
    for system in board.list_systems():
        entries = {
            suite.title: [e for e in (*suite.entries, *suite.earlier) if e.system == system]
            for suite in board.suites
        }
        entries = {title: found for title, found in entries.items() if found}
        place = f"system/{name_file(system)}"
        yield from _make_pair(board, place, system, _render_system(entries), entries)


def name_file(system: str) -> str:
    """The file name of a system's page: letters, digits, and a digest if others were replaced."""
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in system.lower())
    if plain == system:
        return plain
    return f"{plain.strip('-')[:60] or 'system'}-{sha256(system.encode()).hexdigest()[:6]}"


def _make_pair(
    board: Board, place: str, title: str, body: Iterable[Markup], content: object
) -> Iterator[SiteFile]:
    """A page, and the JSON file with the same figures beside it; the index has no place."""
    is_index = not place
    page, data = f"{place}.html" if place else INDEX, f"{place or 'board'}.json"
    crumbs: Markup | str = (
        "Recall Bench" if is_index else make_element("a", board.title, href=f"../{INDEX}")
    )
    document = join_markup(
        make_element(
            "header",
            make_element("p", crumbs, class_="kicker"),
            make_element("h1", title, class_="untrusted-text"),
            class_="masthead",
        ),
        make_element("main", *body),
        make_element(
            "footer",
            make_element(
                "p",
                make_element("a", "These figures as JSON", href=Path(data).name),
            ),
        ),
    )
    head = title if is_index else f"{title} · {board.title}"
    pieces = render_document(head, document, first=Markup(""), rest=(), assets=_ASSETS)
    yield SiteFile(page, "".join(pieces).encode())
    encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
    yield SiteFile(data, encoded + b"\n")


def _find_category(entry: Entry, name: str) -> CategoryScore | None:
    return next((category for category in entry.categories if category.name == name), None)


def _render_table(
    heads: Sequence[Markup | str], rows: Iterable[Markup], *, class_: str = "board"
) -> Markup:
    cells = (make_element("th", head, scope="col") for head in heads)
    return make_element(
        "table",
        make_element("thead", make_element("tr", *cells)),
        make_element("tbody", *rows),
        class_=class_,
    )


def _render_row(
    cells: Iterable[Markup], figures: Mapping[str, str], class_: str | None = None
) -> Markup:
    others = (make_element("td", t, class_="figure", data_name=n) for n, t in figures.items())
    return make_element("tr", *cells, *others, class_=class_)


def _render_section(title: str, *content: Markup) -> Markup:
    return make_element("section", make_element("h2", title, class_="untrusted-text"), *content)


def _render_index(board: Board) -> tuple[Markup, ...]:
    head, *others = board.suites
    lead = (
        "The first table is measured on stories drawn from long random seeds: no model was "
        "trained on them."
        if head.is_fresh
        else "No entry was measured on freshly drawn stories yet, so a system may know the answers."
    )
    models = (
        "; verdicts of a model only from the replies that its authors published"
        if any(suite.is_model_judged for suite in board.suites)
        else ""
    )
    return (
        make_element(
            "p",
            f"{lead} Every run was verified: its journal, its questions, its verdicts and its "
            f"figures were derived again{models}.",
            class_="lead",
        ),
        _render_suite(head, others),
        *(_render_suite(suite, ()) for suite in others),
        _render_categories(head),
        _render_legend(),
    )


def _render_suite(suite: BoardSuite, others: Sequence[BoardSuite]) -> Markup:
    numbers = {name: group.number for group in suite.groups for name in group.systems}
    rows = []
    last = 0
    figures: dict[str, str] = {}
    for entry in suite.entries:
        number = numbers.get(entry.system)
        is_first = number is not None and number != last
        figures = {
            "of the way": NO_DATA if entry.bounds is None else format_way(entry.bounds),
            "invented": format_rate(entry.invented),
            "leaked": format_rate(entry.leaked),
            "answer time": format_seconds(entry.p50_s),
            "cost": _format_cost(entry),
        }
        for other in others:
            same = next((e for e in other.entries if e.system == entry.system), None)
            is_released = suite.data == other.data and other.is_released
            figures[AS_RELEASED if is_released else other.title] = (
                NO_DATA if same is None or same.score is None else _format_points(same.score)
            )
        group = make_element("td", str(number) if is_first else "", class_="group")
        track = _render_track(entry.score, entry.bounds, entry.judges)
        kind = "first" if is_first else "control" if number is None else None
        rows.append(_render_row((group, _render_name(entry, ""), track), figures, kind))
        last = number or last
    settings = ", ".join(
        f"{name} {words}" for name, words in suite.settings.items() if words not in ("", "none")
    )
    notes = [make_element("small", f"{settings}. Pairs tested: {suite.comparisons}.")]
    if (judges := suite.describe_judges()) is not None:
        notes.append(make_element("span", judges, class_="untrusted-text"))
    return _render_section(
        suite.title,
        _render_table(("Group", "System", "Score of 100", *figures), rows),
        *(make_element("p", note, class_="quiet") for note in notes),
    )


def _render_name(entry: Entry, root: str) -> Markup:
    return make_element(
        "th",
        make_element(
            "a",
            entry.system,
            href=f"{root}system/{name_file(entry.system)}.html",
            class_="untrusted-text",
        ),
        " ",
        make_element("small", entry.version, class_="quiet untrusted-text"),
        make_element("span", *_list_badges(entry.badges), class_="badges"),
        scope="row",
    )


def _list_badges(names: Iterable[str]) -> Iterator[Markup]:
    kinds = {VERIFIED: " good", SELF_REPORTED: " weak", MODEL_JUDGED: " weak"}
    for name in names:
        yield make_element("span", name, class_=f"badge{kinds.get(name, '')}")


def _render_track(
    score: Estimate | None, bounds: ScoreRange | None, judges: Sequence[JudgeMean] = ()
) -> Markup:
    """The score on a line from 0 to 100, with its interval, silence and the ceiling."""
    if score is None:
        return make_element("td", NO_DATA, class_="score")
    low, high = score.interval or (score.value, score.value)
    marks = {"band": (low, high - low), "dot": (score.value, None)}
    label = f"{_format_points(score)} of 100"
    for name, value in (
        ("silence", None if bounds is None else bounds.floor),
        ("ceiling", None if bounds is None else bounds.ceiling),
    ):
        if value is not None:
            marks = {name: (value, None), **marks}
            label += f", {name} {format_score(value)}"
    spans = []
    for name, (start, width) in marks.items():
        style = f"left:{format_number(100 * start / FULL_MARKS, 1)}%"
        if width is not None:
            style += f";width:{format_number(100 * width / FULL_MARKS, 1)}%"
        spans.append(make_element("span", class_=name, style=style))
    return make_element(
        "td",
        make_element("b", format_score(score.value), mark_doubt(bounds)),
        make_element("small", f" {_format_ends(score)} {_format_judges(judges)}", class_="quiet"),
        make_element("span", *spans, class_="track", role="img", aria_label=label),
        class_="score",
    )


def _format_points(score: Estimate) -> str:
    return f"{format_score(score.value)} {_format_ends(score)}".strip()


def _format_ends(score: Estimate) -> str:
    if score.interval is None:
        return ""
    return f"({'–'.join(map(format_score, score.interval))})"


def _format_judges(judges: Sequence[JudgeMean]) -> str:
    scores = format_judge_range(judges)
    return "" if scores is None else f"{scores} over {len(judges)} judges"


def _format_cost(entry: Entry) -> str:
    usage = entry.usage
    if usage.cost_usd:
        return f"${format_number(usage.cost_usd, 2)}"
    return "free" if not usage.input_tokens else f"{usage.input_tokens:,} tokens"


def _render_categories(suite: BoardSuite) -> Markup:
    """A row for each system, a column for each category, which links to its page."""
    names = list(
        dict.fromkeys(category.name for entry in suite.entries for category in entry.categories)
    )
    links = (make_element("a", format_slug(n), href=f"category/{n}.html") for n in names)
    rows = []
    for entry in suite.entries:
        cells = []
        for name in names:
            category = _find_category(entry, name)
            if category is None or category.score is None:
                cells.append(make_element("td", NO_DATA, class_="missing"))
                continue
            step = round(SCORE_STEPS * category.score.value / FULL_MARKS)
            shown = f"{format_score(category.score.value)}{mark_doubt(category.bounds)}"
            cells.append(make_element("td", shown, class_=f"s{step}"))
        head = make_element("th", entry.system, scope="row", class_="untrusted-text")
        rows.append(make_element("tr", head, *cells))
    return _render_section(
        "By category",
        make_element("p", f"Points of 100 in {suite.title}.", class_="quiet untrusted-text"),
        make_element(
            "div",
            _render_table(("", *links), rows, class_="grid"),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Scores by category",
        ),
    )


def _render_legend() -> Markup:
    notes = (GROUP_NOTE, JUDGES_NOTE, WAY_NOTE, INVENTION_NOTE, DOUBT_NOTE)
    return _render_section(
        "How to read this",
        make_element(
            "p",
            "The bar of a score goes from 0 to 100: the band is its 95 % interval, the grey mark "
            "is silence, the green one the ceiling.",
        ),
        *(make_element("p", f"{note[0].upper()}{note[1:]}.") for note in notes),
        _render_facts(zip(_list_badges(BADGES), BADGES.values(), strict=True)),
    )


def _render_facts(facts: Iterable[tuple[Markup | str, str]]) -> Markup:
    pairs = (
        join_markup(make_element("dt", name), make_element("dd", text, class_="untrusted-text"))
        for name, text in facts
    )
    return make_element("dl", *pairs)


def _render_category(board: Board, name: str) -> Iterator[Markup]:
    yield make_element(
        "p",
        "Sorted by score; a category has too few questions to separate neighbours, so there are "
        "no groups here.",
        class_="quiet",
    )
    for suite in board.suites:
        pairs = ((entry, _find_category(entry, name)) for entry in suite.entries)
        scored = [(e, c, c.score) for e, c in pairs if c is not None and c.score is not None]
        rows = [
            _render_row(
                (_render_name(entry, "../"), _render_track(score, found.bounds)),
                {
                    "of the way": NO_DATA if found.bounds is None else format_way(found.bounds),
                    "questions": f"{score.questions:,}",
                },
            )
            for entry, found, score in sorted(scored, key=lambda each: -each[2].value)
        ]
        if rows:
            heads = ("System", "Score of 100", "of the way", "questions")
            yield _render_section(suite.title, _render_table(heads, rows))


def _render_system(entries: Mapping[str, Sequence[Entry]]) -> Iterator[Markup]:
    submission = next(iter(entries.values()))[0].submission
    for text in (submission.url, submission.install, submission.note):
        if text:
            yield make_element("p", text, class_="untrusted-text")
    for title, of_suite in entries.items():
        for number, entry in enumerate(of_suite):
            yield _render_section(title, *_render_entry(entry, is_newest=number == 0))


def _render_entry(entry: Entry, *, is_newest: bool) -> Iterator[Markup]:
    yield make_element(
        "p",
        *_list_badges(entry.badges),
        "" if is_newest else " an earlier entry",
        class_="badges",
    )
    facts = {
        "Version": entry.version,
        "Finished": f"{entry.ended:%Y-%m-%d}",
        "Bundle": entry.source,
        "Score": "no data" if entry.score is None else f"{_format_points(entry.score)} of 100",
        "Questions": f"{entry.trials:,} asked, {entry.failed:,} failed",
        "Answer": NO_DATA
        if entry.p50_s is None or entry.p95_s is None
        else f"{format_seconds(entry.p50_s)} (median), {format_seconds(entry.p95_s)} (95 %), "
        "as timed by the submitter",
        "Ingestion": format_duration(entry.ingest_s),
    }
    if entry.judges:
        names = ", ".join(judge.judge for judge in entry.judges)
        facts["Judges"] = f"{_format_judges(entry.judges)} ({names})"
    if entry.seed is not None:
        facts["Seed"] = entry.seed
    yield _render_facts(facts.items())
    yield make_element("h3", "Repeat it")
    yield make_element("pre", make_element("code", entry.command), class_="untrusted-text")
    yield make_element("h3", "What was verified")
    checks = (
        make_element(
            "tr",
            make_element("th", check.part, scope="row"),
            make_element("td", check.state),
            make_element("td", check.detail, class_="untrusted-text"),
        )
        for check in entry.checks
    )
    yield make_element("table", make_element("tbody", *checks), class_="checks")
