"""The commands, each as a user types it."""

import json
import os
import signal
import socket
import subprocess
import threading

import pytest

from harness import processes, programs
from harness.bridge import BINARY, environment
from harness.processes import PATIENCE, wait_until


@pytest.fixture
def bridge(site):
    programs.pid(site)
    return site.start_bridge('mode = "classic"')


class TestStatus:
    def test_json_holds_what_dashboards_read(self, site, bridge):
        bridge.request(site.cgi_bin / "pid")
        status = bridge.status()
        assert status["bridge"]["pid"] == bridge.pid
        assert set(status["bridge"]) >= {"pid", "version", "connections", "requests_active",
                                         "requests_total", "draining"}
        (entry,) = status["programs"]
        assert set(entry) >= {"path", "name", "mode", "reset", "arm", "level", "level_reason",
                              "generation", "workers", "zygote_pid", "worker_pids", "queue",
                              "requests", "errors"}
        assert set(entry["workers"]) >= {"idle", "busy", "starting"}
        assert entry["path"] == str(site.cgi_bin / "pid") and entry["requests"] == 1

    def test_a_person_sees_programs_and_modes(self, site, bridge):
        bridge.request(site.cgi_bin / "pid")
        text = bridge.command("status")
        assert str(site.cgi_bin / "pid") in text or "pid" in text
        assert "classic" in text

    def test_running_requests_and_connections_are_counted(self, site, bridge):
        sleeper = programs.sleeper(site)
        with bridge.connect() as peer:
            peer.start(sleeper)
            peer.wait_for_output(b"started")
            status = bridge.status()["bridge"]
            assert (status["requests_active"], status["connections"]) == (1, 1)
            peer.abort()
            peer.response()
        bridge.wait_idle()

    def test_of_a_bridge_of_another_version_the_table_says_why_there_is_none(self, site):
        """This happens before an upgrade, when the binary is newer than the running bridge."""
        path = site.folder / "other.control"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()

            def answer():
                for _ in range(2):
                    client = listener.accept()[0]
                    with client:
                        client.recv(4096)
                        client.sendall(b'{"ok": true, "bridge": {"pid": 1}, "programs": []}\n')
            answering = threading.Thread(target=answer)
            answering.start()
            table = site.cgibridge("status", "--control", path, expect=1)
            plain = site.cgibridge("status", "--json", "--control", path)
            answering.join()
        path.unlink()
        assert "another version" in table.stderr and "--json" in table.stderr
        assert json.loads(plain.stdout)["bridge"] == {"pid": 1}

    def test_without_a_bridge_the_command_says_so(self, site):
        done = site.cgibridge("status", "--control", site.folder / "no.control", expect=None)
        assert done.returncode > 0
        assert "no.control" in done.stderr

    @pytest.mark.parametrize("words", [["status"], ["status", "--watch"], ["reload"], ["drain"], ["upgrade"],
                                       ["mode", "/x", "classic"]])
    def test_a_settings_file_that_is_missing_or_wrong_leads_to_no_other_bridge(self, site, words):
        wrong = site.folder / "wrong.toml"
        wrong.write_text("[bridge]\nlisten = 7\n")
        for config in (site.folder / "missing.toml", wrong):
            done = site.cgibridge(*words, "--config", config, expect=1)
            print(done.stderr)
            assert str(config) in done.stderr and "--control" in done.stderr
            assert "/run/cgibridge" not in done.stderr

    def test_control_names_the_bridge_whatever_the_settings_file_is(self, site, bridge):
        site.cgibridge("status", "--config", site.folder / "missing.toml", "--control", bridge.control)


class TestMode:
    def test_a_program_is_switched_by_its_path(self, site, bridge):
        script = site.cgi_bin / "pid"
        assert bridge.answered_by(script) == "classic"
        bridge.command("mode", script, "persistent")
        bridge.request(script)
        assert bridge.wait_warm(script)["mode"] == "persistent"
        assert bridge.answered_by(script) == "persistent"
        bridge.command("mode", script, "classic")
        assert bridge.answered_by(script) == "classic"

    def test_a_program_is_switched_by_its_name(self, site):
        script = programs.pid(site)
        bridge = site.start_bridge('mode = "classic"', programs=f"""
            [[program]]
            name = "numbered"
            match = "{script}"
            """)
        bridge.request(script)
        bridge.command("mode", "numbered", "persistent")
        bridge.request(script)
        bridge.wait_warm(script)

    def test_nonsense_is_refused(self, site, bridge):
        bridge.request(site.cgi_bin / "pid")
        done = site.cgibridge("mode", site.cgi_bin / "pid", "sideways", "--control", bridge.control,
                              expect=None)
        assert done.returncode > 0 and done.stderr
        done = site.cgibridge("mode", "nobody", "classic", "--control", bridge.control, expect=None)
        assert done.returncode > 0 and "nobody" in done.stderr


class TestDrain:
    def test_it_lets_requests_end_and_stops_the_bridge(self, site, bridge):
        sleeper = programs.sleeper(site)
        with bridge.connect() as peer:
            peer.start(sleeper, query="1")
            peer.wait_for_output(b"started")
            drain = site.start(*command_of(bridge, "drain"), env=environment())
            assert peer.response().body.endswith(b"ended\n")
        bridge.expect_end()
        assert drain.wait(10 * PATIENCE) == 0

    def test_new_connections_are_not_taken_while_it_drains(self, site, bridge):
        sleeper = programs.sleeper(site)
        with bridge.connect() as peer:
            peer.start(sleeper, query="1")
            peer.wait_for_output(b"started")
            os.kill(bridge.pid, signal.SIGTERM)
            wait_until(lambda: not os.path.exists(bridge.address), "the socket is gone", 5)
            assert peer.response().body.endswith(b"ended\n")
        bridge.expect_end()


def command_of(bridge, *words):
    return [BINARY, *words, "--control", bridge.control]


class TestTry:
    def test_it_prints_what_the_program_answers(self, site, mode):
        script = programs.report(site)
        done = site.cgibridge("try", script, "--mode", mode, "--env", "QUERY_STRING=a=b",
                              "--env", "HTTP_X=1")
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        assert "application/json" in head
        answer = json.loads(body)
        assert answer["env"]["QUERY_STRING"] == "a=b" and answer["env"]["HTTP_X"] == "1"

    def test_a_body_is_passed_on(self, site, mode):
        script = programs.report(site)
        body = site.folder / "body"
        body.write_bytes(b"the body")
        done = site.cgibridge("try", script, "--mode", mode, "--body", body)
        assert json.loads(done.stdout.replace("\r\n", "\n").partition("\n\n")[2])["body"] == "the body"

    def test_a_missing_program_is_an_error(self, site):
        done = site.cgibridge("try", site.cgi_bin / "missing", expect=None)
        assert done.returncode != 0

    def test_it_leaves_nothing_running(self, site, mode):
        site.cgibridge("try", programs.hello(site), "--mode", mode)
        assert not [pid for pid in processes.children_of(os.getpid()) if processes.alive(pid)]


def test_help_and_version_name_every_command(site):
    text = site.cgibridge("--help").stdout
    for word in ("serve", "config", "status", "mode", "reload", "drain", "attach", "try", "check"):
        assert word in text
    assert site.cgibridge("--version").stdout.strip()


@pytest.mark.parametrize("words, unknown, meant", [
    (["dance"], "dance", None), (["statsu"], "statsu", "status"), (["relaod"], "relaod", "reload"),
    (["chekc", "/bin/true"], "chekc", "check"), (["confg", "check"], "confg", "config"),
    (["config", "shwo"], "shwo", "show"), (["config", "validate"], "validate", None),
    (["up"], "up", "upgrade")])
def test_an_unknown_command_is_named_with_those_that_there_are(site, words, unknown, meant):
    done = site.cgibridge(*words, expect=None)
    print(done.stderr)
    assert done.returncode != 0
    assert f'"{unknown}"' in done.stderr
    assert (f'is "{meant}" meant?' in done.stderr) if meant else ("meant?" not in done.stderr)
    commands = ("check", "show", "reference") if words[0] == "config" else \
        ("serve", "config", "status", "mode", "reload", "drain", "upgrade", "attach", "try", "check",
         "replay")
    assert all(command in done.stderr for command in commands)


class TestWhatCannotBePrinted:
    """A full disk, a closed descriptor, a reader that has gone."""

    COMMANDS = ["status --json", "config show", "config reference", "completion bash", "--version",
                "fcgiwrap --print", "try SCRIPT"]

    def words(self, site, bridge, command):
        script = programs.hello(site) if "SCRIPT" in command else None
        words = [str(script) if word == "SCRIPT" else word for word in command.split()]
        if command.startswith("status"):
            words += ["--control", str(bridge.control)]
        return words + ["--config", str(bridge.config)] if command == "config show" else words

    @pytest.mark.parametrize("command", COMMANDS)
    def test_is_an_error_that_says_so(self, site, bridge, command):
        words = [BINARY, *self.words(site, bridge, command)]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(words, env=environment(), stdout=full, stderr=subprocess.PIPE,
                                  timeout=PATIENCE)
        assert (done.returncode, b"No space left" in done.stderr or b"written" in done.stderr) == (1, True)
        closed = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&- <&-', "sh", *words], env=environment(),
                                stderr=subprocess.PIPE, timeout=PATIENCE)
        assert closed.returncode == 1 and closed.stderr.startswith(b"cgibridge: ")

    def test_is_no_error_if_nobody_wants_to_read_it(self, site):
        words = [BINARY, "try", programs.hello(site)]
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(words, env=environment(), stdout=writer, stderr=subprocess.PIPE,
                              timeout=PATIENCE)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")
