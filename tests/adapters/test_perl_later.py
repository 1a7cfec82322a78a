"""Perl modules that keep the time, or seed by it: the statement is run again for each request, if nothing
else has seen what it kept; else the script is compiled in each request. The answers are plain CGI's."""

import pytest

from conftest import Folder
from driver import (LAUNCH_ENV, LEVEL, REQUEST_ENV, SHALLOWER, WARNING, Warm, adapters_dir, library,
                    run_plainly)

PERL = "/usr/bin/perl"

# A clock that a file holds, in seconds.
CLOCK = r"""
#include <stdio.h>
#include <time.h>
time_t time(time_t *kept) {
  long now = 0;
  FILE *file = fopen("%s", "r");
  if (file == NULL || fscanf(file, "%%ld", &now) != 1) now = 0;
  if (file != NULL) fclose(file);
  if (kept) *kept = now;
  return now;
}
"""
AT_LOAD, *MOMENTS = 1_700_000_000, 1_700_000_001, 1_733_333_333

OTHER = "package Other;\nour $then = $Own::now;\nour $x = 1;\n1;\n"

SHOWS = 'no strict; print join(" ", map { $_ // "undef" } time, Own::shown()), "\\n";\n'


@pytest.fixture(params=["fork", "rewind"])
def reset(request):
    return request.param


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    """The library, and the file."""
    folder = Folder(tmp_path_factory.mktemp("clock"))
    moment = folder.path / "moment"
    return folder.compile("clock.c", CLOCK % moment, "-shared", "-fPIC"), moment


@pytest.fixture
def site_of(folder, clock):
    return lambda module, **more: Site(folder, clock, {"Own": module, **more})


class Site:
    """A script that shows what its module Own keeps, at a moment of the test's choice."""

    def __init__(self, folder, clock, modules):
        self._shim, self._moment = clock
        for name, text in modules.items():
            folder.script(f"lib/{name}.pm", text)
        self._script = folder.script("x.pl", "use FindBin; use lib \"$FindBin::Bin/lib\"; use Own;\n" + SHOWS)
        self.is_at(AT_LOAD)

    def is_at(self, moment):
        self._moment.write_text(str(moment))

    def zygote(self, reset, modules=()):
        ours = "-MCGIBridge" + ("=" + ",".join(modules) if modules else "")
        return Warm([PERL, f"-I{adapters_dir()}/perl", ours, self._script], level="compiled", reset=reset,
                    env=LAUNCH_ENV, preload=f"{library()}:{self._shim}")

    def plain(self):
        return run_plainly([PERL, self._script], env={**REQUEST_ENV, "LD_PRELOAD": str(self._shim)})

    def is_as_plain(self, zygote):
        for moment in MOMENTS:
            self.is_at(moment)
            plain = self.plain()
            assert str(moment) in plain.text
            answer = zygote.ask(env=REQUEST_ENV)
            assert (answer.stdout, answer.stderr) == (plain.stdout, plain.stderr)


PUT_OFF = {
    "a variable of the package": "our $now = time;",
    "a lexical one": "my $now = time();   # seconds\nour $x = 1;\nsub shown { return ($now, $x) }",
    "with spaces and without": "our$now=time ;",
    "a sum": "our $now = time + 3 * 86400 - 1.5;",
    "a list": "our ($now, undef, @more) = localtime(time);\nsub shown { ($now, @more) }",
    "a lexical list": "my ($sec, $min, $hour) = gmtime;\nsub shown { ($sec, $min, $hour) }",
    "an array": "our @now = localtime;\nsub shown { @now }",
    "one of another": "our $now = time;\nour @day = gmtime($now);\nour $year = $day[5] + 1900;\n"
                      "sub shown { ($now, @day, $year) }",
    "text": "our $now = scalar gmtime(time) . ' ' . sprintf('%d:%s', time % 60, \"a-b\");",
    "in a block of the file": "our $now;\n{\n  my $then = time;\n  sub then { $then }\n}\n"
                              "sub shown { then() }",
    "a reference to it": "our $now = time;\nour $to = \\$now;\nsub shown { ($now, $$to) }",
    "in a closure": "my $now = time;\nour $get = sub { $now };\nsub shown { $get->() }",
    "behind a comment": "our $x = 1; # one\n\n  # the time\nour $now = time;",
    "lines that end as DOS's do": "our $now = time;\r\nour $x = 1;\r",
    "a seed": "srand(time);\nsub shown { map { rand } 1 .. 3 }",
    "another seed": "srand time % 1000;\nsub shown { map { rand } 1 .. 3 }",
    "read by what it loads": "our $now = time;\nrequire Other;\nsub shown { ($now, $Other::then) }",
    "counted": "our @now = gmtime;\nour $count = @now;\nsub shown { ($count, @now) }",
    "the time of HiRes": "use Time::HiRes qw(time);\nour $now = time;\nour $x = 1;\n"
                         "sub shown { $now > 1_750_000_000 && $now =~ /[.]/ }",
    "whether there is a clock": "use Time::HiRes ();\nuse constant IS => "
                                "eval { !!Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) };\n"
                                "sub shown { IS }",
    "two statements": "our $now = time;\nour $x = 1;\nmy $then = time + 1;\nsub shown { ($now, $then) }",
}


@pytest.mark.parametrize("kind", PUT_OFF)
def test_what_keeps_the_time_is_run_again_for_each_request(site_of, reset, kind):
    text = PUT_OFF[kind]
    shown = "" if "sub shown" in text else "sub shown { $now }\n"
    site = site_of(f"package Own;\nuse strict; use warnings;\n{text}\n{shown}1;\n", Other=OTHER)
    with site.zygote(reset) as zygote:
        assert zygote.level == 3 and zygote.note(LEVEL) == [], zygote.notes
        site.is_as_plain(zygote)


NOT_PUT_OFF = {
    "read while it is loaded": "our $now = time;\nour $then = do { my $x = $now; $x };\n"
                               "sub shown { ($now, $then) }",
    "added to": "our $now = time;\n$now += 5;\nsub shown { $now }",
    "asked whether it is true": "our $now = time;\nour $odd = $now % 2 ? 'odd' : 'even';\n"
                                "sub shown { ($now, $odd) }",
    "pushed to": "our @now = gmtime;\npush @now, 'more';\nsub shown { @now }",
    "in a sub": "our $now;\nsub set {\n  $now = time;\n  return 1;\n}\nset();\nsub shown { $now }",
    "in a BEGIN block": "our $now;\nBEGIN {\n  $now = time;\n  $Own::x = 1;\n}\nsub shown { $now }",
    "in an eval": "our $now;\neval {\n  $now = time;\n  1;\n};\nsub shown { $now }",
    "in a loop": "our @all;\nfor (1 .. 2) {\n  my $now = time;\n  push @all, \\$now;\n}\n"
                 "sub shown { map { $$_ } @all }",
    "what a block returns": "our $then = do {\n  our $now = time;\n};\nsub shown { ($Own::now, $then) }",
    "goes on from the line above": "our $then =\nour $now = time;\nour $x = 1;\nsub shown { ($now, $then) }",
    "goes on in the next line": "our $now = time\n  + 5;\nsub shown { $now }",
    "an element of a hash": "our %h;\n$h{now} = time;\nour $x = 1;\nsub shown { $h{now} }",
    "a hash": "our %h = (now => time);\nsub shown { $h{now} }",
    "a function of its own": "sub twice { 2 * $_[0] }\nour $now = twice(time);\nsub shown { $now }",
    "a constant": "use constant NOW => time;\nsub shown { NOW }",
    "another one's variable": "our $add = 5;\nour $now = time + $add;\n$add = 6;\nsub shown { $now }",
    "with data behind": "our $now = time;\nour $at = tell DATA;\nsub shown { ($now, $at, <DATA>) }\n1;\n"
                        "__DATA__\nx\n",
    "in another zone": "our @now = localtime(time);\n$ENV{TZ} = 'Asia/Tokyo';\nsub shown { @now[0 .. 3] }",
    "tied by itself": "our $now = time;\ntie $now, 'Own';\nsub TIESCALAR { bless [] } sub FETCH { 7 }\n"
                      "sub shown { $now }",
    "tied before": "our $now;\ntie $now, 'Own';\n$now = time;\nour $x = 1;\nsub TIESCALAR { bless [] }\n"
                   "sub FETCH { 'kept ' . $_[0][0] } sub STORE { $_[0][0] = $_[1] }\nsub shown { $now }",
    "drawn from": "srand(time);\nour $drawn = rand;\nsub shown { $drawn }",
    "drawn from by a library": "use List::Util ();\nsrand(time);\n"
                               "our @order = List::Util::shuffle(1 .. 99);\nsub shown { @order }",
    "another localtime()": "use Time::localtime qw(:FIELDS);\nour $now = localtime(time);\nour $x = 1;\n"
                           "sub shown { ($now->sec, $tm_sec) }",
    "a reference to a part": "our @now = gmtime;\nour $seconds = \\$now[0];\nsub shown { ($$seconds, @now) }",
    "loaded twice": "our $now = time;\nour $x = 1;\ndo $INC{'Own.pm'} if !$Own::again++;\nsub shown { $now }",
    "a heredoc that looks like it": "our $text = <<E; our $now = time;\nour $now = time;\nE\n"
                                    "sub shown { ($now, $text) }",
}


@pytest.mark.parametrize("kind", NOT_PUT_OFF)
def test_what_has_gone_elsewhere_is_not_put_off(site_of, kind):
    text = NOT_PUT_OFF[kind]
    end = "" if "__DATA__" in text else "1;\n"
    site = site_of(f"package Own;\n{text}\n{end}")
    with site.zygote("rewind") as zygote:
        assert zygote.stands and zygote.level == 2, zygote.notes
        assert zygote.note(LEVEL)[0].startswith("the script "), zygote.notes
        site.is_as_plain(zygote)


def test_what_cannot_be_set_any_more_makes_perl_start_anew(site_of, reset):
    site = site_of("package Own;\nour $now = time;\nInternals::SvREADONLY($now, 1);\n"
                   "sub shown { $now }\n1;\n")
    with site.zygote(reset) as zygote:
        answer = zygote.ask(env=REQUEST_ENV)    # by perl alone, whose clock is the machine's
    assert len(set(answer.text.split())) == 1
    assert answer.notes == [(SHALLOWER, "a time that a module has kept cannot be set")]


def test_a_generator_that_is_seeded_by_time_and_process_id_differs_for_each_request(site_of, reset):
    """Within a second a worker's process id and the time are those of the last request."""
    site = site_of("package Own;\nsrand(time ^ ($$ + ($$ << 15)));\nour $x = 1;\nsub shown { rand }\n1;\n")
    with site.zygote(reset) as zygote:
        assert zygote.level == 3 and zygote.note(LEVEL) == [], zygote.notes
        answers = [zygote.ask(env=REQUEST_ENV) for _ in range(5)]
    assert len({answer.text for answer in answers}) == 5
    assert reset == "fork" or all(answer.stays for answer in answers)


def test_it_is_put_off_in_a_module_that_is_loaded_ahead(site_of, reset):
    more = {"Late": "package Late;\nour $now = time;\nour $x = 1;\n1;\n",
            "Draws": "package Draws;\nour $x = rand;\n1;\n"}
    site = site_of("package Own;\nsub shown { require Late; require Draws; $Late::now }\n1;\n", **more)
    with site.zygote(reset, ["Late", "Draws"]) as zygote:
        assert zygote.level == 3 and [note.split(" is")[0] for note in zygote.note(WARNING)] == ["Draws"]
        site.is_as_plain(zygote)


def test_more_statements_than_can_be_put_off_are_left_to_the_requests(site_of):
    text = "".join(f"our $now{n} = time;\n" for n in range(9))
    site = site_of(f"package Own;\n{text}sub shown {{ $now0 + $now8 }}\n1;\n")
    with site.zygote("rewind") as zygote:
        assert zygote.level == 2, zygote.notes
        site.is_as_plain(zygote)
