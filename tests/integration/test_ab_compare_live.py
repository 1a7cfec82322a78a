"""The whole of examples/ab-compare, against a real bridge and real web servers."""

import json
import signal
import subprocess

import pytest

from harness.bridge import BINARY, BUILD, environment
from harness.browser import Browser
from harness.processes import PATIENCE, wait_until
from harness.site import PROJECT
from harness.slow_server import SlowServer

# Other tests cover the bridge code used here under sanitizers.
pytestmark = pytest.mark.plain_build


def ab_compare(bridge, *words, expect=0, seconds=240, env=None):
    done = subprocess.run(
        [PROJECT / "examples" / "ab-compare", "--config", bridge.config, "--cgibridge", BINARY,
         *map(str, words)], capture_output=True, text=True, timeout=seconds * PATIENCE,
        env=environment(**(env or {})))
    assert done.returncode == expect, done.stdout + done.stderr
    return done


QUICK = ("--requests", 60, "--seconds", 1, "--rounds", 2, "--rate-seconds", 1, "--fetches", 5)


@pytest.fixture
def hello(site):
    """A bridge with two programs and nginx in front; one program has a `[[program]]` section, the other has
    none."""
    for name in ("hello.cgi", "hello.pl"):
        site.example(name)
    bridge = site.start_bridge(programs=f"""
        [[program]]
        name = "hello"
        match = "{site.cgi_bin}/hello.cgi"
        mode = "classic"
        """)
    return bridge, site.start_nginx(bridge, keep_alive=True)


def test_every_arm_is_measured_and_the_report_opens_in_a_browser(site, hello):
    bridge, nginx = hello
    before = bridge.config.read_bytes()
    out = site.folder / "report"
    done = ab_compare(bridge, "--url", nginx.url("/cgi-bin/"), *QUICK, "--arms",
                      "classic,rewind,none", "--out", out, "hello.cgi", site.cgi_bin / "hello.pl")
    assert bridge.config.read_bytes() == before
    document = json.loads((out / "report.json").read_text())
    for program, warm in zip(document["programs"], (["rewind"], ["rewind", "none"])):
        for name in ("classic", *warm):
            side = program["sides"][name]
            assert len(side["rounds"]) == 2 and len(side["rates"][0]["rounds"]) == 2
            assert side["answers"] == ("" if name == "classic" else "same")
            assert all(r["requests"] and not r["failed"] and not r["wrong_status"] for r in side["rounds"])
    assert bridge.program(site.cgi_bin / "hello.pl")["requests_persistent"] > 300
    assert document["verdict"].split()[0] in done.stdout
    assert (out / "report.csv").read_text().count("\n") > 2 * 2 * 2 * 2
    assert "% " in done.stderr and "left)" in done.stderr
    look_at(out / "report.html", programs=2)


def look_at(file, programs):
    """Opens the report in Chromium, as wide as a desktop and as narrow as a phone: its console is empty, it
    loads nothing else, and nothing sticks out."""
    browser = Browser(file.with_name("chromium"))
    try:
        for width in (1280, 360):
            browser.width(width)
            browser.open(file.as_uri())
            assert len(browser.find("svg.chart")) == 1 + 4 * programs
            assert "-fold" in browser.text("header .verdict")
            assert browser.run("return document.documentElement.scrollWidth") <= width
            assert browser.complaints() == []
            assert {url.split(":")[0] for url in browser.sent()} <= {"file", "data", "about"}
    finally:
        browser.quit()


def test_what_else_can_run_the_program_is_started_and_ended(site, hello):
    """Without --url the tool starts its own nginx in front of the bridge."""
    bridge, _ = hello
    scratch = site.folder / "scratch"
    scratch.mkdir()
    out = site.folder / "report.json"
    ab_compare(bridge, *QUICK, "--rounds", 1, "--rate", 40, "--peers", "fcgiwrap,mod_cgid,by-hand",
               "--responders", BUILD / "examples" / "responders", "--arms", "classic,rewind",
               "--json", out, "hello.cgi", env={"TMPDIR": str(scratch)})
    sides = json.loads(out.read_text())["programs"][0]["sides"]
    assert list(sides) == ["classic", "rewind", "fcgiwrap", "mod_cgid", "by-hand"]
    for name, side in sides.items():
        assert side["rounds"][0]["requests"] and side["rates"][0]["rounds"][0]["requests"] == 40, name
        assert side["answers"] == ("" if name == "classic" else "same"), name
        assert side["median"]["memory_bytes"] > 0, name
    assert not list(scratch.iterdir())


def test_a_form_is_sent_as_it_was_given(site, hello):
    bridge, nginx = hello
    site.sh("form", """
        body=$(cat)
        echo "$REQUEST_METHOD $QUERY_STRING $CONTENT_TYPE $HTTP_X_TEST $body" >> "%s/seen"
        printf 'Status: 201 Created\\nContent-Type: text/plain\\n\\nthanks\\n'
        """ % site.folder)
    ab_compare(bridge, "--url", nginx.url("/cgi-bin/"), *QUICK, "--rounds", 1, "--arms",
               "classic,rewind", "--query", "a=1", "--body", "name=x", "--header", "X-Test: yes",
               "--rate", 20, "form")
    seen = (site.folder / "seen").read_text().splitlines()
    expected = "POST a=1 application/x-www-form-urlencoded yes name=x"
    assert set(seen) == {expected, "GET a=1  yes "}
    assert seen.count(expected) > 100


def test_different_bytes_fail_the_comparison(site, hello):
    bridge, nginx = hello
    site.perl("leaky", """
        our $n;
        print "Content-Type: text/plain\\n\\n", ++$n == 1 ? "once" : "more often", "\\n";
        """)
    done = ab_compare(bridge, "--url", nginx.url("/cgi-bin/"), *QUICK, "--rounds", 1, "--rate-share", 0,
                      "--arms", "classic,rewind,none", "leaky", expect=1)
    assert "leaky, none: DIFFERENT: body from byte 0" in done.stdout
    assert "NOT the same bytes" in done.stdout


def test_an_arm_that_a_program_cannot_have_is_left_out_with_the_reason(site, hello):
    bridge, nginx = hello
    script = site.c("setuid", """
        #include <stdio.h>
        int main(void) { puts("Content-Type: text/plain\\n\\nhello"); return 0; }
        """)
    script.chmod(0o4755)
    done = ab_compare(bridge, "--url", nginx.url("/cgi-bin/"), *QUICK, "--rounds", 1, "--rate-share", 0,
                      "setuid")
    assert "setuid, rewind: not measured: " in done.stdout and "no other arm than classic" in done.stdout


def test_a_url_that_reaches_another_server_is_found_out(site, hello):
    bridge, _ = hello
    with SlowServer(closes=True) as server:
        done = ab_compare(bridge, "--url", server.url(""), *QUICK, "--arms", "classic",
                          "hello.cgi", expect=1)
    assert "do these requests reach this bridge?" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_settings_come_back_at_every_signal(site, hello, number):
    bridge, nginx = hello
    before = bridge.config.read_bytes()
    running = site.start(PROJECT / "examples" / "ab-compare", "--config", bridge.config, "--cgibridge",
                         BINARY, "--url", nginx.url("/cgi-bin/"), "hello.cgi", env=environment(),
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: bridge.config.read_bytes() != before, "the settings are edited", 30)
    running.send_signal(number)
    assert running.wait(30 * PATIENCE) != 0
    assert bridge.config.read_bytes() == before
    assert not list(site.folder.glob("*.before-ab-compare"))
