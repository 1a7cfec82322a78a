"""FastCGI 1.0 as a web server sees it: connections, requests on them, management records."""

import os
import resource
import time

import pytest

from harness import AUTHORIZER, fastcgi, programs
from harness.fastcgi import Peer, variables_for


@pytest.fixture
def bridge(site):
    programs.hello(site)
    programs.echo(site)
    return site.start_bridge('mode = "classic"')


def hello_of(site):
    return site.cgi_bin / "hello"


def test_a_connection_is_kept_for_the_next_request(site, bridge):
    with bridge.connect() as peer:
        for id in (1, 1, 7):
            assert peer.request(hello_of(site), id=id).body == b"hello\n"


def test_a_connection_is_closed_after_its_request_if_asked(site, bridge):
    with bridge.connect() as peer:
        assert peer.request(hello_of(site), keep=False).body == b"hello\n"
        assert peer.expect_closed() == []


def test_requests_of_one_connection_run_at_the_same_time(site, bridge):
    with bridge.connect() as peer:
        for id in (1, 2, 3):
            peer.begin(id)
            peer.params(variables_for(site.cgi_bin / "echo", "POST", body=b"12345"), id)
        # The last request ends first, and pieces of the others arrive in between.
        peer.stdin(b"aa", 1)
        peer.stdin(b"bb", 2)
        for id, text in ((3, b"third"), (2, b"bbb"), (1, b"aaa")):
            peer.stdin(text, id)
            peer.stdin(b"", id)
            response = peer.response(id)
            assert response.body == {3: b"third", 2: b"bbbbb", 1: b"aaaaa"}[id]
            assert response.protocol_status == fastcgi.REQUEST_COMPLETE


def test_two_connections_may_use_the_same_request_id(site, bridge):
    with bridge.connect() as one, bridge.connect() as other:
        for peer, text in ((one, b"one"), (other, b"other")):
            peer.begin(1)
            peer.params(variables_for(site.cgi_bin / "echo", "POST", body=text))
        other.stdin(b"other")
        other.stdin(b"")
        one.stdin(b"one")
        one.stdin(b"")
        assert one.response().body == b"one"
        assert other.response().body == b"other"


def test_get_values_tells_the_true_limits(site):
    bridge = site.start_bridge(bridge="connections_max = 77\n")
    with bridge.connect() as peer:
        values = peer.get_values("FCGI_MAX_CONNS", "FCGI_MAX_REQS", "FCGI_MPXS_CONNS", "NONSENSE")
    assert values["FCGI_MPXS_CONNS"] == "1"
    assert values["FCGI_MAX_CONNS"] == "77"
    assert int(values["FCGI_MAX_REQS"]) == 7700
    assert "NONSENSE" not in values


def test_get_values_is_answered_in_the_middle_of_a_request(site, bridge):
    with bridge.connect() as peer:
        peer.begin(1)
        peer.params(variables_for(site.cgi_bin / "echo", "POST", body=b"x"))
        assert peer.get_values("FCGI_MPXS_CONNS") == {"FCGI_MPXS_CONNS": "1"}
        peer.stdin(b"x")
        peer.stdin(b"")
        assert peer.response().body == b"x"


def test_an_unknown_management_record_is_named_in_the_answer(site, bridge):
    with bridge.connect() as peer:
        peer.send(fastcgi.record(200, 0, b"what is this"))
        answer = peer.next_record()
        assert (answer.type, answer.id, answer.content) == (fastcgi.UNKNOWN_TYPE, 0, b"\xc8" + b"\0" * 7)
        assert peer.request(hello_of(site)).body == b"hello\n"


@pytest.mark.parametrize("role", [AUTHORIZER, fastcgi.FILTER, 0, 99])
def test_a_role_other_than_responder_is_refused(site, bridge, role):
    with bridge.connect() as peer:
        peer.begin(1, role)
        assert peer.response().protocol_status == fastcgi.UNKNOWN_ROLE
        assert peer.request(hello_of(site)).body == b"hello\n"


def test_one_request_too_many_on_a_connection_is_refused(site):
    echo = programs.echo(site)
    bridge = site.start_bridge('mode = "classic"')
    with bridge.connect() as peer:
        ids = range(1, 101)
        for id in ids:
            peer.begin(id)
            peer.params(variables_for(echo, "POST", body=b"x"), id)
        peer.begin(101)
        assert peer.response(101).protocol_status in (fastcgi.OVERLOADED, fastcgi.CANT_MPX_CONN)
        for id in ids:
            peer.stdin(b"x", id)
            peer.stdin(b"", id)
        assert all(peer.response(id).body == b"x" for id in ids)
        assert peer.request(echo, "POST", body=b"y", id=101).body == b"y"
    bridge.expect_log("request 101 is refused with FCGI_OVERLOADED: it has 100 already")
    assert bridge.status()["bridge"]["requests_refused"] == 1
    assert "cgibridge_requests_refused_total 1" in bridge.command("status", "--openmetrics")


def test_an_abort_ends_the_request_and_keeps_the_connection(site, bridge):
    notes = site.folder / "pids"
    sleeper = programs.sleeper(site, notes=notes)
    with bridge.connect() as peer:
        peer.start(sleeper, id=4)
        peer.wait_for_output(b"started", 4)
        peer.abort(4)
        assert peer.response(4).protocol_status == fastcgi.REQUEST_COMPLETE
        assert peer.request(hello_of(site), id=4).body == b"hello\n"


def test_an_abort_is_noticed_while_output_streams(site, bridge):
    """The connection has only this one request, as with web servers without keep-alive."""
    stream = site.python("stream", """
        import time
        print("Content-Type: text/plain\\n", flush=True)
        while True:
            print("more", flush=True)
            time.sleep(0.0005)
        """)
    with bridge.connect() as peer:
        peer.send(fastcgi.whole_request(stream))
        peer.wait_for_output(b"more")
        peer.abort()
        assert peer.response().protocol_status == fastcgi.REQUEST_COMPLETE


def test_an_abort_before_the_params_end_is_answered(site, bridge):
    with bridge.connect() as peer:
        peer.begin(4)
        peer.send(fastcgi.record(fastcgi.PARAMS, 4, fastcgi.pairs({"QUERY_STRING": "x"})))
        peer.abort(4)
        assert peer.response(4).protocol_status == fastcgi.REQUEST_COMPLETE
        assert peer.request(hello_of(site), id=4).body == b"hello\n"


def test_records_for_requests_that_do_not_exist_are_ignored(site, bridge):
    with bridge.connect() as peer:
        peer.send(fastcgi.record(fastcgi.STDIN, 9, b"nobody asked"))
        peer.abort(9)
        assert peer.request(hello_of(site)).body == b"hello\n"


def test_the_exit_code_is_the_app_status(site, bridge):
    failing = site.sh("failing", "printf 'Content-Type: text/plain\\n\\nstill whole\\n'; exit 3\n")
    response = bridge.request(failing)
    assert (response.status, response.body, response.app_status) == (200, b"still whole\n", 3)


@pytest.mark.parametrize("bad", [
    fastcgi.record(fastcgi.GET_VALUES, 0, b"", version=2),
    fastcgi.begin(1, version=0),
    fastcgi.record(fastcgi.BEGIN_REQUEST, 1, b"\0\1\1"),
    b"GET / HTTP/1.0\r\n\r\n",
], ids=["version-2", "version-0", "begin-of-3-bytes", "http"])
def test_a_bad_record_ends_its_connection_and_no_other(site, bridge, bad):
    with bridge.connect() as good, bridge.connect() as broken:
        good.begin(1)
        good.params(variables_for(site.cgi_bin / "echo", "POST", body=b"x"))
        broken.send(bad)
        broken.expect_closed()
        good.stdin(b"x")
        good.stdin(b"")
        assert good.response().body == b"x"
    assert bridge.request(hello_of(site)).body == b"hello\n"


def test_clients_that_vanish_at_any_point_are_forgotten(site, bridge):
    whole = fastcgi.whole_request(site.cgi_bin / "echo", b"some body")
    for end in range(1, len(whole), 7):
        peer = bridge.connect()
        peer.send(whole[:end])
        peer.reset() if end % 2 else peer.close()
    assert bridge.request(hello_of(site)).body == b"hello\n"


def test_an_idle_connection_pins_no_worker(site):
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 1, spare = 1 }')
    idle = [bridge.connect() for _ in range(20)]
    for peer in idle:
        assert peer.request(hello).body == b"hello\n"
    for peer in idle:
        peer.close()


def test_more_connections_than_allowed_wait_or_are_closed_but_harm_none(site):
    hello, echo = programs.hello(site), programs.echo(site)
    bridge = site.start_bridge('mode = "classic"', bridge="connections_max = 4\n")
    first = []
    for _ in range(4):
        first.append(bridge.connect())
        # A connection that is idle for a second would make room.
        first[-1].begin()
        first[-1].params(variables_for(echo, "POST", body=b"x"))
    surplus = [Peer(bridge.address) for _ in range(3)]
    for peer in first:
        peer.stdin(b"x")
        peer.stdin(b"")
        assert peer.response().body == b"x"
    for peer in [*first, *surplus]:
        peer.close()
    with bridge.connect() as peer:
        assert peer.request(hello).body == b"hello\n"


def test_without_descriptors_the_connection_idle_longest_makes_room(site, bridge):
    """A management record needs no descriptor, unlike a request."""
    idle = []
    for _ in range(3):
        idle.append(bridge.connect())
        idle[-1].get_values("FCGI_MPXS_CONNS")
    time.sleep(1.2)  # younger ones may be about to get a request
    taken = {int(fd) for fd in os.listdir(f"/proc/{bridge.pid}/fd")}
    least_free = next(fd for fd in range(len(taken) + 1) if fd not in taken)
    before = resource.prlimit(bridge.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(bridge.pid, resource.RLIMIT_NOFILE, (least_free, before[1]))
    try:
        with bridge.connect() as peer:
            assert peer.get_values("FCGI_MPXS_CONNS") == {"FCGI_MPXS_CONNS": "1"}
        assert idle[0].expect_closed() == []
    finally:
        resource.prlimit(bridge.pid, resource.RLIMIT_NOFILE, before)
    for peer in idle[1:]:
        assert peer.request(hello_of(site)).body == b"hello\n"
        peer.close()
    idle[0].close()
    bridge.expect_log(r"connections are open \(no descriptor is free\)")
    assert bridge.status()["bridge"]["connections_closed_for_room"] == 1
