"""What the figures mean, in few and plain words. Pure: comparisons in, sentences out."""
import statistics

SURE = 0.10    # a side's rounds agree if they are within this share of their median
WORTH_NAMING = 1.05   # times as fast
UNSURE = 0.35  # beyond this share only the order of magnitude is known


def paragraph(comparisons):
    """The one paragraph for everything that was compared."""
    return f"{findings(comparisons)} {doubts(comparisons)}"


def findings(comparisons):
    """The findings."""
    if len(comparisons) == 1:
        return of(comparisons[0])
    sentences = speed_of_all(comparisons), cost_of_all(comparisons), bytes_of_all(comparisons)
    return " ".join(filter(None, sentences))


def doubts(comparisons):
    """How certain they are."""
    return " ".join([certainty(comparisons), *lateness(comparisons)])


def of(comparison):
    """The findings about one program."""
    sentences = [speed(comparison), *latency(comparison), cost(comparison), peers(comparison),
                 same_bytes(comparison)]
    return " ".join(filter(None, sentences))


# One program

def speed(comparison):
    base, best = comparison.base, comparison.best_arm
    if best is None:
        reasons = [f"{s.name}: {s.unavailable}" for s in comparison.series.values()
                   if s.side.is_arm and s.unavailable]
        return (f"{comparison.program} could be measured in no other arm than {base.name}"
                + (f" ({'; '.join(reasons)})." if reasons else "."))
    ratio = comparison.ratio(best)
    a_second = (f"{number(best.figure('requests_per_s').median)} instead of "
                f"{number(base.figure('requests_per_s').median)} requests a second")
    if ratio.least < 1 < ratio.most:
        return (f"Whether {comparison.program} is faster in any arm than in {base.name} cannot be "
                f"told: at best {a_second} ({best.name}), and single rounds disagree.")
    if ratio.median < 1:
        return f"{comparison.program} is fastest in {base.name}: {best.name} bears {a_second}."
    spread = "" if len(best.closed) < 2 else \
        f" ({times(ratio.least)} to {times(ratio.most)} in single rounds)"
    return (f"{comparison.program} is {times(ratio.median)} times as fast with {best.name} as with "
            f"{base.name}{spread}: it bears {a_second}.")


def latency(comparison):
    """The latency at the highest rate that was tried."""
    base, best = comparison.base, comparison.best_arm
    if not comparison.rates or best is None:
        return
    rate = comparison.rates[-1]
    p50, base_p50, p99, base_p99 = (
        series.rate_percentile(rate, name) for name in ("p50", "p99") for series in (best, base))
    if p50 and base_p50 and not (p99 and base_p99):
        yield (f"At a steady {rate:,} requests a second half of all answers were there within "
               f"{milliseconds(p50.median)} instead of {milliseconds(base_p50.median)}.")
    elif p50 and base_p50:
        yield (f"At a steady {rate:,} requests a second half of all answers were there within "
               f"{milliseconds(p50.median)} instead of {milliseconds(base_p50.median)}, and 99 of 100 "
               f"within {milliseconds(p99.median)} instead of {milliseconds(base_p99.median)}.")


def cost(comparison):
    base, best = comparison.base, comparison.best_arm
    if best is None:
        return ""
    ours, theirs = (s.figure("cpu_ms_per_request").median for s in (best, base))
    text = f"A request cost {milliseconds(ours)} of CPU time instead of {milliseconds(theirs)}"
    memory, base_memory = best.figure("memory_bytes"), base.figure("memory_bytes")
    if memory and base_memory:
        text += (f"; under load {best.name} held {mib(memory.median)} of memory, {base.name} "
                 f"{mib(base_memory.median)}")
    return text + "."


def peers(comparison):
    best, found = comparison.best_arm or comparison.base, []
    for series in comparison.measured:
        ratio = None if series.side.is_arm else comparison.ratio(best, over=series)
        if not ratio:
            continue
        name = "the program rewritten by hand" if series.name == "by-hand" else series.name
        share = f"{times(ratio.median)} times" if ratio.median >= 1 else f"{100 * ratio.median:.0f} % of"
        found.append(f"{share} what {name} bears ({number(series.figure('requests_per_s').median)})")
    return f"That is {listed(found)}." if found else ""


def same_bytes(comparison):
    compared = [s for s in comparison.measured if s.answers]
    if comparison.different:
        found = "; ".join(f"{s.name}: {s.difference}" for s in comparison.different)
        return f"The answers are NOT the same bytes ({found}): look at that before anything is switched."
    if not compared:
        return ""
    if any(s.answers == "varies by itself" for s in compared):
        return (f"The answers vary by themselves already in {comparison.base.name}, so bytes prove "
                "nothing here; mode = \"shadow\" tells what varies from what differs.")
    return "Every answer was the same, byte for byte, on every side."


# Several programs

def speed_of_all(comparisons):
    ratios, wins = [], {}
    for comparison in comparisons:
        best = comparison.best_arm
        if best and comparison.base.name == "classic":
            ratios.append((comparison.ratio(best).median, comparison))
            if ratios[-1][0] > WORTH_NAMING:
                wins[best.name] = wins.get(best.name, 0) + 1
    if not ratios:
        return "No program could be measured both in classic and in a warm arm."
    left_out = [c.program for c in comparisons if c.best_arm is None]
    ratios.sort(key=lambda pair: pair[0])
    (low, slowest), (high, fastest) = ratios[0], ratios[-1]
    middle = statistics.median(ratio for ratio, _ in ratios)
    arms = sorted(wins, key=wins.get, reverse=True)
    if not arms:
        first = "No program is faster in any arm than in classic"
    elif wins[arms[0]] == len(comparisons):
        first = f"Fastest was {arms[0]} for every program"
    else:
        first = "Fastest was " + listed(
            [f"{arm} for {wins[arm]} of {len(comparisons)} programs" for arm in arms])
    text = (f"{first}. Beside classic, the requests a second that a program bears grew "
            f"{times(low)}-fold ({slowest.program}) to {times(high)}-fold ({fastest.program}), "
            f"{times(middle)}-fold in the middle.")
    nothing = [c.program for ratio, c in ratios if ratio <= WORTH_NAMING]
    if nothing and arms:
        text += f" {listed(nothing)} gained nothing worth naming."
    return text + (f" Only classic can run {listed(left_out)}." if left_out else "")


def cost_of_all(comparisons):
    shares = [best.figure("cpu_ms_per_request").median / base.figure("cpu_ms_per_request").median
              for c in comparisons if (best := c.best_arm) and (base := c.base)
              if base.figure("cpu_ms_per_request").median]
    if not shares:
        return ""
    return (f"A request cost {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the CPU time that "
            "it costs in classic.")


def bytes_of_all(comparisons):
    different = [c.program for c in comparisons if c.different]
    varying = [c.program for c in comparisons
               if any(s.answers == "varies by itself" for s in c.series.values())]
    if different:
        return (f"The answers of {listed(different)} are NOT the same bytes in all arms: look at that "
                "before anything is switched.")
    if varying:
        return (f"All answers were the same bytes, but for {listed(varying)}, whose answers vary by "
                "themselves.")
    return "Every answer was the same, byte for byte, in every arm."


# How sure

def certainty(comparisons):
    widths = [(spread.width(), series, comparison) for comparison in comparisons
              for series in comparison.measured if len(series.closed) > 1
              if (spread := series.figure("requests_per_s"))]
    if not widths:
        return "There was one round only, so nothing is known of how much it varies."
    width, series, comparison = max(widths, key=lambda found: found[0])
    where = series.name if len(comparisons) == 1 else f"{comparison.program} in {series.name}"
    if width <= SURE:
        return f"The rounds of each side agree within {100 * width:.0f} %."
    if width <= UNSURE:
        return (f"The rounds of a side lie up to {100 * width:.0f} % apart ({where}), so differences "
                "smaller than that mean nothing.")
    return (f"Sure is only the order of magnitude: rounds of the same side lie up to "
            f"{100 * width:.0f} % apart ({where}). More and longer rounds on an idle machine tell more.")


def lateness(comparisons):
    late = sum(len(c.late_rounds) for c in comparisons)
    if late:
        of_all = sum(len(c.rate_rounds) for c in comparisons)
        yield (f"In {late} of {of_all} constant-rate rounds the measuring client itself was late, "
               "since the machine was busy: latencies there are upper bounds.")


# Words for figures

def times(ratio):
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}"


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def milliseconds(value):
    if value >= 10_000:
        return f"{value / 1000:,.1f} s"
    if value >= 100:
        return f"{value:,.0f} ms"
    return f"{value:.1f} ms" if value >= 1 else f"{value:.2f} ms"


def mib(value):
    value /= 2**20
    return f"{value:,.0f} MiB" if value >= 10 else f"{value:.1f} MiB"


def listed(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
