"""Charts as SVG text, drawn by hand: pure functions from figures to markup, coloured by the page's style
sheet (class `side-NAME`), so that they are also right in dark mode."""
import html
import math

from .arms import ARMS

WIDTH = 420   # in each chart's own coordinates; the page stretches it to its column


def svg(height, label, parts):
    return (f'<svg class="chart" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            f'aria-label="{html.escape(label, quote=True)}">' + "".join(parts) + "</svg>")


def text(x, y, words, css="", anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
            f'{f" class={chr(34)}{css}{chr(34)}" if css else ""}>{html.escape(words)}</text>')


def line(x1, y1, x2, y2, css):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def side_class(name):
    return f"side-{html.escape(name, quote=True)}"


# Horizontal bars

BAR, LEFT, RIGHT = 16, 84, 80


def bars(rows, label, form):
    """rows: (name, Spread). Bars from zero, a whisker from the lowest to the highest round, and the median
    formatted by form()."""
    row = 40 if len(rows) <= 4 else 30
    most = max((spread.most for _, spread in rows), default=0) or 1
    scale = (WIDTH - LEFT - RIGHT) / most
    parts = []
    for at, (name, spread) in enumerate(rows):
        middle, end = at * row + row / 2, LEFT + spread.median * scale
        title = f"{name}: {form(spread.median)} (rounds: {form(spread.least)} to {form(spread.most)})"
        parts.append(f'<g><title>{html.escape(title)}</title>'
                     + text(LEFT - 8, middle + 4.5, name, "name", "end")
                     + f'<rect x="{LEFT}" y="{middle - BAR / 2:.1f}" rx="3" height="{BAR}" '
                       f'width="{max(1.5, end - LEFT):.1f}" class="{side_class(name)}"/>'
                     + whisker(LEFT + spread.least * scale, LEFT + spread.most * scale, middle)
                     + text(LEFT + spread.most * scale + 8, middle + 4.5, form(spread.median), "value")
                     + "</g>")
    parts.append(line(LEFT, 0, LEFT, len(rows) * row, "axis"))
    return svg(len(rows) * row, label, parts)


def whisker(x1, x2, y):
    if x2 - x1 < 1:
        return ""
    return (line(x1, y, x2, y, "whisker") + line(x1, y - 4, x1, y + 4, "whisker")
            + line(x2, y - 4, x2, y + 4, "whisker"))


# Speed-ups of all programs on one logarithmic scale

def dots(rows, label):
    """rows: (program, [(side, Spread of times)]). One row per program, one dot per side."""
    spreads = [spread for _, sides in rows for _, spread in sides]
    low = min([0.8, *(s.least * 0.9 for s in spreads)])
    high = max([2.2, *(s.most * 1.25 for s in spreads)])
    left, right, height = 10, WIDTH - 14, 0

    def x(value):
        return left + (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) \
            * (right - left)

    body = []
    for program, sides in rows:
        # The label goes to the best of the bridge's own arms.
        best = max(sides, key=lambda pair: (pair[0] in ARMS, pair[1].median))
        body.append(text(left, height + 13, program, "row-name"))
        y = height + 27
        body.append(line(left, y, right, y, "rail"))
        for name, spread in sorted(sides, key=lambda pair: pair is best):
            title = (f"{program}, {name}: {spread.median:.2f} times "
                     f"({spread.least:.2f} to {spread.most:.2f} in single rounds)")
            body.append(f"<g><title>{html.escape(title)}</title>"
                        f'<rect x="{x(spread.least):.1f}" y="{y - 2.5:.1f}" height="5" rx="2.5" '
                        f'width="{max(1, x(spread.most) - x(spread.least)):.1f}" '
                        f'class="range {side_class(name)}"/>'
                        f'<circle cx="{x(spread.median):.1f}" cy="{y}" r="6" '
                        f'class="{side_class(name)}"/></g>')
        body.append(text(right, height + 13, f"{short(best[1].median)} ×",
                         f"value {best_class(best[0])}", "end"))
        height += 40
    ticks = [value for value in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
             if low <= value <= high]
    if len(ticks) > 7:
        ticks = [value for value in ticks if value in (0.1, 1, 10, 100, 1000)]
    grid = [line(x(t), 0, x(t), height, "one" if t == 1 else "grid") for t in ticks]
    axis = [text(x(t), height + 15, f"{t:g} ×", "tick", "middle") for t in ticks]
    return svg(height + 20, label, [*grid, *body, *axis])


def best_class(name):
    return f"words-{html.escape(name, quote=True)}"


def short(value):
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}"


# Latency by percentile

NINES = ((0, "0"), (0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (0.9999, "99.99"))
MILLISECONDS = [1000 * base * 10 ** exponent for exponent in range(-2, 5) for base in (1, 2, 5)]


def curves(series, label, bottom=200):
    """series: (name, Histogram of microseconds, whether it is dotted). Percentiles on a scale on which each
    further nine gets the same room; latencies on a logarithmic one."""
    series = [entry for entry in series if entry[1].total]
    left, right, top = 56, WIDTH - 12, 8
    far = max(nines(1 - 0.5 / max(20, histogram.total)) for _, histogram, _ in series)
    low = min(max(10, histogram.quantile(0.001)) for _, histogram, _ in series) * 0.8
    high = max(histogram.most for _, histogram, _ in series) * 1.25

    def x(share):
        return left + min(nines(share), far) / far * (right - left)

    def y(value):
        place = (math.log(max(value, low)) - math.log(low)) / (math.log(high) - math.log(low))
        return bottom - place * (bottom - top)

    parts = []
    ticks = [t for t in MILLISECONDS if low <= t <= high]
    decades = [t for t in ticks if f"{t:.0e}"[0] == "1"]
    for tick in decades if len(decades) >= 3 else ticks:
        parts.append(line(left, y(tick), right, y(tick), "grid"))
        parts.append(text(left - 6, y(tick) + 4, latency_words(tick), "tick", "end"))
    for share, words in NINES:
        if share == 0 or nines(share) <= far:
            parts.append(line(x(share), top, x(share), bottom, "grid"))
            parts.append(text(x(share), bottom + 15, words, "tick", "middle"))
    parts.append(text((left + right) / 2, bottom + 31, "of 100 requests, so many were answered within …",
                      "tick", "middle"))
    for name, histogram, dotted in series:
        points = thinned([(x(share), y(value)) for share, value in
                          [(0, histogram.least), *middles(histogram)]])
        path = "M" + " L".join(f"{px:.1f},{py:.1f}" for px, py in points)
        p50, p99 = (latency_words(histogram.quantile(q)) for q in (0.5, 0.99))
        parts.append(f'<path d="{path}" class="curve {side_class(name)}{" dotted" if dotted else ""}">'
                     f"<title>{html.escape(f'{name}: half within {p50}, 99 of 100 within {p99}')}</title>"
                     "</path>")
    return svg(bottom + 40, label, parts)


def middles(histogram):
    """The curve through the middle of each bucket's share."""
    before = 0
    for share, value in histogram.curve():
        yield (before + share) / 2, value
        before = share


def nines(share):
    """0.9 is 1, 0.99 is 2, and so on."""
    return -math.log10(max(1 - share, 1e-9))


def thinned(points):
    """Leaves out points that no eye could tell from the previous one."""
    kept = points[:1]
    for point in points[1:-1]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= 1:
            kept.append(point)
    return kept + points[-1:] if len(points) > 1 else kept


def latency_words(microseconds):
    if microseconds >= 1_000_000:
        return f"{microseconds / 1_000_000:.3g} s"
    if microseconds >= 1000:
        return f"{microseconds / 1000:.3g} ms"
    return f"{microseconds:.3g} µs"
