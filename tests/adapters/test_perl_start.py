"""What a Perl program sees of its start while it compiles, and what a module that is loaded ahead leaves to
the others: both are as in a process of its own, or left to the requests."""

import time

import pytest

from driver import LAUNCH_ENV, LEVEL, REQUEST_ENV, WARNING, Warm, adapters_dir, run_plainly
from test_pure import PERL, perl_zygote

RESETS = pytest.mark.parametrize("reset", ["fork", "rewind"])

LOOKS_AT_START = {
    "the time itself": ("our $key = $^T;", "reads $^T"),
    "a copy": ("our $key = \"at $^T\";", "reads $^T"),
    "a reference": ("my $r = \\$^T; our $key = $$r + 1;", "reads $^T"),
    "another name": ("*START = *^T; our $key = $START;", "reads $^T"),
    "another time": ("$^T = 5; our $key = 1;", "changes $^T"),
    "an age": ("our $key = -M $0;", "-M"),
    "the age of a look": ("our $key = -A $0;", "-M"),
    "the age of an inode": ("our $key = (-C '/etc/passwd') > 0;", "-M"),
    "processor time": ("our $key = (times)[0] >= 0;", "time"),
}


@RESETS
@pytest.mark.parametrize("kind", LOOKS_AT_START)
def test_a_script_that_looks_at_its_start_while_compiling_is_compiled_in_each_request(folder, kind, reset):
    text, why = LOOKS_AT_START[kind]
    script = folder.script("x.pl", f"BEGIN {{ {text} }}\nprint time - $^T < 5 || $^T == 5 ? 1 : 0;\n")
    with perl_zygote(script, reset=reset) as zygote:
        assert zygote.level == 2 and why in zygote.note(LEVEL)[0], zygote.notes
        for _ in range(2):
            assert zygote.ask().seen() == run_plainly([PERL, script]).seen()


@pytest.mark.parametrize("kind", ["the time itself", "another name", "an age"])
def test_a_module_that_looks_at_it_is_not_loaded_ahead(folder, kind):
    text, why = LOOKS_AT_START[kind]
    folder.script("lib/Looks.pm", f"package Looks;\n{text}\n1;\n")
    script = folder.script("x.pl", "my $ahead = exists $INC{'Looks.pm'} ? 1 : 0;\nrequire Looks;\n"
                           "print $ahead, time - $^T < 5 ? 1 : 0;\n")
    env = {"PERL5LIB": str(folder.path / "lib")}
    with perl_zygote(script, modules=("Looks",), env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.level == 3 and why in zygote.note(WARNING)[0], zygote.notes
        assert zygote.ask(env={**REQUEST_ENV, **env}).text == "01"


@RESETS
def test_an_operator_may_accept_that_the_start_is_old(folder, reset):
    script = folder.script("x.pl", "BEGIN { our $key = $^T; our $age = -M $0 }\n"
                           "$^T = 7 if @ARGV; print \"$key $^T\\n\";\n")
    with perl_zygote(script, reset=reset, accept="time") as zygote:
        assert zygote.level == 3, zygote.notes
        time.sleep(1.1)
        begun = int(time.time())
        for words, least in (((), begun), (("a",), 7), ((), begun)):
            kept, start = map(int, zygote.ask(*words).text.split())
            assert kept < begun and (start == 7 if words else least <= start <= time.time())


def test_other_questions_about_files_are_no_question_of_time(folder):
    script = folder.script("x.pl", "BEGIN { our @key = (-e $0, -s $0, (stat $0)[9], -f _, -l $0) }\n"
                           "print scalar(@key), -M $0 < 1 ? 1 : 0;\n")
    with perl_zygote(script) as zygote:
        assert zygote.level == 3, zygote.notes
        assert zygote.ask().seen() == run_plainly([PERL, script]).seen()


# What a module changes for all others; the script shows it before it loads the module.
LEFT = {
    "where modules are found": ("use lib '/nowhere';", "@INC"),
    "what ends a line": ("$/ = undef;", "$/"),
    "what follows a line": ("$\\ = 'x';", "$\\"),
    "what is between words": ("$, = '-';", "$,"),
    "its name": ("$0 = 'another';", "$0"),
    "warnings everywhere": ("$^W = 1;", "$^W"),
    "no buffer": ("$| = 1;", "$|"),
    "another handle": ("open our $h, '<', $0; select $h;", "selected handle"),
    "layers": ("binmode STDOUT, ':utf8';", "layers of STDOUT"),
    "a handler of warnings": ("$SIG{__WARN__} = sub { print 'caught' };", "$SIG{__WARN__}"),
    "a handler of errors": ("$SIG{__DIE__} = sub { print 'died' };", "$SIG{__DIE__}"),
    "a warning": ("warn 'careful';", "warns"),
}
SHOWS = r"""
BEGIN { our @warned; $SIG{__WARN__} = sub { push @warned, @_ } if $0 =~ /keeps/ }
my $ahead = exists $INC{'Leaves.pm'} ? 1 : 0;
print "$INC[0] ", defined $/ ? 1 : 0, $0, $^W, $|, "\n", "a", "b", "\n", PerlIO::get_layers(STDOUT), "\n";
print select, "\n"; eval { die 'inner' }; warn 'outer'; print "@warned\n";
require Leaves if @ARGV;
print STDERR $ahead, "\n";
"""


@RESETS
@pytest.mark.parametrize("kind", LEFT)
def test_a_module_that_changes_what_all_share_is_not_loaded_ahead(folder, kind, reset):
    text, why = LEFT[kind]
    folder.script("lib/Leaves.pm", f"package Leaves;\n{text}\n1;\n")
    folder.script("lib/Pure.pm", "package Pure; our $count = 1; 1;\n")
    script = folder.script("keeps.pl" if kind == "a warning" else "x.pl", SHOWS)
    env = {"PERL5LIB": str(folder.path / "lib")}
    plain = {words: run_plainly([PERL, script, *words], env={**REQUEST_ENV, **env})
             for words in ((), ("a",))}
    with perl_zygote(script, modules=("Leaves", "Pure"), env={**LAUNCH_ENV, **env}, reset=reset) as zygote:
        assert zygote.level == 3, zygote.notes
        assert why in zygote.note(WARNING)[0] and "Leaves" in zygote.note(WARNING)[0], zygote.notes
        for words in ((), ("a",), ()):
            assert zygote.ask(*words, env={**REQUEST_ENV, **env}).seen() == plain[words].seen()


# Who looks for perl on the PATH: nobody before it starts over, or also a wrapper.
FINDS_PERL = {"perl": [], "env": ["/usr/bin/env"], "a perl": [PERL, "-e", "exec @ARGV", "--"],
              "two": ["/usr/bin/env", "nice"]}


@RESETS
@pytest.mark.parametrize("who", FINDS_PERL)
def test_a_perl_that_is_found_by_its_name_starts_over(folder, who, reset):
    script = folder.script("x.pl", "BEGIN { our $early = $ENV{QUERY_STRING} // 'none' }\n"
                           "print \"$early\\n\";\n")
    command = [*FINDS_PERL[who], "perl", f"-I{adapters_dir()}/perl", "-MCGIBridge", script]
    with Warm(command, level="compiled", reset=reset) as zygote:
        assert zygote.level == 2 and "QUERY_STRING" in zygote.note(LEVEL)[0], zygote.notes
        zygote.argv = ["perl", script]
        for _ in range(2):
            assert zygote.ask().seen() == run_plainly([PERL, script]).seen()
