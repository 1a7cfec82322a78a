"""How many requests to a program were really answered warm, and why the others were not."""

import pytest

PERSISTENT = 'mode = "persistent"\nworkers = { max = 2, spare = 2 }\nrewind = { verify = 0 }\n'

# Its output comes from the program that it execs. That one lives for a moment, like any program that does
# some work. The mask that it passes on keeps other workers from taking its place.
EXEC_SH = """
    [ "$QUERY_STRING" = own ] && { printf 'Content-Type: text/plain\\n\\nown\\n'; exit 0; }
    umask 027
    exec %s
    """
WRAPPED_SH = "printf 'Content-Type: text/plain\\n\\nwrapped\\n'; sleep 0.05\n"
WRAPPER_C = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <unistd.h>
    int main(void) {
      umask(027);
      if (strcmp(getenv("QUERY_STRING"), "own") != 0) return execl("%s", "x", NULL);
      printf("Content-Type: text/plain\n\nown\n");
      return 0;
    }
    """
LEAVES_C = r"""
    #define _GNU_SOURCE
    #include <stdio.h>
    #include <unistd.h>
    int main(void) {
      printf("Content-Type: text/plain\n\nleft\n");
      fflush(stdout);
      close_range(3, ~0U, 0);
      usleep(50000);
      _exit(0);
    }
    """


def wrapper(site, language):
    wrapped = site.sh("wrapped", WRAPPED_SH)
    return site.sh("x", EXEC_SH % wrapped) if language == "sh" else site.c("x", WRAPPER_C % wrapped)


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("language", ["sh", "c"])
def test_a_program_that_executes_another_is_not_called_warm(site, language, reset):
    script = wrapper(site, language)
    bridge = site.start_bridge(PERSISTENT + f'reset = "{reset}"\n')
    bridge.request(script, query="own")
    bridge.wait_warm(script)
    before = bridge.program(script)["warm"]
    for _ in range(5):
        assert bridge.request(script, query="own").body == b"own\n"
    for _ in range(4):
        assert bridge.request(script, query="other").body == b"wrapped\n"
    warm = bridge.program(script)["warm"]
    assert warm["requests"] >= before["requests"] + 4
    assert warm["of"] == before["of"] + 9
    # On a busy machine, the process may have disappeared when the bridge looks at it.
    assert 3 <= warm["not"]["executed"] <= 4
    assert warm["executed"].startswith("/usr/bin/")
    told = f"really warm: {warm['told']}"
    assert f"{warm['not']['executed']} executed another program ({warm['executed']})" in told
    assert told in bridge.command("status")
    metrics = bridge.command("status", "--openmetrics").splitlines()
    assert any(line.startswith("cgibridge_program_requests_ended_total{") and 'found="executed"' in line
               for line in metrics)
    if reset == "rewind":
        assert bridge.program(script)["retired"]["executed"] == warm["not"]["executed"]


def test_one_that_only_closes_what_is_open_executed_nothing(site):
    script = site.c("x", LEAVES_C)
    bridge = site.start_bridge(PERSISTENT)
    bridge.request(script)
    bridge.wait_warm(script)
    for _ in range(4):
        assert bridge.request(script).body == b"left\n"
    entry = bridge.program(script)
    assert "executed" not in entry["warm"]["not"]
    assert entry["retired"]["left"] >= 3


def test_what_all_are_warm_for_says_nothing_and_classic_is_no_share(site):
    script = site.sh("x", "printf 'Content-Type: text/plain\\n\\nx\\n'\n")
    bridge = site.start_bridge('mode = "classic"\n')
    for _ in range(3):
        bridge.request(script)
    entry = bridge.program(script)
    assert entry["warm"]["of"] == 0 and entry["requests_classic"] == 3
    assert "really warm" not in bridge.command("status")
