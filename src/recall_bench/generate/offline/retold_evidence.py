"""Where the days on disk hold what the world told, if they are not the world's own text."""

from collections.abc import Sequence

from recall_bench.datasets.days import DayFile
from recall_bench.lint.atoms import atoms
from recall_bench.lint.day import Day
from recall_bench.lint.words import topics
from recall_bench.world.ledger import Span
from recall_bench.world.narration import Page, sentences


class Retold:
    """The day files of a story beside the pages that the world played."""

    def __init__(self, files: Sequence[DayFile]) -> None:
        self._files = {file.day: file for file in files}
        self._own: set[int] = set()
        """Days whose file is the world's page to the byte."""
        self._texts: dict[int, str] = {}

    def note(self, page: Page) -> None:
        """Compare a page with its file, if there is one."""
        file = self._files.get(page.day)
        if file is None:
            return
        text = file.read()
        if text == page.text:
            self._own.add(page.day)
        else:
            self._texts[page.day] = text

    def holds(self, spans: Sequence[Span]) -> bool:
        """Whether every sentence is there, as it was told or in other words."""
        return all(self._place(span) is not None for span in spans)

    def placed(self, spans: Sequence[Span]) -> list[dict[str, object]]:
        """Each sentence with its place in the files, in their order."""
        found = [(span, self._place(span)) for span in spans]
        places = sorted(
            (span.day, place, span.session) for span, place in found if place is not None
        )
        return [
            {"day": day, "session": session, "start": start, "end": end}
            for day, (start, end), session in dict.fromkeys(places)
        ]

    def _place(self, span: Span) -> tuple[int, int] | None:
        if span.day in self._own:
            return span.start, span.end
        text = self._texts.get(span.day)
        return None if text is None else _likest(text, span)


def _likest(text: str, span: Span) -> tuple[int, int] | None:
    """The sentence of the same session that says most of what the world's sentence says.

    None if no sentence holds every exact value of it, or none has a word of it.
    """
    exact = {atom.core for atom in atoms(span.text) if atom.is_exact}
    about = topics(span.text)
    found = []
    for start, end in _sentences_of(text, span.session):
        told = text[start:end]
        if exact <= {atom.core for atom in atoms(told)}:
            found.append((len(about & topics(told)), start, end))
    # Of those that say as much, the first.
    shared, start, end = max(found, key=lambda each: (each[0], -each[1]), default=(0, 0, 0))
    return (start, end) if shared else None


def _sentences_of(text: str, session: str) -> list[tuple[int, int]]:
    """Where the sentences of one session begin and end in the file; headings are none."""
    found = []
    for name, part in Day(1, "", text).parts():
        if name != session:
            continue
        offset = text.index(part)
        found += [(offset + start, offset + end) for start, end in sentences(part)]
    return [(start, end) for start, end in found if not text.startswith("#", start)]
