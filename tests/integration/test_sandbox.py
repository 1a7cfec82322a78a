"""What a sandboxed program cannot do, tried from inside: in each arm and in several languages."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from harness import guestbooks, processes
from harness.bridge import BINARY
from harness.compiled import compile_library
from harness.processes import wait_until
from harness.sandboxes import copy_adapters, landlock_version, needs_namespaces

NOBODY = 65534

# Each tries to write outside, to write to its folder, to write to /tmp, to connect to the test's own port,
# and to call keyctl(), which is not in @cgi (if its language can); and prints no_new_privs. The operation of
# keyctl() is KEYCTL_SET_REQKEY_KEYRING without a change: it needs no keyring, so it works for every user.
PROBES = {
    "c": r"""
        #include <errno.h>
        #include <fcntl.h>
        #include <netinet/in.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/prctl.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static int count;
        static void tell(const char *what, long result) {
          printf("%s: %s\n", what, result >= 0 ? "done" : strerrorname_np(errno));
        }
        static void write_to(const char *what, const char *path) {
          int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
          tell(what, fd);
          if (fd >= 0) close(fd);
        }
        int main(void) {
          printf("Content-Type: text/plain\n\n");
          write_to("outside", getenv("OUTSIDE"));
          write_to("inside", getenv("INSIDE"));
          write_to("tmp", getenv("NOTE"));
          struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(getenv("PORT"))),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
          int fd = socket(AF_INET, SOCK_STREAM, 0);
          tell("network", fd < 0 ? fd : connect(fd, (struct sockaddr *)&to, sizeof to));
          if (fd >= 0) close(fd);
          tell("call", syscall(SYS_keyctl, 14, -1));
          printf("nnp: %d\ncount: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), ++count);
        }
        """,
    "perl": r"""#!/usr/bin/perl
        use Errno; use IO::Socket::INET;
        print "Content-Type: text/plain\n\n";
        sub tell_of { my ($what, $done) = @_;
          print "$what: ", $done ? 'done' : (grep { $!{$_} } keys %!)[0], "\n" }
        tell_of('outside', open my $a, '>>', $ENV{OUTSIDE});
        tell_of('inside', open my $b, '>>', $ENV{INSIDE});
        tell_of('tmp', open my $c, '>>', $ENV{NOTE});
        tell_of('network', IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{PORT}));
        tell_of('call', syscall(250, 14, -1) != -1);
        open my $s, '<', '/proc/self/status'; /^NoNewPrivs:\s*(\d)/ and print "nnp: $1\n" while <$s>;
        print 'count: ', ++$main::count, "\n";
        """,
    "python": r"""#!/usr/bin/python3
        import ctypes, errno, os, re, socket, sys
        print('Content-Type: text/plain\n')
        def tell(what, act):
            try:
                act()
                print(what + ': done')
            except OSError as error:
                print(what + ': ' + errno.errorcode[error.errno])
        def call():
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.syscall(250, 14, -1) == -1: raise OSError(ctypes.get_errno(), '')
        tell('outside', lambda: open(os.environ['OUTSIDE'], 'a').close())
        tell('inside', lambda: open(os.environ['INSIDE'], 'a').close())
        tell('tmp', lambda: open(os.environ['NOTE'], 'a').close())
        tell('network', lambda: socket.create_connection(('127.0.0.1', os.environ['PORT'])).close())
        tell('call', call)
        print('nnp:', re.search(r'NoNewPrivs:\s*(\d)', open('/proc/self/status').read()).group(1))
        sys.count = getattr(sys, 'count', 0) + 1
        print('count:', sys.count)
        """,
    "bash": r"""#!/bin/bash
        printf 'Content-Type: text/plain\n\n'
        tell() { if out=$(eval "$2" 2>&1); then echo "$1: done"; else
          case $out in *Read-only*) echo "$1: EROFS";; *denied*) echo "$1: EACCES";;
                       *refused*) echo "$1: ECONNREFUSED";; *) echo "$1: $out";; esac; fi; }
        tell outside ': >> "$OUTSIDE"'
        tell inside ': >> "$INSIDE"'
        tell tmp ': >> "$NOTE"'
        tell network ': < /dev/tcp/127.0.0.1/$PORT'
        while read -r key value; do
          [ "$key" != NoNewPrivs: ] || echo "nnp: $value"
        done < /proc/self/status
        echo "count: $((++count))"
        """,
    "node": r"""#!/usr/bin/node
        const fs = require('fs');
        console.log('Content-Type: text/plain\n');
        function tell(what, act) {
          try { act(); console.log(what + ': done'); } catch (e) { console.log(what + ': ' + e.code); }
        }
        tell('outside', () => fs.appendFileSync(process.env.OUTSIDE, ''));
        tell('inside', () => fs.appendFileSync(process.env.INSIDE, ''));
        tell('tmp', () => fs.appendFileSync(process.env.NOTE, ''));
        console.log('nnp: ' + /NoNewPrivs:\s*(\d)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]);
        globalThis.count = (globalThis.count || 0) + 1;
        console.log('count: ' + globalThis.count);
        require('net').connect(process.env.PORT, '127.0.0.1')
          .on('connect', () => { console.log('network: done'); process.exit(0); })
          .on('error', e => { console.log('network: ' + e.code); });
        """,
    "php": r"""#!/usr/bin/php-cgi
        <?php header('Content-Type: text/plain');
        function tell($what, $done) {
          preg_match('/Read-only|denied|refused/', error_get_last()['message'] ?? '', $found);
          $names = ['Read-only' => 'EROFS', 'denied' => 'EACCES', 'refused' => 'ECONNREFUSED'];
          echo "$what: ", $done === false ? $names[$found[0]] : 'done', "\n";
        }
        tell('outside', @file_put_contents(getenv('OUTSIDE'), '', FILE_APPEND));
        tell('inside', @file_put_contents(getenv('INSIDE'), '', FILE_APPEND));
        tell('tmp', @file_put_contents(getenv('NOTE'), '', FILE_APPEND));
        tell('network', @stream_socket_client('tcp://127.0.0.1:' . getenv('PORT')));
        preg_match('/NoNewPrivs:\s*(\d)/', file_get_contents('/proc/self/status'), $found);
        echo "nnp: $found[1]\n";
        $count = ($count ?? 0) + 1;
        echo "count: $count\n";
        """,
}
KEPT = {"outside": "EROFS", "inside": "done", "tmp": "done", "network": "ECONNREFUSED",
        "call": "EPERM", "nnp": "1", "count": "1"}
FREE = {"outside": "done", "inside": "done", "tmp": "done", "network": "done", "call": "done", "nnp": "0",
        "count": "1"}


def probe(site, language, name=None):
    name = name or f"probe-{language.replace(' ', '-')}"
    if language in ("c", "static c"):
        return site.c(name, PROBES["c"], "-D_GNU_SOURCE", *(["-static"] if language == "static c" else []))
    head, _, body = PROBES[language].partition("\n")
    if not pathlib.Path(head.removeprefix("#!")).exists():
        pytest.skip(f"no {head}")
    return site.script(name, head + "\n" + re.sub("^        ", "", body, flags=re.M))


class World:
    """A folder that may be written to, one that may not, and a port that answers."""

    def __init__(self, site):
        self.site = site
        self.inside = site.folder / "inside"
        self.inside.mkdir()
        # Not below /tmp, where the program could not see it.
        self.outside = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-test-", dir="/var/lib"))
        for folder in (self.inside, self.outside):
            folder.chmod(0o777)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.note = pathlib.Path(f"/tmp/{site.folder.name}.note")
        self.adapters = copy_adapters(site)

    def settings(self, more="", wishes="", network="false"):
        return (f'{more}\nenv = {{ INSIDE = "{self.inside}/probe", OUTSIDE = "{self.outside}/probe", '
                f'NOTE = "{self.note}", PORT = "{self.port}" }}\n'
                f'sandbox = {{ read_only = true, write = ["{self.inside}"], private_tmp = true, '
                f'network = {network}, syscalls = ["@cgi"]{wishes} }}\n')

    def prepare(self, defaults, *args, **options):
        return self.site.prepare_bridge(defaults, *args, bridge=f'adapters = "{self.adapters}"\n', **options)

    def start(self, *args, **options):
        return self.prepare(self.settings(*args), **options).start()


@pytest.fixture
def world(site):
    made = World(site)
    yield made
    made.listener.close()
    shutil.rmtree(made.outside)
    made.note.unlink(missing_ok=True)


def found(response):
    assert response.status == 200, response
    return dict(line.split(": ", 1) for line in response.body.decode().splitlines() if ": " in line)


def check(response, expected):
    answer = found(response)
    assert answer == {key: value for key, value in expected.items() if key in answer}, answer
    assert len(answer) >= len(expected) - 1, answer


@pytest.mark.root
class TestFromInside:
    @pytest.fixture(autouse=True)
    def possible(self):
        needs_namespaces()

    @pytest.mark.parametrize("language, arm, user", [
        ("c", 'mode = "classic"', ""), ("c", 'mode = "classic"', "www-data"), ("c", 'reset = "fork"', ""),
        ("c", 'reset = "rewind"', ""), ("c", 'reset = "rewind"', "www-data"),
        ("static c", 'reset = "rewind"', "www-data"), ("static c", 'reset = "fork"', ""),
        ("perl", 'reset = "rewind"', "www-data"), ("python", 'mode = "classic"', "www-data"),
        ("python", 'reset = "rewind"', ""), ("python", 'reset = "fork"', "www-data"),
        ("bash", 'reset = "fork"', "www-data"), ("node", "", "www-data"), ("php", "", "www-data"),
    ])
    def test_a_program_gets_what_it_was_given_and_nothing_else(self, world, language, arm, user):
        script = probe(world.site, language)
        bridge = world.start(f'{arm}\nuser = "{user}"\nworkers = {{ max = 1, spare = 1 }}\n'
                             'queue = { timeout = "60s" }')
        for turn in range(4):
            check(bridge.request(script), KEPT)
            if turn == 0 and "classic" not in arm:
                entry = bridge.wait_warm(script)
                assert entry["level"] != "none", entry["level_reason"]
        if "reset" in arm:
            entry = bridge.program(script)
            assert f'reset = "{entry["reset"]}"' == arm, entry
            assert entry["requests_persistent"] >= 3, entry
        assert "private_tmp" in bridge.program(script)["sandbox"]
        assert f"    user: {user}\n" in bridge.command("status") or not user
        assert (world.inside / "probe").exists()
        assert not (world.outside / "probe").exists() and not world.note.exists()

    def test_without_a_sandbox_the_same_program_may_do_all_of_it(self, world):
        script = probe(world.site, "c")
        settings = world.settings('mode = "classic"').partition("sandbox")[0]
        check(world.prepare(settings).start().request(script), FREE)

    def test_a_private_tmp_is_its_programs_alone_and_the_same_for_all_its_requests(self, world, mode):
        keeper = """
            printf 'Content-Type: text/plain\\n\\n'
            cat /tmp/note /dev/shm/note 2> /dev/null
            echo "$QUERY_STRING" | tee /dev/shm/note > /tmp/note
            """
        one, other = world.site.sh("one", keeper), world.site.sh("other", keeper)
        bridge = world.start(f'mode = "{mode}"\nworkers = {{ max = 1, spare = 1 }}')
        assert bridge.request(one, query="first").body == b""
        if mode == "persistent":
            bridge.wait_warm(one)
        assert bridge.request(one, query="second").body == b"first\nfirst\n"
        assert bridge.request(other).body == b"", "another program's is another"
        assert not pathlib.Path("/tmp/note").exists()
        assert bridge.request(one).body == b"second\nsecond\n"

    def test_standard_streams_can_be_opened_by_their_names(self, world, mode):
        script = world.site.sh("streams", """
            read body < /dev/stdin
            printf 'Content-Type: text/plain\\n\\n%s\\n' "$body" > /dev/stdout
            echo a word > /dev/stderr
            """)
        bridge = world.start(f'mode = "{mode}"\nuser = "www-data"\n')
        for _ in range(2):
            answer = bridge.request(script, "POST", body=b"line\n")
            assert (answer.body, answer.stderr) == (b"line\n", b"a word\n")
            if mode == "persistent":
                bridge.wait_warm(script)

    def test_tmp_size_is_the_end_of_it(self, world):
        script = world.site.sh("filler", """
            printf 'Content-Type: text/plain\\n\\n'
            head -c 200000 /dev/zero 2>&1 > /tmp/a | grep -o 'No space left on device'
            """)
        bridge = world.start('mode = "classic"', ', tmp_size = "128KiB"')
        assert bridge.request(script).body == b"No space left on device\n"

    def test_a_setuid_program_does_not_lead_out(self, world):
        escape = world.site.cgi_bin / "escape"
        shutil.copy2("/usr/bin/id", escape)
        escape.chmod(0o4755)
        script = world.site.sh("climb", f"printf 'Content-Type: text/plain\\n\\n'; {escape} -u\n")
        free = world.prepare('mode = "classic"\nuser = "www-data"\n', name="free.toml",
                             listen=[f"unix:{world.site.folder}/free.sock"]).start()
        if free.request(script).body != b"0\n":
            pytest.skip("setuid programs have no effect here")
        kept = world.start('mode = "classic"\nuser = "www-data"')
        assert kept.request(script).body == b"33\n"

    @pytest.mark.parametrize("escape, word", [
        ("mount -o remount,rw,bind /", "permission denied|not permitted"),
        ("unshare -Urm true", "not permitted"),
        ("nsenter -t $PPID -m true", "not permitted|denied"),
        ("kill -STOP $PPID", "not permitted"),
        (": > /proc/$PPID/root/tmp/escaped", "denied"),
        (": > /proc/sys/kernel/core_pattern", "Read-only|denied"),
        ("mknod /tmp/disk b 8 0", "not permitted"),
    ])
    def test_root_inside_finds_no_way_out(self, world, escape, word):
        """The worst case: a program without a configured user."""
        if "kill" in escape or "/root/" in escape:
            wait = landlock_version()
            if wait < 6:
                pytest.skip(f"Landlock {wait} does not rule signals")
        script = world.site.sh("escape", f"""
            printf 'Content-Type: text/plain\\n\\n'
            ({escape}) 2>&1 || echo no
            """)
        bridge = world.start('mode = "classic"')
        answer = bridge.request(script).body.decode()
        assert re.search(word, answer) and answer.endswith("no\n"), answer

    def test_a_folder_that_is_not_there_is_said_and_looked_for_again(self, world):
        script = probe(world.site, "c")
        world.inside.rmdir()
        bridge = world.start('mode = "classic"')
        bridge.allow_log("probe-c: 500")
        assert bridge.request(script).status == 500
        bridge.expect_log(f"sandbox.write: {world.inside}: No such file or directory")
        world.inside.mkdir()
        wait_until(lambda: bridge.request(script).status == 200, "it is found")

    def test_nothing_is_left_of_a_bridge_that_was_killed_and_the_next_one_serves(self, world):
        mounts = pathlib.Path("/proc/self/mountinfo").read_text()
        script = probe(world.site, "c")
        first = world.start("workers = { max = 1, spare = 1 }")
        first.request(script)
        pids = first.wait_warm(script)["worker_pids"]
        assert all(os.readlink(f"/proc/{pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt") for pid in pids)
        first.kill()
        wait_until(lambda: not any(processes.alive(pid) for pid in pids), "its workers are gone")
        second = world.start("workers = { max = 1, spare = 1 }")
        check(second.request(script), KEPT)
        second.expect_clean_stop()
        assert pathlib.Path("/proc/self/mountinfo").read_text() == mounts

    def test_a_changed_library_is_noticed_in_a_zygote_that_sees_other_mounts(self, world):
        folder = world.site.cgi_bin

        def build(word):
            source = world.site.folder / "word.c"
            source.write_text(f'const char *word(void) {{ return "{word}"; }}\n')
            compile_library(source, folder / "fresh.so")
            os.rename(folder / "fresh.so", folder / "libword.so")

        build("old")
        script = world.site.c("word", r"""
            #include <stdio.h>
            const char *word(void);
            int main(void) { printf("Content-Type: text/plain\n\n%s\n", word()); }
            """, f"-L{folder}", "-lword", f"-Wl,-rpath,{folder}")
        bridge = world.start("workers = { max = 1, spare = 1 }")
        bridge.request(script)
        bridge.wait_warm(script)
        assert bridge.request(script).body == b"old\n"
        build("new")
        wait_until(lambda: bridge.request(script).body == b"new\n", "the new library answers")

    @pytest.mark.parametrize("user", ["", "www-data"])
    def test_a_program_that_runs_is_ended_with_a_bridge_that_is_killed(self, world, user):
        noted = world.inside / "pid"
        script = world.site.perl("sleeper", f"""
            open my $note, '>', '{noted}' or die; print $note $$; close $note; sleep 60;
            """)
        bridge = world.start(f'mode = "classic"\nuser = "{user}"')
        peer = bridge.connect()
        peer.start(script)
        pid = int(wait_until(lambda: noted.exists() and noted.read_text().strip(), "it runs"))
        bridge.kill()
        wait_until(lambda: not processes.alive(pid), "the program is gone")
        peer.close()
        world.start('mode = "classic"').expect_clean_stop()

    def test_other_wishes_are_another_generation(self, world):
        script = probe(world.site, "c")
        bridge = world.start("workers = { max = 1, spare = 1 }")
        check(bridge.request(script), KEPT)
        bridge.wait_warm(script)
        world.site.rewrite_config(world.settings("workers = { max = 1, spare = 1 }", network="true"),
                                  bridge=f'adapters = "{world.adapters}"\n')
        wait_until(lambda: found(bridge.request(script))["network"] == "done", "the network is back")

    @pytest.mark.parametrize("language", ["Perl", "Python"])
    def test_a_guestbook_works_in_its_sandbox(self, world, language):
        if why := guestbooks.missing(language):
            pytest.skip(why)
        script = guestbooks.install(world.site, language)
        database = world.inside / "guestbook.db"
        settings = world.settings('user = "www-data"')
        settings = settings.replace("INSIDE =", f'GUESTBOOK_DB = "{database}", INSIDE =')
        bridge = world.prepare(settings).start()
        for name in ("Ada", "Grace"):
            signed = bridge.request(script, "POST", body=f"name={name}&message=hello".encode(),
                                    CONTENT_TYPE=guestbooks.FORM)
            assert signed.status == 303, signed
            bridge.wait_warm(script)
        assert bridge.request(script).body == guestbooks.page_of(guestbooks.entries_of(database))


def as_nobody():
    return processes.as_user(NOBODY)


def unprivileged(world, prefix, defaults):
    os.chown(world.site.folder, NOBODY, NOBODY)
    return world.prepare(defaults).start(prefix)


@pytest.mark.root
class TestWithoutRoot:
    @pytest.mark.parametrize("arm", ['mode = "classic"', 'reset = "fork"', 'reset = "rewind"'])
    def test_namespaces_of_users_hold_the_same(self, world, arm):
        needs_namespaces(*as_nobody())
        script = probe(world.site, "c")
        bridge = unprivileged(world, as_nobody(), world.settings(arm))
        for turn in range(3):
            check(bridge.request(script), KEPT)
            if turn == 0 and "classic" not in arm:
                bridge.wait_warm(script)

    # Like a machine that offers no namespaces: it allows none of them.
    NONE = ["unshare", "-Ur", "sh", "-c",
            'for kind in mnt net user; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done; exec "$@"',
            "sh"]

    def test_what_cannot_be_held_is_said_at_the_start_and_refused(self, world):
        needs_namespaces(*as_nobody())
        script = probe(world.site, "c")
        bridge = unprivileged(world, as_nobody() + self.NONE, world.settings('mode = "classic"'))
        bridge.expect_log("defaults.sandbox: this machine cannot hold private_tmp: cannot make namespaces: "
                          ".*; its programs are answered with 500")
        bridge.allow_log("probe-c: 500")
        assert bridge.request(script).status == 500
        assert bridge.status()["bridge"]["starts_refused"] == 1

    def test_best_effort_holds_the_rest_by_landlock_and_filters(self, world):
        needs_namespaces(*as_nobody())
        if landlock_version() < 2:
            pytest.skip("the kernel has no Landlock")
        script = probe(world.site, "c")
        defaults = world.settings('mode = "classic"', ", best_effort = true")
        bridge = unprivileged(world, as_nobody() + self.NONE, defaults)
        check(bridge.request(script),
              KEPT | {"outside": "EACCES", "tmp": "EACCES", "network": "EAFNOSUPPORT"})
        bridge.expect_log(r"read_only \(Landlock alone\), no network \(filter\).*without private_tmp")


def test_config_check_says_how_this_machine_holds_a_sandbox(site):
    config = site.write_config('sandbox = { syscalls = ["@cgi"] }\n')
    done = subprocess.run([str(BINARY), "config", "check", "--config", str(config)],
                          capture_output=True, text=True)
    assert "defaults.sandbox: syscalls (filter), no_new_privs" in done.stdout, done


def test_an_unknown_call_is_a_problem_of_the_settings(site):
    config = site.write_config('sandbox = { syscalls = ["@cgi", "~@nonsense"] }\n')
    done = subprocess.run([str(BINARY), "config", "check", "--config", str(config)],
                          capture_output=True, text=True)
    assert done.returncode != 0
    assert 'no group of system calls is called "@nonsense"' in done.stdout + done.stderr
