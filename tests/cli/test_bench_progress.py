"""Progress: a line now and then where there is no terminal, with what has gone wrong and what is left."""

from __future__ import annotations

import io

from local_react.bench.execution import Progress
from local_react.cli.bench_progress import describe, shown_progress
from local_react.cli.streams import open_console


def test_without_a_terminal_a_line_is_written_now_and_then():
    file, ticks = io.StringIO(), iter([0.0, 0.0, 10.0, 31.0, 40.0, 70.0])
    with shown_progress(open_console(file), clock=lambda: next(ticks)) as tell:
        for done in (1, 2, 3, 4):
            tell(Progress(n_total=20, n_done=done, n_before=1, n_unanswered=1, now="tiny · free · t1"))
    lines = file.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0] == "2 of 20 · 1 without an answer, tiny · free · t1 · about 9 min left"
    assert lines[1].startswith("4 of 20")


def test_what_has_gone_wrong_is_told():
    assert describe(Progress(n_total=3)) == ""
    assert describe(Progress(n_total=3, n_missed=2)) == " · 2 not run"


def test_the_time_left_is_not_guessed_before_anything_ran():
    file, ticks = io.StringIO(), iter([0.0, 0.0, 31.0])
    with shown_progress(open_console(file), clock=lambda: next(ticks)) as tell:
        tell(Progress(n_total=20, n_done=5, n_before=5))
    assert file.getvalue() == "5 of 20\n"
