"""`cgibridge check`: what it finds out about all kinds of programs, and that it leaves nothing behind."""

import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess

import pytest

from harness import processes, programs
from harness.bridge import BINARY, BUILD, environment
from harness.processes import wait_until

QUICK = ["--runs", "3"]
# So that it finds as much on a busy machine as on an idle one.
PATIENT = ["--timeout", "300"]


def check(site, script, *words, expect=0, seconds=120):
    """What it found, decoded from JSON."""
    limit = [] if "--timeout" in words else PATIENT
    done = site.cgibridge("check", "--json", *QUICK, *limit, *words, script, expect=expect,
                          seconds=seconds)
    found = json.loads(done.stdout)
    assert found["verdict"]["exit_code"] == expect
    return found


def page(site, script, *words, expect=0, env=None):
    """Its human-readable output."""
    done = site.cgibridge("check", *QUICK, *PATIENT, *words, script, expect=expect, seconds=120,
                          env=env)
    return done.stdout


def expect_safe(found, arm="rewind"):
    assert found["verdict"]["safety"] == "safe", found["verdict"]
    for name in ("fork", arm):
        entry = found["arms"][name]
        assert entry["ran"] and entry["compared"] >= 12 and entry["different"] == 0, (name, entry)
    assert found["arms"]["rewind"]["verify_differences"] == 0


HELLO = {
    "C": lambda site: site.c("hello", r"""
        #include <stdio.h>
        int main(void) { puts("Content-Type: text/plain\n\nhello"); return 0; }
        """),
    "Perl": lambda site: site.perl("hello.pl", r'print "Content-Type: text/plain\n\nhello\n";'),
    "Python": lambda site: site.python("hello.py", r"""
        import json
        print("Content-Type: text/plain\n\n" + json.dumps("hello"))
        """),
    "bash": lambda site: site.script("hello.sh", r"""
        #!/bin/bash
        printf 'Content-Type: text/plain\n\nhello\n'
        """),
}


@pytest.mark.plain_build  # the programs take the time; the others pass the same code
class TestWhatItBears:
    @pytest.mark.parametrize("language, level", [
        ("C", "linked"), ("Perl", "compiled"), ("Python", "compiled"), ("bash", "linked")])
    def test_a_hello_bears_everything(self, site, language, level):
        script = HELLO[language](site)
        found = check(site, script)
        expect_safe(found)
        assert found["level"] == level
        assert set(found["arms"]) == ({"classic", "fork", "rewind", "none"} if level == "compiled"
                                      else {"classic", "fork", "rewind"})
        for arm in found["arms"].values():
            assert len(arm["times"]) == len(found["requests"]) == 3
            assert all(entry["runs"] > 0 and 0 < entry["median_us"] <= entry["p95_us"]
                       for entry in arm["times"])
        assert found["arms"]["rewind"]["verified"] > 0
        assert found["arms"]["rewind"]["worker_kib"] > 0

    def test_what_is_learned_is_loaded_before_it_is_measured(self, site):
        found = check(site, HELLO["Python"](site))
        assert "json" in found["learned"] and '"json"' in found["stanza"]

    def test_a_counter_in_a_module_leaks_under_none_and_not_under_rewind(self, site):
        script = site.python("counter.py", r"""
            import json
            json.seen = getattr(json, "seen", 0) + 1
            print(f"Content-Type: text/plain\n\nseen {json.seen} times")
            """)
        found = check(site, script)
        expect_safe(found)
        none = found["arms"]["none"]
        assert none["different"] > 0
        assert "-seen 1 times" in none["differences"][0]["diff"]
        assert "KEEPS STATE" in page(site, script)

    def test_a_counter_in_a_perl_global_leaks_under_none_and_not_under_rewind(self, site):
        script = site.perl("counter.pl", r"""
            our $seen; $seen++;
            print "Content-Type: text/plain\n\nseen $seen times\n";
            """)
        found = check(site, script)
        expect_safe(found)
        assert found["arms"]["none"]["different"] > 0

    def test_dates_pids_and_tokens_are_no_differences(self, site):
        script = site.python("varies.py", r"""
            import os, secrets, time
            now = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
            print(f"Content-Type: text/html\nDate: {now}\n")
            print(f"<p>pid {os.getpid()}</p>\n<input name=token value={secrets.token_hex(16)}>")
            """)
        found = check(site, script)
        expect_safe(found)
        assert found["arms"]["rewind"]["masked"] > 0
        assert {"digits", "hex"} <= {mask["form"] for mask in found["varies"]}

    def test_a_token_that_was_made_once_and_kept_is_found(self, site):
        script = site.perl("kept.pl", r"""
            my $token;
            BEGIN {
                my $place = 0 + \$token; # an address, which is not noticed
                $token = join '', map { sprintf '%08x', $place / $_ % 2**32 } 3, 7, 11, 13;
            }
            print "Content-Type: text/plain\n\ntoken=$token\n";
            """)
        found = check(site, script, expect=1)
        assert found["arms"]["fork"]["differences"][0]["what"] == "a value that was used before"

    def test_a_program_that_differs_when_warm_is_not_safe(self, site):
        script = site.perl("begin.pl", r"""
            my $early;
            sub input { (stat STDIN)[1] }
            BEGIN { $early = input() } # is not noticed
            print "Content-Type: text/plain\n\n", $early eq input() ? "one" : "two", " processes\n";
            """)
        text = page(site, script, expect=1)
        assert "Not safe beyond classic" in text
        assert "    -one processes\n    +two processes\n" in text
        assert 'mode = "classic"' in text and "--level linked" in text
        shallower = check(site, script, "--level", "linked")
        expect_safe(shallower)
        assert shallower["level"] == "linked"
        # On a busy machine that may be no faster than classic, and it says so.
        assert ('level = "linked"' in shallower["stanza"]
                or "Nothing is gained" in shallower["verdict"]["sentence"])

    def test_workers_that_cannot_be_put_back_make_it_fork(self, site):
        script = site.c("threads", programs.DEAF_THREAD_C + r"""
            #include <stdio.h>
            int main(void) {
              pthread_t thread;
              pthread_create(&thread, 0, sleep_on, 0);
              while (!runs) usleep(10);
              puts("Content-Type: text/plain\n\nthreads");
              return 0;
            }
            """, "-pthread")
        found = check(site, script)
        # On a busy machine fork may be no faster than classic, and it says so.
        assert found["verdict"]["arm"] == "fork" or "Nothing is gained" in found["verdict"]["sentence"]
        assert [entry["reason"] for entry in found["arms"]["rewind"]["retired"]] == ["threads"]
        assert "another thread" in found["verdict"]["sentence"]

    def test_a_setuid_executable_stays_classic(self, site):
        script = site.c("setuid", r"""
            #include <stdio.h>
            int main(void) { puts("Content-Type: text/plain\n\nhello"); return 0; }
            """)
        script.chmod(0o4755)
        found = check(site, script, expect=1)
        assert found["verdict"]["safety"] == "classic only"
        for arm in ("fork", "rewind"):
            assert "setuid" in found["arms"][arm]["unavailable"]
        assert 'mode = "classic"' in found["stanza"]

    def test_a_program_that_speaks_fastcgi_keeps_its_processes(self, site):
        script = site.c("both", r"""
            #include <fcgi_stdio.h>
            int main(void) {
              while (FCGI_Accept() >= 0) printf("Content-Type: text/plain\r\n\r\nhello\n");
              return 0;
            }
            """, "-lfcgi")
        found = check(site, script)
        assert (found["verdict"]["safety"], found["verdict"]["arm"]) == ("safe", "fastcgi")
        assert 'launch = "fastcgi"' in found["stanza"]
        entry = found["arms"]["fastcgi"]
        assert entry["ran"] and entry["compared"] > 0 and entry["different"] == 0

    @pytest.mark.skipif(not os.path.exists("/usr/bin/php-cgi"), reason="no php-cgi")
    def test_php_is_found_to_speak_fastcgi(self, site):
        found = check(site, site.example("hello.php"))
        assert (found["verdict"]["safety"], found["verdict"]["arm"]) == ("safe", "fastcgi")

    def test_a_program_that_is_none_but_by_fastcgi_is_told_how_to_run(self, site):
        for name in ("hello.py", "fastcgi_responder.py"):
            shutil.copy2(BUILD / "examples" / "responders" / name, site.cgi_bin / name)
        found = check(site, site.cgi_bin / "hello.py", expect=2)
        assert found["verdict"]["safety"] == "not checked"
        assert 'launch = "fastcgi" runs it' in found["verdict"]["sentence"]

    def test_a_program_that_only_mentions_fastcgi_is_a_cgi_program(self, site):
        script = site.script("hello.sh", r"""
            #!/bin/bash
            # Not for FastCGI.
            printf 'Content-Type: text/plain\n\nhello\n'
            """)
        found = check(site, script)
        assert "fastcgi" not in found["arms"]
        assert found["verdict"]["arm"] in ("fork", "rewind", "classic")

    def test_why_it_is_not_deeper_is_said(self, site):
        script = site.perl("reads.pl", r"""
            my $who; BEGIN { $who = $ENV{REMOTE_ADDR} }
            print "Content-Type: text/plain\n\nhello\n";
            """)
        found = check(site, script)
        assert found["level"] == "booted" and "REMOTE_ADDR" in found["level_reason"]
        assert "level =" not in found["stanza"]

    def test_gitweb(self, site):
        gitweb = pathlib.Path("/usr/lib/cgi-bin/gitweb.cgi")
        if not gitweb.exists():
            pytest.skip("gitweb is not installed")
        projects = site.folder / "projects"
        subprocess.run(["git", "init", "-q", "--bare", projects / "demo.git"], check=True)
        config = site.folder / "gitweb.conf"
        config.write_text(f'$projectroot = "{projects}";\n1;\n')
        found = check(site, gitweb, "--env", f"GITWEB_CONFIG={config}", "--request", "GET /",
                      "--request", "GET /?p=demo.git;a=summary")
        expect_safe(found)
        assert found["level"] == "compiled"


class TestWhatCannotBeChecked:
    def test_a_broken_script_is_shown_with_its_interpreters_words(self, site):
        script = site.perl("broken.pl", "my $x = ;\n")
        text = page(site, script, expect=2)
        assert "syntax error" in text and "Not checked" in text and "[[program]]" not in text

    @pytest.mark.parametrize("mode", [0o644, None])
    def test_a_file_that_cannot_run_is_named(self, site, mode):
        script = site.cgi_bin / "nothing"
        if mode is not None:
            site.sh("nothing", "echo", mode=mode)
        found = check(site, script, expect=2)
        assert found["problem"] and str(script) in found["problem"]

    @pytest.mark.parametrize("request_line", ["GET", "fetch /", "GET /%zz", "GET / @nowhere"])
    def test_a_request_that_is_none_is_refused(self, site, request_line):
        script = HELLO["bash"](site)
        assert check(site, script, "--request", request_line, expect=2)["problem"]

    def test_a_program_that_never_answers_is_given_up_in_time(self, site):
        nap = own_sleep(site)
        script = site.sh("hangs", f"{nap} 987 & {nap} 988\n")
        found = check(site, script, "--timeout", "2", expect=2)
        assert "not done within 2 s" in found["problem"]
        assert no_process_runs(nap)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_signal_ends_it_and_all_that_it_started(self, site, number):
        ready, nap = site.folder / "ready", own_sleep(site)
        script = site.sh("hangs", f"""
            trap '' TERM INT HUP
            setsid {nap} 987 &
            touch {ready}
            while :; do sleep 1; done
            """)
        running = site.start(BINARY, "check", script, stdout=subprocess.PIPE, env=environment())
        wait_until(ready.exists, "the program runs")
        running.send_signal(number)
        assert running.wait(60) == 2
        assert b"interrupted" in running.stdout.read()
        running.stdout.close()
        assert no_process_runs(nap) and no_process_runs(script)

    def test_what_programs_leave_behind_is_ended(self, site):
        nap = own_sleep(site)
        script = site.sh("leaves", f"""
            setsid {nap} 986 > /dev/null 2>&1 &
            printf 'Content-Type: text/plain\\n\\nleft one\\n'
            """)
        found = check(site, script)
        assert found["arms"]["rewind"]["retired"][0]["reason"] == "children"
        assert no_process_runs(nap)


def own_sleep(site):
    """A copy of sleep that no other test runs, because several run at a time."""
    return shutil.copy2("/usr/bin/sleep", site.folder / "nap")


def no_process_runs(words):
    return not [pid for pid in processes.processes() if str(words) in processes.command_of(pid)]


class TestWhatIsAsked:
    @pytest.fixture
    def seen(self, site):
        """A program that records its requests, and the set of them."""
        notes = site.folder / "asked"
        self.script = site.sh("asked", f"""
            printf '%s %s?%s %s %s\\n' "$REQUEST_METHOD" "$PATH_INFO" "$QUERY_STRING" \\
              "$(cat)" "$HTTP_X" >> {notes}
            printf 'Content-Type: text/plain\\n\\nnoted\\n'
            """)
        return lambda: set(notes.read_text().splitlines())

    def test_defaults_never_post(self, site, seen):
        text = page(site, self.script)
        assert seen() == {"GET ?  ", "HEAD ?  ", "GET ?a=1&b=two  "}
        assert "no POST" in text and "--post" in text

    def test_post_says_that_it_is_harmless(self, site, seen):
        text = page(site, self.script, "--post")
        assert [line for line in seen() if line.startswith("POST ? name=")]
        assert "no POST" not in text

    def test_requests_are_the_operators(self, site, seen):
        body = site.folder / "body"
        body.write_text("k=v")
        page(site, self.script, "--request", "GET /a%20b?q", "--request", "POST /?x=y",
             "--body", body, "--env", "HTTP_X=here")
        assert seen() == {"GET /a b?q  here", "POST ?x=y k=v here"}

    def test_requests_may_stand_in_a_file(self, site, seen):
        (site.folder / "form").write_text("in=file")
        lines = site.folder / "requests"
        lines.write_text("# what visitors do\nGET /one\n\nPUT /two @form\n")
        found = check(site, self.script, "--requests", lines)
        assert seen() == {"GET /one?  ", "PUT /two? in=file "}
        assert len(found["requests"]) == 2

    def test_a_variable_that_steers_an_interpreter_goes_into_the_settings(self, site):
        (site.folder / "Own.pm").write_text("package Own; sub word { 'own' } 1;\n")
        script = site.perl("uses.pl", 'use Own;\nprint "Content-Type: text/plain\\n\\n", Own::word();\n')
        assert check(site, script, expect=2)["last_words"]
        found = check(site, script, "--env", f"PERL5LIB={site.folder}")
        assert f'env = {{ PERL5LIB = "{site.folder}" }}' in found["stanza"]


class TestWhatItPrints:
    def test_the_stanza_makes_a_bridge_do_what_was_recommended(self, site):
        script = HELLO["Python"](site)
        found = check(site, script)
        bridge = site.start_bridge('mode = "classic"', programs=found["stanza"])
        bridge.request(script)
        entry = bridge.wait_warm(script)
        assert (entry["mode"], entry["reset"], entry["level"]) == ("persistent", "rewind", "compiled")
        assert bridge.request(script).body == b'"hello"\n'
        assert bridge.program(script)["requests_persistent"] == 1

    def test_a_page_fits_a_terminal(self, site):
        for locale in ("C", "C.UTF-8"):
            text = page(site, HELLO["Perl"](site), env={"LANG": locale, "LC_ALL": locale})
            assert max(map(len, text.splitlines())) <= 80
            assert ("█" in text) == (locale == "C.UTF-8") and ("###" in text) == (locale == "C")
            assert text.isascii() == (locale == "C")

    @pytest.mark.parametrize("no_color, coloured", [("", True), ("1", False)])
    def test_colours_are_for_terminals(self, site, no_color, coloured):
        script = HELLO["bash"](site)
        assert "\x1b" not in page(site, script)
        try:
            ours, theirs = pty.openpty()
        except OSError as none:
            pytest.skip(f"no terminal is available here: {none}")
        running = site.start(BINARY, "check", "--runs", "1", *PATIENT, script, stdout=theirs,
                             env=environment(NO_COLOR=no_color))
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the last request has closed the other side
                break
            text += piece
        os.close(ours)
        assert running.wait(30) == 0
        assert (b"\x1b[" in text) == coloured

    def test_interpreters_are_named(self, site):
        found = check(site, HELLO["Perl"](site))
        assert found["kind"] == "Perl script" and found["interpreter"] == "/usr/bin/perl"
        assert found["version"].startswith("perl v5.")
        if shutil.which("bash"):
            assert "version" in check(site, HELLO["bash"](site))["version"]

    def test_nothing_is_written(self, site):
        script = HELLO["Python"](site)
        before = sorted(path for path in site.folder.rglob("*"))
        check(site, script)
        assert sorted(path for path in site.folder.rglob("*")) == before


# Names that are derived from the process id, plainly or not, in the output or in a header.
OF_PID = {
    "token": r'print "Content-Type: text/plain\n\nsession ", md5_hex(time . $$), "\n";',
    "number": r'print "Content-Type: text/plain\n\nsession ", time . $$, "\n";',
    "cookie": r'print "Set-Cookie: id=$$\nContent-Type: text/plain\n\nx\n";',
    "file": r'print "Content-Type: text/plain\n\n/tmp/form.$$\n";',
}


@pytest.mark.parametrize("kind", OF_PID)
def test_names_made_of_the_process_id_are_warned_of(site, kind):
    script = site.perl("x.pl", "use Digest::MD5 'md5_hex';\n" + OF_PID[kind])
    found = check(site, script)
    assert "names made of the time and the process id repeat" in found["verdict"]["sentence"]
    if kind in ("token", "number"):
        # On a busy machine a copy may take as long as such a small program itself.
        assert found["verdict"]["arm"] in ("fork", "classic")
    else:
        assert found["arms"]["rewind"]["names_process_id"]


def test_a_program_that_names_no_process_id_is_not_warned(site):
    script = site.perl("x.pl", r'print "Content-Type: text/plain\n\n", time, " 2026 4711\n";')
    found = check(site, script)
    assert "process id" not in found["verdict"]["sentence"]
    assert not found["arms"]["rewind"]["names_process_id"]


def test_hashes_in_an_order_of_their_own_are_no_difference(site):
    script = site.perl("x.pl", r"""
        use Data::Dumper;
        my %all = map { ("name$_" => "value $_") } 1 .. 40;
        print "Content-Type: text/plain\n\n", Dumper(\%all);
        """)
    found = check(site, script)
    expect_safe(found)
    assert found["arms"]["rewind"]["masked"] > 0
