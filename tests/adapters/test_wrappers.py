"""Programs that execute another one before the checkpoint: wrappers of an interpreter, in whatever way they
execute it, and scripts that do so while they are compiled."""

import pytest

from driver import LEVEL, REQUEST_ENV, SHALLOWER, Warm, adapters_dir, run_plainly
from test_pure import PERL

WRAPPER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static const char perl[] = "/usr/bin/perl";
static int opened(const char *path) { return open(path, O_PATH | O_CLOEXEC); }
static int end_of(pid_t pid) {
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}
int main(int count, char **words) {
  char *none[] = {NULL};
  pid_t pid;
  WAY;
  return 3;
}
"""
EXECUTES = {
    "execv": "execv(perl, words)",
    "execl": "if (count == 4) execl(perl, words[0], words[1], words[2], words[3], NULL);"
             "else execl(perl, words[0], words[1], NULL)",
    "execlp": "if (count == 4) execlp(\"perl\", words[0], words[1], words[2], words[3], NULL);"
              "else execlp(\"perl\", words[0], words[1], NULL)",
    "execle": "if (count == 4) execle(perl, words[0], words[1], words[2], words[3], NULL, environ);"
              "else execle(perl, words[0], words[1], NULL, environ)",
    "fexecve": "fexecve(open(perl, O_RDONLY | O_CLOEXEC), words, environ)",
    "execveat, a folder": "execveat(opened(\"/usr/bin\"), \"perl\", words, environ, 0)",
    "execveat, the file": "execveat(opened(perl), \"\", words, environ, AT_EMPTY_PATH)",
    "a number": "syscall(SYS_execve, perl, words, environ)",
    "a number, a folder": "syscall(SYS_execveat, opened(\"/usr/bin\"), \"perl\", words, environ, 0)",
    "not there at first": "execv(\"/nowhere/perl\", words); fexecve(-1, words, environ); execv(perl, words)",
}
SHOWS = r"""
open my $ran, '>>', "$0.ran"; print $ran "$$\n";
print "@ARGV\n", map { "$_=$ENV{$_}\n" } sort keys %ENV;
"""


def ran(script):
    try:
        with open(f"{script}.ran") as file:
            return len(file.readlines())
    except FileNotFoundError:
        return 0


def perl_in(folder, way):
    """The wrapper, and a zygote of it: what the bridge would launch for #!WRAPPER."""
    wrapper = folder.compile("perl.c", WRAPPER.replace("WAY", way))
    script = folder.script("x.pl", SHOWS)
    command = [wrapper, f"-I{adapters_dir()}/perl", "-MCGIBridge", script]
    return [wrapper, script], lambda **more: Warm(command, level="compiled", **more)


@pytest.mark.parametrize("way", EXECUTES)
def test_the_interpreter_that_a_wrapper_executes_is_warm(folder, way):
    argv, launch = perl_in(folder, EXECUTES[way])
    plain, before = run_plainly(argv), ran(argv[1])
    assert before == 1
    with launch() as zygote:
        assert zygote.level == 3, (zygote.notes, zygote.log())
        zygote.argv = argv
        assert [zygote.ask().seen() for _ in range(2)] == [plain.seen()] * 2
        assert ran(argv[1]) == before + 2 and zygote.workers == 1


CHANGES = {
    "a variable": ("setenv(\"ADDED\", \"1\", 1); execv(perl, words)", "sets ADDED"),
    "another value": ("setenv(\"PATH\", \"/usr/bin\", 1); execvp(\"perl\", words)", "sets PATH"),
    "in place": ("environ[0][strlen(environ[0]) - 1] = '-'; execv(perl, words)", "sets "),
    "one less": ("unsetenv(\"DOCUMENT_ROOT\"); execv(perl, words)", "removes variables"),
    "none": ("clearenv(); execv(perl, words)", "removes variables"),
    "no array": ("execve(perl, words, NULL)", "removes variables"),
    "an empty one": ("fexecve(open(perl, O_RDONLY), words, none)", "removes variables"),
    "another library": ("setenv(\"LD_PRELOAD\", \"libm.so.6\", 1); execv(perl, words)", "sets LD_PRELOAD"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_wrapper_that_changes_the_environment_runs_in_each_request(folder, kind):
    """What it has made of its launch's environment is not what it would make of each request's."""
    way, what = CHANGES[kind]
    argv, launch = perl_in(folder, "extern size_t strlen(const char *); " + way)
    with launch() as zygote:
        assert not zygote.stands and "in another environment: " + what in zygote.note(SHALLOWER)[0]
        zygote.process.wait()
    assert ran(argv[1]) == 0
    plain = run_plainly(argv)
    with Warm(argv[:1]) as warm:
        warm.argv = argv
        assert [warm.ask().seen() for _ in range(2)] == [plain.seen()] * 2


KEEPS = {
    "spawns": "if (posix_spawn(&pid, perl, NULL, NULL, words, environ) == 0) return end_of(pid)",
    "spawns by name": "if (posix_spawnp(&pid, \"perl\", NULL, NULL, words, environ) == 0) return end_of(pid)",
    "vforks": "if ((pid = vfork()) == 0) execv(perl, words), _exit(9); return end_of(pid)",
    "forks": "if ((pid = fork()) == 0) execv(perl, words), _exit(9); return end_of(pid)",
}


@pytest.mark.parametrize("way", KEEPS)
def test_what_a_wrapper_waits_for_does_not_run_for_nobody(folder, way):
    argv, launch = perl_in(folder, KEEPS[way])
    with launch() as zygote:
        assert not zygote.stands and "no request" in zygote.log()
        zygote.process.wait()
    assert ran(argv[1]) == 0
    plain = run_plainly(argv)
    with Warm(argv[:1]) as warm:
        warm.argv = argv
        assert [warm.ask().seen() for _ in range(2)] == [plain.seen()] * 2


@pytest.mark.parametrize("way", ["execl(perl, words[0], words[count - 1], NULL)",
                                 "execlp(\"sh\", \"sh\", \"-c\", \"exec perl $0\", words[count - 1], NULL)"],
                         ids=["perl", "a shell"])
def test_a_wrapper_that_drops_the_adapter_s_words_runs_nothing_for_nobody(folder, way):
    argv, launch = perl_in(folder, way)
    with launch() as zygote:
        assert not zygote.stands
        assert zygote.note(SHALLOWER) == ["executes another program before its checkpoint"]
        zygote.process.wait()
    assert ran(argv[1]) == 0


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("way", ["$^X, $0, @ARGV", "$^X, '-w', $0, @ARGV", "'env', 'perl', $0, @ARGV",
                                 "qq(/bin/sh -c 'exec perl $0')"])
def test_a_script_that_executes_itself_while_compiling_does_so_in_each_request(folder, way, reset):
    """As is usual for what has to stand in the environment when perl starts."""
    begin = f"BEGIN {{ if (!$ENV{{HOME_OF}}) {{ $ENV{{HOME_OF}} = 1; exec {way} }} }}\n"
    script = folder.script("x.pl", begin + SHOWS)
    plain, before = run_plainly([PERL, script]), ran(script)
    assert b"HOME_OF=1" in plain.stdout and before == 1
    with Warm([PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script], level="compiled",
              reset=reset) as zygote:
        assert zygote.level == 2 and "starts a process (exec, at" in zygote.note(LEVEL)[0], zygote.notes
        assert ran(script) == before
        zygote.argv = [PERL, script]
        assert [zygote.ask().seen() for _ in range(2)] == [plain.seen()] * 2


def test_a_module_that_executes_something_is_not_loaded_ahead(folder):
    folder.script("lib/Executes.pm", "package Executes;\n"
                  "exec '/bin/true' if !exists $ENV{REQUEST_METHOD};\n1;\n")
    script = folder.script("x.pl", "require Executes;\n" + SHOWS)
    env = {"PERL5LIB": str(folder.path / "lib"), **REQUEST_ENV}
    plain = run_plainly([PERL, script], env=env)
    launch = {name: value for name, value in env.items() if name != "REQUEST_METHOD"}
    with Warm([PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge=Executes", script], level="compiled",
              env=launch) as zygote:
        assert zygote.level == 3, (zygote.notes, zygote.log())
        zygote.argv = [PERL, script]
        assert [zygote.ask(env=env).seen() for _ in range(2)] == [plain.seen()] * 2
