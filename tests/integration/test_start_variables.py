"""The parts of the environment that libc and interpreters read once, at their start: time zone, locale, their
own settings. Web-server locations take turns to send different values for one program, and each is answered
as by a new process, in every arm."""

import shutil

import pytest

from harness.processes import wait_until

# Each writes the local hour of the epoch, its locale, and the effect of its own settings.
PERL = r"""
    use POSIX ();
    print "Content-Type: text/plain\n\n", POSIX::strftime("%H %Z", localtime 0), " ",
        POSIX::setlocale(POSIX::LC_CTYPE()), " ", (grep { $_ eq "." } @INC) ? "unsafe" : "safe",
        " $ENV{TZ} ", join(",", grep { m{/early} } @INC), "\n";
    """
PYTHON = r"""
    import locale, os, sys, time
    print("Content-Type: text/plain\n")
    print(time.strftime("%H %Z", time.localtime(0)), time.tzname, locale.setlocale(locale.LC_CTYPE),
          sys.stdout.encoding, sys.flags.utf8_mode, sys.stdout.errors, os.environ.get("TZ"),
          [path for path in sys.path if "early" in path])
    """
RUBY = r"""
    print "Content-Type: text/plain\n\n"
    puts Time.at(0).strftime("%H %Z"), Encoding.default_external, Encoding.find("locale"), ENV["TZ"].inspect,
         $LOAD_PATH.grep(/early/).inspect
    """
TCL = r"""
    puts "Content-Type: text/plain\n"
    puts [list [clock format 0 -format {%H %Z}] [encoding system] [info exists env(TZ)] \
               [lsearch -glob -inline $auto_path *early*]]
    """
NODE = r"""
    process.stdout.write('Content-Type: text/plain\n\n');
    console.log(new Date(0).getHours(), process.env.TZ, Intl.DateTimeFormat().resolvedOptions().locale,
                process.env.NODE_NO_WARNINGS);
    """
SHELL = r"""
    printf 'Content-Type: text/plain\n\n'
    printf '%(%H %Z)T\n' 0
    date -d @0 '+%H %Z'
    locale charmap
    echo "${#accent} $TZ"; accent=$'\xc3\xa9'; echo "${#accent}"
    """
C = r"""
    #include <langinfo.h>
    #include <locale.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <time.h>
    CONSTRUCTOR
    int main(void) {
      char text[64];
      time_t epoch = 0;
      MAIN
      strftime(text, sizeof text, "%H %Z", localtime(&epoch));
      printf("Content-Type: text/plain\n\n%s %s %s %s\n", text, setlocale(LC_ALL, NULL), nl_langinfo(CODESET),
             getenv("TZ") ? getenv("TZ") : "none");
      return 0;
    }
    """

LOCATIONS = {
    "tokyo": {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PERL_USE_UNSAFE_INC": "1", "PYTHONIOENCODING": "latin-1",
              "RUBYOPT": "-Ku", "NODE_NO_WARNINGS": "1"},
    "new-york": {"TZ": "America/New_York", "LC_ALL": "C.UTF-8", "PERL5LIB": "/early/perl",
                 "PYTHONPATH": "/early/python", "RUBYLIB": "/early/ruby", "TCLLIBPATH": "/early/tcl"},
    "plain": {},
}
PASSED = 'pass_params = ["PERL*", "PYTHON*", "RUBY*", "NODE_*", "TCLLIBPATH", "OWN_*"]\nlearn = "none"\n'


def c_program(site, name, constructor="", main=""):
    text = C.replace("CONSTRUCTOR", constructor).replace("MAIN", main)
    return site.c(name, text)


def program_in(site, language):
    if language == "perl":
        return site.perl("x.pl", PERL)
    if language == "python":
        return site.python("x.py", PYTHON)
    if language == "bash":
        return site.script("x.sh", "#!/bin/bash\n" + SHELL.replace("\n    ", "\n"))
    if language == "c":
        return c_program(site, "x", main='setlocale(LC_ALL, "");')
    interpreter, text = {"ruby": ("ruby", RUBY), "tcl": ("tclsh", TCL), "node": ("node", NODE)}[language]
    path = shutil.which(interpreter, path="/usr/bin:/usr/local/bin") or pytest.skip(f"no {interpreter}")
    suffix = {"node": "js"}.get(language, language)
    return site.script(f"x.{suffix}", f"#!{path}\n" + text.replace("\n    ", "\n"))


def start_nginx(site, bridge, locations=None):
    """One location for each set of variables; each serves all of cgi-bin."""
    blocks = []
    for name, variables in (locations or LOCATIONS).items():
        params = "\n".join(f'  fastcgi_param {key} "{value}";' for key, value in variables.items())
        blocks.append(f"""
location ~ ^/{name}(/.*)$ {{
  include /etc/nginx/fastcgi_params;
  fastcgi_param SCRIPT_FILENAME {site.cgi_bin}$1;
  fastcgi_param SCRIPT_NAME /x;
{params}
  fastcgi_pass bridge;
}}""")
    return site.start_nginx(bridge, locations="\n".join(blocks))


def ask(server, location, program):
    response = server.send_request(f"/{location}/{program.name}")
    assert response.status == 200, response.text
    return response.text


def classic_answers(site, program, locations=None):
    """Classic's answers by location, from a separate bridge."""
    bridge = site.start_bridge('mode = "classic"\n' + PASSED, name="classic.toml",
                               listen=[f"unix:{site.folder}/classic.sock"])
    server = start_nginx(site, bridge, locations)
    return {name: ask(server, name, program) for name in locations or LOCATIONS}


def warm_by(bridge, server, location, program):
    """Sends requests until a warm worker has answered, and returns the status after that."""
    def answered():
        ask(server, location, program)
        entry = bridge.program(program)
        return entry if entry["requests_persistent"] > 0 else None
    return wait_until(answered, "a warm worker answers")


DEEP = [(language, reset) for language in ("perl", "python", "ruby", "tcl")
        for reset in ("rewind", "fork", "none")]


@pytest.mark.parametrize("language, reset", DEEP + [("node", "fork"), ("node", "none")])
def test_locations_in_turn_answer_as_classic(site, language, reset):
    program = program_in(site, language)
    expected = classic_answers(site, program)
    assert len(set(expected.values())) == len(expected), "the locations differ in nothing"
    bridge = site.start_bridge(f'reset = "{reset}"\n' + PASSED)
    server = start_nginx(site, bridge)
    before = warm_by(bridge, server, "tokyo", program)
    for _ in range(6):
        for location, answer in expected.items():
            assert ask(server, location, program) == answer, location
    entry = bridge.program(program)
    assert entry["level"] == before["level"] in ("compiled", "booted")
    assert entry["generation"] == before["generation"]
    assert entry["requests_persistent"] > before["requests_persistent"]
    assert entry["misfits"]["count"] == 12
    assert entry["misfits"]["variable"] in {name for one in LOCATIONS.values() for name in one}
    bridge.expect_log(r"a request's \w+ is not what its zygote read at its start: it runs classic")
    assert f"ran classic, as their {entry['misfits']['variable']} is not what the zygote read: 12" in (
        bridge.command("status"))
    metrics = bridge.command("status", "--openmetrics")
    assert any(line.startswith("cgibridge_program_misfits_total") and line.split()[-1] == "12"
               for line in metrics.splitlines())


def test_php_has_its_locale_and_settings_as_in_classic(site):
    path = shutil.which("php-cgi", path="/usr/bin") or pytest.skip("no php-cgi")
    (site.folder / "ini").mkdir()
    (site.folder / "ini" / "php.ini").write_text("precision = 3\n")
    locations = {"own": {"LC_ALL": "C.UTF-8", "PHPRC": f"{site.folder}/ini", "REDIRECT_STATUS": "200"},
                 "plain": {"REDIRECT_STATUS": "200"}}
    program = site.script("x.php", f"#!{path}\n<?php echo setlocale(LC_ALL, ''), ' ', 1 / 3;\n")
    passed = 'pass_params = ["PHPRC"]\n'
    answers = {}
    for mode in ("classic", "persistent"):
        bridge = site.start_bridge(f'mode = "{mode}"\n' + passed, name=f"{mode}.toml",
                                   listen=[f"unix:{site.folder}/{mode}.sock"])
        server = start_nginx(site, bridge, locations)
        if mode == "persistent":
            warm_by(bridge, server, "own", program)
        answers[mode] = [ask(server, name, program) for name in ["own", "plain"] * 3]
    assert answers["persistent"] == answers["classic"]
    assert answers["classic"][0] != answers["classic"][1]
    assert bridge.program(program)["misfits"]["count"] == 3


@pytest.mark.parametrize("language, reset", [(language, reset) for language in ("bash", "c", "perl", "python")
                                             for reset in ("rewind", "fork")])
def test_before_main_nothing_of_it_is_read_yet(site, language, reset):
    program = program_in(site, language)
    expected = classic_answers(site, program)
    bridge = site.start_bridge(f'reset = "{reset}"\nlevel = "linked"\n' + PASSED)
    server = start_nginx(site, bridge)
    before = warm_by(bridge, server, "tokyo", program)
    for _ in range(4):
        for location, answer in expected.items():
            assert ask(server, location, program) == answer, location
    entry = bridge.program(program)
    assert entry["requests_classic"] == before["requests_classic"]
    assert entry["misfits"]["count"] == 0


# What a constructor does before main, where the checkpoint is.
EARLY = {
    "time zone": ("__attribute__((constructor)) static void early(void) { tzset(); }",
                  'setlocale(LC_ALL, "");', LOCATIONS),
    "locale": ('__attribute__((constructor)) static void early(void) { setlocale(LC_ALL, ""); }', "",
               LOCATIONS),
    "of its own": (
        'static const char *kind; __attribute__((constructor)) static void early(void) '
        '{ kind = getenv("OWN_KIND"); }',
        'printf("X-Kind: %s\\n", kind ? kind : "none");',
        {"a": {"OWN_KIND": "a"}, "b": {"OWN_KIND": "b"}, "none": {}}),
    "of the server": (
        'static const char *kind; __attribute__((constructor)) static void early(void) '
        '{ kind = getenv("SERVER_NAME"); }',
        'printf("X-Kind: %s\\n", kind ? kind : "none");',
        {"a": {"SERVER_NAME": "a.example"}, "b": {"SERVER_NAME": "b.example"}}),
}


@pytest.mark.parametrize("what", EARLY)
def test_what_a_constructor_reads_is_noticed(site, what):
    constructor, main, locations = EARLY[what]
    if "X-Kind" in main:
        main = main.replace("X-Kind", "Content-Language")
    program = c_program(site, "x", constructor, main)

    def answers(server, name):
        response = server.send_request(f"/{name}/x")
        return response.status, response.headers.get("content-language"), response.text

    classic = site.start_bridge('mode = "classic"\n' + PASSED, name="classic.toml",
                                listen=[f"unix:{site.folder}/classic.sock"])
    server = start_nginx(site, classic, locations)
    expected = {name: answers(server, name) for name in locations}
    bridge = site.start_bridge(PASSED)
    server = start_nginx(site, bridge, locations)
    warm_by(bridge, server, next(iter(locations)), program)
    for _ in range(4):
        for name, answer in expected.items():
            assert answers(server, name) == answer, name
    entry = bridge.program(program)
    assert entry["misfits"]["count"] > 0
    assert entry["level"] == "linked"


def test_what_most_requests_bring_is_what_the_next_zygote_gets(site):
    program = program_in(site, "perl")
    expected = classic_answers(site, program)
    bridge = site.start_bridge(PASSED)
    server = start_nginx(site, bridge)
    before = warm_by(bridge, server, "tokyo", program)

    def follows():
        assert ask(server, "new-york", program) == expected["new-york"]
        entry = bridge.program(program)
        return entry["generation"] > before["generation"]
    wait_until(follows, "another zygote serves")
    bridge.expect_log(r"requests with another \w+ prevail: a new generation")
    entry = bridge.program(program)
    for _ in range(4):
        assert ask(server, "new-york", program) == expected["new-york"]
        assert ask(server, "tokyo", program) == expected["tokyo"]
    after = bridge.program(program)
    assert after["misfits"]["count"] == entry["misfits"]["count"] + 4
    assert after["generation"] == entry["generation"]


def test_one_that_was_made_warm_before_anybody_asked_follows_the_first(site):
    program = program_in(site, "perl")
    expected = classic_answers(site, program)
    bridge = site.start_bridge(PASSED, bridge=f'prewarm = ["{program}"]')
    server = start_nginx(site, bridge)
    bridge.wait_warm(program)
    assert ask(server, "tokyo", program) == expected["tokyo"]
    wait_until(lambda: bridge.program(program)["generation"] == 2, "it is launched as the request asks")
    warm_by(bridge, server, "tokyo", program)
    assert ask(server, "tokyo", program) == expected["tokyo"]
    assert bridge.program(program)["misfits"]["count"] >= 1


def test_a_visitor_who_chooses_the_value_multiplies_nothing(site):
    """A web server that passes a header on as LANG."""
    program = program_in(site, "perl")
    bridge = site.start_bridge(PASSED)
    server = start_nginx(site, bridge, {"own": {}, "lang": {"LANG": "$http_accept_language"}})
    before = warm_by(bridge, server, "own", program)
    for number in range(60):
        answer = server.send_request(f"/lang/{program.name}", headers={"Accept-Language": f"xx{number}"})
        assert answer.status == 200
        if number % 2:
            ask(server, "own", program)
    entry = bridge.program(program)
    assert entry["generation"] == entry["newest_generation"] == before["generation"]
    assert entry["misfits"]["count"] == 60
    assert entry["requests_persistent"] == before["requests_persistent"] + 30


SHOWS = {
    "perl": r"""
print "Content-Type: text/plain\n\n$ENV{KIND} $ENV{TZ} ", `printenv KIND TZ`, (localtime 0)[2];""",
    "python": r"""
import os, subprocess, time
print("Content-Type: text/plain\n")
print(os.environ.get("KIND"), os.environ.get("TZ"), time.localtime(0).tm_hour,
      subprocess.run(["printenv", "KIND", "TZ"], capture_output=True).stdout)""",
    "ruby": r"""
puts "Content-Type: text/plain\n\n#{ENV["KIND"]} #{ENV["TZ"]} #{`printenv KIND TZ`} #{Time.at(0).hour}" """,
    "tcl": r"""
puts "Content-Type: text/plain\n"
puts "$env(KIND) $env(TZ) [exec printenv KIND TZ] [clock format 0 -format %H]" """,
    "bash": r"""
printf 'Content-Type: text/plain\n\n'; echo "$KIND $TZ $(printenv KIND TZ) $(date -d @0 +%H)" """,
    "node": r"""
console.log('Content-Type: text/plain\n\n' + process.env.KIND, process.env.TZ, new Date(0).getHours(),
            require('child_process').execFileSync('printenv', ['KIND', 'TZ']).toString());"""}


@pytest.mark.parametrize("language, reset", [("perl", "rewind"), ("python", "fork"), ("ruby", "rewind"),
                                             ("tcl", "rewind"), ("bash", "rewind"), ("node", "fork"),
                                             ("perl", "none"), ("python", "none")])
def test_what_the_first_line_assigns_is_seen(site, language, reset):
    """#!/usr/bin/env -S NAME=value interpreter"""
    interpreter = {"python": "python3", "tcl": "tclsh"}.get(language, language)
    path = shutil.which(interpreter, path="/usr/bin:/usr/local/bin") or pytest.skip(f"no {interpreter}")
    suffix = {"node": "js"}.get(language, language)
    line = f"#!/usr/bin/env -S KIND=first KIND='of a line' TZ=Asia/Tokyo {path}\n"
    program = site.script(f"x.{suffix}", line + SHOWS[language] + "\n")
    locations = {"tokyo": {"TZ": "America/New_York", "KIND": "of the web server"}, "plain": {}}
    expected = classic_answers(site, program, locations)
    assert "of a line" in expected["plain"] and "Asia/Tokyo" in expected["tokyo"]
    bridge = site.start_bridge(f'reset = "{reset}"\nlearn = "none"\n')
    server = start_nginx(site, bridge, locations)
    before = warm_by(bridge, server, "tokyo", program)
    for _ in range(4):
        for location, answer in expected.items():
            assert ask(server, location, program) == answer, location
    entry = bridge.program(program)
    assert entry["misfits"]["count"] == 0
    assert entry["requests_persistent"] > before["requests_persistent"]
    assert entry["generation"] == before["generation"]
