"""The level `compiled` for Tcl: the real script, run by the real tclsh after its own init.tcl."""

import os

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, Warm, adapters_dir, run_plainly

TCLSH = "/usr/bin/tclsh"

pytestmark = pytest.mark.skipif(not os.path.exists("/usr/bin/tclsh8.6"), reason="tclsh8.6 is not installed")


@pytest.fixture(params=["fork", "rewind"])
def reset(request):
    return request.param


def tcl_zygote(script, *switches, preload=(), env=None, interpreter=TCLSH, **more):
    env = {"TCL_LIBRARY": f"{adapters_dir()}/tcl", "CGIBRIDGE_PRELOAD": ",".join(preload),
           **(LAUNCH_ENV if env is None else env)}
    return Warm([interpreter, *switches, script], level="compiled", env=env, **more)


def answers_like_plain(script, reset, *switches, words=(), count=3, body=b"", env=None, launch_env=None):
    plain = run_plainly([TCLSH, *switches, script, *words], body=body, env=env)
    with tcl_zygote(script, *switches, reset=reset, env=launch_env) as zygote:
        for _ in range(count):
            answer = zygote.ask(*words, body=body, env=env)
            assert answer.seen() == plain.seen()
            assert answer.stays == (reset == "rewind"), zygote.retired
    return answer


LOOKS = r"""
puts "$argv0|$argc|$argv|[info script]|[info frame]|[info level]|[info nameofexecutable]|$tcl_library"
puts "$auto_path|[encoding dirs]|[encoding system]|[info loaded]|[package names]|$tcl_interactive"
puts "[fconfigure stdin]|[fconfigure stdout]|[fconfigure stderr]"
puts "[info vars]|[info globals]|[info commands]|[info procs]|[namespace children]|[namespace children ::tcl]"
puts "[array get env]|[array size env]|[info exists env(HOME)]|[info exists env(REMOTE_ADDR)]|[exec env]"
puts "[info exists errorInfo]|[pwd]|[interp slaves]|[trace info variable env]|[chan names]|[after info]"
interp create child
puts [child eval { list $tcl_library $auto_path [encoding dirs] [array get env] [info vars] }]
puts [read stdin]
"""


def test_what_a_script_sees_of_itself(folder, reset):
    script = folder.script("x.tcl", LOOKS)
    answers_like_plain(script, reset, words=["a", "b c", "\u00e9"], body=b"some\nbody \xc3\xa9\n")


@pytest.mark.parametrize("language", ["C", "C.UTF-8", "de_DE.ISO-8859-1"])
def test_encodings_are_those_of_the_locale(folder, reset, language):
    script = folder.script("x.tcl", LOOKS)
    answers_like_plain(script, reset, words=["\u00e9\udcff"], body=b"\xff\xc3\xa9",
                       env={**REQUEST_ENV, "LANG": language},
                       launch_env={**LAUNCH_ENV, "LANG": language})


def test_many_and_long_words_arrive(folder, reset):
    words = ["\u00e9" * 4000, "x" * 4095, "", *map(str, range(300))]
    answers_like_plain(folder.script("x.tcl", "puts $argv; puts $argc"), reset, words=words)


def test_a_switch_of_the_first_line_keeps_its_meaning(folder, reset):
    script = folder.path / "x.tcl"
    script.write_bytes(b'puts [string length "\xe9"]\n')
    answer = answers_like_plain(str(script), reset, "-encoding", "iso8859-1", words=["w"])
    assert answer.text == "1\n"


ENDS = {
    "the end of the file": "puts last",
    "exit": "puts hello; exit 7",
    "an error": "proc p {} { error boom }\nputs before\np",
    "an error with a code": "throw {A B} sorry",
    "a syntax error": "puts hello\nputs \"",
    "return": "puts one; return -code 3; puts two",
    "exit replaced": "rename exit leave; proc exit {code} { puts \"at $code\"; leave 5 }; error x",
    "a file left open": "set f [open out.txt w]; puts -nonewline $f text; puts [file size out.txt]",
    "no newline at the end": "puts -nonewline {no line}",
    "stdout left unflushed": "fconfigure stdout -buffering full; puts text; exit 3",
    "stdout closed": "puts one; close stdout; exit 2",
    "a failing write": "close stdout; puts one",
    "a command that is not there": "nothing_of_this_name",
    "a background error": "after 1 {after idle {after 0 {set done 1}}; error later}; vwait done; puts end",
    "a child with output of its own": 
        "puts a; flush stdout; exec sh -c {echo b >&2; echo c} >@stdout 2>@stderr; exit 4",
    "deep recursion": "proc p {} { p }; p",
}


@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_each_end_is_tclsh_s_own(folder, reset, text):
    script = folder.script("x.tcl", text + "\n")
    cwd = {"cwd": str(folder.path)}
    plain = run_plainly([TCLSH, script], **cwd)
    with tcl_zygote(script, reset=reset, **cwd) as zygote:
        for _ in range(3):
            assert zygote.ask(**cwd).seen() == plain.seen()
    if "out.txt" in text:
        assert (folder.path / "out.txt").read_text() == "text"


def test_an_event_loop_with_its_thread_is_no_trouble(folder, reset):
    """Tcl starts a thread when it first waits for an event."""
    script = folder.script("x.tcl", """
fileevent stdin readable {
    if {[gets stdin line] >= 0} { puts "got $line" } else {
        fileevent stdin readable {}
        after 1 {puts timer; after idle {puts idle; set done 1}}
    }
}
vwait done; puts [llength [glob /proc/self/task/*]]
""")
    plain = run_plainly([TCLSH, script], body=b"a\nb\n")
    with tcl_zygote(script, reset=reset) as zygote:
        for _ in range(4):
            assert zygote.ask(body=b"a\nb\n").seen() == plain.seen()


def test_random_numbers_differ_and_a_seed_holds(folder, reset):
    script = folder.script("x.tcl", "puts \"[expr rand()] [interp create i; i eval {expr rand()}]\"; "
                                    "expr srand(7); puts [expr rand()]")
    with tcl_zygote(script, reset=reset) as zygote:
        lines = [zygote.ask().text.splitlines() for _ in range(30)]
    assert len({drawn.split()[0] for drawn, _ in lines}) == 30
    assert len({drawn.split()[1] for drawn, _ in lines}) == 30
    assert len({seeded for _, seeded in lines}) == 1


def test_the_whole_environment_of_the_request_and_only_that(folder, reset):
    script = folder.script("x.tcl", "puts [array get env]; set env(NEW) 1; unset env(PATH); "
                           "puts [exec /usr/bin/env]; puts [array names env]")
    for more in ({}, {"HTTP_X": "1", "EMPTY": ""}, {f"N{i}": "x" * i for i in range(80)}):
        answers_like_plain(script, reset, env={**REQUEST_ENV, **more})


def test_a_variable_that_tcl_read_and_that_differs_starts_the_program_anew(folder, reset):
    script = folder.script("x.tcl", f"#!{TCLSH}\nputs \"[encoding system] $argv\"\n"
                           "puts \"$env(QUERY_STRING) [read stdin]\"; exit 3")
    env = {**REQUEST_ENV, "LANG": "de_DE.ISO-8859-1", "LC_ALL": "C"}
    plain = run_plainly([TCLSH, script, "w"], env=env, body=b"body")
    with tcl_zygote(script, reset=reset, env={**LAUNCH_ENV, "LC_ALL": "C.UTF-8"}) as zygote:
        for _ in range(2):
            answer = zygote.ask("w", env=env, body=b"body")
            assert answer.seen() == plain.seen()
            notes = [text for kind, text in answer.notes if kind == SHALLOWER]
            assert "was read before the checkpoint" in notes[0]
            assert answer.done is None


def test_a_tcl_library_of_the_operator_s_is_the_program_s(folder):
    script = folder.script("x.tcl", "puts $tcl_library; puts [info exists env(TCL_LIBRARY)]")
    env = {**REQUEST_ENV, "TCL_LIBRARY": "/usr/share/tcltk/tcl8.6"}
    with tcl_zygote(script) as zygote:
        answer = zygote.ask(env=env)
    assert answer.seen() == run_plainly([TCLSH, script], env=env).seen()
    assert any("TCL_LIBRARY" in text for _, text in answer.notes)


def test_without_the_library_it_is_plain_cgi(folder):
    script = folder.script("x.tcl", LOOKS)
    ours = {**REQUEST_ENV, "TCL_LIBRARY": f"{adapters_dir()}/tcl"}
    assert run_plainly([TCLSH, script], env=ours).seen() == run_plainly([TCLSH, script]).seen()


def test_without_library_and_request_the_script_does_not_run(folder):
    script = folder.script("x.tcl", "puts ran")
    answer = run_plainly([TCLSH, script], env={"TCL_LIBRARY": f"{adapters_dir()}/tcl"})
    assert (answer.stdout, answer.code) == (b"", 1) and b"no request" in answer.stderr


# -- packages ----------------------------------------------------------------------------------------

def package(folder, name, text, version="1.0"):
    folder.script(f"lib/{name}/pkgIndex.tcl",
                  f"package ifneeded {name} {version} [list source [file join $dir {name}.tcl]]\n")
    folder.script(f"lib/{name}/{name}.tcl", text + f"\npackage provide {name} {version}\n")


def library_of(folder):
    return {"TCLLIBPATH": str(folder.path / "lib")}


def test_packages_are_learned_and_loaded_ahead(folder, reset):
    package(folder, "mine", "namespace eval mine {\nvariable made [clock clicks]\n"
                            "proc word {} { return fine }\n}")
    script = folder.script("cgi/x.tcl", "package require mine; package require http; puts [mine::word]; "
                                        "puts [clock format 0 -gmt 1]; puts $mine::made")
    env, more = {**REQUEST_ENV, **library_of(folder)}, {**LAUNCH_ENV, **library_of(folder)}
    with tcl_zygote(script, reset=reset, env=more) as zygote:
        learned = zygote.ask(env=env).loaded()
    assert {"mine/1.0", "clock.tcl"} <= set(learned) and any(name.startswith("http/") for name in learned)
    with tcl_zygote(script, reset=reset, env=more, preload=learned, accept="time") as zygote:
        assert zygote.note(WARNING) == []
        files = "\n".join(zygote.note(FILE)).split("\n")
        assert f"{folder.path}/lib/mine/mine.tcl" in files and any("http" in name for name in files)
        answers = [zygote.ask(env=env) for _ in range(3)]
    plain = run_plainly([TCLSH, script], env=env)
    for answer in answers:
        assert answer.text.splitlines()[:2] == plain.text.splitlines()[:2]
        assert (answer.code, answer.stderr, answer.loaded()) == (0, b"", [])
    assert len({answer.text for answer in answers}) == 1, "the package was loaded by each request"


def test_packages_of_a_folder_that_an_index_names_are_learned(folder, reset):
    """tcllib's index adds its own folder to the path."""
    folder.script("lib/many/pkgIndex.tcl", "lappend ::auto_path $dir\n")
    folder.script("lib/many/deep/pkgIndex.tcl", "package ifneeded deep 1.0 [list source $dir/deep.tcl]\n")
    folder.script("lib/many/deep/deep.tcl", "proc deep {} { return deep }\npackage provide deep 1.0\n")
    script = folder.script("cgi/x.tcl", "puts $auto_path; package require deep; puts [deep]; puts $auto_path")
    env, more = {**REQUEST_ENV, **library_of(folder)}, {**LAUNCH_ENV, **library_of(folder)}
    plain = run_plainly([TCLSH, script], env=env)
    with tcl_zygote(script, reset=reset, env=more) as zygote:
        assert "deep/1.0" in zygote.ask(env=env).loaded()
    with tcl_zygote(script, reset=reset, env=more, preload=["deep/1.0"]) as zygote:
        assert f"{folder.path}/lib/many/deep/deep.tcl" in "\n".join(zygote.note(FILE))
        answer = zygote.ask(env=env)
    assert answer.text.splitlines()[:2] == plain.text.splitlines()[:2]


def test_the_program_s_own_packages_are_not_learned(folder, reset):
    package(folder, "own", "proc own {} { return own }")
    script = folder.script("x.tcl", "lappend auto_path [file join [file dirname [info script]] lib]\n"
                                    "package require own; puts [own]")
    with tcl_zygote(script, reset=reset) as zygote:
        answer = zygote.ask()
    assert answer.text == "own\n" and not [name for name in answer.loaded() if "own" in name]


def test_a_package_of_the_program_s_folder_is_not_learned_wherever_it_is_found(folder):
    package(folder, "own", "proc own {} { return own }")
    script = folder.script("x.tcl", "package require own; puts [own]")
    with tcl_zygote(script, env={**LAUNCH_ENV, **library_of(folder)}) as zygote:
        answer = zygote.ask(env={**REQUEST_ENV, **library_of(folder)})
    assert answer.text == "own\n" and not [name for name in answer.loaded() if "own" in name]


@pytest.mark.parametrize("text, why", [
    ("set ::query $env(QUERY_STRING)", "reads the environment's QUERY_STRING"),
    ("set ::given [info exists ::env(HTTP_HOST)]", "reads the environment's HTTP_HOST"),
    ("set ::all [array get ::env]", "lists the environment"),
    ("set ::env(LEFT) 1", "writes the environment"),
    ("puts {loaded}", "prints"), ("puts stderr {loaded}", "prints"),
    ("set ::f [open /etc/passwd]", "leaves a file open"),
    ("error {not today}", "fails to load: not today"),
])
def test_a_package_that_a_program_would_notice_is_left_out(folder, reset, text, why):
    package(folder, "odd", text)
    package(folder, "even", "proc even {} { return even }")
    script = folder.script("cgi/x.tcl", "catch { package require odd } result; puts $result; "
                                        "package require even; puts [even]; puts [info exists env(LEFT)]")
    env = {**REQUEST_ENV, **library_of(folder)}
    with tcl_zygote(script, reset=reset, env={**LAUNCH_ENV, **library_of(folder)},
                    preload=["odd/1.0", "even/1.0"]) as zygote:
        assert why in "\n".join(zygote.note(WARNING)), zygote.note(WARNING)
        for _ in range(2):
            assert zygote.ask(env=env).seen() == run_plainly([TCLSH, script], env=env).seen()


def test_a_variable_that_a_package_read_is_compared_with_the_request_s(folder, reset):
    package(folder, "root", "set ::root $env(DOCUMENT_ROOT)")
    script = folder.script("cgi/x.tcl", "package require root; puts $root")
    launch = {**LAUNCH_ENV, **library_of(folder)}
    with tcl_zygote(script, reset=reset, env=launch, preload=["root/1.0"]) as zygote:
        env = {**REQUEST_ENV, **library_of(folder)}
        assert zygote.ask(env=env).text == "/srv/www\n"
        answer = zygote.ask(env={**env, "DOCUMENT_ROOT": "/other"})
        assert answer.text == "/other\n" and answer.notes[0][0] == SHALLOWER
        assert zygote.ask(env=env).text == "/srv/www\n"


def test_a_package_in_two_versions_is_left_to_the_requests(folder, reset):
    script = folder.script("x.tcl", "puts [package require msgcat 1.6]")
    with tcl_zygote(script, reset=reset, preload=["msgcat/1.6.1", "msgcat/1.5"]) as zygote:
        answer = zygote.ask()
    assert answer.text == "1.6.1\n" and "msgcat/1.6.1" in answer.loaded()


def test_the_files_of_the_checkpoint_are_noted(folder):
    with tcl_zygote(folder.script("x.tcl", "puts x")) as zygote:
        files = "\n".join(zygote.note(FILE)).split("\n")
    assert "/usr/share/tcltk/tcl8.6/init.tcl" in files


def test_an_interpreter_that_env_found_is_started_anew_by_its_name(folder):
    script = folder.script("x.tcl", "puts \"[info nameofexecutable] $env(PATH) $argv\"")
    env = {**REQUEST_ENV, "PATH": "/usr/bin:/left"}
    with tcl_zygote(script, interpreter="tclsh8.6") as zygote:
        answer = zygote.ask("w", env=env)
        assert zygote.ask("w").text.endswith(LAUNCH_ENV["PATH"] + " w\n")
    assert answer.text == "/usr/bin/tclsh8.6 /usr/bin:/left w\n"
    assert [kind for kind, _ in answer.notes] == [SHALLOWER]


@pytest.mark.parametrize("ahead", [(), ("makes/1.0",)])
def test_objects_get_the_names_that_they_get_in_a_process_of_their_own(folder, reset, ahead):
    """TclOO counts them in all interpreters of a thread; packages make some as well."""
    package(folder, "makes", "oo::class create Made {}; Made new")
    script = folder.script("cgi/x.tcl", "package require makes; oo::class create Own {}\n"
                           "puts [list [Own new] [oo::object new]]; puts [list [interp slaves] [info vars]]\n"
                           "puts [list [namespace children ::tcl] [package names]]\n")
    env, more = {**REQUEST_ENV, **library_of(folder)}, {**LAUNCH_ENV, **library_of(folder)}
    plain = run_plainly([TCLSH, script], env=env)
    with tcl_zygote(script, reset=reset, env=more, preload=ahead) as zygote:
        answer = zygote.ask(env=env)
    assert answer.text.splitlines()[0] == plain.text.splitlines()[0] and zygote.note(WARNING) == []
    assert ahead or answer.seen() == plain.seen()
