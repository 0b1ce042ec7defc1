"""Where the files of a persona lie, and what to say when one is not there.

A persona's folder holds `persona.yaml` and its stories, `arcs-<suffix>.yaml`. A story owns the
folders of the same suffix: `memories-180d`, `qa-180d`, `tools-180d`, `conversations-180d`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from recall_bench.errors import UsageError

DEFAULT_ARCS = "arcs-1000d.yaml"

_ARCS = re.compile(r"arcs(?:-(.+))?\.ya?ml")


def name_story_folder(arcs_filename: str, base: str) -> str:
    """The folder `base` of the story this arcs file tells."""
    match = _ARCS.fullmatch(arcs_filename)
    return f"{base}-{match[1]}" if match and match[1] else base


def list_persona_ids(data: Path) -> tuple[str, ...]:
    """The personas a data folder holds, by name."""
    if not data.is_dir():
        raise UsageError(f"there is no data folder {data}; check the path")
    return tuple(sorted(folder.parent.name for folder in data.glob("*/persona.yaml")))


def list_stories(folder: Path) -> tuple[str, ...]:
    """The arcs files of a persona, by name."""
    return tuple(sorted(path.name for path in folder.iterdir() if _ARCS.fullmatch(path.name)))


def choose_story(told: Collection[str]) -> str | None:
    """The story meant where none is named: the usual one, or the only one; None if unclear."""
    if DEFAULT_ARCS in told or not told:
        return DEFAULT_ARCS
    return next(iter(told)) if len(told) == 1 else None


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one story of one persona."""

    folder: Path
    arcs: str

    @property
    def id(self) -> str:
        """The folder's name, which is how people select the persona."""
        is_named = self.folder.name not in {"", ".."}
        return (self.folder if is_named else self.folder.resolve()).name

    @property
    def suffix(self) -> str:
        """What the story's folders end in: `180d`; empty for `arcs.yaml`."""
        match = _ARCS.fullmatch(self.arcs)
        return (match[1] or "") if match else ""

    @property
    def persona_file(self) -> Path:
        """Who the persona is."""
        return self.folder / "persona.yaml"

    @property
    def arcs_file(self) -> Path:
        """What happens to it."""
        return self.folder / self.arcs

    @property
    def memories(self) -> Path:
        """The folder of its days."""
        return self.folder / name_story_folder(self.arcs, "memories")

    @property
    def questions_file(self) -> Path:
        """What is asked."""
        return self.folder / name_story_folder(self.arcs, "qa") / "questions.yaml"

    @property
    def tools(self) -> Path:
        """The folder of its tool calls, which not every story has."""
        return self.folder / name_story_folder(self.arcs, "tools")

    @property
    def conversations(self) -> Path:
        """The folder of its conversations, which not every story has."""
        name = re.sub("^memories", "conversations", self.memories.name)
        return self.folder / name

    def name(self, path: Path) -> str:
        """The path as messages show it: from the data folder on."""
        return f"{self.id}/{path.relative_to(self.folder).as_posix()}"

    def find_missing(self) -> list[UsageError]:
        """What has to be there and is not, with what there is instead."""
        if not self.folder.is_dir():
            return [self._report_no_persona()]
        found = []
        if not self.persona_file.is_file():
            found.append(
                UsageError(f"{self.name(self.persona_file)} does not exist; every persona has one")
            )
        if not self.arcs_file.is_file():
            found.append(self._report_no_story())
        elif not (self.memories.is_dir() and self.questions_file.is_file()):
            found += self._report_no_corpus()
        return found

    def _report_no_persona(self) -> UsageError:
        data = self.folder.parent
        known = ", ".join(list_persona_ids(data)) if data.is_dir() else ""
        return UsageError(f"there is no persona {self.id} in {data}; there is {known or 'none'}")

    def _report_no_story(self) -> UsageError:
        known = list_stories(self.folder)
        if not known:
            return UsageError(f"{self.id} has no {self.arcs} and no other arcs file; add one")
        return UsageError(
            f"{self.id} has no {self.arcs}; it has {', '.join(known)}: "
            f"choose with --arcs {known[0]}"
        )

    def _report_no_corpus(self) -> list[UsageError]:
        told = [
            arcs
            for arcs in list_stories(self.folder)
            if (other := Layout(self.folder, arcs)).memories.is_dir()
            and other.questions_file.is_file()
        ]
        instead = f"or choose --arcs {told[0]}" if told else "no story of this persona has both yet"
        found = []
        if not self.memories.is_dir():
            name = self.name(self.memories)
            found.append(
                UsageError(
                    f"{name}, the days of {self.arcs}, does not exist; add it (`recall-bench "
                    f"generate` writes it), {instead}"
                )
            )
        if not self.questions_file.is_file():
            name = self.name(self.questions_file)
            found.append(
                UsageError(
                    f"{name}, the questions on {self.arcs}, does not exist; add it (`recall-bench "
                    f"generate-qa` writes it), {instead}"
                )
            )
        return found
