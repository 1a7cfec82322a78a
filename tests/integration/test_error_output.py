"""How much of a program's standard error is passed on: limits.error_output."""

from harness import fastcgi, programs
from harness.processes import wait_until

LIMIT = 64 * 1024
SETTINGS = 'limits = { error_output = "64KiB" }'


def shouting(site, text="shout", size=1_000_000):
    """Writes size bytes in lines of 100 to its standard error, then answers."""
    return site.sh("shouting", f"""
        head -c {size} /dev/zero | tr '\\0' e | fold -w 99 >&2
        printf 'Content-Type: text/plain\\n\\n{text}\\n'
        """)


def test_beyond_the_limit_it_is_dropped_and_a_line_says_how_much(site, mode):
    script = shouting(site)
    bridge = site.start_bridge(f'mode = "{mode}"\n{SETTINGS}')
    for _ in range(2):
        response = bridge.request(script)
        assert response.body == b"shout\n"
        passed, told = response.stderr[:LIMIT], response.stderr[LIMIT:].decode()
        assert set(passed) == set(b"e\n")
        dropped = 1_000_000 + 1_000_000 // 99 - LIMIT
        assert told == (f"cgibridge: {dropped} more bytes of standard error are dropped "
                        f"(limits.error_output is {LIMIT})\n")
    bridge.expect_log(rf"shouting: {dropped} more bytes of standard error are dropped")
    # The log has lines, each with its own prefix.
    assert len(bridge.log()) < 2 * 2 * LIMIT + 100_000
    assert bridge.status()["bridge"]["error_output_dropped"] == 2 * dropped
    assert f"cgibridge_error_output_dropped_bytes_total {2 * dropped}" in bridge.command(
        "status", "--openmetrics")


def test_many_short_lines_fill_no_log(site):
    script = site.sh("short", """
        yes | head -c 500000 >&2
        printf 'Content-Type: text/plain\\n\\nok\\n'
        """)
    bridge = site.start_bridge(f'mode = "classic"\n{SETTINGS}')
    assert bridge.request(script).body == b"ok\n"
    bridge.expect_log("short: .* more bytes of standard error are dropped")
    assert bridge.log().count(" stderr: y") == LIMIT // 64


def test_up_to_the_limit_all_of_it_arrives(site):
    script = shouting(site, size=60_000)
    bridge = site.start_bridge(f'mode = "classic"\n{SETTINGS}')
    assert len(bridge.request(script).stderr) == 60_000 + 60_000 // 99
    assert bridge.status()["bridge"]["error_output_dropped"] == 0


def test_a_program_that_writes_it_without_end_never_waits_and_ends_at_its_timeout(site):
    endless = site.sh("endless", """
        printf 'Content-Type: text/plain\\n\\nbegun\\n'
        exec yes an endless complaint >&2
        """)
    hello = programs.hello(site)
    bridge = site.start_bridge(f'mode = "classic"\n{SETTINGS}\n'
                               'timeouts = { background = "6s", kill_grace = "1s" }')
    # It has closed its standard output, so its answer is complete.
    assert bridge.request(endless).body == b"begun\n"
    # It goes on writing, and everybody else still gets answers.
    wait_until(lambda: bridge.status()["bridge"]["error_output_dropped"] > 20 * LIMIT,
               "much more than the limit is dropped")
    assert bridge.request(hello).body == b"hello\n"
    bridge.expect_log("endless: it goes on after its answer for more than 6000 ms", seconds=20)
    bridge.expect_log("endless: .* more bytes of standard error are dropped")
    bridge.wait_idle()
    assert bridge.log().count("an endless complaint") < 3 * LIMIT // 20


def test_a_zygote_s_own_is_limited_as_well(site):
    """Output before the checkpoint belongs to no request."""
    script = site.perl("early", """
        BEGIN { print STDERR "early " x 10, "\\n" for 1 .. 5000; }
        print "Content-Type: text/plain\\n\\nok\\n";
        """)
    bridge = site.start_bridge(SETTINGS.replace("64KiB", "4KiB"))
    assert bridge.request(script).body == b"ok\n"
    bridge.wait_warm(script)
    bridge.expect_log("early: more standard error in a minute than limits.error_output")
    bridge.expect_clean_stop()
    bridge.expect_log("early: [0-9]+ more bytes of standard error are dropped .* in a minute")
