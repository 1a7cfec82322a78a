#!/usr/bin/python3
"""A guestbook as a CGI program; README.md has the rules that all languages share."""
import contextlib
import html
import os
import sqlite3
import sys
from urllib.parse import unquote_to_bytes

BODY_MAX = 16384
FIELDS = {b"name": 100, b"message": 2000}  # the maximum bytes of each
DATABASE = os.environ.get("GUESTBOOK_DB") or "/var/lib/guestbook/guestbook.db"
SCHEMA = """
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
  message TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS entries_by_name ON entries (name);
CREATE INDEX IF NOT EXISTS entries_by_created ON entries (created);
CREATE INDEX IF NOT EXISTS entries_by_name_created ON entries (name, created);
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Guestbook</title></head>
<body>
<h1>Guestbook</h1>
<form method="post">
<p><input name="name" required maxlength="100" placeholder="Name"></p>
<p><textarea name="message" required maxlength="2000"></textarea></p>
<p><button>Sign</button></p>
</form>
<ol reversed>
{}</ol>
</body>
</html>
"""


class Refused(Exception):
    """An answer other than the page: its status, and headers that go with it."""


def answer(head, body=""):
    sys.stdout.buffer.write((head + "\r\n\r\n" + body).encode())


def escape(text):
    return html.escape(text).replace("&#x27;", "&#39;")


def list_entries(db):
    rows = db.execute("SELECT id, name, created, message FROM entries ORDER BY id DESC LIMIT 100")
    entries = "".join(
        f'<li value="{entry}"><b>{escape(name)}</b> <time>{escape(created)}</time>'
        f"<p>{escape(message)}</p></li>\n"
        for entry, name, created, message in rows
    )
    head_only = os.environ["REQUEST_METHOD"] == "HEAD"
    answer("Content-Type: text/html; charset=utf-8", "" if head_only else PAGE.format(entries))


def read_body():
    kind, length = os.environ.get("CONTENT_TYPE", ""), os.environ.get("CONTENT_LENGTH", "")
    form = "application/x-www-form-urlencoded"
    if kind[: len(form)] != form or kind[len(form) :][:1] not in ("", ";", " "):
        raise Refused("400 Bad Request")
    if not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= BODY_MAX):
        raise Refused("400 Bad Request")
    body = sys.stdin.buffer.read(int(length))
    if len(body) != int(length):
        raise Refused("400 Bad Request")
    return body


def read_form():
    # By hand, because parse_qs can neither split at both separators nor keep bytes.
    values = {}
    for pair in read_body().replace(b";", b"&").replace(b"+", b" ").split(b"&"):
        key, _, value = pair.partition(b"=")
        values.setdefault(unquote_to_bytes(key), unquote_to_bytes(value))
    return [text_field(values.get(key, b""), limit) for key, limit in FIELDS.items()]


def text_field(value, bytes_max):
    if not value or len(value) > bytes_max:
        raise Refused("400 Bad Request")
    if any(byte == 0x7F or (byte < 0x20 and byte not in b"\t\n\r") for byte in value):
        raise Refused("400 Bad Request")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("400 Bad Request") from None


def add_entry(db):
    db.execute("INSERT INTO entries (name, message) VALUES (?, ?)", read_form())
    answer("Status: 303 See Other\r\nLocation: " + os.environ.get("SCRIPT_NAME", ""))


def main():
    method = os.environ.get("REQUEST_METHOD", "")
    if method not in ("GET", "HEAD", "POST"):
        raise Refused("405 Method Not Allowed", "Allow: GET, HEAD, POST\r\n")
    db = sqlite3.connect(DATABASE, timeout=5, isolation_level=None)
    # Fails if two requests create the database at once; then the other one has switched it.
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute("PRAGMA journal_mode = WAL")
    db.executescript(SCHEMA)
    (add_entry if method == "POST" else list_entries)(db)
    db.close()


try:
    main()
except (Refused, sqlite3.Error) as error:
    if isinstance(error, sqlite3.Error):
        print("guestbook:", error, file=sys.stderr)
        error = Refused("500 Internal Server Error")
    status, *headers = error.args
    answer(f"Status: {status}\r\n{''.join(headers)}Content-Type: text/plain; charset=utf-8",
           status + "\n")
