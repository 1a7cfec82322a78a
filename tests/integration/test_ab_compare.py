"""The separate parts of examples/ab-compare; test_ab_compare_live.py runs the whole of it."""

import json
import random
import ssl
import subprocess
import sys

import pytest

from harness import processes
from harness.site import PROJECT
from harness.slow_server import SlowServer

sys.path.insert(0, str(PROJECT / "examples"))

from ab_compare import (Problem, answers, arguments, arms, charts, closed_loop,  # noqa: E402
                        constant_rate, mode_switch, progress, report, results, table, verdict)
from ab_compare.histogram import Histogram, bucket_of, middle_of  # noqa: E402
from ab_compare.http_answer import AnswerReader, BadAnswer  # noqa: E402

# Other tests cover the bridge code used here under sanitizers.
pytestmark = pytest.mark.plain_build

# Histogram


def filled(values):
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


def test_a_bucket_stands_for_its_values_within_half_a_per_cent():
    chance = random.Random(1)
    for value in [*range(3000), *(chance.randrange(10**9) for _ in range(20_000))]:
        assert abs(middle_of(bucket_of(value)) - value) <= value * 0.004


def test_quantiles_are_those_of_the_sorted_values():
    chance = random.Random(2)
    values = sorted(int(chance.lognormvariate(8, 1.5)) for _ in range(5000))
    histogram = filled(values)
    for q in (0.01, 0.5, 0.9, 0.99, 0.999):
        exact = values[max(0, -(-int(q * 100_000) * len(values) // 100_000) - 1)]
        assert abs(histogram.quantile(q) - exact) <= max(1, exact * 0.005), q
    assert histogram.quantile(1) == values[-1]
    assert Histogram().quantile(0.5) is None


def test_histograms_add_up_and_survive_json():
    one, other = filled([1, 10, 100_000]), filled([7, 2_000_000])
    joined = Histogram.from_json(json.loads(json.dumps(one.as_json()))).add(other)
    assert joined.as_json() == filled([1, 10, 100_000, 7, 2_000_000]).as_json()
    assert joined.curve()[-1] == (1.0, 2_000_000)


# HTTP answers

ANSWERS = {
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5, True),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, 0, True),
    "an empty body": (b"HTTP/1.1 303 See Other\r\nContent-Length: 0\r\n\r\n", 303, 0, True),
    "chunks, an interim answer and a trailer": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n", 200, 6, True),
    "a close": (b"HTTP/1.1 500 No\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 500, 1, False),
    "an old server": (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, 1, False),
    "an old server that keeps open": (
        b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", 200, 1, True),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_cut_anywhere_is_read_to_its_end(name):
    raw, status, body_bytes, keep_open = ANSWERS[name]
    for cut in range(len(raw)):
        reader = AnswerReader()
        reader.feed(raw[:cut])
        assert not reader.done
        reader.feed(raw[cut:])
        assert (reader.done, reader.status, reader.body_bytes, reader.keep_open) == (
            True, status, body_bytes, keep_open)


def test_an_answer_without_a_length_ends_with_the_connection():
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\nsome")
    assert not reader.done and reader.end() and not reader.keep_open
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome")
    assert not reader.end()


@pytest.mark.parametrize("raw", [b"SSH-2.0-x\r\n", b"HTTP/1.1 many OK\r\n\r\n",
                                 b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"])
def test_what_is_no_answer_is_refused(raw):
    with pytest.raises(BadAnswer):
        AnswerReader().feed(raw)


# The constant-rate client


def load(server, rate, seconds, connections=4):
    client = constant_rate.ConstantRate(rate, seconds, connections, answers.Request(), 200)
    return client.run(server.url("/x"))


def test_the_client_sends_what_the_timetable_says():
    with SlowServer() as server:
        seen = load(server, 200, 1)
    assert (seen["planned"], seen["requests"], seen["failed"], seen["unanswered"]) == (200, 200, 0, 0)
    assert seen["statuses"] == {"200": 200} and seen["wrong_status"] == 0
    assert sum(count for _, count in seen["lateness"]["counts"]) == 200


def test_waiting_in_line_counts_as_latency():
    """Fifty requests within half a second, to a server that needs 40 ms for each: the last waits about 1.5 s,
    which a clock that starts at the sending does not see."""
    with SlowServer(pause=0.04) as server:
        seen = load(server, 100, 0.5, connections=1)
    assert seen["requests"] == 50
    corrected, uncorrected = (Histogram.from_json(seen[name]) for name in ("latency", "service"))
    assert corrected.most > 1_400_000
    assert corrected.quantile(0.5) > 5 * uncorrected.quantile(0.5)


def test_a_slow_rate_goes_on_until_there_is_something_to_count():
    with SlowServer() as server:
        assert load(server, 40, 0.5)["requests"] == 30
        assert load(server, 4, 0.5)["requests"] == 8


def test_the_client_lives_with_connections_that_close():
    with SlowServer(closes=True) as server:
        seen = load(server, 100, 1)
    assert seen["requests"] == 100 and seen["failed"] == 0


@pytest.mark.parametrize("closes", [False, True])
def test_the_client_speaks_tls(tmp_path, closes):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-days",
                    "2", "-keyout", tmp_path / "key", "-out", tmp_path / "certificate"],
                   check=True, capture_output=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    with SlowServer(tls=tls, closes=closes) as server:
        seen = load(server, 50, 0.8)
    assert (seen["requests"], seen["failed"], seen["unanswered"]) == (40, 0, 0)


def test_the_client_counts_what_is_wrong():
    with SlowServer(status=404) as server:
        assert load(server, 100, 0.4)["wrong_status"] == 40
    gone = constant_rate.ConstantRate(100, 0.4, 4, answers.Request(), 200)
    seen = gone.run(f"http://127.0.0.1:{processes.free_port()}/")
    assert (seen["requests"], seen["failed"]) == (0, 40)


# Comparing, and arithmetic


def answer(body=b"x", status=200, head=b"HTTP/1.1 200 OK"):
    return answers.Answer(status, head, body)


def test_answers_are_the_same_or_differ_or_vary():
    assert answers.compare([answer()] * 2, [answer()] * 2, whole=True) == ("same", "")
    word, detail = answers.compare([answer(b"one 1")], [answer(b"one 2")], whole=True)
    assert word == "DIFFERENT" and "body from byte 4" in detail
    other_head = [answer(head=b"HTTP/1.1 200 OK\r\nX: 1")]
    assert answers.compare([answer()], other_head, whole=True)[0] == "DIFFERENT"
    assert answers.compare([answer()], other_head, whole=False)[0] == "same"
    assert answers.compare([answer(b"1"), answer(b"2")], [answer(b"3")], True)[0] == "varies by itself"
    assert "status 500" in answers.compare([answer()], [answer(status=500)], False)[1]


def round_of(requests_per_s, cpu=1.0, memory=2**20):
    return {"requests": 100, "requests_per_s": requests_per_s, "failed": 0, "wrong_status": 0,
            "p50_ms": 1.0, "p90_ms": 2.0, "p95_ms": 3.0, "p99_ms": 4.0, "cpu_ms_per_request": cpu,
            "memory_bytes": memory}


def rate_round_of(microseconds, on_time=True):
    histogram = filled(microseconds)
    result = {"rate": 10, "planned": histogram.total, "requests": histogram.total, "failed": 0,
              "requests_per_s": 10.0, "unanswered": 0, "wrong_status": 0,
              "latency": histogram.as_json(), "service": histogram.as_json(),
              "lateness": filled([1]).as_json()}
    return {**constant_rate.summarised(result), "on_time": on_time, "cpu_ms_per_request": 1.0,
            "memory_bytes": None}


def comparison(classic=(100, 110, 90), rewind=(1000, 900, 1100), names=("classic", "rewind")):
    made = results.Comparison("form.pl", "/cgi/form.pl", [arms.ALL[name] for name in names])
    for name, speeds in zip(names, (classic, rewind)):
        made.series[name].closed = [round_of(speed, 1000 / speed) for speed in speeds]
        made.series[name].rates = {10: [rate_round_of([1000 * 1000 // speeds[0]] * 50)]}
    made.series[names[1]].answers = "same"
    return made


def test_a_speed_up_is_of_the_medians_and_spreads_over_rounds_of_the_same_number():
    made = comparison()
    ratio = made.ratio(made.series["rewind"])
    assert ratio.median == 10
    assert (ratio.least, ratio.most) == (900 / 110, 1100 / 90)
    assert made.base.name == "classic" and made.best_arm.name == "rewind"


def test_rates_follow_from_what_the_slowest_side_bore():
    made = comparison(classic=(123, 123, 123))
    assert results.rates_of(made, [], [80]) == [98]
    assert results.rates_of(made, [250, 7], [50]) == [7, 61, 250]
    assert results.rates_of(comparison(classic=(0.3,)), [], [80]) == [1]
    assert results.round_down(1284.6) == 1200


def test_the_verdict_says_which_arm_how_much_faster_and_how_sure():
    words = verdict.paragraph([comparison()])
    for expected in ("10.0 times as fast with rewind as with classic", "8.2 to 12.2",
                     "1,000 instead of 100", "same, byte for byte", "20 % apart (classic)", "At a steady 10"):
        assert expected in words, (expected, words)


def test_the_verdict_does_not_praise_what_it_does_not_know():
    assert "cannot be told" in verdict.paragraph([comparison(rewind=(100, 120, 80))])
    assert "fastest in classic" in verdict.paragraph([comparison(rewind=(50, 50, 50))])
    assert "one round only" in verdict.paragraph([comparison((100,), (1000,))])
    assert "order of magnitude" in verdict.paragraph([comparison(classic=(50, 100, 150))])
    made = comparison()
    made.series["rewind"].answers, made.series["rewind"].difference = "DIFFERENT", "body from byte 3 on"
    assert "NOT the same bytes (rewind: body from byte 3 on)" in verdict.paragraph([made])
    made.series["rewind"].answers = "varies by itself"
    assert "vary by themselves" in verdict.paragraph([made])
    made.series["rewind"].rates = {10: [rate_round_of([5], on_time=False)]}
    assert "client itself was late" in verdict.paragraph([made])
    alone = comparison()
    alone.series["rewind"].closed, alone.series["rewind"].unavailable = [], "it is static"
    assert "no other arm than classic (rewind: it is static)" in verdict.paragraph([alone])


def test_the_verdict_over_several_programs_counts_them():
    words = verdict.paragraph([comparison(), comparison(rewind=(300, 300, 300))])
    assert "Fastest was rewind for every program" in words
    assert "3.0-fold (form.pl) to 10.0-fold (form.pl)" in words


def test_the_table_names_what_was_not_measured_and_what_differs():
    made = comparison()
    made.remarks.append("a remark")
    made.series["rewind"].answers, made.series["rewind"].difference = "DIFFERENT", "body, <b>"
    shown = table.text([made])
    assert "10.00 x" in shown and "form.pl: a remark" in shown and "DIFFERENT: body, <b>" in shown
    html = report.page(SETUP, MACHINE, [made])
    assert "<b>\"" not in html and "body, &lt;b&gt;" in html
    made.series["rewind"].closed, made.series["rewind"].unavailable = [], "it has a thread"
    assert "rewind: not measured: it has a thread" in table.text([made])
    assert "it has a thread" in report.page(SETUP, MACHINE, [made])


SETUP = {"rounds": 3, "concurrency": 4, "method": "GET", "requests": 10, "seconds": 1, "fetches": 2,
         "connections": 4, "rate_seconds": 1}
MACHINE = {"processor": "a <fast> one", "cores": 2, "kernel": "6", "began": "now", "busy_before": 0.1}


def test_charts_stay_inside_and_escape_their_words():
    spread = results.Spread(5.0, 4.0, 6.0)
    for chart in (charts.bars([("a<b", spread)], 'say "a"', str),
                  charts.dots([("a<b", [("fork", spread)])], "x"),
                  charts.curves([("fork", filled([10, 1000]), False), ("rewind", filled([7]), True)], "x")):
        assert "a<b" not in chart and 'say "a"' not in chart and "nan" not in chart


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere():
    class Stream:
        def __init__(self, terminal):
            self.terminal, self.text = terminal, ""

        def isatty(self):
            return self.terminal

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    times = iter([0, 30, 60, 60, 60, 60])
    plain = Stream(False)
    bar = progress.Progress(120, plain, clock=lambda: next(times))
    bar.doing("not shown")
    bar.finished(30, "round 1")
    assert plain.text == " 25 %  round 1  (1 min 30 s left)\n"
    terminal = Stream(True)
    bar = progress.Progress(4, terminal, clock=lambda: 0)
    bar.finished(1)
    bar.doing("round 2")
    assert "[######..................]  25 %  round 2" in terminal.text and "\n" not in terminal.text


def test_time_left_is_said_in_words():
    assert [progress.words(s) for s in (0.2, 59, 60, 61, 3700)] == [
        "1 s", "59 s", "1 min", "1 min 1 s", "1 h 1 min"]


def test_percentiles_of_few_requests_are_none_that_ab_made_up(tmp_path):
    file = tmp_path / "percentiles.csv"
    file.write_text("Percentage served,Time in ms\n" + "".join(f"{p},{p}.5\n" for p in range(100)))
    found = {requests: list(closed_loop.read_percentiles(file, requests).values())
             for requests in (1, 5, 30, 1000)}
    assert found == {1: [49.5] * 4, 5: [50.5, 89.5, 89.5, 89.5], 30: [50.5, 90.5, 95.5, 98.5],
                     1000: [50.5, 90.5, 95.5, 99.5]}


def test_figures_of_ab_are_read():
    seen = closed_loop.figures("Complete requests:      100\nFailed requests:        2\n"
                               "Non-2xx responses:      3\nRequests per second:    812.50 [#/sec] (mean)\n")
    assert seen == {"requests": 100, "requests_per_s": 812.5, "failed": 2, "not_2xx": 3}


# The command line


@pytest.mark.parametrize("words, complaint", [
    (["--arms", "classic,quick", "x"], "'quick'"), (["--rounds", "0", "x"], "at least 1"),
    (["--rate", "10,fast", "x"], "numbers"), (["--header", "no colon", "x"], "Name: value"),
    (["--body", "a", "--method", "GET", "x"], "POST or PUT"),
    (["--exact-url", "http://h/", "x", "y"], "one PROGRAM"), (["--url", "host/x", "x"], "http://"),
    (["--switch", "command", "x"], "switches no reset"),
    (["--body", "@/none", "x"], "No such file")])
def test_a_bad_command_line_is_refused_with_the_reason(words, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        arguments.arguments(["--config", "c", *words])
    assert ended.value.code == 2 and complaint in capsys.readouterr().err


def test_a_body_makes_a_post_that_is_compared_with_get():
    given = arguments.arguments(["--config", "c", "--body", "a=1", "--header", "Accept: x", "x"])
    assert (given.request.method, given.compare_request.method) == ("POST", "GET")
    raw = given.request.encode("http://h:81/x?q")
    assert raw == (b"POST /x?q HTTP/1.1\r\nHost: h:81\r\nContent-Type: application/x-www-form-urlencoded"
                   b"\r\nContent-Length: 3\r\nAccept: x\r\n\r\na=1")
    same = arguments.arguments(["--config", "c", "--body", "a=1", "--compare", "same", "x"])
    assert same.compare_request == same.request


# The settings file

SETTINGS = """[bridge]
roots = ["ROOT"]
[[program]] # of the shop
match = "*/shop.*"
mode = "classic"   # for now
env = { A = "1" }
[[program]]
match = "*/x"
"""


@pytest.fixture
def settings(tmp_path):
    for name in ("shop.pl", "shop.py", "x", "alone[1].pl"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    path = tmp_path / "config.toml"
    path.write_text(SETTINGS.replace("ROOT", str(tmp_path)))
    return path


def test_a_switch_edits_one_section_and_restoring_puts_every_byte_back(settings):
    before = settings.read_bytes()
    file = mode_switch.SettingsFile(settings)
    number, path = file.find_program("shop.pl")
    assert number == 0 and file.others_of(number, path) == ["shop.py"] and file.env_of(number) == {"A": "1"}
    file.switch(number, path, {"mode": "persistent", "reset": "fork"})
    text = settings.read_text()
    assert 'mode = "persistent"   # for now' in text and text.count('reset = "fork"') == 1
    file.switch(number, path, {"mode": "classic"})
    file.restore()
    assert settings.read_bytes() == before
    assert sorted(p.name for p in settings.parent.iterdir()) == [
        "alone[1].pl", "config.toml", "shop.pl", "shop.py", "x"]


def test_a_program_without_a_section_gets_one_for_itself_alone(settings):
    file = mode_switch.SettingsFile(settings)
    number, path = file.find_program("alone[1].pl")
    assert number is None
    file.switch(number, path, {"mode": "persistent", "reset": "rewind"})
    assert 'match = "%s/alone[[]1].pl"' % settings.parent in settings.read_text()
    file.restore()


def test_a_file_that_somebody_else_writes_is_left_alone(settings):
    file = mode_switch.SettingsFile(settings)
    number, path = file.find_program("x")
    file.switch(number, path, {"mode": "classic"})
    theirs = settings.read_text() + "# mine\n"
    settings.write_text(theirs)
    with pytest.raises(Problem, match="somebody else wrote"):
        file.switch(number, path, {"mode": "persistent"})
    with pytest.raises(Problem, match="left as they wrote it"):
        file.restore()
    assert settings.read_text() == theirs
    with pytest.raises(Problem, match="another comparison runs, or one was killed"):
        mode_switch.SettingsFile(settings)


def test_a_file_that_changed_before_the_first_switch_is_refused(settings):
    file = mode_switch.SettingsFile(settings)
    settings.write_text(settings.read_text() + "\n")
    with pytest.raises(Problem, match="start again"):
        file.switch(*file.find_program("x"), {"mode": "classic"})


def test_a_program_outside_the_roots_is_refused(settings):
    for name in ("none.pl", "../x", "/bin/sh"):
        with pytest.raises(Problem, match="no such file in the roots"):
            mode_switch.SettingsFile(settings).find_program(name)
