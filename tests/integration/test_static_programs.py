"""Static executables behind a bridge: warm and rewound, as scripts' interpreters, too. What they may do
inside is in tests/adapters/test_static.py."""

import os
import pathlib
import shutil

import pytest

from harness.processes import wait_until

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")
BUSYBOX = pathlib.Path("/bin/busybox")
COUNTER = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    int calls;
    int main(void) {
      char body[100], path[4096] = "";
      int got = (int)read(0, body, sizeof body);
      if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) perror("readlink");
      printf("Content-Type: text/plain\nX-Exe: %s\n\n", path);
      printf("%d %s %.*s\n", ++calls, getenv("QUERY_STRING"), got, body);
      return setenv("QUERY_STRING", "left", 1);
    }
    """


def answers(bridge, script, times=20):
    for n in range(times):
        answer = bridge.request(script, "POST", query=f"n={n}", body=b"body%d" % n)
        assert (answer.status, answer.body, answer.stderr) == (200, b"1 n=%d body%d\n" % (n, n), b"")
        assert answer.head["x-exe"] == str(script)
        if n == 0:
            bridge.wait_warm(script)


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_one_is_warm(site, reset):
    script = site.c("counter", COUNTER, "-static")
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\nworkers = {{ max = 1, spare = 1 }}')
    answers(bridge, script)
    entry = bridge.program(script)
    assert (entry["arm"], entry["level"]) == (f"persistent/{reset}", "linked")
    assert entry["requests_persistent"] >= 19 and not entry["retired"]
    assert reset == "fork" or entry["rewind"]["rewinds"] >= 18


def test_nothing_differs_from_its_zygote_after_any_request(site):
    script = site.c("counter", COUNTER, "-static")
    bridge = site.start_bridge('mode = "persistent"\nrewind = { verify = 1 }\n'
                               'workers = { max = 1, spare = 1 }')
    answers(bridge, script)

    def verified():
        assert bridge.request(script).status == 200
        bridge.wait_warm(script)
        return bridge.program(script)["rewind"]["verified"] >= 10
    wait_until(verified, "it was compared")
    assert bridge.program(script)["rewind"]["differences"] == 0


def test_a_new_version_is_served_and_may_be_copied_over_the_old_one(site):
    """Whoever writes to a file that executes is refused; what executes here is a copy."""
    script = site.c("counter", COUNTER, "-static")
    bridge = site.start_bridge('mode = "persistent"')
    answers(bridge, script, 3)
    other = site.c("other", COUNTER.replace("%d %s", "new %d %s"), "-static")
    shutil.copyfile(other, script)
    wait_until(lambda: bridge.request(script).body.startswith(b"new 1"), "the new version answers")
    bridge.wait_warm(script)
    assert bridge.request(script).body.startswith(b"new 1")


@pytest.mark.skipif(not BUSYBOX.exists(), reason=f"no {BUSYBOX}")
def test_busybox_runs_a_script_and_its_own_commands(site):
    """Its shell executes /proc/self/exe for them, under their names."""
    script = site.cgi_bin / "shell"
    script.write_text(f"#!{BUSYBOX} sh\n" + r"""
printf 'Content-Type: text/plain\n\n%s\n' "$QUERY_STRING"
echo abc | sed s/b/x/
for n in 3 1 2; do echo $n; done | sort | tr '\n' ' '
( exit 4 ); echo $?
left=$left.
echo "$left"
""")
    script.chmod(0o755)
    bridge = site.start_bridge('mode = "persistent"')
    for n in range(12):
        answer = bridge.request(script, query=f"n={n}")
        assert (answer.body, answer.stderr) == (b"n=%d\naxc\n1 2 3 4\n.\n" % n, b"")
        if n == 0:
            bridge.wait_warm(script)
    entry = bridge.program(script)
    assert entry["arm"] == "persistent/rewind" and entry["requests_persistent"] >= 10, entry
    assert not entry["retired"]
