"""Runs parts: several at a time, then those that must run alone."""

import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import results
from harness import processes
from parts import WHOLE
from results import FAILED, PASSED

MOMENT = 0.5  # seconds after which the pace is asked again


@dataclasses.dataclass
class Done:
    part: object
    outcomes: dict  # {test: Outcome}
    seconds: float
    cpu: float      # the processors' seconds that its process used, with all descendants that were waited for
    said: str       # the output of its process

    def failed(self):
        return [test for test, outcome in self.outcomes.items() if outcome.state == FAILED]

    def counted(self, state):
        return results.count(self.outcomes.values(), state)


class Hands:
    """Runs the commands of parts; folder is where their files go while they run. Leaving the context closes
    it, for whatever reason."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self._running = set()
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends what runs, and starts nothing more."""
        with self._lock:
            self._closed = True
            left = list(self._running)
        for process in left:
            kill(process)

    def all(self, part):
        """Runs all tests of a part; returns its Done."""
        return self._run(part, part.command, "")

    def again(self, part, test):
        """Runs one test again; returns a Done for it, which has passed only if the test ran and passed."""
        if test == WHOLE:
            return self._run(part, part.command, " again")
        done = self._run(part, lambda junit: part.command_again(test, junit), " again")
        if not done.counted(PASSED):
            done.outcomes.setdefault(test, results.Outcome(FAILED, "it was not run again"))
            done.outcomes[test].state = FAILED
        return done

    def _run(self, part, command, suffix):
        name = re.sub(r"[^\w.-]+", "-", part.title + suffix)
        junit, log = self.folder / f"{name}.xml", self.folder / f"{name}.log"
        junit.unlink(missing_ok=True)
        words, environment = command(junit)
        begun = time.monotonic()
        status, cpu = self._wait(words, environment, part, log)
        said = log.read_text(errors="replace")
        return Done(part, part.outcomes(junit, status, said), time.monotonic() - begun, cpu, said)

    def _wait(self, words, environment, part, log):
        with log.open("wb") as output:
            with self._lock:
                if self._closed:
                    return -signal.SIGTERM, 0
                try:
                    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output,
                                               stderr=subprocess.STDOUT, cwd=part.cwd,
                                               env={**os.environ, **environment})
                except OSError as error:
                    output.write(f"tests/run: cannot start {words[0]}: {error}\n".encode())
                    return 127, 0
                self._running.add(process)
            try:
                if not ended_within(process, part.minutes_max * 60):
                    output.write(f"\ntests/run: ended after {part.minutes_max} minutes\n".encode())
                    kill(process)
                return reap(process)
            finally:
                self._running.discard(process)


def kill(process):
    """Kills the process and all its descendants, by their ids; whoever started it reaps it."""
    for pid in processes.descendants_of(process.pid):
        processes.kill_quietly(pid)
    process.kill()


def ended_within(process, seconds):
    """Waits until the process has ended, and does not reap it; false if it takes longer."""
    late = time.monotonic() + seconds
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        if time.monotonic() > late:
            return False
        time.sleep(0.05)
    return True


def reap(process):
    """Its exit code, and the processors' seconds that it used (wait4(2))."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def carry_out(parts, hands, pace, heard):
    """Begins every part in the given order, as pace (pace.Pace) allows, but those that must run alone come
    after the others. heard(done) is called as each part is done, from one thread at a time. Returns the
    Dones."""
    assert len({part.title for part in parts}) == len(parts), "files are named by titles"
    done, running = [], set()
    waiting = collections.deque(part for part in parts if not part.alone)
    with concurrent.futures.ThreadPoolExecutor(pace.most) as pool:
        try:
            while waiting or running:
                while waiting and pace.allows(len(running)):
                    running.add(pool.submit(hands.all, waiting.popleft()))
                ended, running = concurrent.futures.wait(running, MOMENT if waiting else None,
                                                         concurrent.futures.FIRST_COMPLETED)
                for one in ended:
                    done.append(one.result())
                    heard(done[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            hands.close()  # because the pool waits for what runs
            raise
    for part in parts:
        if part.alone:
            done.append(hands.all(part))
            heard(done[-1])
    return done
