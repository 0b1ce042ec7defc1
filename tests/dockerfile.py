"""The steps of a Dockerfile, carried out in a scratch folder: no container runtime is needed."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path


@dataclass(frozen=True)
class DockerStep:
    """One instruction."""

    name: str
    words: str


@dataclass
class DockerStage:
    """The instructions of one `FROM`."""

    base: str
    name: str | None
    steps: list[DockerStep] = field(default_factory=list)

    def find(self, name: str) -> list[str]:
        return [step.words for step in self.steps if step.name == name]


def read_dockerfile(path: Path) -> list[DockerStage]:
    """The stages, with continued lines joined and comments dropped."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    stages: list[DockerStage] = []
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        name, _, words = line.strip().partition(" ")
        if name == "FROM":
            base, _, alias = words.partition(" AS ")
            stages.append(DockerStage(base, alias or None))
        elif name:
            stages[-1].steps.append(DockerStep(name, words))
    return stages


def list_context(root: Path) -> Iterator[Path]:
    """The files that `.dockerignore` lets into the build, relative to the root."""
    rules = [
        line
        for line in (root / ".dockerignore").read_text().splitlines()
        if line and line[0] != "#"
    ]
    assert rules[0] == "*", "everything is left out unless it is named"
    kept = [rule[1:] for rule in rules if rule[0] == "!"]
    dropped = [rule.removeprefix("**/") for rule in rules[1:] if rule[0] != "!"]
    for name in kept:
        place = root / name
        for path in [place] if place.is_file() else place.rglob("*"):
            found = path.relative_to(root)
            names = [*found.parts, found.as_posix()]
            if path.is_file() and not any(
                fnmatch(each, rule) for each in names for rule in dropped
            ):
                yield found


@dataclass
class ScratchBuild:
    """Carries out COPY, RUN, ENV and WORKDIR of stages, each in a folder in place of its root."""

    context: Path
    """The files of the build."""
    place: Path
    """Holds the root of each stage."""
    environment: dict[str, str]
    """Of every command; its PATH has the programs that stand in for those of the image."""

    def build(self, stages: list[DockerStage]) -> Path:
        """Carry all out; the root of the last stage."""
        root = self.place
        for number, stage in enumerate(stages):
            root = self.place / (stage.name or str(number))
            self._build_stage(stage, root)
        return root

    def _build_stage(self, stage: DockerStage, root: Path) -> None:
        here, variables = root, dict(self.environment)
        for each in ("wheels", "tmp", "work"):
            (root / each).mkdir(parents=True)
        for step in stage.steps:
            if step.name == "WORKDIR":
                here = root / step.words.strip("/")
                here.mkdir(parents=True, exist_ok=True)
            elif step.name in ("ENV", "ARG"):
                key, _, value = step.words.partition("=")
                variables[key] = value
            elif step.name == "COPY":
                self._copy(step.words, here, root)
            elif step.name == "RUN":
                self._run(step.words, here, root, variables)

    def _copy(self, words: str, here: Path, root: Path) -> None:
        *sources, target = shlex.split(words)
        goal = root / target.strip("/") if target.startswith("/") else here / target
        for source in sources:
            found = self.context / source
            assert found.exists(), f"COPY {source}: not in the build"
            if found.is_dir():
                shutil.copytree(found, goal, dirs_exist_ok=True)
            else:
                is_folder = len(sources) > 1 or target.endswith("/") or goal.is_dir()
                shutil.copy(found, goal / found.name if is_folder else goal)

    def _run(self, words: str, here: Path, root: Path, variables: dict[str, str]) -> None:
        places: dict[str, Path] = {}
        while mount := re.match(r"--mount=(\S+)\s+", words):
            given = dict(part.split("=") for part in mount[1].split(","))
            places[given["target"]] = self.place / given["from"] / given["source"].strip("/")
            words = words[mount.end() :]
        command = re.sub(
            r"(?<![\w./}])/(?:wheels|tmp|work)\b",
            lambda found: str(places.get(found[0], root / found[0].strip("/"))),
            words,
        )
        done = subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=here,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
