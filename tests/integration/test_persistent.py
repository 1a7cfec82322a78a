"""Persistent mode, with each reset that puts everything back: how deep each kind of program gets, and that
every request still meets a process that has seen nothing."""

import os
import shutil
import time

import pytest

from harness import processes, programs
from harness.processes import wait_until

HELLO_C = r"""
    #include <stdio.h>
    #include <unistd.h>
    int main(void) { printf("Content-Type: text/plain\n\n%d\n", (int)getpid()); return 0; }
    """


@pytest.fixture(params=["fork", "rewind"])
def bridge(site, request):
    return site.start_bridge(f'mode = "persistent"\nreset = "{request.param}"')


def warm(bridge, script):
    bridge.request(script)
    return bridge.wait_warm(script)


class TestLevels:
    def test_a_c_program_is_linked(self, site, bridge):
        assert warm(bridge, site.c("hello", HELLO_C))["level"] == "linked"
        assert bridge.answered_by(site.cgi_bin / "hello") == "persistent"

    def test_a_sh_script_is_linked(self, site, bridge):
        assert warm(bridge, programs.pid(site))["level"] == "linked"
        assert bridge.answered_by(site.cgi_bin / "pid") == "persistent"

    def test_a_bash_script_is_linked(self, site, bridge):
        script = site.script("b", """
            #!/bin/bash
            printf 'Content-Type: text/plain\\n\\n%s\\n' $$
            """)
        assert warm(bridge, script)["level"] == "linked"
        assert bridge.answered_by(script) == "persistent"

    def test_a_perl_script_is_compiled(self, site, bridge):
        script = site.perl("p", 'print "Content-Type: text/plain\\n\\n$$\\n";\n')
        assert warm(bridge, script)["level"] == "compiled"
        assert bridge.answered_by(script) == "persistent"

    def test_a_perl_script_with_taint_checks_is_compiled(self, site, bridge):
        script = site.script("t", """
            #!/usr/bin/perl -wT
            use strict;
            print "Content-Type: text/plain\\n\\n${^TAINT}\\n$$\\n";
            """)
        assert warm(bridge, script)["level"] in ("compiled", "linked")
        assert bridge.answered_by(script) == "persistent"
        assert bridge.request(script).body.startswith(b"1\n")

    def test_a_python_script_is_compiled(self, site, bridge):
        script = site.python("y", 'import os\nprint("Content-Type: text/plain\\n\\n%d" % os.getpid())\n')
        assert warm(bridge, script)["level"] == "compiled"
        assert bridge.answered_by(script) == "persistent"

    def test_env_in_the_first_line_finds_the_interpreter(self, site, bridge):
        script = site.script("e", """
            #!/usr/bin/env python3
            import os
            print("Content-Type: text/plain\\n\\n%d" % os.getpid())
            """)
        assert warm(bridge, script)["level"] == "compiled"

    def test_a_venv_s_interpreter_is_used(self, site, bridge):
        venv = site.cgi_bin / "venv"
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / "python3").symlink_to("/usr/bin/python3")
        (venv / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
        site_packages = venv / "lib" / f"python{python_version()}" / "site-packages"
        site_packages.mkdir(parents=True)
        (site_packages / "of_the_venv.py").write_text("word = 'from the venv'\n")
        script = site.script("v", f"""
            #!{venv}/bin/python3
            import os, of_the_venv
            print("Content-Type: text/plain\\n\\n%s\\n%d" % (of_the_venv.word, os.getpid()))
            """)
        assert warm(bridge, script)["level"] == "compiled"
        assert bridge.answered_by(script) == "persistent"
        assert bridge.request(script).body.startswith(b"from the venv\n")

    def test_level_linked_may_be_asked_for(self, site):
        script = site.perl("p", 'print "Content-Type: text/plain\\n\\n$$\\n";\n')
        bridge = site.start_bridge('mode = "persistent"\nlevel = "linked"')
        assert warm(bridge, script)["level"] == "linked"
        assert bridge.answered_by(script) == "persistent"

    def test_an_interpreter_in_a_script_is_followed(self, site, bridge):
        """The interpreter of a first line may be a script itself."""
        inner = site.sh("interpreter", """
            printf 'Content-Type: text/plain\\n\\n%s ran %s\\n%s\\n' inner "$(basename "$1")" $$
            """)
        script = site.script("outer", f"#!{inner}\nanything\n")
        for _ in range(5):
            assert b"inner ran outer" in bridge.request(script).body


def python_version():
    import subprocess
    return subprocess.run(["/usr/bin/python3", "-c",
                           "import sys; print('%d.%d' % sys.version_info[:2])"],
                          capture_output=True, text=True, check=True).stdout.strip()


class TestWhatCannotBeWarm:
    def test_a_static_executable_that_is_not_whole_runs_classic_and_the_log_says_why(self, site, bridge):
        script = site.c("stack", HELLO_C, "-static", "-zexecstack")
        for _ in range(3):
            assert bridge.request(script).status == 200
        bridge.expect_log("a static executable that wants an executable stack")
        wait_until(lambda: "executable stack" in bridge.program(script)["level_reason"], "it is known")
        assert bridge.program(script)["requests_persistent"] == 0

    @pytest.mark.root
    def test_a_setuid_program_runs_classic_and_the_log_says_why(self, site, bridge):
        script = site.c("setuid", HELLO_C)
        os.chown(script, 33, 33)
        script.chmod(0o4755)
        for _ in range(3):
            assert bridge.request(script).status == 200
        bridge.expect_log(r"set-?uid|setuid")

    def test_a_program_with_threads_before_main_runs_all_the_same(self, site, bridge):
        script = site.c("threads", r"""
            #include <pthread.h>
            #include <stdio.h>
            #include <unistd.h>
            static int ran;
            static void *run(void *p) { ran = 1; (void)p; return 0; }
            __attribute__((constructor)) static void start(void) {
              pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0);
            }
            int main(void) { printf("Content-Type: text/plain\n\nran %d\n", ran); return 0; }
            """, "-pthread")
        for _ in range(5):
            assert bridge.request(script).body == b"ran 1\n"
            time.sleep(0.1)

    def test_a_perl_program_that_fails_to_compile_answers_as_classic_does(self, site, bridge):
        script = site.perl("broken", "this is no perl at all {\n")
        bridge.allow_log("broken")
        for _ in range(4):
            assert bridge.request(script).status == 502
            time.sleep(0.1)

    def test_a_python_program_that_fails_to_compile_answers_as_classic_does(self, site, bridge):
        script = site.python("broken", "def (:\n")
        bridge.allow_log("broken")
        for _ in range(4):
            assert bridge.request(script).status == 502
            time.sleep(0.1)

    def test_a_program_that_speaks_while_compiling_is_not_warm_in_a_wrong_way(self, site, bridge):
        script = site.perl("begin", """
            BEGIN { print "Content-Type: text/plain\\n\\n"; print "q=$ENV{QUERY_STRING}\\n"; }
            print "run\\n";
            """)
        for n in range(6):
            assert bridge.request(script, query=f"n={n}").body == b"q=n=%d\nrun\n" % n
            time.sleep(0.1)


class TestGenerations:
    def test_a_changed_program_answers_the_next_request(self, site, bridge):
        script = programs.hello(site, text="first")
        assert warm(bridge, script)["generation"] >= 1
        assert bridge.request(script).body == b"first\n"
        before = bridge.program(script)["generation"]
        for n in range(5):
            programs.hello(site, text=f"changed {n}")
            assert bridge.request(script).body == b"changed %d\n" % n
        assert bridge.wait_warm(script)["generation"] > before
        assert bridge.request(script).body == b"changed 4\n"

    @pytest.mark.parametrize("kind", ["perl", "python"])
    def test_a_compiled_program_changed_in_place_answers_the_next_request(self, site, bridge, kind):
        def write(word):
            text = {"perl": f"#!/usr/bin/perl\nprint qq(Content-Type: text/plain\\n\\n{word}\\n);\n",
                    "python": f"#!/usr/bin/python3\nprint('Content-Type: text/plain\\n\\n{word}')\n"}
            script.write_text(text[kind])
        script = site.cgi_bin / "changing"
        write("a")
        script.chmod(0o755)
        warm(bridge, script)
        assert bridge.request(script).body == b"a\n"
        write("b")
        assert bridge.request(script).body == b"b\n"
        bridge.wait_warm(script)
        assert bridge.request(script).body == b"b\n"

    def test_workers_of_an_old_generation_end(self, site, bridge):
        script = programs.hello(site)
        old = warm(bridge, script)
        programs.hello(site, text="new")
        bridge.request(script)
        bridge.wait_warm(script)
        left = [old["zygote_pid"], *old["worker_pids"]]
        wait_until(lambda: not any(processes.alive(pid) for pid in left), "old ones are gone")

    def test_a_removed_program_is_404_and_its_workers_end(self, site, bridge):
        script = programs.hello(site)
        old = warm(bridge, script)
        script.unlink()
        assert bridge.request(script).status == 404
        shutil.rmtree(site.cgi_bin)
        assert bridge.request(script).status == 404
        site.cgi_bin.mkdir()
        programs.hello(site, text="back")
        assert bridge.request(script).body == b"back\n"
        wait_until(lambda: not set(bridge.program(script)["worker_pids"]) & set(old["worker_pids"]),
                   "the old workers are gone")

    def test_a_program_that_lost_its_x_bit_is_refused(self, site, bridge):
        script = programs.hello(site)
        warm(bridge, script)
        script.chmod(0o644)
        assert bridge.request(script).status == 403


class TestFreshness:
    def test_every_request_meets_a_new_process_if_workers_fork(self, site):
        script = programs.pid(site)
        bridge = site.start_bridge('mode = "persistent"\nreset = "fork"')
        warm(bridge, script)
        pids = [bridge.request(script).body for _ in range(30)]
        assert len(set(pids)) == 30

    @pytest.mark.parametrize("kind,text", [
        ("python", "import random\nprint('Content-Type: text/plain\\n\\n%d' % random.getrandbits(64))\n"),
        ("python", "import uuid\nprint('Content-Type: text/plain\\n\\n%s' % uuid.uuid4())\n"),
        ("perl", 'print "Content-Type: text/plain\\n\\n", rand, "\\n";\n'),
        ("perl", 'srand; print "Content-Type: text/plain\\n\\n", rand, "\\n";\n'),
        ("bash", "printf 'Content-Type: text/plain\\n\\n%s\\n' $RANDOM-$RANDOM-$RANDOM-$RANDOM\n"),
    ], ids=["python-random", "python-uuid", "perl-rand", "perl-srand", "bash-RANDOM"])
    def test_random_numbers_differ_from_request_to_request(self, site, bridge, kind, text):
        interpreter = {"python": "/usr/bin/python3", "perl": "/usr/bin/perl", "bash": "/bin/bash"}[kind]
        script = site.script("random", f"#!{interpreter}\n{text}")
        warm(bridge, script)
        with bridge.connect() as peer:
            drawn = [peer.request(script).body for _ in range(150)]
        # bash seeds from a clock's microseconds: two of 150 may be equal by chance.
        assert len(set(drawn)) >= (148 if kind == "bash" else 150)

    def test_python_s_hash_seed_is_not_the_point_but_its_time_is(self, site, bridge):
        script = site.perl("time", 'print "Content-Type: text/plain\\n\\n", time - $^T, "\\n";\n')
        warm(bridge, script)
        time.sleep(2.1)
        # A request that is held up may see more, but not every one of three is held up.
        assert min(int(bridge.request(script).body) for _ in range(3)) <= 1

    def test_what_a_request_changes_the_next_does_not_see(self, site, bridge):
        script = site.python("state", """
            import os, sys
            print("Content-Type: text/plain\\n")
            print(hasattr(sys, "left"), os.getcwd(), os.umask(0o123), os.environ.get("LEFT"))
            sys.left = True
            os.chdir("/")
            os.environ["LEFT"] = "1"
            """)
        warm(bridge, script)
        answers = {bridge.request(script).body for _ in range(20)}
        assert len(answers) == 1 and answers.pop().startswith(b"False ")


class TestLearning:
    def test_modules_that_a_python_program_loads_are_there_before_its_next_requests(self, site, bridge):
        script = site.python("learned", """
            import sys
            before = "decimal" in sys.modules
            import decimal
            print("Content-Type: text/plain\\n\\n%s" % before)
            """)
        warm(bridge, script)
        wait_until(lambda: bridge.request(script).body == b"True\n",
                   "decimal is loaded before the checkpoint", 15)

    def test_libraries_that_a_ruby_program_loads_are_there_before_its_next_requests(self, site, bridge):
        script = site.script("learned.rb", r"""
            #!/usr/bin/ruby
            before = ''.respond_to?(:to_d)
            require 'bigdecimal/util'
            print "Content-Type: text/plain\n\n", before
            """)
        warm(bridge, script)
        wait_until(lambda: bridge.request(script).body == b"true",
                   "bigdecimal is loaded before the checkpoint", 15)
        assert "bigdecimal/util" in bridge.program(script)["learned"]

    def test_the_program_s_own_modules_are_not_kept(self, site, bridge):
        (site.cgi_bin / "of_its_own.py").write_text("word = 'first'\n")
        script = site.python("own", """
            import of_its_own
            print("Content-Type: text/plain\\n\\n" + of_its_own.word)
            """)
        warm(bridge, script)
        for _ in range(5):
            assert bridge.request(script).body == b"first\n"
        fresh = site.cgi_bin / "of_its_own.py"
        fresh.write_text("word = 'changed by now'\n")
        assert bridge.request(script).body == b"changed by now\n"

    def test_preload_names_modules(self, site):
        script = site.python("preloaded", """
            import sys
            print("Content-Type: text/plain\\n\\n%s" % ("sqlite3" in sys.modules))
            """)
        bridge = site.start_bridge('mode = "persistent"\npreload = ["sqlite3"]')
        warm(bridge, script)
        assert bridge.request(script).body == b"True\n"


class TestWorkers:
    def test_prewarm_makes_a_program_warm_before_its_first_request(self, site):
        script = programs.pid(site)
        bridge = site.start_bridge('mode = "persistent"', bridge=f'prewarm = ["{script}"]\n')
        bridge.wait_warm(script)
        assert bridge.answered_by(script) == "persistent"

    def test_spare_workers_are_forked_ahead_of_demand(self, site):
        script = programs.pid(site)
        bridge = site.start_bridge('mode = "persistent"\nworkers = { spare = 4, max = 8 }')
        warm(bridge, script)
        wait_until(lambda: bridge.program(script)["workers"]["idle"] >= 4, "four are idle")
        for _ in range(10):
            assert bridge.answered_by(script) == "persistent"
            wait_until(lambda: bridge.program(script)["workers"]["idle"] >= 4, "four are idle again")

    def test_no_zygote_at_all_is_a_limit_as_well(self, site):
        script = programs.pid(site)
        bridge = site.start_bridge('mode = "persistent"', bridge="zygotes_max = 0\n")
        for _ in range(5):
            assert bridge.answered_by(script) == "classic"
        entry = bridge.program(script)
        assert (entry["generation"], entry["zygote_pid"]) == (0, None)
        assert "bridge.zygotes_max" in entry["level_reason"]

    def test_many_at_once_are_answered_by_up_to_max_workers(self, site):
        script = site.sh("slow", "sleep 0.05; printf 'Content-Type: text/plain\\n\\n%s\\n' $$\n")
        bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 3, spare = 1 }\n'
                                   'queue = { timeout = "60s" }')
        warm(bridge, script)
        with bridge.connect() as peer:
            for id in range(1, 25):
                peer.start(script, id=id)
            assert bridge.program(script)["workers"]["busy"] <= 3
            for id in range(1, 25):
                assert peer.response(id).status == 200

    def test_an_aborted_request_costs_its_worker_only(self, site):
        script = programs.sleeper(site)
        bridge = site.start_bridge('mode = "persistent"\ntimeouts = { kill_grace = "200ms" }')
        bridge.request(script, query="0")
        entry = bridge.wait_warm(script)
        with bridge.connect() as peer:
            peer.start(script, query="61")
            pid = int(peer.wait_for_output(b"started ").split()[-1])
            peer.abort()
            peer.response()
            wait_until(lambda: not processes.alive(pid), "the worker has ended")
            assert peer.request(script, query="0").body.endswith(b"ended\n")
        assert bridge.program(script)["zygote_pid"] == entry["zygote_pid"]
