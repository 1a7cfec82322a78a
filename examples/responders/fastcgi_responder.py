"""A FastCGI responder that uses only the standard library, because Debian 12 packages none for Python 3.

serve(application) takes connections from the listening socket on fd 0, one at a time, and answers each
request with application(parameters: dict[bytes, bytes], body: bytes) -> bytes, a whole CGI answer. It keeps a
connection open if the web server asks for that, supports the responder role, and neither multiplexes nor
streams: enough for measurements, and for a first program.
"""
import socket
import struct

VERSION = 1
BEGIN_REQUEST, ABORT_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT = 1, 2, 3, 4, 5, 6
GET_VALUES, GET_VALUES_RESULT, UNKNOWN_TYPE = 9, 10, 11
RESPONDER, KEEP_CONNECTION = 1, 1
REQUEST_COMPLETE, CANT_MULTIPLEX, UNKNOWN_ROLE = 0, 1, 3
CONTENT_MAX = 65535
HEADER = struct.Struct(">BBHHBx")  # version, type, request id, content bytes, padding bytes


def serve(application):
    listener = socket.socket(fileno=0)
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as stream:
            try:
                while serve_request(connection, stream, application):
                    pass
            except (EOFError, OSError, ValueError):
                pass  # this connection is over; the next one is not affected


def serve_request(connection, stream, application):
    """Answers one request; True if another may follow on this connection."""
    current, keep, params, body = 0, 0, [], []
    while True:
        kind, request, content = read_record(stream)
        if request == 0:
            connection.sendall(management_answer(kind, content))
        elif kind == BEGIN_REQUEST:
            role, flags = struct.unpack(">HB5x", content)
            if current:
                connection.sendall(end_request(request, CANT_MULTIPLEX))
            elif role != RESPONDER:
                connection.sendall(end_request(request, UNKNOWN_ROLE))
                if not flags & KEEP_CONNECTION:
                    return False
            else:
                current, keep = request, flags & KEEP_CONNECTION
        elif request != current:
            pass  # FastCGI 1.0 §3.3: records of inactive requests are ignored
        elif kind == PARAMS:
            params.append(content)
        elif kind == STDIN and content:
            body.append(content)
        elif kind == STDIN:
            answer = application(dict(pairs(b"".join(params))), b"".join(body))
            connection.sendall(stdout(current, answer) + end_request(current, REQUEST_COMPLETE))
            return bool(keep)
        elif kind == ABORT_REQUEST:
            connection.sendall(end_request(current, REQUEST_COMPLETE))
            return bool(keep)


def read_record(stream):
    version, kind, request, content, padding = HEADER.unpack(read(stream, HEADER.size))
    if version != VERSION:
        raise ValueError("not FastCGI version 1")
    return kind, request, read(stream, content + padding)[:content]


def read(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data


def record(kind, request, content):
    return HEADER.pack(VERSION, kind, request, len(content), 0) + content


def stdout(request, answer):
    pieces = [answer[at : at + CONTENT_MAX] for at in range(0, len(answer), CONTENT_MAX)]
    return b"".join(record(STDOUT, request, piece) for piece in [*pieces, b""])


def end_request(request, protocol_status, exit_code=0):
    return record(END_REQUEST, request, struct.pack(">IB3x", exit_code, protocol_status))


def management_answer(kind, content):
    if kind != GET_VALUES:
        return record(UNKNOWN_TYPE, 0, struct.pack(">B7x", kind))
    truth = {b"FCGI_MAX_CONNS": b"1", b"FCGI_MAX_REQS": b"1", b"FCGI_MPXS_CONNS": b"0"}
    asked = [(name, truth[name]) for name, _ in pairs(content) if name in truth]
    return record(GET_VALUES_RESULT, 0, b"".join(map(encode_pair, asked)))


def encode_pair(pair):
    return bytes(map(len, pair)) + b"".join(pair)  # ours are shorter than 128 bytes


def pairs(data):
    """FastCGI 1.0 §3.4: lengths in one byte, or in four if the first bit is set."""
    at = 0
    while at < len(data):
        sizes = []
        for _ in range(2):
            if data[at] < 128:
                sizes.append(data[at])
                at += 1
            else:
                sizes.append(struct.unpack_from(">I", data, at)[0] & 0x7FFFFFFF)
                at += 4
        if at + sum(sizes) > len(data):
            raise ValueError("a name-value pair ends too early")
        name, value = data[at : at + sizes[0]], data[at + sizes[0] : at + sum(sizes)]
        at += sum(sizes)
        yield name, value
