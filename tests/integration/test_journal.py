"""What the bridge records about requests: the log in a file, the access log, captures and replay."""

import contextlib
import json
import os
import re
import signal
import stat

import pytest

from harness import programs
from harness.processes import wait_until
from harness.site import PROJECT


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def wait_lines(path, count, seconds=10):
    wait_until(lambda: len(lines_of(path)) >= count, f"{path} has {count} lines", seconds)
    return lines_of(path)


def metric(bridge, name):
    found = re.search(rf"^{re.escape(name)} (\d+)$", bridge.command("status", "--openmetrics"), re.MULTILINE)
    return int(found.group(1)) if found else None


# ---- the access log ----

def test_a_request_is_a_line_of_json_with_what_it_took(site, mode):
    log = site.folder / "access.log"
    script = site.perl("eat", """
        my $n = 200_000_000; my $x = 'a' x $n; my $y = 0; $y += $_ for 1 .. 300_000;
        print "Content-Type: text/plain\\n\\nhello\\n"; exit 3;
        """)
    bridge = site.start_bridge(f'mode = "{mode}"\nreset = "fork"',
                               bridge=f'access_log = {{ file = "{log}", format = "json" }}')
    bridge.request(script)
    if mode == "persistent":
        bridge.wait_warm(script)
    # The last one is for a program that was warm.
    bridge.request(script, "POST", "a=1&password=hunter2", body=b"four", REMOTE_USER="eve")
    line = json.loads(wait_lines(log, 2)[-1])
    assert line["remote_addr"] == "127.0.0.1" and line["remote_user"] == "eve"
    assert (line["method"], line["uri"]) == ("POST", "/cgi-bin/eat?a=1&password=xxxxxxx")
    assert line["program"] == str(script)
    assert line["arm"] == ("classic" if mode == "classic" else "fork")
    assert line["level"] == (None if mode == "classic" else "compiled")
    assert (line["status"], line["exit_code"], line["failure"]) == (200, 3, "exit_code")
    assert line["received_bytes"] == 4 and line["sent_bytes"] >= len("hello\n")
    assert line["latency_us"] == line["queue_us"] + line["run_us"] and line["run_us"] > 0
    # More than the process that started the bridge, because a process's peak includes its parent's.
    assert line["cpu_us"] > 0 and line["peak_kib"] > 190_000
    assert line["pid"] > 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_json_that_shows_a_visitor_s_bytes_is_ascii(site):
    """Terminals obey U+009B, and some readers end a line at U+0085 or U+2028."""
    log, captures = site.folder / "access.log", site.folder / "captures"
    script = site.sh("fails", "exit 3")
    bridge = site.start_bridge(bridge=f'access_log = {{ file = "{log}", format = "json" }}\n'
                                      f'captures = {{ folder = "{captures}" }}')
    bridge.allow_log("502")
    odd = "\x9b31m\x85\u2028\x7f\u00e9"
    bridge.request(script, REMOTE_USER=odd.encode().decode("latin-1"), HTTP_X_BYTES="\x9b\xff")
    line = wait_lines(log, 1)[-1]
    assert line.isascii() and line.isprintable() and json.loads(line)["remote_user"] == odd
    kept = wait_until(lambda: [*captures.glob("*.json")], "a capture")[0].read_text()
    assert kept.isascii() and kept.replace("\n", "").isprintable()
    params = dict(json.loads(kept)["params"])
    assert params["REMOTE_USER"] == odd and params["HTTP_X_BYTES"] == {"latin1": "\x9b\xff"}


def test_requests_that_reach_no_program_are_lines_too(site):
    log = site.folder / "access.log"
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"', bridge=f'access_log = {{ file = "{log}" }}')
    bridge.allow_log("404")
    bridge.request(site.cgi_bin / "missing")
    bridge.request(hello)
    missing, found = wait_lines(log, 2)
    assert re.match(r'127\.0\.0\.1 - - \[[^]]+\] "GET /cgi-bin/missing HTTP/1\.1" 404 0 '
                    r'program=- arm=- .* failure=none$', missing)
    assert re.search(rf'" 200 \d+ program={hello} arm=classic level=- pid=\d+ .* exit=0 failure=none$', found)


def test_one_line_a_request_under_load_and_none_after_it_is_switched_off(site):
    log = site.folder / "access.log"
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"', bridge=f'access_log = {{ file = "{log}" }}')
    with bridge.connect() as peer:
        for id in range(1, 21):
            peer.begin(id)
            peer.params({"SCRIPT_FILENAME": str(hello), "REQUEST_METHOD": "GET",
                         "REQUEST_URI": f"/number/{id}"}, id)
            peer.stdin(b"", id)
        for id in range(1, 21):
            peer.response(id)
    seen = [re.search(r'"GET (\S+) ', line).group(1) for line in wait_lines(log, 20)]
    assert sorted(seen) == sorted(f"/number/{id}" for id in range(1, 21))
    assert metric(bridge, 'cgibridge_journal_lines_total{file="access_log"}') == 20
    site.rewrite_config('mode = "classic"')
    bridge.command("reload")
    bridge.request(hello)
    assert len(lines_of(log)) == 20


# What it does at SIGTERM, whether its head is out by then; and the line's status and exit code.
ENDINGS = {"ignore,begun": (200, 137), "default,begun": (200, 143), "tidy,begun": (200, 7),
           "ignore,silent": (504, 137), "tidy,silent": (504, 7)}


def test_a_request_that_the_bridge_ended_tells_how_its_program_ended(site, mode):
    log = site.folder / "access.log"
    script = site.perl("slow", """
        my %at = (ignore => 'IGNORE', default => 'DEFAULT', tidy => sub { exit 7 });
        my ($ending, $head) = split /,/, $ENV{QUERY_STRING};
        $SIG{TERM} = $at{$ending};
        $| = 1;
        my $sum = 0; $sum += $_ for 1 .. 300_000;
        print "Content-Type: text/plain\\n\\nx" if $head eq 'begun';
        sleep 1 while 1;
        """)
    bridge = site.start_bridge(
        f'mode = "{mode}"\ntimeouts = {{ request = "4s", kill_grace = "2s" }}',
        bridge=f'access_log = {{ file = "{log}", format = "json" }}\nprewarm = ["{script}"]')
    bridge.allow_log("timeouts.request|exited|killed by signal")
    if mode == "persistent":
        bridge.wait_warm(script)
    peers = [bridge.connect() for _ in ENDINGS]
    for peer, query in zip(peers, ENDINGS):
        peer.start(script, query=query)
    lines = [json.loads(text) for text in wait_lines(log, len(ENDINGS), 30)]
    for peer in peers:
        peer.close()
    assert {line["uri"].partition("?")[2]: (line["status"], line["exit_code"]) for line in lines} == ENDINGS
    for line in lines:
        assert line["failure"] == "timeout" and line["pid"] > 1
        assert line["cpu_us"] > 0


def test_a_request_whose_client_left_tells_the_same(site):
    log, sleeper = site.folder / "access.log", programs.sleeper(site)
    bridge = site.start_bridge('mode = "classic"', bridge=f'access_log = {{ file = "{log}" }}')
    with bridge.connect() as peer:
        peer.start(sleeper)
        peer.wait_for_output(b"started")
    (line,) = wait_lines(log, 1)
    assert re.search(r'" 200 \d+ program=\S+ arm=classic .* exit=143 failure=client_gone$', line)


def test_a_bridge_that_ends_before_its_program_writes_the_line_without_an_exit_code(site):
    log = site.folder / "access.log"
    script = site.perl("stubborn", """
        $SIG{TERM} = 'IGNORE'; $| = 1;
        print "Content-Type: text/plain\\n\\nx";
        sleep 1 for 1 .. 60;
        """)
    bridge = site.start_bridge('mode = "classic"\ntimeouts = { kill_grace = "60s" }',
                               bridge=f'access_log = {{ file = "{log}", format = "json" }}')
    bridge.allow_log(".*")
    with bridge.connect() as peer:
        peer.start(script)
        peer.wait_for_output(b"x")
    bridge.wait_idle()
    assert lines_of(log) == []
    os.kill(bridge.pid, signal.SIGTERM)
    bridge.expect_end()
    (line,) = (json.loads(text) for text in lines_of(log))
    assert (line["status"], line["exit_code"], line["failure"]) == (200, None, "client_gone")
    assert line["pid"] > 1
    with contextlib.suppress(ProcessLookupError):
        os.kill(line["pid"], signal.SIGKILL)


# ---- files ----

@pytest.mark.parametrize("how", ["signal", "command"])
def test_rotated_files_are_opened_anew(site, how):
    hello = programs.hello(site)
    log, access = site.folder / "bridge.log", site.folder / "access.log"
    bridge = site.start_bridge('mode = "classic"',
                               bridge=f'log = "{log}"\naccess_log = {{ file = "{access}" }}')
    wait_until(lambda: "cgibridge serves" in log.read_text(), "the log is in its file")
    bridge.request(hello)
    wait_lines(access, 1)
    for file in (log, access):
        file.rename(f"{file}.1")
    bridge.request(hello)
    # Until the bridge is told, it goes on writing to the old file.
    wait_lines(site.folder / "access.log.1", 2)
    if how == "signal":
        os.kill(bridge.pid, signal.SIGUSR1)
    else:
        bridge.command("reopen")
    wait_until(lambda: log.exists() and "opened again" in log.read_text(), "the new log file")
    bridge.request(hello)
    wait_lines(access, 1)
    assert len(lines_of(access)) == 1 and len(lines_of(site.folder / "access.log.1")) == 2
    assert stat.S_IMODE(access.stat().st_mode) & 0o007 == 0


def test_what_cannot_be_opened_anew_goes_on_and_the_command_says_so(site):
    hello = programs.hello(site)
    logs = site.folder / "logs"
    logs.mkdir()
    access = logs / "access.log"
    bridge = site.start_bridge('mode = "classic"', bridge=f'access_log = {{ file = "{access}" }}')
    logs.rename(site.folder / "moved")
    said = bridge.command("reopen", expect=1)
    assert "No such file or directory" in said
    bridge.expect_log("reopen: cannot open .*: the file that was open goes on")
    bridge.request(hello)
    wait_lines(site.folder / "moved" / "access.log", 1)
    (site.folder / "moved").rename(logs)


def test_a_full_disk_costs_lines_and_no_request(site):
    hello = programs.hello(site)
    full = site.folder / "full.log"
    full.symlink_to("/dev/full")
    bridge = site.start_bridge('mode = "classic"', bridge=f'access_log = {{ file = "{full}" }}')
    for _ in range(3):
        assert bridge.request(hello).status == 200
    bridge.expect_log("access_log: cannot write .*full.log: No space left on device: its lines are dropped")
    wait_until(lambda: metric(bridge, 'cgibridge_journal_lines_dropped_total{file="access_log"}') == 3,
               "three lines were dropped")
    # There is room again.
    full.unlink()
    bridge.command("reopen")
    bridge.request(hello)
    bridge.expect_log(r"access_log: .*full.log can be written again; 3 line\(s\) were dropped")
    assert len(wait_lines(full, 1)) == 1
    site.rewrite_config('mode = "classic"')
    bridge.command("reload")


def test_a_log_that_its_disk_has_no_room_for_goes_to_standard_error(site):
    full = site.folder / "full.log"
    full.symlink_to("/dev/full")
    bridge = site.start_bridge('mode = "classic"', bridge=f'log = "{full}"')
    bridge.expect_log("cgibridge serves")
    assert metric(bridge, 'cgibridge_journal_lines_dropped_total{file="log"}') > 0


def test_a_log_that_cannot_be_made_is_a_reason_not_to_start(site):
    config = site.write_config(bridge=f'log = "{site.folder}/no/such.log"')
    done = site.cgibridge("serve", "--config", config, expect=1)
    assert "bridge.log: cannot open" in done.stderr and "not started" in done.stderr


def test_the_rotation_that_we_ship_says_our_command(site):
    text = (PROJECT / "config" / "logrotate" / "cgibridge").read_text()
    command = re.search(r"postrotate\s+(\S+) (\S+)\s+endscript", text)
    assert command.group(1).endswith("/cgibridge") and command.group(2) == "reopen"
    assert "reopen" in site.cgibridge("--help").stdout


# ---- captures ----

CRASH = """
    use strict; use warnings;
    my $body = ''; read STDIN, $body, $ENV{CONTENT_LENGTH} || 0;
    if (($ENV{QUERY_STRING} || '') =~ /crash/) { print STDERR "no luck\\n"; kill 'SEGV', $$; sleep 5; }
    print "Content-Type: text/plain\\nStatus: 500 Oops\\n\\n$ENV{REQUEST_METHOD} $body\\n" .
        ($ENV{HTTP_COOKIE} || 'no cookie') . "\\n";
    exit 4;
    """


def captures(folder):
    return sorted(folder.glob("*.capture.json")) if folder.exists() else []


def wait_captures(folder, count):
    wait_until(lambda: len(captures(folder)) == count, f"{folder} holds {count} captures")
    return captures(folder)


def test_a_failing_request_is_kept_without_its_secrets_and_runs_again_in_either_mode(site):
    script, folder = site.perl("crash", CRASH), site.folder / "captures"
    bridge = site.start_bridge('mode = "classic"', bridge=f'captures = {{ folder = "{folder}" }}')
    bridge.allow_log("program=.*crash")
    body = b"name=eve&password=hunter2"
    answer = bridge.request(script, "POST", "token=abc", body=body, HTTP_COOKIE="id=q90210",
                            HTTP_AUTHORIZATION="Basic ZXZl",
                            CONTENT_TYPE="application/x-www-form-urlencoded")
    assert answer.status == 500
    (file,) = wait_captures(folder, 1)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert not any(secret in text for secret in ("hunter2", "q90210", "ZXZl", "token=abc"))
    kept = json.loads(text)
    assert (kept["status"], kept["exit_code"], kept["failure"]) == (500, 4, "exit_code")
    assert kept["masked"] == ["HTTP_AUTHORIZATION", "HTTP_COOKIE", "QUERY_STRING:token",
                              "REQUEST_URI:token", "body:password"]
    for again in ("classic", "persistent"):
        done = site.cgibridge("replay", file, "--mode", again, "--env", "HTTP_COOKIE=id=5", expect=4)
        assert done.stdout.endswith("POST name=eve&password=xxxxxxx\nid=5\n"), done.stdout
        assert re.search(rf"replayed {again}, as .*: status 500, exit code 4", done.stderr)
        assert "not warm" not in done.stderr
        assert "masked, the program gets other values: HTTP_AUTHORIZATION" in done.stderr
    assert metric(bridge, 'cgibridge_captures_total{result="written"}') == 1


def test_a_crash_is_captured_with_how_it_ended_and_crashes_again(site):
    script, folder = site.perl("crash", CRASH), site.folder / "captures"
    bridge = site.start_bridge('mode = "persistent"', bridge=f'captures = {{ folder = "{folder}" }}')
    bridge.allow_log("program=.*crash")
    assert bridge.request(script, query="crash").status == 502
    kept = json.loads(wait_captures(folder, 1)[0].read_text())
    assert kept["failure"] == "bad_answer" and kept["status"] == 502
    assert kept["ended_by"].startswith("killed by signal 11") and "no luck" in kept["last_error"]
    done = site.cgibridge("replay", captures(folder)[0], expect=None)
    assert "no proper answer" in done.stderr and "killed by signal 11" in done.stderr


def test_what_the_settings_say_of_the_program_holds_for_its_replay(site):
    script = site.sh("env", "printf 'Status: 500\\nContent-Type: text/plain\\n\\n%s\\n' \"$WHO\"\n")
    folder = site.folder / "captures"
    bridge = site.start_bridge('mode = "classic"\nenv = { WHO = "the bridge" }',
                               bridge=f'captures = {{ folder = "{folder}" }}')
    bridge.request(script)
    (file,) = wait_captures(folder, 1)
    assert "the bridge" not in file.read_text(), "what is configured is not in the capture"
    assert "the bridge" in site.cgibridge("replay", file).stdout
    assert "the bridge" not in site.cgibridge("replay", file, "--without-settings").stdout
    other = site.write_config('env = { WHO = "another" }', name="other.toml")
    assert "another" in site.cgibridge("replay", file, "--config", other).stdout


HELD = """
    printf 'Status: 500\\nContent-Type: text/plain\\n\\n'
    grep -E '^(Uid|NoNewPrivs|Seccomp):' /proc/self/status
    """


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_capture_runs_again_as_its_user_and_in_its_sandbox(site):
    script, folder = site.sh("held", HELD), site.folder / "captures"
    bridge = site.start_bridge(
        'mode = "classic"\nuser = "www-data"\nsandbox = { syscalls = ["@cgi"] }',
        bridge=f'captures = {{ folder = "{folder}" }}')
    answer = bridge.request(script).body
    assert b"Uid:\t33\t33\t33\t33" in answer
    (file,) = wait_captures(folder, 1)
    printed = bridge.expect_log(r"captured, status_5xx: cgibridge (replay \S+)$")
    done = site.cgibridge(*printed.group(1).split())
    assert done.stdout.encode().endswith(answer), "the very same as at the request"
    assert re.search(r"replayed classic, as www-data \(uid 33\), sandbox: .*: status 500", done.stderr)
    # If its settings are not available, it does not run at all, unless somebody says so.
    bridge.allow_log(re.escape(str(bridge.config)))  # the bridge may look while the file is missing
    bridge.config.rename(site.folder / "moved.toml")
    done = site.cgibridge("replay", file, expect=1)
    assert done.stdout == "" and f"{bridge.config}, which the capture names, is not there" in done.stderr
    assert "Uid:\t33" in site.cgibridge("replay", file, "--config", site.folder / "moved.toml").stdout
    done = site.cgibridge("replay", file, "--without-settings")
    assert "Uid:\t0" in done.stdout and "as root (uid 0), in no sandbox" in done.stderr
    (site.folder / "moved.toml").rename(bridge.config)
    old = json.loads(file.read_text())
    del old["settings_file"]
    file.write_text(json.dumps(old))
    done = site.cgibridge("replay", file, expect=1)
    assert "the capture names no settings file: it would run as root, in no sandbox" in done.stderr


def test_captures_are_bounded_and_only_made_where_they_are_wanted(site):
    script, other = site.perl("crash", CRASH), site.perl("other", CRASH)
    folder = site.folder / "captures"
    bridge = site.start_bridge(
        'mode = "classic"',
        bridge=f'captures = {{ folder = "{folder}", max = 2 }}',
        programs=f'[[program]]\nmatch = "{other}"\ncapture = false\n')
    bridge.request(other)
    body = b"x" * (64 * 1024)
    for number in range(63):
        bridge.request(script, "POST", body=body + b"%02d" % number)
    bridge.expect_log("captures: more than 60 in a minute")
    kept = [json.loads(file.read_text()) for file in wait_captures(folder, 2)]
    assert [entry["body"] for entry in kept] == [body.decode()] * 2
    assert [entry["body_bytes"] for entry in kept] == [len(body) + 2] * 2
    assert all(entry["program"] == str(script) for entry in kept)
    assert metric(bridge, 'cgibridge_captures_total{result="written"}') == 60
    assert metric(bridge, 'cgibridge_captures_total{result="too_many"}') == 3
    done = site.cgibridge("replay", captures(folder)[0], expect=4)
    assert f"only the first {len(body)} of {len(body) + 2} bytes" in done.stderr
    assert f"POST {body.decode()}\n" in done.stdout


def test_clients_that_leave_are_no_failure_to_be_captured(site):
    folder = site.folder / "captures"
    sleeper = programs.sleeper(site)
    bridge = site.start_bridge('mode = "classic"', bridge=f'captures = {{ folder = "{folder}" }}')
    with bridge.connect() as peer:
        peer.start(sleeper)
        peer.wait_for_output(b"started")
        peer.abort()
        peer.response()
    bridge.wait_idle()
    assert captures(folder) == []


def test_a_folder_that_others_may_write_to_is_refused_with_a_word(site):
    folder = site.folder / "captures"
    folder.mkdir()
    folder.chmod(0o777)
    script = site.perl("crash", CRASH)
    bridge = site.start_bridge('mode = "classic"', bridge=f'captures = {{ folder = "{folder}" }}')
    bridge.expect_log("captures.folder: .* may be written to by others than its owner: nothing is captured")
    bridge.request(script)
    assert captures(folder) == []


def test_a_file_that_is_no_capture_is_not_replayed(site):
    file = site.folder / "x.json"
    file.write_text("{}")
    done = site.cgibridge("replay", file, expect=1)
    assert "is no capture" in done.stderr
    assert "No such file" in site.cgibridge("replay", site.folder / "none", expect=1).stderr
