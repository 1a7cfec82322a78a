"""A program that closes its standard output has answered: the client gets the answer at once, and the program
goes on for as long as timeouts.background allows."""

import pytest

from harness import programs
from harness.processes import alive, wait_until

MODES = {"classic": 'mode = "classic"', "fork": 'reset = "fork"', "rewind": 'reset = "rewind"',
         "none": 'reset = "none"'}
WORKERS = "\nworkers = { max = 4, spare = 1 }\n"

# Answers, closes what the query names, and writes a note when it is told to go on.
WORKS_ON_PL = r"""
    use strict; use warnings;
    my ($close, $name) = split /&/, $ENV{QUERY_STRING};
    print "Content-Type: text/plain\n\n$$\n";
    close STDOUT if $close =~ /out/;
    close STDERR if $close =~ /err/;
    unless ($close =~ /nothing/) {
      select undef, undef, undef, 0.01 until -e "NOTES/go";
      print STDERR "the last word of $name\n" unless $close =~ /err/;
      open my $note, ">", "NOTES/$name" or die;
      print $note $$;
      close $note;
    }
    exit 3;
    """


@pytest.fixture
def notes(site):
    folder = site.folder / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def program(site, notes):
    return site.perl("worker.pl", WORKS_ON_PL.replace("NOTES", str(notes)))


def start(site, mode, program, more=""):
    bridge = site.start_bridge(MODES[mode] + WORKERS + more)
    if mode != "classic":
        bridge.request(program, query="nothing")
        bridge.wait_warm(program)
    return bridge


def background(bridge):
    status = bridge.status()["bridge"]
    return status["background"], status["background_total"], status["background_ended"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("close", ["out", "out and err"])
def test_its_answer_is_there_while_it_goes_on(site, notes, program, mode, close):
    bridge = start(site, mode, program)
    with bridge.connect() as peer:
        pids = set()
        for count in range(3):
            # All on one connection, which stays open.
            answer = peer.request(program, query=f"{close}&note{count}", id=count % 2 + 1)
            assert (answer.status, answer.app_status) == (200, 0)
            pids.add(int(answer.body))
        assert len(pids) == 3 and all(alive(pid) for pid in pids)
        assert background(bridge) == (3, 3, 0)
        assert bridge.program(program)["workers"]["busy"] == 3
        # None of these workers takes another request.
        for _ in range(3):
            answer = peer.request(program, query="nothing")
            assert (answer.status, answer.app_status) == (200, 3)
            assert int(answer.body) not in pids
    (notes / "go").touch()
    for count in range(3):
        wait_until((notes / f"note{count}").exists, "it has come to its end")
        if close == "out":
            bridge.expect_log(f"the last word of note{count}")
    wait_until(lambda: background(bridge) == (0, 3, 0), "nothing goes on")
    wait_until(lambda: bridge.program(program)["workers"]["busy"] == 0, "all is over")
    assert bridge.request(program, query="nothing").app_status == 3


@pytest.mark.parametrize("mode", ["classic", "rewind"])
def test_web_server_and_client_have_it_as_well(site, notes, program, mode):
    bridge = start(site, mode, program)
    nginx = site.start_nginx(bridge)
    answer = nginx.send_request("/cgi-bin/worker.pl?out&note")
    assert answer.status == 200 and alive(int(answer.body))
    (notes / "go").touch()
    wait_until((notes / "note").exists, "it has come to its end")


@pytest.mark.parametrize("mode", MODES)
def test_it_is_ended_at_its_limit(site, program, mode):
    bridge = start(site, mode, program, 'timeouts = { background = "200ms", kill_grace = "300ms" }\n')
    pid = int(bridge.request(program, query="out&note").body)
    bridge.expect_log(r"after its answer for more than 200 ms \(timeouts.background\): it is ended")
    wait_until(lambda: not alive(pid), "it has ended")
    wait_until(lambda: background(bridge) == (0, 1, 1), "it is counted")
    assert bridge.request(program, query="nothing").status == 200


def test_one_that_ignores_sigterm_is_killed_after_the_grace_time(site):
    script = site.sh("stubborn", """
        trap '' TERM
        printf 'Content-Type: text/plain\\n\\n%s\\n' $$
        exec >&-
        while :; do sleep 0.01; done
        """)
    bridge = site.start_bridge('mode = "classic"\n'
                               'timeouts = { background = "200ms", kill_grace = "200ms" }\n')
    pid = int(bridge.request(script).body)
    wait_until(lambda: not alive(pid), "it was killed")
    bridge.expect_log("killed by signal 9")


@pytest.mark.parametrize("mode", ["classic", "fork", "rewind"])
def test_an_answer_is_whole_only_when_nobody_can_add_to_it(site, notes, mode):
    """The program closes its standard output, but its child still has it and prints more."""
    script = site.sh("parent", f"""
        printf 'Content-Type: text/plain\\n\\n'
        ( while [ ! -e {notes}/say ]; do sleep 0.01; done; echo more
          exec >&-; while [ ! -e {notes}/go ]; do sleep 0.01; done ) &
        exec >&-
        wait
        """)
    bridge = site.start_bridge(MODES[mode] + WORKERS)
    if mode != "classic":
        for name in ("say", "go"):
            (notes / name).touch()
        bridge.request(script)
        bridge.wait_warm(script)
        for name in ("say", "go"):
            (notes / name).unlink()
    with bridge.connect() as peer:
        peer.start(script)
        peer.wait_for_output(b"\n\n")
        assert background(bridge)[0] == 0
        (notes / "say").touch()
        assert peer.response().body == b"more\n"
    assert background(bridge)[0] == 1
    (notes / "go").touch()
    wait_until(lambda: background(bridge)[0] == 0, "it is over")


def test_what_goes_on_is_compared_like_any_other(site):
    bridge = site.start_bridge('mode = "shadow"' + WORKERS)
    script = site.perl("letter.pl", """
        print "Content-Type: text/plain\\n\\na letter\\n";
        close STDOUT;
        select undef, undef, undef, 0.3;
        """)
    bridge.request(script)
    bridge.wait_warm(script)
    for _ in range(3):
        assert bridge.request(script).body == b"a letter\n"

    def compared():
        return bridge.program(script).get("shadow", {}).get("compared", 0) >= 3
    wait_until(compared, "they are compared")
    assert bridge.program(script)["shadow"]["different"] == 0


def test_a_drain_waits_for_it(site, notes, program):
    bridge = start(site, "rewind", program)
    pid = int(bridge.request(program, query="out&note").body)
    hello = programs.hello(site)
    bridge.command("reload")
    assert bridge.request(hello).body == b"hello\n"
    bridge.command("drain")
    bridge.expect_log("draining, 1 request")
    assert alive(pid)
    (notes / "go").touch()
    bridge.expect_end()
    assert (notes / "note").exists()
