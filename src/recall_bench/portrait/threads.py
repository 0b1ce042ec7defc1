"""How long the story's threads are spoken of, where the dataset says how they are called."""

from recall_bench.core.record import Record
from recall_bench.lint.corpus import LintCorpus
from recall_bench.portrait.figures import NumberSpread, PartOfWhole, compute_spread
from recall_bench.proof.check import read_statements
from recall_bench.proof.lexicon import read_lexicon
from recall_bench.proof.passages import parse_day


class ThreadStatistics(Record, frozen=True, kw_only=True):
    """When threads are named, and their facts stated."""

    named: PartOfWhole
    """Of all threads the lexicon lists, those the text names."""
    reach: NumberSpread | None
    """Days from a thread's first naming to its last; 0 if it is named on one day."""
    left: PartOfWhole
    """Of the facts stated, those whose thread no later day names."""
    restated: PartOfWhole
    """Of the facts stated, those stated on another day again."""


def compute_threads(corpus: LintCorpus) -> ThreadStatistics | None:
    """The threads of a story; None if there is no lexicon to know them by."""
    path = corpus.layout.questions_file.with_name("lexicon.json")
    if not path.is_file():
        return None
    lexicon = read_lexicon(path, corpus.layout.name(path))
    table = read_statements(lexicon, (parse_day(day.number, day.text) for day in corpus.days)).table
    spoken = {thread: (said[0].day, said[-1].day) for thread, said in table.about.items()}
    facts = {
        about: [statement.day for statement in stated if not statement.is_stale]
        for about, stated in table.stated.items()
    }
    told = {about: days for about, days in facts.items() if days}
    return ThreadStatistics(
        named=PartOfWhole(part=len(spoken), whole=len(lexicon.threads)),
        reach=compute_spread(last - first for first, last in spoken.values()),
        left=PartOfWhole(
            part=sum(spoken[thread][1] == days[0] for (thread, _), days in told.items()),
            whole=len(told),
        ),
        restated=PartOfWhole(
            part=sum(days[-1] > days[0] for days in told.values()), whole=len(told)
        ),
    )
