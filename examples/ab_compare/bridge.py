"""A running bridge as seen from outside: what `cgibridge status` says, and how to get it into an arm."""
import json
import subprocess
import time

from . import Problem

SWITCH_TIMEOUT_S = 20
GIVE_UP_S = 3         # for an arm if the status says why it is not available
STEADY_S = 0.7        # a warm program is ready when it has not changed for this long
KNOWN_STEADY_S = 0.3  # the same in an arm that it has been in before


class Bridge:
    """Talks to the daemon by the command-line program, as a user would."""

    def __init__(self, executable, control):
        self.executable, self.control = executable, control

    def command(self, *words):
        try:
            done = subprocess.run([self.executable, *words, "--control", self.control],
                                  capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Problem(f"cannot run {self.executable}: {error}") from None
        if done.returncode != 0:
            raise Problem(f"`cgibridge {' '.join(words)}` failed: {done.stderr.strip()}")
        return done.stdout

    def status(self):
        return json.loads(self.command("status", "--json"))

    def pid(self):
        return self.status()["bridge"]["pid"]

    def program(self, path):
        """What the status says about one program; {} before its first request."""
        return next((p for p in self.status()["programs"] if p["path"] == path), {})

    def warm_pids(self, but_not=None):
        """The zygotes and workers of all programs, or of all except one."""
        pids = set()
        for program in self.status()["programs"]:
            if program["path"] != but_not:
                pids.update(filter(None, [program["zygote_pid"], *program["worker_pids"]]))
        return pids

    def settle(self, path, arm, ask, steady_s=STEADY_S):
        """Sends requests (with ask()) until the program is answered in that arm; in a warm arm, until it is
        as warm as it gets. Returns "", or why that does not happen."""
        deadline = time.monotonic() + SWITCH_TIMEOUT_S
        counter, before, steady_since = f"requests_{arm.mode}", None, time.monotonic()
        while True:
            known = self.program(path).get(counter, 0)
            ask()
            now = self.program(path)
            answered_so = is_in(now, arm) and now[counter] > known
            state = (now.get("generation"), now.get("zygote_pid"), answered_so)
            if state != before:
                before, steady_since = state, time.monotonic()
            steady_for_s = time.monotonic() - steady_since
            if answered_so and (arm.mode == "classic" or steady_for_s >= steady_s):
                return ""
            given_up = steady_for_s >= GIVE_UP_S and hopeless(now, arm)
            if given_up or time.monotonic() > deadline:
                return reason(now, arm)
            time.sleep(0.1)


def is_in(program, arm):
    """Whether the status shows that the program is in that arm."""
    return program.get("mode") == arm.mode and (
        arm.reset is None or program.get("reset") == arm.reset)


def demoted(program, arm):
    """Whether the bridge knows the wish but gives the program another reset."""
    return program.get("mode") == arm.mode and arm.reset is not None \
        and program.get("reset_asked") == arm.reset != program.get("reset")


def cold(program, arm):
    """Whether the bridge says why nothing of the program is warm."""
    return arm.mode == "persistent" and bool(program.get("level_reason")) \
        and program.get("level") == "none" and not program.get("zygote_pid")


def hopeless(program, arm):
    return not program or demoted(program, arm) or cold(program, arm)


def reason(program, arm):
    if demoted(program, arm):
        return program.get("reset_reason") or f"it is given {program.get('reset')} instead"
    if cold(program, arm):
        return program["level_reason"]
    if not program:
        return "the bridge knows nothing of it: do these requests reach this bridge?"
    return "it did not get there in time; the bridge's log says why"
