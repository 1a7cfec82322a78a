"""What a program does while it loads is each request's own; what that costs, and why, is told."""

import subprocess

import pytest

from harness.processes import wait_until

HEAD = "Content-Type: text/plain\\n\\n"
MODULE = ("package Own;\nopen my $f, '<', '/dev/urandom' or die; read $f, our $key, 16;"
          " $key = unpack 'H*', $key;\n1;\n")


@pytest.fixture
def script(site):
    (site.cgi_bin / "Own.pm").write_text(MODULE)
    return site.script("keys", "#!/usr/bin/perl\nuse FindBin; use lib $FindBin::Bin; use POSIX (); use Own;\n"
                               f"print \"{HEAD}$Own::key\\n\";\n")


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_a_key_that_a_module_draws_is_each_visitor_s_own(site, script, reset):
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"')
    bridge.request(script)
    bridge.wait_warm(script)
    keys = {bridge.request(script).body for _ in range(50)}
    assert len(keys) == 50 and all(len(key) == 33 for key in keys)
    told = bridge.program(script)
    assert (told["level"], told["reset"]) == ("booted", reset)
    assert "random" in told["level_reason"] and "Own.pm line 2" in told["level_reason"]
    assert "Own.pm line 2" in bridge.command("status")


def test_what_the_operator_accepts_is_loaded_ahead(site, script):
    bridge = site.start_bridge('mode = "persistent"\naccept = ["random"]')
    bridge.request(script)
    bridge.wait_warm(script)
    assert len({bridge.request(script).body for _ in range(20)}) == 1
    assert bridge.program(script)["level"] == "compiled"


def test_a_constructor_that_draws_a_key_keeps_a_program_classic(site):
    source = site.folder / "key.cc"
    source.write_text("#include <cstdio>\n#include <random>\nstatic unsigned key = std::random_device()();\n"
                      f"int main() {{ printf(\"{HEAD}%u\\n\", key); }}\n")
    program = site.cgi_bin / "key"
    subprocess.run(["g++", "-o", program, source], check=True)
    bridge = site.start_bridge('mode = "persistent"')
    bridge.allow_log("runs classic|not at level")
    bridge.request(program)
    wait_until(lambda: "draws random numbers" in bridge.program(program)["level_reason"], "it is looked at")
    assert bridge.program(program)["level"] == "none"
    assert len({bridge.request(program).body for _ in range(10)}) == 10
