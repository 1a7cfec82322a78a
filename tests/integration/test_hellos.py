"""The small programs of examples/hello give the same answers in both modes."""

import os

import pytest

HELLOS = ["hello.cgi", "hello.sh", "hello.pl", "hello-cgi.pl", "hello.py", "hello-modules.py",
          "hello.js", "hello.rb", "hello-libraries.rb", "hello.tcl"]
if os.path.exists("/usr/bin/javac"):
    HELLOS += ["hello-java.cgi", "hello-jar.cgi"]


@pytest.mark.parametrize("name", HELLOS)
def test_hellos_answer_the_same_in_both_modes(site, name):
    script = site.example(name)
    bridge = site.start_bridge('mode = "classic"')
    wanted = bridge.request(script)
    assert wanted.status == 200 and b"ello" in wanted.body
    bridge.command("mode", script, "persistent")
    bridge.request(script)
    bridge.wait_warm(script, 60)
    for _ in range(10):
        got = bridge.request(script)
        assert (got.head, got.body) == (wanted.head, wanted.body)


def test_env_and_echo_do_as_they_say(site, mode):
    env, echo = site.example("env.cgi"), site.example("echo.cgi")
    bridge = site.start_bridge(f'mode = "{mode}"')
    for script in (env, echo):
        bridge.request(script)
        if mode == "persistent":
            bridge.wait_warm(script)
    lines = bridge.request(env, query="a=b", HTTP_X="y").body.decode().splitlines()
    assert "QUERY_STRING=a=b" in lines and "HTTP_X=y" in lines
    assert bridge.request(echo, "POST", body=b"the body\0\xff").body == b"the body\0\xff"
