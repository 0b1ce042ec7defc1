"""The cluster examples: what can be known of them without a cluster is checked."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from recall_bench.cli.main import cli, list_names

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs" / "examples"
SCRIPTS = sorted(EXAMPLES.glob("slurm-*.sh"))
PAGE = ROOT / "docs" / "how-to" / "scale-out.md"


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8")))


def clusters() -> list[dict[str, Any]]:
    (cluster, _claim), (job,) = manifests("ray-cluster.yaml"), manifests("ray-job.yaml")
    return [cluster["spec"], job["spec"]["rayClusterSpec"]]


def commands(text: str, program: str) -> Iterator[list[str]]:
    """The words that follow a program, wherever it is called in a shell text."""
    joined = re.sub(r"\\\n\s*", " ", text)
    for line in joined.splitlines():
        words = shlex.split(line, comments=True, posix=True)
        called = [
            n for n, word in enumerate(words) if word == program and words[n - 1] != "--executor"
        ]
        for n in called[:1]:
            after = words[n + 1 :]
            yield after[: after.index("--")] if "--" in after else after


def flags(words: Iterable[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def shell_of(page: Path) -> str:
    found = re.findall(r"```(?:sh|bash)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return "\n".join(found)


def everything() -> str:
    (job,) = manifests("ray-job.yaml")
    texts = [script.read_text(encoding="utf-8") for script in SCRIPTS]
    return "\n".join([shell_of(PAGE), job["spec"]["entrypoint"], *texts])


def known(command: click.Command) -> set[str]:
    return {opt for param in command.params for opt in [*param.opts, *param.secondary_opts]}


def test_every_recall_bench_command_names_flags_that_exist() -> None:
    found = [words for words in commands(everything(), "recall-bench") if words[0] in list_names()]

    assert len(found) >= 6
    for name, *words in found:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert flags(words) <= known(command), words


def test_every_ray_command_names_flags_that_exist() -> None:
    pytest.importorskip("ray")
    from ray.scripts.scripts import cli as ray

    found = list(commands(everything(), "ray"))

    assert {words[0] for words in found} >= {"start", "status", "stop", "symmetric-run"}
    for name, *words in found:
        options = known(ray.commands[name])
        if name == "symmetric-run":
            options |= known(ray.commands["start"]) - {"--head", "--port", "--block"}
        assert flags(words) <= options, (name, words)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_batch_scripts_are_shell(script: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")

    read = subprocess.run([bash, "-n", str(script)], capture_output=True, text=True, check=False)

    assert read.returncode == 0, read.stderr


def test_manifests_are_of_the_kinds_that_the_operator_knows() -> None:
    cluster, claim = manifests("ray-cluster.yaml")
    (job,) = manifests("ray-job.yaml")

    assert [each["kind"] for each in (cluster, claim, job)] == [
        "RayCluster",
        "PersistentVolumeClaim",
        "RayJob",
    ]
    assert cluster["apiVersion"] == job["apiVersion"] == "ray.io/v1"


@pytest.mark.parametrize("number", [0, 1], ids=["cluster", "job"])
def test_every_pod_has_one_image_and_sees_what_is_shared(number: int) -> None:
    """A run folder on a disk of one pod keeps forked personas whole, for no visible reason."""
    spec = clusters()[number]
    pods = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    inside = [pod["template"]["spec"] for pod in pods]
    containers = [container for pod in inside for container in pod["containers"]]

    assert len({container["image"] for container in containers}) == 1
    assert {str(c["volumeMounts"]) for c in containers} == {str(containers[0]["volumeMounts"])}
    for pod in inside:
        names = {volume["name"] for volume in pod["volumes"]}
        assert {m["name"] for c in pod["containers"] for m in c["volumeMounts"]} == names
        assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == "recall-shared"


def test_the_job_has_room_for_its_workers() -> None:
    spec = clusters()[1]
    (job,) = manifests("ray-job.yaml")
    (group,) = spec["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    words = shlex.split(job["spec"]["entrypoint"])

    cpus = group["replicas"] * int(container["resources"]["limits"]["cpu"])
    assert int(words[words.index("--workers") + 1]) <= cpus
