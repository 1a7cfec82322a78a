"""The kernel's limits on a program's processes: what happens when each is reached, in either mode."""

import resource
import shutil

import pytest

from harness import processes
from harness.bridge import BUILD
from harness.processes import wait_until

WWW = 'user = "www-data"\n'


@pytest.fixture
def start(site, mode):
    """A bridge with these limits, whose adapters other users can read."""
    def make(limits, more=""):
        shutil.copytree(BUILD / "adapters", site.folder / "adapters")
        defaults = f'mode = "{mode}"\nworkers = {{ max = 1, spare = 1 }}\n{more}limits = {{ {limits} }}\n'
        return site.start_bridge(defaults, bridge=f'adapters = "{site.folder}/adapters"\n')
    return make


def warm(bridge, script, mode):
    """Sends a first request, which runs classic, and then waits for what the mode offers."""
    first = bridge.request(script)
    if mode == "persistent":
        bridge.wait_warm(script)
    return first


LIMITS = """
    import resource
    print("Content-Type: text/plain\\n")
    for name in ("NOFILE", "NPROC", "FSIZE", "AS", "CPU", "CORE"):
        print(name, *resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
    """


def shown(response):
    assert response.status == 200, response
    lines = [line.split() for line in response.body.decode().splitlines() if line]
    return {name: (int(soft), int(hard)) for name, soft, hard in lines}


def test_each_limit_is_the_programs(site, start, mode):
    script = site.python("limits", LIMITS)
    bridge = start('open_files = 100, user_processes = 4000, file_size = "1MiB", '
                   'address_space = "4GiB", cpu_time = "7s", core = false')
    for _ in range(3):
        limits = shown(warm(bridge, script, mode))
        assert limits["NOFILE"] == (100, 100) and limits["NPROC"] == (4000, 4000)
        assert limits["FSIZE"][0] == 1 << 20 and limits["AS"] == (1 << 32, 1 << 32)
        assert limits["CORE"] == (0, 0) and 7 <= limits["CPU"][0] <= 9
    if mode == "persistent":
        assert bridge.program(script)["level"] == "compiled"
        assert bridge.program(script)["requests_persistent"] >= 2


def test_without_settings_a_program_has_what_the_bridge_was_given(site, start, mode):
    script = site.python("limits", LIMITS)
    bridge = start("body = 0")
    for _ in range(2):
        limits = shown(warm(bridge, script, mode))
        for name in limits:
            own = resource.getrlimit(getattr(resource, "RLIMIT_" + name))
            assert limits[name] == own, name


@pytest.mark.root
def test_limits_hold_for_another_user_as_well(site, start, mode):
    script = site.python("limits", LIMITS)
    bridge = start("open_files = 64, core = false", WWW)
    for _ in range(2):
        limits = shown(warm(bridge, script, mode))
        assert (limits["NOFILE"], limits["CORE"]) == ((64, 64), (0, 0))


def test_a_file_that_grows_too_large_ends_the_program(site, start, mode):
    script = site.sh("large", f"""
        [ -n "$QUERY_STRING" ] && dd if=/dev/zero bs=64k count=1000 2>/dev/null > {site.folder}/large.out
        printf 'Content-Type: text/plain\\n\\n%s\\n' $?
        """)
    bridge = start('file_size = "1MiB"')
    assert warm(bridge, script, mode).status == 200
    assert bridge.request(script, query="x=1").body != b"0\n", "dd was ended, the shell saw it"
    assert (site.folder / "large.out").stat().st_size == 1 << 20


def test_a_program_that_is_ended_at_a_limit_is_counted(site, start, mode):
    script = site.c("large", r"""
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        static char zeros[4096];
        int main(void) {
          if (*getenv("QUERY_STRING")) {
            int fd = open("large.out", O_CREAT | O_WRONLY | O_TRUNC, 0600);
            for (int i = 0; i < 100; ++i) write(fd, zeros, sizeof zeros);
          }
          puts("Content-Type: text/plain\n\nfine");
        }
        """, "-Wno-unused-result")
    bridge = start('file_size = "64KiB"')
    bridge.allow_log("large: 502")
    assert warm(bridge, script, mode).status == 200
    assert bridge.request(script, query="x=1").status == 502
    bridge.expect_log("File size limit exceeded")
    assert bridge.request(script).body == b"fine\n", "the next one is not touched"
    assert bridge.program(script)["limit_kills"] == {"cpu_time": 0, "file_size": 1}
    assert 'limit="file_size"} 1' in bridge.command("status", "--openmetrics")


def test_descriptors_run_out_for_the_program_alone(site, start, mode):
    script = site.python("files", """
        held = []
        try:
            while len(held) < 500: held.append(open("/dev/null"))
        except OSError as error:
            held, said = len(held), error.strerror
        print("Content-Type: text/plain\\n\\n%s" % said)
        """)
    bridge = start("open_files = 50")
    for _ in range(2):
        assert warm(bridge, script, mode).body == b"Too many open files\n"


def test_memory_runs_out_for_the_program_alone(site, start, mode):
    script = site.python("memory", """
        try:
            held = bytearray(2 << 30)
        except MemoryError:
            print("Content-Type: text/plain\\n\\nno memory")
        """)
    bridge = start('address_space = "1GiB"')
    for _ in range(2):
        assert warm(bridge, script, mode).body == b"no memory\n"


@pytest.mark.root
def test_processes_run_out_for_their_user(site, start, mode):
    """Root has no such limit; the user of this test has no other processes."""
    script = site.python("forks", """
        import os, signal
        made = []
        try:
            while len(made) < 30:
                made.append(os.fork())
                if made[-1] == 0: signal.pause()
            said = "no end"
        except BlockingIOError:
            said = "ended after %d" % len(made)
        for pid in made:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        print("Content-Type: text/plain\\n\\n" + said)
        """)
    uid = processes.own_uid()
    bridge = start("user_processes = 12", f'user = "{uid}:{uid}"\n')
    for _ in range(2):
        count = int(warm(bridge, script, mode).body.removeprefix(b"ended after "))
        assert 1 <= count <= 11


BURN = """
    use strict; use warnings;
    my ($end) = $ENV{QUERY_STRING} =~ /([0-9.]+)/;
    my $spent = sub { my ($user, $system) = times; $user + $system };
    my $begin = $spent->();
    1 while $end && $spent->() - $begin < $end;
    print "Content-Type: text/plain\\n\\nspent\\n";
    """


def test_processor_time_runs_out_for_one_request_and_is_new_for_the_next(site, start, mode):
    script = site.perl("burn", BURN)
    bridge = start('cpu_time = "1s"')
    bridge.allow_log("burn: 502")
    assert warm(bridge, script, mode).body == b"spent\n"
    for _ in range(3):
        assert bridge.request(script, query="0.5").body == b"spent\n", "1.5 s in all, of one worker"
    entry = bridge.program(script)
    if mode == "persistent":
        assert entry["requests_persistent"] >= 3 and entry["rewind"]["rewinds"] >= 2
        assert entry["retired"] == {}, "the limit that moves on is no difference"
    assert bridge.request(script, query="60").status == 502
    bridge.expect_log("CPU time limit exceeded")
    wait_until(lambda: bridge.program(script)["limit_kills"]["cpu_time"] == 1, "it is counted")
