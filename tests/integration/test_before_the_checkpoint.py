"""What a program does or finds before its checkpoint: either it is the same as in a new process, or the
program gets a shallower level and status says why."""

import json
import os
import subprocess

import pytest

from harness.compiled import compile_library
from harness.processes import wait_until

# What a BEGIN block does, and why the program cannot stay at `compiled` then (None: it can).
BEGIN = {
    "chdir": ('chdir "/usr/lib"', "changes its working folder"),
    "chdir and back": ('use Cwd; my $was = getcwd; chdir "/usr"; chdir $was', None),
    "a read": ("$line = <STDIN>", "reads its input"),
    "a sysread": ("sysread STDIN, $line, 3", "reads its input"),
    "an eof": ("$line = eof(STDIN) ? 'none' : 'some'", "reads its input"),
    "srand": ("srand 42", "seeds random numbers"),
    "rand": ("$line = rand() < 2", "draws random numbers"),
    "umask": ("umask 027", None),
    "a signal": ("$SIG{USR1} = sub { $line = 'caught' }; $SIG{INT} = 'IGNORE'", None),
    "its name": ("$0 = 'another name'", None),
    "a selected handle": ("select STDERR; $| = 1; select STDOUT", None),
    "STDERR selected": ("select STDERR", None),
    "a file": ("open $file, '<', '/etc/passwd'; $line = <$file>", None),
    "a file to write": ("open $file, '>>', '/dev/null'", None),
    "an alarm": ("alarm 100", "a timer runs"),
    "a child": ("$line = `echo child`", "starts a process"),
    "a layer": ("binmode STDOUT, ':utf8'", None),
    "input separators": ("$/ = 'b'; $, = '-'", None),
}
SHOWS = r"""
    print STDOUT "Content-Type: text/plain\n\n";
    use Cwd ();
    my @rest = map { unpack 'H*', $_ } <STDIN>;
    print STDOUT join(' ', Cwd::getcwd(), umask, $0, defined $line ? $line : 'none', scalar(@rest), "@rest",
        join(',', map { defined $SIG{$_} ? (ref $SIG{$_} || $SIG{$_}) : 'none' } qw(USR1 INT)),
        defined $file ? fileno $file : 'none', "@ARGV", chr(233)), "\n";
    kill 'USR1', $$ if ref $SIG{USR1};
    print STDOUT $line, "\n" if defined $line;
    print STDOUT join(' ', map { int rand 1e9 } 1 .. 3), "\n" if defined &drawn;
    print 'to the selected', "\n";
    """


def ask(bridge, program):
    response = bridge.request(program, method="POST", body=b"abc\nbcd\n", query="a+b%20c")
    return response.status, response.stdout


def warm(bridge, program):
    def answered():
        ask(bridge, program)
        entry = bridge.program(program)
        return entry if entry["requests_persistent"] > 0 else None
    return wait_until(answered, "a warm worker answers")


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("what", BEGIN)
def test_what_begin_does_is_seen_or_refused(site, what, reset):
    code, why = BEGIN[what]
    more = "sub drawn {}\n" if what == "srand" else ""
    program = site.perl("x.pl", f"our ($line, $file);\nBEGIN {{ {code} }}\n{more}" + SHOWS)
    classic = site.start_bridge('mode = "classic"\n', name="classic.toml",
                                listen=[f"unix:{site.folder}/classic.sock"])
    expected = ask(classic, program)
    bridge = site.start_bridge(f'reset = "{reset}"\nlearn = "none"\n')
    warm(bridge, program)
    assert [ask(bridge, program) for _ in range(4)] == [expected] * 4
    entry = bridge.program(program)
    if why is None:
        assert entry["level"] == "compiled", entry["level_reason"]
    else:
        assert entry["level"] == ("linked" if why == "a timer runs" else "booted")
        assert why in entry["level_reason"]


def test_a_generator_that_begin_left_alone_differs_in_each_request(site):
    program = site.perl("x.pl", 'print "Content-Type: text/plain\\n\\n", rand, "\\n";')
    bridge = site.start_bridge("")
    warm(bridge, program)
    assert len({ask(bridge, program) for _ in range(8)}) == 8
    assert bridge.program(program)["level"] == "compiled"


@pytest.mark.parametrize("early", ['if (chdir("/usr")) {}', "char one; if (read(0, &one, 1)) {}",
                                   "(void)getchar();"])
def test_what_a_constructor_does_to_folder_and_input_is_noticed(site, early):
    program = site.c("x", f"""
        #include <stdio.h>
        #include <unistd.h>
        __attribute__((constructor)) static void early(void) {{ {early} }}
        int main(void) {{
          char folder[4096];
          printf("Content-Type: text/plain\\n\\n%s %d\\n", getcwd(folder, sizeof folder), getchar());
        }}""")
    bridge = site.start_bridge("")
    answers = {ask(bridge, program) for _ in range(3)}
    wait_until(lambda: bridge.program(program)["level"] == "none", "it runs classic")
    assert {ask(bridge, program) for _ in range(3)} == answers
    assert len(answers) == 1
    assert "before" in bridge.program(program)["level_reason"]


def test_a_wrapper_that_goes_elsewhere_is_noticed(site):
    """An executable in the interpreter's place that execs the real one."""
    wrapper = site.c("perl", """
        #include <unistd.h>
        int main(int argc, char **argv) {
          (void)argc;
          if (chdir("/usr/lib") != 0) return 1;
          return execv("/usr/bin/perl", argv);
        }""")
    program = site.script("x.pl", f"#!{wrapper}\nuse Cwd; "
                          'print "Content-Type: text/plain\\n\\n", getcwd, "\\n";\n')
    bridge = site.start_bridge("")
    warm(bridge, program)
    for _ in range(3):
        assert b"/usr/lib" in ask(bridge, program)[1]
    entry = bridge.program(program)
    assert entry["level"] == "linked"
    assert "changes its working folder before the checkpoint" in entry["level_reason"]


# Something that was missing when the zygote loaded, and is installed afterwards.

def after_install(site, program, install, settings='learn = "none"\n', preload=None):
    """The warm answers before and after the installation, and the line in the log."""
    lines = settings + (f"preload = {preload}\n".replace("'", '"') if preload else "")
    bridge = site.start_bridge(lines)
    warm(bridge, program)
    before = ask(bridge, program)[1]
    generation = bridge.program(program)["generation"]
    install()
    wait_until(lambda: ask(bridge, program) and bridge.program(program)["newest_generation"] > generation,
               "a new generation")
    warm(bridge, program)
    return before, ask(bridge, program)[1]


def test_perl_sees_a_module_that_appears_in_front_of_the_one_it_loaded(site):
    for name in ("first", "second"):
        (site.cgi_bin / name).mkdir()
    module = "package Own; our $from = '{}'; 1;\n"
    (site.cgi_bin / "second/Own.pm").write_text(module.format("second"))
    program = site.perl("x.pl", f"""
        use lib "{site.cgi_bin}/first", "{site.cgi_bin}/second";
        use Own;
        print "Content-Type: text/plain\\n\\n$Own::from\\n";
        """)
    before, after = after_install(
        site, program, lambda: (site.cgi_bin / "first/Own.pm").write_text(module.format("first")))
    assert b"second" in before and b"first" in after


def test_perl_sees_an_optional_module_that_is_installed_later(site):
    program = site.perl("x.pl", f"""
        use lib "{site.cgi_bin}/lib";
        our $has;
        BEGIN {{ $has = eval {{ require Optional::Part; 1 }} ? "with" : "without" }}
        print "Content-Type: text/plain\\n\\n$has\\n";
        """)

    def install():
        (site.cgi_bin / "lib/Optional").mkdir(parents=True)
        (site.cgi_bin / "lib/Optional/Part.pm").write_text("package Optional::Part; 1;\n")
    before, after = after_install(site, program, install)
    assert b"without" in before and b"with\n" in after


def test_python_sees_a_module_that_appears_beside_the_program(site):
    program = site.python("x.py", """
        import colorsys
        print("Content-Type: text/plain\\n")
        print(getattr(colorsys, "OWN", "the library's"))
        """)
    before, after = after_install(
        site, program, lambda: (site.cgi_bin / "colorsys.py").write_text("OWN = 'its own'\n"),
        preload=["colorsys"])
    assert b"the library's" in before and b"its own" in after


def test_python_sees_a_package_that_appears_beside_the_program(site):
    program = site.python("x.py", """
        import colorsys
        print("Content-Type: text/plain\\n")
        print(getattr(colorsys, "OWN", "the library's"))
        """)

    def install():
        (site.folder / "made").mkdir()
        (site.folder / "made/__init__.py").write_text("OWN = 'its own'\n")
        os.rename(site.folder / "made", site.cgi_bin / "colorsys")
    before, after = after_install(site, program, install, preload=["colorsys"])
    assert b"the library's" in before and b"its own" in after


def test_python_sees_an_optional_module_that_is_installed_later(site):
    lib = site.folder / "site-packages"
    lib.mkdir()
    (lib / "wanting.py").write_text(
        "try:\n  import optional_part as part\nexcept ImportError:\n  part = None\n")
    program = site.python("x.py", """
        import wanting
        print("Content-Type: text/plain\\n")
        print("with" if wanting.part else "without")
        """)
    before, after = after_install(
        site, program, lambda: (lib / "optional_part.py").write_text("x = 1\n"),
        settings=f'learn = "none"\nenv = {{ PYTHONPATH = "{lib}", PYTHONDONTWRITEBYTECODE = "1" }}\n',
        preload=["wanting"])
    assert b"without" in before and b"with\n" in after


def ruby(site, text):
    if not os.path.exists("/usr/bin/ruby"):
        pytest.skip("no ruby")
    return site.script("x.rb", "#!/usr/bin/ruby\n" + text)


def test_ruby_sees_a_library_that_appears_in_front_of_the_one_it_loaded(site):
    (site.folder / "first").mkdir()
    program = ruby(site, 'require "abbrev"\nputs "Content-Type: text/plain\\n\\n"\n'
                   'puts(Object.const_get(:OWN) ? "own" : "theirs") rescue puts "theirs"\n')
    before, after = after_install(
        site, program, lambda: (site.folder / "first/abbrev.rb").write_text("OWN = 1\n"),
        settings=f'learn = "none"\nenv = {{ RUBYLIB = "{site.folder}/first" }}\n', preload=["abbrev"])
    assert b"theirs" in before and b"own" in after


def test_ruby_sees_a_library_that_appears_beside_the_program(site):
    program = ruby(site, '$LOAD_PATH.unshift(__dir__)\nrequire "abbrev"\n'
                   'puts "Content-Type: text/plain\\n\\n"\n'
                   'puts $".grep(/abbrev/).first.start_with?(__dir__) ? 1 : 2\n')
    before, after = after_install(
        site, program, lambda: (site.cgi_bin / "abbrev.rb").write_text("OWN = 1\n"), preload=["abbrev"])
    assert b"2" in before and b"1" in after


def test_tcl_sees_a_module_that_is_installed_later(site):
    if subprocess.run(["which", "tclsh8.6"], capture_output=True).returncode:
        pytest.skip("no tclsh8.6")
    lib = site.folder / "lib"
    (lib / "part").mkdir(parents=True)
    (lib / "part/pkgIndex.tcl").write_text(
        'package ifneeded part 1.0 [list source [file join $dir part.tcl]]\n')
    (lib / "part/part.tcl").write_text(
        "package provide part 1.0\nset ::has [expr {[catch {package require other}] ? {without} : {with}}]\n")
    program = site.script("x.tcl", "#!/usr/bin/tclsh\npackage require part\n"
                          'puts "Content-Type: text/plain\\n\\n$has"\n')

    def install():
        (site.folder / "other").mkdir()
        (site.folder / "other/pkgIndex.tcl").write_text(
            "package ifneeded other 1.0 {package provide other 1.0}\n")
        os.rename(site.folder / "other", lib / "other")
    before, after = after_install(site, program, install, preload=["part/1.0"],
                                  settings=f'learn = "none"\nenv = {{ TCLLIBPATH = "{lib}" }}\n')
    assert b"without" in before and b"with\n" in after


def test_node_sees_a_module_that_appears_nearer_to_the_program(site):
    node = next((path for path in ("/usr/bin/node", "/usr/local/bin/node") if os.path.exists(path)), None)
    if node is None:
        pytest.skip("no node")
    far, near = site.folder / "node_modules/part", site.cgi_bin / "node_modules/part"
    far.mkdir(parents=True)
    (far / "index.js").write_text("module.exports = 'far';\n")
    program = site.script("x.js", f"#!{node}\n"
                          "console.log('Content-Type: text/plain\\n\\n' + require('part'));\n")

    def install():
        made = site.folder / "made/part"
        made.mkdir(parents=True)
        (made / "index.js").write_text("module.exports = 'near';\n")
        os.rename(site.folder / "made", near.parent)
    before, after = after_install(site, program, install, preload=["part"])
    assert b"far" in before and b"near" in after


@pytest.mark.parametrize("early, level", [("", "compiled"), ("BEGIN { $t = time }", "booted")])
def test_a_library_that_lacks_what_it_never_calls_is_loaded(site, early, level):
    """For example a Perl module that was made for a web server's embedded perl."""
    source = site.cgi_bin / "lacks.c"
    source.write_text("void never(void); void call(void) { never(); }\n")
    compile_library(source, site.cgi_bin / "lacks.so")
    program = site.perl("x.pl", f"""
        use DynaLoader; {early}
        BEGIN {{
            $loaded = DynaLoader::dl_load_file('{site.cgi_bin}/lacks.so', 0) or die DynaLoader::dl_error();
        }}
        print "Content-Type: text/plain\\n\\n", $loaded ? 1 : 0, "\\n";""")
    bridge = site.start_bridge("")
    warm(bridge, program)
    assert {ask(bridge, program) for _ in range(4)} == {(200, b"Content-Type: text/plain\n\n1\n")}
    assert bridge.program(program)["level"] == level


READS = {
    "perl": 'BEGIN {{ $main::read = $ENV{{{name}}} // "none" }}\n'
            'print "Content-Type: text/plain\\n\\n$main::read ", $ENV{{{name}}} // "none", "\\n";\n',
}


@pytest.mark.parametrize("name", ["GATEWAY_INTERFACE", "SCRIPT_FILENAME", "DOCUMENT_ROOT", "SERVER_NAME"])
def test_one_made_warm_before_any_request_stays_as_deep_as_one_that_a_request_made_warm(site, name):
    """Variables that it reads while it is compiled are given to it at its launch, at the latest for the first
    request."""
    script = site.perl("reads.cgi", READS["perl"].format(name=name))
    bridge = site.start_bridge('mode = "persistent"', bridge=f'prewarm = ["{script}"]')
    bridge.wait_warm(script)
    params = {"DOCUMENT_ROOT": "/srv/www", "SERVER_NAME": "one.example"}

    def asked():
        response = bridge.request(script, **params)
        first, second = response.body.split()
        assert first == second != b"none"
        return bridge.program(script)["started_anew"]

    def settled():
        before = asked()
        return asked() == before
    wait_until(settled, "requests are no longer started anew")
    before = asked()
    for _ in range(10):
        assert asked() == before
    entry = bridge.program(script)
    assert entry["level"] == "compiled"
    assert entry["generation"] == (1 if name == "GATEWAY_INTERFACE" else 2)


def test_try_check_and_serve_launch_a_program_alike(site):
    """A program that is compiled with what requests send is compiled in all three, and restarted in none: its
    process is the one that was launched with the adapter."""
    names = ["GATEWAY_INTERFACE", "SCRIPT_FILENAME", "SCRIPT_NAME", "DOCUMENT_ROOT", "SERVER_NAME",
             "SERVER_PORT", "SERVER_SOFTWARE"]
    script = site.perl("alike.cgi", f"""
        BEGIN {{ $main::compiled = join "|", map {{ $ENV{{$_}} // "none" }} qw({" ".join(names)}); }}
        my $now = join "|", map {{ $ENV{{$_}} // "none" }} qw({" ".join(names)});
        open my $file, "<", "/proc/self/cmdline"; my $command = <$file>; $command =~ tr/\\0 /__/;
        print "Content-Type: text/plain\\n\\n$main::compiled\\n$now\\n$command\\n";
        """)

    def is_compiled(body):
        compiled, now, command = body.split()
        assert compiled == now
        return "-MCGIBridge" in command
    tried = site.cgibridge("try", script, "--mode", "persistent")
    assert is_compiled(tried.stdout.replace("\r\n", "\n").partition("\n\n")[2]), tried.stderr
    checked = json.loads(site.cgibridge("check", script, "--json", expect=None, seconds=60).stdout)
    assert checked["level"] == "compiled", checked
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script)
    assert is_compiled(bridge.request(script).body.decode())
    assert bridge.program(script)["started_anew"] == 0


# Like OpenBLAS: starts threads at load, unless only one is asked for; this one never rests for good.
THREADED_C = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *wait_for_work(void *unused) { for (;;) WAIT; return unused; }
__attribute__((constructor)) static void start(void) {
  const char *threads = getenv("OPENBLAS_NUM_THREADS");
  pthread_t thread;
  if (threads == NULL || strcmp(threads, "1") != 0) pthread_create(&thread, NULL, wait_for_work, NULL);
}
int product(void) { return 42; }
"""
MAPS_C = r"""
    #include <stdio.h>
    int product(void);
    int main(void) { printf("Content-Type: text/plain\n\n%d\n", product()); return 0; }
    """


def program_with_threads(site, wait):
    """Linked with a library whose thread waits so, again and again."""
    library = site.folder / "libopenblas.so.0"
    source = site.folder / "threaded.c"
    source.write_text(THREADED_C)
    compile_library(source, library, f"-DWAIT={wait}", "-Wl,-soname,libopenblas.so.0")
    return site.c("mapserv", MAPS_C, str(library), f"-Wl,-rpath,{site.folder}")


def test_a_library_whose_threads_rest_is_rewound_with_them(site):
    program = program_with_threads(site, "pause()")
    bridge = site.start_bridge('mode = "persistent"\n')
    entry = warm(bridge, program)
    assert (entry["level"], entry["reset"]) == ("linked", "rewind"), entry
    for _ in range(5):
        assert bridge.request(program).body == b"42\n"


def test_a_library_that_starts_threads_is_named_with_what_helps(site):
    program = program_with_threads(site, "sleep(1)")
    bridge = site.start_bridge('mode = "persistent"\n')
    bridge.allow_log("runs classic")
    assert bridge.request(program).body == b"42\n"
    wait_until(lambda: bridge.program(program)["level"] == "none", "it is looked at")
    why = bridge.program(program)["level_reason"]
    assert "2 threads at its checkpoint" in why and "for a limited time" in why
    assert "libopenblas.so.0 starts threads" in why
    assert 'env = { OPENBLAS_NUM_THREADS = "1" }' in why
    assert why in bridge.command("status")
    site.rewrite_config('mode = "persistent"\nenv = { OPENBLAS_NUM_THREADS = "1" }\n')
    entry = warm(bridge, program)
    assert entry["level"] == "linked" and bridge.request(program).body == b"42\n"
