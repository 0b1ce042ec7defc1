"""`heatmap` draws in the colours asked for, and nothing else changes."""

from click import Choice
from click.testing import CliRunner

from recall_bench.cli.main import cli
from recall_bench.cli.report import heatmap_command
from recall_bench.reporting.heatmap.colours import ColourScale, colour_score
from tests.written_runs import Story


def drawn(story: Story, *options: str) -> str:
    path = story.save() / "picture.svg"
    arguments = [str(story.folder), "--output", str(path), *options]
    done = CliRunner().invoke(cli, ["heatmap", *arguments])
    assert done.output == f"{path}\n"
    return path.read_text("utf-8")


def test_colours_are_those_asked_for(finished: Story) -> None:
    usual, other = drawn(finished), drawn(finished, "--colours", "colour-blind")
    best, best_for_all = colour_score(6, 6), colour_score(6, 6, ColourScale.COLOUR_BLIND)

    assert best in usual
    assert best_for_all not in usual
    assert best_for_all in other
    assert best not in other


def test_other_colours_are_refused_with_those_there_are(finished: Story) -> None:
    done = CliRunner().invoke(cli, ["heatmap", str(finished.save()), "--colours", "grey"])

    assert done.exit_code == 2
    assert "'standard', 'colour-blind'" in done.output


def test_every_scale_can_be_asked_for() -> None:
    option = next(each for each in heatmap_command.params if each.name == "colours")

    assert isinstance(option.type, Choice)
    assert list(option.type.choices) == [scale.value for scale in ColourScale]
