"""Shells and small languages at level `linked`: one program per language, which prints what it finds of the
request before it, answers a form, and leaves as much state as its language can. Classic, fork and rewind must
answer the same bytes, request after request."""

import os

import pytest

BOURNE = r"""
    printf 'Content-Type: text/plain\n\n'
    echo "hello $# $REQUEST_METHOD $QUERY_STRING ${0##*/}"
    echo "found: $left $LEFT $(command -v left_function) $(umask) ${PWD##*/} $(ulimit -n) $IFS"
    echo "options $- $?"; trap; jobs; alias | grep left; (: >&7) 2>/dev/null && echo descriptor
    echo "$OPTIND $(kill -l 15) $TZ"
    if [ "$REQUEST_METHOD" = POST ]; then
      read -r body; rest=$body'&'
      while [ -n "$rest" ]; do echo "field ${rest%%&*}"; rest=${rest#*&}; done
    fi
    case $QUERY_STRING in *job*) sleep 0.01 >/dev/null 2>&1 </dev/null & ;; esac
    left=1; export LEFT=1 TZ=LEFT5; left_function() { :; }; alias left=true
    umask 027; cd /; ulimit -S -n 99; exec 7>/dev/null; set -f; set -u; IFS=x; OPTIND=4
    trap : USR1; trap '' USR2; trap 'echo at the end' EXIT
    case $QUERY_STRING in *end*) exit 3 ;; esac
    """

AWK = r"""
    BEGIN {
      print "Content-Type: text/plain\n"
      print "hello", ARGC, ENVIRON["REQUEST_METHOD"], ENVIRON["QUERY_STRING"]
      print "found", left, ("left" in table), FS, OFS, RS, ORS, NR, CONVFMT, SUBSEP == "\034", ENVIRON["LEFT"]
      fflush(); system("umask; pwd; ulimit -n")
      if (ENVIRON["REQUEST_METHOD"] == "POST") {
        getline body < "-"
        count = split(body, fields, "&")
        for (n = 1; n <= count; ++n) print "field", fields[n]
      }
      srand(5); print "sorted", rand() < 1
      print "b\na" | "sort"
      close("sort")
      left = 1; table["left"] = 1; OFS = "left"; CONVFMT = "%d"; SUBSEP = "left"; ENVIRON["LEFT"] = 1
      print "text" > "/dev/null"
      print "at the end" | "cat"
      if (ENVIRON["QUERY_STRING"] ~ /end/) exit 3
    }
    """

LUA = r"""
    print("Content-Type: text/plain\n")
    print("hello", #arg, os.getenv("REQUEST_METHOD"), os.getenv("QUERY_STRING"))
    print("found", left, string.left, package.path:match("left"), package.loaded.left, getmetatable("").left,
          io.output() == io.stdout, os.setlocale(), tostring(print):match("^%a+"), debug.gethook() ~= nil)
    if os.getenv("REQUEST_METHOD") == "POST" then
      for field in io.read("*a"):gmatch("[^&]+") do print("field " .. field) end
    end
    math.randomseed(7)
    print("drawn", math.random(1000000))
    left = 1; string.left = 1; package.path = "left"; package.loaded.left = true
    getmetatable("").left = 1; os.setlocale("C.UTF-8"); debug.sethook(function() end, "", 1000000)
    io.stdout:flush()
    os.execute("echo at the end")
    io.output("/dev/null"); io.write("left in a buffer")
    if os.getenv("QUERY_STRING"):match("end") then os.exit(3) end
    """

TCL = r"""
    puts "Content-Type: text/plain\n"
    puts "hello $argc $env(REQUEST_METHOD) $env(QUERY_STRING) [file tail $argv0]"
    puts "found [info exists left] [info exists env(LEFT)] [info procs left] [pwd] [after info] [chan names]"
    puts "[fconfigure stdout] [interp slaves] [package provide left] [namespace exists Left]"
    if {$env(REQUEST_METHOD) eq "POST"} { foreach field [split [read stdin] &] { puts "field $field" } }
    puts "drawn [expr {srand(7)}]"
    set left 1; set env(LEFT) 1; proc left {} {}; cd /; after 1000 left; open /dev/null; interp create left
    package provide left 1; namespace eval Left {}; fconfigure stdout -buffering full -translation crlf
    if {[string match *end* $env(QUERY_STRING)]} { exit 3 }
    """

# first line, program, the setting `level`
LANGUAGES = {
    "bash": ("/bin/bash", "", BOURNE),
    "dash": ("/bin/dash", "", BOURNE),
    "ksh": ("/bin/ksh93", "", BOURNE),
    "zsh": ("/bin/zsh", "", BOURNE),
    "gawk": ("/usr/bin/gawk", " -f", AWK),
    "mawk": ("/usr/bin/mawk", " -f", AWK),
    "luajit": ("/usr/bin/luajit", "", LUA),
    "tclsh": ("/usr/bin/tclsh", "", TCL),
}
REQUESTS = [("GET", "", b""), ("GET", "a=1", b""), ("POST", "", b"name=Mary+Ann&message=hi%21"),
            ("GET", "end", b""), ("POST", "end", b"x=1"), ("GET", "last", b"")]


def program(site, language):
    interpreter, switches, text = LANGUAGES[language]
    if not os.path.exists(interpreter):
        pytest.skip(f"{interpreter} is not installed")
    return site.script(language, f"\n#!{interpreter}{switches}\n" + "\n".join(
        line[4:] for line in text.strip("\n").split("\n")) + "\n")


def ask(bridge, script, method, query, body):
    response = bridge.request(script, method, query, body)
    return response.head, response.body, response.app_status, response.stderr


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_answers_200_requests_as_in_classic(site, language, reset):
    script = program(site, language)
    bridge = site.start_bridge(f'mode = "classic"\nlevel = "linked"\nreset = "{reset}"\n'
                               'workers = { max = 2, spare = 1 }')
    wanted = [ask(bridge, script, *request) for request in REQUESTS]
    assert b"hello" in wanted[0][1] and b"field message=hi%21" in wanted[2][1] and wanted[3][2] == 3
    bridge.command("mode", script, "persistent")
    bridge.request(script)
    bridge.wait_warm(script)
    for n in range(200):
        kind = n % len(REQUESTS)
        assert ask(bridge, script, *REQUESTS[kind]) == wanted[kind], f"request {n}: {REQUESTS[kind]}"
    entry = bridge.program(script)
    assert (entry["level"], entry["reset"]) == ("linked", reset), entry
    assert entry["requests_persistent"] >= 190, entry


@pytest.mark.parametrize("language", ["bash", "dash", "ksh", "zsh"])
def test_a_shell_s_job_lives_on_and_its_worker_does_not(site, language):
    script = program(site, language)
    bridge = site.start_bridge('mode = "classic"\nlevel = "linked"\nrewind = { max_retired = 100 }')
    wanted = ask(bridge, script, "GET", "job", b"")
    bridge.command("mode", script, "persistent")
    bridge.request(script)
    bridge.wait_warm(script)
    for _ in range(10):
        assert ask(bridge, script, "GET", "job", b"") == wanted


DRAWS = {
    "bash": 'echo "$RANDOM $RANDOM $RANDOM"', "ksh": 'echo "$RANDOM $RANDOM $RANDOM"',
    "zsh": 'echo "$RANDOM $RANDOM $RANDOM"',
}


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("language", DRAWS)
def test_a_generator_that_seeds_itself_draws_anew_in_each_request(site, language, reset):
    interpreter, switches, _ = LANGUAGES[language]
    if not os.path.exists(interpreter):
        pytest.skip(f"{interpreter} is not installed")
    script = site.script("draw", f"#!{interpreter}{switches}\nprintf 'Content-Type: text/plain\\n\\n'\n"
                                 f"{DRAWS[language]}\n")
    bridge = site.start_bridge(f'mode = "persistent"\nlevel = "linked"\nreset = "{reset}"')
    bridge.request(script)
    bridge.wait_warm(script)
    drawn = [bridge.request(script).body for _ in range(60)]
    # A seed is made of a clock and a process id, so two may be equal by chance. ksh's has few bits, and among
    # 60 some are often equal. Without a new seed for each, there would be only as many different ones as
    # workers.
    assert len(set(drawn)) >= (len(drawn) // 2 if language == "ksh" else len(drawn) - 2)


def test_lua_5_4_runs_classic_and_status_says_why(site):
    """Its generator is seeded with the clock's second and an address, which workers would share."""
    if not os.path.exists("/usr/bin/lua5.4"):
        pytest.skip("lua5.4 is not installed")
    script = site.script("l", "#!/usr/bin/lua5.4\n"
                              "print('Content-Type: text/plain\\n\\n' .. math.random(0))\n")
    bridge = site.start_bridge('mode = "persistent"')
    drawn = [bridge.request(script).body for _ in range(20)]
    assert len(set(drawn)) == 20
    assert "random" in bridge.program(script)["level_reason"], bridge.program(script)
