"""Reads one HTTP/1.x answer that arrives in pieces, as far as a load client needs it: its status, its end,
and whether the connection may be reused (RFC 9112 §6.3)."""


class BadAnswer(Exception):
    """What arrived is not an HTTP answer."""


HEAD_MAX = 256 * 1024


class AnswerReader:
    """Call feed() with what arrives until `done`; call end() when the other side has closed."""

    def __init__(self, head_request=False):
        self.head_request = head_request
        self.status = None
        self.done = False
        self.keep_open = False   # after done: whether another request may follow
        self.body_bytes = 0
        self._unread = b""
        self._left = 0           # of the body, or of the chunk with its line end
        self._step = self._read_head

    def feed(self, data):
        self._unread += data
        while not self.done and self._step():
            pass
        if self.done and self._unread:
            self.keep_open = False  # bytes that do not belong to an answer

    def end(self):
        """The connection ended; returns whether that is a valid end of this answer."""
        if self._step == self._read_rest:
            self.done = True
        return self.done

    # Steps: each returns whether it made progress; if not, it needs more bytes.

    def _read_head(self):
        head, end, rest = self._unread.partition(b"\r\n\r\n")
        if not end:
            if len(self._unread) > HEAD_MAX or not b"HTTP/1."[:len(self._unread)] \
                    == self._unread[:7]:
                raise BadAnswer("no HTTP/1 answer")
            return False
        self._unread = rest
        lines = head.split(b"\r\n")
        words = lines[0].split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise BadAnswer(f"a status line like {lines[0][:60]!r}")
        self.status = int(words[1])
        if 100 <= self.status < 200:
            return True  # an interim answer: the real one follows
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            fields[name.strip().lower()] = value.strip().lower()
        self._choose_body(words[0] == b"HTTP/1.1", fields)
        return True

    def _choose_body(self, version_1_1, fields):
        connection = fields.get(b"connection", b"")
        self.keep_open = b"close" not in connection and (version_1_1 or b"keep-alive" in connection)
        length = fields.get(b"content-length")
        if self.head_request or self.status in (204, 304):
            self.done = True
        elif b"chunked" in fields.get(b"transfer-encoding", b""):
            self._step = self._read_chunk_size
        elif length is None:
            self.keep_open, self._step = False, self._read_rest
        elif not length.isdigit():
            raise BadAnswer(f"Content-Length: {length[:60]!r}")
        else:
            self._left, self._step = int(length), self._read_length
            self._read_length()

    def _take(self):
        """Consumes the available part of the remaining bytes."""
        taken = min(self._left, len(self._unread))
        self._left -= taken
        self._unread = self._unread[taken:]
        return taken

    def _read_length(self):
        self.body_bytes += self._take()
        self.done = self._left == 0
        return False

    def _read_rest(self):
        self.body_bytes += len(self._unread)
        self._unread = b""
        return False

    def _line(self):
        line, end, rest = self._unread.partition(b"\r\n")
        if not end:
            return None
        self._unread = rest
        return line

    def _read_chunk_size(self):
        line = self._line()
        if line is None:
            return False
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            raise BadAnswer(f"a chunk size like {line[:60]!r}") from None
        self.body_bytes += size
        self._left = size + 2
        self._step = self._read_chunk if size else self._read_trailer
        return True

    def _read_chunk(self):
        self._take()
        if self._left:
            return False
        self._step = self._read_chunk_size
        return True

    def _read_trailer(self):
        line = self._line()
        if line is None:
            return False
        self.done = line == b""
        return True
