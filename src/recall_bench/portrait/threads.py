"""How long the story's threads are spoken of, where the dataset says how they are called."""

from recall_bench.core.record import Record
from recall_bench.lint.corpus import Corpus
from recall_bench.portrait.figures import Share, Spread, spread
from recall_bench.proof.check import read_account
from recall_bench.proof.lexicon import read_lexicon
from recall_bench.proof.passages import divide


class Threads(Record, frozen=True, kw_only=True):
    """When threads are named, and their facts stated."""

    named: Share
    """Of all threads the lexicon lists, those the text names."""
    reach: Spread | None
    """Days from a thread's first naming to its last; 0 if it is named on one day."""
    left: Share
    """Of the facts stated, those whose thread no later day names."""
    restated: Share
    """Of the facts stated, those stated on another day again."""


def threads_of(corpus: Corpus) -> Threads | None:
    """The threads of a story; None if there is no lexicon to know them by."""
    path = corpus.layout.questions_file.with_name("lexicon.json")
    if not path.is_file():
        return None
    lexicon = read_lexicon(path, corpus.layout.name(path))
    table = read_account(lexicon, (divide(day.number, day.text) for day in corpus.days)).table
    spoken = {thread: (said[0].day, said[-1].day) for thread, said in table.about.items()}
    facts = {
        about: [statement.day for statement in stated if not statement.is_stale]
        for about, stated in table.stated.items()
    }
    told = {about: days for about, days in facts.items() if days}
    return Threads(
        named=Share(part=len(spoken), whole=len(lexicon.threads)),
        reach=spread(last - first for first, last in spoken.values()),
        left=Share(
            part=sum(spoken[thread][1] == days[0] for (thread, _), days in told.items()),
            whole=len(told),
        ),
        restated=Share(part=sum(days[-1] > days[0] for days in told.values()), whole=len(told)),
    )
