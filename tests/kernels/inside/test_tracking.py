"""How a worker finds changed pages when there is no PAGEMAP_SCAN; and that a missing way is reported."""

import os
import shutil
import tempfile

import driver
import pytest

HELLO = r"""
    #include <stdio.h>
    #include <unistd.h>
    static int calls;
    int main(void) {
      printf("Content-Type: text/plain\n\n%d %d\n", ++calls, (int)getpid());
      return 0;
    }
    """
# Each counts its calls, which start at none in a fresh process, and prints its process id.
PROGRAMS = {
    "c": lambda site: site.c("x", HELLO),
    "perl": lambda site: site.perl("x", """
        our $calls; ++$calls; our @left = (1) x 1000;
        print "Content-Type: text/plain\\n\\n$calls $$\\n";
        """),
    "python": lambda site: site.python("x", """
        import os, sys
        sys.calls = getattr(sys, "calls", 0) + 1
        left = [str(n) for n in range(1000)]
        print("Content-Type: text/plain\\n\\n%d %d" % (sys.calls, os.getpid()))
        """),
    "bash": lambda site: site.script("x", """
        #!/bin/bash
        let ++calls; left=({1..1000})
        echo "Content-Type: text/plain"; echo; echo $calls $$
        """),
}


def ask(warm, times):
    """How the rewinds before the answers found what had changed."""
    answers = [warm.ask() for _ in range(times)]
    assert {answer.text.split()[-2] for answer in answers} == {"1"}
    assert warm.workers == 1, warm.retired
    return [answer.tracking for answer in answers[1:]]


def other_notes(warm):
    """Notes other than those about the files that are part of any checkpoint."""
    return [(kind, text) for kind, text in warm.notes if kind != driver.FILE]


def test_soft_dirty_is_the_first_choice_and_compare_is_tried(site):
    with driver.Warm([str(site.c("x", HELLO))]) as warm:
        ways = ask(warm, 60)
        assert ways[:30] == ["soft-dirty"] * 30 and set(ways) == {"soft-dirty", "compare"}
        assert other_notes(warm) == []


@pytest.mark.parametrize("tracking", ["soft-dirty", "compare"])
def test_a_way_that_is_forced_stays(site, tracking):
    with driver.Warm([str(site.c("x", HELLO))], tracking=tracking) as warm:
        assert set(ask(warm, 60)) == {tracking}
        assert other_notes(warm) == []


def test_a_way_that_this_kernel_does_not_offer_is_told_of(site):
    with driver.Warm([str(site.c("x", HELLO))], tracking="scan") as warm:
        assert set(ask(warm, 10)) == {"compare"}
        (warning,) = warm.note(driver.WARNING)
        assert "does not offer rewind.tracking = scan" in warning and "Linux 6.7" in warning


def test_an_ordinary_user_s_worker_has_soft_dirty_too(site):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        argv = [shutil.copy(site.c("x", HELLO), folder)]
        library = shutil.copy(driver.library(), folder)
        with driver.Warm(argv, preload=library, user=65534, group=65534, extra_groups=[]) as warm:
            assert set(ask(warm, 10)) == {"soft-dirty"}


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("tracking", ["soft-dirty", "auto"])
def test_the_bridge_rewinds_by_it(site, language, tracking):
    """Every rewind is checked from outside: the harness sets verify = 1."""
    script = PROGRAMS[language](site)
    bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 1, spare = 1 }\n'
                               f'rewind = {{ tracking = "{tracking}" }}')
    bridge.request(script)

    def answer():
        # A worker that takes long over its check is not used meanwhile.
        bridge.wait_warm(script, 60)
        return bridge.request(script).body.split()
    answers = [answer() for _ in range(20)]
    assert {calls for calls, _ in answers} == {b"1"} and len({pid for _, pid in answers}) == 1
    entry = bridge.program(script)
    assert entry["reset"] == "rewind" and entry["retired"] == {}
    rewind = entry["rewind"]
    assert rewind["tracking"] == "soft-dirty" and rewind["verified"] >= 19
    assert rewind["differences"] == 0


def test_the_bridge_s_log_tells_of_a_way_that_is_not_offered(site):
    script = PROGRAMS["c"](site)
    bridge = site.start_bridge('mode = "persistent"\nrewind = { tracking = "scan" }')
    bridge.request(script)
    bridge.wait_warm(script, 60)
    bridge.expect_log("warning .*does not offer rewind.tracking = scan")
    for _ in range(5):
        assert bridge.request(script).body.split()[0] == b"1"
    assert bridge.program(script)["rewind"]["tracking"] == "compare"
