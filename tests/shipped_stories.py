"""Build the newest shipped stories, which tests read, into the cache of the tests.

`make test` does this while a core is idle. Without it, the first test that reads a story builds it.
"""

from recall_bench.generate.shipped_personas import load_catalogue, materialise


def main() -> None:
    for persona, stories in load_catalogue(2).items():
        for arcs in stories:
            materialise(persona, arcs, edition=2)


if __name__ == "__main__":
    main()
