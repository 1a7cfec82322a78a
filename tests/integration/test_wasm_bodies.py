"""Long bodies pass through WebAssembly programs in both directions at once, checked, with flat memory.
CGIBRIDGE_TESTS_BODY_MIB: how long; 1,024 take a second or two each."""

import os
import threading
import zlib

import pytest
from harness import fastcgi
from harness.components import component
from harness.modules import maker, module, settings, start_warm
from harness.processes import descendants_of, memory_kib

MIB = int(os.environ.get("CGIBRIDGE_TESTS_BODY_MIB", "256"))
PIECE = bytes(n * n % 251 for n in range(65528))


def pieces(size):
    while size:
        yield PIECE[:size]
        size -= len(PIECE[:size])


def checksum(parts):
    """(bytes, CRC)"""
    size = crc = 0
    for part in parts:
        size, crc = size + len(part), zlib.crc32(part, crc)
    return size, crc


def answer_of(peer, program, query, body_bytes, mark):
    """Sends such a body and reads the answer meanwhile: the parts of what follows the mark."""
    def send():
        for piece in pieces(body_bytes):
            peer.send(fastcgi.record(fastcgi.STDIN, 1, piece))
        peer.stdin(b"")
    peer.begin(keep=False)
    peer.params(fastcgi.variables_for(program, "POST", query, CONTENT_LENGTH=str(body_bytes), HTTP_HOST="h"))
    sender = threading.Thread(target=send)
    sender.start()
    before, is_after = b"", False
    while (record := peer.next_record()).type != fastcgi.END_REQUEST:
        assert record.type == fastcgi.STDOUT, record
        if is_after:
            yield record.content
            continue
        _, found, rest = (before := before + record.content).partition(mark)
        is_after = bool(found)
        yield rest
    sender.join()


# What makes it, its name, the query that makes it echo, and what comes before the body in its answer.
KINDS = {"module": (module, "request", "", b"body:\n"), "command": (component, "request", "", b"body:\n"),
         "http": (component, "http", "echo", b"\r\n\r\n")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_body_passes_both_ways_at_once_with_flat_memory(site, kind):
    make, name, query, mark = KINDS[kind]
    wasm = maker(site, make)
    program, size = wasm(name), MIB << 20
    more = f'limits = {{ body = "{MIB}MiB" }}\ntimeouts = {{ request = "300s" }}\n'
    bridge = start_warm(site, program, settings(site) + more, wasm.bridge, query=query, HTTP_HOST="h")
    with bridge.connect(seconds=60) as peer:
        assert checksum(answer_of(peer, program, query, size, mark)) == checksum(pieces(size))
    assert bridge.program(program)["requests_persistent"] >= 1
    assert all(memory_kib(pid, "VmHWM") < 64 << 10 for pid in [bridge.pid, *descendants_of(bridge.pid)])
