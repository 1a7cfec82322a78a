"""The slow log: which request is slow, and where its program is, for each language."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from harness.bridge import BINARY, environment
from harness.processes import wait_until
from harness.site import PROJECT

READER = BINARY.parent / "cgibridge-stack"
SLOW = 'slowlog = { after = "100ms" }'


@pytest.fixture(scope="module")
def may_look():
    """Whether this machine lets a process inspect another one of the same user."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        done = subprocess.run([READER, str(other.pid)], capture_output=True, text=True, env=environment())
    finally:
        other.kill()
        other.wait()
    if done.returncode != 0:
        pytest.skip(done.stdout.strip() or done.stderr.strip())
    assert "native:" in done.stdout


def start(site, mode, script, slowlog=SLOW):
    """A bridge that gives its next answer in the way that mode names."""
    bridge = site.start_bridge(f'mode = "{mode}"\n{slowlog}', bridge=f'prewarm = ["{script}"]')
    if mode == "persistent":
        bridge.wait_warm(script)
    return bridge


def behind_the_start(mode, classic="500ms"):
    """The slow-log settings; without a worker they allow for the interpreter's start, which takes a while."""
    return SLOW.replace("100ms", classic) if mode == "classic" else SLOW


def stack_of(bridge, script, mode, stack="    native: ", over=None):
    """The response of a slow request, and the log, which reports it and its stack. A program may wait for a
    file `over`. On a slow machine it may still be starting, or already have ended, when it is inspected; then
    it is requested again."""
    arm = "classic" if mode == "classic" else "rewind"
    told = bridge.log().count("still runs after")

    def is_read():
        newest = bridge.log().rpartition("still runs after")[2]
        return re.search("    (native: |no stack)", newest)

    for attempt in range(1, 6):
        with bridge.connect() as peer:
            peer.start(script)
            wait_until(lambda: bridge.log().count("still runs after") >= told + attempt,
                       "the slow log tells of it")
            wait_until(is_read, "the slow log has its stack")
            if over:
                over.touch()
            answer = peer.response()
        if over:
            over.unlink()
        if re.search(stack, bridge.log()):
            break
    log = bridge.log()
    assert re.search(rf"program={script} pid=\d+ arm={arm}: GET \S+ still runs after \d+ ms "
                     r"\(slowlog.after\)", log), log
    assert re.search(stack, log), log
    return answer, log


def test_a_perl_script_tells_its_subs_and_lines(site, mode, may_look):
    over = site.folder / "over"
    script = site.perl("slow.pl", f"""
        sub inner {{ select undef, undef, undef, 0.05 until -e "{over}"; return 1 }}
        sub outer {{
            return inner();
        }}
        outer();
        print "Content-Type: text/plain\\n\\nok\\n";
        """)
    is_known = "exit(int($] * 1000 + 0.0001) !~ /^50(36|38|40|42)$/)"
    if subprocess.run(["/usr/bin/perl", "-e", is_known]).returncode:
        pytest.skip("the stack of this version of perl is not known")
    pattern = (rf"perl: inner \({script}:2\)\n.*perl: outer \({script}:4\)\n"
               rf".*perl: main program \({script}:6\)\n")
    bridge = start(site, mode, script, behind_the_start(mode))
    answer, _ = stack_of(bridge, script, mode, pattern, over)
    assert answer.body == b"ok\n"


# What the reader knows of perl's structures, in the order of its layout.
PERL_PLACES = """
    offsetof(struct interpreter, Icurcop), offsetof(struct interpreter, Icurstackinfo),
    offsetof(PERL_SI, si_cxstack), offsetof(PERL_SI, si_prev), offsetof(PERL_SI, si_cxix),
    sizeof(PERL_CONTEXT), offsetof(PERL_CONTEXT, cx_u.cx_blk.blku_oldcop),
    offsetof(PERL_CONTEXT, cx_u.cx_blk.blk_u.blku_sub.cv), offsetof(COP, cop_line), offsetof(COP, cop_file),
    offsetof(XPVCV, xcv_gv_u), offsetof(XPVCV, xcv_flags), offsetof(XPVGV, xiv_u.xivu_namehek)
    """
PERL_HEADERS = os.environ.get("CGIBRIDGE_TESTS_PERL_HEADERS") or subprocess.run(
    ["/usr/bin/perl", "-MConfig", "-e", "print $Config{archlibexp}, '/CORE'"], capture_output=True,
    text=True).stdout


@pytest.mark.skipif(not pathlib.Path(PERL_HEADERS, "perl.h").exists(), reason=f"no {PERL_HEADERS}/perl.h")
def test_perl_s_structures_are_where_its_headers_say(site):
    """CGIBRIDGE_TESTS_PERL_HEADERS=/path/to/CORE tries another version's."""
    reader = (PROJECT / "bridge" / "stacks" / "perl_frames.cc").read_text()
    layout = re.search(r"kLayout = {(.*?)};", reader, re.DOTALL)[1].split(",")
    versions = re.search(r"kVersions = {(.*?)};", reader)[1].split(",")
    places = [*zip(re.findall(r"\S+\(.*?\)", PERL_PLACES), layout, strict=True),
              ("CXTYPEMASK", "0xf"), ("CXt_SUB", "9"), ("CVf_NAMED", "0x8000"),
              ("offsetof(HEK, hek_key)", "8")]
    known = " || ".join(f"PERL_VERSION == {version}" for version in versions)
    source = site.folder / "places.c"
    source.write_text('#include "EXTERN.h"\n#include "perl.h"\n' + f'_Static_assert({known}, "version");\n'
                      + "".join(f'_Static_assert({place} == {value}, "");\n' for place, value in places))
    subprocess.run(["cc", "-fsyntax-only", "-fwrapv", "-D_GNU_SOURCE", "-D_REENTRANT", "-D_LARGEFILE_SOURCE",
                    "-D_FILE_OFFSET_BITS=64", f"-I{PERL_HEADERS}", source], check=True)


def test_a_python_script_tells_its_functions_and_lines(site, mode, may_look):
    over = site.folder / "over"
    script = site.python("slow.py", f"""
        import os, time
        def inner():
            while not os.path.exists("{over}"): time.sleep(0.05)
        def outer():
            inner()
        outer()
        print("Content-Type: text/plain\\n\\nok")
        """)
    pattern = (rf"python: inner \({script}:4\)\n.*python: outer \({script}:6\)\n"
               rf".*python: <module> \({script}:7\)\n")
    bridge = start(site, mode, script, behind_the_start(mode))
    answer, _ = stack_of(bridge, script, mode, pattern, over)
    assert answer.body == b"ok\n"


def test_a_ruby_script_tells_its_methods_and_lines(site, mode, may_look):
    over = site.folder / "over"
    script = site.script("slow.rb", f"""
        #!/usr/bin/ruby
        def inner
          sleep 0.05 until File.exist?("{over}")
        end
        def outer
          inner
        end
        outer
        print "Content-Type: text/plain\\n\\nok\\n"
        """)
    pattern = (rf"ruby: inner \({script}:3\)\n.*ruby: outer \({script}:6\)\n"
               rf".*ruby: <main> \({script}:8\)\n")
    bridge = start(site, mode, script, behind_the_start(mode, "1500ms"))
    answer, _ = stack_of(bridge, script, mode, pattern, over)
    assert answer.body == b"ok\n"


def test_a_native_program_tells_its_functions(site, mode, may_look):
    over = site.folder / "over"
    script = site.c("slow", """
        #include <stdio.h>
        #include <unistd.h>
        __attribute__((noinline)) int inner(int n) {
          while (access(OVER, F_OK) != 0) usleep(50000);
          return n + 1;
        }
        __attribute__((noinline)) int outer(int n) { return inner(n) + 1; }
        int main(void) { printf("Content-Type: text/plain\\n\\n%d\\n", outer(1)); return 0; }
        """, "-g", f'-DOVER="{over}"')
    pattern = r"native: inner .*\n.*native: outer .*\n.*native: main "
    bridge = start(site, mode, script, behind_the_start(mode))
    answer, _ = stack_of(bridge, script, mode, pattern, over)
    assert answer.body == b"3\n"


def test_a_shell_script_tells_what_it_waits_for(site, may_look):
    script = site.sh("slow.sh", "sleep 2\nprintf 'Content-Type: text/plain\\n\\nok\\n'\n")
    stack_of(start(site, "classic", script), script, "classic", r"child \d+: sleep 2")


# A script that is always busy; what it sees must be the same as without the reader.
WATCHFUL = """
    import json, os, signal, time
    def state():
        status = open("/proc/self/status").read().splitlines()
        return {"signals": [line for line in status if line[:3] in ("Sig", "Shd") and line[:4] != "SigQ"],
                "fds": sorted(os.listdir("/proc/self/fd")),
                "handlers": [str(signal.getsignal(n)) for n in range(1, 32) if n not in (9, 19)]}
    before = state()
    end = time.monotonic() + 1.5
    sums = set()
    while time.monotonic() < end:
        x = 1.5
        for i in range(20000):
            x = x * 1.0000001 + i * 0.25 - i / 4
        sums.add(x)
    print("Content-Type: application/json\\n")
    print(json.dumps({"same": len(sums) == 1, "state": state() == before}))
    """


def test_a_program_that_is_looked_at_sees_nothing_of_it(site, mode, may_look):
    script = site.python("watchful", WATCHFUL)
    bridge = start(site, mode, script, 'slowlog = { after = "300ms" }')
    for _ in range(2):
        answer, _ = stack_of(bridge, script, mode, "python: <module> ")
        assert json.loads(answer.body) == {"same": True, "state": True}


def test_a_system_call_that_it_waits_in_goes_on_as_if_nothing_had_been(site, mode, may_look):
    script = site.c("wait", """
        #include <errno.h>
        #include <poll.h>
        #include <stdio.h>
        #include <string.h>
        #include <time.h>
        #include <unistd.h>
        int main(void) {
          int ends[2];
          char byte;
          struct timespec t = {0, 400000000};
          if (pipe(ends) != 0) return 1;
          errno = 0;
          int slept = nanosleep(&t, &t), polled = poll(0, 0, 300);
          struct pollfd one = {ends[0], POLLIN, 0};
          polled |= poll(&one, 1, 300);
          printf("Content-Type: text/plain\\n\\n%d %d %d\\n", slept, polled, errno);
          return 0;
        }
        """)
    answer, _ = stack_of(start(site, mode, script), script, mode)
    assert answer.body == b"0 0 0\n"


@pytest.mark.plain_build
def test_looking_again_and_again_disturbs_no_script(site, may_look):
    """Runs the reader directly, as often as possible, while scripts of three languages compute."""
    scripts = {
        "python": site.python("sum.py", """
            import sys
            total = 0
            for i in range(700_000): total += len(str(i)) % 7
            print("Content-Type: text/plain\\n\\n%d" % total)
            """),
        "perl": site.perl("sum.pl", """
            my $total = 0;
            for my $i (0 .. 699_999) { $total += length("$i") % 7 }
            print "Content-Type: text/plain\\n\\n$total\\n";
            """),
        "ruby": site.script("sum.rb", """
            #!/usr/bin/ruby
            total = 0
            700_000.times { |i| total += i.to_s.size % 7 }
            print "Content-Type: text/plain\\n\\n#{total}\\n"
            """)}
    for language, script in scripts.items():
        expected = subprocess.run([script], capture_output=True, check=True, env=environment()).stdout
        running = site.start(script, stdout=subprocess.PIPE, env=environment())
        looks = []
        while running.poll() is None:
            done = subprocess.run([READER, str(running.pid)], capture_output=True, text=True,
                                  env=environment())
            looks.append(done.stdout)
        assert running.stdout.read() == expected, language
        running.stdout.close()
        assert running.returncode == 0, language
        seen = sum(f"{language}: " in look for look in looks)
        assert seen > 0 or language == "perl", looks[-3:]


def test_it_has_a_file_of_its_own_if_it_is_given_one(site, may_look):
    slow = site.folder / "slow.log"
    script = site.sh("slow.sh", "sleep 2\nprintf 'Content-Type: text/plain\\n\\nok\\n'\n")
    bridge = site.start_bridge(f'mode = "classic"\n{SLOW}', bridge=f'slowlog = {{ file = "{slow}" }}')
    bridge.request(script, query="password=hunter2")
    wait_until(lambda: slow.exists() and "native: " in slow.read_text(), "the slow log has a stack")
    first, *stack = slow.read_text().splitlines()
    assert re.fullmatch(r"\S+Z id=\w+ client=127.0.0.1 "
                        rf"program={script} pid=\d+ arm=classic: GET /cgi-bin/slow.sh\?password=xxxxxxx "
                        r"still runs after 100 ms \(slowlog.after\)", first)
    assert all(line.startswith("    ") for line in stack)
    assert "slowlog.after" not in bridge.log()
    status = bridge.status()["bridge"]["journal"]
    assert (status["slow"], status["stacks_read"]) == (1, 1)


def test_a_program_is_left_alone_if_that_is_wanted(site):
    script = site.sh("slow.sh", "sleep 2\nprintf 'Content-Type: text/plain\\n\\nok\\n'\n")
    bridge = site.start_bridge('mode = "classic"\nslowlog = { after = "100ms", stacks = false }')
    assert bridge.request(script).body == b"ok\n"
    bridge.expect_log("still runs after 100 ms")
    assert bridge.status()["bridge"]["journal"]["stacks_read"] == 0


def test_more_slow_requests_than_readers_are_looked_at_one_after_the_other(site, may_look):
    go = site.folder / "go"
    script = site.sh("slow.sh", f"""
        while [ ! -e {go} ]; do sleep 0.1; done
        printf 'Content-Type: text/plain\\n\\nok\\n'
        """)
    bridge = site.start_bridge(f'mode = "classic"\n{SLOW}')
    ids = range(1, 9)
    with bridge.connect() as peer:
        for id in ids:
            peer.begin(id)
            peer.params({"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET"}, id)
            peer.stdin(b"", id)
        wait_until(lambda: bridge.log().count("still runs after") == len(ids), "each is reported", 20)
        go.touch()
        for id in ids:
            assert peer.response(id).body == b"ok\n"
    status = bridge.status()["bridge"]["journal"]
    assert (status["slow"], status["stacks_read"], status["stacks_left_out"]) == (len(ids), len(ids), 0)
    # A script that ended while it was inspected would have no stack.
    assert bridge.log().count("    native: ") >= len(ids) and "no stack" not in bridge.log()


def test_a_quick_request_is_in_no_slow_log(site):
    script = site.sh("quick.sh", "printf 'Content-Type: text/plain\\n\\nok\\n'\n")
    bridge = site.start_bridge('mode = "classic"\nslowlog = { after = "20s" }')
    bridge.request(script)
    assert bridge.status()["bridge"]["journal"]["slow"] == 0


def test_the_reader_says_what_it_cannot_do():
    gone = subprocess.run(["true"])
    assert gone.returncode == 0
    done = subprocess.run([READER, "999999999"], capture_output=True, text=True, env=environment())
    assert done.returncode == 1 and done.stdout.startswith("no stack: ")
    done = subprocess.run([READER], capture_output=True, text=True, env=environment())
    assert done.returncode == 2 and "usage" in done.stderr
    assert pathlib.Path(READER).is_file()
