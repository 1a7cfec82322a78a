"""With rewind one process answers many requests: what one of them leaves under a name with its process id,
the next would take for its own. Each visitor finds what a process of its own would find."""

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, Warm, adapters_dir
from ruby import RUBY, command

PYTHON, PERL = "/usr/bin/python3", "/usr/bin/perl"
ASKED = 3

C_TEXT = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static char name[300], other[300];
static void write_it(int file) { write(file, "x", 1); close(file); }
int main(int count, char **words) {
  if (chdir(getenv("FOLDER")) != 0) return 1;
  sprintf(name, "%s/a.%d", getenv("FOLDER"), getpid());
  sprintf(other, "b-%d", getpid());
  int found = access(name, F_OK) == 0 || access(other, F_OK) == 0;
  MAKE;
  printf("%d\n", found);
  return 0;
}
"""
LEFT = {
    "open": "write_it(open(name, O_CREAT | O_APPEND | O_WRONLY, 0600))",
    "fopen": "fclose(fopen(name, \"a\"))",
    "creat": "write_it(creat(name, 0600))",
    "its relative name": "write_it(open(other, O_CREAT | O_WRONLY, 0600)); chdir(\"/\")",
    "folder": "mkdir(name, 0700)",
    "renamed": "fclose(fopen(\"plain\", \"w\")); rename(\"plain\", name)",
    "linked": "fclose(fopen(\"plain\", \"w\")); link(\"plain\", name)",
    "symbolic link": "symlink(\"nowhere\", name)",
    "pipe": "mkfifo(name, 0600)",
    "by number": "write_it(syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_WRONLY, 0600))",
    "a folder by number": "syscall(SYS_mkdirat, AT_FDCWD, name, 0700)",
}
REMOVED = {
    "removed": "fclose(fopen(name, \"w\")); unlink(name)",
    "renamed away": "fclose(fopen(name, \"w\")); rename(name, \"plain\")",
    "another name": "sprintf(name, \"%s/a1%d\", getenv(\"FOLDER\"), getpid()); fclose(fopen(name, \"w\"))",
    "many, removed": ("for (int i = 0; i < 9; ++i) fclose(fopen(i % 2 ? name : other, \"w\")); "
                      "unlink(name); unlink(other)"),
    "only read": "fclose(fopen(name, \"w\")); close(open(name, O_RDONLY)); unlink(name)",
    "its score": "fclose(fopen(\"/proc/self/oom_score_adj\", \"r+\"))",
}


def found_by_visitors(warm, folder):
    env = {**REQUEST_ENV, "FOLDER": str(folder.path)}
    answers = [warm.ask(env=env) for _ in range(ASKED)]
    assert {answer.code for answer in answers} == {0}, answers
    return [answer.text.strip() for answer in answers]


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
@pytest.mark.parametrize("kind", LEFT)
def test_what_is_left_is_the_request_s_own(folder, kind, flags):
    program = folder.compile("left.c", C_TEXT.replace("MAKE;", LEFT[kind] + ";"), *flags)
    with Warm([program], verify=False) as warm:
        assert found_by_visitors(warm, folder) == ["0"] * ASKED
        assert warm.workers == ASKED and "process id" in warm.retired[0][1], warm.retired


@pytest.mark.parametrize("kind", REMOVED)
def test_what_is_removed_costs_no_worker(folder, kind):
    program = folder.compile("removed.c", C_TEXT.replace("MAKE;", REMOVED[kind] + ";"))
    with Warm([program]) as warm:
        found_by_visitors(warm, folder)
        assert warm.workers == 1, warm.retired


SCRIPTS = {
    "perl": 'my $n = "$ENV{FOLDER}/a.$$"; print -e $n ? 1 : 0; open(my $f, ">>", $n); print $f "x";',
    "python": ('import os\nn = os.environ["FOLDER"] + f"/a.{os.getpid()}"\nprint(int(os.path.exists(n)))\n'
               'open(n, "a").close()\n'),
    "ruby": 'n = "#{ENV[\'FOLDER\']}/a.#{$$}"\nputs File.exist?(n) ? 1 : 0\nFile.write(n, "x")\n',
    "bash": 'n=$FOLDER/a.$$\n[ -e "$n" ] && echo 1 || echo 0\necho x >>"$n"\n',
}


@pytest.mark.parametrize("language", SCRIPTS)
def test_a_script_s_is_its_own(folder, needs, language):
    script = folder.script("x", SCRIPTS[language])
    lines = {"perl": [PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script],
             "python": [PYTHON, f"{adapters_dir()}/python/start.py", "--preload=", script],
             "ruby": command(script, preload=""), "bash": ["/bin/bash", script]}
    if language in ("ruby", "bash"):
        needs(RUBY if language == "ruby" else "bash")
    level = "linked" if language == "bash" else "compiled"
    with Warm(lines[language], level=level, env=LAUNCH_ENV, verify=False) as warm:
        if language in ("perl", "python", "ruby"):
            warm.argv = [lines[language][0], script]
        assert found_by_visitors(warm, folder) == ["0"] * ASKED
        assert "process id" in warm.retired[0][1], warm.retired
