"""limits.cpu, cpu_weight, memory and processes, enforced by cgroups: v2 for the controllers it has, v1 for
the others. Skipped, with the reason, if the bridge may not make cgroups."""

import os
import pathlib
import shutil
import signal

import pytest

from harness import cgroups, processes, programs
from harness.bridge import BUILD
from harness.processes import wait_until

RESPONDERS = BUILD / "examples" / "responders"

# Prints which cgroups it is in.
WHERE = """
    import os
    print("Content-Type: text/plain\\n")
    print(open("/proc/self/cgroup").read())
    """

# Takes ?N MiB, page by page, and reports it.
EATER = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    int main(void) {
      const long mib = atol(getenv("QUERY_STRING"));
      for (long i = 0; i < mib; ++i) memset(malloc(1 << 20), 1, 1 << 20);
      printf("Content-Type: text/plain\\n\\nate %ld\\n", mib);
      return 0;
    }
    """

# Forks until that fails, or 500 times, then ends its children.
FORKER = """
    import os, signal
    children = []
    try:
        while len(children) < 500:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
        said = "never refused"
    except BlockingIOError:
        said = "refused"
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(f"Content-Type: text/plain\\n\\n{said} {len(children)}")
    """


@pytest.fixture(autouse=True)
def with_cgroups(request, site):
    if not request.node.name.startswith("test_without"):
        cgroups.need(site)


def own_folders(script):
    """The names of a program's cgroup."""
    return pathlib.Path(script).name + "-"


def ask(bridge, script, **more):
    return bridge.request(script, **more).body.decode()


def check_removed(folders):
    assert folders and not [str(folder) for folder in folders if folder.exists()]


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_zygotes_workers_and_programs_are_in_the_programs_cgroup(site, reset):
    script = site.python("where", WHERE)
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\nlimits = {{ processes = 50 }}')
    classic = ask(bridge, script)
    assert own_folders(script) in classic, "classic, as long as it is not warm"
    entry = bridge.wait_warm(script)
    assert own_folders(script) in ask(bridge, script)
    for folder in cgroups.of_program(bridge, script):
        # Workers come and go between the two reads.
        wait_until(lambda folder=folder: {entry["zygote_pid"], *bridge.program(script)["worker_pids"]}
                   <= cgroups.holding(folder), "all of them are in it")
        assert bridge.pid not in cgroups.holding(folder)
    assert cgroups.file_of(bridge, script, "pids.max") == "50"
    folders = cgroups.folders(bridge)
    bridge.expect_clean_stop()
    check_removed(folders)


def test_a_program_that_speaks_fastcgi_is_in_its_cgroup(site):
    bridge = site.start_bridge('mode = "persistent"\nlaunch = "fastcgi"\nlimits = { processes = 50 }')
    script = site.cgi_bin / "hello.fcgi"
    shutil.copy2(RESPONDERS / "hello.fcgi", script)
    bridge.request(script)
    entry = bridge.wait_warm(script)
    for folder in cgroups.of_program(bridge, script):
        assert set(entry["worker_pids"]) <= cgroups.holding(folder)


def test_only_programs_that_ask_for_it_have_a_cgroup(site):
    plain, limited = site.python("plain", WHERE), site.python("limited", WHERE)
    bridge = site.start_bridge('mode = "classic"', programs='[[program]]\nmatch = "*/limited"\n'
                               'limits = { cpu_weight = 50 }\n')
    assert own_folders(plain) not in ask(bridge, plain)
    assert own_folders(limited) in ask(bridge, limited)
    assert "cgroup" not in bridge.program(plain)
    assert bridge.program(limited)["cgroup"]["cpu_us"] > 0
    assert cgroups.file_of(bridge, limited, "cpu.shares", "cpu.weight") in ("512", "50")


def test_a_program_beyond_its_memory_is_killed_and_the_log_says_of_what(site):
    eater, hello = site.c("eater", EATER), programs.hello(site)
    bridge = site.start_bridge('mode = "classic"\nlimits = { memory = "32MiB" }')
    assert ask(bridge, eater, query="2") == "ate 2\n"
    died = bridge.request(eater, query="100")
    assert died.status == 502
    bridge.expect_log(r"killed by signal 9 .*out of memory \(limits.memory is 32768 KiB\)")
    assert ask(bridge, eater, query="2") == "ate 2\n", "the next one is served"
    assert ask(bridge, hello) == "hello\n"
    assert bridge.program(eater)["cgroup"]["oom_kills"] == 1
    assert bridge.status()["bridge"]["cgroups"]["oom_kills"] == 1
    assert "cgibridge_cgroup_oom_kills_total{" in bridge.command("status", "--openmetrics")
    assert ", killed for memory 1" in bridge.command("status")


def test_a_warm_worker_beyond_its_memory_is_replaced(site):
    eater = site.c("eater", EATER)
    bridge = site.start_bridge('mode = "persistent"\nlimits = { memory = "32MiB" }')
    bridge.request(eater, query="1")
    bridge.wait_warm(eater)
    assert bridge.request(eater, query="100").status == 502
    bridge.expect_log(r"out of memory \(limits.memory")
    bridge.wait_warm(eater)
    assert ask(bridge, eater, query="1") == "ate 1\n"


def test_a_fork_bomb_is_held_to_its_processes(site):
    forker, hello = site.python("forker", FORKER), programs.hello(site)
    bridge = site.start_bridge('mode = "classic"\nlimits = { processes = 20 }')
    said, count = ask(bridge, forker).split()
    assert said == "refused" and int(count) < 20
    assert ask(bridge, hello) == "hello\n"
    assert bridge.program(forker)["cgroup"]["forks_refused"] >= 1


def test_a_ceiling_makes_a_burning_program_wait(site):
    burner = site.python("burner", """
        import os, time
        print("Content-Type: text/plain\\n")
        while time.process_time() < 0.1:
            pass
        print("burnt")
        """)
    bridge = site.start_bridge('mode = "classic"', bridge="limits = { cpu = 5 }\n")
    assert ask(bridge, burner) == "burnt\n"
    together = bridge.status()["bridge"]["cgroups"]
    assert together["throttled_us"] > 0
    assert together["cpu_us"] >= bridge.program(burner)["cgroup"]["cpu_us"] >= 100_000


def test_limits_change_while_the_program_runs(site):
    script = site.python("where", WHERE)
    bridge = site.start_bridge('mode = "persistent"\nlimits = { processes = 50 }')
    bridge.request(script)
    generation = bridge.wait_warm(script)["generation"]
    site.rewrite_config('mode = "persistent"\nlimits = { processes = 60, cpu = "40%" }',
                        bridge='limits = { cpu = "20%" }\n')
    bridge.hangup()
    wait_until(lambda: cgroups.file_of(bridge, script, "pids.max") == "60", "the new limit is held")
    # v1 allows no ceiling above the one for all together.
    assert cgroups.file_of(bridge, script, "cpu.cfs_quota_us", "cpu.max").split()[0] == "20000"
    site.rewrite_config('mode = "persistent"\nlimits = { processes = 60, cpu = "40%" }',
                        bridge='limits = { cpu = "90%" }\n')
    bridge.hangup()
    wait_until(lambda: cgroups.file_of(bridge, script, "cpu.cfs_quota_us", "cpu.max")
               .startswith("40000"), "the ceiling is its own again")
    bridge.request(script)
    assert bridge.program(script)["newest_generation"] == generation, "nothing was started anew"


def test_the_first_limit_of_a_warm_program_starts_a_new_generation(site):
    script = site.python("where", WHERE)
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    generation = bridge.wait_warm(script)["generation"]
    assert own_folders(script) not in ask(bridge, script)
    site.rewrite_config('mode = "persistent"\nlimits = { processes = 50 }')

    def enclosed():
        answer = ask(bridge, script)
        entry = bridge.program(script)
        return entry["generation"] > generation and own_folders(script) in answer
    wait_until(enclosed, "its workers are in its cgroup", 20)
    site.rewrite_config('mode = "persistent"')
    wait_until(lambda: own_folders(script) not in ask(bridge, script)
               and bridge.program(script)["generation"] > generation + 1, "and out of it again", 20)


def test_what_a_killed_bridge_left_is_taken_over_and_removed(site):
    script = programs.sleeper(site)
    bridge = site.start_bridge('mode = "classic"\nlimits = { processes = 50 }')
    with bridge.connect() as peer:
        peer.start(script)
        wait_until(lambda: [pid for folder in cgroups.of_program(bridge, script)
                                      for pid in cgroups.holding(folder)], "the program runs")
        folders = cgroups.folders(bridge)
        left = [found for folder in folders for found in folder.iterdir() if found.is_dir()]
        os.kill(bridge.pid, signal.SIGKILL)
        bridge.kill()
    again = site.start_bridge('mode = "classic"')
    again.expect_log("of an earlier bridge 1 are alive below")
    assert [folder for folder in left if folder.exists()], "a program that runs keeps its cgroup"

    def ended():
        alive = [folder for folder in left if folder.exists()]
        for pid in {pid for folder in alive for pid in cgroups.holding(folder)}:
            processes.kill_quietly(pid)
        return not alive
    wait_until(ended, "its cgroup is removed")
    check_removed(folders)


def test_a_child_left_behind_keeps_its_cgroup_and_the_next_bridge_removes_it(site):
    script = site.sh("leaver", "printf 'Content-Type: text/plain\\n\\n'\n"
                     "setsid sleep 60 <&- >&- 2>&- &\necho $!\n")
    bridge = site.start_bridge('mode = "classic"\nlimits = { processes = 50 }')
    left = int(ask(bridge, script))
    site.expect_survivor(left)
    folders = cgroups.folders(bridge)
    bridge.expect_clean_stop()
    bridge.expect_log("processes that programs left behind live on")
    assert any(folder.exists() for folder in folders)
    processes.kill_quietly(left)
    wait_until(lambda: not processes.alive(left), "it is gone")
    site.start_bridge('mode = "classic"').expect_clean_stop()
    check_removed(folders)


def test_the_bridges_cgroups_are_made_where_the_settings_say(site):
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"\nlimits = { processes = 50 }',
                               bridge=f'cgroup = "/{site.folder.name}"\n')
    bridge.request(hello)
    folders = cgroups.folders(bridge)
    assert {folder.parent.name for folder in folders} == {site.folder.name}
    assert cgroups.file_of(bridge, hello, "pids.max") == "50"
    bridge.expect_clean_stop()
    check_removed(folders)
    for folder in folders:
        folder.parent.rmdir()


@pytest.mark.root
def test_without_rights_it_says_so_and_serves_all_the_same(site):
    hello = programs.hello(site)
    site.folder.chmod(0o777)
    bridge = site.prepare_bridge('mode = "classic"\nlimits = { memory = "64MiB", processes = 9 }')
    bridge.start(command_prefix=processes.as_user(65534))
    assert ask(bridge, hello) == "hello\n"
    bridge.expect_log(r"warn.*cgroups: not held: limits.memory: .*all other limits hold")
    bridge.expect_log(r"cgroups: not held: limits.processes: ")
    not_held = bridge.status()["bridge"]["cgroups"]["not_held"]
    assert [one.partition(":")[0] for one in not_held] == ["limits.memory", "limits.processes"]
    assert "not held: limits.memory: " in bridge.command("status")
