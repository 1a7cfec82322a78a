"""Commands that a Tcl script replaces are called by the script alone, and are never told what only the
adapter knows."""

import os

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, run_plainly
from test_tcl import TCLSH, library_of, package, tcl_zygote

pytestmark = pytest.mark.skipif(not os.path.exists("/usr/bin/tclsh8.6"), reason="tclsh8.6 is not installed")

# Keeps what each replaced command is called with; `proc`, `lappend` and `puts` are the only ones left alone.
RENAMED = """set said {}
foreach name {NAMES} {
    ::proc ::wrapper_of_$name args [::string map [::list NAME $name] {
        ::lappend ::said NAME $args
        ::tailcall ::really_NAME {*}$args
    }]
}
foreach name {NAMES} { rename ::$name ::really_$name; rename ::wrapper_of_$name ::$name }
"""
REPLACED = """set said {}
proc NAMES args { lappend ::said $args; return 0 }
"""
LOADS = """
source [info library]/parray.tcl
package require replaced
puts $said
puts [list [word] [llength $argv]]
"""
COMMANDS = ["file", "string", "dict", "apply", "trace", "lsearch", "split", "package", "source", "catch",
            "lindex", "expr", "llength", "set", "namespace", "uplevel", "if", "lassign", "foreach", "return",
            "lrange"]


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("names", [*COMMANDS, "file package source trace", "trace source",
                                   "source trace apply"])
def test_a_command_that_a_script_renames_hears_of_the_script_alone(folder, reset, names):
    answers_like_plain(folder, reset, RENAMED.replace("NAMES", names))


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("name", ["file", "string", "dict", "apply", "trace", "lsearch", "split"])
def test_a_command_that_a_script_replaces_hears_of_the_script_alone(folder, reset, name):
    answers_like_plain(folder, reset, REPLACED.replace("NAMES", name))


def answers_like_plain(folder, reset, begin):
    package(folder, "replaced", "proc word {} { return fine }")
    script = folder.script("cgi/x.tcl", begin + LOADS)
    env, launch = {**REQUEST_ENV, **library_of(folder)}, {**LAUNCH_ENV, **library_of(folder)}
    plain = run_plainly([TCLSH, script], env=env)
    with tcl_zygote(script, reset=reset, env=launch) as zygote:
        for _ in range(2):
            assert zygote.ask(env=env).seen() == plain.seen()


def test_what_a_script_loads_is_noted_if_it_replaces_nothing_that_matters(folder):
    package(folder, "replaced", "proc word {} { return fine }")
    script = folder.script("cgi/x.tcl", RENAMED.replace("NAMES", "file string dict") + LOADS)
    env, launch = {**REQUEST_ENV, **library_of(folder)}, {**LAUNCH_ENV, **library_of(folder)}
    with tcl_zygote(script, env=launch) as zygote:
        assert {"parray.tcl", "replaced/1.0"} <= set(zygote.ask(env=env).loaded())
