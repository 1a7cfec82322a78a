"""How many workers there are, when they are replaced, and which request gets one when there are too few."""

import concurrent.futures
import re
import threading

import pytest

from harness import programs
from harness.processes import alive, kill_quietly, wait_until

KEEPS = 'mode = "persistent"\nreset = "none"\n'


def workers(bridge, script):
    entry = bridge.program(script)
    return entry["workers"]["idle"] if entry else None


class TestRecycling:
    def test_a_worker_that_has_grown_too_large_is_replaced(self, site):
        script = site.perl("grows", r"""
            our @kept;
            push @kept, "x" x $ENV{QUERY_STRING} if $ENV{QUERY_STRING};
            print "Content-Type: text/plain\n\n$$ ", scalar(@kept), "\n";
            """)
        bridge = site.start_bridge(KEEPS + 'workers = { max = 1, spare = 1, max_memory = "64MiB" }\n')
        bridge.request(script)
        bridge.wait_warm(script)
        pid = bridge.request(script).body.split()[0]
        # At once, because a worker that is too large may be replaced after any request.
        assert bridge.request(script, query="100000000").status == 200
        wait_until(lambda: not alive(int(pid)), "the large one is gone")
        bridge.wait_warm(script)
        assert bridge.request(script).body.split()[1] == b"0"
        wait_until(lambda: bridge.program(script)["retired"].get("max_memory", 0) == 1, "it is counted")


class TestOneLimitForAll:
    def test_a_program_that_takes_all_it_can_get_leaves_a_place_for_others(self, site):
        greedy = programs.sleeper(site, "greedy")
        hello = programs.hello(site)
        bridge = site.start_bridge('mode = "classic"\nworkers = { max = 50 }\n'
                                   'queue = { timeout = "60s" }\n'
                                   'timeouts = { kill_grace = "100ms" }\n',
                                   bridge="workers_max = 8\n")
        bridge.allow_log("greedy")
        with bridge.connect() as peer:
            for id in range(1, 21):
                peer.start(greedy, query="60", id=id)
            wait_until(lambda: bridge.status()["bridge"]["workers_running"] == 7, "they run")
            entry = bridge.program(greedy)
            assert entry["queue"] == 13 and entry["waits_for_place"]
            for _ in range(5):
                assert bridge.request(hello).body == b"hello\n"

    def test_who_waits_too_long_is_told_why_and_when_to_come_again(self, site):
        sleeper = programs.sleeper(site)
        bridge = site.start_bridge('mode = "classic"\nqueue = { timeout = "1500ms" }\n'
                                   'timeouts = { kill_grace = "100ms" }\n',
                                   bridge="workers_max = 1\n")
        bridge.allow_log("sleeper")
        with bridge.connect() as first:
            first.start(sleeper, query="60")
            first.wait_for_output(b"started ", 1)
            refused = bridge.request(sleeper)
        assert refused.status == 503 and refused.head["retry-after"] == "2"
        assert b"bridge.workers_max is 1" in refused.stderr
        text = bridge.command("status", "--openmetrics")
        assert re.search(r'program_refused_total\{program="[^"]*",reason="queue_timeout"\} 1\n', text)
        assert "cgibridge_workers_limit 1\n" in text


def test_a_full_queue_says_when_to_come_again(site):
    sleeper = programs.sleeper(site)
    bridge = site.start_bridge('mode = "classic"\nworkers = { max = 1 }\nqueue = { max = 0 }\n'
                               'timeouts = { kill_grace = "100ms" }\n')
    bridge.allow_log("sleeper")
    with bridge.connect() as first:
        first.start(sleeper, query="60")
        first.wait_for_output(b"started ", 1)
        refused = bridge.request(sleeper)
    assert refused.status == 503 and refused.head["retry-after"] == "5"
    assert 'reason="queue_full"} 1\n' in bridge.command("status", "--openmetrics")


class TestCrashLoops:
    def test_workers_that_die_at_once_are_started_ever_later(self, site):
        notes = site.folder / "starts"
        script = site.perl("dies", f"""
            use Socket;
            exit 1 unless unpack("i", getsockopt(STDIN, SOL_SOCKET, SO_ACCEPTCONN) || "\\0" x 4);
            open my $notes, '>>', '{notes}'; print $notes "x\\n"; close $notes;
            # The bridge asks, and when that is over, connects for requests: then it is ready.
            accept(my $client, STDIN);
            close $client;
            accept(my $other, STDIN);
            exit 1;
            """)
        bridge = site.start_bridge('mode = "persistent"\nlaunch = "fastcgi"\nworkers = { spare = 2 }\n'
                                   'timeouts = { request = "2s", start = "2s" }\n'
                                   'queue = { timeout = "500ms" }\n')
        bridge.allow_log("dies")
        for pause in (250, 500, 1000, 2000, 4000):
            said = f"as others before it: .* none is forked for {pause} ms"
            wait_until(lambda said=said: bridge.request(script).status == 502
                       and re.search(said, bridge.log()), "it is noticed", 30)
        wait_until(lambda: bridge.request(script) and workers(bridge, script) == 0,
                   "those that were there are gone too")
        before = notes.read_text().count("x")
        for _ in range(10):
            assert bridge.request(script).status == 502
        # Two at a time, and the pause may have ended meanwhile: twice on the slowest machine.
        assert notes.read_text().count("x") <= before + 4

    def test_a_program_that_cannot_be_warm_says_what_was_tried_and_when_it_is_tried_again(self, site):
        """Its constructor hangs when it is launched as a zygote."""
        script = site.c("never", """
            #include <stdio.h>
            #include <string.h>
            #include <unistd.h>
            __attribute__((constructor)) static void hang(void) {
              static char text[65536];
              FILE *file = fopen("/proc/self/environ", "r");
              size_t got = fread(text, 1, sizeof text - 1, file);
              fclose(file);
              for (size_t i = 0; i < got; ++i) if (text[i] == 0) text[i] = '\\n';
              if (strstr(text, "CGIBRIDGE_CHECKPOINT")) sleep(60);
            }
            int main(void) { puts("Content-Type: text/plain\\n\\nclassic"); }
            """)
        bridge = site.start_bridge('mode = "persistent"\ntimeouts = { start = "300ms" }\n')
        assert bridge.request(script).body == b"classic\n"
        entry = wait_until(lambda: (lambda it: it if it["level"] == "none" else None)(
            bridge.program(script)), "it has been tried")
        assert re.fullmatch(r"level linked: not at its checkpoint after 300 ms.* \(after \d+ ms\)",
                            entry["failed_steps"][0])
        assert 0 < entry["retry_in_ms"] <= 60_000
        assert "tried again in" in bridge.command("status")
        assert bridge.request(script).body == b"classic\n"


class TestFallingBack:
    def test_a_program_whose_zygote_ends_again_and_again_leaves_no_worker_behind(self, site):
        script = programs.pid(site)
        bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 4, spare = 3 }\n')
        bridge.request(script)
        bridge.wait_warm(script)
        killed, left = set(), set()

        def given_up():
            entry = bridge.program(script)
            if entry["level"] == "none":
                return entry
            zygote = entry["zygote_pid"]
            if entry["level"] == "linked" and zygote not in killed and entry["workers"]["idle"] >= 3:
                kill_quietly(zygote)
                killed.add(zygote)
                left.update(entry["worker_pids"])
            return None
        entry = wait_until(given_up, "it is given up", 30)
        assert re.fullmatch(r"level linked: killed by signal 9.*", entry["failed_steps"][-1])
        wait_until(lambda: not any(alive(pid) for pid in left), "its workers are gone")
        wait_until(lambda: workers(bridge, script) == 0, "and not counted")
        assert bridge.request(script).status == 200

    @pytest.mark.parametrize("does,start,said", [
        ("exit 7", "20s", "exited with 7"),
        ("exec sleep 60", "300ms",
         "it has not accepted a connection in time (within 300 ms), and was ended"),
    ], ids=["it exits", "it never accepts"])
    def test_a_fastcgi_program_that_does_not_come_up_says_how(self, site, does, start, said):
        script = site.sh("dies", does + "\n")
        bridge = site.start_bridge('mode = "persistent"\nlaunch = "fastcgi"\n'
                                   'workers = { max = 1, spare = 1 }\n'
                                   f'timeouts = {{ request = "500ms", start = "{start}", '
                                   'kill_grace = "100ms" }\n'
                                   'queue = { timeout = "500ms" }\n')
        bridge.allow_log("dies")

        def given_up():
            bridge.request(script)
            entry = bridge.program(script)
            return entry if entry["level"] == "none" else None
        entry = wait_until(given_up, "it is given up", 20)
        assert f"as FastCGI: its workers die before they are ready: {said}" in entry["failed_steps"][-1]

    def test_a_level_that_failed_is_tried_again_unless_the_program_does_not_bear_it(self, site):
        needs, speaks, plain = needing(site), early_speaker(site), programs.pid(site)
        bridge = site.start_bridge('mode = "persistent"\n')
        bridge.allow_log("needs")
        for script, level in ((needs, "linked"), (speaks, "booted"), (plain, "linked")):
            bridge.request(script)
            wait_until(lambda: bridge.program(script)["level"] == level, f"it is {level}", 20)
        entry = bridge.program(needs)
        assert "level compiled: exited with 2" in entry["failed_steps"][0]
        assert 0 < entry["retry_in_ms"] <= 60_000
        assert bridge.program(speaks)["retry_in_ms"] is None
        assert bridge.program(plain)["retry_in_ms"] is None

    @pytest.mark.slow
    def test_a_program_is_compiled_once_the_module_that_it_lacked_is_there(self, site):
        """Another program, whose module stays missing, serves as it is and is tried at growing intervals."""
        needs, lacks = needing(site), needing(site, "lacks", "NeverThere")
        bridge = site.start_bridge('mode = "persistent"\n')
        bridge.allow_log("needs|lacks")
        first = {}
        for script in (needs, lacks):
            bridge.request(script)
            wait_until(lambda script=script: bridge.program(script)["level"] == "linked", "it is linked", 20)
            first[script] = bridge.program(script)
        (site.cgi_bin / "NotYet.pm").write_text("package NotYet; 1;\n")

        def is_compiled():
            assert bridge.request(needs).body == b"there\n"
            return bridge.program(needs)["level"] == "compiled"
        wait_until(is_compiled, "it has its own level", 90)
        assert bridge.program(needs)["retry_in_ms"] is None

        def was_tried_again():
            bridge.request(lacks)
            return (bridge.program(lacks)["retry_in_ms"] or 0) > 60_000
        wait_until(was_tried_again, "the other has been tried in vain", 90)
        entry = bridge.program(lacks)
        assert (entry["level"], entry["generation"]) == ("linked", first[lacks]["generation"])
        assert entry["zygote_pid"] == first[lacks]["zygote_pid"]


def needing(site, name="needs", module="NotYet"):
    """A program whose module is missing."""
    return site.perl(name, f"""
        use lib '{site.cgi_bin}'; use {module};
        print "Content-Type: text/plain\\n\\nthere\\n";
        """)


def early_speaker(site):
    return site.perl("speaks", """
        BEGIN { print "Content-Type: text/plain\\n\\n"; }
        print "run\\n";
        """)


@pytest.mark.parametrize("reset", ["rewind", "fork"])


def test_many_programs_under_one_small_limit_all_answer(site, reset):
    scripts = [programs.pid(site, f"pid{n}") for n in range(6)]
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\n'
                               'queue = { timeout = "60s" }\n', bridge="workers_max = 4\n")
    failed = []

    def ask(script):
        for _ in range(15):
            answer = bridge.request(script)
            if answer.status != 200:
                failed.append(answer)

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for script in scripts * 2:
            pool.submit(ask, script)
    assert not failed, failed[0]
    assert threading.active_count() < 50
    wait_until(lambda: bridge.status()["bridge"]["workers"] <= 4, "no more workers than places")
