"""For people who write plugins: fakes to test against, the contract of systems, broken adapters.

Ours are tested with the same. Names are imported on first use: a served adapter needs one of them.
"""

from typing import TYPE_CHECKING

from recall_bench.core.lazy_exports import make_lazy_exports

if TYPE_CHECKING:
    from recall_bench.testing.behaviour_faults import BEHAVIOUR_FAULTS as BEHAVIOUR_FAULTS
    from recall_bench.testing.behaviour_faults import AcknowledgesEarly as AcknowledgesEarly
    from recall_bench.testing.behaviour_faults import (
        AnswersNothingWhenBusy as AnswersNothingWhenBusy,
    )
    from recall_bench.testing.behaviour_faults import ConfirmsOnly as ConfirmsOnly
    from recall_bench.testing.behaviour_faults import CountsVotes as CountsVotes
    from recall_bench.testing.behaviour_faults import ErasesTooMuch as ErasesTooMuch
    from recall_bench.testing.behaviour_faults import ErasesUntilRestart as ErasesUntilRestart
    from recall_bench.testing.behaviour_faults import FailsWhenBusy as FailsWhenBusy
    from recall_bench.testing.behaviour_faults import ForgetsWhenAttacked as ForgetsWhenAttacked
    from recall_bench.testing.behaviour_faults import KeepsFiles as KeepsFiles
    from recall_bench.testing.behaviour_faults import KeepsOldValues as KeepsOldValues
    from recall_bench.testing.behaviour_faults import KeepsVectors as KeepsVectors
    from recall_bench.testing.behaviour_faults import LosesAtRestart as LosesAtRestart
    from recall_bench.testing.behaviour_faults import MatchesPrefixes as MatchesPrefixes
    from recall_bench.testing.behaviour_faults import MergesUsers as MergesUsers
    from recall_bench.testing.behaviour_faults import MisbehavingMemory as MisbehavingMemory
    from recall_bench.testing.behaviour_faults import ObeysInstructions as ObeysInstructions
    from recall_bench.testing.behaviour_faults import ReadsReplicas as ReadsReplicas
    from recall_bench.testing.behaviour_faults import RefusesCorrections as RefusesCorrections
    from recall_bench.testing.behaviour_faults import SerialisesClients as SerialisesClients
    from recall_bench.testing.behaviour_faults import SharesAnswers as SharesAnswers
    from recall_bench.testing.behaviour_faults import SlowsWithSize as SlowsWithSize
    from recall_bench.testing.behaviour_faults import StoresTwice as StoresTwice
    from recall_bench.testing.behaviour_faults import SummaryResurrects as SummaryResurrects
    from recall_bench.testing.behaviour_faults import SwitchesContext as SwitchesContext
    from recall_bench.testing.behaviour_faults import TellsEverySession as TellsEverySession
    from recall_bench.testing.behaviour_faults import TrustsQuotations as TrustsQuotations
    from recall_bench.testing.behaviour_reference import ReferenceMemory as ReferenceMemory
    from recall_bench.testing.check_context import CheckResult as CheckResult
    from recall_bench.testing.check_context import ContractReport as ContractReport
    from recall_bench.testing.check_context import Outcome as Outcome
    from recall_bench.testing.check_context import Seen as Seen
    from recall_bench.testing.contract import CHECKS as CHECKS
    from recall_bench.testing.contract import assert_contract as assert_contract
    from recall_bench.testing.contract import assert_contract_async as assert_contract_async
    from recall_bench.testing.contract import check_system as check_system
    from recall_bench.testing.fakes import CopiesInMemory as CopiesInMemory
    from recall_bench.testing.fakes import ExactJudge as ExactJudge
    from recall_bench.testing.fakes import Script as Script
    from recall_bench.testing.fakes import ScriptedMemory as ScriptedMemory
    from recall_bench.testing.fakes import ScriptedSystem as ScriptedSystem
    from recall_bench.testing.faults import FAULTS as FAULTS
    from recall_bench.testing.faults import AnswersErrors as AnswersErrors
    from recall_bench.testing.faults import BuriesFinds as BuriesFinds
    from recall_bench.testing.faults import ConfusesPeople as ConfusesPeople
    from recall_bench.testing.faults import CountsWrong as CountsWrong
    from recall_bench.testing.faults import CrashesOnSeventh as CrashesOnSeventh
    from recall_bench.testing.faults import DropsWrites as DropsWrites
    from recall_bench.testing.faults import Faulty as Faulty
    from recall_bench.testing.faults import ForgetsUnicode as ForgetsUnicode
    from recall_bench.testing.faults import Hallucinates as Hallucinates
    from recall_bench.testing.faults import IgnoresDates as IgnoresDates
    from recall_bench.testing.faults import KeepsOldMemories as KeepsOldMemories
    from recall_bench.testing.faults import LeaksSessions as LeaksSessions
    from recall_bench.testing.faults import LosesTail as LosesTail
    from recall_bench.testing.faults import MisreadsFinds as MisreadsFinds
    from recall_bench.testing.faults import MixesTenants as MixesTenants
    from recall_bench.testing.faults import NeverSettles as NeverSettles
    from recall_bench.testing.faults import OverlooksBest as OverlooksBest
    from recall_bench.testing.faults import RefusesFinds as RefusesFinds
    from recall_bench.testing.faults import RemembersQuestions as RemembersQuestions
    from recall_bench.testing.faults import ReversesTime as ReversesTime
    from recall_bench.testing.faults import SlowsDown as SlowsDown
    from recall_bench.testing.honest import Honest as Honest

_EXPORTS_BY_MODULE = {
    "behaviour_faults": (
        "BEHAVIOUR_FAULTS AcknowledgesEarly AnswersNothingWhenBusy ConfirmsOnly CountsVotes "
        "ErasesTooMuch ErasesUntilRestart FailsWhenBusy ForgetsWhenAttacked KeepsFiles "
        "KeepsOldValues KeepsVectors LosesAtRestart MatchesPrefixes MergesUsers MisbehavingMemory "
        "ObeysInstructions ReadsReplicas RefusesCorrections SerialisesClients SharesAnswers "
        "SlowsWithSize StoresTwice SummaryResurrects SwitchesContext TellsEverySession "
        "TrustsQuotations"
    ),
    "behaviour_reference": "ReferenceMemory",
    "check_context": "CheckResult ContractReport Outcome Seen",
    "contract": "CHECKS assert_contract assert_contract_async check_system",
    "fakes": "CopiesInMemory ExactJudge Script ScriptedMemory ScriptedSystem",
    "faults": (
        "FAULTS AnswersErrors BuriesFinds ConfusesPeople CountsWrong CrashesOnSeventh DropsWrites "
        "Faulty ForgetsUnicode Hallucinates IgnoresDates KeepsOldMemories LeaksSessions LosesTail "
        "MisreadsFinds MixesTenants NeverSettles OverlooksBest RefusesFinds RemembersQuestions "
        "ReversesTime SlowsDown"
    ),
    "honest": "Honest",
}

__all__, __getattr__, __dir__ = make_lazy_exports(__name__, _EXPORTS_BY_MODULE)
