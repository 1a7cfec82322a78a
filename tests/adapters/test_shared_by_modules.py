"""A library that is loaded ahead and changes what all share in the interpreter would change it for requests
that do not load it, and from the script's first line on: so it is left to the requests. (Python:
test_python_main.py, Perl: test_perl_start.py.)"""

import os

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, WARNING, Warm, adapters_dir, run_plainly
from ruby import RUBY, command

RESETS = pytest.mark.parametrize("reset", ["fork", "rewind"])

RUBY_LEAVES = {
    "a stream": ("$stdout = $stderr", "$stdout"),
    "what ends a line": ("$VERBOSE = nil; $/ = 'x'", "$/"),
    "what is between words": ("$VERBOSE = nil; $, = '-'", "$,"),
    "its name": ("$0 = 'another'", "$0"),
    "warnings": ("$VERBOSE = true", "$VERBOSE"),
    "an encoding": ("Encoding.default_external = 'ISO-8859-1'", "encodings"),
    "no buffer": ("$stdout.sync = true", "the streams' modes"),
    "binary streams": ("$stdin.binmode", "the streams' modes"),
    "threads": ("Thread.abort_on_exception = true", "errors in threads"),
    "the collector": ("GC.disable", "collector"),
}
RUBY_SHOWS = """
$stdout.puts [$0, $/, $,, $VERBOSE, Encoding.default_external, STDOUT.sync, STDIN.external_encoding,
              Thread.abort_on_exception, GC.disable, [1, 2].join].inspect
GC.enable
require 'leaves' if ARGV[0]
$stdout.puts [$0, $/, $,, $VERBOSE, Encoding.default_external, STDOUT.sync].inspect
"""


@pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")
@RESETS
@pytest.mark.parametrize("kind", RUBY_LEAVES)
def test_a_ruby_library_that_changes_it_is_left_to_the_requests(folder, kind, reset):
    text, why = RUBY_LEAVES[kind]
    folder.script("installed/leaves.rb", text + "\n")
    script = folder.script("x.rb", RUBY_SHOWS)
    env = {"RUBYLIB": f"{folder.path}/installed"}
    plain = {words: run_plainly([RUBY, script, *words], env={**REQUEST_ENV, **env}) for words in ((), ("a",))}
    with Warm(command(script, preload="leaves,json"), level="compiled", reset=reset,
              env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        assert any(why in text for text in zygote.note(WARNING)), zygote.notes
        zygote.argv = [RUBY, script]
        for words in ((), ("a",), ()):
            assert zygote.ask(*words, env={**REQUEST_ENV, **env}).seen() == plain[words].seen()


TCLSH = "/usr/bin/tclsh"
TCL_LEAVES = {
    "a translation": ("fconfigure stdout -translation crlf", "stdout"),
    "a buffer": ("fconfigure stdout -buffering none", "stdout"),
    "an encoding": ("fconfigure stdin -encoding utf-8", "stdin"),
    "the system's encoding": ("encoding system utf-8", "encoding"),
    "another puts": ("rename puts was_puts; proc puts args { was_puts stderr $args }", "the command puts"),
    "how errors are shown": ("interp bgerror {} list", "bgerror"),
    "its name": ("set ::argv0 another", "argv0"),
}
TCL_SHOWS = """
set out [list [fconfigure stdout] [fconfigure stdin] [encoding system] [info procs puts] [interp bgerror {}]]
puts "$argv0 $out"
if {$argc} { package require leaves; puts "$argv0 $out" }
"""


@pytest.mark.skipif(not os.path.exists("/usr/bin/tclsh8.6"), reason="tclsh8.6 is not installed")
@RESETS
@pytest.mark.parametrize("kind", TCL_LEAVES)
def test_a_tcl_package_that_changes_it_is_left_to_the_requests(folder, kind, reset):
    text, why = TCL_LEAVES[kind]
    folder.script("lib/leaves/leaves.tcl", f"package provide leaves 1.0\n{text}\n")
    folder.script("lib/leaves/pkgIndex.tcl",
                  "package ifneeded leaves 1.0 [list source [file join $dir leaves.tcl]]\n")
    script = folder.script("x.tcl", TCL_SHOWS)
    env = {"TCLLIBPATH": f"{folder.path}/lib"}
    plain = {words: run_plainly([TCLSH, script, *words], env={**REQUEST_ENV, **env})
             for words in ((), ("a",))}
    ours = {"TCL_LIBRARY": f"{adapters_dir()}/tcl", "CGIBRIDGE_PRELOAD": "leaves/1.0"}
    with Warm([TCLSH, script], level="compiled", reset=reset, env={**ours, **LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        assert any(why in text for text in zygote.note(WARNING)), (zygote.notes, zygote.log())
        for words in ((), ("a",), ()):
            assert zygote.ask(*words, env={**REQUEST_ENV, **env}).seen() == plain[words].seen()
