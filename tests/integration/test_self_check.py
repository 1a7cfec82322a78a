"""Idle workers are compared with their zygote while a core is free, so that a leak shows before the next
visitor comes and not after a thousand. Nobody waits for the comparison."""

import time

import pytest

from harness import processes, programs
from harness.processes import wait_until
from test_rewind import HELLO_C, change_code_of, pid_of, warm

# No comparison is made because of a count.
IDLE = 'mode = "persistent"\nrewind = { verify = 0, verify_cpu = "%s" }\nworkers = { max = %d, spare = 1 }\n'


def verified(bridge, script):
    return bridge.program(script)["rewind"]["verified"]


def test_on_a_quiet_site_every_rewind_is_looked_at(site):
    script = site.c("x", HELLO_C)
    bridge = site.start_bridge(IDLE % ("100%", 1))
    warm(bridge, script)
    for _ in range(8):
        before = verified(bridge, script)
        assert bridge.request(script).status == 200
        wait_until(lambda: verified(bridge, script) > before, "it was compared", 30)
    entry = bridge.program(script)
    assert entry["rewind"]["differences"] == 0 and entry["retired"] == {}


@pytest.mark.parametrize("language", ["c", "sh", "perl", "python"])
def test_what_is_looked_at_is_answered_from_as_well(site, language):
    """Requests come at any moment of a comparison; none is lost, and none counts as a difference."""
    script = {"c": lambda: site.c("x", HELLO_C), "sh": lambda: programs.pid(site, "x"),
              "perl": lambda: site.perl("x", 'print "Content-Type: text/plain\\n\\n$$\\n";\n'),
              "python": lambda: site.python("x", 'print("Content-Type: text/plain\\n\\n0")\n')}[language]()
    bridge = site.start_bridge(IDLE % ("100%", 2))
    warm(bridge, script)
    with bridge.connect() as peer:
        for count in range(400):
            assert peer.request(script).status == 200
            if count % 8 == 0:
                # About as long as a worker rests before it is checked.
                time.sleep(0.02)
    wait_until(lambda: verified(bridge, script) > 0, "some were compared", 30)
    entry = bridge.program(script)
    assert entry["rewind"]["differences"] == 0 and entry["reset"] == "rewind"
    assert entry["retired"] == {}


def test_a_difference_ends_the_worker_and_the_rewinding(site):
    script = site.c("x", HELLO_C)
    bridge = site.start_bridge(IDLE % ("100%", 1))
    warm(bridge, script)
    changed = pid_of(bridge.request(script))
    wait_until(lambda: verified(bridge, script) > 0, "it was compared", 30)
    change_code_of(changed, script)
    assert pid_of(bridge.request(script)) == changed
    # No further request is needed.
    bridge.expect_log(rf"warning .*pid={changed}: differs from its zygote after \d+ request", 30)
    wait_until(lambda: not processes.alive(changed), "it has ended")
    entry = wait_until(lambda: bridge.program(script) if bridge.program(script)["reset"] == "fork"
                       else None, "it is forked")
    assert "a rewind left something behind: memory at" in entry["reset_reason"]
    assert entry["retry_in_ms"] is None
    assert "a rewind left something behind" in bridge.command("status")
    assert bridge.request(script).status == 200
    # A new version of the program ends that, and so can the operator.
    script.touch()
    wait_until(lambda: warm(bridge, script)["reset"] == "rewind", "it is trusted again")


def test_a_worker_that_is_killed_while_it_rests_is_no_difference(site):
    script = site.c("x", HELLO_C)
    bridge = site.start_bridge(IDLE % ("100%", 1))
    warm(bridge, script)
    for _ in range(10):
        pid = pid_of(bridge.request(script))
        time.sleep(0.02)
        processes.kill_quietly(pid)
        wait_until(lambda: not processes.alive(pid), "it has ended")
    entry = bridge.program(script)
    assert entry["rewind"]["differences"] == 0 and entry["reset"] == "rewind"


def test_none_is_looked_at_without_a_budget(site):
    script = site.c("x", HELLO_C)
    bridge = site.start_bridge(IDLE % ("0%", 1))
    warm(bridge, script)
    bridge.request(script)
    time.sleep(0.3)
    assert verified(bridge, script) == 0


@pytest.mark.parametrize("sandbox", ["", 'sandbox = { syscalls = ["@cgi"] }\n'])
def test_a_sandbox_does_not_blind_the_comparison(site, sandbox):
    """Its filter forbids one process to read another by the call that is made for that."""
    script = site.c("x", programs.UNSEEN_C + r"""
        #include <stdio.h>
        #include <sys/resource.h>
        #include <sys/syscall.h>
        int main(void) {
          struct rlimit limit;
          getrlimit(RLIMIT_CORE, &limit);
          printf("Content-Type: text/plain\n\n%d\n", limit.rlim_max == 4096);
          limit.rlim_cur = limit.rlim_max = 4096;
        #if defined(__x86_64__) /* not by libc's function, which is noticed */
          long result;
          __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_setrlimit), "D"((long)RLIMIT_CORE),
                           "S"(&limit) : "rcx", "r11", "memory");
        #endif
          return 0;
        }
        """)
    bridge = site.start_bridge('mode = "persistent"\nrewind = { verify = 1 }\n' + sandbox)
    bridge.allow_log("differs from its zygote|left something behind")
    warm(bridge, script)
    assert bridge.request(script).body == b"0\n"
    wait_until(lambda: bridge.program(script)["reset"] == "fork", "it is found", 20)
    rewind = bridge.program(script)["rewind"]
    assert rewind["verified"] >= 1 and rewind["differences"] == 1
    assert [bridge.request(script).body for _ in range(3)] == [b"0\n"] * 3
