"""Where the days on disk hold what the world told, if they are not the world's own text."""

from collections.abc import Sequence

from recall_bench.datasets.days import DayFile
from recall_bench.lint.atoms import find_claims
from recall_bench.lint.day import DayLog
from recall_bench.lint.words import collect_topics
from recall_bench.world.ledger import TextSpan
from recall_bench.world.narration import LogPage, find_sentence_spans


class EvidenceLocator:
    """The day files of a story beside the pages that the world played."""

    def __init__(self, files: Sequence[DayFile]) -> None:
        self._files = {file.day: file for file in files}
        self._own: set[int] = set()
        """Days whose file is the world's page to the byte."""
        self._texts: dict[int, str] = {}

    def compare_page(self, page: LogPage) -> None:
        """Compare a page with its file, if there is one."""
        file = self._files.get(page.day)
        if file is None:
            return
        text = file.read()
        if text == page.text:
            self._own.add(page.day)
        else:
            self._texts[page.day] = text

    def is_present(self, spans: Sequence[TextSpan]) -> bool:
        """Whether every sentence is there, as it was told or in other words."""
        return all(self._locate_span(span) is not None for span in spans)

    def locate_spans(self, spans: Sequence[TextSpan]) -> list[dict[str, object]]:
        """Each sentence with its place in the files, in their order."""
        found = [(span, self._locate_span(span)) for span in spans]
        places = sorted(
            (span.day, place, span.session) for span, place in found if place is not None
        )
        return [
            {"day": day, "session": session, "start": start, "end": end}
            for day, (start, end), session in dict.fromkeys(places)
        ]

    def _locate_span(self, span: TextSpan) -> tuple[int, int] | None:
        if span.day in self._own:
            return span.start, span.end
        text = self._texts.get(span.day)
        return None if text is None else _find_closest_sentence(text, span)


def _find_closest_sentence(text: str, span: TextSpan) -> tuple[int, int] | None:
    """The sentence of the same session that says most of what the world's sentence says.

    None if no sentence holds every exact value of it, or none has a word of it.
    """
    exact = {atom.core for atom in find_claims(span.text) if atom.is_exact}
    about = collect_topics(span.text)
    found = []
    for start, end in _list_sentences(text, span.session):
        told = text[start:end]
        if exact <= {atom.core for atom in find_claims(told)}:
            found.append((len(about & collect_topics(told)), start, end))
    # Of those that say as much, the first.
    shared, start, end = max(found, key=lambda each: (each[0], -each[1]), default=(0, 0, 0))
    return (start, end) if shared else None


def _list_sentences(text: str, session: str) -> list[tuple[int, int]]:
    """Where the sentences of one session begin and end in the file; headings are none."""
    found = []
    for name, part in DayLog(1, "", text).split_sessions():
        if name != session:
            continue
        offset = text.index(part)
        found += [(offset + start, offset + end) for start, end in find_sentence_spans(part)]
    return [(start, end) for start, end in found if not text.startswith("#", start)]
