"""Clients that send their request and then close their sending side: over a unix socket they are answered."""

import os
import socket

import pytest

from harness import fastcgi, processes, programs
from harness.fastcgi import variables_for
from harness.processes import wait_until


@pytest.fixture
def bridge(site):
    listen = [f"unix:{site.folder}/fastcgi.sock", f"127.0.0.1:{processes.free_port()}"]
    return site.start_bridge('mode = "classic"\ntimeouts = { kill_grace = "1s" }', listen=listen)


def send_no_more(peer):
    peer.socket.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("keep", [True, False])
def test_a_request_is_answered_and_the_connection_closed(site, bridge, keep):
    slow = site.sh("slow", "sleep 0.3; printf 'Content-Type: text/plain\\n\\nwhole\\n'\n")
    with bridge.connect() as peer:
        peer.send(fastcgi.whole_request(slow, keep=keep))
        send_no_more(peer)
        response = peer.response()
        assert (response.body, response.protocol_status) == (b"whole\n", fastcgi.REQUEST_COMPLETE)
        peer.expect_closed()


def test_all_requests_of_the_connection_are_answered(site, bridge):
    sleeper = programs.sleeper(site)
    with bridge.connect() as peer:
        for id, seconds in ((1, 0.6), (2, 0.1), (3, 0.3)):
            peer.start(sleeper, query=str(seconds), id=id)
        send_no_more(peer)
        for id in (2, 3, 1):
            assert peer.response(id).body.endswith(b"ended\n")
        peer.expect_closed()


def test_a_long_answer_arrives_whole_though_its_client_is_slow(site, bridge):
    size = 2 << 20
    long = site.sh("long", f"printf 'Content-Type: x/y\\n\\n'; head -c {size} /dev/zero\n")
    with bridge.connect() as peer:
        peer.send(fastcgi.whole_request(long))
        send_no_more(peer)
        wait_until(lambda: bridge.program(long)["requests"] == 1 if bridge.program(long) else False,
                   "the request has begun")
        assert peer.response().body == bytes(size)


def test_a_body_that_waits_for_its_program_arrives_whole(site, bridge):
    """The bridge stops reading before it has seen the end of what the client sends."""
    count = site.sh("count", "sleep 0.3; printf 'Content-Type: text/plain\\n\\n'; wc -c\n")
    body = b"x" * 400_000
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(count, "POST", body=body))
        peer.stdin(body)
        peer.stdin(b"")
        send_no_more(peer)
        assert peer.response().body.strip() == b"400000"


def is_gone(notes):
    return not os.path.exists(f"/proc/{notes.read_text().strip()}")


def test_a_client_that_then_leaves_ends_its_program(site, bridge):
    notes = site.folder / "pid"
    sleeper = programs.sleeper(site, notes=notes)
    with bridge.connect() as peer:
        peer.start(sleeper)
        send_no_more(peer)
        peer.wait_for_output(b"started")
    wait_until(lambda: is_gone(notes), "the program has ended")
    bridge.expect_log("the client closed its connection with 1 request.s. open")


def test_half_a_body_ends_its_program(site, bridge):
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(programs.echo(site), "POST", body=b"whole"))
        peer.stdin(b"wh")
        send_no_more(peer)
        peer.expect_closed()
    bridge.expect_log("the client closed its connection with 1 request.s. open")


def test_half_a_record_closes_the_connection_after_the_answers(site, bridge):
    slow = programs.sleeper(site)
    with bridge.connect() as peer:
        peer.start(slow, query="0.3")
        peer.send(fastcgi.begin(2)[:5])
        send_no_more(peer)
        assert peer.response().body.endswith(b"ended\n")
        peer.expect_closed()


def test_over_tcp_it_counts_as_gone(site, bridge):
    """A TCP client that has closed both sides looks the same until something is sent to it."""
    notes = site.folder / "pid"
    sleeper = programs.sleeper(site, notes=notes)
    with bridge.connect(1) as peer:
        peer.start(sleeper)
        peer.wait_for_output(b"started")
        send_no_more(peer)
        wait_until(lambda: is_gone(notes), "the program has ended")
