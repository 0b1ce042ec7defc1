"""The Markdown page of an evaluation, and the numbered folder it is written to."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import (
    Table,
    format_quantity,
    make_table,
    render_markdown,
    render_text,
    wrap_text,
)
from recall_bench.features.datasets.eval_groups import ALL, EvalEstimate, EvalGroup
from recall_bench.features.datasets.eval_report import BM25_CONTROL, ControlReport, EvalReport
from recall_bench.features.datasets.question_scores import EVIDENCE_TEXT
from recall_bench.judging.methodologies import find_methodology
from recall_bench.metrics.bootstrap import ENOUGH_PERSONAS
from recall_bench.reporting.formats import format_card, format_number, format_seconds
from recall_bench.reporting.judge_text import describe_range

_LONGEST = "longest option"
_DASH = "–"
_RANKED = ("hit", "recall", "recall_all", "precision", "ndcg", "ndcg_lme")
_RANKING = re.compile(r"(session|turn) (\w+)@(\d+)(tok)?")
_LAYERED = re.compile(r"(snippet_r|document_r)@(\d+)")
_BLIND_NOTE = "In brackets: what a blind draw or a guess gets on the same questions."
_FILES = 20
"""As many files as a page names."""
_Row = list[str]


def render_page(report: EvalReport) -> str:
    """The report as a page."""
    return "\n\n".join(part for part in _EvalPage(report).render_parts() if part) + "\n"


def render_summary(report: EvalReport) -> str:
    """The figures that come first, all together and by category, as text for a terminal."""
    return "\n".join(_EvalPage(report).render_summary())


class _EvalPage:
    def __init__(self, report: EvalReport) -> None:
        self._report = report
        self._figures = _find_figures(report.groups, ALL)
        self._controls = [control for control in report.controls if control.groups]

    def render_parts(self) -> Iterator[str]:
        """Every paragraph and table, in order."""
        yield from self._render_title()
        yield self._render_headline()
        yield self._render_legend()
        yield self._warn_below_chance()
        for level in ("turn", "session"):
            yield from self._render_ranking(level)
        yield from self._render_layers()
        yield from self._render_answers()
        yield from self._render_abstentions()
        yield from self._render_categories()
        yield from self._render_protocol()
        yield from self._render_run()

    def render_summary(self) -> Iterator[str]:
        """The title, the first figures and those by category, in columns."""
        for text in self._render_title():
            yield from wrap_text(_strip_marks(text))
        yield ""
        yield from _render_columns(self._tabulate_headline())
        for text in (self._render_legend(), self._warn_below_chance()):
            yield from wrap_text(_strip_marks(text))
        categories = self._tabulate_categories()
        if categories.rows:
            yield ""
            yield from _render_columns(categories)
            yield from wrap_text(_BLIND_NOTE)

    def _render_title(self) -> Iterator[str]:
        report, counts = self._report, self._report.counts
        yield f"# {report.title}: {format_card(report.system)}"
        unjudged = f", {counts.unjudged:,} without a verdict" if counts.unjudged else ""
        yield (
            f"Protocol **{report.protocol.name}**, version `{report.protocol.eval_version}`"
            f"{_describe_layers(report, ', gold corrected by ')}. "
            f"{counts.owed:,} questions about "
            f"{format_quantity(report.scenarios, 'history', 'histories')}: "
            f"{counts.answered:,} answered, {counts.failed:,} failed{unjudged}."
        )
        if report.validity != "valid":
            yield f"**These figures are {report.validity}: {report.reason}.**"
        if report.judges is not None:
            yield f"Judges: {describe_range(report.judges)}."
        if summaries := _describe_summaries(report):
            yield f"Of the passages, {summaries}: the retrieval figures are of the rest."

    def _list_headline(self) -> list[str]:
        return [name for name in self._report.headline if name in self._figures]

    def _render_headline(self) -> str:
        table = self._tabulate_headline()
        return render_markdown(table, has_markup=True) if table.rows else ""

    def _tabulate_headline(self) -> Table:
        """The figures that come first, each between its floors and its ceiling."""
        names = self._list_headline()
        head = ["", "questions", self._report.system.name, "95 % interval", "random"]
        head += [_LONGEST, *(control.name for control in self._controls), "best possible"]
        rows = []
        for name in names:
            figure = self._figures[name]
            floors = [self._format_floor(control, name) for control in self._controls]
            rows.append(
                [
                    name,
                    f"{figure.counted:,}",
                    f"**{_format_number(figure.mean)}**",
                    _DASH
                    if figure.interval is None
                    else " to ".join(format_number(end, 3) for end in figure.interval),
                    _format_number(figure.chance),
                    _format_number(self._find_longest(name)),
                    *floors,
                    _format_number(figure.ceiling),
                ]
            )
        return make_table(*_drop_blank_columns(head, rows))

    def _find_longest(self, name: str) -> float | None:
        """What naming the longest option gets, beside figures of letters."""
        methodology = find_methodology(*self._report.protocol.name.split("/", 1))
        return self._report.longest_option if name in methodology.answers else None

    def _render_legend(self) -> str:
        """What the columns beside the system are, as far as there are any."""
        meanings = {"random": f"{self._describe_draw()} drawn blindly, computed and not run"}
        meanings[_LONGEST] = "naming the longest option, unread"
        meanings |= {control.name: control.about for control in self._controls}
        meanings["best possible"] = "the gold in the first places"
        head = self._render_headline().partition("\n")[0]
        units = "questions" if self._report.scenarios < ENOUGH_PERSONAS else "histories"
        meanings["95 % interval"] = f"{units} resampled"
        return " ".join(
            f"*{name}*: {text}." for name, text in meanings.items() if f" {name} |" in head
        )

    def _describe_draw(self) -> str:
        """What chance draws: turns; letters; sessions, where each has one place."""
        methodology = find_methodology(*self._report.protocol.name.split("/", 1))
        if self._report.longest_option is not None:
            return "an option, or as many turns," if methodology.rankings else "an option"
        is_distinct = any(ranking.is_distinct for ranking in methodology.rankings)
        return "as many sessions or turns" if is_distinct else "as many turns"

    def _warn_below_chance(self) -> str:
        """A warning about figures that a random draw beats: they do not measure a search."""
        figures = [self._figures[name] for name in self._list_headline()]
        beaten = [
            figure.name
            for figure in figures
            if figure.chance is not None and figure.chance > figure.mean
        ]
        longer = [
            figure.name
            for figure in figures
            if (floor := self._find_longest(figure.name)) is not None and floor >= figure.mean
        ]
        if beaten:
            return f"**A blind draw does better at {', '.join(beaten)}: quote other figures here.**"
        if longer:
            return (
                f"**Naming the longest option does as well or better at {', '.join(longer)}: the "
                "figure says nothing of a memory.**"
            )
        return ""

    @staticmethod
    def _format_floor(control: ControlReport, name: str) -> str:
        """`none` returns nothing and `oracle` only the gold: neither measures a search."""
        if control.name != BM25_CONTROL and _RANKING.fullmatch(name):
            return _DASH
        return _format_mean(_find_figures(control.groups, ALL), name)

    def _render_ranking(self, level: str) -> Iterator[str]:
        families: dict[str, list[tuple[str, int, bool]]] = {}
        for name in self._figures:
            if (parts := _RANKING.fullmatch(name)) and parts[1] == level:
                cutoff = int(parts[3]), parts[4] is not None
                families.setdefault(parts[2], []).append((name, *cutoff))
        if not families:
            return
        yield f"## What was found: {level}s"
        yield self._render_by_place(level, families, is_tokens=False)
        whole = [self._figures[name] for f in ("mrr", "map") for name, *_ in families.get(f, ())]
        if whole:
            yield ", ".join(map(_describe_figure, whole)) + "."
        budgeted = self._render_by_place(level, families, is_tokens=True)
        if budgeted:
            yield f"Within a token budget, and {self._report.request['top_k']} passages:"
            yield budgeted

    def _render_by_place(
        self, level: str, families: Mapping[str, list[tuple[str, int, bool]]], *, is_tokens: bool
    ) -> str:
        """A row for each family, with its floors below it, and a column for each cutoff."""
        ranked = {
            family: sorted(at for _, at, of_tokens in families[family] if of_tokens is is_tokens)
            for family in _RANKED
            if family in families
        }
        places = sorted({at for cutoffs in ranked.values() for at in cutoffs})
        suffix = "tok" if is_tokens else ""
        keywords = [control for control in self._controls if control.name == BM25_CONTROL]
        rows = [
            row
            for family, cutoffs in ranked.items()
            if cutoffs
            for row in self._render_rows(
                family, [f"{level} {family}@{k}{suffix}" for k in places], keywords
            )
        ]
        return _render_table(["", *(f"{k:,}" if is_tokens else f"@{k}" for k in places)], rows)

    def _render_rows(
        self, family: str, names: Sequence[str], controls: Sequence[ControlReport]
    ) -> Iterator[_Row]:
        """One family's figures, and what there is below and above them."""
        figures = [self._figures.get(name) for name in names]
        means = [_format_number(figure.mean if figure else None) for figure in figures]
        yield [f"**{family}**", *(f"**{mean}**" for mean in means)]
        yield ["random", *(_format_number(figure.chance if figure else None) for figure in figures)]
        for control in controls:
            control_figures = _find_figures(control.groups, ALL)
            if any(name in control_figures for name in names):
                yield [control.name, *(_format_mean(control_figures, name) for name in names)]
        best = [figure.ceiling if figure else None for figure in figures]
        if any(value is not None and value < 1 for value in best):
            yield ["best possible", *map(_format_number, best)]

    def _render_layers(self) -> Iterator[str]:
        matches = [match for name in self._figures if (match := _LAYERED.fullmatch(name))]
        if not matches:
            return
        places = sorted({int(match[2]) for match in matches})
        rows = [
            row
            for layer in ("snippet_r", "document_r")
            for row in self._render_rows(layer, [f"{layer}@{k}" for k in places], self._controls)
        ]
        yield "## What was found: wordings of the answer"
        yield _render_table(["", *(f"@{k}" for k in places)], rows)

    def _render_answers(self) -> Iterator[str]:
        names = [name for name in self._figures if not _is_retrieval(name)]
        if not names:
            return
        yield "## What was said"
        head = ["group", *(f"{self._report.system.name}: {name}" for name in names)]
        for control in self._controls:
            head += [f"{control.name}: {name}" for name in names]
        rows = []
        for group in self._report.groups:
            if not any(name in group.figures for name in names):
                continue
            row = [f"{group.name} ({group.questions:,})"]
            row += [f"**{_format_mean(group.figures, name)}**" for name in names]
            for control in self._controls:
                figures = _find_figures(control.groups, group.name, is_category=group.is_category)
                row += [_format_mean(figures, name) for name in names]
            rows.append(row)
        yield _render_table(*_drop_blank_columns(head, rows))
        if self._report.longest_option is not None:
            yield (
                f"Naming the longest option, unread, gets "
                f"{_format_number(self._report.longest_option)} of these questions: less than that "
                "says nothing of a memory."
            )

    def _render_abstentions(self) -> Iterator[str]:
        counts = {self._report.system.name: self._report.abstention}
        counts |= {control.name: control.abstention for control in self._controls}
        rows = [
            [
                name,
                _format_share(count.abstained, count.unanswerable),
                _format_share(count.wrongly_abstained, count.answerable),
                _format_share(count.fell_for_trap, count.traps),
            ]
            for name, count in counts.items()
            if count is not None
        ]
        if any(count.unanswerable for count in counts.values() if count is not None):
            yield "## Knowing what is not known"
            head = ["", "unanswerable: abstained", "answerable: abstained", "fell for the trap"]
            yield _render_table(head, rows)

    def _render_categories(self) -> Iterator[str]:
        if (table := self._tabulate_categories()).rows:
            yield "## By category"
            yield render_markdown(table, has_markup=True)
            yield _BLIND_NOTE

    def _tabulate_categories(self) -> Table:
        """The first figures of a search by category; no rows where there are none."""
        names = [name for name in self._list_headline() if _is_retrieval(name)]
        if not names or len(self._report.groups) < 4:
            return make_table((), ())
        rows = []
        for group in self._report.groups:
            figures = [group.figures.get(name) for name in names]
            cells = [
                _DASH if figure is None else _format_over_chance(figure, group.questions)
                for figure in figures
            ]
            rows.append([f"{group.name} ({group.questions:,})", *cells])
        return make_table(["", *names], rows)

    def _render_protocol(self) -> Iterator[str]:
        report = self._report
        yield "## How it was counted"
        yield report.protocol.about
        yield f"Dataset `{report.dataset.name}`{_describe_layers(report, ', corrected by ')}:"
        yield _render_table(
            ["file", "bytes", "sha-256"],
            [
                [file.name, f"{file.bytes:,}", f"`{file.sha256}`"]
                for file in report.dataset.files[:_FILES]
            ],
        )
        if len(report.dataset.files) > _FILES:
            yield f"and {len(report.dataset.files) - _FILES:,} more files, named in the JSON."
        if report.notes:
            yield "\n".join(f"* {note}" for note in report.notes)
        if report.errata:
            yield "Errata of the published file that were dealt with:"
            yield "\n".join(f"* `{name}`: {text}" for name, text in report.errata.items())
        for control in report.controls:
            if control.reason:
                yield f"`{control.name}` has no figures: {control.reason}."

    def _render_run(self) -> Iterator[str]:
        report, service = self._report, self._report.service
        yield "## What ran"
        half, most = _format_ms(service.p50_ms), _format_ms(service.p95_ms)
        facts = {
            "system": format_card(report.system),
            "its settings": _format_settings(report.system.config),
            "reader": report.reader and format_card(report.reader, report.reader.model),
            "judge": report.judge and format_card(report.judge, report.judge.model),
            "asked for": _format_settings(report.request),
            "took in everything in": format_seconds(service.ingest_s),
            "answered in": f"{half} (half), {most} (95 %)",
            "delivered a question": _format_delivery(report),
            "machine": ", ".join(f"{k} {v}" for k, v in report.environment.items()),
            "harness": ", ".join(report.code),
            "plan": f"`{report.plan_digest[:12]}`",
        }
        rows = [[name, words or _DASH] for name, words in facts.items()]
        yield _render_table(["", ""], rows)


def _describe_figure(figure: EvalEstimate) -> str:
    mean, chance = _format_number(figure.mean), _format_number(figure.chance)
    return f"{figure.name} {mean} (random {chance})"


def _describe_layers(report: EvalReport, lead: str) -> str:
    return f"{lead}{', '.join(report.dataset.layers)}" if report.dataset.layers else ""


def _is_retrieval(name: str) -> bool:
    """Whether a figure is of what was found, and not of what was said."""
    return bool(_RANKING.fullmatch(name) or _LAYERED.fullmatch(name)) or name == EVIDENCE_TEXT


def _drop_blank_columns(head: Sequence[str], rows: Sequence[_Row]) -> tuple[list[str], list[_Row]]:
    """The table without empty columns."""
    filled = [
        place for place in range(len(head)) if any(row[place] not in (_DASH, "") for row in rows)
    ]
    return [head[place] for place in filled], [[row[place] for place in filled] for row in rows]


def _find_figures(
    groups: Sequence[EvalGroup], name: str, *, is_category: bool = False
) -> Mapping[str, EvalEstimate]:
    matches = (group for group in groups if (group.name, group.is_category) == (name, is_category))
    return next((group.figures for group in matches), {})


def _format_mean(figures: Mapping[str, EvalEstimate], name: str) -> str:
    figure = figures.get(name)
    return _format_number(None if figure is None else figure.mean)


def _format_over_chance(found: EvalEstimate, questions: int) -> str:
    chance = "" if found.chance is None else f" ({_format_number(found.chance)})"
    part = "" if found.counted == questions else f", n={found.counted:,}"
    return f"{_format_number(found.mean)}{chance}{part}"


def _format_share(part: int, whole: int) -> str:
    return f"{format_number(100 * part / whole, 1)}% of {whole:,}" if whole else _DASH


def _format_number(value: float | None) -> str:
    return _DASH if value is None else format_number(value, 3)


def _format_settings(settings: Mapping[str, object]) -> str:
    shown_settings = {
        key: value for key, value in settings.items() if value is not None and value != []
    }
    return ", ".join(f"{key}={value}" for key, value in shown_settings.items()) or _DASH


def _format_ms(value: float | None) -> str:
    return _DASH if value is None else format_seconds(value / 1000)


def _format_delivery(report: EvalReport) -> str:
    service = report.service
    if service.passages is None or service.tokens is None:
        return _DASH
    passages = format_number(service.passages, 1)
    words = f"{passages} passages, about {service.tokens:,.0f} tokens"
    if service.traced is not None:
        words += f"; {format_number(100 * service.traced, 0)}% traced to a session"
    if service.traced_to_turn is not None:
        words += f", {format_number(100 * service.traced_to_turn, 0)}% to turns"
    if summaries := _describe_summaries(report):
        words += f"; {summaries}"
    return words


def _describe_summaries(report: EvalReport) -> str | None:
    share = report.service.summaries
    number = format_number(100 * (share or 0), 0)
    return f"{number}% are summaries, which count for no session" if share else None


def _render_table(head: Sequence[str], rows: Sequence[_Row]) -> str:
    return render_markdown(make_table(head, rows), has_markup=True) if rows else ""


def _render_columns(table: Table) -> list[str]:
    rows = [[_strip_marks(cell) for cell in row] for row in table.rows]
    return render_text(replace(table, rows=rows)) if rows else []


def _strip_marks(text: str) -> str:
    """Our own Markdown as plain text."""
    return text.replace("*", "").replace("`", "").removeprefix("# ")


_RUN = re.compile(r"run-(\d+)")


def write_report(report: EvalReport, reports: Path) -> Path:
    """Write `<dataset>/<eval_version>/run-N/<dataset>.{md,json}`; the folder it went to.

    A run that was reported already, to the last figure, is not reported twice: its folder is
    given again.
    """
    place = reports / report.dataset.name / report.protocol.eval_version
    name = report.dataset.name
    content = msgspec.json.format(msgspec.json.encode(report), indent=1)
    try:
        numbers = _list_numbers(place)
        for number in numbers:
            path = place / f"run-{number}" / f"{name}.json"
            if path.is_file() and path.read_bytes() == content:
                return path.parent
        folder = _make_next_folder(place, max(numbers, default=0) + 1)
        with (
            AtomicFile(folder / f"{name}.md") as page,
            AtomicFile(folder / f"{name}.json") as record,
        ):
            page.write(render_page(report).encode())
            record.write(content)
            page.commit()
            record.commit()
    except OSError as error:
        raise UsageError(
            f"--reports: cannot write below {reports} ({error.strerror or error}); "
            "name another folder"
        ) from error
    return folder


def _list_numbers(place: Path) -> list[int]:
    """The numbers of the runs that are reported there, the highest first."""
    names = [path.name for path in place.iterdir()] if place.is_dir() else []
    return sorted(
        (int(match[1]) for name in names if (match := _RUN.fullmatch(name))), reverse=True
    )


def _make_next_folder(place: Path, number: int) -> Path:
    """A folder that did not exist before; another process may be at the same thing."""
    while True:
        with suppress(FileExistsError):
            folder = place / f"run-{number}"
            folder.mkdir(parents=True)
            return folder
        number += 1
