"""A FastCGI client that sends anything, record by record: it can cut, interleave, abort, hold back, and lie.

Peer is one connection. Verbs: begin, params, stdin, abort, get_values, send (raw bytes), records, response,
expect_closed. request() sends one whole well-behaved request.
"""

import dataclasses
import re
import socket
import struct

from harness.processes import PATIENCE, connect

VERSION = 1
BEGIN_REQUEST, ABORT_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT, STDERR = range(1, 8)
DATA, GET_VALUES, GET_VALUES_RESULT, UNKNOWN_TYPE = range(8, 12)
RESPONDER, AUTHORIZER, FILTER = 1, 2, 3
REQUEST_COMPLETE, CANT_MPX_CONN, OVERLOADED, UNKNOWN_ROLE = range(4)
CONTENT_MAX = 65535


def record(type, id, content=b"", padding=0, version=VERSION):
    """One record; content must fit."""
    return (struct.pack(">BBHHBx", version, type, id, len(content), padding) + content
            + b"\xaa" * padding)


def stream(type, id, content):
    """A stream's records without its end."""
    return b"".join(record(type, id, content[at:at + CONTENT_MAX])
                    for at in range(0, len(content), CONTENT_MAX))


def begin(id=1, role=RESPONDER, keep=True, **options):
    return record(BEGIN_REQUEST, id, struct.pack(">HB5x", role, 1 if keep else 0), **options)


def pair(name, value):
    def length(n):
        return bytes([n]) if n < 128 else struct.pack(">I", n | 1 << 31)
    name, value = (x.encode("latin-1") if isinstance(x, str) else x for x in (name, value))
    return length(len(name)) + length(len(value)) + name + value


def pairs(variables):
    items = variables.items() if isinstance(variables, dict) else variables
    return b"".join(pair(name, value) for name, value in items)


def read_pairs(content):
    def length(at):
        if content[at] < 128:
            return content[at], at + 1
        return struct.unpack_from(">I", content, at)[0] & 0x7fffffff, at + 4
    found, at = {}, 0
    while at < len(content):
        name_bytes, at = length(at)
        value_bytes, at = length(at)
        name = content[at:at + name_bytes].decode("latin-1")
        found[name] = content[at + name_bytes:at + name_bytes + value_bytes].decode("latin-1")
        at += name_bytes + value_bytes
    return found


@dataclasses.dataclass
class Record:
    type: int
    id: int
    content: bytes


@dataclasses.dataclass
class Response:
    """The answer to one request."""
    stdout: bytes = b""
    stderr: bytes = b""
    app_status: int = None
    protocol_status: int = None

    @property
    def head(self):
        """The response head's fields; names in lower case."""
        lines = self._split()[0].decode("latin-1").splitlines()
        return {name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)}

    @property
    def status(self):
        return int(self.head.get("status", "200").split()[0])

    @property
    def body(self):
        return self._split()[1]

    def _split(self):
        found = re.search(rb"\r?\n\r?\n", self.stdout)
        return (self.stdout[:found.start()], self.stdout[found.end():]) if found else (self.stdout, b"")


def variables_for(script, method="GET", query="", body=b"", **more):
    """FastCGI params like those of nginx's fastcgi_params and SCRIPT_FILENAME."""
    variables = {
        "SCRIPT_FILENAME": str(script), "QUERY_STRING": query, "REQUEST_METHOD": method,
        "CONTENT_TYPE": "", "CONTENT_LENGTH": str(len(body)) if body else "",
        "SCRIPT_NAME": "/cgi-bin/" + str(script).rpartition("/")[2],
        "REQUEST_URI": "/cgi-bin/" + str(script).rpartition("/")[2] + ("?" + query if query else ""),
        "DOCUMENT_ROOT": "/nowhere", "SERVER_PROTOCOL": "HTTP/1.1", "REQUEST_SCHEME": "http",
        "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_SOFTWARE": "scripted", "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_PORT": "4711", "SERVER_ADDR": "127.0.0.1", "SERVER_PORT": "80",
        "SERVER_NAME": "localhost", "REDIRECT_STATUS": "200",
    }
    variables.update(more)
    return {name: value for name, value in variables.items() if value is not None}


class Closed(Exception):
    """The other side closed the connection."""


class Peer:
    def __init__(self, address, seconds=20):
        self.socket = connect(address, seconds)
        self._unread = b""
        self._responses = {}
        self.management = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes without reading what has arrived: the other side sees a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # Sending

    def send(self, *chunks):
        for chunk in chunks:
            self.socket.sendall(chunk)

    def begin(self, id=1, role=RESPONDER, keep=True):
        self.send(begin(id, role, keep))

    def params(self, variables, id=1):
        """Sends the whole stream, including its end."""
        self.send(stream(PARAMS, id, pairs(variables)) + record(PARAMS, id))

    def stdin(self, content, id=1):
        """Sends a piece of the body; an empty piece ends it."""
        self.send(stream(STDIN, id, content) if content else record(STDIN, id))

    def start(self, script, method="GET", query="", id=1, **more):
        """Sends a whole request without a body; does not read the answer."""
        self.begin(id)
        self.params(variables_for(script, method, query, **more), id)
        self.stdin(b"", id)

    def abort(self, id=1):
        self.send(record(ABORT_REQUEST, id))

    def get_values(self, *names):
        """Sends GET_VALUES, and returns the answer's names and values."""
        self.send(record(GET_VALUES, 0, pairs({name: "" for name in names})))
        answer = self.next_record()
        assert (answer.type, answer.id) == (GET_VALUES_RESULT, 0), answer
        return read_pairs(answer.content)

    # Receiving

    def _read(self, count):
        while len(self._unread) < count:
            chunk = self.socket.recv(max(65536, count - len(self._unread)))
            if not chunk:
                raise Closed(f"closed with {len(self._unread)} bytes of a record")
            self._unread += chunk
        taken, self._unread = self._unread[:count], self._unread[count:]
        return taken

    def next_record(self):
        """The next record, without its padding. Raises Closed at the end of the connection."""
        version, type, id, length, padding = struct.unpack(">BBHHBx", self._read(8))
        assert version == VERSION
        return Record(type, id, self._read(length + padding)[:length])

    def _take(self):
        found = self.next_record()
        response = self._responses.setdefault(found.id, Response())
        if found.type == STDOUT:
            response.stdout += found.content
        elif found.type == STDERR:
            response.stderr += found.content
        elif found.type == END_REQUEST:
            response.app_status, response.protocol_status = struct.unpack(">IB3x", found.content)
        else:
            self.management.append(found)
        return found

    def response(self, id=1):
        """Reads until this request has ended; keeps what arrives for others meanwhile."""
        while self._responses.get(id, Response()).protocol_status is None:
            self._take()
        return self._responses.pop(id)

    def wait_for_output(self, text, id=1):
        """Reads until this request's stdout contains text; returns the stdout so far."""
        while text not in self._responses.get(id, Response()).stdout:
            self._take()
        return self._responses[id].stdout

    def expect_closed(self):
        """Reads until the connection ends, which it must; returns the records before the end."""
        found = []
        try:
            while True:
                found.append(self.next_record())
        except (Closed, ConnectionResetError):
            return found
        except socket.timeout:
            raise AssertionError("the connection stays open") from None

    def expect_silence(self, seconds=0.2):
        """Checks that nothing arrives for this long."""
        assert not self._unread
        self.socket.settimeout(seconds)
        try:
            raise AssertionError(f"unexpected: {self.next_record()}")
        except socket.timeout:
            pass
        finally:
            self.socket.settimeout(20 * PATIENCE)

    # A whole request

    def request(self, script, method="GET", query="", body=b"", id=1, keep=True, **more):
        self.begin(id, keep=keep)
        self.params(variables_for(script, method, query, body, **more), id)
        try:
            if body:
                self.stdin(body, id)
            self.stdin(b"", id)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the request was answered already; like a web server, go on and read the answer
        return self.response(id)


def whole_request(script, body=b"", id=1, keep=True, padding=0, **more):
    """A request's bytes, for tests that cut them."""
    return (begin(id, keep=keep, padding=padding)
            + record(PARAMS, id, pairs(variables_for(script, body=body, **more)), padding)
            + record(PARAMS, id, padding=padding)
            + (record(STDIN, id, body, padding) if body else b"")
            + record(STDIN, id, padding=padding))
