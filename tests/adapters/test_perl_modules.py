"""Which modules Perl's adapter loads before the requests, which it leaves out, and which it reports as worth
loading."""

import pytest

from driver import FILE, LAUNCH_ENV, LEVEL, REQUEST_ENV, SHALLOWER, WARNING, Warm, adapters_dir, run_plainly

PERL = "/usr/bin/perl"


def zygote_of(script, *switches, preload=(), **more):
    ours = "-MCGIBridge" + ("=" + ",".join(preload) if preload else "")
    return Warm([PERL, f"-I{adapters_dir()}/perl", ours, *switches, script], level="compiled", **more)


@pytest.fixture(params=["fork", "rewind"])
def reset(request):
    return request.param


def test_a_module_that_a_request_required_is_named_and_loaded_ahead(folder, reset):
    script = folder.script("x.pl", """
my $there = exists $INC{'Text/Wrap.pm'} ? 1 : 0;
require Text::Wrap; Text::Wrap->import; print Text::Wrap::wrap('', '  ', 'a b'), " $there\\n";
print "@ARGV\\n";
""")
    with zygote_of(script, reset=reset) as zygote:
        answer = zygote.ask()
    assert answer.text == "a b 0\n\n" and "Text::Wrap" in answer.loaded()
    with zygote_of(script, reset=reset, preload=answer.loaded()) as zygote:
        assert zygote.note(WARNING) == []
        assert any(name.endswith("Text/Wrap.pm") for name in zygote.note(FILE)[0].split("\n"))
        for _ in range(2):
            answer = zygote.ask("word")
            assert answer.text == "a b 1\nword\n" and answer.loaded() == []


def test_modules_are_loaded_with_the_script_s_own_folders_behind_its_compilation(folder, reset):
    folder.script("lib/Own.pm", "package Own; our $phase = ${^GLOBAL_PHASE};"
                  "sub import { $main::imported++ } 1;")
    script = folder.script("x.pl", """use FindBin; use lib "$FindBin::Bin/lib";
BEGIN { print STDERR 'early' if $INC{'Own.pm'} }
require Own; print "$Own::phase ", $main::imported // 'not imported', "\\n";
""")
    with zygote_of(script, reset=reset, preload=["Own"]) as zygote:
        assert zygote.log() == ""
        assert zygote.ask().text == "INIT not imported\n"


@pytest.mark.parametrize("text, why", [
    ("our $q = $ENV{QUERY_STRING};", "reads $ENV{QUERY_STRING}"),
    ("our $q = exists $ENV{HTTP_HOST};", "reads $ENV{HTTP_HOST}"),
    ("our %q = %ENV;", "lists all of %ENV"), ("$ENV{LEFT} = 1;", "writes %ENV"),
    ("delete $ENV{SERVER_SOFTWARE};", "writes %ENV"), ("print 'loaded';", "prints"),
])
def test_a_module_that_a_program_would_notice_is_left_out(folder, reset, text, why):
    folder.script("lib/Odd.pm", f"package Odd; {text} 1;")
    folder.script("lib/Even.pm", "package Even; our $word = 'even'; our $loaded++; 1;")
    script = folder.script("cgi/x.pl", "print join ' ', map { exists $INC{$_} ? 1 : 0 } 'Even.pm', 'Odd.pm';"
                           "require Odd; require Even;"
                           "print \" $Even::word $ENV{LEFT} $ENV{SERVER_SOFTWARE}\";")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    with zygote_of(script, reset=reset, env={**LAUNCH_ENV, **lib}, preload=["Odd", "Even"]) as zygote:
        assert zygote.note(WARNING) == [f"Odd is not loaded ahead: it {why} while it is loaded"]
        plain = run_plainly([PERL, script], env={**REQUEST_ENV, **lib})
        for _ in range(2):
            answer = zygote.ask(env={**REQUEST_ENV, **lib})
            assert answer.text == plain.text.replace("0 0", "1 0", 1) and answer.stderr == plain.stderr


def test_a_module_that_cannot_be_loaded_does_not_keep_the_program_from_being_warm(folder, reset):
    folder.script("lib/Broken.pm", "package Broken; die 'not today';")
    script = folder.script("cgi/x.pl", "eval { require Broken }; print $@;"
                           "eval { require Missing }; print $@;")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    with zygote_of(script, reset=reset, env={**LAUNCH_ENV, **lib}, preload=["Broken", "Missing"]) as zygote:
        plain = run_plainly([PERL, script], env={**REQUEST_ENV, **lib})
        assert zygote.ask(env={**REQUEST_ENV, **lib}).seen() == plain.seen()


def test_a_constant_variable_that_a_module_read_is_compared_with_the_request_s(folder, reset):
    folder.script("lib/Root.pm", "package Root; our $root = $ENV{DOCUMENT_ROOT}; 1;")
    script = folder.script("cgi/x.pl", "#!/usr/bin/perl\nrequire Root; print $Root::root;")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    with zygote_of(script, reset=reset, env={**LAUNCH_ENV, **lib}, preload=["Root"]) as zygote:
        assert zygote.ask(env={**REQUEST_ENV, **lib}).text == "/srv/www"
        answer = zygote.ask(env={**REQUEST_ENV, **lib, "DOCUMENT_ROOT": "/other"})
        assert answer.text == "/other" and answer.notes[0][0] == SHALLOWER


@pytest.mark.parametrize("learn, named", [
    ("installed", {"Text::Wrap"}), ("all", {"Text::Wrap", "Own"}), ("none", set())])
def test_what_is_named_is_what_the_operator_wants_learned(folder, reset, learn, named):
    folder.script("lib/Own.pm", "package Own; 1;")
    script = folder.script("x.pl", "use FindBin; use lib \"$FindBin::Bin/lib\";"
                           "require Own; require Text::Wrap;")
    with zygote_of(script, reset=reset, learn=learn) as zygote:
        assert set(zygote.ask().loaded()) & {"Text::Wrap", "Own"} == named


def test_a_folder_of_perl5lib_that_is_the_program_s_is_not_the_interpreter_s(folder):
    folder.script("lib/Own.pm", "package Own; 1;")
    script = folder.script("x.pl", "require Own; require Text::Wrap;")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    with zygote_of(script, env={**LAUNCH_ENV, **lib}) as zygote:
        loaded = zygote.ask(env={**REQUEST_ENV, **lib}).loaded()
    assert "Text::Wrap" in loaded and "Own" not in loaded


def test_a_module_that_draws_while_it_is_loaded_ahead_is_left_out(folder, reset):
    folder.script("lib/Draws.pm", "package Draws; our $x = rand; 1;")
    script = folder.script("x.pl", """use FindBin; use lib "$FindBin::Bin/lib";
require Draws; print $Draws::x;""")
    with zygote_of(script, reset=reset, preload=["Draws"]) as zygote:
        assert zygote.note(WARNING) == [
            f"Draws is not loaded ahead: it draws random numbers (rand, at {folder.path}/lib/Draws.pm line 1)"
            " while it is loaded"]
        assert len({zygote.ask().text for _ in range(5)}) == 5


STIRS = """use Net::SMTP; use List::Util ();
Net::SSLeay::RAND_bytes(my $bytes, 8);
print rand(), unpack('H*', $bytes), ' ', join(',', List::Util::shuffle(1 .. 30));
print exists $INC{'IO/Socket/SSL.pm'};
Net::SSLeay::randomize(); my $left = Net::SSLeay::RAND_status(); print " $left";"""


@pytest.mark.parametrize("how", ["use", "require"])
def test_a_module_that_stirs_openssl_s_generator_is_loaded_ahead(folder, reset, how):
    """IO::Socket::SSL draws from perl's generator for it: a request's numbers are its own all the same."""
    script = folder.script("x.pl", STIRS.replace("use", how, 1))
    with zygote_of(script, reset=reset, preload=["Net::SMTP"] if how == "require" else []) as zygote:
        assert zygote.level == 3 and not zygote.note(WARNING) + zygote.note(LEVEL), zygote.notes
        answers = [zygote.ask() for _ in range(5)]
    assert all(answer.text.endswith("1 1") and answer.notes == [] for answer in answers)
    for numbers in zip(*(answer.text[:-4].split() for answer in answers)):
        assert len(set(numbers)) == 5
    assert len({answer.text[:8] for answer in answers}) == 5


def test_a_module_that_draws_after_it_is_not(folder, reset):
    """By a library, past perl's own operation; it seeds perl's generator if nobody has."""
    folder.script("lib/Own.pm", "package Own; use Net::SMTP; use List::Util ();"
                  "our @order = List::Util::shuffle(1 .. 30); 1;")
    script = folder.script("x.pl", "use FindBin; use lib \"$FindBin::Bin/lib\"; use Own;"
                           "print \"@Own::order\";")
    with zygote_of(script, reset=reset) as zygote:
        assert "draws random numbers" in zygote.note(LEVEL)[0]
        assert len({zygote.ask().text for _ in range(5)}) == 5


def test_a_file_of_the_program_s_own_that_claims_to_stir_is_watched(folder, reset):
    folder.script("auto/Net/SSLeay/randomize.al", "our $key = rand; 1;")
    script = folder.script("x.pl", """use FindBin; use lib $FindBin::Bin;
BEGIN { require 'auto/Net/SSLeay/randomize.al' } print 1;""")
    with zygote_of(script, reset=reset) as zygote:
        assert "draws random numbers (rand, at" in zygote.note(LEVEL)[0]


def test_what_an_impure_module_loads_is_judged_by_itself(folder, reset):
    """Loaded a second time in one process, each would warn about its functions."""
    folder.script("lib/Draws.pm", "package Draws; use Inner; our $x = rand; 1;")
    folder.script("lib/Inner.pm", "package Inner; use warnings; use Deep; sub inner { 'inner' } 1;")
    folder.script("lib/Deep.pm", "package Deep; use warnings; sub deep { 'deep' } 1;")
    folder.script("lib/Beside.pm", "package Beside; use warnings; use Deep; sub beside { Deep::deep() } 1;")
    script = folder.script("cgi/x.pl", """
my @there = map { exists $INC{"$_.pm"} ? 1 : 0 } qw(Draws Inner Deep Beside);
require Draws; require Beside; print "@there ", Inner::inner(), Beside::beside();""")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    modules = ["Draws", "Inner", "Deep", "Beside"]
    with zygote_of(script, reset=reset, env={**LAUNCH_ENV, **lib}, preload=modules) as zygote:
        assert [note.split(" is not")[0] for note in zygote.note(WARNING)] == ["Draws"]
        assert zygote.ask(env={**REQUEST_ENV, **lib}).text == "0 1 1 1 innerdeep"
        assert zygote.log() == ""


def test_modules_are_named_in_the_order_in_which_a_request_began_to_load_them(folder):
    """One that may not know another one's prototype is begun before it; sorted, Later would come first."""
    folder.script("lib/Later.pm", "package Later; sub two($) { 'two' } 1;")
    folder.script("lib/Zuerst.pm", "package Zuerst; require Later; sub say { Later::two() } 1;")
    folder.script("lib/Middle.pm", "package Middle; require Zuerst; 1;")
    script = folder.script("cgi/x.pl", "require Middle; require Later; print Zuerst::say();")
    lib = {"PERL5LIB": str(folder.path / "lib")}
    with zygote_of(script, env={**LAUNCH_ENV, **lib}) as zygote:
        answer = zygote.ask(env={**REQUEST_ENV, **lib})
        learned = answer.loaded()
    assert answer.text == "two"
    assert learned == ["Middle", "Zuerst", "Later"]
    with zygote_of(script, env={**LAUNCH_ENV, **lib}, preload=learned) as zygote:
        assert zygote.ask(env={**REQUEST_ENV, **lib}).text == "two"
        assert zygote.log() == ""
