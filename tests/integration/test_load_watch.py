"""What a program does while it loads belongs to each request; the log and status say what that costs, and
why."""

import os
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


LANGUAGES = {
    "ruby": ("/usr/bin/ruby", "RUBYLIB",
             {"drawn.rb": "require 'securerandom'\n\nDRAWN = SecureRandom.hex\n",
              "plain.rb": "require 'json'\nPLAIN = 'x'.hash\n"},
             f"require 'drawn'\nrequire 'plain'\nputs \"{HEAD}#{{DRAWN}} #{{PLAIN}}\"\n",
             "drawn", "installed/drawn.rb line 3"),
    "tcl": ("/usr/bin/tclsh8.6", "TCLLIBPATH",
            {"pkgIndex.tcl": "foreach name {drawn plain} {\n"
                             "  package ifneeded $name 1.0 [list source [file join $dir $name.tcl]]\n}\n",
             "drawn.tcl": "package provide drawn 1.0\nset drawn [expr {rand()}]\n",
             "plain.tcl": "package provide plain 1.0\nset plain [llength [info vars]]\n"},
            f"package require drawn\npackage require plain\nputs \"{HEAD}$drawn $plain\"\n",
            "drawn/1.0", "random"),
}


def warm_answers(bridge, program, count):
    """The words of this many answers, not counting those that ran classic because no worker was ready on a
    busy machine."""
    answers = []

    def ask():
        classic = bridge.program(program)["requests_classic"]
        words = bridge.request(program).body.split()
        if bridge.program(program)["requests_classic"] == classic:
            answers.append(words)
        return len(answers) == count
    wait_until(ask, "warm answers")
    return answers


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_learned_library_draws_is_each_visitor_s_own_and_the_pure_is_ahead(site, language, reset):
    interpreter, variable, files, text, drawn, place = LANGUAGES[language]
    if not os.path.exists(interpreter):
        pytest.skip(f"no {language}")
    installed = site.folder / "installed"
    installed.mkdir()
    for name, content in files.items():
        (installed / name).write_text(content)
    program = site.script("x", f"#!{interpreter}\n{text}")
    bridge = site.start_bridge(f'reset = "{reset}"\nlearn = "all"\nenv = {{ {variable} = "{installed}" }}\n')
    bridge.request(program)

    def is_ahead():
        made = {bridge.request(program).body.split()[1] for _ in range(2)}
        told = bridge.program(program)
        serves = told["generation"] == told["newest_generation"] > 1
        return serves and len(made) == 1 and any("plain" in name for name in told["learned"]) and told
    told = wait_until(is_ahead, "a generation with what was learned")
    assert told["level"] == "compiled", told["level_reason"]
    answers = warm_answers(bridge, program, 20)
    assert len({key for key, _ in answers}) == 20
    assert len({made for _, made in answers}) == 1, "the pure one is loaded by each request"
    bridge.expect_log(f"{drawn} is not loaded ahead: it draws random numbers.*")
    bridge.expect_log(f".*{place}.*")
