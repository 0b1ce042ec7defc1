"""Build the newest shipped stories that tests read into the cache of the tests.

`make test` does this while a core is idle. Without it, the first test that reads a story builds it.
"""

from recall_bench.datasets.persona_files import DEFAULT_ARCS
from recall_bench.generate.shipped_personas import load_catalogue, materialise
from tests.thoroughness import choose_cases

_PERSONAS = sorted(load_catalogue(2), key=lambda persona: persona != "er-physician")

BUILT_LIVES = choose_cases(
    [persona for persona in _PERSONAS if DEFAULT_ARCS in load_catalogue(2)[persona]], 1
)
"""The personas whose 1,000 days are built: each takes ten seconds."""


def main() -> None:
    for persona, stories in load_catalogue(2).items():
        for arcs in stories:
            if arcs != DEFAULT_ARCS or persona in BUILT_LIVES:
                materialise(persona, arcs, edition=2)


if __name__ == "__main__":
    main()
