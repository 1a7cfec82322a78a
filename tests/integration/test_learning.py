"""What requests load is loaded ahead of the next ones, is printed as a setting, and can be pinned."""

import pytest

from harness.processes import wait_until

HEAD = "Content-Type: text/plain\\n\\n"
# A program that says whether its module was there before it asked, the module, and one of its own folder.
PROGRAMS = {
    "perl": ("#!/usr/bin/perl\nuse FindBin; use lib $FindBin::Bin;\n"
             "my $there = join ' ', map { exists $INC{$_} ? 1 : 0 } 'Text/Wrap.pm', 'Own.pm';\n"
             f"require Text::Wrap; require Own; print \"{HEAD}$there $Own::word\\n\";\n",
             "Text::Wrap", "Own.pm", "package Own; our $word = 'fine'; 1;\n"),
    "python": ("#!/usr/bin/python3\nimport sys\n"
               "there = '%d %d' % ('decimal' in sys.modules, 'own' in sys.modules)\n"
               f"import decimal, own\nprint('{HEAD}' + there, own.word)\n",
               "decimal", "own.py", "word = 'fine'\n"),
    "tcl": ("#!/usr/bin/tclsh\nset there [expr {[info commands ::http::geturl] ne {}}]\n"
            "package require http; source [file join [file dirname [info script]] own.tcl]\n"
            f"puts \"{HEAD}$there 0 $word\"\n", "http/", "own.tcl", "set word fine\n"),
}


@pytest.fixture(params=PROGRAMS)
def learned(request, site):
    """The program, its module's name, what it answers cold, and loaded ahead."""
    text, module, own, own_text = PROGRAMS[request.param]
    (site.cgi_bin / own).write_text(own_text)
    return site.script("program", text), module


def answers(bridge, script, wanted):
    wait_until(lambda: bridge.request(script).body == wanted, f"it answers {wanted}", 20)


def test_what_requests_load_is_loaded_ahead_printed_and_can_be_pinned(site, learned):
    script, module = learned
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script)
    answers(bridge, script, b"1 0 fine\n")
    names = bridge.program(script)["learned"]
    assert any(name.startswith(module) for name in names) and not any("wn" in name[:3] for name in names)
    line = [line for line in bridge.command("status").splitlines() if "preload = [" in line][0]
    pinned = line[line.index("preload"):]
    site.rewrite_config(f'mode = "persistent"\nlearn = "none"\n{pinned}\n')
    bridge.hangup()
    wait_until(lambda: bridge.request(script).body == b"1 0 fine\n"
               and bridge.program(script)["learned"] == [], "the list is the settings'", 20)


def test_nothing_is_learned_if_the_list_is_all(site, learned):
    script, _ = learned
    bridge = site.start_bridge('mode = "persistent"\nlearn = "none"')
    bridge.request(script)
    bridge.wait_warm(script)
    assert [bridge.request(script).body for _ in range(10)] == [b"0 0 fine\n"] * 10
    assert bridge.program(script)["learned"] == []


@pytest.mark.parametrize("learned", ["perl", "python"], indirect=True)
def test_the_program_s_own_modules_are_learned_if_asked_for(site, learned):
    script, _ = learned
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"')
    bridge.request(script)
    bridge.wait_warm(script)
    answers(bridge, script, b"1 1 fine\n")
