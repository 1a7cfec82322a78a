"""Requests to a program, its single answers, and whether they have the same bytes."""
import dataclasses
import re
import socket
import ssl
import urllib.parse

from . import Problem

FORM = "application/x-www-form-urlencoded"
SAFE_METHODS = ("GET", "HEAD")


@dataclasses.dataclass(frozen=True)
class Request:
    """One request, the same for every arm; the URL depends on the arm."""
    method: str = "GET"
    body: bytes | None = None
    content_type: str = FORM
    headers: tuple = ()   # (name, value)s

    def fields(self, netloc):
        """Every header that is sent; Host comes first."""
        given = {name.lower() for name, _ in self.headers}
        fields = [] if "host" in given else [("Host", netloc)]
        if self.body is not None:
            if "content-type" not in given:
                fields.append(("Content-Type", self.content_type))
            fields.append(("Content-Length", str(len(self.body))))
        return [*fields, *self.headers]

    def encode(self, url, version="1.1"):
        """The request as it is sent."""
        parts = urllib.parse.urlsplit(url)
        lines = [f"{self.method} {target_of(parts)} HTTP/{version}",
                 *(f"{name}: {value}" for name, value in self.fields(parts.netloc))]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (self.body or b"")


def target_of(parts):
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def address_of(url):
    """(host, port, whether it is https)"""
    parts = urllib.parse.urlsplit(url)
    tls = parts.scheme == "https"
    return parts.hostname, parts.port or (443 if tls else 80), tls


def tls_context():
    """Certificates are not checked, because the server is the user's own machine, by whatever name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    head: bytes   # status line and headers, without Date
    body: bytes


def fetch(url, request):
    """One answer as it is received."""
    host, port, tls = address_of(url)
    try:
        connection = socket.create_connection((host, port), timeout=60)
        if tls:
            connection = tls_context().wrap_socket(connection, server_hostname=host)
        with connection:
            # HTTP/1.0, so that the body is not chunked depending on timing.
            connection.sendall(request.encode(url, "1.0"))
            with connection.makefile("rb") as stream:
                head, _, body = stream.read().partition(b"\r\n\r\n")
    except OSError as error:
        raise Problem(f"{url} does not answer: {error}") from None
    found = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    if not found:
        raise Problem(f"{url} answers what is not HTTP: {head[:60]!r}")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"date:")]
    return Answer(int(found[1]), b"\r\n".join(lines), body)


def first_difference(one, other):
    """Where two byte strings begin to differ, and what is there; None if they are equal."""
    if one == other:
        return None
    at = next((at for at, (a, b) in enumerate(zip(one, other)) if a != b),
              min(len(one), len(other)))
    return at, one[at:at + 40], other[at:at + 40]


def compare(base, others, whole):
    """(word, detail) for the answers of one arm compared with those of the base arm. word is "same", "varies
    by itself" or "DIFFERENT". whole: compares status line and headers as well, which is right if the web
    server is the same; otherwise only the status and the body."""
    def seen(answer):
        return (answer.head, answer.body) if whole else (answer.status, answer.body)

    if len({seen(answer) for answer in base}) > 1:
        return "varies by itself", "the base arm's own answers differ from each other"
    for answer in others:
        if seen(answer) == seen(base[0]):
            continue
        if answer.status != base[0].status:
            return "DIFFERENT", f"status {answer.status} instead of {base[0].status}"
        place, (at, here, there) = next(
            (place, found) for place, found in (
                ("headers", first_difference(answer.head, base[0].head) if whole else None),
                ("body", first_difference(answer.body, base[0].body))) if found)
        return "DIFFERENT", f"{place} from byte {at} on: {shown(here)} instead of {shown(there)}"
    return "same", ""


def shown(piece):
    return repr(piece)[1:] if piece else "the end"
