"""OpenMetrics, as a strict reader takes it: `cgibridge status --openmetrics` and the page's /metrics."""

import math
import os
import re

import pytest

from harness import programs, wait_until

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum"),
            "info": ("_info",), "stateset": ("",)}
UNESCAPED = {'\\"': '"', "\\\\": "\\", "\\n": "\n"}


class Metrics:
    """Reads a text by the rules of OpenMetrics 1.0 and fails at the first violation."""

    def __init__(self, text):
        self.families = {}
        self.samples = {}
        self.family = None
        lines = text.split("\n")
        assert lines[-2:] == ["# EOF", ""], "it ends with # EOF and a line feed"
        for line in lines[:-2]:
            assert line, "no empty lines"
            if line.startswith("#"):
                self.describe(line)
            else:
                self.sample(line)
        for name, family in self.families.items():
            self.check_family(name, family)

    def describe(self, line):
        kind, name, text = re.fullmatch(r"# (TYPE|UNIT|HELP) (\S+) (.*)", line).groups()
        assert NAME.fullmatch(name), line
        if kind == "TYPE":
            assert name not in self.families, f"{name} is described twice, or its samples are apart"
            assert text in SUFFIXES, line
            self.family = self.families[name] = {"name": name, "TYPE": text, "samples": []}
            return
        assert self.family["name"] == name and kind not in self.family, line
        assert not self.family["samples"], f"{line}: after its samples"
        if kind == "UNIT":
            assert name.endswith("_" + text), f"{name} does not end with its unit"
        self.family[kind] = text

    def sample(self, line):
        name, labels, value = SAMPLE.fullmatch(line).groups()
        found = LABEL.findall(labels or "")
        assert ",".join(f'{key}="{text}"' for key, text in found) == (labels or ""), line
        assert len({key for key, _ in found}) == len(found), f"a label twice: {line}"
        values = {key: re.sub(r"\\.", lambda m: UNESCAPED[m.group()], text) for key, text in found}
        suffix = name.removeprefix(self.family["name"])
        assert name.startswith(self.family["name"]), f"{name} is not of {self.family['name']}"
        assert suffix in SUFFIXES[self.family["TYPE"]], line
        series = (name, tuple(sorted(values.items())))
        assert series not in self.samples, f"twice: {line}"
        number = float(value)
        assert math.isfinite(number) and number >= 0, line
        self.samples[series] = number
        self.family["samples"].append((suffix, values, number))

    def check_family(self, name, family):
        assert family.get("HELP"), f"{name} has no HELP"
        if family["TYPE"] == "histogram":
            self.check_histograms(name, family["samples"])
        if family["TYPE"] == "stateset":
            self.check_stateset(name, family["samples"])

    def check_histograms(self, name, samples):
        series = {}
        for suffix, labels, value in samples:
            rest = tuple(sorted((key, text) for key, text in labels.items() if key != "le"))
            one = series.setdefault(rest, {"buckets": []})
            if suffix == "_bucket":
                one["buckets"].append((float(labels["le"]), value))
            else:
                assert suffix not in one
                one[suffix] = value
        for labels, one in series.items():
            bounds = [bound for bound, _ in one["buckets"]]
            counts = [count for _, count in one["buckets"]]
            assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf, (name, labels)
            assert counts == sorted(counts), f"{name} {labels}: buckets are not cumulative"
            assert one["_count"] == counts[-1], f"{name} {labels}: _count is not the last bucket"
            assert one["_count"] > 0 or one["_sum"] == 0

    def check_stateset(self, name, samples):
        for _, labels, value in samples:
            assert name in labels and value in (0, 1), f"{name}: {labels}"

    def value(self, name, **labels):
        return self.samples[name, tuple(sorted(labels.items()))]


def through_command(bridge):
    return Metrics(bridge.command("status", "--openmetrics"))


def test_the_reader_itself_is_strict():
    good = '# TYPE a histogram\n# HELP a x\na_bucket{le="1.0"} 1\na_bucket{le="+Inf"} 2\na_count 2\na_sum 3\n'
    Metrics(good + "# EOF\n")
    for bad in [good, good + "\n# EOF\n", good.replace("} 2", "} 0") + "# EOF\n",
                good.replace("a_count 2", "a_count 3") + "# EOF\n",
                good.replace("a_sum 3", "a_sum 3\na_sum 3") + "# EOF\n",
                good.replace("# HELP a x\n", "") + "# EOF\n",
                good.replace('"1.0"', '"1"0"') + "# EOF\n",
                good + "# TYPE b counter\n# HELP b x\nb 1\n# EOF\n",
                good + "# TYPE b counter\n# UNIT b bytes\n# HELP b x\nb_total 1\n# EOF\n"]:
        with pytest.raises((AssertionError, AttributeError, KeyError)):
            Metrics(bad)


def test_requests_are_counted_by_program_and_arm(site):
    script = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"')
    for _ in range(3):
        bridge.request(script)
    metrics = through_command(bridge)
    labels = {"program": str(script), "arm": "classic"}
    assert metrics.value("cgibridge_arm_requests_total", **labels) == 3
    assert metrics.value("cgibridge_arm_answers_total", **labels, **{"class": "2xx"}) == 3
    assert metrics.value("cgibridge_arm_latency_seconds_count", **labels) == 3
    assert metrics.value("cgibridge_arm_latency_seconds_sum", **labels) > 0
    assert metrics.value("cgibridge_arm_cpu_seconds_count", **labels) == 3
    assert metrics.value("cgibridge_arm_printed_bytes_total", **labels) > 3 * len("hello")
    assert metrics.value("cgibridge_requests_total") == 3
    assert metrics.value("cgibridge_program_mode", program=str(script),
                         cgibridge_program_mode="classic") == 1


def test_peak_memory_is_the_programs(site):
    # More than the bridge itself ever had, even under the sanitizers: a child's peak begins with that.
    script = site.python("large", """
        held = bytearray(400 << 20)
        print("Content-Type: text/plain\\n\\nlarge")
        """)
    bridge = site.start_bridge('mode = "classic"')
    bridge.request(script)
    peak = through_command(bridge).value("cgibridge_arm_peak_memory_bytes", program=str(script),
                                         arm="classic")
    assert peak > 400 << 20


def test_warm_arms_bring_their_rewinds_and_workers(site):
    script = programs.hello(site)
    bridge = site.start_bridge('mode = "persistent"\nworkers = { min = 2 }')
    bridge.request(script)
    bridge.wait_warm(script)

    def rewound():
        bridge.request(script)
        return bridge.program(script)["rewind"]["rewinds"] >= 3
    wait_until(rewound, "workers have rewound")
    bridge.wait_warm(script)
    metrics = through_command(bridge)
    program = {"program": str(script)}
    assert metrics.value("cgibridge_arm_requests_total", **program, arm="rewind") >= 3
    assert metrics.value("cgibridge_program_rewinds_total", **program) >= 3
    assert metrics.value("cgibridge_program_workers", **program, state="idle") >= 1
    assert metrics.value("cgibridge_program_queue", **program) == 0


def test_errors_are_told_apart(site):
    broken = site.sh("broken", "echo nonsense\n")
    failing = site.sh("failing", "printf 'Content-Type: text/plain\\n\\nx'; exit 3\n")
    late = site.sh("late", "exec sleep 20\n")
    bridge = site.start_bridge('mode = "classic"', programs=f"""
        [[program]]
        match = "{late}"
        timeouts = {{ request = "300ms", kill_grace = "1s" }}
        """)
    for script in (broken, failing, late):
        bridge.request(script)
    bridge.expect_log("broken: 502")
    bridge.expect_log("late: 504")
    metrics = through_command(bridge)

    def failures(script, kind):
        return metrics.value("cgibridge_arm_failures_total", program=str(script), arm="classic",
                             failure=kind)
    assert failures(broken, "bad_answer") == 1
    assert failures(failing, "exit_code") == 1
    assert failures(late, "timeout") == 1
    assert failures(late, "bad_answer") == 0


def test_any_path_is_a_label(site):
    """A quotation mark, a backslash and a line feed in a program's name are escaped."""
    script = programs.hello(site, name='o"d\\d\nname')
    bridge = site.start_bridge('mode = "classic"')
    assert bridge.request(script).status == 200
    metrics = through_command(bridge)
    assert metrics.value("cgibridge_arm_requests_total", program=str(script), arm="classic") == 1


def test_a_name_that_is_no_text_does_not_spoil_the_scrape(site):
    script = site.cgi_bin / os.fsdecode(b"n\xff\xc3")
    os.rename(programs.hello(site), script)
    bridge = site.start_bridge('mode = "classic"')
    assert bridge.request(os.fsencode(script).decode("latin-1")).status == 200
    shown = f"{site.cgi_bin}/n\\xff\\xc3"
    assert through_command(bridge).value("cgibridge_arm_requests_total", program=shown, arm="classic") == 1


def test_a_bridge_without_programs_has_figures_too(site):
    metrics = through_command(site.start_bridge())
    assert metrics.value("cgibridge_programs") == 0
    assert metrics.value("cgibridge_build_info", version=version_of(site)) == 1


def version_of(site):
    return site.cgibridge("--version").stdout.split()[-1]


def test_shadow_and_promotion_are_told(site):
    script = programs.hello(site)
    bridge = site.start_bridge('mode = "shadow"\npromote = { after = 3 }')
    def compared():
        bridge.request(script)
        program = bridge.program(script)
        return program.get("shadow", {}).get("compared", 0) >= 1
    wait_until(compared, "the shadow has compared", 20)
    metrics = through_command(bridge)
    program = {"program": str(script)}
    assert metrics.value("cgibridge_shadow_compared_total", **program, result="same") >= 1
    assert metrics.value("cgibridge_shadow_compared_total", **program, result="different") == 0
    stages = [metrics.value("cgibridge_promotion_stage", **program, cgibridge_promotion_stage=stage)
              for stage in ("shadow", "split", "persistent")]
    assert sorted(stages) == [0, 0, 1]
    assert metrics.value("cgibridge_promotion_held", **program) == 0


def test_the_page_serves_the_same_to_prometheus(site):
    script = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"', bridge='page = { path = "/cgibridge" }')
    bridge.request(script)
    answer = bridge.request("/nowhere", SCRIPT_NAME="/cgibridge/metrics", REQUEST_URI="/cgibridge/metrics")
    assert answer.head["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    metrics = Metrics(answer.body.decode())
    assert metrics.value("cgibridge_arm_requests_total", program=str(script), arm="classic") == 1
