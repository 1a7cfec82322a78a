"""Programs that are shell scripts which only execute another program: they are warm as that one."""

import json
import os
import shutil

import pytest

from harness.processes import wait_until
from harness.programs import reported

WARM = 'mode = "persistent"'
# What a program in each language says of itself.
PERL = r"""
    use strict; use warnings; use Cwd;
    my %env = %ENV;
    my %seen = (env => \%env, argv => [@ARGV], zero => $0, cwd => getcwd(), comm => comm());
    sub comm { open my $f, '<', '/proc/self/comm' or die; my $c = <$f>; chomp $c; $c }
    use JSON::PP; print "Content-Type: application/json\n\n", JSON::PP->new->canonical->encode(\%seen);
    """
PYTHON = """
    import json, os, sys
    comm = open("/proc/self/comm").read().strip()
    print("Content-Type: application/json\\n")
    print(json.dumps({"env": dict(os.environ), "argv": sys.argv[1:], "zero": sys.argv[0], "cwd": os.getcwd(),
                      "comm": comm}, sort_keys=True))
    """


def wrapped(site, name, lines, shell="/bin/sh"):
    path = site.cgi_bin / name
    path.write_text(f"#!{shell}\n{lines}\n")
    path.chmod(0o755)
    return path


def real(site, language="perl"):
    """The program itself, outside of the roots."""
    made = getattr(site, language)("real", {"perl": PERL, "python": PYTHON}[language])
    place = site.folder / "elsewhere" / "real"
    place.parent.mkdir(exist_ok=True)
    made.rename(place)
    return place


def both(site, script, requests, settings=WARM, **more):
    """Each request answered classic and then warm, as dictionaries; and the bridge."""
    bridge = site.start_bridge(settings, **more)
    site.cgibridge("mode", "x", "classic", "--config", bridge.config)
    classic = [reported(bridge.request(script, **request)) for request in requests]
    site.cgibridge("mode", "x", "persistent", "--config", bridge.config)
    bridge.request(script)
    bridge.wait_warm(script)
    before = rewound(bridge, script)
    warm = [reported(bridge.request(script, **request)) for request in requests for _ in range(2)]
    return classic, warm, rewound(bridge, script) - before, bridge


def rewound(bridge, script):
    return bridge.program(script)["arms"].get("rewind", {"requests": 0})["requests"]


PROGRAM = '[[program]]\nname = "x"\nmatch = "*"\n'
REQUESTS = [{}, {"query": "a=b"}, {"query": "one+two"}, {"HTTP_COOKIE": "a=b", "PATH_INFO": "/p"},
            {"method": "POST", "body": b"x=1"}, {"odd-name": "1"}, {"LANG": "C"}]


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "/bin/sh -e"])
@pytest.mark.parametrize("language, lines", [
    ("perl", "exec {real} \"$@\""),
    ("perl", "exec {real} --config '/etc/some thing'"),
    ("perl", "# comment\nset -e\nexport A=1 LANG=C.UTF-8\nPERL5LIB=/opt/none; export PERL5LIB\n"
             "exec perl -w {real} \"$@\""),
    ("perl", "exec /usr/bin/env perl -T {real}"),
    ("perl", "exec perl -w ../elsewhere/real \"$@\""),
    ("python", "exec {real} \"$@\""),
    ("python", "exec python3 ../elsewhere/real \"$@\""),
    ("python", "exec /usr/bin/python3 -u {real} first \"$@\""),
], ids=range(8))
def test_what_the_program_sees(site, shell, language, lines):
    script = wrapped(site, "x", lines.format(real=real(site, language)), shell)
    classic, warm, served, bridge = both(site, script, REQUESTS, programs=PROGRAM)
    for n, request in enumerate(REQUESTS):
        assert warm[2 * n] == warm[2 * n + 1] == classic[n], request
    # Perl and Python have taken their locale when they are warm, so a request with another one runs classic.
    assert served == 2 * len(REQUESTS) - (0 if "LANG=" in lines else 2)
    entry = bridge.program(script)
    assert entry["level"] == "compiled" and entry["reset"] == "rewind", entry


def test_a_native_program(site):
    target = site.c("real", r"""
        #include <stdio.h>
        extern char **environ;
        int main(int argc, char **argv) {
          printf("Content-Type: application/json\n\n[\"%s\"", argv[0]);
          for (int i = 1; i < argc; ++i) printf(",\"%s\"", argv[i]);
          printf("]\n");
          return 0;
        }""")
    script = wrapped(site, "x", f'exec {target} word "$@"')
    classic, warm, served, bridge = both(site, script, [{}, {"query": "a+b"}], programs=PROGRAM)
    assert classic == [[str(target), "word"], [str(target), "word", "a", "b"]]
    assert warm == [one for one in classic for _ in range(2)] and served == 4
    assert bridge.program(script)["level"] == "linked"


def test_tcls_own_way_to_restart_a_script(site):
    if not os.path.realpath(shutil.which("tclsh") or "").endswith("tclsh8.6"):
        pytest.skip("no tclsh 8.6")
    script = wrapped(site, "x", '# restarts by tclsh \\\nexec tclsh "$0" ${1+"$@"}\n'
                     'puts "Content-Type: application/json\\n"\n'
                     'puts "\\[\\"$argv0\\",\\"$argv\\",\\"$env(QUERY_STRING)\\"]"')
    requests = [{}, {"query": "a+b"}, {"query": "c=d"}]
    classic, warm, served, bridge = both(site, script, requests, programs=PROGRAM)
    assert classic == [[str(script), "", ""], [str(script), "a b", "a+b"], [str(script), "", "c=d"]]
    assert warm == [one for one in classic for _ in range(2)] and served == 6
    assert bridge.program(script)["level"] == "compiled"


@pytest.mark.parametrize("name, value", [("PWD", "/usr"), ("OLDPWD", "/usr"), ("OPTIND", "7"), ("SHLVL", "3"),
                                         ("FCGI_CHDIR", "/usr"), ("COLUMNS", "80")])
def test_what_means_something_to_the_shell_runs_classic(site, name, value):
    script = wrapped(site, "x", f"exec {real(site)}")
    bridge = site.start_bridge(WARM)
    bridge.request(script)
    bridge.wait_warm(script)
    seen = reported(bridge.request(script, **{name: value}))
    assert name != "FCGI_CHDIR" or seen["cwd"] == "/usr"
    assert bridge.program(script)["misfits"] == {"count": 1, "variable": name}
    assert reported(bridge.request(script))["cwd"] == str(site.cgi_bin)
    assert bridge.program(script)["misfits"]["count"] == 1


def test_a_change_of_what_is_executed_is_noticed(site):
    target = site.folder / "elsewhere"
    target.write_text("#!/usr/bin/perl\nprint qq(Content-Type: text/plain\\n\\none\\n);\n")
    target.chmod(0o755)
    script = wrapped(site, "x", f"exec {target}")
    bridge = site.start_bridge(WARM)
    for word in ("one", "two", "three"):
        text = target.read_text()
        for old in ("one", "two"):
            text = text.replace(old, word)
        target.write_text(text)
        wait_until(lambda: bridge.request(script).body == f"{word}\n".encode(), word)
        bridge.wait_warm(script)
        assert bridge.request(script).body == f"{word}\n".encode()
    script.write_text("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nfour\\n'\n")
    assert bridge.request(script).body == b"four\n"


def test_a_target_that_cannot_run_is_the_shells_to_report(site):
    bridge = site.start_bridge(WARM)
    bridge.allow_log("502|not found|x:")
    for name, target in (("gone", site.folder / "gone"), ("mode", site.folder / "mode")):
        (site.folder / "mode").write_text("#!/usr/bin/perl\n")
        script = wrapped(site, name, f"exec {target}")
        for n in range(3):
            answer = bridge.request(script)
            assert answer.status == 502 and str(target).encode() in answer.stderr + answer.body, answer
            if n == 0:
                bridge.wait_warm(script)
    made = site.folder / "gone"
    made.write_text("#!/usr/bin/perl\nprint qq(Content-Type: text/plain\\n\\nhere\\n);\n")
    made.chmod(0o755)
    assert bridge.request(site.cgi_bin / "gone").body == b"here\n"
    bridge.wait_warm(site.cgi_bin / "gone")
    assert bridge.request(site.cgi_bin / "gone").body == b"here\n"
    made.chmod(0o644)
    answer = bridge.request(site.cgi_bin / "gone")
    assert answer.status == 502 and b"Permission denied" in answer.stderr


@pytest.mark.parametrize("lines", ["cd /\nexec {real}", "export PATH=.:/usr/bin\nexec perl {real}",
                                   "export PATH=/usr/bin:\nexec perl {real}", "exec {real} $QUERY_STRING",
                                   "exec 2>&1\nexec {real}"])
def test_a_script_that_does_more_is_run_by_its_shell(site, lines):
    script = wrapped(site, "x", lines.format(real=real(site)))
    bridge = site.start_bridge(WARM)
    for n in range(10):
        seen = reported(bridge.request(script, query=f"n={n}"))
        assert seen["env"]["QUERY_STRING"] == f"n={n}"
    assert seen["cwd"] == ("/" if "cd" in lines else str(site.cgi_bin))
    wait_until(lambda: bridge.program(script)["level"] in ("linked", "none"), "its shell is what is warm")


def test_check_says_what_it_is(site):
    script = wrapped(site, "x", f"exec {real(site)}")
    done = site.cgibridge("check", "--json", "--runs", "3", script, expect=None, seconds=120)
    found = json.loads(done.stdout)
    assert found["kind"] == "Perl script, executed by a shell script"


def test_an_interpreter_that_is_a_wrapper_with_an_environment_of_its_own(site):
    """Its requests pass by it, and what it executes is as warm as ever."""
    interpreter = site.c("interpreter", r"""
        #include <stdlib.h>
        #include <unistd.h>
        int main(int count, char **words) {
          setenv("ADDED", getenv("QUERY_STRING") ? getenv("QUERY_STRING") : "none", 1);
          execv("/usr/bin/perl", words);
          return count;
        }""").rename(site.folder / "perl")
    script = site.perl("x", PERL)
    script.write_text(script.read_text().replace("/usr/bin/perl", str(interpreter)))
    classic, warm, served, bridge = both(site, script, REQUESTS[:4], programs=PROGRAM)
    assert [one["env"]["ADDED"] for one in classic] == [one.get("query", "") for one in REQUESTS[:4]]
    assert warm == [one for one in classic for _ in range(2)] and served == 8
    entry = bridge.program(script)
    assert entry["level"] == "linked" and "another environment: sets ADDED" in json.dumps(entry), entry
