"""What a system was told in another form than the logs is not made up by whoever repeats it."""

from recall_bench.core.memory import Answer
from recall_bench.core.scenario import Evidence, Item, Scenario, Truth
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.judging.offline.offline_judge import OfflineJudge
from tests.conftest import EPOCH, episode

ITEM = Item(
    id="offer",
    text="What did the second offer for the lamp cost?",
    known_from=1,
    truth=Truth(
        reference="It cost 4,180 euros, fitted.",
        category="factual-recall",
        evidence=(Evidence(day=1),),
    ),
)
SAID = "Tomasz quoted 4,180 euros with the lamp fitted, valid for 45 days."
SCENARIO = Scenario(
    id="lighthouse",
    epoch=EPOCH,
    episodes=(
        episode(1, "# session: crew\n\nThe second offer came in at 4,180 euros, fitted.\n"),
        episode(2, "# session: crew\n\nRain.\n"),
    ),
    items=(ITEM,),
)
RETOLD = SCENARIO.replace(retold=(episode(1, f"**Assistant:**\n\n{SAID}\n"),))


def ruled(scenario: Scenario) -> Verdict:
    judge = OfflineJudge({})
    judge.study(scenario)
    return judge.judge_now(
        Exhibit(
            scenario=scenario.id,
            item=ITEM,
            answer=Answer(text=SAID),
            asked_at=scenario.compute_date(2),
            days=2,
        )
    )


def test_what_was_fed_is_grounded_and_what_was_not_is_made_up() -> None:
    assert ruled(RETOLD).marks["grounded"] == 1
    assert ruled(SCENARIO).marks["grounded"] == 0


def test_it_is_distinguished_from_its_own_day_on_and_by_no_session() -> None:
    later = SCENARIO.replace(retold=(episode(2, SAID),))
    history = HistoryIndex(later)

    assert not history.is_sentence_known(SAID, 1)
    assert history.is_sentence_known(SAID, 2)
    assert (history.is_word_known("tomasz", 1), history.is_word_known("tomasz", 2)) == (False, True)
    assert history.find_word_sessions("tomasz", 2) == set()
