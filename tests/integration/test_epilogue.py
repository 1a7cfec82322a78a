"""What a program does after its answer: a client that has the whole answer may leave, as curl does at the
last byte that Content-Length announced, and the program still runs to its end."""

import os
import signal

import pytest

from harness.processes import wait_until

MODES = {
    "classic": 'mode = "classic"\n',
    "fork": 'mode = "persistent"\nreset = "fork"\n',
    "rewind": 'mode = "persistent"\nreset = "rewind"\n',
}
BODY = b"a letter\n"


@pytest.fixture
def notes(site):
    folder = site.folder / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def program(site, notes):
    """Answers, and when it is told to go on, writes a note that it has reached its end."""
    return site.perl("letter", f"""
        use strict; use warnings;
        $| = 1;
        my ($length, $name) = split /&/, $ENV{{QUERY_STRING}};
        my $status = $length =~ /^304$/ ? "Status: 304\\n" : "";
        my $promise = $length =~ /^[0-9]$/ ? "Content-Length: $length\\n" : "";
        print "Content-Type: text/plain\\n$status$promise\\n";
        print "a letter\\n" unless $status;
        print STDERR "answered $name $$\\n";
        select undef, undef, undef, 0.01 until -e "{notes}/go";
        print "unheard\\n" x 100_000;
        print STDERR "the last word of $name\\n";
        open my $note, ">", "{notes}/$name" or die;
        print $note $$;
        close $note;
        """)


def leave(peer, how):
    if how == "abort":
        peer.abort()
        assert peer.response().protocol_status == 0
    getattr(peer, "reset" if how == "reset" else "close")()


def ask(bridge, program, query, method="GET"):
    """A peer that has the whole answer, while the program has not ended."""
    peer = bridge.connect()
    peer.start(program, method, query=query)
    peer.wait_for_output(BODY if method == "GET" and not query.startswith("304") else b"\n\n")
    bridge.expect_log(f"answered {query.split('&')[1]}")
    return peer


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["close", "reset", "abort"])
def test_a_client_that_has_its_answer_whole_ends_nothing(site, notes, program, mode, how):
    bridge = site.start_bridge(MODES[mode])
    if mode != "classic":
        (notes / "go").touch()
        bridge.request(program, query="9&warm")
        bridge.wait_warm(program)
        (notes / "go").unlink()
    for count in range(3):
        leave(ask(bridge, program, f"9&note{count}"), how)
    wait_until(lambda: bridge.status()["bridge"]["connections"] <= 1, "the clients have left")
    assert bridge.program(program)["workers"]["busy"] == 3
    (notes / "go").touch()
    for count in range(3):
        wait_until((notes / f"note{count}").exists, "it has come to its end")
        bridge.expect_log(f"the last word of note{count}")
    wait_until(lambda: bridge.program(program)["workers"]["busy"] == 0, "all is over")
    entry = bridge.program(program)
    assert not entry["retired"]
    assert not any(arm["failures"] for arm in entry["arms"].values())


@pytest.mark.parametrize("query,method", [("304&bare", "GET"), ("9&head", "HEAD")])
def test_an_answer_without_a_body_is_whole_with_its_head(site, notes, program, query, method):
    bridge = site.start_bridge(MODES["classic"])
    leave(ask(bridge, program, query, method), "close")
    (notes / "go").touch()
    wait_until((notes / query.split("&")[1]).exists, "it has come to its end")


def test_of_an_answer_without_a_length_nobody_knows_that_it_is_whole(site, notes, program):
    bridge = site.start_bridge(MODES["classic"])
    leave(ask(bridge, program, "x&cut"), "close")
    wait_until(lambda: bridge.program(program)["workers"]["busy"] == 0, "it is ended")
    assert not (notes / "cut").exists()
    bridge.expect_log("their programs are ended")


def test_the_time_limit_holds_behind_the_answer(site, notes, program):
    bridge = site.start_bridge(
        MODES["classic"] + 'timeouts = { request = "4s", kill_grace = "200ms" }\n')
    leave(ask(bridge, program, "9&late"), "close")
    bridge.expect_log("timeouts.request", 20)
    wait_until(lambda: bridge.program(program)["workers"]["busy"] == 0, "it is ended")
    assert not (notes / "late").exists()


def test_a_draining_bridge_waits_for_it(site, notes, program):
    bridge = site.start_bridge(MODES["classic"])
    leave(ask(bridge, program, "9&drained"), "close")
    wait_until(lambda: bridge.status()["bridge"]["connections"] <= 1, "the client has left")
    os.kill(bridge.pid, signal.SIGTERM)
    bridge.expect_log("draining, 1 request")
    (notes / "go").touch()
    bridge.expect_end()
    assert (notes / "drained").exists()
