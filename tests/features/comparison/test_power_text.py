"""The text of `power` keeps to the width and to the letters of every other."""

from recall_bench.features.comparison.power_plan import plan_power, render_power, state_basis


def test_where_figures_are_from_steers_no_terminal_and_leaves_no_line_too_long() -> None:
    ground = state_basis(1.0, None, None).replace(
        source="runs/\x1b[31mred " + "a/long/folder " * 12
    )

    lines = render_power(plan_power(ground, difference=0.5)).splitlines()

    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 100
    (first,) = (number for number, line in enumerate(lines) if line.startswith("From "))
    assert lines[first + 1].startswith(" " * 13 + "a/long/folder")
