"""A worker that no longer works loses at most one request: it does not take the next one."""

import pytest

from harness.processes import wait_until
from harness.programs import UNSEEN_C

# ?break changes this one process's root folder by its own machine instruction, which nobody sees and no
# rewind undoes. Without the file it answers nothing.
CHROOT_C = UNSEEN_C.replace("%", "%%") + r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    int main(void) {
      const char* query = getenv("QUERY_STRING");
      if (access("%(needed)s", F_OK) != 0) return 0;
      printf("Content-Type: text/plain\n\n%%d\n", (int)getpid());
      if (query != NULL && strcmp(query, "break") == 0) {
        long result;
        __asm__ volatile("syscall" : "=a"(result)
                         : "a"(SYS_chroot), "D"("%(root)s") : "rcx", "r11", "memory");
      }
      return 0;
    }
    """

# With reset = "none" a program keeps its own state; this one remembers that it must print nothing more.
SILENT_PL = r"""
    our $silent;
    exit 0 if $silent;
    $silent = 1 if $ENV{QUERY_STRING} eq "break";
    print "Content-Type: text/plain\n\n$$\n";
    """

KEEPS = 'mode = "persistent"\nworkers = { max = 4, spare = 2 }\nrewind = { verify = 0 }\n'


def answers_behind_a_break(bridge, script):
    bridge.request(script)
    bridge.wait_warm(script)
    assert bridge.request(script, query="break").status == 200
    return [bridge.request(script).status for _ in range(40)]


@pytest.mark.root
@pytest.mark.parametrize("reachable", [False, True], ids=["cannot-begin", "says-nothing"])
def test_a_worker_that_is_broken_loses_one_request_at_most(site, reachable):
    root = site.folder / "elsewhere"
    root.mkdir()
    needed = site.folder / "needed"
    needed.touch()
    if reachable:
        (root / str(site.cgi_bin).lstrip("/")).mkdir(parents=True)
    script = site.c("x", CHROOT_C % {"root": root, "needed": needed})
    bridge = site.start_bridge(KEEPS)
    bridge.allow_log("The program gave no proper answer|no proper answer|502")
    statuses = answers_behind_a_break(bridge, script)
    assert statuses.count(200) >= 39, statuses
    entry = bridge.program(script)
    if statuses.count(502):
        assert entry["retired"] == ({"silent": 1} if reachable else {"left": 1})


def test_a_worker_that_keeps_its_state_and_falls_silent_is_replaced(site):
    script = site.perl("x", SILENT_PL)
    # Only one, so that the next request gets the one that broke.
    bridge = site.start_bridge('mode = "persistent"\nreset = "none"\nworkers = { max = 1 }\n')
    bridge.allow_log("502")
    statuses = answers_behind_a_break(bridge, script)
    assert statuses.count(200) == 39, statuses
    assert bridge.program(script)["retired"] == {"silent": 1}


@pytest.mark.root
@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_a_folder_that_workers_cannot_enter_is_answered_for_again_when_they_can(site, reset):
    script = site.cgi_bin / "shut" / "x"
    script.parent.mkdir()
    site.c("x", CHROOT_C % {"root": "/", "needed": "/"}).rename(script)
    bridge = site.start_bridge(KEEPS + f'reset = "{reset}"\nuser = "nobody"\n')
    bridge.allow_log("502|cannot enter")
    bridge.request(script)
    bridge.wait_warm(script)
    script.parent.chmod(0o700)
    assert {bridge.request(script).status for _ in range(10)} == {502}
    script.parent.chmod(0o755)
    wait_until(lambda: bridge.request(script).status == 200, "it is answered again")
    assert {bridge.request(script).status for _ in range(20)} == {200}
