"""Who may run what: programs run as their users, and which rights the bridge itself keeps."""

import os
import pathlib
import pwd
import re
import shutil

import pytest

from harness import processes, programs
from harness.bridge import BUILD
from harness.compiled import compile_library
from harness.fastcgi import Closed
from harness.processes import wait_until

NOBODY = 65534  # nobody:nogroup, on every Debian; above bridge.owner.uid_min
WWW = 33        # www-data
WARM = 'mode = "persistent"\nworkers = { max = 1, spare = 1 }\n'
AS_WWW = 'user = "www-data"\n'

# Each prints real, effective and saved ids, groups, and what its language itself reports.
IDS = {
    "dash": """#!/bin/sh
        printf 'Content-Type: text/plain\\n\\n'
        grep -E '^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):' /proc/self/status
        echo "state: ${left:-fresh}"; left=used
        """,
    "perl": """#!/usr/bin/perl
        print "Content-Type: text/plain\\n\\n";
        open my $status, '<', '/proc/self/status' or die;
        while (<$status>) { print if /^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):/ }
        our $left; print 'state: ', $left || 'fresh', "\\n"; $left = 'used';
        """,
    "python": """#!/usr/bin/python3
        import re, sys
        print('Content-Type: text/plain\\n')
        for line in open('/proc/self/status'):
            if re.match('(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):', line): print(line, end='')
        print('state:', getattr(sys, 'left', 'fresh')); sys.left = 'used'
        """,
    "ruby": """#!/usr/bin/ruby
        puts "Content-Type: text/plain\\n\\n"
        puts File.readlines('/proc/self/status').grep(/^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):/)
        puts "state: #{$left || 'fresh'}"; $left = 'used'
        """,
    "tclsh": """#!/usr/bin/tclsh
        puts "Content-Type: text/plain\\n"
        set file [open /proc/self/status]
        foreach line [split [read $file] \\n] {
            if {[regexp {^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):} $line]} { puts $line }
        }
        puts "state: [expr {[info exists left] ? {used} : {fresh}}]"; set left 1
        """,
    "node": """#!/usr/bin/node
        console.log('Content-Type: text/plain\\n');
        const text = require('fs').readFileSync('/proc/self/status', 'utf8');
        console.log(text.match(/^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):.*$/gm).join('\\n'));
        console.log('state:', globalThis.left || 'fresh'); globalThis.left = 'used';
        """,
    "php-cgi": """#!/usr/bin/php-cgi
        <?php header('Content-Type: text/plain');
        $text = file_get_contents('/proc/self/status');
        preg_match_all('/^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):.*$/m', $text, $found);
        echo implode("\\n", $found[0]), "\\nstate: ", $left ?? 'fresh', "\\n"; $left = 'used';
        """,
}
HARMLESS = "0" * 16  # capabilities


def start(site, defaults, programs="", bridge=""):
    """A bridge whose adapters other users can read, wherever the build is."""
    folder = site.folder / "adapters"
    if not folder.exists():
        shutil.copytree(BUILD / "adapters", folder)
    return site.start_bridge(defaults, programs, bridge=f'adapters = "{folder}"\n' + bridge)


def write(site, language):
    interpreter = IDS[language].split("\n")[0].removeprefix("#!")
    if not pathlib.Path(interpreter).exists():
        pytest.skip(f"no {interpreter}")
    head, _, body = IDS[language].partition("\n")
    return site.script(f"ids-{language}", head + "\n" + re.sub("^        ", "", body, flags=re.M))


def ids_of(response):
    assert response.status == 200, response
    lines = dict(line.split(":", 1) for line in response.body.decode().splitlines() if ":" in line)
    return {name: text.split() for name, text in lines.items()}


def check_ids(ids, uid=WWW, gid=WWW):
    assert ids["Uid"] == [str(uid)] * 4 and ids["Gid"] == [str(gid)] * 4, ids
    groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    assert ids["Groups"] == [str(group) for group in sorted(groups)], "his, and none of root's"
    assert ids["CapEff"] == ids["CapPrm"] == [HARMLESS], ids
    assert ids["state"] == ["fresh"], ids


def give(path, uid, gid=None):
    os.chown(path, uid, uid if gid is None else gid)


def owned_program(site, uid=NOBODY, mode=0o755):
    """A program whose folder and file are uid's; Site's own folder is root's."""
    script = site.sh("owned", "printf 'Content-Type: text/plain\\n\\n%s\\n' \"$(id -u):$(id -g)\"\n", mode)
    give(script, uid)
    give(site.cgi_bin, uid)
    return script


def as_nobody(*more):
    """A command prefix that starts the bridge without any rights."""
    return [*processes.as_user(NOBODY), *more]


def unprivileged_bridge(site, *args, **options):
    """A bridge whose files are all in a folder that belongs to nobody."""
    give(site.folder, NOBODY)
    return site.prepare_bridge(*args, **options).start(as_nobody())


@pytest.mark.root
class TestAsAUser:
    @pytest.mark.parametrize("language", IDS)
    def test_each_language_runs_warm_and_starts_afresh_as_its_user(self, site, language):
        script = write(site, language)
        bridge = start(site, WARM + AS_WWW)
        check_ids(ids_of(bridge.request(script)))
        entry = bridge.wait_warm(script)
        assert entry["level"] != "none", entry["level_reason"]

        def answered():
            check_ids(ids_of(bridge.request(script)))
            return bridge.program(script)["requests_persistent"] >= 4
        wait_until(answered, "warm workers have answered four")

    @pytest.mark.parametrize("reset", ["fork", "rewind"])
    def test_rewind_and_fork_are_what_was_asked_for(self, site, reset):
        script = write(site, "perl")
        bridge = start(site, WARM + AS_WWW + f'reset = "{reset}"\nrewind.verify = 1\n')
        bridge.request(script)
        bridge.wait_warm(script)
        for _ in range(10):
            check_ids(ids_of(bridge.request(script)))
            bridge.wait_warm(script)
        entry = bridge.program(script)
        assert entry["reset"] == reset, entry

        def verified():
            check_ids(ids_of(bridge.request(script)))
            bridge.wait_warm(script)
            return bridge.program(script)["rewind"]["verified"] >= 9
        if reset == "rewind":
            wait_until(verified, "nine are verified")

    def test_a_native_program_rewinds_as_its_user(self, site):
        script = site.c("native", r"""
            #include <stdio.h>
            #include <unistd.h>
            static int count;
            int main(void) {
              printf("Content-Type: text/plain\n\n%d %d\n", (int)getuid(), ++count);
            }
            """)
        bridge = start(site, WARM + AS_WWW)
        for _ in range(5):
            assert bridge.request(script).body == b"33 1\n"
            bridge.wait_warm(script)
        assert bridge.program(script)["rewind"]["rewinds"] >= 3

    def test_classic_runs_as_user_and_group(self, site):
        script = write(site, "dash")
        bridge = start(site, 'mode = "classic"\nuser = "nobody:www-data"\nno_new_privs = true\n')
        ids = ids_of(bridge.request(script))
        check_ids(ids, NOBODY, WWW)
        assert ids["NoNewPrivs"] == ["1"]

    def test_another_user_is_another_generation(self, site):
        script = write(site, "perl")
        bridge = start(site, WARM + AS_WWW)
        bridge.request(script)
        bridge.wait_warm(script)
        site.rewrite_config(WARM + 'user = "nobody:nogroup"\n')

        def changed():
            return ids_of(bridge.request(script))["Uid"][0] == str(NOBODY)
        wait_until(changed, "the new user's workers answer")
        check_ids(ids_of(bridge.request(script)), NOBODY, NOBODY)

    def test_a_changed_library_is_noticed_in_another_users_zygote(self, site):
        def build(word):
            source = site.folder / "word.c"
            source.write_text(f'const char *word(void) {{ return "{word}"; }}\n')
            compile_library(source, site.folder / "fresh.so")
            os.rename(site.folder / "fresh.so", site.folder / "libword.so")

        build("old")
        script = site.c("word", r"""
            #include <stdio.h>
            const char *word(void);
            int main(void) { printf("Content-Type: text/plain\n\n%s\n", word()); }
            """, f"-L{site.folder}", "-lword", f"-Wl,-rpath,{site.folder}")
        bridge = start(site, WARM + AS_WWW)
        bridge.request(script)
        bridge.wait_warm(script)
        assert bridge.request(script).body == b"old\n"
        build("new")
        wait_until(lambda: bridge.request(script).body == b"new\n", "the new library answers")

    def test_standard_streams_can_be_opened_by_their_names(self, site, mode):
        """Opening a pipe by its name opens it again, which only its owner may do."""
        script = site.sh("streams", """
            read body < /dev/stdin
            printf 'Content-Type: text/plain\\n\\n%s\\n' "$body" > /dev/stdout
            echo a word > /dev/stderr
            """)
        bridge = start(site, f'mode = "{mode}"\n' + AS_WWW)
        for _ in range(2):
            answer = bridge.request(script, "POST", body=b"line\n")
            assert (answer.body, answer.stderr) == (b"line\n", b"a word\n")
            if mode == "persistent":
                bridge.wait_warm(script)

    def test_a_program_that_its_user_may_not_run_says_why(self, site, mode):
        script = site.sh("private", "echo never\n", mode=0o700)
        bridge = start(site, f'mode = "{mode}"\n' + AS_WWW)
        bridge.allow_log("private: 502")
        assert bridge.request(script).status == 502
        bridge.expect_log("cannot execute .*/private as uid 33: Permission denied")

    def test_a_folder_that_its_user_may_not_enter_says_why(self, site):
        script = programs.hello(site, "inner/hello")
        script.parent.chmod(0o700)
        bridge = start(site, 'mode = "classic"\n' + AS_WWW)
        bridge.allow_log("inner/hello: 502")
        assert bridge.request(script).status == 502
        bridge.expect_log("cannot enter .*/inner as uid 33: Permission denied")

    def test_programs_without_a_user_run_as_the_bridge_and_an_operator_is_told(self, site):
        script = write(site, "dash")
        bridge = start(site, 'mode = "classic"')
        assert ids_of(bridge.request(script))["Uid"][0] == "0"
        bridge.expect_log("started as root: programs for which no section says `user` run as root")

    def test_a_program_that_hangs_is_ended_though_it_is_another_users(self, site, mode):
        script = site.sh("hang", 'test -z "$QUERY_STRING" || sleep 60\nprintf "Content-Type: a/b\\n\\n"\n')
        bridge = start(site, f'mode = "{mode}"\n{AS_WWW}timeouts = {{ request = "4s" }}\n')
        bridge.allow_log("hang: 504")
        assert bridge.request(script).status == 200
        if mode == "persistent":
            bridge.wait_warm(script)
        assert bridge.request(script, query="x").status == 504


STOP_ALL = """
import os, signal
while True:
    try:
        os.kill(-1, signal.SIGSTOP)
    except ProcessLookupError:
        pass
"""


@pytest.mark.root
def test_a_user_who_stops_all_of_his_processes_stops_nobody_else(site):
    """Also processes that are about to become his: the bridge must not wait for them."""
    hostile = 54398  # a uid without a name, so that it has no other processes
    hello, his = programs.hello(site), programs.hello(site, "his")
    bridge = start(site, 'mode = "classic"\nuser = "www-data"\n',
                   f'[[program]]\nmatch = "*/his"\nuser = "{hostile}:{hostile}"\n'
                   'timeouts = { request = "500ms", kill_grace = "100ms" }\n')
    site.start(*processes.as_user(hostile), "/usr/bin/python3", "-c", STOP_ALL)
    bridge.allow_log("his: (504|502)|not done after")
    for _ in range(5):
        peers = [bridge.connect() for _ in range(4)]
        for peer in peers:
            peer.start(his)
        assert bridge.request(hello).body == b"hello\n"
        for peer in peers:
            try:
                assert peer.response().status in (200, 502, 504)
            except Closed:
                pass  # stopped after its head: the answer is cut short
            peer.close()


@pytest.mark.root
class TestAsTheOwner:
    def test_a_program_runs_as_whom_it_belongs_to(self, site, mode):
        script = owned_program(site)
        bridge = start(site, f'mode = "{mode}"\nuser = "owner"\n')
        for _ in range(2):
            assert bridge.request(script).body == b"65534:65534\n"
            if mode == "persistent":
                bridge.wait_warm(script)

    @pytest.mark.parametrize("breach, word", [
        (lambda site, script: script.chmod(0o775), "can be written to by its group"),
        (lambda site, script: script.chmod(0o757), "can be written to by everybody"),
        (lambda site, script: script.chmod(0o4755), "is setuid or setgid"),
        (lambda site, script: site.cgi_bin.chmod(0o777), "can be written to by everybody"),
        (lambda site, script: site.folder.chmod(0o777), "can be written to by everybody"),
        (lambda site, script: give(site.cgi_bin, 0), "folder .* belongs to uid 0"),
        (lambda site, script: give(site.folder, 1), "neither root nor the program's owner"),
        (lambda site, script: give(script, 0), "belongs to root"),
        (lambda site, script: (give(script, WWW), give(site.cgi_bin, WWW)), "below bridge.owner.uid_min"),
        (lambda site, script: (give(script, 54321), give(site.cgi_bin, 54321)), "no user has the number"),
    ], ids=["group", "world", "setuid", "folder", "upper folder", "another's folder",
            "another's upper folder", "root", "floor", "nobody's"])
    def test_a_program_that_others_could_change_does_not_run(self, site, breach, word):
        script = owned_program(site)
        bridge = start(site, 'mode = "classic"\nuser = "owner"\n')
        breach(site, script)
        answer = bridge.request(script)
        # The bridge removes its sockets at its end, which it cannot do in a folder that is not root's.
        give(site.folder, 0)
        assert (answer.status, answer.body.find(str(site.folder).encode())) == (403, -1)
        bridge.expect_log(f'owned: 403: user = "owner": .*{word}')
        assert bridge.status()["bridge"]["starts_refused"] == 1
        assert "cgibridge_starts_refused_total 1" in bridge.command("status", "--openmetrics")

    def test_a_warm_program_is_looked_at_again_when_its_file_changes(self, site):
        script = owned_program(site)
        bridge = start(site, WARM + 'user = "owner"\n')
        bridge.request(script)
        bridge.wait_warm(script)
        script.chmod(0o777)
        assert bridge.request(script).status == 403

    @pytest.mark.parametrize("reset", ["rewind", "fork"])
    @pytest.mark.parametrize("upper", [False, True], ids=["its folder", "a folder above"])
    def test_a_warm_program_is_not_asked_once_its_folder_is_open_to_others(self, site, upper, reset):
        """Others could put files there that it loads at its next request."""
        script = owned_program(site)
        folder = site.folder if upper else site.cgi_bin
        bridge = start(site, WARM + f'user = "owner"\nreset = "{reset}"\n')
        bridge.request(script)
        bridge.wait_warm(script)
        mode = folder.stat().st_mode
        folder.chmod(0o777)
        assert bridge.request(script).status == 403
        bridge.expect_log(r'owned: 403: user = "owner": .*can be written to by everybody')
        folder.chmod(mode)
        assert bridge.request(script).body == b"65534:65534\n"

    def test_the_floors_are_the_operators(self, site):
        script = owned_program(site, uid=WWW)
        bridge = start(site, 'mode = "classic"\nuser = "owner"\n',
                                   bridge="owner = { uid_min = 33, gid_min = 33 }\n")
        assert bridge.request(script).body == b"33:33\n"


@pytest.mark.root
class TestTheBridgeItself:
    def test_keeps_few_capabilities_and_still_does_its_work(self, site):
        script = write(site, "perl")
        bridge = start(site, WARM + AS_WWW)
        bridge.expect_log("started as root: of its capabilities it keeps kill, chown, sys_ptrace")
        status = pathlib.Path(f"/proc/{bridge.pid}/status").read_text()
        held = int(re.search(r"^CapEff:\s*(\w+)", status, re.M).group(1), 16)
        # linux/capability.h: chown, dac_read_search, kill, sys_ptrace, sys_resource
        assert held & ~sum(1 << number for number in (0, 2, 5, 19, 24)) == 0
        check_ids(ids_of(bridge.request(script)))

    def test_gives_a_program_of_root_all_its_rights_back(self, site):
        script = write(site, "dash")
        bridge = start(site, 'mode = "classic"')
        mine = re.search(r"^CapEff:\s*(\w+)", pathlib.Path("/proc/self/status").read_text(), re.M)
        assert ids_of(bridge.request(script))["CapEff"] == [mine.group(1)]

    def test_without_root_it_says_so_and_refuses_other_users(self, site):
        script = write(site, "dash")
        bridge = unprivileged_bridge(
            site, 'mode = "classic"', f'[[program]]\nmatch = "{script}"\nuser = "www-data"\n'
            f'[[program]]\nmatch = "*/own"\nuser = "nobody:nogroup"\n')
        bridge.expect_log(r'program\[1\].user = "www-data": the bridge was not started as root')
        bridge.expect_log("not started as root: all programs run as the bridge's user")
        assert bridge.request(script).status == 500
        bridge.expect_log("500: .*the bridge was not started as root and cannot become www-data")
        own = programs.hello(site, "own")
        assert bridge.request(own).body == b"hello\n", "its own user it is already"
        assert r"program[2]" not in bridge.log()


class TestUsersThatAreNotThere:
    BAD = 'user = "no-such-user"\n'

    def test_are_an_error_of_the_settings(self, site):
        bridge = site.prepare_bridge(self.BAD, bridge='allow = { users = ["nor-this-one"] }\n')
        for command in (["config", "check"], ["serve"]):
            done = site.cgibridge(*command, "--config", bridge.config, expect=1)
            assert 'defaults.user: there is no user "no-such-user"' in done.stderr
            assert 'bridge.allow.users[1]: there is no user "nor-this-one"' in done.stderr
        site.cgibridge("config", "show", "--config", bridge.config)

    def test_do_not_come_into_force_by_a_reload(self, site):
        hello = programs.hello(site)
        bridge = site.start_bridge('mode = "classic"')
        site.rewrite_config('mode = "classic"\n' + self.BAD)
        assert 'there is no user "no-such-user"' in bridge.command("reload", expect=1)
        bridge.expect_log("is refused: 1 error")
        bridge.allow_log("no-such-user")
        assert bridge.request(hello).body == b"hello\n"

    def test_are_an_error_of_a_sockets_owner(self, site):
        bridge = site.prepare_bridge(bridge='socket_group = "no-such-group"\n')
        done = site.cgibridge("serve", "--config", bridge.config, expect=1)
        assert 'bridge.socket_group: there is no group "no-such-group"' in done.stderr
        assert not bridge.control.exists()


class TestParams:
    EVIL = {"LD_PRELOAD": "/nowhere.so", "PERL5OPT": "-MEvil", "PYTHONHOME": "/nowhere", "IFS": "x",
            "NODE_OPTIONS": "--x", "PATH": "/nowhere", "ENV": "/nowhere", "GIT_SSH_COMMAND": "evil",
            "NODE_ENV": "t", "GCONV_PATH": "/nowhere", "MALLOC_PERTURB_": "7", "CUSTOM": "yes"}

    def variables(self, bridge, script):
        answer = bridge.request(script, **self.EVIL)
        assert answer.status == 200, answer
        return programs.reported(answer)["env"]

    @pytest.mark.parametrize("side", ["classic", "persistent"])
    def test_cannot_change_which_code_runs(self, site, side):
        script = programs.report(site)
        bridge = site.start_bridge(f'mode = "{side}"\n')
        for _ in range(2):
            env = self.variables(bridge, script)
            assert env["CUSTOM"] == "yes" and "nowhere" not in env["PATH"]
            assert not set(env) & (set(self.EVIL) - {"PATH", "CUSTOM"})
            if side == "persistent":
                bridge.wait_warm(script)
        bridge.expect_log("param LD_PRELOAD: is not passed on to programs .loader.; pass_params says")

    def test_pass_as_the_operator_says(self, site):
        script = programs.report(site)
        bridge = site.start_bridge('mode = "classic"\npass_params = ["NODE_ENV"]\nstrict_params = true\n')
        env = self.variables(bridge, script)
        assert env["NODE_ENV"] == "t" and "CUSTOM" not in env
        assert env["REQUEST_METHOD"] == "GET"
