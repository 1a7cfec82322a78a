"""mode = "shadow": the client gets classic's answer, the other side answers as well, and differences are
found, kept and shown."""

import os

import pytest

from harness import programs
from harness.processes import wait_until

# A counter in a file, a random token, the date and the process id: all of them vary anyway.
VARYING = """
    import os, secrets, sys, time
    path = os.environ["QUERY_STRING"]
    with open(path, "a+") as file:
        file.seek(0)
        count = int(file.read() or 0) + 1
        file.truncate(0)
        file.write(str(count))
    print("Content-Type: text/html")
    print("X-Request-Id: " + secrets.token_hex(8))
    print("Date: " + time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()))
    print()
    print(f"<p>You are visitor number {count}.</p>")
    print(f'<input type="hidden" name="csrf" value="{secrets.token_urlsafe(16)}">')
    print(f"<p>at {time.time():.6f} by process {os.getpid()}</p>")
    print("<p>This never changes.</p>")
    """

# Keeps what an earlier request left in it, if it is reused.
LEAKY = """
    import os
    import builtins
    seen = builtins.__dict__.setdefault("seen_before", [])
    seen.append(os.environ["QUERY_STRING"])
    print("Content-Type: text/plain\\n\\n" + ",".join(seen))
    """

SHADOW = 'mode = "shadow"\narm_header = "X-CGI-Arm"\n'


def shadow_of(bridge, script):
    return bridge.program(script).get("shadow", {})


def wait_compared(bridge, script, count):
    def compared():
        found = shadow_of(bridge, script)
        return found if found.get("compared", 0) >= count else None
    return wait_until(compared, f"{count} answers are compared; {shadow_of(bridge, script)}", 20)


def wait_dealt_with(bridge, script):
    """Waits until the first request was compared, or was too early for a comparison."""
    def dealt_with():
        found = shadow_of(bridge, script)
        return found.get("skipped", {}).get("not_warm", 0) or found.get("compared", 0)
    wait_until(dealt_with, "the first one is dealt with")


def warm(bridge, script, **more):
    bridge.request(script, **more)
    bridge.wait_warm(script)
    bridge.wait_idle()


def ask(bridge, script, times, **more):
    """Sends requests, each after the comparison of the one before; every answer must be classic's."""
    before = shadow_of(bridge, script).get("compared", 0)
    answers = []
    for number in range(1, times + 1):
        answers.append(bridge.request(script, **more))
        assert answers[-1].head["x-cgi-arm"] == "classic"
        wait_compared(bridge, script, before + number)
    return answers


def side_teller(site):
    """A program that answers differently when it is warm, because a worker's parent is not the bridge."""
    return site.c("telling", r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(void) {
          char line[4096];
          int warm = 0;
          FILE *maps = fopen("/proc/self/maps", "r");
          while (fgets(line, sizeof line, maps)) warm |= strstr(line, "cgibridge_checkpoint") != 0;
          fclose(maps);
          printf("Content-Type: text/plain\n\nthe first line\nit is %s\nthe last line\n",
                 warm ? "warm" : "cold");
          return 0;
        }
        """)


class TestComparing:
    @pytest.mark.parametrize("reset", ["rewind", "fork"])
    def test_equal_answers_are_counted_as_the_same(self, site, reset):
        script = site.example("hello.cgi")
        bridge = site.start_bridge(SHADOW + f'reset = "{reset}"\n')
        warm(bridge, script)
        ask(bridge, script, 20)
        found = shadow_of(bridge, script)
        assert (found["same"], found["different"]) == (found["compared"], 0)
        assert found["differences"] == []

    def test_counters_tokens_dates_and_pids_are_masked(self, site):
        script = site.python("varying.py", VARYING)
        bridge = site.start_bridge(SHADOW)
        counter = f"{site.folder}/count"
        warm(bridge, script, query=counter)
        ask(bridge, script, 30, query=counter)
        found = shadow_of(bridge, script)
        assert found["different"] == 0, found["differences"]
        assert found["masked"] >= 30 and found["masks"]

    def test_a_real_difference_is_shown_as_a_diff(self, site):
        script = side_teller(site)
        bridge = site.start_bridge(SHADOW)
        warm(bridge, script)
        ask(bridge, script, 3)
        found = shadow_of(bridge, script)
        assert found["different"] == found["compared"] >= 3
        newest = found["differences"][-1]
        assert (newest["what"], newest["arm"], newest["method"]) == ("body", "rewind", "GET")
        assert "-it is cold" in newest["diff"] and "+it is warm" in newest["diff"]
        assert "the first line" in newest["diff"]
        bridge.expect_log(r"shadow: GET .* answered otherwise by rewind than by classic: body")

    def test_a_leak_under_none_is_found_though_tokens_are_masked(self, site):
        """One request's state shows in another's answer; a mask must not hide that."""
        script = site.python("leaky.py", LEAKY)
        bridge = site.start_bridge(SHADOW + 'reset = "none"\nworkers = { max = 1, spare = 1 }\n')
        warm(bridge, script, query="first")
        for visitor in range(6):
            ask(bridge, script, 1, query=f"visitor-{visitor}")
        found = shadow_of(bridge, script)
        assert found["different"] >= 4, found
        assert all(entry["arm"] == "none" for entry in found["differences"])

    def test_a_token_that_is_kept_is_found_though_it_is_masked(self, site):
        script = site.python("token.py", """
            import builtins, secrets
            token = builtins.__dict__.setdefault("kept", None) or secrets.token_hex(16)
            builtins.kept = token
            print("Content-Type: text/plain\\n\\ntoken=" + token + ";")
            """)
        bridge = site.start_bridge(SHADOW + 'reset = "none"\nworkers = { max = 1, spare = 1 }\n')
        warm(bridge, script)
        ask(bridge, script, 20)
        found = shadow_of(bridge, script)
        assert found["different"] >= 1, found

    def test_status_head_and_exit_code_are_compared(self, site):
        for what, cold, warm_answer in (
                ("status", "Status: 200 OK", "Status: 404 Not Found"),
                ("head", "X-Side: cold", "X-Side: warm"),
                ("exit code", "X: 1", "X: 1")):
            name = what.replace(" ", "-")
            script = site.c(name, r"""
                #include <stdio.h>
                #include <string.h>
                int main(void) {
                  char line[4096];
                  int warm = 0;
                  FILE *maps = fopen("/proc/self/maps", "r");
                  while (fgets(line, sizeof line, maps))
                    warm |= strstr(line, "cgibridge_checkpoint") != 0;
                  printf("Content-Type: text/plain\n%%s\n\nbody\n", warm ? "%s" : "%s");
                  return warm * %d;
                }
                """ % (warm_answer, cold, 3 if what == "exit code" else 0))
            bridge = site.start_bridge(SHADOW, name=f"{name}.toml",
                                       listen=[f"unix:{site.folder}/{name}.sock"])
            warm(bridge, script)
            ask(bridge, script, 2)
            found = shadow_of(bridge, script)
            assert found["differences"], (what, found)
            assert found["differences"][-1]["what"] == what


class TestRestraint:
    def test_a_post_is_not_repeated_unless_told_so(self, site):
        script = site.sh("append", f'echo x >> {site.folder}/written; echo "Content-Type: a/b"; echo\n')
        bridge = site.start_bridge(SHADOW)
        warm(bridge, script, method="GET")
        # If the GET was repeated, both of its runs have written.
        wait_dealt_with(bridge, script)
        before = (site.folder / "written").read_text().count("x")
        for _ in range(5):
            bridge.request(script, method="POST", body=b"a=1")
        assert (site.folder / "written").read_text().count("x") == before + 5
        assert shadow_of(bridge, script)["skipped"]["method"] == 5

    def test_a_body_reaches_both_sides_if_posts_may_be_repeated(self, site):
        script = site.example("echo.cgi")
        bridge = site.start_bridge(SHADOW + 'shadow = { methods = ["POST"] }\n')
        warm(bridge, script, method="POST", body=b"warm")
        body = os.urandom(100_000)
        (answer,) = ask(bridge, script, 1, method="POST", body=body)
        assert body in answer.stdout
        found = shadow_of(bridge, script)
        assert found["different"] == 0, found["differences"]

    def test_what_is_too_large_is_left_out_and_counted(self, site):
        script = site.python("large.py", """
            import os
            print("Content-Type: a/b\\n\\n" + "x" * int(os.environ["QUERY_STRING"]))
            """)
        bridge = site.start_bridge(
            SHADOW + 'shadow = { methods = ["GET", "POST"] }\n')
        warm(bridge, script, query="10")
        bridge.request(script, query=str(512 * 1024))
        bridge.request(script, query="10", method="POST", body=b"b" * (1024 * 1024 + 1))
        skipped = shadow_of(bridge, script)["skipped"]
        assert (skipped["answer"], skipped["body"]) == (1, 1)

    def test_while_the_program_is_not_warm_nothing_is_compared(self, site):
        script = site.example("hello.cgi")
        bridge = site.start_bridge(SHADOW + 'timeouts = { start = "1s" }\n')
        assert bridge.request(script).status == 200
        wait_dealt_with(bridge, script)

    def test_a_second_run_that_hangs_holds_up_no_client(self, site):
        """The warm side never ends; clients still get answers, and it is reported as a difference."""
        script = site.c("hanging", r"""
            #include <stdio.h>
            #include <string.h>
            #include <unistd.h>
            int main(void) {
              char line[4096];
              FILE *maps = fopen("/proc/self/maps", "r");
              while (fgets(line, sizeof line, maps))
                if (strstr(line, "cgibridge_checkpoint")) pause();
              printf("Content-Type: text/plain\n\nanswered\n");
              return 0;
            }
            """)
        bridge = site.start_bridge(
            SHADOW + 'timeouts = { request = "500ms", kill_grace = "100ms" }\n'
            'workers = { max = 1, spare = 1 }\n')
        warm(bridge, script)
        for _ in range(70):  # 64 wait, two run
            assert bridge.request(script).body == b"answered\n"
        found = wait_compared(bridge, script, 1)
        assert found["skipped"]["busy"] > 0
        assert "not done after 500 ms" in found["differences"][-1]["diff"] + \
            found["differences"][-1]["what"]

        def all_dealt_with():
            found = shadow_of(bridge, script)
            return found["compared"] + sum(found["skipped"].values()) == 71
        wait_until(all_dealt_with, "none hangs any more", 60)

    def test_a_share_of_requests_is_shadowed(self, site):
        script = site.example("hello.cgi")
        bridge = site.start_bridge(SHADOW + "shadow = { share = 20 }\n")
        warm(bridge, script)
        for _ in range(50):
            bridge.request(script)
        wait_compared(bridge, script, 8)
        found = shadow_of(bridge, script)
        assert found["compared"] + sum(found["skipped"].values()) <= 13

    def test_the_newest_differences_are_kept(self, site):
        script = side_teller(site)
        bridge = site.start_bridge(SHADOW)
        warm(bridge, script)
        ask(bridge, script, 23)
        found = shadow_of(bridge, script)
        assert found["different"] >= 23 and len(found["differences"]) == 20
        ids = [entry["id"] for entry in found["differences"]]
        assert ids == sorted(ids) and ids[-1] == found["different"]

    def test_head_requests_are_compared_by_their_heads(self, site):
        script = site.example("hello.cgi")
        bridge = site.start_bridge(SHADOW)
        warm(bridge, script)
        (answer,) = ask(bridge, script, 1, method="HEAD")
        assert answer.body == b""
        assert shadow_of(bridge, script)["different"] == 0

    def test_shadows_count_in_no_figure_of_a_client(self, site):
        script = programs.pid(site)
        bridge = site.start_bridge(SHADOW)
        warm(bridge, script)
        ask(bridge, script, 10)
        entry = bridge.program(script)
        assert (entry["requests"], entry["requests_persistent"]) == (11, 0)
        assert set(entry["arms"]) == {"classic"}
