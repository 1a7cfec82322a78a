"""The report: one HTML file that loads nothing else, with the verdict, the charts, the tables and all rounds.
Pure, except that it reads the style sheet beside it."""
import html
import json
import pathlib

from . import charts, table, verdict
from .arms import ALL

STYLE = pathlib.Path(__file__).with_name("report.css")


def page(setup, machine, comparisons):
    title = f"{verdict.listed([c.program for c in comparisons])}: the arms compared"
    parts = [head(setup, machine, comparisons)]
    if overview := speed_ups(comparisons):
        parts.append(overview)
    parts += [program(c, at, len(comparisons)) for at, c in enumerate(comparisons)]
    parts += [how(setup, machine, comparisons), rounds(comparisons)]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<main>
{"".join(parts)}
</main>
</body>
</html>
"""


def escape(words):
    return html.escape(str(words), quote=True)


def head(setup, machine, comparisons):
    facts = [machine["processor"], f"{machine['cores']} cores", f"Linux {machine['kernel']}",
             f"{setup['rounds']} rounds in turn"]
    sides = dict.fromkeys(s.name for c in comparisons for s in c.series.values())
    what = comparisons[0].program if len(comparisons) == 1 else f"{len(comparisons)} CGI programs"
    legend = "".join(f'<li><i class="swatch side-{escape(name)}"></i><b>{escape(name)}</b> '
                     f"{escape(ALL[name].what)}</li>" for name in sides)
    return f"""<header>
<p class="over">ab-compare · {escape(machine["began"])}</p>
<h1>{escape(what)}, answered in {count_word(len(sides))} ways</h1>
<p class="verdict">{escape(verdict.findings(comparisons))}</p>
{tiles(comparisons)}
<p class="sure"><b>How sure?</b> {escape(verdict.doubts(comparisons))}</p>
<ul class="legend">{legend}</ul>
<p class="facts">{" · ".join(escape(fact) for fact in facts if fact)}</p>
</header>
"""


def tiles(comparisons):
    """The three or four most memorable figures."""
    best = [(c.ratio(c.best_arm), c) for c in comparisons if c.best_arm]
    found = []
    if best:
        ratio, top = max(best, key=lambda pair: pair[0].median)
        name = f" for {top.program}" if len(comparisons) > 1 else ""
        found.append((f"{charts.short(ratio.median)} ×", f"the requests a second of {top.base.name}, "
                      f"with {top.best_arm.name}{name}"))
        found += latency_tile(top)
        cpu, base_cpu = (s.figure("cpu_ms_per_request") for s in (top.best_arm, top.base))
        if cpu and base_cpu and base_cpu.median:
            found.append((f"{100 * cpu.median / base_cpu.median:.0f} %",
                          f"of {top.base.name}'s CPU time a request{name}"))
    compared = [c for c in comparisons if any(s.answers for s in c.series.values())]
    same = [c for c in compared if {s.answers for s in c.series.values()} <= {"", "same"}]
    if compared:
        found.append((f"{len(same)} of {len(compared)}", "programs answer the same bytes on every side"))
    if len(compared) == 1 and same:
        found[-1] = ("0 bytes", "of difference in any answer that was compared")
    return "" if not found else '<dl class="tiles">' + "".join(
        f"<div><dt>{escape(words)}</dt><dd>{escape(figure)}</dd></div>" for figure, words in found) + "</dl>"


def latency_tile(comparison):
    for rate in comparison.rates[-1:]:
        ours, theirs = (s.rate_percentile(rate, "p99") for s in (comparison.best_arm, comparison.base))
        if ours and theirs:
            yield (verdict.milliseconds(ours.median), f"for 99 of 100 answers at a steady {rate:,}/s, not "
                   f"{verdict.milliseconds(theirs.median)}")


def count_word(count):
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
    return words[count] if count < len(words) else str(count)


def speed_ups(comparisons):
    """The speed-up of every program over the base; "" if there is nothing to compare."""
    rows = []
    for comparison in comparisons:
        sides = [(s.name, ratio) for s in comparison.measured if s is not comparison.base
                 if (ratio := comparison.ratio(s))]
        if sides:
            rows.append((comparison.program, sides))
    if not rows:
        return ""
    base = verdict.listed(sorted({c.base.name for c in comparisons if c.base}))
    return f"""<section>
<h2>Speed-up</h2>
<p class="note">Requests a second, as so many times {escape(base)} (closed loop, logarithmic). A dot is
the median, its bar reaches from the least to the most of single rounds. The number is that of
the bridge's fastest arm.</p>
<div class="card wide">{charts.dots(rows, "Speed-up of every program on every side")}</div>
</section>
"""


def program(comparison, at, of_all):
    # A few bars make a low chart; then the latencies fit beside all three bar charts.
    few = len(comparison.measured) <= 4 and len(comparison.rates) == 1
    cards = [
        card("Throughput", "requests a second in the closed loop; whiskers: least to most",
             bar_chart(comparison, "requests_per_s", verdict.number, "Requests a second")),
        *(latency_card(comparison, rate, 400 if few else 200) for rate in comparison.rates),
        card("CPU time", "of a request, in all processes of its side",
             bar_chart(comparison, "cpu_ms_per_request", verdict.milliseconds, "CPU time of a request")),
        card("Memory", "of all processes of its side under load, shared pages shared out (PSS)",
             bar_chart(comparison, "memory_bytes", verdict.mib, "Memory under load")),
    ]
    missing = "".join(f"<li><b>{escape(s.name)}</b> was not measured: {escape(s.unavailable)}</li>"
                      for s in comparison.series.values() if s.unavailable)
    said = f'<p class="verdict">{escape(verdict.of(comparison))}</p>' \
        f'<p class="sure"><b>How sure?</b> {escape(verdict.doubts([comparison]))}</p>' if of_all > 1 else ""
    notes = [*(escape(r) for r in comparison.remarks),
             *(f"<b>{escape(s.name)}</b>: {escape(r)}" for s in comparison.measured for r in s.remarks)]
    noted = "".join(f"<li>{note}</li>" for note in notes)
    return f"""<section id="program-{at}">
<h2>{escape(comparison.program)}</h2>
{badge(comparison)}
{said}
<div class="cards{" few" if few else ""}">{"".join(filter(None, cards))}</div>
{f'<ul class="remarks">{missing}{noted}</ul>' if missing or noted else ""}
{html_table(table.CLOSED[1:], [row[1:] for row in table.closed_rows(comparison) if row],
            "Closed loop: the most that goes through")}
{rate_table(comparison)}
</section>
"""


def badge(comparison):
    answers = {s.answers for s in comparison.series.values() if s.answers}
    if "DIFFERENT" in answers:
        found = "; ".join(f"{s.name}: {s.difference}" for s in comparison.different)
        return f'<p class="badge bad">✗ different bytes: {escape(found)}</p>'
    if "varies by itself" in answers:
        return '<p class="badge unsure">≈ its answers vary by themselves</p>'
    return '<p class="badge good">✓ same bytes on every side</p>' if answers else ""


def card(title, note, chart):
    if not chart:
        return ""
    return (f'<figure class="card"><figcaption><b>{escape(title)}</b> <span>{escape(note)}</span>'
            f"</figcaption>{chart}</figure>")


def bar_chart(comparison, name, form, label):
    rows = [(s.name, spread) for s in comparison.measured if (spread := s.figure(name))]
    return charts.bars(rows, f"{label} of {comparison.program}", form) if rows else ""


def latency_card(comparison, rate, height):
    series = [(s.name, s.latency(rate), False) for s in comparison.measured if rate in s.rates]
    if not any(histogram.total for _, histogram, _ in series):
        return ""
    legend = "".join(f'<span><i class="swatch side-{escape(name)}"></i>{escape(name)}</span>'
                     for name, _, _ in series)
    chart = charts.curves(series, f"Latency of {comparison.program} at {rate} requests a second", height)
    return (f'<figure class="card latency"><figcaption><b>Latency</b> <span>at a steady {rate:,} requests a '
            f"second, from the intended start; logarithmic</span></figcaption>{chart}"
            f'<p class="keys">{legend}</p></figure>')


def rate_table(comparison):
    if not comparison.rates:
        return ""
    rows = [row[1:] for row in table.rate_rows(comparison) if row]
    return html_table(table.RATED[1:], rows, "Constant rate: how long an answer takes")


def html_table(names, rows, caption):
    head_cells = "".join(f"<th scope=col>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
            f"<caption>{escape(caption)}</caption><thead><tr>{head_cells}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>")


def how(setup, machine, comparisons):
    asked = f"{setup['method']}{' with a body' if setup.get('body') else ''}"
    lines = [
        f"Closed loop: <code>ab</code>, {setup['concurrency']} requests at once, {escape(asked)}, at most "
        f"{setup['requests']:,} requests or {setup['seconds']} s a round, without keep-alive.",
        f"Rounds in turn over all sides, every second time backwards; {setup['rounds']} of each. A figure "
        "is the median of its rounds.",
        f"Bytes: {setup['fetches']} answers of each side against each other before anything was measured: "
        "status, headers but Date, and body among the arms; status and body where another web server "
        "answers.",
        "CPU time and memory: the bridge and its processes, or those of the other side; the web server is "
        "not in it, but for the memory of mod_cgid. What fcgiwrap and mod_cgid cost is not to be known, as "
        "they ignore the end of their programs, and the kernel then forgets what those took.",
        f"Before it began, the processors were {100 * machine['busy_before']:.0f} % busy with other things.",
    ]
    if any(c.rates for c in comparisons):
        lines.insert(1, f"Constant rate: up to {setup['connections']} keep-alive connections, "
                     f"{setup['rate_seconds']} s a round. Requests start by a timetable that no answer "
                     "moves, and a latency counts from there, waiting in line included (corrected for "
                     "coordinated omission). “uncorrected p99” counts from the sending, “client late” says "
                     "how far the client missed its own timetable; “!”: by too much.")
    return ("<section><h2>How it was measured</h2><ul class=\"how\">"
            + "".join(f"<li>{line}</li>" for line in lines) + "</ul></section>\n")


def rounds(comparisons):
    """Every round, for readers who do not trust medians."""
    names = ("program", "side", "load", "round", "requests", "requests/s", "p50", "p99", "CPU/req", "failed")
    rows = []
    for comparison in comparisons:
        for series in comparison.measured:
            loads = [("closed loop", series.closed),
                     *((f"{rate:,}/s", found) for rate, found in series.rates.items())]
            rows += [[comparison.program, series.name, load, at, f"{r['requests']:,}",
                      verdict.number(r["requests_per_s"]), milliseconds(r["p50_ms"]),
                      milliseconds(r["p99_ms"]), milliseconds(r["cpu_ms_per_request"], 2), r["failed"]]
                     for load, found in loads for at, r in enumerate(found, start=1)]
    return (f"<section><details><summary>All {len(rows)} rounds</summary>"
            + html_table(names, rows, "Every round by itself") + "</details></section>\n")


def milliseconds(value, digits=1):
    return "?" if value is None else f"{value:,.{digits}f}"


def document(setup, machine, comparisons):
    """The JSON file."""
    return json.dumps({"verdict": verdict.paragraph(comparisons), "setup": setup, "machine": machine,
                       "programs": [c.as_json() for c in comparisons]}) + "\n"
