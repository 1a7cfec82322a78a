"""`cgibridge doctor`: what it says about real web servers, sockets, roots and programs."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import threading

import pytest

from harness import processes
from harness.control import Control
from harness.doctor import about, look, said, start_nginx
from harness.processes import wait_until
from harness.webserver import require

WWW = 33  # www-data
NOBODY = 65534
HELLO = 'echo "Content-Type: text/plain"\necho\necho hello\n'


@pytest.fixture
def hello(site):
    return site.sh("hello.cgi", HELLO)


class TestGoodCase:
    def test_nothing_is_wrong_behind_nginx(self, site, hello):
        bridge = site.start_bridge()
        nginx = start_nginx(site, bridge)
        bridge.request(hello)
        bridge.wait_warm(hello)
        findings = look(site, bridge.config, "--request", nginx.url("/cgi-bin/hello.cgi/more?a=b"), expect=0)
        assert said(findings, "bridge", "note", "wrong") == ""
        request = said(findings, "request", "ok")
        assert f'nginx/{request.split("nginx/")[1].split(" ")[0]} sent the bridge' in request
        assert f'SCRIPT_FILENAME "{hello}/more", SCRIPT_NAME "/cgi-bin/hello.cgi/more"' in request
        assert f"{hello} answered 200" in request and "from a warm worker (rewind, linked)" in request
        assert "1 program(s) that were asked for are warm" in said(findings, "programs", "ok")
        assert f"{site.cgi_bin}: 1 file(s)" in said(findings, "roots", "ok")

    def test_nothing_is_wrong_behind_apache(self, site, hello):
        require("apache")
        bridge = site.start_bridge()
        apache = site.start_apache(bridge)
        findings = look(site, bridge.config, "--request", apache.url("/cgi-bin/hello.cgi"), expect=0)
        request = said(findings, "request", "ok")
        assert "Apache" in request and f"{hello} answered 200" in request
        assert said(findings, "socket", "wrong") == ""

    def test_it_fits_on_one_screen(self, site, hello):
        bridge = site.start_bridge()
        nginx = start_nginx(site, bridge)
        done = site.cgibridge("doctor", "--config", bridge.config, "--request",
                              nginx.url("/cgi-bin/hello.cgi"), expect=None)
        lines = done.stdout.splitlines()
        assert len(lines) <= 40 and max(map(len, lines)) <= 160, done.stdout
        assert "\x1b" not in done.stdout
        assert lines[-1].startswith("Nothing is wrong") == (done.returncode == 0)

    def test_it_changes_nothing(self, site, hello):
        bridge = site.start_bridge()
        before = {path: path.lstat().st_mtime_ns for path in site.cgi_bin.rglob("*")}
        requests = bridge.status()["bridge"]["requests_total"]
        look(site, bridge.config)
        assert {path: path.lstat().st_mtime_ns for path in site.cgi_bin.rglob("*")} == before
        assert bridge.status()["bridge"]["requests_total"] == requests


class TestBridge:
    def test_that_does_not_run_is_wrong(self, site, hello):
        config = site.write_config()
        findings = look(site, config, expect=1)
        assert "No bridge runs" in said(findings, "bridge", "wrong")
        assert "does not exist" in said(findings, "socket", "wrong")

    def test_that_was_killed_leaves_a_socket_that_nobody_serves(self, site, hello):
        config = site.write_config()
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(site.folder / "fastcgi.sock"))
        findings = look(site, config, expect=1)
        assert "nobody accepts connections" in said(findings, "socket", "wrong")
        left.close()
        (site.folder / "fastcgi.sock").unlink()

    def test_that_is_stopped_does_not_hold_the_doctor_up(self, site, hello):
        bridge = site.start_bridge()
        os.kill(bridge.pid, signal.SIGSTOP)
        try:
            findings = look(site, bridge.config)
        finally:
            os.kill(bridge.pid, signal.SIGCONT)
        assert "does not answer in time" in said(findings, "bridge", "note")

    def test_that_refused_its_settings_says_why(self, site, hello):
        bridge = site.start_bridge()
        good = bridge.config.read_text()
        bridge.allow_log("error|refused")
        bridge.write_settings(good + "\nnonsense = 1\n")
        bridge.expect_log("is refused: 1 error")
        other = site.folder / "good.toml"
        other.write_text(good)
        findings = look(site, other, expect=1)
        assert "It refused the settings file" in said(findings, "bridge", "wrong")
        assert f"It reads {bridge.config}, and this looked at {other}" in said(findings, "bridge", "note")
        bridge.write_settings(good)
        wait_until(lambda: not bridge.status()["bridge"]["settings"]["refused"], "the file is in force")

    def test_that_waits_for_a_restart_names_the_setting(self, site, hello):
        bridge = site.start_bridge()
        bridge.write_settings(bridge.config.read_text().replace('"0666"', '"0660"'))
        wait_until(lambda: bridge.status()["bridge"]["settings"]["waiting_for_restart"], "it is noticed")
        assert "bridge.socket_mode" in said(look(site, bridge.config), "bridge", "note")


class TestSocket:
    @pytest.mark.root
    def test_with_the_wrong_mode_names_the_web_server(self, site, hello):
        bridge = site.start_bridge(bridge='socket_mode = "0660"\n')
        nginx = start_nginx(site, bridge)
        assert nginx.send_request("/cgi-bin/hello.cgi").status == 502
        findings = look(site, bridge.config, "--request", nginx.url("/cgi-bin/hello.cgi"), expect=1)
        (pid,) = processes.children_of(nginx.pid)
        one = about(findings, f"nginx (pid {pid}, www-data) cannot open it: www-data may not connect to "
                              f"{bridge.address} (srw-rw---- root:root)")
        assert one["what"].startswith(f"unix:{bridge.address}: nginx (pid ")
        assert "socket_group" in one["to_do"] and one["mark"] in ("wrong", "note")
        assert "answered 502 itself: the request never reached" in said(findings, "request", "wrong")

    @pytest.mark.root
    def test_in_a_folder_without_x_names_the_folder(self, site, hello):
        folder = site.folder / "closed"
        folder.mkdir(mode=0o700)
        bridge = site.start_bridge(listen=[f"unix:{folder}/s"])
        findings = look(site, bridge.config, "--server-user", "www-data", expect=1)
        one = about(findings, "www-data may not enter")
        assert f"{folder} (drwx------ root:root)" in one["what"] and one["mark"] == "wrong"
        assert f"chmod o+x {folder}" in one["to_do"]
        folder.chmod(0o711)
        findings = look(site, bridge.config, "--server-user", "www-data", expect=0)
        assert "can be opened by the web server" in said(findings, "socket", "ok")
        assert "tried" in said(findings, "socket", "ok")

    @pytest.mark.root
    def test_that_bridge_allow_closes_is_noticed_by_trying(self, site, hello):
        bridge = site.start_bridge(bridge='allow = { users = ["root"] }\n')
        findings = look(site, bridge.config, "--server-user", "www-data", expect=1)
        assert "closes it at once" in said(findings, "socket", "wrong")
        assert "bridge.allow" in said(findings, "socket", "wrong")
        findings = look(site, bridge.config, "--server-user", "root")
        assert said(findings, "socket", "wrong") == ""

    @pytest.mark.root
    def test_that_a_list_opens_is_open(self, site, hello):
        bridge = site.start_bridge(bridge='socket_mode = "0600"\n')
        owner, user, group, mask, others, nobody = 1, 2, 4, 16, 32, 0xffffffff
        entries = [(owner, 6, nobody), (user, 6, WWW), (group, 0, nobody), (mask, 6, nobody),
                   (others, 0, nobody)]
        value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
        try:
            os.setxattr(bridge.address, "system.posix_acl_access", value)
        except OSError:
            pytest.skip("no access control lists here")
        findings = look(site, bridge.config, "--server-user", "www-data")
        assert "can be opened" in said(findings, "socket", "ok")
        findings = look(site, bridge.config, "--server-user", "nobody", expect=1)
        assert f"{bridge.address} (srw-rw----+ root:root)" in said(findings, "socket", "wrong")

    def test_on_a_port_is_found(self, site, hello):
        port = processes.free_port()
        config = site.write_config(listen=[f"127.0.0.1:{port}"])
        assert "nobody accepts" in said(look(site, config), "socket", "wrong")
        bridge = site.start_bridge(listen=[f"127.0.0.1:{port}"])
        assert said(look(site, bridge.config), "socket", "wrong") == ""


class TestWebServers:
    """Any process with such a name and such a file counts as one."""

    @staticmethod
    def sleeper(site, name="nginx"):
        path = site.folder / name
        shutil.copy2("/usr/bin/sleep", path)
        return path

    @staticmethod
    def wait_for(site, name, count=1):
        def there():
            found = [pid for pid in processes.descendants_of(os.getpid())
                     if processes.command_of(pid).split(" ")[0].endswith(name)]
            return len(found) >= count and found
        return wait_until(there, f"{name} runs")

    @pytest.mark.root
    def test_with_a_file_system_of_its_own_does_not_see_the_socket(self, site, hello):
        folder = site.folder / "tmp"
        folder.mkdir()
        bridge = site.start_bridge(listen=[f"unix:{folder}/s"])
        site.start("unshare", "-m", "--propagation", "private", "sh", "-c",
                   f"mount -t tmpfs none {folder} && exec {' '.join(processes.as_user(WWW))} "
                   f"{self.sleeper(site)} 600")
        (pid,) = self.wait_for(site, "/nginx")
        one = about(look(site, bridge.config), f"nginx (pid {pid}, www-data) has a file system of its own")
        assert "PrivateTmp" in one["to_do"]

    @pytest.mark.root
    def test_in_a_container_is_not_judged(self, site, hello):
        bridge = site.start_bridge(bridge='socket_mode = "0600"\n')
        site.start("unshare", "--pid", "--fork", *processes.as_user(WWW), self.sleeper(site), "600")
        (pid,) = self.wait_for(site, "/nginx")
        try:
            assert f"pid {pid}," not in said(look(site, bridge.config), "socket")
        finally:
            processes.kill_quietly(pid)

    @pytest.mark.root
    def test_is_none_if_it_only_has_the_name(self, site, hello):
        bridge = site.start_bridge(bridge='socket_mode = "0600"\n')
        other = site.start(*processes.as_user(WWW), "/usr/bin/python3", "-c",
                           "import time; open('/proc/self/comm', 'w').write('nginx'); time.sleep(600)")
        wait_until(lambda: open(f"/proc/{other.pid}/comm").read() == "nginx\n", "it is named so")
        assert f"pid {other.pid}," not in said(look(site, bridge.config), "socket")


class TestRoots:
    @pytest.mark.root
    def test_that_programs_users_may_not_enter_are_wrong(self, site, hello):
        bridge = site.start_bridge('user = "nobody"\n')
        site.cgi_bin.chmod(0o700)
        findings = look(site, bridge.config, expect=1)
        wrong = said(findings, "roots", "wrong")
        assert f"nobody may not enter {site.cgi_bin} (drwx------ root:root)" in wrong
        site.cgi_bin.chmod(0o755)
        hello.chmod(0o700)
        findings = look(site, bridge.config, expect=1)
        assert f"{hello} (-rwx------ root:root) by nobody" in said(findings, "roots", "wrong")

    def test_that_are_missing_are_wrong(self, site, hello):
        config = site.write_config(roots=[site.folder / "nowhere"])
        assert "nowhere: No such file" in said(look(site, config), "roots", "wrong")

    def test_with_programs_that_are_not_executable_say_so(self, site, hello):
        forgotten = site.sh("forgotten.pl", HELLO, mode=0o644)
        (site.cgi_bin / "style.css").write_text("p { }")
        notes = said(look(site, site.write_config()), "roots", "note")
        assert str(forgotten) in notes and "style.css" not in notes


class TestRequest:
    LOCATIONS = """
        location /cgi-bin/ {
          include /etc/nginx/fastcgi_params;
          fastcgi_param SCRIPT_FILENAME %s$fastcgi_script_name;
          fastcgi_pass bridge;
        }
        """

    def test_with_a_wrong_path_says_what_was_sent(self, site, hello):
        bridge = site.start_bridge()
        nginx = start_nginx(site, bridge, locations=self.LOCATIONS % "/nowhere")
        findings = look(site, bridge.config, "--request", nginx.url("/cgi-bin/hello.cgi"), expect=1)
        assert 'SCRIPT_FILENAME "/nowhere/cgi-bin/hello.cgi"' in said(findings, "request", "ok")
        wrong = said(findings, "request", "wrong")
        assert "The bridge answered 404: /nowhere: No such file" in wrong and "SCRIPT_FILENAME" in wrong

    def test_outside_the_roots_says_so(self, site, hello):
        outside = site.folder / "elsewhere" / "cgi-bin"
        outside.mkdir(parents=True)
        hello.rename(outside / "hello.cgi")
        bridge = site.start_bridge()
        nginx = start_nginx(site, bridge, locations=self.LOCATIONS % outside.parent)
        wrong = said(look(site, bridge.config, "--request", nginx.url("/cgi-bin/hello.cgi"), expect=1),
                     "request", "wrong")
        assert "The bridge answered 403" in wrong and "is outside the roots" in wrong
        assert "bridge.roots" in wrong

    def test_that_the_web_server_answers_itself_names_it(self, site, hello):
        require("apache")
        bridge = site.start_bridge()
        apache = site.start_apache(bridge)
        wrong = said(look(site, bridge.config, "--request", apache.url("/nothing"), expect=1),
                     "request", "wrong")
        assert "Apache" in wrong and "answered 404 itself" in wrong

    def test_that_gets_the_source_is_wrong(self, site, hello):
        bridge = site.start_bridge()
        nginx = start_nginx(site, bridge, locations="location /unused/ { }")
        wrong = said(look(site, bridge.config, "--request", nginx.url("/cgi-bin/hello.cgi"), expect=1),
                     "request", "wrong")
        assert "sends the text of the program" in wrong

    def test_to_a_program_that_fails_quotes_it(self, site):
        site.sh("bad.cgi", 'echo "no $(printf "\\033")[31mmodule" >&2\nexit 3\n')
        bridge = site.start_bridge()
        bridge.allow_log("502")
        nginx = start_nginx(site, bridge)
        done = site.cgibridge("doctor", "--config", bridge.config, "--request",
                              nginx.url("/cgi-bin/bad.cgi"), expect=1)
        assert "The bridge answered 502" in done.stdout and "cgibridge try" in done.stdout
        assert "\x1b" not in done.stdout

    def test_to_a_program_that_goes_on_after_its_answer_is_answered(self, site):
        site.sh("on.cgi", HELLO + "exec >&- 2>&-\nexec sleep 600\n")
        bridge = site.start_bridge("timeouts = { background = '8s' }\n")
        nginx = start_nginx(site, bridge)
        findings = look(site, bridge.config, "--request", nginx.url("/cgi-bin/on.cgi"))
        assert "answered with 200, and its program still runs" in said(findings, "request", "note")
        wait_until(lambda: bridge.status()["bridge"]["background"] == 0, "it is ended", 20)

    def test_to_a_program_that_does_not_end_is_bounded(self, site):
        site.sh("slow.cgi", f'echo "X-Accel-Buffering: no"\n{HELLO}exec sleep 600\n')
        bridge = site.start_bridge()
        nginx = start_nginx(site, bridge)
        findings = look(site, bridge.config, "--request", nginx.url("/cgi-bin/slow.cgi"))
        assert "not whole after 10 s" in said(findings, "request", "note")
        bridge.wait_idle()

    def test_nobody_takes_is_wrong(self, site, hello):
        bridge = site.start_bridge()
        url = f"http://127.0.0.1:{processes.free_port()}/x"
        assert "Connection refused" in said(look(site, bridge.config, "--request", url, expect=1),
                                            "request", "wrong")

    def test_to_a_server_that_never_answers_is_bounded(self, site, hello):
        bridge = site.start_bridge()
        with socket.create_server(("127.0.0.1", processes.free_port())) as silent:
            kept = []

            def accept():
                with contextlib.suppress(OSError):
                    kept.append(silent.accept())
            threading.Thread(target=accept, daemon=True).start()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
            wrong = said(look(site, bridge.config, "--request", url, expect=1), "request", "wrong")
            for connection, _ in kept:
                connection.close()
        assert "no answer from" in wrong

    def test_marker_of_a_visitor_is_worth_nothing(self, site, hello):
        bridge = site.start_bridge()
        nginx = start_nginx(site, bridge)
        answer = nginx.send_request("/cgi-bin/hello.cgi", headers={"CGIBridge-Follow": "a" * 32})
        assert answer.status == 200


class TestPrograms:
    def test_that_is_not_warm_is_named_with_its_reason(self, site, hello):
        bridge = site.start_bridge(programs=f"""
            [[program]]
            match = "{hello}"
            mode = "classic"
            """)
        bridge.request(hello)
        bridge.request(hello)
        findings = look(site, bridge.config, expect=0)
        notes = said(findings, "programs", "note")
        assert f"{hello} runs classic, because its mode is classic (2 of 2 request(s))" in notes
        assert f"cgibridge check {hello}" in notes

    @pytest.mark.root
    def test_that_cannot_be_warm_says_why(self, site, hello):
        site.c("setuid.cgi", r"""
            #include <stdio.h>
            int main(void) { puts("Content-Type: text/plain\n\nhello"); return 0; }
            """)
        program = site.cgi_bin / "setuid.cgi"
        program.chmod(0o4755)
        bridge = site.start_bridge()
        for _ in range(2):
            assert bridge.request(program).status == 200
        wait_until(lambda: bridge.program(program)["level"] == "none", "it is known to be classic")
        notes = said(look(site, bridge.config), "programs", "note")
        assert f"{program} is not warm" in notes and "setuid" in notes.split("not deeper: ")[1]


class TestOrdinaryUser:
    @pytest.mark.root
    def test_says_what_only_root_sees(self, site, hello):
        bridge = site.start_bridge('user = "www-data"\n')
        nginx = start_nginx(site, bridge)
        findings = look(site, bridge.config, "--request", nginx.url("/cgi-bin/hello.cgi"), uid=NOBODY,
                        expect=0)
        assert "could not be asked" in said(findings, "bridge", "note")
        assert "is not known: cannot reach the bridge" in said(findings, "request", "note")
        assert "root" in said(findings, "bridge", "note")
        # Nothing is said about rights that are not the bridge's.
        assert "cannot become another user" not in said(findings, "kernel")

    @pytest.mark.root
    def test_does_not_call_good_what_is_hidden_from_him(self, site, hello):
        folder = site.folder / "closed"
        folder.mkdir(mode=0o711)
        inner = folder / "inner"
        inner.mkdir(mode=0o700)
        bridge = site.start_bridge(listen=[f"unix:{inner}/s"])
        findings = look(site, bridge.config, "--server-user", "www-data", uid=NOBODY)
        assert said(findings, "socket", "ok") == ""
        assert "may not enter" in said(findings, "socket") or "only a part" in said(findings, "socket")


class TestCommandLine:
    def test_errors_in_the_settings_are_shown_as_by_config_check(self, site):
        config = site.folder / "wrong.toml"
        config.write_text("[bridge]\nnonsense = 1\nroots = []\n")
        checked = site.cgibridge("config", "check", config, expect=1)
        done = site.cgibridge("doctor", "--config", config, expect=1)
        assert done.stderr == checked.stderr and "nonsense" in done.stderr

    @pytest.mark.parametrize("options, words", [
        (["--request", "https://127.0.0.1/"], "only http"),
        (["--request", "/cgi-bin/x"], "not a URL"),
        (["--server-user", "no-such-user"], "no-such-user"),
    ])
    def test_what_it_cannot_look_at_is_another_exit_code(self, site, options, words):
        config = site.write_config()
        done = site.cgibridge("doctor", "--config", config, *options, expect=2)
        assert words in done.stderr

    def test_neither_can_it_look_without_a_settings_file(self, site):
        done = site.cgibridge("doctor", "--config", site.folder / "nowhere.toml", expect=2)
        assert "nowhere.toml: No such file" in done.stderr

    def test_help_says_the_exit_codes(self, site):
        assert "2 it could not look" in site.cgibridge("doctor", "--help").stdout


class TestFollowCommand:
    def test_needs_a_marker_that_nobody_guesses(self, site, hello):
        bridge = site.start_bridge()
        with Control(bridge.control) as control:
            with pytest.raises(AssertionError, match="nobody guesses"):
                control.ask("follow", marker="short")

    def test_ends_with_its_connection(self, site, hello):
        bridge = site.start_bridge()
        most = 8
        for name in "ab":
            with contextlib.ExitStack() as stack:
                # More of them than before, so that not each takes the place of one that has left.
                clients = [stack.enter_context(Control(bridge.control)) for _ in range(3 * most)]
                for number, client in enumerate(clients[-most:] if name == "b" else clients[:most]):
                    client.ask("follow", marker=f"{name}{number:032}")
                with pytest.raises(AssertionError, match="8 others follow"):
                    clients[most].ask("follow", marker=name * 32)

    def test_is_over_if_the_client_leaves_before_the_request_ends(self, site):
        go = site.folder / "go"
        waits = site.sh("waits.cgi", f'{HELLO}until [ -e {go} ]; do sleep 0.02; done\n')
        bridge = site.start_bridge()
        with bridge.connect() as peer:
            with Control(bridge.control) as control:
                control.ask("follow", marker="m" * 32)
                peer.start(waits, HTTP_CGIBRIDGE_FOLLOW="m" * 32)
                peer.wait_for_output(b"hello")
            go.touch()
            peer.response()
        assert bridge.status()["bridge"]["requests_active"] == 0
