"""What holds for this process and for all that tests start: set before anything is imported."""

import os
import sys
from pathlib import Path
from tempfile import gettempdir

# On a machine with one test a core, threads of a product of matrices only wait for each other, and
# use the core up as they do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Also where the environment says not to, as images do: without it each worker rewrites every test
# on each run, and each of hundreds of child processes compiles the package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Shipped personas are played once for all tests, and not into the cache of whoever runs them.
os.environ.setdefault("RECALL_BENCH_CACHE", str(Path(gettempdir(), "recall-bench-tests")))
