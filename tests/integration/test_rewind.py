"""reset = "rewind" and "none" as an operator sees them: workers that stay, what `status` says about them, and
what happens to those that cannot stay. tests/fidelity checks what a rewind puts back."""

import json
import os
import signal

import pytest

from harness import processes, programs
from harness.fastcgi import variables_for
from harness.processes import wait_until

HELLO_C = r"""
    #include <stdio.h>
    #include <unistd.h>
    int main(void) { printf("Content-Type: text/plain\n\n%d\n", (int)getpid()); return 0; }
    """

# Leaves a thread behind that only its exit can end.
THREAD_C = programs.DEAF_THREAD_C + r"""
    #include <stdio.h>
    int main(void) {
      pthread_t thread;
      pthread_create(&thread, NULL, sleep_on, NULL);
      while (!runs) usleep(10);
      printf("Content-Type: text/plain\n\n%d\n", (int)getpid());
      return 0;
    }
    """

# The query says how it ends.
ENDING_PY = """
    import os, sys
    how = os.environ["QUERY_STRING"]
    if how == "none":
        os.kill(os.getpid(), 9)
    print("Content-Type: text/plain\\n\\n%d" % os.getpid(), flush=True)
    if how == "crash":
        os.kill(os.getpid(), 11)
    if how == "now":
        os._exit(7)
    sys.exit(int(how or 0))
    """

# Answers with its pid and its body.
ECHO_PL = """
    print "Content-Type: text/plain\\n\\n$$ ";
    print while <STDIN>;
    """

ONE = 'mode = "persistent"\nworkers = { max = 1, spare = 1 }\n'


def warm(bridge, script, **more):
    bridge.request(script, **more)
    return bridge.wait_warm(script)


def pid_of(response):
    assert response.status == 200, response
    return int(response.body.split()[-1])


class TestStaying:
    @pytest.mark.parametrize("kind", ["c", "sh", "perl", "python"])
    def test_a_program_rewinds_unless_told_otherwise(self, site, kind):
        script = {"c": lambda: site.c("x", HELLO_C), "sh": lambda: programs.pid(site, "x"),
                  "perl": lambda: site.perl("x", 'print "Content-Type: text/plain\\n\\n$$\\n";\n'),
                  "python": lambda: site.python("x", ENDING_PY)}[kind]()
        entry = warm(site.start_bridge('mode = "persistent"'), script)
        assert (entry["reset"], entry["reset_reason"]) == ("rewind", "")
        assert entry["arm"] == "persistent/rewind"

    @pytest.mark.parametrize("reset,pids", [("rewind", 1), ("fork", 40)])
    def test_one_worker_answers_them_all_behind_nginx(self, site, reset, pids):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge(ONE + f'reset = "{reset}"\n')
        nginx = site.start_nginx(bridge)
        warm(bridge, script)
        answers = [nginx.send_request("/cgi-bin/x") for _ in range(40)]
        assert {answer.status for answer in answers} == {200}
        assert len({answer.body for answer in answers}) == pids

    def test_many_at_once_are_answered_by_max_workers_that_stay(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 3, spare = 1 }')
        warm(bridge, script)
        pids = set()
        with bridge.connect() as peer:
            for id in range(1, 61):
                peer.start(script, id=id)
            for id in range(1, 61):
                pids.add(pid_of(peer.response(id)))
        assert len(pids) <= 3
        entry = bridge.program(script)
        assert len(entry["worker_pids"]) <= 3 and entry["retired"] == {}

    def test_rewinds_are_counted_with_what_they_cost(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge(ONE)
        warm(bridge, script)
        for _ in range(20):
            bridge.request(script)
        rewind = bridge.program(script)["rewind"]
        assert rewind["rewinds"] >= 19
        assert 0 < rewind["microseconds"]["p50"] <= rewind["microseconds"]["p99"]
        assert 0 < rewind["pages"]["p50"] <= rewind["pages"]["p99"]
        assert rewind["tracking"] in ("compare", "scan", "soft-dirty")
        text = bridge.command("status")
        assert f"rewind(s) ({rewind['tracking']})" in text and "verified" in text

    def test_memory_is_told_for_each_worker_and_in_all(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge('mode = "persistent"\nworkers = { spare = 3 }')
        warm(bridge, script)
        wait_until(lambda: bridge.program(script)["workers"]["idle"] >= 3, "three are idle")
        [entry] = json.loads(bridge.command("status", "--json"))["programs"]
        memory = entry["memory"]
        assert set(memory["workers_kib"]) <= {str(pid) for pid in entry["worker_pids"]}
        assert len(memory["workers_kib"]) >= 3 and min(memory["workers_kib"].values()) > 0
        assert memory["pss_kib"] == memory["zygote_kib"] + sum(memory["workers_kib"].values())
        assert "memory (PSS)" in bridge.command("status")

    def test_a_worker_is_replaced_after_max_requests(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge('mode = "persistent"\n'
                                   "workers = { max = 1, spare = 1, max_requests = 5 }")
        warm(bridge, script)
        pids = [pid_of(bridge.request(script)) for _ in range(20)]
        assert [len(set(pids[i:i + 5])) for i in range(0, 20, 5)] == [1, 1, 1, 1]
        assert len(set(pids)) == 4
        wait_until(lambda: bridge.program(script)["retired"] == {"max_requests": 4}, "it is counted")
        assert bridge.program(script)["reset"] == "rewind"


class TestEndings:
    def test_exit_codes_are_those_of_each_request(self, site):
        script = site.python("x", ENDING_PY)
        bridge = site.start_bridge(ONE)
        warm(bridge, script)
        pids = set()
        for code in (0, 3, 0, 255, 1, 0):
            answer = bridge.request(script, query=str(code))
            assert answer.app_status == code
            pids.add(pid_of(answer))
        assert len(pids) == 1

    @pytest.mark.parametrize("how,code,replaced", [("crash", 128 + signal.SIGSEGV, True),
                                                   ("now", 7, False)])
    def test_what_it_wrote_before_a_sudden_end_is_the_answer(self, site, how, code, replaced):
        script = site.python("x", ENDING_PY)
        bridge = site.start_bridge(ONE)
        warm(bridge, script)
        first = pid_of(bridge.request(script))
        ended = bridge.request(script, query=how)
        assert (pid_of(ended), ended.app_status) == (first, code)
        assert (pid_of(bridge.request(script)) != first) == replaced

    def test_a_worker_killed_in_the_middle_is_502_and_is_replaced(self, site):
        script = site.python("x", ENDING_PY)
        bridge = site.start_bridge('mode = "persistent"')
        nginx = site.start_nginx(bridge)
        warm(bridge, script)
        bridge.allow_log("no proper answer|end of output|killed by signal 9")
        for _ in range(3):
            assert nginx.send_request("/cgi-bin/x?none").status == 502
            assert nginx.send_request("/cgi-bin/x").status == 200
        wait_until(lambda: bridge.program(script)["retired"].get("left") == 3, "it is counted")
        bridge.expect_log("cannot stay for another request: left: killed by signal 9")

    def test_a_worker_that_dies_while_it_rests_costs_no_request(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge(ONE)
        for _ in range(10):
            bridge.request(script)
            killed = bridge.wait_warm(script)["worker_pids"]
            for pid in killed:
                processes.kill_quietly(pid)
            # A worker that is killed but not yet dead may still take a request and lose it.
            wait_until(lambda: not any(map(processes.alive, killed)), "they are dead")
            assert bridge.request(script).status == 200
        assert bridge.program(script)["reset"] == "rewind"

    @pytest.mark.parametrize("body", [b"", b"x" * 100_000], ids=["without a body", "with a body"])
    def test_a_request_that_its_worker_never_read_is_answered_by_another(self, site, body):
        script = site.perl("x", ECHO_PL)
        bridge = site.start_bridge(ONE)
        warm(bridge, script)
        stopped = pid_of(bridge.request(script))
        wait_until(lambda: bridge.program(script)["workers"]["idle"] == 1, "it rests")
        os.kill(stopped, signal.SIGSTOP)
        wait_until(lambda: processes.stat_of(stopped)[0] == "T", "it stands still")
        with bridge.connect() as peer:
            peer.begin()
            peer.params(variables_for(script, method="POST" if body else "GET", body=body))
            if body:
                peer.stdin(body)
            peer.stdin(b"")
            wait_until(lambda: bridge.program(script)["workers"]["busy"] == 1, "it was sent")
            os.kill(stopped, signal.SIGKILL)
            answer = peer.response()
        assert answer.status == 200
        pid, _, echoed = answer.body.partition(b" ")
        assert int(pid) != stopped and echoed == body
        assert bridge.program(script)["given_back"] == 1

    def test_an_aborted_request_costs_its_worker_and_no_other(self, site):
        script = programs.sleeper(site)
        bridge = site.start_bridge('mode = "persistent"\ntimeouts = { kill_grace = "200ms" }')
        warm(bridge, script, query="0")
        with bridge.connect() as peer:
            peer.start(script, query="61")
            pid = int(peer.wait_for_output(b"started ").split()[-1])
            peer.abort()
            peer.response()
            wait_until(lambda: not processes.alive(pid), "the worker has ended")
            assert peer.request(script, query="0").body.endswith(b"ended\n")
        assert bridge.program(script)["retired"] == {}


class TestFallingBack:
    def test_workers_that_keep_a_thread_are_replaced_and_then_the_program_is_forked(self, site):
        script = site.c("x", THREAD_C, "-pthread")
        bridge = site.start_bridge('mode = "persistent"')
        warm(bridge, script)
        assert len({pid_of(bridge.request(script)) for _ in range(10)}) == 10
        entry = bridge.program(script)
        assert entry["reset"] == "rewind" and entry["retired"]["threads"] >= 9
        bridge.expect_log("cannot stay for another request: threads")
        for _ in range(50):
            assert bridge.request(script).status == 200
        entry = wait_until(lambda: bridge.program(script) if bridge.program(script)["reset"] == "fork"
                           else None, "it is forked from here on")
        assert entry["reset_asked"] == "rewind"
        assert "requests left a worker that cannot be put back: mostly threads" in entry["reset_reason"]
        assert "not reset = rewind: " in bridge.command("status")
        bridge.expect_log(r"warning .*mostly threads.*it gets reset = fork from here on")
        assert "us to put back or replace its worker, and" in entry["reset_reason"]
        # It is tried again later.
        assert 0 < entry["retry_in_ms"] <= 60_000
        assert "tried again in" in bridge.command("status")
        assert bridge.log().count("cannot stay for another request") == 1
        retired = bridge.program(script)["retired"]
        bridge.request(script)
        assert bridge.program(script)["retired"] == retired

    def test_max_retired_of_100_never_takes_the_rewind_away(self, site):
        script = site.c("x", THREAD_C, "-pthread")
        bridge = site.start_bridge('mode = "persistent"\nrewind = { max_retired = 100 }')
        warm(bridge, script)
        for _ in range(60):
            assert bridge.request(script).status == 200
        assert bridge.program(script)["reset"] == "rewind"

    def test_a_changed_program_is_trusted_again(self, site):
        script = site.c("x", THREAD_C, "-pthread")
        bridge = site.start_bridge('mode = "persistent"')
        for _ in range(60):
            bridge.request(script)
            bridge.wait_warm(script)
        wait_until(lambda: bridge.request(script).status == 200
                   and bridge.program(script)["reset"] == "fork", "it is forked")
        script.unlink()
        site.c("x", HELLO_C)
        wait_until(lambda: warm(bridge, script)["reset"] == "rewind", "it rewinds")

    def test_none_is_refused_to_a_program_that_cannot_have_it(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge('mode = "persistent"\nreset = "none"')
        entry = warm(bridge, script)
        assert entry["reset"] == "rewind" and "language has an adapter" in entry["reset_reason"]
        bridge.expect_log("warning .*not reset = none but rewind")

    @pytest.mark.parametrize("language", ["perl", "python"])
    def test_none_keeps_what_a_request_left(self, site, language):
        text = {"python": """
                    import os, sys
                    sys.count = getattr(sys, "count", 0) + 1
                    print("Content-Type: text/plain\\n\\n%d %s %d" % (
                        sys.count, os.environ["QUERY_STRING"], os.getpid()))
                    """,
                "perl": """
                    our $count; $count++;
                    print "Content-Type: text/plain\\n\\n$count $ENV{QUERY_STRING} $$\\n";
                    """}[language]
        script = getattr(site, language)("x", text)
        bridge = site.start_bridge(ONE + 'reset = "none"\n')
        entry = warm(bridge, script)
        assert (entry["reset"], entry["reset_reason"]) == ("none", "")
        answers = [bridge.request(script, query=f"q{n}").body.split() for n in range(1, 11)]
        assert len({pid for _, _, pid in answers}) == 1
        assert [query for _, query, _ in answers] == [b"q%d" % n for n in range(1, 11)]
        counts = [int(count) for count, _, _ in answers]
        assert counts == list(range(counts[0], counts[0] + 10))


class TestSwitching:
    def test_the_reset_is_switched_while_requests_run(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge(ONE)
        warm(bridge, script)
        for reset in ("fork", "rewind", "fork", "rewind"):
            site.rewrite_config(ONE + f'reset = "{reset}"\n')

            def switched():
                assert bridge.request(script).status == 200
                return bridge.program(script)["reset"] == reset
            wait_until(switched, f"reset is {reset}")
            bridge.wait_warm(script)
            pids = {pid_of(bridge.request(script)) for _ in range(5)}
            assert len(pids) == (1 if reset == "rewind" else 5)
            assert bridge.program(script)["requests_classic"] == 1

    @pytest.mark.parametrize("tracking", ["compare", "scan", "soft-dirty"])
    def test_each_way_to_find_changed_memory_can_be_forced(self, site, tracking):
        script = site.python("x", ENDING_PY)
        bridge = site.start_bridge(ONE + f'rewind = {{ tracking = "{tracking}" }}')
        entry = warm(bridge, script)
        pids = {pid_of(bridge.request(script)) for _ in range(10)}
        entry = bridge.program(script)
        if entry["rewind"]["tracking"] != tracking:
            pytest.skip(f"this kernel does not offer {tracking}: {entry['reset_reason']}")
        assert len(pids) == 1 and entry["rewind"]["differences"] == 0


class TestVerify:
    def test_every_rewind_is_checked_if_it_is_1(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge(ONE)
        warm(bridge, script)
        for _ in range(10):
            bridge.request(script)
        wait_until(lambda: bridge.program(script)["rewind"]["verified"] == 10, "ten were checked")
        assert bridge.program(script)["rewind"]["differences"] == 0

    @pytest.mark.parametrize("verify,checked", [(0, 0), (4, 5)])
    def test_so_many_are_checked_as_the_setting_says(self, site, verify, checked):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge(ONE + f"rewind = {{ verify = {verify}, verify_cpu = 0 }}")
        warm(bridge, script)
        for _ in range(20):
            bridge.request(script)
        wait_until(lambda: bridge.program(script)["workers"]["idle"] == 1, "it rests")
        assert bridge.program(script)["rewind"]["verified"] == checked

    def test_a_zygote_that_dies_while_it_checks_costs_no_request(self, site):
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge('mode = "persistent"')
        warm(bridge, script)
        for _ in range(4):
            zygote = bridge.program(script)["zygote_pid"]
            os.kill(zygote, signal.SIGSTOP)
            assert bridge.request(script).status == 200
            os.kill(zygote, signal.SIGKILL)
            assert bridge.request(script).status == 200
            new = wait_until(lambda: {bridge.program(script)["zygote_pid"]} - {zygote, None}, "a new one")
            # One that dies before its checkpoint is another matter.
            bridge.expect_log(f"zygote={new.pop()}: ready")
        wait_until(lambda: bridge.program(script)["workers"]["checking"] == 0, "none is checked for ever")

    def test_a_worker_that_differs_from_its_zygote_is_ended_and_told_of(self, site):
        """An intruder's possible trace: a byte of the program's code is changed."""
        script = site.c("x", HELLO_C)
        bridge = site.start_bridge(ONE)
        warm(bridge, script)
        changed = pid_of(bridge.request(script))
        wait_until(lambda: bridge.program(script)["workers"]["idle"] == 1, "it rests")
        change_code_of(changed, script)
        assert pid_of(bridge.request(script)) == changed
        bridge.expect_log(rf"warning .*pid={changed}: differs from its zygote after \d+ request")
        wait_until(lambda: not processes.alive(changed), "it has ended")
        assert pid_of(bridge.request(script)) != changed
        entry = bridge.program(script)
        assert entry["rewind"]["differences"] == 1 and entry["retired"] == {"verify": 1}
        # After a proven leak, rewind is not tried again.
        entry = bridge.wait_warm(script)
        assert entry["reset"] == "fork" and entry["retry_in_ms"] is None
        assert "a rewind left something behind: memory at" in entry["reset_reason"]
        bridge.expect_log("it gets reset = fork until the program, a file")
        script.touch()
        assert wait_until(lambda: warm(bridge, script)["reset"] == "rewind", "it is trusted again")


def change_code_of(pid, program):
    """Changes the last byte of a program's code, after everything that is ever executed."""
    with open(f"/proc/{pid}/maps") as maps:
        (line,) = [line for line in maps if line.endswith(f" {program}\n") and " r-xp " in line]
    end = int(line.split()[0].split("-")[1], 16)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(end - 1)
        memory.write(b"!")
