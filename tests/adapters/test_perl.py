"""The level `compiled` for Perl: the real script, compiled by the real perl."""

import subprocess
import time

import pytest

from driver import FILE, LAUNCH_ENV, LEVEL, REQUEST_ENV, SHALLOWER, Zygote, adapters_dir, run_plainly

PERL = "/usr/bin/perl"


def perl_zygote(script, *switches, **more):
    return Zygote([PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", *switches, script],
                  level="compiled", **more)


def answers_like_plain(script, *switches, words=(), count=3, body=b"", env=None, launch_env=None):
    plain = run_plainly([PERL, *switches, script, *words], body=body, env=env)
    with perl_zygote(script, *switches, env=launch_env) as zygote:
        for _ in range(count):
            answer = zygote.worker().request([script, *words], body=body, env=env)
            assert answer.seen() == plain.seen()
    return answer


def refusal(script, *switches):
    with perl_zygote(script, *switches) as zygote:
        assert not zygote.stands
        return zygote.note(SHALLOWER)[0]


def test_phases_run_in_perl_s_own_order_and_init_in_the_request(folder):
    script = folder.script("x.pl", """#!/usr/bin/perl -w
use strict;
our @order;
INIT { push @order, "INIT1 " . ($ENV{QUERY_STRING} // '') }
BEGIN { push @order, 'BEGIN' } UNITCHECK { push @order, 'UNITCHECK' }
CHECK { push @order, 'CHECK1' } CHECK { push @order, 'CHECK2' }
INIT { push @order, "INIT2 ${^GLOBAL_PHASE}" }
END { print "END $?\\n"; $? = 7 }
print "$_\\n" for @order, ${^GLOBAL_PHASE};
my $object = bless []; our $global = bless {};
sub DESTROY { print "DESTROY\\n" }
exit 5;
""")
    answer = answers_like_plain(script, "-w")
    assert answer.text.startswith("BEGIN\nUNITCHECK\nCHECK2\nCHECK1\nINIT1 a=1&b=2\n")
    assert (answer.code, answer.done) == (7, 7)


def test_what_a_script_sees_of_itself(folder):
    script = folder.script("x.pl", """
print "$0 @ARGV\\n"; print "$_=$ENV{$_}\\n" for sort keys %ENV; print `env | sort`;
print "@INC\\n"; print join(' ', sort keys %INC), "\\n"; print "$^T $^W $;\\n" if $^T < time - 60;
print "${^TAINT} $| @{[fileno STDOUT]} @{[tell(STDOUT)]}\\n"; print while <STDIN>;
open my $f, '<', '/dev/null'; print fileno($f), "\\n"; print __FILE__, __LINE__, __PACKAGE__, "\\n";
printf "%d %d [$@] %s\n", $!, $?, $. // 'undef'; warn 'careful'; print join(',', caller) . "\\n";
print exists $main::{'POSIX::'} ? 'POSIX' : '', "\\n";
die 'the end';
""")
    answers_like_plain(script, words=["a", "b c"], body=b"some\nbody\n")


def test_data_is_read_from_its_start_in_every_worker(folder):
    rows = "".join(f"row {i} {'x' * 90}\n" for i in range(400))  # more than perl reads ahead
    answers_like_plain(folder.script("x.pl", f"print while <DATA>;\n__DATA__\n{rows}"))


def test_closures_of_named_subs_and_globals_start_fresh(folder):
    answers_like_plain(folder.script("x.pl", """use strict; use warnings;
my $count = 0; our %seen; sub next_one { ++$count } print next_one(), next_one(), ++$seen{x}, "\\n";
"""))


def test_taint_mode_taints_the_request(folder):
    script = folder.script("x.pl", """#!/usr/bin/perl -T
use strict; use Scalar::Util 'tainted';
BEGIN { $ENV{PATH} = '/usr/bin:/bin'; delete @ENV{qw(IFS CDPATH ENV BASH_ENV)} }
print join(' ', map { tainted($_) ? 1 : 0 } $ENV{QUERY_STRING}, $ARGV[0], $ENV{PATH}), "\\n";
print `echo fine`; print eval { system("echo $ENV{QUERY_STRING}"); 1 } ? 'ran' : $@;
""")
    assert answers_like_plain(script, "-T", words=["w"]).text.startswith("1 1 0\nfine\nInsecure")


def test_what_a_begin_block_does_to_the_environment_stays(folder):
    answers_like_plain(folder.script("x.pl", """
BEGIN { $ENV{PATH} = '/bin'; $ENV{NEW} = 1; delete $ENV{SERVER_SOFTWARE};
        $ENV{QUERY_STRING} = 'mine'; }
print "$_=$ENV{$_}\\n" for sort keys %ENV; print `/usr/bin/env | /usr/bin/sort`;
"""))


def test_random_numbers_differ(folder):
    script = folder.script("x.pl", "print rand, ' ', int rand 1e9;")
    with perl_zygote(script) as zygote:
        drawn = {zygote.worker().request([script]).text for _ in range(30)}
    assert len(drawn) == 30


@pytest.mark.parametrize("early, values", [
    ("my $x; BEGIN { $x = rand }", 10), ("BEGIN { srand 42 }", 1), ("BEGIN { srand }", 10)])
def test_what_a_begin_block_draws_or_seeds_is_each_request_s(folder, early, values):
    script = folder.script("x.pl", early + " print rand;")
    with perl_zygote(script) as zygote:
        assert zygote.level == 2 and "random numbers" in zygote.note(LEVEL)[0]
        assert len({zygote.worker().request([script]).text for _ in range(10)}) == values


def test_the_start_time_is_the_request_s(folder):
    script = folder.script("x.pl", "print $^T;")
    with perl_zygote(script) as zygote:
        worker = zygote.worker()
        time.sleep(2.1)
        sent = time.time()
        told = int(worker.request([script]).text)
    # Perl's clock may be a tick behind.
    assert int(sent - 0.05) <= told <= time.time()


@pytest.mark.parametrize("early, why", [
    ("BEGIN { $q = $ENV{QUERY_STRING} }", "QUERY_STRING"),
    ("use lib \"$ENV{HTTP_HOST}/lib\";", "HTTP_HOST"),
    ("BEGIN { $q = exists $ENV{CONTENT_LENGTH} }", "CONTENT_LENGTH"),
    ("BEGIN { @all = keys %ENV }", "lists all"), ("BEGIN { %copy = %ENV }", "lists all"),
    ("BEGIN { print 'early' }", "prints"), ("BEGIN { $| = 1; print 'early' }", "prints"),
    ("BEGIN { open LOG, '>>', '/dev/shm/cgibridge-test' }", "changes files"),
])
def test_an_early_look_at_the_request_is_noticed(folder, early, why):
    script = folder.script("x.pl", early + "\nprint 1;")
    with perl_zygote(script) as zygote:
        assert zygote.level == 2 and why in zygote.note(LEVEL)[0]


@pytest.mark.parametrize("early, level", [("", 3), ("while (($k) = each %ENV) { }", 2)])
def test_fast_cgi_s_look_at_all_variables_keeps_nothing(folder, early, level):
    if subprocess.run([PERL, "-MCGI::Fast", "-e1"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no CGI::Fast")
    script = folder.script("x.pl", "use CGI::Fast; our $k; BEGIN { " + early + """ }
while (my $q = CGI::Fast->new) { print $q->param('word'), $CGI::Fast::ignore // '-' }""")
    with perl_zygote(script) as zygote:
        assert zygote.level == level
        for word in ("one", "two"):
            env = {**REQUEST_ENV, "REQUEST_METHOD": "GET", "QUERY_STRING": f"word={word}"}
            assert zygote.worker().request([script], env=env).text == word + "-"


def test_a_timer_that_runs_is_refused(folder):
    assert "timer" in refusal(folder.script("x.pl", "BEGIN { alarm 100 }\nprint 1;"))


def test_variables_that_are_constant_for_a_program_may_be_read_early(folder):
    answers_like_plain(folder.script(
        "x.pl", 'use lib "$ENV{DOCUMENT_ROOT}/lib"; BEGIN { $m = $ENV{MOD_PERL} } print "@INC";'))


def test_a_request_whose_constant_differs_starts_the_program_anew(folder):
    script = folder.script("x.pl", "BEGIN { $m = $ENV{MOOD} // 'none' } print \"$m @ARGV $$\\n\";")
    env = {**REQUEST_ENV, "MOOD": "good"}
    with perl_zygote(script) as zygote:
        worker = zygote.worker()
        answer = worker.request([script, "w"], env=env)
        assert answer.text == f"good w {worker.pid}\n"
        assert [kind for kind, _ in answer.notes] == [SHALLOWER]
        assert zygote.worker().request([script]).text.startswith("none")


def test_a_compile_error_is_perl_s_own(folder):
    script = folder.script("x.pl", "use strict; $x = 1;")
    with perl_zygote(script) as zygote:
        assert not zygote.stands and not zygote.note(SHALLOWER)
        assert "Global symbol" in zygote.log()
        assert zygote.process.wait(5) == 255


def test_a_fork_that_returns_to_the_end_of_the_script(folder):
    answer = answers_like_plain(folder.script("x.pl", """
$| = 1; print "one\\n"; my $pid = fork;
if (!$pid) { print "child\\n" } else { wait; print "parent\\n" }
END { print "end\\n" }
"""))
    assert answer.done == 0


def test_exec_and_system_in_a_request(folder):
    answers_like_plain(folder.script(
        "x.pl", "$| = 1; system 'echo', 'hi'; print `cat`; exec 'ls', '/proc/self/fd';"),
        body=b"body")


def test_exit_inside_eval_and_signal_handlers(folder):
    answers_like_plain(folder.script(
        "x.pl", "print join(',', grep { defined $SIG{$_} } sort keys %SIG), \"\\n\";"
                "eval { exit 3 }; print 1"))


def test_modules_loaded_while_compiling_are_named_with_their_files(folder):
    folder.script("lib/Mine.pm", "package Mine; 1;")
    script = folder.script("x.pl", f"use lib '{folder.path}/lib'; use Mine; print 1;")
    with perl_zygote(script) as zygote:
        assert f"{folder.path}/lib/Mine.pm" in "\n".join(zygote.note(FILE)).split("\n")


def test_modules_that_a_request_loads_are_reported_and_then_loaded_ahead(folder):
    folder.script("Mine.pm", "package Mine; 1;")
    script = folder.script("x.pl", "use lib '.'; require Mine; eval { require Text::Wrap } or die;\n"
                                   "print exists $INC{'Text/Tabs.pm'} ? 'loaded' : 'not', \"\\n\"; exit 3;")
    with perl_zygote(script, cwd=str(folder.path)) as zygote:
        first = zygote.worker().request([script], cwd=str(folder.path))
    assert {"Text::Wrap", "Text::Tabs"} <= set(first.loaded()) and "Mine" not in first.loaded()
    with perl_zygote(script, *("-m" + name for name in first.loaded()), cwd=str(folder.path)) as zygote:
        second = zygote.worker().request([script], cwd=str(folder.path))
    assert second.loaded() == [] and (second.text, second.code) == (first.text, first.code) == ("loaded\n", 3)


def test_cgi_pm_with_a_form(folder):
    if subprocess.run([PERL, "-MCGI", "-e1"], capture_output=True).returncode:
        pytest.skip("CGI.pm is not installed")
    script = folder.script("x.pl", """use strict; use warnings; use CGI qw(:standard);
use CGI::Carp 'fatalsToBrowser';
print header(-type => 'text/html', -charset => 'utf-8'), start_html('x'),
    h1(scalar param('name')), end_html;
""")
    env = {**REQUEST_ENV, "REQUEST_METHOD": "POST", "CONTENT_LENGTH": "10",
           "CONTENT_TYPE": "application/x-www-form-urlencoded", "QUERY_STRING": ""}
    answers_like_plain(script, "-w", env=env, body=b"name=a%26b")


def test_without_the_library_the_script_is_plain_cgi(folder):
    script = folder.script("x.pl", "print \"$0 @ARGV $ENV{QUERY_STRING}\\n\"; print `env`;")
    argv = [PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script, "w"]
    assert run_plainly(argv).seen() == run_plainly([PERL, script, "w"]).seen()


def test_without_the_library_and_without_a_request_nothing_runs(folder):
    script = folder.script("x.pl", "print 'ran'; END { print 'ended' }")
    argv = [PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script]
    assert run_plainly(argv, env=LAUNCH_ENV).stdout == b""


# -- the reset `none` ---------------------------------------------------------------------------

def asks_again(script, *requests):
    """The answers of one worker, which is reused for each (words, further request options)."""
    with perl_zygote(script, reset="none") as zygote:
        assert (zygote.reset, zygote.weaker) == ("none", ""), zygote.log()
        worker = zygote.worker()
        return [worker.request([script, *words], **more) for words, more in requests]


def test_a_tainted_script_is_used_again_like_any_other(folder):
    script = folder.script("x.pl", '#!/usr/bin/perl -T\nour $n; print ++$n, " ${^TAINT}";\n')
    with perl_zygote(script, "-T", reset="none") as zygote:
        assert (zygote.reset, zygote.weaker) == ("none", ""), zygote.log()
        worker = zygote.worker()
        assert [worker.request([script]).text for _ in range(2)] == ["1 1", "2 1"]


def test_a_process_that_is_used_again_keeps_its_state_and_gets_each_request(folder):
    script = folder.script("x.pl", """use strict; use warnings; use Cwd;
our $count; $count++; my $first = shift; binmode STDOUT, ':encoding(UTF-8)';
print "$count $$ $0 ", $first // '', " @ARGV $ENV{QUERY_STRING} ", exists $ENV{ONCE} ? 1 : 0,
    ' ', getcwd(), ' ', time - $^T < 60, " \\x{263a} ", scalar <STDIN>;
$ENV{ONCE} = 'mine';
print STDERR "error $count\\n";
""")
    (folder.path / "deeper").mkdir()
    first, second, third = asks_again(
        script, (["a", "b"], {"body": b"one\nleft over\n", "env": {**REQUEST_ENV, "ONCE": "1"}}),
        ([], {"body": b"two\n", "cwd": str(folder.path)}),
        (["c"], {"body": b"three\n", "env": {**REQUEST_ENV, "QUERY_STRING": "q"}}))
    pid = first.text.split()[1]
    assert first.text == f"1 {pid} {script} a b a=1&b=2 1 / 1 ☺ one\n"
    assert second.text == f"2 {pid} {script}   a=1&b=2 0 {folder.path} 1 ☺ two\n"
    assert third.text == f"3 {pid} {script} c  q 0 / 1 ☺ three\n"
    assert [answer.stderr for answer in (first, second, third)] == [
        b"error 1\n", b"error 2\n", b"error 3\n"]
    assert all(answer.stays and answer.done == 0 for answer in (first, second, third))


@pytest.mark.parametrize("end, code", [
    ("exit 3", 3), ("exit", 0), ("eval { exit 4 }; print 'not left'", 4), ("sub f { exit 5 } f()", 5),
    ("exit 256 + 7", 7), ("for (1, 2) { map { exit 6 } 1 }", 6), ("return", 0)])
def test_an_exit_ends_the_request_and_not_the_process(folder, end, code):
    script = folder.script("x.pl", f"local $x = 1; print ++$count, '-'; {end};\nEND {{ print 'ended' }}")
    answers = asks_again(script, ([], {}), ([], {}))
    assert [(answer.text, answer.done, answer.stays) for answer in answers] == [
        ("1-", code, True), ("2-", code, True)]


def test_a_script_used_again_reads_each_body_to_its_end(folder):
    script = folder.script("x.pl", "local $/; print <STDIN>, eof STDIN ? ' end' : '', \" $! $?\";"
                           "system 'false'; close STDIN if $ENV{QUERY_STRING} eq 'close'")
    close = {**REQUEST_ENV, "QUERY_STRING": "close"}
    answers = asks_again(script, ([], {"body": b"one"}), ([], {"body": b"", "env": close}),
                         ([], {"body": b"three"}))
    assert [answer.text for answer in answers] == ["one end  0", " end  0", "three end  0"]


def test_an_error_that_nobody_caught_is_perl_s_own_end(folder):
    script = folder.script("x.pl", "print 'before'; $SIG{__DIE__} = sub { print $^S ? 1 : 0 };\n"
                           "die 'oops';\nEND { print 'ended' }")
    answer, = asks_again(script, ([], {}))
    plain = run_plainly([PERL, script])
    assert answer.seen() == plain.seen() and answer.code == 255 and not answer.stays


def test_end_blocks_run_at_the_end_of_a_process_that_is_used_again(folder):
    script = folder.script("x.pl", f"END {{ open my $f, '>>', '{folder.path}/ends'; print $f 'end' }}")
    asks_again(script, ([], {}), ([], {}))
    assert (folder.path / "ends").read_text() == "end"


def test_what_a_script_used_again_may_hold(folder):
    """Data, unfinished pod, its own package, a sub that perl calls from C."""
    script = folder.script("x.pl", """#!/usr/bin/perl -w
package Mine; print while <main::DATA>; print __FILE__, ' ', __LINE__, "\\n";
print join(' ', sort { $a <=> $b } 3, 1, 2), "\\n";

=head1 NAME

pod
__DATA__
row 1
row 2
""")
    assert [answer.text for answer in asks_again(script, ([], {}), ([], {}))] == [
        f"row 1\nrow 2\n{script} 2\n1 2 3\n"] * 2


def test_a_child_of_a_script_used_again_ends_by_itself(folder):
    script = folder.script("x.pl", "$| = 1; print 'start '; if (!fork) { print 'child '; exit 9 }\n"
                           "wait; print $? >> 8;")
    assert [answer.text for answer in asks_again(script, ([], {}), ([], {}))] == [
        "start child 9"] * 2


def test_a_script_used_again_that_does_not_compile(folder):
    script = folder.script("x.pl", "use strict;\n$x = 1;")
    with perl_zygote(script, reset="none") as zygote:
        assert not zygote.stands and not zygote.note(SHALLOWER)
        assert f"Global symbol \"$x\" requires explicit package name (did you forget to declare " \
               f"\"my $x\"?) at {script} line 2." in zygote.log()


@pytest.mark.parametrize("size", [4094, 4095, 8188, 8189, 30000])
def test_an_environment_that_comes_in_several_pieces(folder, size):
    script = folder.script("x.pl", "print \"$_=$ENV{$_}\\n\" for sort keys %ENV; print `env | sort`;")
    length = sum(len(name) + len(value) + 2 for name, value in REQUEST_ENV.items())
    env = {**REQUEST_ENV, "LONG": "x" * (size - length - 6)}
    answers_like_plain(script, env=env, count=1)


CHANGES = {
    "appends to one": 'BEGIN { $ENV{PATH} .= ":/opt/bin" }',
    "sets one that is missing": 'BEGIN { $ENV{FTP_PASSIVE} = 1 unless exists $ENV{FTP_PASSIVE} }',
    "sets a default": 'BEGIN { $ENV{SERVER_NAME} ||= "nobody" }',
    "sets one for a moment": 'BEGIN { local $ENV{SERVER_NAME} = "x"; }',
    "reads one": 'BEGIN { $main::name = $ENV{SERVER_NAME} // "none" }',
    "deletes one": 'BEGIN { delete $ENV{SERVER_NAME} }',
    "replaces one": 'BEGIN { $ENV{PATH} = "/usr/bin" }',
}


@pytest.mark.parametrize("switch", ["-w", "-wT"])
@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_done_to_the_environment_while_compiling_is_done_once(folder, kind, switch):
    """For each of two virtual hosts, with the value that the request sent."""
    script = folder.script("x.pl", CHANGES[kind] + """
print "$_=$ENV{$_}\\n" for sort keys %ENV;
print $main::name if defined $main::name;
""")
    hosts = [{**REQUEST_ENV, "SERVER_NAME": name, "PATH": "/usr/bin:/bin"}
             for name in ("one.example", "two.example", "one.example")]
    launch = {**LAUNCH_ENV, "SERVER_NAME": "one.example", "PATH": "/usr/bin:/bin"}
    with perl_zygote(script, switch, env=launch) as zygote:
        for host in hosts:
            plain = run_plainly([PERL, switch, script], env=host)
            assert plain.code == 0 and plain.stderr == b""
            answer = zygote.worker().request([script], env=host)
            assert answer.seen() == plain.seen()


@pytest.mark.parametrize("change", ["@ARGV = ('a', 'b')", "push @ARGV, 'a'", "unshift @ARGV, 'a'",
                                    "$ARGV[0] = 'a'", "splice @ARGV, 0, 0, 'a'", "@ARGV = ()"])
def test_a_script_that_changes_its_words_while_compiling_is_compiled_by_each_request(folder, change):
    script = folder.script("x.pl", "BEGIN { %s }\nprint qq(@ARGV.\\n);\n" % change)
    for words in ((), ("one", "two")):
        answers_like_plain(script, words=words)


def test_a_default_that_is_set_while_compiling_starts_nothing_anew(folder):
    script = folder.script("x.pl", 'BEGIN { $ENV{FTP_PASSIVE} = 1 unless exists $ENV{FTP_PASSIVE} }\n'
                                   'print "$ENV{FTP_PASSIVE} $$\\n";\n')
    with perl_zygote(script) as zygote:
        for _ in range(3):
            assert not [text for kind, text in zygote.worker().request([script]).notes if kind == SHALLOWER]


@pytest.mark.parametrize("script", [
    "$SIG{__WARN__} = sub { print qq(warned: @_) };",
    "BEGIN { $SIG{__WARN__} = sub { die @_ } }",
    "",
])
def test_no_warning_of_the_adapter_s_is_the_script_s(folder, script):
    script = folder.script("x.pl", script + "\nprint exists $ENV{PERL5LIB} ? 'there' : 'none', qq(\\n);\n")
    with perl_zygote(script, "-w") as zygote:
        assert zygote.stands, zygote.log()
        assert zygote.level == 3 and zygote.log() == ""
    answers_like_plain(script, "-w")
