"""`cgibridge fcgiwrap`: the same command line, sockets and answers as fcgiwrap's, which runs beside it."""

import os
import signal
import socket

import pytest

from harness import processes, programs
from harness.bridge import BINARY, Bridge, environment
from harness.fastcgi import Peer, variables_for
from harness.processes import wait_until
from harness.programs import reported

# The last one is set by the bridge, too, for a moment (loop/without_rings.h).
OWN = {"FROM_THE_UNIT": "yes", "HOME": "/var/empty", "UV_USE_IO_URING": "1"}


def wrapper_of(site, address=None):
    """A bridge that is not started yet, without a settings file."""
    address = address or str(site.folder / "ours.sock")
    bridge = Bridge(site.folder / "none.toml", site.folder / "ours.control", [address],
                    site.folder / "ours.log")
    site.bridges.append(bridge)
    return bridge


def start(site, *options, env=OWN):
    bridge = wrapper_of(site)
    words = ["fcgiwrap", "-s", f"unix:{bridge.address}", "--control", str(bridge.control), *options]
    return bridge.start(words=words, env=env)


@pytest.fixture
def start_theirs(site):
    """Starts fcgiwrap itself; returns its socket."""
    address = str(site.folder / "theirs.sock")

    def begin(*options):
        started.append(site.start("fcgiwrap", "-s", f"unix:{address}", *options, env=environment(**OWN)))
        wait_until(lambda: processes.accepts(address), "fcgiwrap listens")
        return address
    started = []
    yield begin
    for process in started:
        process.terminate()
        process.wait()
        os.unlink(address)


def ask(address, script, **more):
    with Peer(address) as peer:
        return peer.request(script, **more)


# What a web server may send, beside the usual; {folder} is the site's.
REQUESTS = {
    "by SCRIPT_FILENAME": {},
    "by DOCUMENT_ROOT": {"SCRIPT_FILENAME": None, "DOCUMENT_ROOT": "{folder}"},
    "with PATH_INFO": {"SCRIPT_FILENAME": None, "DOCUMENT_ROOT": "{folder}",
                       "SCRIPT_NAME": "/cgi-bin/report/some/path", "REQUEST_URI": None},
    "with params of any name": {"PERL5LIB": "/somewhere", "GIT_PROJECT_ROOT": "/srv/git", "lower": "x"},
    "with a param that the process has": {"HOME": "/home/visitor"},
    "with a cookie": {"HTTP_COOKIE": "a=b"},
}
# Not the same by themselves.
VARYING = {"pid", "argv"}


def seen(answer):
    report = {name: value for name, value in reported(answer).items() if name not in VARYING}
    return answer.status, report


@pytest.mark.parametrize("more", REQUESTS.values(), ids=REQUESTS)
def test_a_program_sees_what_it_sees_under_fcgiwrap(site, start_theirs, more):
    script = programs.report(site)
    theirs = start_theirs()
    bridge = start(site)
    more = {name: value and value.format(folder=site.folder) for name, value in more.items()}
    expected = seen(ask(theirs, script, **more))
    if expected[1]["env"].get("PATH_INFO") == "":  # RFC 3875 4.1.5: there is none
        del expected[1]["env"]["PATH_INFO"]
    for warmth in ("new", "warm"):
        status, report = seen(ask(bridge.address, script, **more))
        # What CGI requires, and fcgiwrap passes on only if the web server sends it.
        for name in ("SCRIPT_FILENAME", "REQUEST_URI", "PATH_TRANSLATED"):
            if name not in expected[1]["env"]:
                report["env"].pop(name, None)
        assert [status, *without_empty(report)] == [expected[0], *without_empty(expected[1])], warmth
        bridge.wait_warm(script)
    assert bridge.program(script)["arms"]["rewind"]["requests"] == 1


def test_a_visitor_gives_programs_no_options(site, start_theirs):
    script = programs.report(site)
    bridge = start(site)
    for address in (start_theirs(), bridge.address, bridge.address):
        assert len(reported(ask(address, script, query="--help+x"))["argv"]) == 1
        if address == bridge.address:
            bridge.wait_warm(script)


def without_empty(report):
    """CONTENT_TYPE and the like without a value are the same as none; FCGI_ROLE is libfcgi's own."""
    env = sorted(f"{name}={value}" for name, value in report["env"].items()
                 if value and name != "FCGI_ROLE")
    return [f"{name}={value}" for name, value in report.items() if name != "env"] + env


def test_a_shell_that_started_it_does_not_keep_wrappers_from_being_warm(site):
    """Such a shell leaves PWD in the environment; a script that executes another program has its own."""
    real = programs.report(site)
    script = site.sh("wrapper", f"exec {real}\n")
    bridge = start(site, env={**OWN, "PWD": "/", "OLDPWD": "/usr", "SHLVL": "0", "_": "/bin/true"})
    first = reported(ask(bridge.address, script))
    bridge.wait_warm(script)
    warm = reported(ask(bridge.address, script))
    assert warm["env"]["PWD"] == first["env"]["PWD"] == str(site.cgi_bin)
    assert "OLDPWD" not in warm["env"] and warm["env"]["FROM_THE_UNIT"] == "yes"
    assert bridge.program(script)["arms"]["rewind"]["requests"] == 1


@pytest.mark.parametrize("folder, cwd", [("/usr", "/usr"), ("-", os.getcwd()), ("", None)])
def test_the_folder_that_the_web_server_names(site, folder, cwd):
    """fcgiwrap's since 1.1.0."""
    script = programs.report(site)
    bridge = start(site)
    for warmth in ("new", "warm"):
        answer = reported(ask(bridge.address, script, FCGI_CHDIR=folder))
        assert answer["cwd"] == (cwd or str(site.cgi_bin)), warmth
        bridge.wait_warm(script)
    assert bridge.program(script)["arms"]["rewind"]["requests"] == 1


def test_another_folder_than_usual_runs_classic(site):
    """A warm process has read files in the folder in which it started."""
    script = programs.report(site)
    bridge = start(site)
    ask(bridge.address, script)
    bridge.wait_warm(script)
    assert reported(ask(bridge.address, script, FCGI_CHDIR="/usr"))["cwd"] == "/usr"
    assert reported(ask(bridge.address, script))["cwd"] == str(site.cgi_bin)
    counts = bridge.program(script)
    assert counts["misfits"] == {"count": 1, "variable": "FCGI_CHDIR"}


def test_a_folder_that_is_not_there_is_an_error(site):
    script = programs.report(site)
    bridge = start(site)
    bridge.allow_log("enter")
    assert ask(bridge.address, script, FCGI_CHDIR="/no/such/folder").status == 502


def test_only_the_programs_of_p_run(site, start_theirs):
    hello, other = programs.hello(site), programs.hello(site, "other")
    theirs, bridge = start_theirs("-p", hello), start(site, "-p", str(hello))
    bridge.allow_log("other")
    for address in (theirs, bridge.address):
        assert ask(address, hello).body == b"hello\n"
        assert ask(address, other).status == 403


@pytest.mark.parametrize("options", [[], ["-f"]], ids=["to the log", "to the web server"])
def test_standard_error(site, start_theirs, options):
    script = site.sh("loud", "echo 'a word' >&2; printf 'Content-Type: text/plain\\n\\nhello\\n'\n")
    theirs, bridge = start_theirs(*options), start(site, *options)
    bridge.allow_log("a word")
    for address in (theirs, bridge.address):
        answer = ask(address, script)
        assert answer.body == b"hello\n"
        assert (b"a word" in answer.stderr) == bool(options), address
    wait_until(lambda: "a word" in bridge.log(), "the log has it")


def test_no_more_run_than_c_says_and_all_others_wait(site):
    notes = site.folder / "notes"
    notes.mkdir()
    scripts = [site.sh(name, f"""
        test -e {notes}/running && echo both >> {notes}/both
        touch {notes}/running; sleep 0.2; rm {notes}/running
        printf 'Content-Type: text/plain\\n\\nhello\\n'
        """) for name in ("one", "two")]
    bridge = start(site, "-c", "1")
    peers = []
    for script in scripts * 3:
        peers.append(bridge.connect())
        peers[-1].start(script)
    for peer in peers:
        assert peer.response().body == b"hello\n"
        peer.close()
    assert not (notes / "both").exists()


def test_programs_may_take_as_long_as_they_want(site):
    bridge = start(site)
    shown = site.cgibridge("fcgiwrap", "--print").stdout
    for line in ('request = "0s"', 'output = "0s"', 'background = "0s"'):
        assert line in shown
    assert bridge.request(programs.hello(site)).status == 200


class TestSockets:
    def hand_over(self, site, *options):
        """Starts it with a socket on descriptor 3, as fcgiwrap.socket does."""
        bridge = wrapper_of(site, str(site.folder / "held.sock"))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(bridge.address)
        listener.listen(100)
        shell = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&%d' % listener.fileno()
        with listener:
            bridge.start(["/bin/bash", "-c", shell, "systemd"], pass_fds=[listener.fileno()],
                         words=["fcgiwrap", *options, "--control", str(bridge.control)], env=OWN)
        return bridge

    @pytest.mark.parametrize("options", [["-f"], [""], ["-f -c 2"], ["-fc2"], ["-f", "stray"]])
    def test_of_systemd_with_the_options_of_etc_default(self, site, options):
        bridge = self.hand_over(site, *options)
        assert bridge.request(programs.hello(site)).body == b"hello\n"
        self.end(bridge)

    def test_of_systemd_is_the_only_one(self, site):
        bridge = self.hand_over(site, "-s", f"unix:{site.folder}/own.sock")
        assert not (site.folder / "own.sock").exists()
        self.end(bridge)

    def end(self, bridge):
        os.kill(bridge.pid, signal.SIGTERM)
        bridge.expect_end()
        os.unlink(bridge.address)  # whoever made it removes it

    def test_of_spawn_fcgi_by_a_link_of_that_name(self, site):
        """As Debian's /etc/init.d/fcgiwrap starts it."""
        link = site.folder / "fcgiwrap"
        link.symlink_to(BINARY)
        address = str(site.folder / "spawned.sock")
        started = site.start("spawn-fcgi", "-n", "-s", address, "--", link, "-f", env=environment())
        wait_until(lambda: processes.accepts(address), "it listens")
        assert ask(address, programs.hello(site)).body == b"hello\n"
        started.send_signal(signal.SIGTERM)
        assert started.wait(10) == 0
        os.unlink(address)

    @pytest.mark.parametrize("spelling, host", [("tcp:127.0.0.1:{}", "127.0.0.1"),
                                                ("tcp6:[::1]:{}", "::1")])
    def test_of_tcp(self, site, spelling, host):
        port = processes.free_port()
        started = site.start(BINARY, "fcgiwrap", "-s", spelling.format(port), env=environment())
        wait_until(lambda: processes.accepts((host, port)), "it listens")
        assert ask((host, port), programs.hello(site)).body == b"hello\n"
        started.send_signal(signal.SIGTERM)
        assert started.wait(10) == 0

    def test_has_the_permissions_that_the_umask_leaves(self, site, start_theirs):
        theirs, bridge = start_theirs(), start(site)
        assert os.stat(bridge.address).st_mode == os.stat(theirs).st_mode


def test_debians_example_for_nginx_works_as_it_is(site):
    with open("/usr/share/doc/fcgiwrap/examples/nginx.conf") as file:
        example = file.read()
    assert "/usr/lib" in example and "unix:/run/fcgiwrap.socket" in example
    programs.report(site)
    bridge = start(site, "-f")
    nginx = site.start_nginx(bridge, locations=example.replace("/usr/lib", str(site.folder)).replace(
        "/run/fcgiwrap.socket", bridge.address))
    answer = nginx.send_request("/cgi-bin/report?a=b")
    assert reported(answer)["env"]["QUERY_STRING"] == "a=b"


def test_of_a_param_that_nginx_sends_twice_the_first_counts(site, start_theirs):
    """A location that sets what a file it includes sets as well; bash would see the last."""
    script = site.perl("twice.cgi", "print qq(X: y\\n\\n$ENV{SCRIPT_NAME} $ENV{X} $ENV{CONTENT_TYPE})")
    location = f"""
location /cgi-bin/ {{
  fastcgi_param SCRIPT_FILENAME {script};
  fastcgi_param X first;
  fastcgi_param SCRIPT_FILENAME {site.folder}/none;
  fastcgi_param SCRIPT_NAME $fastcgi_script_name;
  fastcgi_param X last;
  fastcgi_pass PLACE;
}}"""
    bridge = start(site, "-f")
    answers = []
    for address in (start_theirs("-f"), bridge.address, bridge.address):
        nginx = site.start_nginx(bridge, locations=location.replace("PLACE", f"unix:{address}"))
        answers.append(nginx.send_request("/cgi-bin/twice.cgi").body)
        if address == bridge.address:
            bridge.wait_warm(script)
    assert answers == [b"/cgi-bin/twice.cgi first "] * 3


class TestCommands:
    def test_an_upgrade_keeps_the_options(self, site):
        hello, other = programs.hello(site), programs.hello(site, "other")
        bridge = start(site, "-p", str(hello), "-f")
        bridge.allow_log("other")
        before = bridge.status()["bridge"]["pid"]
        site.cgibridge("upgrade", "--control", bridge.control)
        wait_until(lambda: bridge.status()["bridge"]["pid"] != before, "the new one serves")
        successor = bridge.status()["bridge"]["pid"]
        bridge.expect_end()
        assert ask(bridge.address, hello, FROM="x").body == b"hello\n"
        assert ask(bridge.address, other).status == 403
        os.kill(successor, signal.SIGTERM)
        wait_until(lambda: not processes.alive(successor), "the new one ends")

    def test_an_upgrade_needs_no_control_socket(self, site):
        hello = programs.hello(site)
        address = str(site.folder / "alone.sock")
        log = site.folder / "alone.log"
        with open(log, "wb") as output:
            started = site.start(BINARY, "fcgiwrap", "-s", f"unix:{address}", env=environment(),
                                 stderr=output)
        wait_until(lambda: processes.accepts(address), "it listens")
        started.send_signal(signal.SIGUSR2)
        assert started.wait(20) == 0
        assert ask(address, hello).body == b"hello\n"
        text = log.read_text()
        assert "there is no control socket" in text
        successor = int(text.rpartition("upgrade: pid ")[2].split()[0])
        os.kill(successor, signal.SIGTERM)
        wait_until(lambda: not processes.alive(successor), "the new one ends")

    def test_there_is_no_file_to_reload(self, site):
        bridge = start(site)
        bridge.allow_log("without a settings file|is refused")
        refused = bridge.command("reload", expect=1)
        assert "the bridge was started without a settings file" in refused
        assert bridge.request(programs.hello(site)).status == 200

    def test_what_it_prints_is_a_settings_file(self, site):
        path = site.folder / "printed.toml"
        path.write_text(site.cgibridge("fcgiwrap", "-f", "-c", "3", "-s", f"unix:{site.folder}/a.sock",
                                       "-p", "/usr/bin/true", "--print").stdout)
        assert "no errors" in site.cgibridge("config", "check", path).stdout
        shown = site.cgibridge("config", "show", path).stdout
        assert "workers_max = 3" in shown and 'roots = ["/usr/bin/true"]' in shown

    @pytest.mark.parametrize("options, word", [
        (["-s", "help"], "unix:/path/to/socket"), (["-c", "0"], "-c"), (["-c", "many"], "-c"),
        (["-p", "relative"], "relative"), (["-s"], "-s"), ([], "nowhere to listen")])
    def test_nonsense_is_refused(self, site, options, word):
        done = site.cgibridge("fcgiwrap", *options, expect=None, seconds=10)
        assert done.returncode not in (0, None) and word in done.stderr


def test_variables_of_requests_are_not_taken_from_the_process(site):
    script = programs.report(site)
    stray = {**OWN, "QUERY_STRING": "stray=1", "HTTP_COOKIE": "stray=1", "REMOTE_USER": "stray"}
    bridge = start(site, env=stray)
    env = reported(ask(bridge.address, script))["env"]
    assert "stray" not in str(env)
    assert env["FROM_THE_UNIT"] == "yes" and variables_for(script)["SERVER_NAME"] == env["SERVER_NAME"]
