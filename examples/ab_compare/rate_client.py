"""The constant-rate client: reads a job (JSON) from its standard input, sends the requests, and writes its
results (JSON) to its standard output. constant_rate.py explains its purpose."""
import base64
import collections
import json
import os
import select
import socket
import sys
import time

from .answers import tls_context
from .histogram import Histogram
from .rate_connection import Connection

ANSWER_TIMEOUT_S = 30.0  # from the moment when a request was sent
GRACE_S = 10.0           # for requests that are still unanswered when the last one was due


class RateClient:
    """One event loop. Times are seconds of the monotonic clock."""

    def __init__(self, job):
        self.rate = job["rate"]
        self.planned = max(1, round(job["rate"] * job["seconds"]))
        self.connections_max = job["connections"]
        self.expected_status = job["expected_status"]
        self.request = base64.b64decode(job["request"])
        self.head = job["head"]
        self.host, self.address = job["host"], resolve(job["host"], job["port"])
        self.tls = tls_context() if job["tls"] else None
        self.epoll = select.epoll()
        self.open = {}                      # fd: connection
        self.idle = []                      # the most recently used is used next
        self.waiting = collections.deque()  # due times of requests without a connection
        self.latency = Histogram()          # from the intended start
        self.service = Histogram()          # from the moment it was sent
        self.lateness = Histogram()         # our own: from the intended start to our noticing
        self.statuses = collections.Counter()
        self.failures = collections.Counter()
        self.taken_up = self.answered = self.wrong_status = 0
        self.last_answer = self.last_look = 0.0

    def run(self):
        self.start = time.monotonic() + 0.02
        end = self.start + self.planned / self.rate + GRACE_S
        while True:
            now = time.monotonic()
            self.take_up_due(now)
            self.send_waiting()
            if now - self.last_look > 0.2:
                self.give_up_overdue(now)
            busy = len(self.open) - len(self.idle)
            if self.taken_up == self.planned and not self.waiting and not busy or now > end:
                break
            self.wait(self.due(self.taken_up) if self.taken_up < self.planned else now + 0.2)
        return self.result(time.monotonic())

    def due(self, number):
        return self.start + number / self.rate

    def take_up_due(self, now):
        while self.taken_up < self.planned and self.due(self.taken_up) <= now:
            due = self.due(self.taken_up)
            self.lateness.record((now - due) * 1e6)
            self.waiting.append(due)
            self.taken_up += 1

    def send_waiting(self):
        while self.waiting:
            if self.idle:
                connection = self.idle.pop()
            elif len(self.open) < self.connections_max:
                connection = self.connect()
                if connection is None:
                    continue
            else:
                return
            connection.begin(self.waiting.popleft(), time.monotonic())
            self.step(connection)

    def connect(self):
        """A new connection; None if none can be made, which fails a request."""
        try:
            connection = Connection(self.address, self.host, self.tls, self.request, self.head)
        except OSError as error:
            self.waiting.popleft()
            self.failures[error.strerror or str(error)] += 1
            return None
        self.open[connection.fileno()] = connection
        self.epoll.register(connection.fileno(), connection.interest)
        return connection

    def wait(self, until):
        # select() takes microseconds, epoll_wait() only milliseconds.
        left = min(0.2, until - time.monotonic())
        if left > 0:
            select.select([self.epoll], [], [], left)
        for fd, _ in self.epoll.poll(0):
            if connection := self.open.get(fd):
                self.step(connection)

    def step(self, connection):
        """Lets a connection do what it can, and records its outcome."""
        before = connection.interest
        outcome = connection.step()
        if outcome == "answered":
            self.note_answer(connection)
        elif outcome == "again":     # closed while idle: the request goes over another connection
            self.waiting.appendleft(connection.due)
            self.close(connection)
        elif outcome == "closed":
            self.close(connection)
        elif outcome:
            self.failures[outcome] += 1
            self.close(connection)
        elif connection.interest != before:
            self.epoll.modify(connection.fileno(), connection.interest)

    def note_answer(self, connection):
        now = time.monotonic()
        self.latency.record((now - connection.due) * 1e6)
        self.service.record((now - connection.sent) * 1e6)
        self.statuses[connection.answer.status] += 1
        self.wrong_status += connection.answer.status != self.expected_status
        self.answered += 1
        self.last_answer = now
        if connection.answer.keep_open:
            connection.rest()
            self.epoll.modify(connection.fileno(), connection.interest)
            self.idle.append(connection)
        else:
            self.close(connection)

    def close(self, connection):
        if connection in self.idle:
            self.idle.remove(connection)
        del self.open[connection.fileno()]
        self.epoll.unregister(connection.fileno())
        connection.close()

    def give_up_overdue(self, now):
        self.last_look = now
        for connection in list(self.open.values()):
            if connection.due is not None and now - connection.sent > ANSWER_TIMEOUT_S:
                self.failures["no answer in time"] += 1
                self.latency.record((now - connection.due) * 1e6)
                self.close(connection)

    def result(self, now):
        """A request that was never answered counts with the time that it has waited; its true latency is
        longer."""
        unanswered = [*self.waiting, *(c.due for c in self.open.values() if c.due is not None)]
        for due in unanswered:
            self.latency.record((now - due) * 1e6)
        for connection in list(self.open.values()):
            self.close(connection)
        spent = max(self.last_answer - self.start, 1e-9)
        return {
            "rate": self.rate, "planned": self.planned, "requests": self.answered,
            "requests_per_s": self.answered / spent if self.answered else 0.0,
            "unanswered": len(unanswered), "failed": sum(self.failures.values()),
            "failures": dict(self.failures), "wrong_status": self.wrong_status,
            "statuses": {str(status): n for status, n in sorted(self.statuses.items())},
            "latency": self.latency.as_json(), "service": self.service.as_json(),
            "lateness": self.lateness.as_json(),
        }


def resolve(host, port):
    """(family, address) of the host, looked up once."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return family, address


def main():
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except OSError:
        pass  # only root may do this; the report says how late the client was
    json.dump(RateClient(json.load(sys.stdin)).run(), sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
