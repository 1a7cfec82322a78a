"""What the comparison found, and what follows from it by arithmetic. Pure: figures in, figures out.

A round is a dict of figures. The median of several rounds counts; the lowest and the highest show how certain
it is.
"""
import dataclasses
import statistics

from . import histogram
from .arms import ALL
from .histogram import QUANTILES


@dataclasses.dataclass(frozen=True)
class Spread:
    """The median of some rounds, and their lowest and highest values."""
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values):
        """None without values."""
        known = [value for value in values if value is not None]
        return cls(statistics.median(known), min(known), max(known)) if known else None

    def width(self):
        """The distance from the lowest to the highest, as a share of the median."""
        return (self.most - self.least) / self.median if self.median else 0.0

    def as_json(self):
        return dataclasses.asdict(self)


class Series:
    """All rounds of one program on one side."""

    def __init__(self, side):
        self.side = side
        self.closed = []       # rounds of the closed loop
        self.rates = {}        # requests per second: rounds at that constant rate
        self.unavailable = ""  # why it could not be measured
        self.level = ""        # how deep the checkpoint was
        self.answers = ""      # "same", "varies by itself", "DIFFERENT"; "" for the base
        self.difference = ""   # where, in words
        self.remarks = []

    @property
    def name(self):
        return self.side.name

    @property
    def measured(self):
        return bool(self.closed)

    def withdraw(self, why):
        """The side is not available after all; its figures so far are discarded."""
        self.unavailable, self.closed, self.rates = why, [], {}

    def figure(self, name):
        """A figure of the closed loop: a Spread or None."""
        return Spread.of([figures[name] for figures in self.closed])

    def rate_percentile(self, rate, name):
        """A Spread, or None if too few requests were timed for such a rare case."""
        requests = sum(figures["planned"] for figures in self.rates.get(rate, []))
        rare = 1 - QUANTILES[name]
        return self.rate_figure(rate, f"{name}_ms") if requests * rare >= 0.99 else None

    def rate_figure(self, rate, name):
        return Spread.of([figures[name] for figures in self.rates.get(rate, [])])

    def latency(self, rate):
        """All rounds at a rate together, measured from the intended start."""
        joined = histogram.Histogram()
        for figures in self.rates.get(rate, []):
            joined.add(histogram.Histogram.from_json(figures["latency"]))
        return joined

    def total(self, name):
        """The sum over every round of every kind that has this figure."""
        rounds = [*self.closed, *(figures for found in self.rates.values() for figures in found)]
        return sum(figures.get(name, 0) for figures in rounds)


class Comparison:
    """One program on all sides. The others are compared with the first side that could be measured; that is
    classic if it was requested."""

    def __init__(self, program, path, sides):
        self.program, self.path = program, path
        self.series = {side.name: Series(side) for side in sides}
        self.expected_status = 200
        self.remarks = []

    @property
    def measured(self):
        return [series for series in self.series.values() if series.measured]

    @property
    def base(self):
        """The side that the others are compared with; None if nothing was measured."""
        classic = self.series.get("classic")
        return classic if classic and classic.measured else next(iter(self.measured), None)

    @property
    def best_arm(self):
        """The bridge's fastest arm other than the base; None if there is none. An arm that keeps state
        promises less than the others, so it is chosen only if there is no other."""
        arms = [s for s in self.measured if s.side.is_arm and s is not self.base]
        arms = [s for s in arms if s.side.reset != "none"] or arms
        return max(arms, key=lambda s: s.figure("requests_per_s").median, default=None)

    @property
    def rates(self):
        return sorted({rate for series in self.measured for rate in series.rates})

    def ratio(self, series, name="requests_per_s", over=None):
        """The ratio to the base's figure: of the medians, and the lowest and highest ratio of rounds with the
        same number."""
        base = over or self.base
        ours, theirs = series.figure(name), base.figure(name)
        if not ours or not theirs or not theirs.median:
            return None
        pairs = [a[name] / b[name] for a, b in zip(series.closed, base.closed)
                 if a[name] is not None and b[name]]
        ratio = ours.median / theirs.median
        return Spread(ratio, min([ratio, *pairs]), max([ratio, *pairs]))

    @property
    def rate_rounds(self):
        return [r for s in self.measured for rounds in s.rates.values() for r in rounds]

    @property
    def late_rounds(self):
        """The rounds in which the measuring client did not keep its own timetable."""
        return [figures for figures in self.rate_rounds if not figures["on_time"]]

    @property
    def different(self):
        return [s for s in self.series.values() if s.answers == "DIFFERENT"]

    def as_json(self):
        return {
            "program": self.program, "path": self.path, "remarks": self.remarks,
            "expected_status": self.expected_status,
            "base": self.base.name if self.base else None,
            "sides": {series.name: self.side_json(series) for series in self.series.values()},
        }

    def side_json(self, series):
        if not series.measured:
            return {"unavailable": series.unavailable}
        names = [name for name in series.closed[0]]
        speed_up = self.ratio(series)
        return {
            "what": ALL[series.name].what, "level": series.level, "answers": series.answers,
            "difference": series.difference, "remarks": series.remarks,
            "speed_up": speed_up.as_json() if speed_up else None,
            "median": {name: spread.median for name in names if (spread := series.figure(name))},
            "rounds": series.closed,
            "rates": [{"rate": rate, "rounds": rounds} for rate, rounds in series.rates.items()],
        }


def rates_of(comparison, asked, shares):
    """The constant rates for a program, whole numbers from 1 on: the requested ones, and shares (per cent) of
    what its slowest side reached in the closed loop."""
    slowest = min((s.figure("requests_per_s").median for s in comparison.measured), default=0)
    rates = [*asked, *(slowest * share / 100 for share in shares)]
    return sorted({max(1, round_down(rate)) for rate in rates})


def round_down(rate):
    """Rounds to two digits, which is as exact as such a rate is."""
    unit = 1
    while rate / unit >= 100:
        unit *= 10
    return int(rate // unit * unit)
