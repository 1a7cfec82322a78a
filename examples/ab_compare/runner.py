"""Runs a comparison: switches, sends requests and measures, in turn and several times."""
import os
import pathlib
import time

from . import Problem, answers, arms, bridge, mode_switch, processes, results
from .closed_loop import ClosedLoop
from .constant_rate import ConstantRate
from .peers import Stage
from .progress import Progress

SWITCH_WEIGHT_S = 1.2


class Runner:
    """Owns what has to be restored: the settings file and the servers that it started. close() does that,
    whatever happened before."""

    def __init__(self, given):
        self.given = given
        self.file = mode_switch.SettingsFile(given.config)
        control = given.control or self.file.bridge("control", "/run/cgibridge/control.sock")
        self.bridge = bridge.Bridge(given.cgibridge, control)
        self.sides = [arms.ARMS[name] for name in given.arms] + [arms.PEERS[n] for n in given.peers]
        self.closed = ClosedLoop(given.requests, given.seconds, given.concurrency, given.request)
        self.stage = None
        self.now_in = {}       # program: the arm that it was last switched to
        self.entered = set()   # (program, arm)s that were reached before
        self.programs = {name: self.file.find_program(name) for name in given.programs}
        self.progress = Progress(self.planned_weight())

    def close(self):
        try:
            self.file.restore()
        finally:
            if self.given.switch == "command" and self.now_in:
                self.bridge.command("reload")
            if self.stage:
                self.stage.close()
            self.progress.close()

    def run(self):
        pid = self.bridge.pid()
        self.start_servers(pid)
        for name in self.programs:
            if self.arms:
                answers.fetch(self.url(name, self.arms[0]), self.given.compare_request)
        return [self.compare(name) for name in self.programs]

    @property
    def arms(self):
        return [side for side in self.sides if side.is_arm]

    # Servers and URLs

    def start_servers(self, pid):
        given, own_nginx = self.given, not (self.given.url or self.given.exact_url)
        if not own_nginx and not given.peers:
            return
        programs = {self.public_name(name): (path, self.file.env_of(number))
                    for name, (number, path) in self.programs.items()}
        self.stage = Stage(programs, pid, max(given.concurrency, given.connections))
        if own_nginx and self.arms:
            listen = self.file.bridge("listen", [])
            if not listen:
                raise Problem("the settings name no `listen`: say --url")
            self.stage.add_bridge(listen[0])
        if "fcgiwrap" in given.peers:
            self.stage.add_fcgiwrap()
        if "mod_cgid" in given.peers:
            self.stage.add_mod_cgid()
        if "by-hand" in given.peers:
            found = {name: file for name in programs if (file := self.responder(name))}
            self.stage.add_by_hand(found)

    def responder(self, name):
        """The executable that answers FastCGI instead of that program, or None."""
        folder, plain = pathlib.Path(self.given.responders), pathlib.PurePath(name)
        candidates = (folder / plain.name, folder / f"{plain.stem}.fcgi")
        return next((file for file in candidates if os.access(file, os.X_OK) and file.is_file()), None)

    def public_name(self, name):
        """The program as it appears in a URL: below its root."""
        if not os.path.isabs(name):
            return name
        for root in map(os.path.realpath, self.file.bridge("roots", [])):
            if pathlib.Path(self.programs[name][1]).is_relative_to(root):
                return os.path.relpath(self.programs[name][1], root)
        return name

    def url(self, name, side):
        public = self.public_name(name)
        if not side.is_arm:
            url = self.stage.side_url(side.name, public)
        elif self.given.exact_url:
            url = self.given.exact_url
        elif self.given.url:
            url = f"{self.given.url.rstrip('/')}/{public}"
        else:
            url = self.stage.side_url("bridge", public)
        if self.given.query:
            url += ("&" if "?" in url else "?") + self.given.query
        return url

    # Getting into an arm

    def enter(self, name, side):
        """Switches, and returns when that arm answers. Returns "", or why it does not."""
        if not side.is_arm or self.now_in.get(name) == side:
            return ""
        number, path = self.programs[name]
        self.now_in[name] = side
        if self.given.switch == "config":
            self.file.switch(number, path, side.values())
        else:
            self.bridge.command("mode", path, side.mode)
        url, request = self.url(name, side), self.given.compare_request
        steady_s = bridge.KNOWN_STEADY_S if (name, side) in self.entered else bridge.STEADY_S
        refusal = self.bridge.settle(path, side, lambda: answers.fetch(url, request), steady_s)
        if not refusal:
            self.entered.add((name, side))
        return refusal

    # One program

    def compare(self, name):
        number, path = self.programs[name]
        found = results.Comparison(name, path, self.sides)
        if (others := self.file.others_of(number, path)):
            found.remarks.append(f"its [[program]] is also that of {', '.join(others)}: switched as well")
        self.compare_answers(found)
        for series_round in range(1, self.given.rounds + 1):
            for series in self.in_turn(found, series_round):
                self.closed_round(found, series, series_round)
        rates = results.rates_of(found, self.given.rate, self.given.rate_share)
        for rate in rates:
            for series_round in range(1, self.given.rate_rounds + 1):
                for series in self.in_turn(found, series_round):
                    self.rate_round(found, series, rate, series_round)
        for series in found.measured:
            self.note_doubts(found, series)
        if late := found.late_rounds:
            found.remarks.append(
                f"the constant-rate client was late itself in {len(late)} round(s), by up to "
                f"{max(r['late_p99_ms'] for r in late):.1f} ms (p99): latencies there are upper bounds")
        return found

    def in_turn(self, found, number):
        """The available sides; in reverse order every second round, so that a machine that becomes slower or
        faster meanwhile does not favour the last side."""
        there = [series for series in found.series.values() if not series.unavailable]
        return there if number % 2 else there[::-1]

    def compare_answers(self, found):
        """Runs before any round, because requests that write change the program's answers."""
        base = None
        for series in found.series.values():
            self.progress.doing(f"{found.program}: answers of {series.name}")
            self.look_at_answers(found, series, base)
            if base is None and not series.unavailable:
                base = series
            self.progress.finished(self.compare_weight(series.side))
            self.progress.say(f"{found.program}, {series.name}: " + (
                f"cannot be measured: {series.unavailable}" if series.unavailable
                else f"{self.given.fetches} answers" + (f": {series.answers}" if series.answers else "")))
        if base is None:
            reasons = "; ".join(f"{s.name}: {s.unavailable}" for s in found.series.values())
            raise Problem(f"{found.program} cannot be measured: {reasons}")
        found.expected_status = self.given.request == self.given.compare_request \
            and base.fetched[0].status or answers.fetch(self.url(found.program, base.side),
                                                        self.given.request).status
        for series in found.series.values():
            series.fetched = None

    def look_at_answers(self, found, series, base):
        name, side = found.program, series.side
        if self.stage and not side.is_arm and not self.stage.has(side.name, self.public_name(name)):
            series.unavailable = f"no responder for it in {self.given.responders}"
            return
        series.unavailable = self.enter(name, side)
        if series.unavailable:
            return
        url = self.url(name, side)
        series.fetched = [answers.fetch(url, self.given.compare_request)
                          for _ in range(self.given.fetches)]
        if side.is_arm:
            series.level = self.bridge.program(found.path).get("level", "")
        if base is None:
            return
        series.answers, series.difference = answers.compare(
            base.fetched, series.fetched, whole=side.is_arm and base.side.is_arm)
        if not side.is_arm and series.fetched[0].status != base.fetched[0].status:
            series.unavailable = (f"answers {series.fetched[0].status} where the others answer "
                                  f"{base.fetched[0].status}")

    # One round

    def closed_round(self, found, series, number):
        what = f"{found.program}: round {number} of {self.given.rounds}, {series.name}"
        self.progress.doing(what)
        url = self.prepare(found, series)
        if url:
            figures = self.measured(found, series, lambda: self.closed.run(url))
        if url and figures:
            bad = figures.pop("not_2xx")
            # ab knows only whether a status was 2xx.
            good_is_2xx = 200 <= found.expected_status < 300
            figures["wrong_status"] = bad if good_is_2xx else figures["requests"] - bad
            series.closed.append(figures)
            what += f": {figures['requests_per_s']:,.0f} requests/s"
        self.progress.finished(self.closed_weight(series.side), what)

    def rate_round(self, found, series, rate, number):
        what = f"{found.program}: {rate} requests/s, round {number}, {series.name}"
        self.progress.doing(what)
        url = self.prepare(found, series)
        if url:
            load = ConstantRate(rate, self.given.rate_seconds, self.given.connections,
                                self.given.request, found.expected_status)
            figures = self.measured(found, series, lambda: load.run(url))
        if url and figures:
            series.rates.setdefault(rate, []).append(figures)
            what += f": p99 {figures['p99_ms']:,.1f} ms"
        self.progress.finished(self.rate_weight(series.side), what)

    def prepare(self, found, series):
        """The URL to measure, warmed up; None if the arm is no longer available."""
        if lost := self.enter(found.program, series.side):
            series.withdraw(lost)
            return None
        url = self.url(found.program, series.side)
        self.closed.warm_up(url)
        return url

    def measured(self, found, series, load):
        """load()'s figures, with the CPU time and the memory of that side; None if the arm was lost."""
        side = series.side
        if side.is_arm:
            pids = [self.bridge.pid()]
            others = self.bridge.warm_pids(but_not=found.path if side.mode == "persistent" else None)
        else:
            pids = self.stage.pids(side.name, self.public_name(found.program))
            others = set()
        before = processes.cpu_seconds(pids)
        with processes.MemoryWatch(pids, others) as memory:
            figures = load()
        spent = processes.cpu_seconds(pids) - before
        figures["cpu_ms_per_request"] = (
            spent * 1000 / max(1, figures["requests"]) if side.cpu_known else None)
        figures["memory_bytes"] = memory.median()
        if side.is_arm and not bridge.is_in(now := self.bridge.program(found.path), side):
            # The figures so far were taken while the arm was already failing.
            series.withdraw("the bridge took it out of this arm under load: " + bridge.reason(now, side))
            return None
        return figures

    def note_doubts(self, found, series):
        series.remarks = list(dict.fromkeys(series.remarks))
        if failed := series.total("failed"):
            series.remarks.append(f"{failed:,} requests failed")
        if wrong := series.total("wrong_status"):
            series.remarks.append(f"{wrong:,} answers had another status than {found.expected_status}")
        if unanswered := series.total("unanswered"):
            series.remarks.append(f"{unanswered:,} requests at a constant rate had no answer at its end")

    # Estimated durations

    def compare_weight(self, side):
        return (SWITCH_WEIGHT_S if side.is_arm else 0.2) + 0.2

    def closed_weight(self, side):
        return (SWITCH_WEIGHT_S if side.is_arm else 0) + self.given.seconds * 1.25

    def rate_weight(self, side):
        return (SWITCH_WEIGHT_S if side.is_arm else 0) + self.given.rate_seconds * 1.05 + 0.5

    def planned_weight(self):
        rates = len(self.given.rate) + len(self.given.rate_share)
        side_weight = sum(
            self.compare_weight(side) + self.given.rounds * (
                self.closed_weight(side)) + self.given.rate_rounds * rates * self.rate_weight(side)
            for side in self.sides)
        return side_weight * len(self.given.programs)
