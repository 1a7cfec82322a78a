"""What the comparison found: a table for the terminal, CSV and JSON files, and a picture."""
import csv
import json
import pathlib
import statistics

MODES = ("classic", "persistent")
COLUMNS = ("program", "mode", "requests/s", "spread", "p50", "p95", "p99", "CPU/req", "memory",
           "speed-up", "spread", "bytes")


class Comparison:
    """One program's rounds in both modes: `rounds[mode]` is a list of figures, one a round."""

    def __init__(self, program):
        self.program = program
        self.rounds = {mode: [] for mode in MODES}
        self.answers = ""   # compare_answers' words
        self.became_persistent = True  # if not, both modes are classic, and no speed-up is shown
        self.level = ""     # how deep the checkpoint was
        self.remark = ""    # what the reader must know beside the figures

    def figures(self, mode):
        """The medians of a mode's rounds, and the least and most requests/s."""
        rounds = self.rounds[mode]
        result = {}
        for name in rounds[0]:
            values = [figures[name] for figures in rounds if figures[name] is not None]
            result[name] = statistics.median(values) if values else None
        speeds = [figures["requests_per_s"] for figures in rounds]
        result["requests_per_s_min"], result["requests_per_s_max"] = min(speeds), max(speeds)
        return result

    def speed_up(self):
        """Of the medians; then the least and most of rounds that followed each other."""
        pairs = zip(self.rounds["classic"], self.rounds["persistent"])
        ratios = [warm["requests_per_s"] / cold["requests_per_s"] for cold, warm in pairs]
        classic, persistent = (self.figures(mode)["requests_per_s"] for mode in MODES)
        return persistent / classic, min(ratios), max(ratios)

    def as_json(self):
        median, least, most = self.speed_up()
        return {
            "program": self.program,
            "became_persistent": self.became_persistent,
            "level": self.level,
            "speed_up": {"median": median, "min": least, "max": most},
            "answers": self.answers,
            "remark": self.remark,
            **{mode: {"median": self.figures(mode), "rounds": self.rounds[mode]} for mode in MODES},
        }


def table(comparisons):
    rows = [COLUMNS]
    for comparison in comparisons:
        for mode in MODES:
            rows.append(table_row(comparison, mode))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) if column < 2 or column == len(row) - 1 else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
        if number % 2 == 0:
            lines.append("-" * (sum(widths) + 2 * len(widths) - 2) if number == 0 else "")
    remarks = [f"{c.program}: {c.remark}" for c in comparisons if c.remark]
    legend = ("p50, p95, p99: milliseconds. CPU/req: of the bridge and all programs, milliseconds. "
              "memory: of the same\nprocesses (PSS) under load, MiB. Medians of the rounds; spread: "
              "least to most.")
    return "\n".join([*lines[:-1], "", legend, *remarks])


def table_row(comparison, mode):
    figures = comparison.figures(mode)
    median, least, most = comparison.speed_up()
    warm = mode == "persistent"
    ratio = warm and comparison.became_persistent
    memory = figures["memory_bytes"]
    return (
        "" if warm else comparison.program,
        mode,
        f"{figures['requests_per_s']:,.0f}",
        f"{figures['requests_per_s_min']:,.0f}-{figures['requests_per_s_max']:,.0f}",
        *(f"{figures[f'p{p}_ms']:,.1f}" for p in (50, 95, 99)),
        f"{figures['cpu_ms_per_request']:.2f}",
        "?" if memory is None else f"{memory / 2**20:.1f}",
        f"{median:.2f} x" if ratio else "",
        f"{least:.2f}-{most:.2f}" if ratio else "",
        comparison.answers if warm else "",
    )


def write_csv(path, comparisons):
    """One line a round, for those who want to do their own statistics."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        names = list(comparisons[0].rounds["classic"][0])
        writer.writerow(["program", "mode", "round", *names])
        for comparison in comparisons:
            for mode in MODES:
                for number, figures in enumerate(comparison.rounds[mode], start=1):
                    writer.writerow([comparison.program, mode, number,
                                     *(figures[name] for name in names)])


def write_json(path, setup, comparisons):
    document = {"setup": setup, "programs": [c.as_json() for c in comparisons]}
    pathlib.Path(path).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def write_picture(path, comparisons):
    """False if matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(1.5 + 1.4 * len(comparisons), 4.5))
    for shift, mode, colour in ((-0.2, "classic", "#9aa5b1"), (0.2, "persistent", "#2f6f9f")):
        figures = [comparison.figures(mode) for comparison in comparisons]
        medians = [f["requests_per_s"] for f in figures]
        spread = [[f["requests_per_s"] - f["requests_per_s_min"] for f in figures],
                  [f["requests_per_s_max"] - f["requests_per_s"] for f in figures]]
        axes.bar([at + shift for at in range(len(comparisons))], medians, 0.4, yerr=spread,
                 capsize=3, color=colour, label=mode)
    for at, comparison in enumerate(comparisons):
        top = comparison.figures("persistent")["requests_per_s_max"]
        axes.annotate(f"{comparison.speed_up()[0]:.1f} x", (at + 0.2, top), ha="center",
                      xytext=(0, 4), textcoords="offset points")
    axes.set_xticks(range(len(comparisons)), [c.program for c in comparisons], rotation=20)
    axes.set_ylabel("requests per second")
    axes.set_title("The same program, classic and persistent")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return True
