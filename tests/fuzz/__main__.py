"""`python -m tests.fuzz`; its processes import the runner by name, which `__main__` has not."""

import sys

from tests.fuzz.runner import main

if __name__ == "__main__":
    sys.exit(main())
