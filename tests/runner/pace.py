"""How many parts run at a time: as many as keep the processors busy. Most tests wait more than they compute,
but not all, and a machine may be shared."""

import os
import time

LEAST = os.cpu_count() + 2     # on however busy a machine
MOST = 2 * os.cpu_count() + 4
IDLE = 0.2                     # of the processors' time: there is room for one more
SECONDS = 2                    # are looked at; a part that has begun computes within them


def ticks():
    """(idle, all) of all processors since the machine began. Who waits for a disk is not idle."""
    with open("/proc/stat") as stat:
        counts = [int(word) for word in stat.readline().split()[1:9]]
    return counts[3], sum(counts)


def idle_between(before, after):
    """The part of the processors' time."""
    return (after[0] - before[0]) / max(after[1] - before[1], 1)


class Pace:
    def __init__(self, least=LEAST, most=MOST, ticks=ticks, now=time.monotonic):
        self.least, self.most = least, most
        self._ticks, self._now = ticks, now
        self._first = ticks()
        self._look()

    def allows(self, running):
        """Whether another part may begin while so many run. It is asked every moment."""
        if running >= self.least:
            if self._now() < self._until:
                return False
            idle = idle_between(self._seen, self._ticks())
            self._look()
            return running < self.most and idle >= IDLE
        self._look()
        return True

    def _look(self):
        self._seen, self._until = self._ticks(), self._now() + SECONDS

    def idle(self):
        """The part of the processors' time, since this was made."""
        return idle_between(self._first, self._ticks())
