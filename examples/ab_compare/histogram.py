"""Latencies, counted in buckets that grow with them: any quantile to within 0.4 %, in little memory.

Values are whole microseconds. Each value below 256 has its own bucket; above, every doubling is cut into 128
equal buckets (the layout of HdrHistogram). Histograms of several rounds can be added.
"""
import math

EXACT = 256          # below this, one bucket per value
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}   # the ones that are shown
PARTS = EXACT // 2   # buckets in each doubling above


def bucket_of(value):
    if value < EXACT:
        return value
    shift = value.bit_length() - 8
    return EXACT + (shift - 1) * PARTS + (value >> shift) - PARTS


def middle_of(bucket):
    """The value that represents a bucket."""
    if bucket < EXACT:
        return bucket
    shift, part = divmod(bucket - EXACT, PARTS)
    low = (part + PARTS) << (shift + 1)
    return low + (1 << shift)


class Histogram:
    def __init__(self):
        self.counts = {}   # bucket: how many
        self.total = 0
        self.sum = 0
        self.least = None
        self.most = None

    def record(self, value):
        value = max(0, round(value))
        bucket = bucket_of(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.total += 1
        self.sum += value
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)

    def add(self, other):
        """Adds another histogram to this one; returns itself."""
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.total += other.total
        self.sum += other.sum
        self.least = min((v for v in (self.least, other.least) if v is not None), default=None)
        self.most = max((v for v in (self.most, other.most) if v is not None), default=None)
        return self

    def mean(self):
        return self.sum / self.total if self.total else None

    def quantile(self, q):
        """The smallest value that at least the share q (0 to 1) does not exceed; None if empty."""
        if not self.total:
            return None
        wanted, seen = max(1, math.ceil(q * self.total - 1e-9)), 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted:
                return min(self.most, max(self.least, middle_of(bucket)))
        return self.most

    def curve(self):
        """[(share, value)]: for each bucket in order, the share of all values that are not above it."""
        points, seen = [], 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            value = min(self.most, max(self.least, middle_of(bucket)))
            points.append((seen / self.total, value))
        return points

    def as_json(self):
        return {"sum": self.sum, "least": self.least, "most": self.most,
                "counts": sorted(self.counts.items())}

    @classmethod
    def from_json(cls, document):
        made = cls()
        made.counts = {bucket: count for bucket, count in document["counts"]}
        made.total = sum(made.counts.values())
        made.sum, made.least, made.most = document["sum"], document["least"], document["most"]
        return made
