"""bridge.bound: sockets each of which has one program, as those of spawn-fcgi."""

import os
import signal
import socket

import pytest

from harness import processes, programs
from harness.fastcgi import Peer
from harness.processes import wait_until
from harness.programs import reported


def start(site, script, *addresses, listen=None, **more):
    """A bridge with bound addresses beside its own; returns it."""
    table = ", ".join(f'"{address}" = "{script}"' for address in addresses)
    more["bridge"] = more.get("bridge", "") + f"bound = {{ {table} }}\n"
    return site.start_bridge(more.pop("settings", 'mode = "persistent"'), listen=listen, **more)


def ask(address, script, **more):
    with Peer(address) as peer:
        return peer.request(script, **more)


def test_it_answers_whatever_the_params_name(site):
    script, other = programs.report(site), programs.hello(site, "other")
    path = f"{site.folder}/bound.sock"
    bridge = start(site, script, f"unix:{path}")
    for warmth in ("new", "warm"):
        for more in ({}, {"SCRIPT_FILENAME": None}, {"SCRIPT_FILENAME": "/no/such/file"},
                     {"SCRIPT_FILENAME": "relative", "DOCUMENT_ROOT": None},
                     {"SCRIPT_FILENAME": None, "SCRIPT_NAME": None, "DOCUMENT_ROOT": None}):
            answer = ask(path, other, **more)
            assert answer.status == 200 and answer.body != b"hello\n", (warmth, more)
        bridge.wait_warm(script)
    assert ask(bridge.address, other).body == b"hello\n"
    assert bridge.program(script)["arms"]["rewind"]["requests"] >= 5


def test_what_the_program_sees(site):
    """As one that spawn-fcgi started: what the web server sends, and what CGI adds to it."""
    script = programs.report(site)
    path = f"{site.folder}/bound.sock"
    bridge = start(site, script, f"unix:{path}")
    for warmth in ("new", "warm"):
        seen = reported(ask(path, "/srv/pages/index.php", SCRIPT_NAME="/munin-cgi", PATH_INFO="/a/b.png",
                            QUERY_STRING="size=1"))
        assert seen["cwd"] == str(site.cgi_bin), warmth
        env = seen["env"]
        assert (env["SCRIPT_NAME"], env["PATH_INFO"], env["QUERY_STRING"]) == (
            "/munin-cgi", "/a/b.png", "size=1"), warmth
        assert env["SCRIPT_FILENAME"] == "/srv/pages/index.php"
        seen = reported(ask(path, script, SCRIPT_FILENAME=None))["env"]
        assert seen["SCRIPT_FILENAME"] == str(script)
        bridge.wait_warm(script)


@pytest.mark.parametrize("spelling, host", [("127.0.0.1:{}", "127.0.0.1"), ("0.0.0.0:{}", "127.0.0.1"),
                                            ("0.0.0.0:{}", "127.0.0.2"), ("[::1]:{}", "::1"),
                                            ("[::]:{}", "::1"), ("[::]:{}", "127.0.0.1"),
                                            ("localhost:{}", "127.0.0.1")])
def test_by_tcp(site, spelling, host):
    script, other = programs.hello(site), programs.report(site)
    port, free = processes.free_port(), processes.free_port()
    bridge = start(site, script, spelling.format(port), listen=[f"127.0.0.1:{free}"])
    bridge.allow_log("whoever reaches it")
    assert ask((host, port), other).body == b"hello\n"
    assert reported(ask(("127.0.0.1", free), other))["env"]["SCRIPT_FILENAME"] == str(other)


def test_the_roots_hold_for_it_as_well(site):
    outside = site.folder / "outside"
    outside.write_text("#!/bin/sh\necho Status: 200; echo\n")
    outside.chmod(0o755)
    path = f"{site.folder}/bound.sock"
    bridge = start(site, outside, f"unix:{path}")
    bridge.allow_log("outside")
    assert ask(path, programs.hello(site)).status == 403
    checked = site.cgibridge("config", "check", bridge.config)
    assert f'bridge.bound."unix:{path}": ' in checked.stdout + checked.stderr
    assert "all requests there are answered with an error" in checked.stdout + checked.stderr


def test_only_bound_sockets_are_enough(site):
    path = f"{site.folder}/fastcgi.sock"
    bridge = start(site, programs.hello(site), f"unix:{path}", listen=[])
    wait_until(lambda: processes.accepts(path), "it listens")
    assert ask(path, "/anything").body == b"hello\n"
    assert bridge.status()["bridge"]["pid"] == bridge.pid


def test_a_socket_that_was_handed_over_is_bound_as_well(site):
    """systemd's, or spawn-fcgi's, on the same path."""
    hello, path = programs.hello(site), str(site.folder / "held.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        bridge = site.prepare_bridge('mode = "classic"', bridge=f'bound = {{ "unix:{path}" = "{hello}" }}\n',
                                     listen=[])
        script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&%d' % listener.fileno()
        bridge.start(["/bin/bash", "-c", script, "systemd"], pass_fds=[listener.fileno()])
        bridge.addresses = []
        assert ask(path, "/elsewhere").body == b"hello\n"
    os.kill(bridge.pid, signal.SIGTERM)
    bridge.expect_end()
    os.unlink(path)  # whoever made it removes it


def test_a_web_server_that_was_set_up_for_spawn_fcgi(site):
    """The lines that munin's page has for nginx: no SCRIPT_FILENAME at all."""
    script = programs.report(site)
    path = f"{site.folder}/fcgi-graph.sock"
    bridge = start(site, script, f"unix:{path}")
    nginx = site.start_nginx(bridge, locations=f"""
        location ^~ /munin-cgi/munin-cgi-graph/ {{
            fastcgi_split_path_info ^(/munin-cgi/munin-cgi-graph)(.*);
            fastcgi_param PATH_INFO $fastcgi_path_info;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_pass unix:{path};
        }}""")
    answer = reported(nginx.send_request("/munin-cgi/munin-cgi-graph/localdomain/cpu-day.png?x=1"))
    assert answer["env"]["PATH_INFO"] == "/localdomain/cpu-day.png"
    assert answer["env"]["QUERY_STRING"] == "x=1" and answer["env"]["SCRIPT_FILENAME"] == str(script)
