"""The settings file: it is refused with every error in it, and takes effect while requests run."""

import os
import re
import subprocess
import threading
import time

import pytest

from harness import programs
from harness.processes import wait_until

BAD = '''[bridge]
listen = ["unix:relative.sock"]
control = "/tmp/x.sock"
roots = []
[defaults]
mode = "fast"
workers = { min = 4, max = 2 }
timeouts = { request = "soon" }
unheard_of = 1
'''


def write_bad(site):
    path = site.folder / "bad.toml"
    path.write_text(BAD)
    return path


class TestCheck:
    def test_every_error_is_reported_with_file_line_and_column(self, site):
        path = write_bad(site)
        done = site.cgibridge("config", "check", "--config", path, expect=None)
        assert done.returncode not in (0, None) and done.returncode > 0
        text = done.stdout + done.stderr
        places = dict(re.findall(rf"{re.escape(str(path))}:(\d+):\d+: (.*)", text))
        assert set(places) >= {"2", "4", "6", "7", "8", "9"}, text
        assert "defaults.workers" in places["7"] and "unheard_of" in places["9"]

    def test_a_syntax_error_is_reported_with_its_place(self, site):
        path = site.folder / "bad.toml"
        path.write_text("[bridge]\nroots = [\"/x\"\nlisten = 3\n")
        done = site.cgibridge("config", "check", "--config", path, expect=None)
        assert done.returncode > 0
        assert re.search(rf"{re.escape(str(path))}:\d", done.stdout + done.stderr)

    def test_a_missing_file_is_named(self, site):
        done = site.cgibridge("config", "check", "--config", site.folder / "none.toml", expect=None)
        assert done.returncode > 0 and "none.toml" in done.stdout + done.stderr

    def test_a_good_file_passes(self, site):
        site.cgibridge("config", "check", "--config", site.write_config('mode = "classic"'))

    def test_a_root_that_is_not_there_is_told_of(self, site):
        path = site.write_config('mode = "classic"')
        path.write_text(path.read_text().replace("roots = [", 'roots = ["/nowhere/at/all", '))
        done = site.cgibridge("config", "check", "--config", path)
        assert "bridge.roots: root /nowhere/at/all: No such file or directory" in done.stdout

    def test_what_can_never_apply_or_is_not_there_is_told_of(self, site):
        path = site.write_config('mode = "classic"', bridge='prewarm = ["/absent.cgi"]\n')
        path.write_text(path.read_text() + '[[program]]\nmatch = "/elsewhere/[a"\n'
                        '[[program]]\nmatch = "/elsewhere/[a"\ninterpreter = "/no/php-cgi"\n')
        done = site.cgibridge("config", "check", "--config", path)
        for told in ('program[1].match: "/elsewhere/[a" has a \'[\' without a \']\'',
                     'program[1].match: "/elsewhere/[a" is in none of bridge.roots',
                     'program[2].match: "/elsewhere/[a" is never used: program[1]',
                     "program[2].interpreter: /no/php-cgi: No such file or directory",
                     "bridge.prewarm[1]: /absent.cgi: No such file or directory"):
            assert told in done.stdout

    def test_the_project_s_own_file_passes(self, site):
        from harness.site import PROJECT
        site.cgibridge("config", "check", "--config", PROJECT / "config" / "config.toml")

    def test_show_prints_a_file_with_every_default_that_shows_the_same(self, site):
        config = site.write_config('mode = "classic"\nenv = { A = "b\\"c" }')
        shown = site.cgibridge("config", "show", "--config", config).stdout
        again = site.folder / "shown.toml"
        again.write_text(shown)
        assert site.cgibridge("config", "show", "--config", again).stdout == shown
        for word in ("connections_max", "kill_grace", "params_max", "classic"):
            assert word in shown


class TestStart:
    def test_a_bad_file_ends_the_start_before_anything_is_bound(self, site):
        bridge = site.prepare_bridge('mode = "no such mode"')
        done = site.cgibridge("serve", "--config", bridge.config, expect=None, seconds=10)
        assert done.returncode > 0
        assert "no such mode" in done.stderr
        assert not os.path.exists(bridge.address) and not bridge.control.exists()

    def test_two_bridges_on_one_control_socket_are_refused(self, site):
        bridge = site.start_bridge()
        text = bridge.config.read_text().replace("fastcgi.sock", "other.sock")
        other = site.folder / "other.toml"
        other.write_text(text)
        done = site.cgibridge("serve", "--config", other, expect=None, seconds=10)
        assert done.returncode > 0
        assert bridge.status()["bridge"]["pid"] == bridge.pid


def defaults(mode, word="x"):
    return f'mode = "{mode}"\nenv = {{ WORD = "{word}" }}'


@pytest.fixture
def word(site):
    return site.sh("word", "printf 'Content-Type: text/plain\\n\\n%s\\n%s\\n' \"$WORD\" $$\n")


def word_of(bridge, script):
    return bridge.request(script).body.split()[0].decode()


@pytest.mark.parametrize("how", ["by itself", "SIGHUP", "command"])
def test_a_changed_file_is_taken_over(site, word, how):
    bridge = site.start_bridge(defaults("classic", "before"))
    assert word_of(bridge, word) == "before"
    site.rewrite_config(defaults("classic", "after"))
    if how == "SIGHUP":
        bridge.hangup()
    elif how == "command":
        bridge.command("reload")
        assert word_of(bridge, word) == "after"
    wait_until(lambda: word_of(bridge, word) == "after", "the new settings count", 5)


def test_a_file_edited_in_place_is_taken_over(site, word):
    bridge = site.start_bridge(defaults("classic", "before"))
    bridge.allow_log(r"config\.toml")  # the bridge may read the file while it is half written
    bridge.config.write_text(bridge.config.read_text().replace("before", "after"))
    wait_until(lambda: word_of(bridge, word) == "after", "the new settings count", 5)


def test_a_bad_file_is_refused_and_what_runs_goes_on(site, word):
    bridge = site.start_bridge(defaults("classic", "before"))
    bridge.allow_log("no such mode|refused")
    site.rewrite_config('mode = "no such mode"')
    assert "no such mode" in bridge.command("reload", expect=1)
    bridge.expect_log(r"config\.toml:\d+:\d+.*no such mode")
    assert word_of(bridge, word) == "before"
    site.rewrite_config(defaults("classic", "mended"))
    wait_until(lambda: word_of(bridge, word) == "mended", "the mended settings count", 5)


def test_a_file_that_vanishes_changes_nothing(site, word):
    bridge = site.start_bridge(defaults("classic", "before"))
    bridge.allow_log("config.toml")
    bridge.config.unlink()
    time.sleep(0.5)
    assert word_of(bridge, word) == "before"


def test_what_needs_a_restart_is_said(site, word):
    bridge = site.start_bridge(defaults("classic"))
    bridge.allow_log("listen")
    site.rewrite_config(defaults("classic", "after"), listen=[f"unix:{site.folder}/other.sock"])
    wait_until(lambda: word_of(bridge, word) == "after", "the rest of the settings count", 5)
    bridge.expect_log(r"listen.*restart|restart.*listen")


def test_the_mode_in_the_file_counts_for_the_next_request(site):
    script = programs.pid(site)
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script)
    assert bridge.answered_by(script) == "persistent"
    site.rewrite_config('mode = "classic"')
    bridge.command("reload")
    assert bridge.answered_by(script) == "classic"
    site.rewrite_config('mode = "persistent"')
    bridge.command("reload")
    bridge.request(script)
    bridge.wait_warm(script)
    assert bridge.answered_by(script) == "persistent"


def test_the_first_program_that_matches_counts(site):
    env = "import os\nprint('Content-Type: text/plain\\n\\n' + os.environ['WORD'])\n"
    a, b = site.python("a.py", env), site.python("b.py", env)
    bridge = site.start_bridge(
        'mode = "classic"\nenv = { WORD = "default" }',
        programs=f"""
        [[program]]
        name = "a"
        match = "{site.cgi_bin}/a*"
        env = {{ WORD = "first" }}
        [[program]]
        name = "all"
        match = "{site.cgi_bin}/*.py"
        env = {{ WORD = "second" }}
        """)
    assert word_of(bridge, a) == "first"
    assert word_of(bridge, b) == "second"
    assert bridge.program(a)["name"] == "a"


def test_a_changed_env_reaches_warm_programs(site, word):
    bridge = site.start_bridge(defaults("persistent", "before"))
    bridge.request(word)
    bridge.wait_warm(word)
    site.rewrite_config(defaults("persistent", "after"))
    bridge.command("reload")
    wait_until(lambda: word_of(bridge, word) == "after", "the new generation answers", 10)


def run_ab(server, target, seconds, connections=8):
    """Sends requests for this many seconds; returns (complete, failed)."""
    done = subprocess.run(
        ["ab", "-k", "-q", "-l", "-r", "-c", str(connections), "-t", str(seconds), "-n", "1000000",
         server.url(target)], capture_output=True, text=True, timeout=seconds * 10 + 60, check=True)
    number = dict(re.findall(r"^(Complete requests|Failed requests|Non-2xx responses): +(\d+)",
                             done.stdout, re.MULTILINE))
    return (int(number["Complete requests"]),
            int(number["Failed requests"]) + int(number.get("Non-2xx responses", 0)))


@pytest.mark.parametrize("how", ["by itself", "SIGHUP"])
def test_no_request_is_lost_while_settings_and_modes_change_under_load(site, word, how):
    bridge = site.start_bridge(defaults("persistent", "0"))
    nginx = site.start_nginx(bridge, keep_alive=True)
    changes, complete, failed = 0, 0, 0

    def ask():
        """Runs until there were enough of both, however slow the machine is."""
        nonlocal complete, failed
        end = time.monotonic() + 60
        while (changes <= 10 or complete <= 100) and time.monotonic() < end:
            answered, lost = run_ab(nginx, "/cgi-bin/word", 4)
            complete, failed = complete + answered, failed + lost
    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        site.rewrite_config(defaults(["classic", "persistent"][changes % 2], str(changes)))
        if how == "SIGHUP":
            bridge.hangup()
        changes += 1
        time.sleep(0.15)
    assert changes > 10 and complete > 100
    assert failed == 0


def test_settings_may_change_while_a_waiting_request_is_looked_at_again(site):
    """They are taken over by whoever asks for them first: here it was the search for the program itself."""
    go = site.cgi_bin / "go"
    script = site.script("waits.sh", f"""
        #!/bin/sh
        while [ ! -e {go} ]; do sleep 0.01; done
        printf 'Content-Type: text/plain\\n\\nword'
        """)
    settings = 'mode = "classic"\nworkers = {{ min = 0, max = 1 }}\nenv = {{ TURN = "{}" }}'
    bridge = site.start_bridge(settings.format(0))
    for turn in range(1, 6):
        answers = []
        askers = [threading.Thread(target=lambda: answers.append(bridge.request(script).body))
                  for _ in range(3)]
        for asker in askers:
            asker.start()
        wait_until(lambda: bridge.status()["programs"] and bridge.program(script)["queue"] == 2, "two wait")
        os.utime(script)  # it is not the file any more that was looked at
        site.rewrite_config(settings.format(turn))
        go.touch()
        for asker in askers:
            asker.join()
        assert answers == [b"word"] * 3
        go.unlink()


def test_the_folder_of_a_socket_is_made(site):
    """One below /run is gone after a restart of the machine."""
    script = site.example("hello.cgi")
    bridge = site.start_bridge('mode = "classic"', listen=[f"unix:{site.folder}/made/fastcgi.sock"])
    assert bridge.request(script).status == 200
    assert (site.folder / "made").stat().st_mode & 0o777 == 0o755
    bridge.expect_log("made the folder .*/made")
