"""Only adapters can use the adapters' call: a program that calls readlink() on any path that its visitor
writes gets what the file system has there, which is nothing."""

import os
import subprocess

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, SHALLOWER, Zygote, adapters_dir, run_plainly
from node import NODE, Ahead, needs_node
from ruby import RUBY, command as ruby_command

# Every call, as someone who has read the documentation would try it, and the calls that were once open to
# all.
CALLS = """open active checkpoint/compiled checkpoint/booted at-fork/compiled reset reset/fork/why argv env
whole/argv whole/env argv/word argv/count environ/set random streams learn script next/0 ruby-run/exit(9)
ruby-end/9 done/9 note/warning/w note/loaded/..::..::evil note/loaded//etc/evil note/file//etc/passwd
note/folders//tmp anew/why note/shallower/why exit/9""".split() + ["note/loaded/Evil\n/tmp/Evil.pm"]
# Only the adapter knows the words that must precede the call.
PATHS = [f"/.cgibridge/{guess}{call}" for guess in ("", "0" * 32 + "/", "/", "../.cgibridge/")
         for call in CALLS]

PERL = """for (split /\\|/, $ENV{HTTP_PATHS}) {
    my $l = readlink $_; print defined $l ? "FOUND $_ $l\\n" : "no\\n";
}
print "SECRET $ENV{SECRET}\\n";
"""
PYTHON = """import os
for path in os.environ['HTTP_PATHS'].split('|'):
    try:
        print('FOUND', path, os.readlink(path))
    except OSError:
        print('no')
print('SECRET', os.environ['SECRET'])
"""
RUBY_TEXT = """ENV['HTTP_PATHS'].split('|').each do |path|
  puts "FOUND #{path} #{File.readlink(path)}"
rescue SystemCallError
  puts 'no'
end
puts "SECRET #{ENV['SECRET']}"
"""
TCL = """foreach path [split $env(HTTP_PATHS) |] {
    puts [expr {[catch { file readlink $path } link] ? "no" : "FOUND $path $link"}]
}
puts "SECRET $env(SECRET)"
"""
NODE_TEXT = """const fs = require('fs');
for (const path of process.env.HTTP_PATHS.split('|')) {
  try { console.log('FOUND', path, fs.readlinkSync(path)); } catch { console.log('no'); }
}
console.log('SECRET', process.env.SECRET);
"""
C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  char to[400], *paths = getenv("HTTP_PATHS");
  for (char *path = strtok(paths, "|"); path; path = strtok(NULL, "|")) {
    int found = readlink(path, to, sizeof to) >= 0 || readlinkat(AT_FDCWD, path, to, sizeof to) >= 0;
    puts(found ? "FOUND" : "no");
  }
  printf("SECRET %s\n", getenv("SECRET"));
}
"""


def zygote_of(language, folder, reset):
    """A zygote, and the command line of its program."""
    if language == "perl":
        script = folder.script("x.pl", PERL)
        line = ["/usr/bin/perl", f"-I{adapters_dir()}/perl", "-MCGIBridge", script]
        return Zygote(line, level="compiled", reset=reset), ["/usr/bin/perl", script]
    if language == "python":
        script = folder.script("x.py", PYTHON)
        line = ["/usr/bin/python3", f"{adapters_dir()}/python/start.py", "--preload=", script]
        return Zygote(line, level="compiled", reset=reset), ["/usr/bin/python3", script]
    if language == "ruby":
        script = folder.script("x.rb", RUBY_TEXT)
        return Zygote(ruby_command(script), level="compiled", reset=reset), [RUBY, script]
    if language == "tcl":
        script = folder.script("x.tcl", TCL)
        env = {"TCL_LIBRARY": f"{adapters_dir()}/tcl", "CGIBRIDGE_PRELOAD": "", **LAUNCH_ENV}
        line = ["/usr/bin/tclsh", script]
        return Zygote(line, level="compiled", env=env, reset=reset), line
    if language == "node":
        script = folder.script("x.js", NODE_TEXT)
        return Ahead(script, reset=reset), [NODE, script]
    program = folder.compile("x.c", C)
    return Zygote([program], level="linked", reset=reset), [program]


CASES = [(language, reset) for language in ("perl", "python", "ruby", "tcl", "linked")
         for reset in ("fork", "rewind", "none") if (language, reset) != ("linked", "none")]


@pytest.fixture(params=[*CASES, pytest.param(("node", "fork"), marks=needs_node),
                        pytest.param(("node", "none"), marks=needs_node)], ids="-".join)
def warm(request, folder, needs):
    language, reset = request.param
    if language != "linked":
        needs({"python": "python3", "tcl": "tclsh"}.get(language, language))
    zygote, line = zygote_of(language, folder, reset)
    with zygote:
        yield zygote, line


def test_a_path_from_a_visitor_reaches_nothing(warm):
    zygote, line = warm
    env = {**REQUEST_ENV, "HTTP_PATHS": "|".join(PATHS), "SECRET": "of this request"}
    plain = run_plainly(line, env=env)
    assert b"FOUND" not in plain.stdout and b"SECRET of this request" in plain.stdout
    for _ in range(1 if isinstance(zygote, Ahead) else 2):
        answer = zygote.worker().request(line, env=env)
        assert answer.seen() == plain.seen()
        assert answer.notes == []


# What the calls return to a program that has found out the secret, after its script has begun to run.
KNOWING = """my $call = $CGIBridge::call or die;
for (split /\\|/, $ENV{HTTP_PATHS}) { my $l = readlink "$call$_"; print "FOUND $_ $l\\n" if defined $l }
print "end\\n";
"""


def test_the_call_is_closed_while_the_script_runs(folder):
    script = folder.script("x.pl", KNOWING)
    harmless = {"ruby-end/9"}  # kinds of end that this language does not have
    calls = [call for call in CALLS if call != "exit/9" and not call.startswith("note/loaded")]
    env = {**REQUEST_ENV, "HTTP_PATHS": "|".join(calls)}
    line = ["/usr/bin/perl", f"-I{adapters_dir()}/perl", "-MCGIBridge", script]
    with Zygote(line, level="compiled", reset="rewind") as zygote:
        answer = zygote.worker().request([script], env=env)
        found = {row.split(" ")[1] for row in answer.text.splitlines() if row.startswith("FOUND")}
        assert found <= harmless | {"done/9"}, answer.text
        assert answer.notes == [] and answer.text.endswith("end\n")


@pytest.mark.parametrize("language", ["perl", "python", "ruby", "tcl"])
def test_each_zygote_has_a_secret_of_its_own_that_no_list_of_processes_shows(folder, needs, language):
    needs({"python": "python3", "tcl": "tclsh"}.get(language, language))
    seen = set()
    for number in range(2):
        zygote, _ = zygote_of(language, folder, "fork")
        with zygote:
            assert zygote.stands
            for name in ("cmdline", "environ"):
                with open(f"/proc/{zygote.process.pid}/{name}", "rb") as file:
                    assert b".cgibridge/" not in file.read()
            seen.add(secret_of(zygote.process.pid))
    assert len(seen) == 2 and None not in seen


def secret_of(pid):
    """The library's secret: 32 digits after the call's root, somewhere in the process's memory."""
    import re
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            start, end = (int(word, 16) for word in span.split("-"))
            memory.seek(start)
            try:
                found = re.search(rb"/\.cgibridge/([0-9a-f]{32})/", memory.read(end - start))
            except OSError:
                continue
            if found:
                return found[1]
    return None


def test_a_program_without_an_adapter_cannot_open_it_for_itself(folder):
    """At `linked` the program's own constructors run in the zygote."""
    program = folder.compile("early.c", r"""
#include <stdio.h>
#include <unistd.h>
static long got;
__attribute__((constructor)) static void early(void) {
  char to[100];
  got = readlink("/.cgibridge/open", to, sizeof to);
}
int main(void) { printf("%ld\n", got); }
""")
    with Zygote([program], level="linked") as zygote:
        assert zygote.worker().request([program]).text == "-1\n"


def test_a_wrapper_s_own_zygote_has_the_call_again(folder, needs):
    """The interpreter that a wrapper executes opens the call again."""
    needs("perl")
    script = folder.script("x.pl", "print 'fine';")
    wrapper = folder.script("wrapper", '#!/bin/sh\nexec /usr/bin/perl "$@"\n')
    line = [wrapper, f"-I{adapters_dir()}/perl", "-MCGIBridge", script]
    with Zygote(line, level="compiled") as zygote:
        assert zygote.stands, (zygote.note(SHALLOWER), zygote.log())
        assert zygote.worker().request([wrapper, script]).text == "fine"


def test_threads_of_a_node_program_are_no_checkpoints(folder, needs):
    needs("node")
    if not os.path.exists(NODE):
        pytest.skip("no node")
    script = folder.script("x.js", """
const { Worker } = require('worker_threads');
new Worker("require('worker_threads').parentPort.postMessage(process.argv.length)", { eval: true, env: {} })
  .on('message', (count) => console.log(count));
""")
    with Ahead(script) as ahead:
        assert ahead.ask(NODE, script).seen() == run_plainly([NODE, script]).seen()
    assert subprocess.run([NODE, script], capture_output=True, text=True, check=True).stdout == "2\n"
