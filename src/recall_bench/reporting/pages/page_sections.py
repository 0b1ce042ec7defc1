"""The sections of a report as HTML."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from recall_bench.reporting.formats import format_sentence
from recall_bench.reporting.pages.markup import Markup, join_markup, make_element
from recall_bench.reporting.sections import Fact, Link, SectionPart, SectionTable


def render_parts(parts: Iterable[SectionPart]) -> Iterator[Markup]:
    """Sentences as paragraphs, facts as lists, tables as tables."""
    for kind, group in groupby(parts, type):
        if kind is Fact:
            facts = [part for part in group if isinstance(part, Fact)]
            yield make_element("dl", *_render_facts(facts), class_="facts said")
            continue
        for part in group:
            match part:
                case SectionTable() if not part.is_charted:
                    yield _render_table(part)
                case str():
                    yield make_element("p", format_sentence(part), class_="quiet note")


def _render_facts(facts: Iterable[Fact]) -> Iterator[Markup]:
    for fact in facts:
        label = make_element("dt", fact.label[:1].upper() + fact.label[1:])
        yield make_element("div", label, make_element("dd", format_sentence(fact.text)))


def _render_table(table: SectionTable) -> Markup:
    kinds = [None if column.is_text else "number" for column in table.columns]
    heads = (
        make_element("th", column.head.strip(), class_=kind, scope="col")
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    rows = (
        make_element(
            "tr",
            *(
                make_element("td", _render_cell(cell), class_=kind)
                for cell, kind in zip(row, kinds, strict=True)
            ),
        )
        for row in table.rows
    )
    return make_element(
        "div",
        make_element(
            "table",
            make_element("thead", make_element("tr", *heads)),
            make_element("tbody", *rows),
            class_="plain",
        ),
        class_="scrolls whole" if table.most is None else "scrolls tall",
        tabindex="0",
        role="region",
        aria_label=table.columns[0].head.strip() or "table",
    )


def _render_cell(cell: str | tuple[Link, ...]) -> str:
    if isinstance(cell, tuple):
        return join_markup(*map(_render_cell, cell))
    if not isinstance(cell, Link):
        return cell.strip()
    opens = {f"data_{name}": value for name, value in cell.opens.items()}
    return make_element("button", cell, type="button", class_="opener", **opens)
