"""The pages of a leaderboard: static files without scripts, and the same figures as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.output_folder import refuse_other_files
from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.verdict import FULL_MARKS
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
from recall_bench.reporting.leaderboard.board import (
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
from recall_bench.reporting.pages.document import (
    SCORE_STEPS,
    PageAssets,
    list_page_assets,
    render_document,
)
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element
from recall_bench.runs.score_ranges import ScoreRange

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
    yield _make_page(INDEX, board.title, _render_index(board))
    yield _make_json("board.json", board)
    for name in _list_categories(board):
        yield _make_page(
            f"category/{name}.html",
            f"{format_slug(name)} · {board.title}",
            _render_category(board, name),
        )
        yield _make_json(f"category/{name}.json", _collect_category(board, name))
    for system in board.list_systems():
        slug = name_file(system)
        yield _make_page(
            f"system/{slug}.html", f"{system} · {board.title}", _render_system(board, system)
        )
        yield _make_json(f"system/{slug}.json", _collect_system(board, system))


def name_file(system: str) -> str:
    """The file name of a system's page: letters, digits, and a digest if others were replaced."""
    from hashlib import sha256

    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in system.lower())
    if plain == system:
        return plain
    return f"{plain.strip('-')[:60] or 'system'}-{sha256(system.encode()).hexdigest()[:6]}"


def _make_page(name: str, title: str, body: Markup) -> SiteFile:
    pieces = render_document(title, body, first=Markup(""), rest=(), assets=_ASSETS)
    return SiteFile(name, "".join(pieces).encode())


def _make_json(name: str, content: object) -> SiteFile:
    return SiteFile(name, msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")


def _list_categories(board: Board) -> list[str]:
    names = (
        category.name
        for suite in board.suites
        for entry in suite.entries
        for category in entry.categories
    )
    return list(dict.fromkeys(names))


def _find_category(entry: Entry, name: str) -> CategoryScore | None:
    return next((each for each in entry.categories if each.name == name), None)


def _collect_category(board: Board, name: str) -> dict[str, dict[str, CategoryScore]]:
    return {
        suite.title: {
            entry.system: found
            for entry in suite.entries
            if (found := _find_category(entry, name)) is not None
        }
        for suite in board.suites
    }


def _collect_system(board: Board, system: str) -> dict[str, list[Entry]]:
    found = {
        suite.title: [e for e in (*suite.entries, *suite.earlier) if e.system == system]
        for suite in board.suites
    }
    return {title: entries for title, entries in found.items() if entries}


def _render_index(board: Board) -> Markup:
    head, *others = board.suites
    lead = (
        "The first table is measured on stories drawn from long random seeds: no model was "
        "trained on them."
        if head.is_fresh
        else "No entry was measured on freshly drawn stories yet, so a system may know the answers."
    )
    return _render_frame(
        board.title,
        make_element(
            "p",
            f"{lead} Every run was verified: its journal, its questions, its verdicts and its "
            f"figures were derived again{_note_models(board)}.",
            class_="lead",
        ),
        _render_suite(head, others, root=""),
        *(_render_suite(suite, (), root="") for suite in others),
        _render_category_grid(head, root=""),
        _render_legend(),
        link="board.json",
    )


def _note_models(board: Board) -> str:
    if not any(suite.is_model_judged for suite in board.suites):
        return ""
    return "; verdicts of a model only from the replies that its authors published"


def _render_frame(title: str, *content: Markup, link: str, crumbs: Sequence[Markup] = ()) -> Markup:
    return join_markup(
        make_element(
            "header",
            make_element("p", *(crumbs or ("Recall Bench",)), class_="kicker"),
            make_element("h1", title, class_="untrusted-text"),
            class_="masthead",
        ),
        make_element("main", *content),
        make_element(
            "footer",
            make_element("p", make_element("a", "These figures as JSON", href=link)),
        ),
    )


def _render_suite(suite: BoardSuite, others: Sequence[BoardSuite], *, root: str) -> Markup:
    numbers = {name: group.number for group in suite.groups for name in group.systems}
    columns = [
        "Group",
        "System",
        "Score of 100",
        "of the way",
        "invented",
        "leaked",
        "answer time",
        "cost",
    ]
    columns += [_shorten_title(suite, other) for other in others]
    rows = []
    last = 0
    for entry in suite.entries:
        number = numbers.get(entry.system)
        is_first = number is not None and number != last
        cells = [
            make_element("td", str(number) if is_first else "", class_="group"),
            _render_name(entry, root),
            _render_track(entry.score, entry.bounds, entry.judges),
            _render_figure(columns[3], "–" if entry.bounds is None else format_way(entry.bounds)),
            _render_figure(columns[4], format_rate(entry.invented)),
            _render_figure(columns[5], format_rate(entry.leaked)),
            _render_figure(columns[6], format_seconds(entry.p50_s)),
            _render_figure(columns[7], _format_cost(entry)),
        ]
        for other in others:
            same = next((e for e in other.entries if e.system == entry.system), None)
            shown = NO_DATA if same is None or same.score is None else _format_points(same.score)
            cells.append(_render_figure(_shorten_title(suite, other), shown))
        kind = "first" if is_first else "control" if number is None else None
        rows.append(make_element("tr", *cells, class_=kind))
        last = number or last
    head = make_element("tr", *(make_element("th", name, scope="col") for name in columns))
    table = make_element(
        "table", make_element("thead", head), make_element("tbody", *rows), class_="board"
    )
    return make_element(
        "section",
        make_element("h2", suite.title, class_="untrusted-text"),
        table,
        make_element("p", make_element("small", _describe_settings(suite)), class_="quiet"),
        *_render_judge_note(suite),
    )


def _render_judge_note(suite: BoardSuite) -> Iterator[Markup]:
    """Whether the groups depend on the judge."""
    if (said := suite.describe_judges()) is not None:
        yield make_element("p", said, class_="quiet untrusted-text")


def _shorten_title(suite: BoardSuite, other: BoardSuite) -> str:
    """The title of another suite in the table of this one."""
    is_same = suite.data == other.data and other.is_released
    return AS_RELEASED if is_same else other.title


def _describe_settings(suite: BoardSuite) -> str:
    words = ", ".join(
        f"{name} {words}" for name, words in suite.settings.items() if words not in ("", "none")
    )
    return f"{words}. Pairs tested: {suite.comparisons}."


def _render_name(entry: Entry, root: str) -> Markup:
    href = f"{root}system/{name_file(entry.system)}.html"
    badges = (make_element("span", name, class_=_style_badge(name)) for name in entry.badges)
    return make_element(
        "th",
        make_element("a", entry.system, href=href, class_="untrusted-text"),
        " ",
        make_element("small", entry.version, class_="quiet untrusted-text"),
        make_element("span", *badges, class_="badges"),
        scope="row",
    )


def _style_badge(name: str) -> str:
    kind = {VERIFIED: " good", SELF_REPORTED: " weak", MODEL_JUDGED: " weak"}.get(name, "")
    return f"badge{kind}"


def _render_figure(name: str, text: str) -> Markup:
    return make_element("td", text, class_="figure", data_name=name)


def _render_track(
    score: Estimate | None, bounds: ScoreRange | None, judges: Sequence[JudgeMean] = ()
) -> Markup:
    """The score on a line from 0 to 100, with its interval, silence and the ceiling."""
    if score is None:
        return make_element("td", NO_DATA, class_="score")
    low = score.value if score.low is None else score.low
    high = score.value if score.high is None else score.high
    marks = [
        _place("band", low, high),
        _place("dot", score.value),
    ]
    label = f"{_format_points(score)} of 100"
    if bounds is not None:
        marks.insert(0, _place("silence", bounds.floor))
        label += f", silence {format_score(bounds.floor)}"
        if bounds.ceiling is not None:
            marks.insert(0, _place("ceiling", bounds.ceiling))
            label += f", ceiling {format_score(bounds.ceiling)}"
    return make_element(
        "td",
        make_element("b", format_score(score.value), mark_doubt(bounds)),
        make_element("small", f" {_format_ends(score)}{_format_judges(judges)}", class_="quiet"),
        make_element("span", *marks, class_="track", role="img", aria_label=label),
        class_="score",
    )


def _place(name: str, low: float, high: float | None = None) -> Markup:
    style = f"left:{format_number(100 * low / FULL_MARKS, 1)}%"
    if high is not None:
        style += f";width:{format_number(100 * (high - low) / FULL_MARKS, 1)}%"
    return make_element("span", class_=name, style=style)


def _format_points(score: Estimate) -> str:
    return f"{format_score(score.value)} {_format_ends(score)}".strip()


def _format_ends(score: Estimate) -> str:
    if score.low is None or score.high is None:
        return ""
    return f"({format_score(score.low)}–{format_score(score.high)})"


def _format_judges(judges: Sequence[JudgeMean]) -> str:
    found = format_judge_range(judges)
    return "" if found is None else f" {found} over {len(judges)} judges"


def _format_cost(entry: Entry) -> str:
    usage = entry.usage
    if usage.cost_usd:
        return f"${format_number(usage.cost_usd, 2)}"
    return "free" if not usage.input_tokens else f"{usage.input_tokens:,} tokens"


def _render_category_grid(suite: BoardSuite, *, root: str) -> Markup:
    names = list(dict.fromkeys(each.name for entry in suite.entries for each in entry.categories))
    head = [make_element("th", "", scope="col")]
    head += [
        make_element(
            "th",
            make_element("a", format_slug(name), href=f"{root}category/{name}.html"),
            scope="col",
        )
        for name in names
    ]
    rows = []
    for entry in suite.entries:
        cells = [make_element("th", entry.system, scope="row", class_="untrusted-text")]
        for name in names:
            found = _find_category(entry, name)
            cells.append(_render_cell(found))
        rows.append(make_element("tr", *cells))
    table = make_element(
        "table",
        make_element("thead", make_element("tr", *head)),
        make_element("tbody", *rows),
        class_="grid",
    )
    return make_element(
        "section",
        make_element("h2", "By category"),
        make_element("p", f"Points of 100 in {suite.title}.", class_="quiet untrusted-text"),
        make_element(
            "div",
            table,
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Scores by category",
        ),
    )


def _render_cell(found: CategoryScore | None) -> Markup:
    if found is None or found.score is None:
        return make_element("td", NO_DATA, class_="missing")
    step = round(SCORE_STEPS * found.score.value / FULL_MARKS)
    shown = f"{format_score(found.score.value)}{mark_doubt(found.bounds)}"
    return make_element("td", shown, class_=f"s{step}")


def _render_legend() -> Markup:
    notes = (GROUP_NOTE, JUDGES_NOTE, WAY_NOTE, INVENTION_NOTE, DOUBT_NOTE)
    return make_element(
        "section",
        make_element("h2", "How to read this"),
        make_element(
            "p",
            "The bar of a score goes from 0 to 100: the band is its 95 % interval, the grey mark "
            "is silence, the green one the ceiling.",
        ),
        *(make_element("p", f"{note[0].upper()}{note[1:]}.") for note in notes),
        make_element(
            "dl",
            *(
                join_markup(
                    make_element("dt", make_element("span", name, class_=_style_badge(name))),
                    make_element("dd", text),
                )
                for name, text in BADGES.items()
            ),
        ),
    )


def _make_crumbs(title: str) -> tuple[Markup]:
    return (make_element("a", title, href=f"../{INDEX}"),)


def _render_category(board: Board, name: str) -> Markup:
    sections = []
    for suite in board.suites:
        found = [(entry, _find_category(entry, name)) for entry in suite.entries]
        known = [(entry, each) for entry, each in found if each is not None and each.score]
        if not known:
            continue
        known.sort(key=lambda pair: -(pair[1].score.value if pair[1].score else 0))
        rows = (
            make_element(
                "tr",
                _render_name(entry, "../"),
                _render_track(each.score, each.bounds),
                _render_figure(
                    "of the way", "–" if each.bounds is None else format_way(each.bounds)
                ),
                _render_figure("questions", f"{each.score.questions if each.score else 0:,}"),
            )
            for entry, each in known
        )
        head = ("System", "Score of 100", "of the way", "questions")
        sections.append(
            make_element(
                "section",
                make_element("h2", suite.title, class_="untrusted-text"),
                make_element(
                    "table",
                    make_element(
                        "thead",
                        make_element(
                            "tr", *(make_element("th", each, scope="col") for each in head)
                        ),
                    ),
                    make_element("tbody", *rows),
                    class_="board",
                ),
            )
        )
    note = make_element(
        "p",
        "Sorted by score; a category has too few questions to separate neighbours, so there are "
        "no groups here.",
        class_="quiet",
    )
    return _render_frame(
        format_slug(name),
        note,
        *sections,
        link=f"{name}.json",
        crumbs=_make_crumbs(board.title),
    )


def _render_system(board: Board, system: str) -> Markup:
    sections = []
    submission = None
    for suite in board.suites:
        entries = [e for e in (*suite.entries, *suite.earlier) if e.system == system]
        for number, entry in enumerate(entries):
            submission = submission or entry.submission
            sections.append(_render_entry(suite, entry, is_newest=number == 0))
    stated = () if submission is None else (submission.url, submission.install, submission.note)
    lines = [make_element("p", text, class_="untrusted-text") for text in stated if text]
    return _render_frame(
        system,
        *lines,
        *sections,
        link=f"{name_file(system)}.json",
        crumbs=_make_crumbs(board.title),
    )


def _render_entry(suite: BoardSuite, entry: Entry, *, is_newest: bool) -> Markup:
    facts = {
        "Version": entry.version,
        "Finished": f"{entry.ended:%Y-%m-%d}",
        "Bundle": entry.source,
        "Score": "no data" if entry.score is None else f"{_format_points(entry.score)} of 100",
        "Questions": f"{entry.trials:,} asked, {entry.failed:,} failed",
        "Answer": _describe_latency(entry),
        "Ingestion": format_duration(entry.ingest_s),
    }
    if entry.judges:
        facts["Judges"] = (
            f"{_format_judges(entry.judges).strip()} "
            f"({', '.join(each.judge for each in entry.judges)})"
        )
    if entry.seed is not None:
        facts["Seed"] = entry.seed
    checks = (
        make_element(
            "tr",
            make_element("th", check.part, scope="row"),
            make_element("td", check.state),
            make_element("td", check.detail, class_="untrusted-text"),
        )
        for check in entry.checks
    )
    return make_element(
        "section",
        make_element("h2", suite.title, class_="untrusted-text"),
        make_element(
            "p",
            *(make_element("span", name, class_=_style_badge(name)) for name in entry.badges),
            "" if is_newest else " an earlier entry",
            class_="badges",
        ),
        make_element(
            "dl",
            *(
                join_markup(
                    make_element("dt", name), make_element("dd", text, class_="untrusted-text")
                )
                for name, text in facts.items()
            ),
        ),
        make_element("h3", "Repeat it"),
        make_element("pre", make_element("code", entry.command), class_="untrusted-text"),
        make_element("h3", "What was verified"),
        make_element("table", make_element("tbody", *checks), class_="checks"),
    )


def _describe_latency(entry: Entry) -> str:
    if entry.p50_s is None or entry.p95_s is None:
        return NO_DATA
    return (
        f"{format_seconds(entry.p50_s)} (median), {format_seconds(entry.p95_s)} (95 %), "
        "as timed by the submitter"
    )
