"""What a Perl script does and sees before its first statement, in BEGIN blocks and by perl's own switches, is
what a process of its own would do and see."""

import os

import pytest

from driver import LAUNCH_ENV, LEVEL, REQUEST_ENV, SHALLOWER, WARNING, run_plainly
from test_pure import PERL, perl_zygote

BOOTED, COMPILED = 2, 3


@pytest.fixture(params=["fork", "rewind"])
def reset(request):
    return request.param


def answers_like_plain(script, reset, *switches, words=(), env=None, level=None, launch=None, count=3,
                       **more):
    """Returns the zygote's notes and the last answer."""
    env = REQUEST_ENV if env is None else env
    plain = run_plainly([PERL, *switches, script, *words], env=env)
    with perl_zygote(script, *switches, reset=reset, env=launch or LAUNCH_ENV, **more) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        assert level in (None, zygote.level), zygote.notes
        for _ in range(count):
            answer = zygote.ask(*words, env=env)
            assert answer.seen() == plain.seen(), zygote.notes
        return zygote.notes, answer


# -- random numbers ------------------------------------------------------------------------------------

CHILDREN = """for (1 .. 3) {
    my $pid = open(my $f, '-|') // die;
    if (!$pid) { %s print int rand 1e9; exit }
    print <$f>, "\\n";
}
"""


@pytest.mark.parametrize("before, different", [("", 6), ("$x = rand;", 2), ("srand 42;", 1)])
def test_children_draw_as_those_of_a_process_of_its_own(folder, reset, before, different):
    """A perl that has not drawn yet seeds its generator in each child; one that has hands it on."""
    script = folder.script("x.pl", before + CHILDREN % "")
    with perl_zygote(script, reset=reset) as zygote:
        drawn = "".join(zygote.ask().text for _ in range(2)).split()
    assert len(drawn) == 6 and len(set(drawn)) == different


def test_children_choose_different_names_for_their_files(folder, reset):
    script = folder.script("x.pl", "use File::Temp ();\n" + CHILDREN
                           % "print File::Temp::tempnam('/tmp', 'x'), ' '; require List::Util;"
                             "print join('-', List::Util::shuffle(1 .. 50)), ' ';")
    with perl_zygote(script, reset=reset, accept="pid") as zygote:
        lines = [line.split() for line in zygote.ask().text.splitlines()]
    assert [len(set(column)) for column in zip(*lines)] == [3, 3, 3]


@pytest.mark.parametrize("early", ["srand 42;", "&CORE::srand(42);", "our $x = rand;",
                                   "use List::Util; our @x = List::Util::shuffle(1, 2);"])
def test_a_module_that_uses_the_generator_is_not_loaded_ahead(folder, reset, early):
    folder.script("lib/Uses.pm", f"package Uses; {early} 1;")
    script = folder.script("cgi/x.pl", "require Uses if @ARGV; print rand;")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    with perl_zygote(script, reset=reset, modules=("Uses",), env={**LAUNCH_ENV, **lib}) as zygote:
        assert zygote.level == COMPILED and "random" in zygote.note(WARNING)[0], zygote.notes
        assert len({zygote.ask(env={**REQUEST_ENV, **lib}).text for _ in range(4)}) == 4


def test_requests_draw_differently_after_a_draw_that_the_operator_accepts(folder, reset):
    script = folder.script("x.pl", "our $x; BEGIN { $x = rand } print \"$x \", rand;")
    with perl_zygote(script, reset=reset, accept="random") as zygote:
        assert zygote.level == COMPILED, zygote.notes
        drawn = [zygote.ask().text.split() for _ in range(4)]
    assert [len(set(column)) for column in zip(*drawn)] == [1, 4]


# -- the environment and the words ---------------------------------------------------------------------

READS_ONCE = {
    "a deleted one": "$main::c = delete $ENV{HTTP_COOKIE}",
    "several deleted ones": "$main::c = join '-', delete @ENV{qw(HTTP_COOKIE HTTP_X)}",
    "one deleted for a moment": "{ $main::c = delete local $ENV{HTTP_COOKIE} }",
    "a deleted word": "$main::c = delete $ARGV[0]",
    "fewer words": "$#ARGV = 0",
    "no words": "$#ARGV = -1",
    "a spliced word": "$main::c = splice @ARGV, 0, 1",
    "the last word": "$main::c = pop @ARGV",
    "whether there is a word": "$main::c = exists $ARGV[1]",
    "whether there are words": "$main::c = @ARGV ? 'some' : 'none'",
    "another list of words": "*ARGV = ['x', 'y']",
    "other variables": "*ENV = {QUERY_STRING => 'mine'}",
    "a tie of the variables": "package T { require Tie::Hash; @ISA = 'Tie::StdHash';"
                              " sub UNTIE { print 'never' } sub DESTROY { } } tie %ENV, 'T';"
                              " $ENV{QUERY_STRING} = 'tied'",
    "a tie of the words": "package T { require Tie::Array; @ISA = 'Tie::StdArray'; } tie @ARGV, 'T', 1;"
                          " push @ARGV, 'tied'",
    "an end of the ties": "untie %ENV; untie @ARGV; $ENV{QUERY_STRING} = 'mine'",
}
SHOWS = """
print $main::c // 'none', "|@ARGV|$ENV{QUERY_STRING}|", exists $ENV{HTTP_COOKIE} ? 1 : 0, "\\n";
"""


@pytest.mark.parametrize("kind", READS_ONCE)
def test_what_a_begin_block_takes_is_the_request_s(folder, reset, kind):
    script = folder.script("x.pl", f"BEGIN {{ {READS_ONCE[kind]} }}{SHOWS}")
    for words in ((), ("one", "two")):
        for more in ({}, {"HTTP_COOKIE": "secret", "HTTP_X": "x"}):
            answers_like_plain(script, reset, words=words, env={**REQUEST_ENV, **more}, count=2)


def test_a_variable_that_is_only_deleted_costs_nothing_where_it_is_not_sent(folder, reset):
    script = folder.script("x.pl", "BEGIN { delete $ENV{HTTP_PROXY} }\nprint $ENV{HTTP_PROXY} // 'none';")
    _, answer = answers_like_plain(script, reset, level=COMPILED)
    assert not [text for kind, text in answer.notes if kind == SHALLOWER]
    answers_like_plain(script, reset, level=COMPILED, env={**REQUEST_ENV, "HTTP_PROXY": "evil"})


@pytest.mark.parametrize("words", [("-foo", "b"), ("-foo=7", "--", "-b"), ("b", "-foo"), ("-", "b"), ()])
@pytest.mark.parametrize("switches", [("-s",), ("-ws",), ()])
def test_the_switch_that_makes_variables_of_words(folder, reset, switches, words):
    """Without -s, words that begin with a dash are words like any other."""
    line = "#!/usr/bin/perl -s\n" if switches == ("-s",) else ""
    script = folder.script("x.pl", line + "our $foo; BEGIN { $::early = $foo // 'none' }\n"
                           "no warnings; print \"$::early $foo|@ARGV\";\n")
    answers_like_plain(script, reset, *switches, words=words, level=COMPILED)


@pytest.mark.parametrize("words", [["caf\u00e9", "a"], [b"caf\xe9", "\u263a"], [""], ["a", "", ""]])
@pytest.mark.parametrize("switch", ["-CA", "-CSDA", "-CSAL", "-CS", "-w"])
def test_words_are_decoded_as_perl_does(folder, reset, switch, words):
    script = folder.script("x.pl", "print scalar(@ARGV), ' ', join '|', map { (utf8::is_utf8($_) ? 1 : 0,"
                           " utf8::valid($_) ? length : 'invalid', unpack 'U0H*', $_) } @ARGV;\n")
    env = {"LANG": "C.UTF-8"}
    answers_like_plain(script, reset, switch, words=[os.fsdecode(word) for word in words],
                       env={**REQUEST_ENV, **env}, launch={**LAUNCH_ENV, **env}, level=COMPILED)


def test_words_are_decoded_if_a_variable_says_so(folder, reset):
    script = folder.script("x.pl", "print length $ARGV[0];")
    env = {"PERL_UNICODE": "SA"}
    _, answer = answers_like_plain(script, reset, words=["caf\u00e9"], env={**REQUEST_ENV, **env},
                                   launch={**LAUNCH_ENV, **env}, level=COMPILED)
    assert answer.text == "4"


# -- warnings ------------------------------------------------------------------------------------------

RECORDS = ("our @w; BEGIN { $SIG{__WARN__} = sub { push @w, @_ } }\n%s\n"
           "print exists $ENV{PERL5LIB} ? 1 : 0, \" @w\"; END { print \"end @w\" }\n")
WARNS_NOWHERE = {
    "nothing": ("", ()),
    "modules ahead": ("require Text::Wrap;", ("Text::Wrap", "Text::Tabs", "Missing")),
    "an impure module ahead": ("", ("File::Temp", "Time::HiRes", "Text::Wrap")),
    "an impure script": ("BEGIN { our $t = time }", ("Text::Wrap",)),
    "a variable of the request": ("BEGIN { our $q = $ENV{QUERY_STRING} }", ()),
    "a variable of the launch": ("BEGIN { our $q = $ENV{LANG} }", ()),
    "a changed variable": ("BEGIN { $ENV{PATH} = '/bin'; delete $ENV{HTTP_COOKIE}; $ENV{NEW} = undef }", ()),
    "an empty environment": ("BEGIN { %ENV = () }", ()),
    "words": ("BEGIN { our $n = @ARGV }", ()),
    "a closed stream": ("BEGIN { close STDIN; close STDERR }", ()),
    "a module learned": ("require Text::ParseWords;", ()),
}


@pytest.mark.parametrize("kind", WARNS_NOWHERE)
def test_no_warning_of_the_adapter_s_is_the_script_s_even_if_all_are_switched_on(folder, reset, kind):
    text, modules = WARNS_NOWHERE[kind]
    script = folder.script("x.pl", RECORDS % text)
    for more in ({}, {"EMPTY": "", "LANG": "C", "HTTP_COOKIE": "k"}):
        answers_like_plain(script, reset, "-W", words=("a", ""), env={**REQUEST_ENV, **more}, count=2,
                           modules=modules)


def test_a_script_used_again_sees_no_warnings_and_words_as_perl_gives_them(folder):
    script = folder.script("x.pl", "our @w; BEGIN { $SIG{__WARN__} = sub { push @w, @_ } }\n"
                           "my $first = shift; print scalar(@ARGV), length $first // 'none', ' ', \"@w\";\n")
    with perl_zygote(script, "-W", "-CA", reset="none") as zygote:
        assert zygote.reset == "none", (zygote.weaker, zygote.log())
        worker = zygote.worker()
        for words in (["caf\u00e9", "", ""], [], ["a"]):
            plain = run_plainly([PERL, "-W", "-CA", script, *words])
            answer = worker.request([script, *words], body=b"body")
            assert answer.seen() == plain.seen() and answer.stays


# -- what is the process's -----------------------------------------------------------------------------

OF_THE_PROCESS = {
    "a stream that does not wait": ("use IO::Handle; BEGIN { STDIN->blocking(0) }",
                                    "print STDIN->blocking ? 1 : 0;", "standard streams"),
    "a stream's flags": ("use Fcntl; BEGIN { fcntl STDOUT, F_SETFL, O_NONBLOCK | O_APPEND }",
                         "printf '%o', fcntl STDOUT, F_GETFL, 0;", "standard streams"),
    "a stream closed": ("BEGIN { close STDIN }", "open my $f, '<', $0; print fileno $f;", "standard streams"),
    "a stream replaced": ("BEGIN { open STDERR, '>&', \\*STDOUT }", "print 'out'; print STDERR 'err';",
                          "standard streams"),
    "a copy of a stream": ("BEGIN { open our $saved, '>&', \\*STDOUT }", "print {our $saved} 'out';",
                           "standard streams"),
    "all streams": ("BEGIN { close $_ for *STDIN, *STDOUT, *STDERR; open STDOUT, '>', \\$::o }",
                    "print 'lost';", "standard streams"),
    "its group": ("BEGIN { $::g = getpgrp }", "print $::g == getpgrp ? 1 : 0;", "process id"),
    "its session": ("BEGIN { $::s = syscall 124, 0 }", "print $::s == syscall(124, 0) ? 1 : 0;",
                    "process id"),
    "its file of the kernel": ("BEGIN { open F, '<', '/proc/self/stat'; $::n = <F>; close F }",
                               "print $::n == $$ ? 1 : 0;", "process id"),
    "the machine's time": ("BEGIN { open F, '<', '/proc/uptime'; $::u = <F>; close F }",
                           "print $::u > 0 ? 1 : 0;", "time"),
    "a tie of its output": (
        "BEGIN { package T; sub TIEHANDLE { bless [] } sub PRINT { shift; push @o, @_ }"
        " sub AUTOLOAD { push @o, $AUTOLOAD } tie *STDOUT, 'T' }",
        "print 'hello'; untie *STDOUT; print \"got @T::o\";", "STDOUT"),
}


@pytest.mark.parametrize("kind", OF_THE_PROCESS)
def test_what_is_the_process_s_is_left_to_each_request(folder, reset, kind):
    begin, shows, why = OF_THE_PROCESS[kind]
    script = folder.script("x.pl", f"{begin}\n{shows}\n")
    notes, _ = answers_like_plain(script, reset, level=BOOTED)
    assert why in [text for kind, text in notes if kind == LEVEL][0]


@pytest.mark.parametrize("text", ["close STDIN;", "use IO::Handle; STDOUT->blocking(0);",
                                  "open STDERR, '>', '/dev/null';"])
def test_a_module_that_changes_the_streams_is_not_loaded_ahead(folder, reset, text):
    folder.script("lib/Changes.pm", f"package Changes; {text} 1;")
    script = folder.script("cgi/x.pl",
                           "require Changes if @ARGV; print STDIN->blocking ? 1 : 0; warn 'x';")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    for words in ((), ("a",)):
        notes, _ = answers_like_plain(script, reset, words=words, level=COMPILED, modules=("Changes",),
                                      env={**REQUEST_ENV, **lib}, launch={**LAUNCH_ENV, **lib})
        assert "standard streams" in [text for kind, text in notes if kind == WARNING][0]


@pytest.mark.parametrize("begin, seen", [
    ("$0 = 'mine'", "mine"), ("my $name = 'mine'; my $set = 15; syscall 157, $set, $name, 0, 0, 0", "mine"),
    ("1", "web.pl")])
def test_a_name_that_a_begin_block_gives_the_process_stays(folder, reset, begin, seen):
    script = folder.script("web.pl", f"BEGIN {{ {begin} }} open F, '<', '/proc/self/comm'; print <F>;\n")
    with perl_zygote(script, reset=reset, name="web.pl") as zygote:
        assert [zygote.ask().text for _ in range(2)] == [seen + "\n"] * 2


def test_objects_of_a_script_s_variables_are_destroyed_in_perl_s_order(folder, reset):
    script = folder.script("x.pl", "sub DESTROY { print \"$_[0][0] \" }\n"
                           "our $a = bless ['a']; our $b = bless ['b'];"
                           " our ($c, $d) = map { bless [$_] } 'c', 'd';"
                           " my $e = bless ['e']; sub e { $e }\n")
    answers_like_plain(script, reset, level=COMPILED)


OVERRIDES = "exec join keys reverse readlink tell select untie tie splice index substr fileno close push"


@pytest.mark.parametrize("impure", ["our $t = time;", "our $q = $ENV{HTTP_X};", ""])
def test_functions_that_a_script_replaces_everywhere_are_not_the_adapter_s(folder, reset, impure):
    script = folder.script("x.pl", "our $called = 0;\n"
                           "BEGIN { for my $name (qw(" + OVERRIDES + " require)) {\n"
                           "no strict 'refs'; *{\"CORE::GLOBAL::$name\"} = sub { $called++; 'replaced' } }\n"
                           f"{impure} }}\nprint \"$called \", join('-', 1, 2), \" $called\\n\";\n")
    answers_like_plain(script, reset, env={**REQUEST_ENV, "HTTP_X": "1"}, modules=("Text::Wrap",))


@pytest.mark.parametrize("begin", ["-e '/nowhere'", "$! = 7", "eval { require Nowhere }; $_ = 1",
                                   "open my $f, '<', '/'; my $line = <$f>", "$! = 0"])
def test_the_error_that_a_begin_block_leaves_is_the_exit_code_of_a_die(folder, reset, begin):
    script = folder.script("x.pl", f"BEGIN {{ {begin} }} print $! + 0; die;\n__END__\n")
    answers_like_plain(script, reset, level=COMPILED)


# -- what it would change outside ------------------------------------------------------------------------

EFFECTS = {"a line of a file": "open my $f, '>>', LOG or die; print $f 'hit '; close $f",
           "a command": "system 'printf \"hit \" >>' . LOG",
           "an answer of a command": "my $answer = `printf \"hit \" >>@{[LOG]}`",
           "a child": "if (!defined(my $pid = fork)) { die } elsif (!$pid) { open my $f, '>>', LOG;"
                      "syswrite $f, 'hit '; exit } wait",
           "another program": "exec '/bin/sh', '-c', 'printf \"hit \" >>' . LOG",
           "a file, after the time": "our $when = time; our $n = rand;"
                                     "open my $f, '>>', LOG; print $f 'hit '; close $f",
           "a database": "require DBI; my $d = DBI->connect('dbi:SQLite:' . LOG, '', '');"
                         "$d->do('create table if not exists t (n)'); $d->do('insert into t values (1)')"}


@pytest.mark.parametrize("where", ["the script", "a module", "a module ahead"])
@pytest.mark.parametrize("effect", EFFECTS)
def test_what_a_load_changes_outside_is_not_changed_for_nobody(folder, reset, effect, where):
    text = "{ use constant LOG => '%s'; %s }" % (folder.path / "log", EFFECTS[effect])
    folder.script("Own.pm", f"package Own; {text} 1;\n")
    script = folder.script("x.pl", {"the script": f"BEGIN {text}", "a module": "use Own;",
                                    "a module ahead": "require Own;"}[where] + "\nprint 'x';\n")
    folders = {"PERL5LIB": str(folder.path)}
    plain = run_plainly([PERL, script], env={**REQUEST_ENV, **folders})
    once = (folder.path / "log").read_bytes()
    (folder.path / "log").unlink()
    ahead = ("Own",) if where == "a module ahead" else ()
    with perl_zygote(script, modules=ahead, reset=reset, env={**LAUNCH_ENV, **folders}) as zygote:
        assert zygote.stands and not (folder.path / "log").exists(), zygote.notes
        assert (zygote.level, bool(zygote.note(WARNING))) == ((COMPILED, True) if ahead else (BOOTED, False))
        for _ in range(2):
            assert zygote.ask(env={**REQUEST_ENV, **folders}).seen() == plain.seen()
    if effect != "a database":
        assert (folder.path / "log").read_bytes() == 2 * once != b""
