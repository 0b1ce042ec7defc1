"""Check the sources of a written edition: `python -m recall_bench.generate.written.check DIR`."""

import sys
from pathlib import Path

from recall_bench.core.errors import BenchError
from recall_bench.generate.written.checks import check_sources, count_sources
from recall_bench.generate.written.sources import read_written


def main() -> int:
    """Print every violation; 1 if there is one."""
    try:
        sources = read_written(Path(sys.argv[1]))
    except BenchError as problem:
        print(problem)  # noqa: T201
        return 1
    findings = check_sources(sources)
    for finding in findings:
        print(finding)  # noqa: T201
    print(count_sources(sources))  # noqa: T201
    print(f"{len(findings)} findings")  # noqa: T201
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
