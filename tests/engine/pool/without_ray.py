"""Runs the command in this process and with a worker, and sees that neither imported Ray."""

import sys

from recall_bench.cli.main import main


def run_without_ray(words: list[str], executor: str, into: str) -> None:
    """Run the command, which must end well."""
    sys.argv = ["recall-bench", *words, "--executor", executor, "--into", into]
    code: object = None
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    assert code == 0, f"{executor}: exit {code}"
    assert "recall_bench.engine.executor" in sys.modules
    assert not any(name.split(".")[0] == "ray" for name in sys.modules), executor


if __name__ == "__main__":
    given = sys.argv[1:]
    run_without_ray(given, "local", "alone")
    run_without_ray(given, "processes", "run")
