"""`python -m recall_bench` is the command line."""

from recall_bench.cli.main import main

main()
