"""Records cut anywhere, padding, limits, and bodies larger than any buffer."""

import hashlib
import os
import threading
import time

import pytest

from harness import fastcgi, processes, programs
from harness.fastcgi import variables_for
from harness.processes import wait_until

GIB = 1 << 30
# The size of each large body; CGIBRIDGE_LARGE_BYTES=10000000 makes a quick run.
LARGE_BYTES = int(os.environ.get("CGIBRIDGE_LARGE_BYTES", 2 * GIB))
# Room for a few pipes and buffers, not for a share of the body.
GROWTH_KIB_MAX = 6 * 1024


@pytest.fixture
def bridge(site):
    programs.echo(site)
    return site.start_bridge('mode = "classic"\ntimeouts = { request = "0" }')


@pytest.mark.parametrize("padding", [0, 3, 255])
def test_a_request_cut_in_two_at_each_byte_is_the_same_request(site, bridge, padding):
    # The program is cheap, because this is about the reader.
    hello = site.sh("h", "cat >/dev/null\nprintf 'A: b\\n\\n%s' \"$HTTP_X\"\n")
    whole = fastcgi.whole_request(hello, b"body", padding=padding, HTTP_X="value")
    with bridge.connect() as peer:
        peer.socket.setsockopt(6, 1, 1) if isinstance(bridge.address, tuple) else None
        step = 1 if padding == 0 else 17
        for cut in range(1, len(whole), step):
            peer.send(whole[:cut])
            time.sleep(0.0005)
            peer.send(whole[cut:])
            assert peer.response().body == b"value", f"cut at byte {cut}"


def test_a_request_that_arrives_byte_by_byte_is_the_same_request(site, bridge):
    echo = site.cgi_bin / "echo"
    with bridge.connect() as peer:
        for byte in fastcgi.whole_request(echo, b"body", padding=5):
            peer.send(bytes([byte]))
        assert peer.response().body == b"body"


def test_many_requests_in_one_write_are_all_answered(site, bridge):
    echo = site.cgi_bin / "echo"
    with bridge.connect() as peer:
        peer.send(b"".join(fastcgi.whole_request(echo, b"body %d" % id, id) for id in range(1, 9)))
        for id in range(1, 9):
            assert peer.response(id).body == b"body %d" % id


def test_params_may_be_cut_into_records_anywhere(site, bridge):
    report = programs.report(site)
    content = fastcgi.pairs(variables_for(report, LONG="l" * 200, SHORT=""))
    with bridge.connect() as peer:
        for piece in (1, 2, 7, 64):
            peer.begin()
            for at in range(0, len(content), piece):
                peer.send(fastcgi.record(fastcgi.PARAMS, 1, content[at:at + piece]))
            peer.send(fastcgi.record(fastcgi.PARAMS, 1), fastcgi.record(fastcgi.STDIN, 1))
            environment = programs.reported(peer.response())["env"]
            assert environment["LONG"] == "l" * 200


def test_params_up_to_the_limit_reach_the_program_and_more_are_refused(site):
    # A single variable in an exec is limited to 128 KiB, so the bulk is split into several.
    report = programs.report(site)
    bridge = site.start_bridge('mode = "classic"', bridge='params_max = "256KiB"\n')
    many = {f"HTTP_X_{n}": "x" * 1000 for n in range(200)}
    response = bridge.request(report, **many)
    assert response.status == 200
    assert programs.reported(response)["env"]["HTTP_X_199"] == "x" * 1000
    with bridge.connect() as peer:
        many.update({f"HTTP_Y_{n}": "y" * 1000 for n in range(100)})
        assert peer.request(report, **many).status == 431
        # The same connection still works.
        assert peer.request(report).status == 200
    bridge.expect_log("params")


def test_a_body_above_the_limit_is_refused(site):
    echo = programs.echo(site)
    bridge = site.start_bridge('mode = "classic"\nlimits = { body = "1KiB" }')
    assert bridge.request(echo, "POST", body=b"x" * 1024).status == 200
    assert bridge.request(echo, "POST", body=b"x" * 1025).status == 413


@pytest.mark.parametrize("announced", ["10", "1024", "0", ""])
def test_a_body_is_measured_by_what_arrives_not_by_what_was_announced(site, announced):
    echo = programs.echo(site)
    bridge = site.start_bridge('mode = "classic"\nlimits = { body = "1KiB" }')
    with bridge.connect() as peer:
        # Sent at once: what comes 100 ms later may arrive after the answer's head.
        peer.send(fastcgi.whole_request(echo, b"x" * 5000, REQUEST_METHOD="POST", CONTENT_LENGTH=announced))
        response = peer.response()
        if announced == "0":
            # The program has no body, so none of this reaches it.
            assert (response.status, response.body) == (200, b"")
        else:
            assert response.status == 413
    bridge.allow_log("413")


def test_a_body_found_too_long_behind_the_head_breaks_the_answer_off(site, mode):
    script = site.perl("early", '$| = 1; print "Content-Type: text/plain\\n\\nhead\\n"; sleep 60;')
    bridge = site.start_bridge(f'mode = "{mode}"\nlimits = {{ body = "1KiB" }}\n'
                               'timeouts = { kill_grace = "100ms" }\n')
    bridge.allow_log("early")
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(script, "POST", CONTENT_LENGTH="1000"))
        peer.stdin(b"x" * 100)
        peer.wait_for_output(b"head\n")
        peer.stdin(b"x" * 1000)
        assert peer.expect_closed() == []
    bridge.expect_log(r"a body of more than 1024 bytes \(limits.body\); its answer is broken off")


def test_an_answer_held_back_for_its_body_is_another_when_its_time_is_over(site, mode):
    """The program prints its head and reads nothing, so the body is stuck."""
    script = site.perl("unread", """
        $| = 1; print STDERR "a word\\n"; print "Content-Type: text/plain\\n\\nearly\\n"; sleep 60;
        """)
    bridge = site.start_bridge(f'mode = "{mode}"\ntimeouts = {{ request = "2s", kill_grace = "100ms" }}\n')
    bridge.allow_log("unread")
    with bridge.connect() as peer:
        peer.send(fastcgi.whole_request(script, b"", REQUEST_METHOD="POST", CONTENT_LENGTH="1000000")
                  .removesuffix(fastcgi.record(fastcgi.STDIN, 1))
                  + fastcgi.stream(fastcgi.STDIN, 1, b"x" * 170_000))
        response = peer.response()
        assert response.status == 504 and b"early" not in response.body
        assert response.stderr.startswith(b"a word\n")


def test_a_body_without_a_length_gets_one_and_the_same_limit(site):
    """Apache's mod_proxy_fcgi passes a chunked body on like this: without CONTENT_LENGTH, but with an end."""
    echo = programs.echo(site)
    bridge = site.start_bridge('mode = "classic"\nlimits = { body = "1KiB" }')
    for size, status in ((1024, 200), (1025, 413)):
        with bridge.connect() as peer:
            peer.begin()
            peer.params(variables_for(echo, "POST", CONTENT_LENGTH="",
                                      HTTP_TRANSFER_ENCODING="chunked"))
            peer.stdin(b"x" * size)
            peer.stdin(b"")
            response = peer.response()
            assert response.status == status
            assert status != 200 or response.body == b"x" * size


def test_output_and_body_move_at_the_same_time(site, bridge, mode):
    """The program answers while it reads; a server that sends the whole body first would wait for ever."""
    body = os.urandom(1 << 16) * 64
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(site.cgi_bin / "echo", "POST", body=body))

        def send():
            peer.stdin(body)
            peer.stdin(b"")
        sender = threading.Thread(target=send)
        sender.start()
        response = peer.response()
        sender.join()
    assert hashlib.sha256(response.body).digest() == hashlib.sha256(body).digest()


def test_the_first_output_arrives_before_the_body_ends(site, bridge):
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(site.cgi_bin / "echo", "POST", body=b"first last"))
        peer.stdin(b"first ")
        assert b"first " in peer.wait_for_output(b"first ")
        peer.stdin(b"last")
        peer.stdin(b"")
        assert peer.response().body == b"first last"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_output_is_passed_on_while_its_program_runs(site, mode, stream):
    go_on = site.folder / "go-on"
    script = site.python("slow", f"""
        import os, sys, time
        sys.stdout.write("Content-Type: text/plain\\n\\n")
        sys.stdout.flush()
        print("first", file=sys.{stream}, flush=True)
        while not os.path.exists("{go_on}"):
            time.sleep(0.01)
        print("last", file=sys.{stream})
        """)
    bridge = site.start_bridge(f'mode = "{mode}"')
    if mode == "persistent":
        go_on.write_text("")
        bridge.request(script)
        bridge.wait_warm(script)
        go_on.unlink()
    wanted = fastcgi.STDOUT if stream == "stdout" else fastcgi.STDERR
    seen = b""
    with bridge.connect() as peer:
        peer.send(fastcgi.whole_request(script))
        while not seen.endswith(b"last\n"):
            record = peer.next_record()
            assert record.type != fastcgi.END_REQUEST
            seen += record.content if record.type == wanted else b""
            if seen.endswith(b"first\n"):
                go_on.write_text("")


def test_much_output_of_a_program_that_is_gone_is_all_read(site, bridge):
    """Both pipes are full at the end, and the reader is slower than they are."""
    full = site.python("full", """
        import fcntl, os
        for fd in (1, 2):
            fcntl.fcntl(fd, 1031, 1 << 20)  # F_SETPIPE_SZ
        os.write(1, b"Content-Type: text/plain\\n\\n" + b"o" * 1000000)
        os.write(2, b"e" * 1000000)
        """)
    for _ in range(3):
        response = bridge.request(full)
        assert response.body == b"o" * 1000000
        assert response.stderr == b"e" * 1000000


def test_a_program_that_reads_none_of_its_body_is_answered(site, bridge):
    hello = programs.hello(site)
    with bridge.connect() as peer:
        for _ in range(5):
            peer.begin()
            peer.params(variables_for(hello, "POST", body=b"x" * 3_000_000))
            peer.stdin(b"x" * 3_000_000)
            peer.stdin(b"")
            assert peer.response().body == b"hello\n"


def test_bytes_past_content_length_never_reach_the_program(site, bridge):
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(site.cgi_bin / "echo", "POST", body=b"12345"))
        peer.stdin(b"12345and more")
        peer.stdin(b"")
        assert peer.response().body == b"12345"


def test_a_body_ends_at_its_content_length_though_the_client_holds_it_open(site, bridge):
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(site.cgi_bin / "echo", "POST", body=b"12345"))
        peer.stdin(b"12345")
        assert peer.response().body == b"12345"


def test_a_slow_reader_of_one_response_does_not_hold_another(site, bridge):
    flood = site.perl("flood", """
        print "Content-Type: text/plain\\n\\n", "x" x 10_000_000;
        """)
    hello = programs.hello(site)
    with bridge.connect() as slow, bridge.connect() as quick:
        slow.start(flood)
        slow.wait_for_output(b"x")
        for _ in range(20):
            assert quick.request(hello).body == b"hello\n"
        assert len(slow.response().body) == 10_000_000


class MemoryWatch:
    """Samples a daemon's resident memory until stopped; growth_kib is the maximum above the start."""

    def __init__(self, pid):
        self.start = processes.memory_kib(pid)
        self.growth_kib = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(pid,))
        self._thread.start()

    def _watch(self, pid):
        while not self._stop.wait(0.02):
            self.growth_kib = max(self.growth_kib, processes.memory_kib(pid) - self.start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


@pytest.mark.plain_build
def test_a_large_upload_leaves_the_memory_flat(site, mode):
    count = site.perl("count", """
        my $n = 0;
        while (my $got = sysread STDIN, my $piece, 1 << 20) { $n += $got }
        print "Content-Type: text/plain\\n\\n$n\\n";
        """)
    bridge = site.start_bridge(f'mode = "{mode}"\ntimeouts = {{ request = "0" }}')
    bridge.request(count, "POST", body=b"warm up")
    if mode == "persistent":
        bridge.wait_warm(count)
    piece = fastcgi.record(fastcgi.STDIN, 1, b"u" * 65528)
    with bridge.connect() as peer, MemoryWatch(bridge.pid) as memory:
        peer.begin()
        peer.params(variables_for(count, "POST", CONTENT_LENGTH=str(LARGE_BYTES)))
        full, rest = divmod(LARGE_BYTES, 65528)
        batch = piece * 16
        for _ in range(full // 16):
            peer.send(batch)
        peer.send(piece * (full % 16))
        peer.stdin(b"u" * rest)
        peer.stdin(b"") if rest else None
        assert peer.response().body == b"%d\n" % LARGE_BYTES
    assert memory.growth_kib < GROWTH_KIB_MAX


@pytest.mark.plain_build
def test_a_large_download_leaves_the_memory_flat(site, mode):
    flood = site.perl("flood", """
        my $left = $ENV{QUERY_STRING};
        syswrite STDOUT, "Content-Type: application/octet-stream\\n\\n";
        my $piece = "d" x (1 << 20);
        while ($left > 0) {
            my $n = $left < length $piece ? $left : length $piece;
            $left -= syswrite STDOUT, $piece, $n;
        }
        """)
    bridge = site.start_bridge(f'mode = "{mode}"\ntimeouts = {{ request = "0" }}')
    bridge.request(flood, query="1000")
    if mode == "persistent":
        bridge.wait_warm(flood)
    with bridge.connect() as peer, MemoryWatch(bridge.pid) as memory:
        peer.start(flood, query=str(LARGE_BYTES))
        assert drain(peer) == LARGE_BYTES
    assert memory.growth_kib < GROWTH_KIB_MAX


def drain(peer):
    """Counts the body bytes of request 1 until END_REQUEST, without keeping them."""
    received, head = 0, b""
    buffer = memoryview(bytearray(1 << 16))
    reader = peer.socket.makefile("rb", buffering=1 << 20)
    while True:
        header = reader.read(8)
        type, length, padding = header[1], int.from_bytes(header[4:6], "big"), header[6]
        if type == fastcgi.STDOUT and not head.count(b"\n\n") and not head.count(b"\r\n\r\n"):
            head += reader.read(length)
            at = max(head.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in head else 0,
                     head.find(b"\n\n") + 2 if b"\n\n" in head else 0)
            received = len(head) - at if at else 0
        else:
            got = reader.readinto(buffer[:length]) if length else 0
            assert got == length
            received += length if type == fastcgi.STDOUT else 0
        reader.read(padding)
        if type == fastcgi.END_REQUEST:
            return received


@pytest.mark.plain_build
def test_a_client_that_stops_reading_stops_the_program_not_the_memory(site):
    flood = site.perl("flood", """
        print "Content-Type: text/plain\\n\\n";
        print "x" x 65536 while 1;
        """)
    bridge = site.start_bridge('mode = "classic"\ntimeouts = { request = "0" }')
    with bridge.connect() as peer:
        before = processes.memory_kib(bridge.pid)
        peer.start(flood)
        peer.next_record()
        time.sleep(0.5)
        assert processes.memory_kib(bridge.pid) - before < GROWTH_KIB_MAX
    bridge.wait_idle()
    wait_until(lambda: not processes.children_of(bridge.pid), "the program has ended")
