"""A file that a load only looks at and that each request changes: the program is as deep as it can be with
that look left to the requests."""

import pytest

from harness.processes import wait_until

PERL = """
    our $there; BEGIN { $there = -e '%s' ? 'there' : 'not there'; }
    use strict; use Data::Dumper;
    open my $file, '>>', '%s'; print $file 'x'; close $file;
    print "Content-Type: text/plain\\n\\n$there ", -s '%s';
    """
OWN = "import os\nthere = 'there' if os.path.exists('%s') else 'not there'\n"
PYTHON = """
    import os
    import own
    with open('%s', 'a') as file:
        file.write('x')
    print("Content-Type: text/plain\\n\\n" + own.there, os.path.getsize('%s'), end="")
    """
C = r"""
    #include <fcntl.h>
    #include <stdio.h>
    #include <sys/stat.h>
    #include <unistd.h>
    static struct stat status;
    static int outcome;
    __attribute__((constructor)) static void begin(void) { outcome = stat("%s", &status); }
    int main(void) {
      int fd = open("%s", O_WRONLY | O_APPEND);
      if (fd < 0 || write(fd, "x", 1) != 1) return 1;
      stat("%s", &status);
      printf("Content-Type: text/plain\n\n%%s %%ld", outcome ? "not there" : "there",
             (long)status.st_size);
      return 0;
    }
    """


def make(site, kind, counter):
    if kind == "perl":
        return site.perl("x.pl", PERL % ((counter,) * 3))
    if kind == "c":
        return site.c("x", C % ((counter,) * 3))
    (site.cgi_bin / "own.py").write_text(OWN % counter)
    return site.python("x.py", PYTHON % (counter, counter))


def until_restless(bridge, script, counter):
    """Requests until the program is warm for good; returns how many."""
    def is_left_alone():
        ask(bridge, script, counter)
        return "changes all the time" in bridge.program(script)["level_reason"]
    wait_until(is_left_alone, "what looks at it is left to the requests", seconds=60)


def ask(bridge, script, counter):
    before = counter.stat().st_size
    assert bridge.request(script).body == b"there %d" % (before + 1)


@pytest.mark.parametrize("kind, level", [("perl", "booted"), ("python", "compiled")])
def test_a_counter_that_a_load_looks_at_keeps_no_program_classic(site, kind, level):
    counter = site.folder / "counter file"
    counter.write_text("x")
    script = make(site, kind, counter)
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"\n')
    until_restless(bridge, script, counter)
    bridge.wait_warm(script)
    for _ in range(3):  # what it learns from these starts a generation
        ask(bridge, script, counter)
    bridge.wait_warm(script)
    before = bridge.program(script)
    for _ in range(20):
        ask(bridge, script, counter)
    after = bridge.program(script)
    assert after["level"] == level
    assert after["requests_persistent"] - before["requests_persistent"] >= 15
    assert str(counter) in after["level_reason"]
    bridge.expect_log("counter file changes all the time: what looks at it is left to the requests")


def test_a_counter_that_a_constructor_looks_at_leaves_the_program_classic_and_says_why(site):
    counter = site.folder / "counter"
    counter.write_text("x")
    script = make(site, "c", counter)
    bridge = site.start_bridge('mode = "persistent"\n')
    until_restless(bridge, script, counter)
    wait_until(lambda: "what runs before main() looks at a file that changes all the time"
               in bridge.program(script)["level_reason"], "it is classic")
    before = bridge.program(script)["generation"]
    for _ in range(20):
        ask(bridge, script, counter)
    assert bridge.program(script)["generation"] == before
