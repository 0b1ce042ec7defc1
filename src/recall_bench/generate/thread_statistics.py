"""Statistics of a story's threads, where its lexicon lists their names."""

from recall_bench.datasets.dataset_statistics import PartOfWhole, ThreadStatistics, compute_spread
from recall_bench.datasets.lint.lint_corpus import LintCorpus
from recall_bench.generate.verification.day_parser import parse_day
from recall_bench.generate.verification.lexicon import read_lexicon
from recall_bench.generate.verification.verifier import read_statements


def compute_threads(corpus: LintCorpus) -> ThreadStatistics | None:
    """Return the statistics of the threads of a story; None if the story has no lexicon."""
    path = corpus.layout.questions_file.with_name("lexicon.json")
    if not path.is_file():
        return None
    lexicon = read_lexicon(path, corpus.layout.name(path))
    table = read_statements(lexicon, (parse_day(day.number, day.text) for day in corpus.days)).table
    spans = {
        thread: (mentions[0].day, mentions[-1].day) for thread, mentions in table.about.items()
    }
    facts = {
        about: [statement.day for statement in statements if not statement.is_stale]
        for about, statements in table.stated.items()
    }
    stated = {about: days for about, days in facts.items() if days}
    return ThreadStatistics(
        named=PartOfWhole(part=len(spans), whole=len(lexicon.threads)),
        reach=compute_spread(last - first for first, last in spans.values()),
        left=PartOfWhole(
            part=sum(spans[thread][1] == days[0] for (thread, _), days in stated.items()),
            whole=len(stated),
        ),
        restated=PartOfWhole(
            part=sum(days[-1] > days[0] for days in stated.values()), whole=len(stated)
        ),
    )
