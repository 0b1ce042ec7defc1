"""Check files of conventions and tasks: `python -m recall_bench.generate.procedures FILE...`."""

import sys
from pathlib import Path

from recall_bench.core.errors import BenchError
from recall_bench.generate.procedures.rule_history import load_history
from recall_bench.generate.procedures.task_lint import find_mistakes, list_missing
from recall_bench.generate.procedures.task_source import PERSONAS, read_tasks


def main(paths: list[str]) -> int:
    """Print the mistakes of files, and what they still need; 3 if there are mistakes."""
    is_wrong = False
    for path in paths:
        try:
            source = read_tasks(Path(path))
        except BenchError as error:
            sys.stdout.write(f"error: {error}\n")
            is_wrong = True
            continue
        if source.persona not in PERSONAS:
            sys.stdout.write(f"error: {path}: persona: there is {', '.join(PERSONAS)}\n")
            is_wrong = True
            continue
        mistakes = find_mistakes(source, load_history(source.persona))
        is_wrong = is_wrong or bool(mistakes)
        sys.stdout.write(f"{path}: {len(source.rules)} rules, {len(source.tasks)} tasks\n")
        for each in mistakes:
            sys.stdout.write(f"  error: {each}\n")
        for each in list_missing(source):
            sys.stdout.write(f"  to do: {each}\n")
    return 3 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
