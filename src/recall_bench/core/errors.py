"""Every failure we raise on purpose.

BenchError
├── UsageError             the request cannot be met; fix the command or the file      exit 2
│   ├── UnknownPlugin
│   ├── AmbiguousPlugin
│   ├── OtherPlan          the run folder holds a run with other settings
│   └── FolderBusy         another process is writing to the run folder
├── DataError              bytes are not what they claim to be                         exit 3
│   ├── Malformed
│   ├── CorpusMismatch     a shipped persona is not what was released
│   └── Problems           several at once
├── DownloadFailed         a file could not be fetched; the same command continues     exit 9
├── JournalLost            the journal cannot be written; the same command continues   exit 7
├── Interrupted            stopped by a signal; the same command continues  exit 128 + signal
├── SystemGone             the system cannot be reached; that is not counted           exit 4
├── NotOffered             the system lacks an optional part   its caller reports that
├── SystemBroken           its first questions all fail in one way; the run stops      exit 5
├── SystemFault            the system failed         recorded, counts against the system
│   ├── SystemTimeout
│   ├── SystemBusy         it asked to retry later              retried, then recorded
│   ├── SystemStuck        it cannot be interrupted             its memory is replaced
│   ├── SystemDied         its process ended at a question      asked again, then recorded
│   ├── ContextExceeded    a conversation is longer than the agent can read
│   └── NotAnAnswer        it returned something that cannot be judged
├── ModelFault             a language model gave no usable reply      its caller decides
│   ├── ModelBusy          it asked to retry later, or could not be reached
│   ├── ModelGone          no call can succeed: a key, a model or an address is wrong
│   └── ModelPending       its reply comes as a file later; the same command goes on   exit 13
├── ReaderFault            we failed to answer from a system's passages; ends the run  exit 6
│   └── ReaderPending      the reader's reply comes as a file later                    exit 13
├── BudgetSpent            --max-cost or --max-tokens is spent; a higher one continues exit 8
└── JudgeFault             we failed to grade an answer         recorded as not judged
                           (exit 6 if the judge cannot even prepare)
    ├── JudgeTimeout
    ├── JudgeBusy          retried, then recorded
    ├── JudgeGone          no answer can be judged: ends the run, records nothing
    ├── JudgePending       the judge's reply comes as a file later                     exit 13
    └── UnreadableVerdict

A run that ends without one of these still has an exit code that says how it went:

    0  every trial owed has an outcome, errors within the stated budget
    4  the system could not be reached or fed; the same command continues
    5  the system failed more often than the budget allows: scores are invalid
    6  some answers could not be judged; the same command judges them, and until it does the
       scores are invalid if they are more than the budget allows; or more reviews failed than
       that, and --retry-errors does them again
    7  the journal could not be written, or the disk is full; the same command continues
    8  the money allowed by --max-cost, or the tokens by --max-tokens, are spent; the same
       command with more continues
   10  some of what was to be generated is missing; the command that is printed fills it
   11  `gate`: a rule was broken, or the run is invalid
   12  `gate`: undecided, because a run is unfinished, unlike its baseline, or not measured
   13  requests to a model wait for their replies, in files or at a batch service; the same
       command takes them
  130  interrupted (143 by SIGTERM, 129 by SIGHUP); the same command continues
  141  the reader of the output, such as `head`, had enough; a run was finished before

Anything else that escapes is a bug in the harness: it aborts the run with its traceback.
"""

from errno import EDQUOT, ENOSPC

from recall_bench.core.plain_text import suggest_or_list

DISK_FULL = (ENOSPC, EDQUOT)
"""The numbers of an OSError for which space has to be freed."""


_LONGEST_LINE = 2000
"""Characters of a message that a person would read."""


def _cut_line(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE // 2]} … {line[-_LONGEST_LINE // 2 :]}"


class BenchError(Exception):
    """Base of the tree. The message names the thing, the problem and the next step."""

    exit_code = 1

    def __str__(self) -> str:
        """The message; what it quotes may be of any length, and a line of it is cut."""
        return "\n".join(map(_cut_line, super().__str__().split("\n")))


class UsageError(BenchError):
    """The request cannot be met as it stands."""

    exit_code = 2


_OTHER_FORMS = {
    "systems": "; or give file.py, module:factory, http://…, grpc://… or command:PROGRAM"
}
"""What is accepted besides the name of a plugin, by kind."""


class UnknownPlugin(UsageError):
    """No installed plugin has this name."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        listed = f"installed: {', '.join(known) or 'none'}{_OTHER_FORMS.get(kind, '')}"
        super().__init__(
            f"no {kind.removesuffix('s')} named {name!r}; {suggest_or_list(name, known, listed)}"
        )


class AmbiguousPlugin(UsageError):
    """Two installed packages provide plugins of one name."""

    def __init__(self, kind: str, name: str, packages: list[str]) -> None:
        super().__init__(
            f"{kind} plugin {name!r} is offered by {' and '.join(packages)}; uninstall one"
        )


class OtherPlan(UsageError):
    """The run folder holds a run with other settings, or another shard."""


class FolderBusy(UsageError):
    """Another process is writing to the run folder."""


class JournalLost(BenchError):
    """The journal cannot be written any more; its content is complete so far."""

    exit_code = 7

    FULL_DISK = "no space left on the disk; free some and run the same command again to continue"


class DataError(BenchError):
    """Bytes are not what they claim to be."""

    exit_code = 3


class DownloadFailed(BenchError):
    """A published file could not be fetched or stored; what has arrived is kept."""

    exit_code = 9


class Malformed(DataError):
    """A file departs from its documented shape."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")


class CorpusMismatch(DataError):
    """A shipped persona differs from the released one."""


class Problems(DataError):
    """Several problems at once, one sentence each."""

    def __init__(self, problems: list[BenchError]) -> None:
        self.problems = problems
        self.exit_code = max(problem.exit_code for problem in problems)
        super().__init__("\n".join(str(problem) for problem in problems))


def raise_problems(problems: list[BenchError]) -> None:
    """Raise the only problem as it is, or all of them as one error; nothing if there are none."""
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)


class Interrupted(BenchError):
    """The run was stopped by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted; run the same command again to continue")
        self.exit_code = 128 + number


class RetryLater(Exception):
    """What the three errors have in common that are raised for a callee that is busy."""

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """How long to wait, if it says so."""


class ReplyPending(Exception):
    """What the three errors have in common whose reply comes as a file later."""

    exit_code = 13


class SystemGone(BenchError):
    """The system under test cannot be reached; nothing is recorded against it."""

    exit_code = 4


class NotOffered(BenchError):
    """The system lacks an optional part of the contract; that is not counted as a failure."""

    exit_code = 2


class SystemBroken(BenchError):
    """The first questions all failed in the same way, so the rest would too."""

    exit_code = 5


class SystemFault(BenchError):
    """The system under test failed."""


class SystemTimeout(SystemFault):
    """The system under test did not finish in time."""


class SystemBusy(RetryLater, SystemFault):
    """The system under test asked us to try again later."""


class SystemStuck(SystemFault):
    """The system ignored a cancellation: this memory can no longer be used."""


class SystemDied(SystemFault):
    """The process of this memory ended while it was asked, or before."""


class ContextExceeded(SystemFault):
    """The conversation has become longer than the agent under test can read."""


class NotAnAnswer(SystemFault):
    """The system returned something that is not an answer."""


class ModelFault(BenchError):
    """A language model gave no usable reply."""


class ModelBusy(RetryLater, ModelFault):
    """The model asked us to try again later, or could not be reached just now."""


class ModelGone(ModelFault):
    """No call to this model can succeed: its key, its name or its address is wrong."""

    exit_code = 6


class ModelPending(ReplyPending, ModelFault):
    """The request is in a file, and its reply is not there yet."""


class ReaderFault(BenchError):
    """The reader failed; nothing is recorded against the system."""

    exit_code = 6


class ReaderPending(ReplyPending, ReaderFault):
    """The reader's request is in a file, and its reply is not there yet."""


class BudgetSpent(BenchError):
    """The allowed money or tokens are spent; everything paid for is recorded."""

    exit_code = 8


class JudgeFault(BenchError):
    """We failed to judge this answer."""

    exit_code = 6


class JudgeTimeout(JudgeFault):
    """The judge did not finish in time."""


class JudgeBusy(RetryLater, JudgeFault):
    """The judge asked us to try again later."""


class JudgeGone(JudgeFault):
    """The judge cannot judge anything; no answer is recorded as not judged because of it."""


class JudgePending(ReplyPending, JudgeFault):
    """The judge's request is in a file, and its reply is not there yet."""


class UnreadableVerdict(JudgeFault):
    """The judge replied, but not with a verdict."""


def find_full_disk(error: BaseException) -> OSError | None:
    """Return the error of a full disk, if that is all that is wrong, in one task or in several."""
    if isinstance(error, BaseExceptionGroup):
        exceptions = [find_full_disk(exception) for exception in error.exceptions]
        return None if None in exceptions else exceptions[0]
    return error if isinstance(error, OSError) and error.errno in DISK_FULL else None


def find_single_fault(group: BaseExceptionGroup[BaseException]) -> BenchError | None:
    """Return the first of several tasks' faults; None if a bug is among them."""
    faults, others = group.split(BenchError)
    leaf: BaseException | None = faults if others is None else None
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf if isinstance(leaf, BenchError) else None
