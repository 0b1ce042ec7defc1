"""The pages of a leaderboard: static files without scripts, and the same figures as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.folders import refuse_other_files
from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.features.archive.leaderboard.board import (
    AS_RELEASED,
    BADGES,
    MODEL_JUDGED,
    SELF_REPORTED,
    VERIFIED,
    Board,
    BoardSuite,
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
from recall_bench.reporting.judge_scores import format_judge_range
from recall_bench.reporting.pages.document import (
    SCORE_STEPS,
    PageAssets,
    list_page_assets,
    render_document,
)
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element

INDEX: Final = "index.html"
_ASSETS = PageAssets(styles=(*list_page_assets("base"), (__package__, "leaderboard")), scripts=())
_NOTES = (
    (
        "Systems in one group do not differ significantly from the best of that group: a paired "
        "test of every question, p-values adjusted over all pairs of the table (Holm), 5 %"
    ),
    (
        "where a run has several judges, the first gives the score, and the range over all of "
        "them stands beside it; the verdicts of the first are derived again, those of the others "
        "are the word of its authors"
    ),
    WAY_NOTE,
    INVENTION_NOTE,
    DOUBT_NOTE,
)


def write_site(board: Board, out: Path) -> int:
    """Write the site, remove pages of systems without runs, and return the number of files."""
    files = dict(list_files(board))
    refuse_other_files(out, (INDEX, "board.json", "system"))
    for path in (out / "system").glob("*.*"):
        if path.relative_to(out).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        replace_file(out / name, content)
    return len(files)


def list_files(board: Board) -> Iterator[tuple[str, bytes]]:
    """Every page and every JSON file of a board, by name."""
    yield INDEX, _render_page(board.title, board.title, "Recall Bench", _render_index(board))
    yield "board.json", _encode(board)
    for system in board.list_systems():
        entries = {
            suite.title: own
            for suite in board.suites
            if (own := [e for e in (*suite.entries, *suite.earlier) if e.system == system])
        }
        name = f"system/{name_file(system)}"
        crumbs = make_element("a", board.title, href=f"../{INDEX}")
        head = f"{system} · {board.title}"
        yield f"{name}.html", _render_page(head, system, crumbs, _render_system(entries), name)
        yield f"{name}.json", _encode(entries)


def name_file(system: str) -> str:
    """The file name of a system's page: letters, digits, and a digest if others were replaced."""
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in system.lower())
    if plain == system:
        return plain
    return f"{plain.strip('-')[:60] or 'system'}-{sha256(system.encode()).hexdigest()[:6]}"


def _encode(content: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def _render_page(
    head: str, title: str, crumbs: str, body: Iterable[Markup], name: str = "board"
) -> bytes:
    """A page, with a link to the JSON file of its figures, which stands beside it."""
    data = make_element("a", "These figures as JSON", href=f"{Path(name).name}.json")
    document = join_markup(
        make_element(
            "header",
            make_element("p", crumbs, class_="kicker"),
            _render_text("h1", title),
            class_="masthead",
        ),
        make_element("main", *body),
        make_element("footer", make_element("p", data)),
    )
    pieces = render_document(head, document, first=Markup(""), rest=(), assets=_ASSETS)
    return "".join(pieces).encode()


def _render_text(element: str, text: str) -> Markup:
    """Text of strangers."""
    return make_element(element, text, class_="untrusted-text")


def _render_table(heads: Iterable[str], rows: Iterable[Markup], class_: str) -> Markup:
    cells = (make_element("th", head, scope="col") for head in heads)
    head = make_element("thead", make_element("tr", *cells))
    return make_element("table", head, make_element("tbody", *rows), class_=class_)


def _render_section(title: str, *content: Markup) -> Markup:
    return make_element("section", _render_text("h2", title), *content)


def _render_facts(facts: Iterable[tuple[str, str]]) -> Markup:
    pairs = (make_element("dt", name) + _render_text("dd", text) for name, text in facts)
    return make_element("dl", *map(Markup, pairs))


def _render_index(board: Board) -> Iterator[Markup]:
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
    yield make_element(
        "p",
        f"{lead} Every run was verified: its journal, its questions, its verdicts and its "
        f"figures were derived again{models}.",
        class_="lead",
    )
    yield _render_suite(head, others)
    for suite in others:
        yield _render_suite(suite, ())
    yield _render_categories(head)
    yield _render_section(
        "How to read this",
        make_element(
            "p",
            "The bar of a score goes from 0 to 100: the band is its 95 % interval, the grey mark "
            "is silence, the green one the ceiling.",
        ),
        *(make_element("p", f"{note[0].upper()}{note[1:]}.") for note in _NOTES),
        _render_facts(zip(_list_badges(BADGES), BADGES.values(), strict=True)),
    )


def _render_suite(suite: BoardSuite, others: Sequence[BoardSuite]) -> Markup:
    numbers = {name: number for number, group in enumerate(suite.groups, start=1) for name in group}
    rows = []
    last = 0
    figures: dict[str, str] = {}
    for entry in suite.entries:
        number = numbers.get(entry.system)
        is_first = number is not None and number != last
        last = number or last
        usage = entry.usage
        tokens = f"{usage.input_tokens:,} tokens" if usage.input_tokens else "free"
        figures = {
            "of the way": NO_DATA if entry.bounds is None else format_way(entry.bounds),
            "invented": format_rate(entry.invented),
            "leaked": format_rate(entry.leaked),
            "answer time": format_seconds(entry.p50_s),
            "cost": f"${format_number(usage.cost_usd, 2)}" if usage.cost_usd else tokens,
        }
        for other in others:
            same = next((e for e in other.entries if e.system == entry.system), None)
            is_released = suite.data == other.data and other.is_released
            figures[AS_RELEASED if is_released else other.title] = (
                NO_DATA if same is None or same.score is None else _format_points(same.score)
            )
        link = make_element(
            "a",
            entry.system,
            href=f"system/{name_file(entry.system)}.html",
            class_="untrusted-text",
        )
        version = make_element("small", entry.version, class_="quiet untrusted-text")
        badges = make_element("span", *_list_badges(entry.badges), class_="badges")
        cells = (
            make_element("td", str(number) if is_first else "", class_="group"),
            make_element("th", link, " ", version, badges, scope="row"),
            _render_track(entry),
            *(make_element("td", t, class_="figure", data_name=n) for n, t in figures.items()),
        )
        kind = "first" if is_first else "control" if number is None else None
        rows.append(make_element("tr", *cells, class_=kind))
    settings = ", ".join(
        f"{name} {words}" for name, words in suite.settings.items() if words not in ("", "none")
    )
    notes = [make_element("small", f"{settings}. Pairs tested: {suite.comparisons}.")]
    if (judges := suite.describe_judges()) is not None:
        notes.append(_render_text("span", judges))
    return _render_section(
        suite.title,
        _render_table(("Group", "System", "Score of 100", *figures), rows, "board"),
        *(make_element("p", note, class_="quiet") for note in notes),
    )


def _list_badges(names: Iterable[str]) -> Iterator[Markup]:
    kinds = {VERIFIED: " good", SELF_REPORTED: " weak", MODEL_JUDGED: " weak"}
    for name in names:
        yield make_element("span", name, class_=f"badge{kinds.get(name, '')}")


def _render_track(entry: Entry) -> Markup:
    """The score on a line from 0 to 100, with its interval, silence and the ceiling."""
    score, bounds = entry.score, entry.bounds
    if score is None:
        return make_element("td", NO_DATA, class_="score")
    low, high = score.interval or (score.value, score.value)
    marks = [("band", low, high - low), ("dot", score.value, None)]
    label = f"{_format_points(score)} of 100"
    for name in ("floor", "ceiling"):
        if bounds is not None and (value := getattr(bounds, name)) is not None:
            word = "silence" if name == "floor" else name
            marks.insert(0, (word, value, None))
            label += f", {word} {format_score(value)}"
    spans = []
    for name, start, width in marks:
        style = f"left:{format_number(100 * start / FULL_MARKS, 1)}%"
        if width is not None:
            style += f";width:{format_number(100 * width / FULL_MARKS, 1)}%"
        spans.append(make_element("span", class_=name, style=style))
    ends = _format_points(score).removeprefix(format_score(score.value))
    return make_element(
        "td",
        make_element("b", format_score(score.value), mark_doubt(bounds)),
        make_element("small", f"{ends} {_format_judges(entry)}", class_="quiet"),
        make_element("span", *spans, class_="track", role="img", aria_label=label),
        class_="score",
    )


def _format_points(score: Estimate) -> str:
    value = format_score(score.value)
    return (
        value
        if score.interval is None
        else f"{value} ({'–'.join(map(format_score, score.interval))})"
    )


def _format_judges(entry: Entry) -> str:
    scores = format_judge_range(entry.judges)
    return "" if scores is None else f"{scores} over {len(entry.judges)} judges"


def _render_categories(suite: BoardSuite) -> Markup:
    """A row for each system, a column for each category."""
    names = list(
        dict.fromkeys(category.name for entry in suite.entries for category in entry.categories)
    )
    rows = []
    for entry in suite.entries:
        categories = {category.name: category for category in entry.categories}
        cells = []
        for name in names:
            category = categories.get(name)
            if category is None or category.score is None:
                cells.append(make_element("td", NO_DATA, class_="missing"))
                continue
            step = round(SCORE_STEPS * category.score.value / FULL_MARKS)
            points = f"{format_score(category.score.value)}{mark_doubt(category.bounds)}"
            cells.append(make_element("td", points, class_=f"s{step}"))
        system = make_element("th", entry.system, scope="row", class_="untrusted-text")
        rows.append(make_element("tr", system, *cells))
    table = _render_table(("", *map(format_slug, names)), rows, "grid")
    return _render_section(
        "By category",
        make_element(
            "p",
            f"Points of 100 in {suite.title}. A category has too few questions to separate "
            "neighbours, so there are no groups here.",
            class_="quiet untrusted-text",
        ),
        make_element(
            "div",
            table,
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Scores by category",
        ),
    )


def _render_system(entries: Mapping[str, Sequence[Entry]]) -> Iterator[Markup]:
    submission = next(iter(entries.values()))[0].submission
    for text in (submission.url, submission.install, submission.note):
        if text:
            yield _render_text("p", text)
    for title, own in entries.items():
        for entry in own:
            note = "" if entry is own[0] else " an earlier entry"
            badges = make_element("p", *_list_badges(entry.badges), note, class_="badges")
            yield _render_section(title, badges, *_render_entry(entry))


def _render_entry(entry: Entry) -> Iterator[Markup]:
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
        facts["Judges"] = f"{_format_judges(entry)} ({names})"
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
            _render_text("td", check.detail),
        )
        for check in entry.checks
    )
    yield make_element("table", make_element("tbody", *checks), class_="checks")
