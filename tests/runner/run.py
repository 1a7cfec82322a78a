"""One run: every part, the second run of what failed, and the report."""

import pathlib

import report
from carry_out import Hands, carry_out
from pace import Pace
from second_look import look_again


def run(parts, folder, kept, steps=()):
    """folder: for JUnit files and logs. kept: for the output of unsteady tests. steps: (name, seconds) of
    what ran before. Returns the exit code."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with Hands(folder) as hands:
        pace = Pace()
        done = carry_out(parts, hands, pace, report.tell_part)
        idle = pace.idle()
        if any(one.failed() for one in done):
            report.say("\n== what failed, again")
        verdict = look_again(done, hands, pathlib.Path(kept), report.tell_second)
    report.say("\n== skipped, and where the time went")
    report.tell_skipped(done)
    report.tell_times(steps, done)
    report.say(f"  the processors idled {idle:.0%} of the tests' time")
    report.say("\n== total")
    return report.tell_total(done, verdict)
