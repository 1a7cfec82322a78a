"""What a run of the tests prints."""

import collections
import sys

from results import FAILED, PASSED, SKIPPED, closing_line
from second_look import UNSTEADY_MOST

SAID_MOST = 30_000  # characters of a failed part's output; its failures and their summary are at its end


def say(text):
    print(text, flush=True)


def tell_part(done):
    """Prints one line about a part that is done, with its whole output if something in it failed."""
    counts = ", ".join(f"{done.counted(state)} {state}" for state in (PASSED, FAILED, SKIPPED)
                       if done.counted(state)) or "nothing to run"
    if done.failed():
        cut = len(done.said) - SAID_MOST
        say(done.said if cut <= 0 else f"[{cut} characters cut]\n{done.said[cut:]}")
    say(f"  {done.part.title:<44} {counts}  ({done.seconds:.0f} s, {done.cpu:.0f} s of CPU)")


def tell_second(title, passed, second):
    if not passed:
        say(second.said[-SAID_MOST:])
    say(f"  {title}: {'passed' if passed else 'failed'} when it was run again, alone")


def tell_skipped(done):
    for one in done:
        for test, outcome in one.outcomes.items():
            if outcome.state == SKIPPED:
                say(f"  skipped: {one.part.title_of(test)}: {outcome.text}")


def tell_times(steps, done):
    """Prints where the time went: steps are (name, seconds) of what ran before the tests. A section's minutes
    are the sum over its processes, several of which run at a time; what they wait is not in those of CPU."""
    say("  minutes      CPU  tests")
    for name, seconds in steps:
        say(f"  {seconds / 60:7.1f}                  {name}")
    seconds, cpu, tests = collections.Counter(), collections.Counter(), collections.Counter()
    for one in done:
        seconds[one.part.section] += one.seconds
        cpu[one.part.section] += one.cpu
        tests[one.part.section] += len(one.outcomes)
    for section, spent in seconds.most_common():
        say(f"  {spent / 60:7.1f}  {cpu[section] / 60:7.1f}  {tests[section]:5}  {section}, all its processes"
            " together")


def tell_total(done, verdict):
    """Prints the last lines; returns the exit code of the run."""
    total = collections.Counter(outcome.state for one in done for outcome in one.outcomes.values())
    failed, unsteady = len(verdict.failed), len(verdict.unsteady)
    if verdict.not_again:
        say(f"{len(verdict.not_again)} of those that failed were not run again: so many do not by chance")
    for title in verdict.failed:
        say(f"failed: {title}")
    for title in verdict.unsteady:
        say(f"unsteady: {title}")
    too_many = unsteady > UNSTEADY_MOST
    if too_many:
        say(f"{unsteady} are unsteady, and at most {UNSTEADY_MOST} may be: they count as failed")
        failed, unsteady = failed + unsteady, 0
    passed = total[PASSED] + unsteady
    say(closing_line(passed, failed, total[SKIPPED]))
    sys.stdout.flush()
    return 0 if passed and not failed else 1
