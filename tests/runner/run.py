"""One run: every part, the second run of what failed, and the report."""

import os
import pathlib

import report
from carry_out import Hands, carry_out
from second_look import look_again

# More than the processors, because many tests wait more than they compute.
SLOTS = os.cpu_count() + 2


def run(parts, folder, kept, steps=()):
    """folder: for JUnit files and logs. kept: for the output of unsteady tests. steps: (name, seconds) of
    what ran before. Returns the exit code."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with Hands(folder) as hands:
        done = carry_out(parts, hands, SLOTS, report.tell_part)
        if any(one.failed() for one in done):
            report.say("\n== what failed, again")
        verdict = look_again(done, hands, pathlib.Path(kept), report.tell_second)
    report.say("\n== skipped, and where the time went")
    report.tell_skipped(done)
    report.tell_times(steps, done)
    report.say("\n== total")
    return report.tell_total(done, verdict)
