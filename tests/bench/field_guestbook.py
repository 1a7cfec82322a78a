"""FIELD's measurements 1 and 2: the guestbooks of examples/, read and signed."""

import math
import sqlite3
import sys
import time

import loads
from harness import guestbooks
from harness.modules import RUNNER
from harness.processes import wait_until
from harness.site import EXAMPLES
from stage import BRIDGES, Stage

CONNECTIONS = 16
SIDES = ["fcgiwrap", "mod_cgid", *(side for side in BRIDGES if side != "none")]
# 100 of these make a page of 10.8 kB, as in the published measurement.
ENTRY = ("visitor", "What a lovely site, thanks!")
FORM = "name=visitor&message=What+a+lovely+site%2C+thanks%21"
# The program of a language: guestbooks.py's, and C's once more as a module, beside which fcgiwrap and
# mod_cgid run the executable.
PROGRAMS = {**guestbooks.PROGRAMS, "WebAssembly": "guestbook.wasm"}
# Shares of a side's maximum rate, tried in this order.
PARTS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)


class GuestbookStage(Stage):
    """All sides with one language's guestbook. Each side has its own database, because mod_cgid's user is a
    different one."""

    def __init__(self, site, language, sides):
        self.language, self.program = language, PROGRAMS[language]
        self.is_module = self.program.endswith(".wasm")
        self.databases, self.rates = {}, {}
        for side in sides:
            (site.folder / f"db-{side}").mkdir(mode=0o777)
            (site.folder / f"db-{side}").chmod(0o777)
            self.databases[side] = site.folder / f"db-{side}" / "guestbook.db"
        super().__init__(site, [self.program], sides, keep_alive=True, connections=CONNECTIONS)

    def install(self, name):
        if self.is_module:
            super().install(name)
        else:
            guestbooks.install(self.site, self.language)

    def variables(self, side):
        inside = self.is_module and side in BRIDGES
        return {"GUESTBOOK_DB": "/db/guestbook.db" if inside else self.databases[side]}

    def settings(self, side):
        folder = self.databases[side].parent
        return f'wasm = {{ dirs = {{ "/db" = "{folder}" }} }}\n' if self.is_module else ""

    def settle(self, side):
        """When a load ends, up to CONNECTIONS requests are still being answered; waits for them."""
        if self.is_module and side in BRIDGES:
            # We do not see the lock of a module's SQLite, so we must not read while one writes.
            wait_until(lambda: not self.is_busy(side), "requests to end")
            return
        before, same = -1, 0
        while same < 4:
            time.sleep(0.05)
            now = self.count(side)
            same = same + 1 if now == before else 0
            before = now

    def is_busy(self, side):
        entry = self.bridges[side].program(self.site.cgi_bin / self.program)
        return any(worker["state"] == "busy" for worker in entry["workers_list"])

    def fill(self, side):
        """Puts the same 100 entries there, whatever was there before."""
        self.settle(side)
        with sqlite3.connect(self.databases[side], timeout=30) as db:
            db.execute("DELETE FROM entries")
        db.close()
        guestbooks.add_entries(self.databases[side], [ENTRY] * 100)

    def count(self, side):
        with sqlite3.connect(self.databases[side], timeout=30) as db:
            found = db.execute("SELECT count(*) FROM entries").fetchone()[0]
        db.close()
        return found

    def check(self, side):
        """The page must be the one that the guestbook's README specifies."""
        page = self.answer(side, self.program)
        if page != guestbooks.page_of(guestbooks.entries_of(self.databases[side])):
            raise SystemExit(f"{side} answers {self.program} with another page than README.md's")
        return len(page)

    def warm_up(self):
        """Creates and fills the tables, and makes every side as warm as it gets."""
        for side in self.wanted:
            self.answer(side, self.program)
            self.fill(side)
            if side in ("fork", "rewind"):
                self.bridges[side].wait_warm(self.site.cgi_bin / self.program)
            for form in (None, FORM):
                warm = loads.wrk(self.url(side, self.program), 1, CONNECTIONS, form)
                self.rates[side, form] = warm["requests_per_second"]

    def load(self, side, seconds, form=None):
        """Runs wrk, and longer if this time has too few answers for a p99."""
        wanted = 100 / max(self.rates[side, form], 0.1)
        return loads.wrk(self.url(side, self.program), math.ceil(max(seconds, min(wanted, 8 * seconds))),
                         CONNECTIONS, form)

    def reached(self, side):
        """What the bridge reports about the arm: (mode/reset, rewinds, workers that could not stay)."""
        entry = self.bridges[side].program(self.site.cgi_bin / self.program)
        return {"arm": entry["arm"], "level": entry["level"], "retired": entry["retired"],
                "rewinds": entry["rewind"]["rewinds"]}


def closed_loop(stage, seconds):
    """{side: {"reads": figures, "writes": figures}}; every write that was answered must be stored."""
    results = {}
    for side in stage.wanted:
        stage.fill(side)
        page_bytes = stage.check(side)
        results[side] = {"reads": stage.load(side, seconds),
                         "writes": stage.load(side, seconds, FORM)}
        stage.settle(side)
        lost = results[side]["writes"]["requests"] - (stage.count(side) - 100)
        if lost > 0:
            raise SystemExit(f"{side} lost {lost} entries of {stage.program}")
        stage.check(side)
        results[side]["reads"]["page_bytes"] = page_bytes
    return results


def signings(stage, side, rate, seconds):
    stage.fill(side)
    target = stage.target(side, stage.program)
    return loads.constant_rate(stage.server(side).port, target, FORM, rate, seconds, CONNECTIONS)


def constant_rates(stage, seconds, p99_ms_max):
    """{side: {"at_most": figures, "borne": figures or None, "tried": [...]}}: borne is the first of PARTS at
    which everything was right, nothing was left waiting, and p99 stayed below the bound."""
    results = {}
    for side in stage.wanted:
        at_most = signings(stage, side, 0, seconds)
        result = results[side] = {"at_most": at_most, "borne": None, "tried": []}
        for part in PARTS:
            # At a low rate, a few seconds have too few signings for a p99.
            rate = at_most["per_second"] * part
            figures = signings(stage, side, rate, max(seconds, min(50 / rate, 4 * seconds)))
            figures.update(rate=rate, part=part)
            result["tried"].append(figures)
            if not (figures["wrong"] or figures["overloaded"]) and figures["p99_ms"] <= p99_ms_max:
                result["borne"] = figures
                break
    return results


def languages_here(wanted):
    """The languages that were built; reports the others."""
    for language in wanted:
        if missing(language):
            print(f"{language}: {missing(language)}", file=sys.stderr)
    return [language for language in wanted if not missing(language)]


def missing(language):
    """Why a language is not available here, or None."""
    if language in guestbooks.PROGRAMS:
        return guestbooks.missing(language)
    if not RUNNER.exists():
        return "no cgibridge-wasm"
    return None if (EXAMPLES / PROGRAMS[language]).exists() else f"{PROGRAMS[language]} was not built"
