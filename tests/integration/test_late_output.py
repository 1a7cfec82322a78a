"""What is still written to a program's standard output after the program itself has ended."""

import os

import pytest

from harness import processes

# Each answers HELLO through a filter that ends after the program.
FILTERS = {
    "perl's pipe": ("perl", """
        print "Content-Type: text/plain\\n\\n"; $| = 1; print "";
        open STDOUT, "|sleep 0.05; tr a-z A-Z" or die; print "hello\\n";
        """),
    "a process substitution": ("bash", """
        printf 'Content-Type: text/plain\\n\\n'
        exec > >(sleep 0.05; tr a-z A-Z); echo hello
        """),
    "the rest by a child": ("perl", """
        $| = 1; print "Content-Type: text/plain\\n\\n";
        exit if fork; select undef, undef, undef, 0.05; print "HELLO\\n";
        """),
    "the head as well": ("perl", """
        exit if fork; select undef, undef, undef, 0.05; print "Content-Type: text/plain\\n\\nHELLO\\n";
        """),
}


def write(site, language, text):
    if language == "perl":
        return site.perl("late", text)
    return site.script("late", "#!/bin/bash\n" + text)


@pytest.mark.parametrize("language, text", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("settings", ['mode = "classic"', 'reset = "rewind"', 'reset = "fork"'])
def test_a_filter_may_end_after_its_program(site, language, text, settings):
    script = write(site, language, text)
    bridge = site.start_bridge(settings)
    bridge.allow_log("retire|replaced|cannot stay|reset fork")
    bridge.request(script)
    if "classic" not in settings:
        bridge.wait_warm(script)
    for _ in range(5):
        assert bridge.request(script).body == b"HELLO\n"


@pytest.mark.parametrize("settings", ['mode = "classic"', 'reset = "rewind"', 'reset = "fork"'])
def test_a_long_answer_of_a_filter_comes_whole(site, settings):
    script = write(site, "bash", """
        printf 'Content-Type: text/plain\\n\\n'
        exec > >(sleep 0.05; cat); head -c 3000000 /dev/zero
        """)
    bridge = site.start_bridge(settings)
    bridge.allow_log("retire|replaced|cannot stay|reset fork")
    for _ in range(3):
        assert len(bridge.request(script).body) == 3_000_000


def test_who_only_holds_the_pipe_does_not_hold_up_the_answer(site):
    """It sleeps for longer than this test waits for an answer."""
    script = site.perl("holder", """
        $| = 1; print "Content-Type: text/plain\\n\\n";
        my $pid = fork; if ($pid) { print "$pid\\n"; exit }
        sleep 600;
        """)
    bridge = site.start_bridge('mode = "classic"')
    holder = int(bridge.request(script).body)
    assert processes.alive(holder)
    os.kill(holder, 9)


def test_who_writes_for_ever_is_cut_off(site):
    """The answer ends, and meanwhile others are answered."""
    script = site.perl("endless", """
        $| = 1; print "Content-Type: text/plain\\n\\n"; $SIG{PIPE} = sub { exit };
        exit if fork;
        for (1 .. 1e9) { print "x" x 100; select undef, undef, undef, 0.005 }
        """)
    hello = site.sh("hello", "printf 'Content-Type: text/plain\\n\\nhello\\n'\n")
    bridge = site.start_bridge('mode = "classic"')
    with bridge.connect(seconds=60) as peer:
        peer.start(script)
        peer.wait_for_output(b"xxx")
        assert bridge.request(hello).body == b"hello\n"
        assert peer.response().body.startswith(b"xxx")
