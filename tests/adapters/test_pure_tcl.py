"""What a Tcl package does while it is loaded in advance would be done once for all visitors. So its load is
watched, and a package that is not pure is left to the requests, and leaves nothing behind in the zygote."""

import os
import subprocess

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, WARNING, run_plainly
from test_tcl import TCLSH, library_of, package, tcl_zygote

pytestmark = pytest.mark.skipif(not os.path.exists("/usr/bin/tclsh8.6"), reason="tclsh8.6 is not installed")
TIMES = 3

# The text of a package, and the word that names the reason why it is left to the requests, or such words.
IMPURE = {
    "a number": ("set key [expr {rand()}]", "random"),
    "a known seed": ("expr {srand(42)}; set key [expr {rand()}]", "random"),
    "the device": ("set f [open /dev/urandom rb]; binary scan [read $f 8] H* key; close $f", "random"),
    "a time": ("set key [clock microseconds]", "time"),
    "a second": ("set key [expr {[clock seconds] > 0}]", "time"),
    "clicks": ("set key [clock clicks]", "time"),
    "a date": ("set key [clock format [clock seconds] -format %Y]", "time"),
    "a pid": ("set key [pid]", "process id"),
    "its input": ("set key [string length [read stdin]]", "input"),
    "output": ("puts early; set key 1", "prints"),
    "a word on stderr": ("puts stderr early; set key 1", "prints"),
    "a child": ("set key [exec echo hello]", "changes files"),  # Tcl's own file, for the child's stderr
    "a child that stays": ("exec sleep 3 &; set key 1", "process"),
    "a server": ("close [socket -server list -myaddr 127.0.0.1 0]; set key 1", "connection"),
    "a connection": ("catch { socket 127.0.0.1 9 }; set key 1", "connection"),
    "a folder": ("file mkdir /tmp/cgibridge-tcl; file delete /tmp/cgibridge-tcl; set key 1", "changes files"),
    "a file": ("close [open /tmp/cgibridge-tcl w]; file delete /tmp/cgibridge-tcl; set key 1",
               "changes files"),
    "a mode": ("file attributes [info script] -permissions 0644; set key 1", "changes files"),
    "the folder": ("cd /usr; set key 1", "folder"),
    "a timer": ("after 100000 exit; set key 1", "timer"),
    "an idle one": ("after idle exit; set key 1", "timer"),
    # Since 8.6.14 Tcl asks for the status of each channel, and a pipe's number differs in each process.
    "a pipe": ("set keep [chan pipe]; set key 1", ("file open", "random numbers (fstat")),
    "a file that stays open": ("set keep [open [info script]]; set key 1", "file open"),
    "the words": ("set key $::argv", "argv"),
    "their number": ("set key $::argc", "argv"),
    "the request": ("set key $::env(QUERY_STRING)", "QUERY_STRING"),
    "the request by a link": ("upvar #0 ::env(QUERY_STRING) q; set key [info exists q]", "QUERY_STRING"),
    "the request by a name": ("proc has {name} {upvar 1 $name v; info exists v}\n"
                              "set key [has ::env(QUERY_STRING)]", "QUERY_STRING"),
    "the request by two links": ("upvar #0 ::env e; upvar 0 e(QUERY_STRING) q; set key [info exists q]",
                                 "QUERY_STRING"),
    "the request by a namespace": ("proc has {} {namespace upvar :: env(QUERY_STRING) q; info exists q}\n"
                                   "set key [has]", "QUERY_STRING"),
    "the request by an interpreter": ("set inner [interp create]\n"
                                      "set key [$inner eval {array get env QUERY_STRING}]", "lists"),
    "an interpreter that is gone": ("set inner [interp create]; set key [$inner eval {array size env}]\n"
                                    "interp delete $inner", "lists"),
    "a deeper one": ("set inner [interp create]; $inner eval {interp create x}\n"
                     "set key [interp eval [list $inner x] {array names env QUERY*}]", "interpreter"),
    "one that cannot be watched": ("set ::inner [interp create]; $::inner eval {rename trace {}}; set key 1",
                                   "interpreter"),
    "an idle timer of another": ("[interp create] eval {after idle exit}; set key 1", "timer"),
    "a variable that another sets": ("[interp create] eval {set env(TZ) EST5}; set key 1", "writes"),
    "a number, and a known seed": ("set key [expr {rand()}]; expr {srand(24301)}", "random"),
    "a command by an alias": ("rename ::puts ::print; interp alias {} ::puts {} ::print; set key 1", "puts"),
    "a command by a procedure": ("rename ::lsort ::old; proc ::lsort args {::old -decreasing {*}$args}\n"
                                 "set key 1", "the command lsort"),
    "a word of a command": ("namespace ensemble configure ::string -map [dict merge "
                            "[namespace ensemble configure ::string -map] {reverse ::tcl::string::toupper}]\n"
                            "set key 1", "the command string reverse"),
    "a function": ("proc ::tcl::mathfunc::abs x {return 7}; set key 1", "the command abs"),
    "a command that is traced": ("trace add execution ::lsort leave exit; set key 1", "the command lsort"),
    "what finds commands": ("namespace eval :: {namespace unknown list}; set key 1", "what finds commands"),
    "what finds packages": ("package unknown list; set key 1", "what finds packages"),
    "the digits of a number": ("set ::tcl_precision 3; set key 1", "tcl_precision"),
    "a variable of Tcl's own": ("set ::tcl_platform(platform) mine; set key 1", "the variable tcl_platform"),
    "a variable that is set": ("set ::env(TZ) EST5; set key [clock format 0 -format %H]", "writes"),
    "a failure": ("set key 1; proc half {} {}; error {not today}", "fails to load"),
}
DIFFERS = {"a number", "a number, and a known seed", "the device", "a time", "clicks"}
SHOWS = """
catch { package require impure }
package require pure
puts [expr {[info exists inner] && [interp exists $inner] ? [list [$inner aliases] [$inner eval {
    list [trace info variable env] [array names env QUERY*] [info commands ::tcl::cgi*]}]] : {}}]
puts [list [lsort {b a}] [string reverse ab] [expr {abs(-1)}] [expr {1 / 3.0}] $tcl_platform(platform)]
puts [list $key [pwd] [pure] [info commands half] [after info] [file exists /dev/null] [array names env TZ]]
"""


def zygote_with(folder, text, reset="rewind", names=("impure/1.0", "pure/1.0"), **more):
    package(folder, "impure", text)
    package(folder, "pure", "proc pure {} { return pure }")
    script = folder.script("cgi/x.tcl", SHOWS)
    env = library_of(folder)
    plain = run_plainly([TCLSH, script], env={**REQUEST_ENV, **env})
    zygote = tcl_zygote(script, reset=reset, env={**LAUNCH_ENV, **env}, preload=names, **more)
    zygote.request_env = {**REQUEST_ENV, **env}
    return zygote, plain


def files_ahead(zygote):
    return "\n".join(zygote.note(FILE)).split("\n")


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", IMPURE)
def test_a_package_that_does_it_is_left_to_the_requests(folder, kind, reset):
    text, why = IMPURE[kind]
    zygote, plain = zygote_with(folder, text, reset)
    with zygote:
        assert zygote.stands and zygote.level == 3, (zygote.notes, zygote.log())
        warning, = zygote.note(WARNING)
        assert warning.startswith("impure/1.0 is not loaded ahead: it ")
        assert any(word in warning for word in ([why] if isinstance(why, str) else why)), warning
        assert f"{folder.path}/lib/pure/pure.tcl" in files_ahead(zygote)
        assert f"{folder.path}/lib/impure/impure.tcl" not in files_ahead(zygote)
        answers = [zygote.ask(env=zygote.request_env) for _ in range(TIMES)]
    if kind in DIFFERS or kind == "a pid":
        assert {(answer.code, answer.stderr) for answer in answers} == {(0, plain.stderr)}
        if kind in DIFFERS or reset == "fork":
            assert len({answer.text for answer in answers}) == TIMES
    else:
        assert {answer.seen() for answer in answers} == {plain.seen()}


def test_the_file_is_named(folder):
    package(folder, "deep", "set ::deep [clock seconds]")
    zygote, _ = zygote_with(folder, "package require deep; set key 1")
    with zygote:
        assert f"in {folder.path}/lib/deep/deep.tcl while it is loaded" in zygote.note(WARNING)[0]


def test_what_the_operator_accepts_is_loaded_ahead(folder):
    for text, kind in (("set key [clock microseconds]", "time"), ("set key [expr {rand()}]", "random"),
                       ("set key [pid]", "pid"), ("puts early; set key 1", "output")):
        zygote, _ = zygote_with(folder, text, accept=kind)
        with zygote:
            assert zygote.note(WARNING) == [] and len(zygote.note(FILE)) > 0
            assert len({zygote.ask(env=zygote.request_env).text for _ in range(TIMES)}) == 1
    zygote, _ = zygote_with(folder, "set key [clock seconds][pid]", accept="pid")
    with zygote:
        assert "time" in zygote.note(WARNING)[0]


@pytest.mark.parametrize("text", [
    "set key [clock format 0 -gmt 1]", "proc draw {} { expr {rand()} }; set key 1", "set key [info hostname]",
    "set f [open [info script]]; set key [string length [read $f]]; close $f",
    "set key [lsort [glob /usr/*]]",
    "interp create inner; set key [inner eval { expr 1 }]; interp delete inner",
    "set ::inner [interp create]; $::inner eval {rename variable v}; set key [$::inner eval {set env(PATH)}]",
    "proc own word {return $word}\nnamespace ensemble configure ::string -map [dict merge "
    "[namespace ensemble configure ::string -map] {own ::own}]; set key [string own 1]",
    "proc own {name} {upvar 1 $name v; incr v}; set x(1) 1; set key [own x(1)]", "set key $::env(PATH)"])
def test_what_is_pure_is_loaded_ahead(folder, text):
    zygote, plain = zygote_with(folder, text)
    with zygote:
        assert zygote.note(WARNING) == []
        assert f"{folder.path}/lib/impure/impure.tcl" in files_ahead(zygote)
        assert zygote.ask(env=zygote.request_env).seen() == plain.seen()


@pytest.mark.parametrize("name", [
    "http", "msgcat", "opt", "platform", "json", "json::write", "md5", "sha1", "html", "htmlparse", "ncgi",
    "cgi", "struct", "struct::list", "uri", "base64", "csv", "uuid", "mime", "smtp", "textutil", "fileutil",
    "logger", "cmdline", "math", "snit", "dns", "markdown"])
def test_packages_from_elsewhere_stay_ahead(folder, name):
    script = folder.script("x.tcl", f"package require {name}\nputs 1\n")
    plain = run_plainly([TCLSH, script])
    if plain.code != 0:
        pytest.skip(f"no {name}")
    asked = f"catch {{ package require nothing }}; puts [package require {name}]"
    version = subprocess.run([TCLSH], input=asked, capture_output=True, text=True).stdout.strip()
    with tcl_zygote(script, preload=[f"{name}/{version}"]) as zygote:
        assert zygote.note(WARNING) == []
        assert zygote.ask().seen() == plain.seen()
