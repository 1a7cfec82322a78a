"""The tables for the terminal, and the rows of the CSV file."""
import csv

from . import verdict

CLOSED = ("program", "side", "requests/s", "spread", "speed-up", "spread", "p50", "p95", "p99",
          "CPU/req", "memory", "bytes")
RATED = ("program", "side", "rate", "achieved", "p50", "p90", "p99", "p99.9", "max",
         "uncorrected p99", "CPU/req", "client late")
LEGEND = """\
p50 to max: milliseconds. CPU/req: of the side's processes, milliseconds (?: not to be known). memory: of
the same processes (PSS) under load, MiB. Medians of the rounds; spread: least to most. speed-up: beside
the program's first side."""
RATE_LEGEND = """\
At a constant rate a latency counts from the moment at which the request was meant to start (corrected for
coordinated omission); uncorrected: from the moment at which it was sent. client late: by how much the
measuring client itself missed its timetable, p99."""


def text(comparisons):
    parts = ["The most that goes through (closed loop):", "",
             columns(CLOSED, [row for c in comparisons for row in closed_rows(c)], left=(0, 1, 11)),
             "", LEGEND]
    if any(c.rates for c in comparisons):
        parts += ["", "At a constant rate:", "",
                  columns(RATED, [row for c in comparisons for row in rate_rows(c)], left=(0, 1)),
                  "", RATE_LEGEND]
    if lines := remarks(comparisons):
        parts += ["", *lines]
    return "\n".join([*parts, "", *wrapped(verdict.paragraph(comparisons))])


def remarks(comparisons):
    for comparison in comparisons:
        for remark in comparison.remarks:
            yield f"{comparison.program}: {remark}"
        for series in comparison.series.values():
            place = f"{comparison.program}, {series.name}: "
            if series.unavailable:
                yield place + f"not measured: {series.unavailable}"
            if series.difference and series.answers == "DIFFERENT":
                yield place + f"DIFFERENT: {series.difference}"
            for remark in series.remarks:
                yield place + remark


def closed_rows(comparison):
    """A list of lists of cells; an empty one between programs."""
    name = comparison.program
    for series in comparison.series.values():
        if not series.measured:
            yield [name, series.name, "-"] + [""] * 9
        else:
            speed, ratio = series.figure("requests_per_s"), comparison.ratio(series)
            memory = series.figure("memory_bytes")
            compared = series is not comparison.base and ratio
            several = len(series.closed) > 1
            yield [name, series.name, number(speed.median),
                   f"{number(speed.least)}-{number(speed.most)}" if several else "",
                   f"{ratio.median:.2f} x" if compared else "",
                   f"{ratio.least:.2f}-{ratio.most:.2f}" if compared and several else "",
                   *(f"{series.figure(f'p{p}_ms').median:,.1f}" for p in (50, 95, 99)),
                   cell(series.figure("cpu_ms_per_request"), 2),
                   "?" if memory is None else f"{memory.median / 2**20:.1f}", series.answers]
        name = ""
    yield []


def rate_rows(comparison):
    name = comparison.program
    for rate in comparison.rates:
        for series in comparison.measured:
            if rate not in series.rates:
                continue
            figure = lambda what: series.rate_figure(rate, what)
            yield [name, series.name, f"{rate:,}", number(figure("requests_per_s").median),
                   *(cell(series.rate_percentile(rate, p), none="") for p in ("p50", "p90", "p99", "p99_9")),
                   cell(figure("max_ms")),
                   cell(series.rate_percentile(rate, "p99") and figure("uncorrected_p99_ms"), none=""),
                   cell(figure("cpu_ms_per_request"), 2),
                   cell(figure("late_p99_ms")) + ("" if on_time(series, rate) else " !")]
            name = ""
    yield []


def on_time(series, rate):
    return all(figures["on_time"] for figures in series.rates[rate])


def cell(spread, digits=1, none="?"):
    return none if spread is None else f"{spread.median:,.{digits}f}"


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def columns(head, rows, left):
    cells = [list(head), *rows]
    widths = [max(len(row[at]) for row in cells if row) for at in range(len(head))]
    lines = []
    for row in cells:
        lines.append("  ".join(cell.ljust(width) if at in left else cell.rjust(width)
                               for at, (cell, width) in enumerate(zip(row, widths))).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * len(widths) - 2))
    return "\n".join(lines).rstrip()


def wrapped(paragraph, width=100):
    lines, line = [], ""
    for word in paragraph.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return [*lines, line]


def write_csv(path, comparisons):
    """One line per round, for readers who want to do their own statistics."""
    plain = ("requests", "requests_per_s", "failed", "wrong_status", "unanswered", "p50_ms", "p90_ms",
             "p95_ms", "p99_ms", "p99_9_ms", "max_ms", "late_p99_ms", "cpu_ms_per_request",
             "memory_bytes")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["program", "side", "load", "rate", "round", *plain])
        for comparison in comparisons:
            for series in comparison.measured:
                loads = [("closed loop", "", series.closed),
                         *(("constant rate", rate, rounds) for rate, rounds in series.rates.items())]
                for load, rate, rounds in loads:
                    for at, figures in enumerate(rounds, start=1):
                        writer.writerow([comparison.program, series.name, load, rate, at,
                                         *(figures.get(name, "") for name in plain)])
