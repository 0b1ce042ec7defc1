"""Measure what an agent remembers.

Everything that the command line does is here as a function; names are imported on first use.
"""

from typing import TYPE_CHECKING

from recall_bench.core.runtime import make_lazy_exports

if TYPE_CHECKING:
    from recall_bench.core.errors import BenchError as BenchError
    from recall_bench.core.errors import DataError as DataError
    from recall_bench.core.errors import JudgeFault as JudgeFault
    from recall_bench.core.errors import SystemBusy as SystemBusy
    from recall_bench.core.errors import SystemFault as SystemFault
    from recall_bench.core.errors import SystemGone as SystemGone
    from recall_bench.core.errors import UsageError as UsageError
    from recall_bench.core.memory import Answer as Answer
    from recall_bench.core.memory import Memory as Memory
    from recall_bench.core.memory import MemorySystem as MemorySystem
    from recall_bench.core.memory import Passage as Passage
    from recall_bench.core.memory import Snapshots as Snapshots
    from recall_bench.core.memory import SystemCard as SystemCard
    from recall_bench.core.plan import Calendar as Calendar
    from recall_bench.core.plan import Checkpoint as Checkpoint
    from recall_bench.core.plan import Lifecycle as Lifecycle
    from recall_bench.core.plan import Plan as Plan
    from recall_bench.core.plan import Trial as Trial
    from recall_bench.core.plan import parse_range as parse_range
    from recall_bench.core.plan import parse_ranges as parse_ranges
    from recall_bench.core.scenario import CATEGORIES as CATEGORIES
    from recall_bench.core.scenario import Episode as Episode
    from recall_bench.core.scenario import Item as Item
    from recall_bench.core.scenario import Question as Question
    from recall_bench.core.scenario import Scenario as Scenario
    from recall_bench.core.scenario import Truth as Truth
    from recall_bench.core.scenario import Turn as Turn
    from recall_bench.core.settings import Settings as Settings
    from recall_bench.core.verdict import Exhibit as Exhibit
    from recall_bench.core.verdict import Judge as Judge
    from recall_bench.core.verdict import JudgeCard as JudgeCard
    from recall_bench.core.verdict import Verdict as Verdict
    from recall_bench.engine.runs.run_folder import RunFolder as RunFolder
    from recall_bench.engine.runs.summary import Summary as Summary
    from recall_bench.engine.runs.summary import heatmap_grid as heatmap_grid
    from recall_bench.engine.runs.summary import summarise as summarise
    from recall_bench.judging.answer_rows import AnswerRow as AnswerRow
    from recall_bench.judging.answer_rows import read_answer_rows as read_answer_rows
    from recall_bench.library import Finished as Finished
    from recall_bench.library import arun as arun
    from recall_bench.library import compare as compare
    from recall_bench.library import compare_suites as compare_suites
    from recall_bench.library import draw_heatmap as draw_heatmap
    from recall_bench.library import estimate as estimate
    from recall_bench.library import evaluate as evaluate
    from recall_bench.library import export as export
    from recall_bench.library import export_run as export_run
    from recall_bench.library import gate as gate
    from recall_bench.library import heatmap_json as heatmap_json
    from recall_bench.library import import_run as import_run
    from recall_bench.library import judge as judge
    from recall_bench.library import load_persona as load_persona
    from recall_bench.library import merge as merge
    from recall_bench.library import open_run as open_run
    from recall_bench.library import questions_in_range as questions_in_range
    from recall_bench.library import read_result as read_result
    from recall_bench.library import read_settings as read_settings
    from recall_bench.library import rejudge as rejudge
    from recall_bench.library import report as report
    from recall_bench.library import result_json as result_json
    from recall_bench.library import run as run
    from recall_bench.library import run_matrix as run_matrix
    from recall_bench.library import run_suite as run_suite
    from recall_bench.library import text_report as text_report
    from recall_bench.library import verdict_changes as verdict_changes
    from recall_bench.library import wait_for_batches as wait_for_batches
    from recall_bench.stories.persona_list import list_personas as list_personas
    from recall_bench.stories.story_folders import load_story as load_story

__version__ = "0.1.0"

_EXPORTS_BY_MODULE = {
    "core.memory": "Answer Memory MemorySystem Passage Snapshots SystemCard",
    "core.plan": "Calendar Checkpoint Lifecycle Plan Trial parse_range parse_ranges",
    "core.scenario": "CATEGORIES Episode Item Question Scenario Truth Turn",
    "core.verdict": "Exhibit Judge JudgeCard Verdict",
    "core.errors": "BenchError DataError JudgeFault SystemBusy SystemFault SystemGone UsageError",
    "judging.answer_rows": "AnswerRow read_answer_rows",
    "library": (
        "Finished arun compare compare_suites draw_heatmap estimate evaluate export export_run "
        "gate heatmap_json import_run judge load_persona merge open_run questions_in_range "
        "read_result read_settings rejudge report result_json run run_matrix run_suite "
        "text_report verdict_changes wait_for_batches"
    ),
    "core.settings": "Settings",
    "engine.runs.run_folder": "RunFolder",
    "engine.runs.summary": "Summary heatmap_grid summarise",
    "stories.persona_list": "list_personas",
    "stories.story_folders": "load_story",
}

__all__, __getattr__, __dir__ = make_lazy_exports(__name__, _EXPORTS_BY_MODULE)
