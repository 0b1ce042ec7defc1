"""How reliable a judge is: the judge lab, answers without a run, rejudging."""

from recall_bench.core.feature import Command, Feature

HERE = "recall_bench.features.judges"

FEATURE = Feature(
    name="judges",
    commands=(
        Command(
            name="rejudge",
            target=f"{HERE}.rejudge_command:rejudge_command",
            help="Grade the recorded answers of a run again, without its system.",
            section="Run",
        ),
        Command(
            name="judge",
            target=f"{HERE}.judge_lab_command:judge_command",
            help="Judge answers of your own, without a run.",
            section="Trust",
        ),
        Command(
            name="judge-lab",
            target=f"{HERE}.judge_lab_command:judge_lab_command",
            help="Measure how reliable a judge is.",
            section="Trust",
        ),
    ),
    parts={"judges.correct_headline": f"{HERE}.label_correction:correct_headline"},
)
