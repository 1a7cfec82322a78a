"""One connection of the constant-rate client, which never blocks: it connects, does the TLS handshake if
needed, sends the request and reads the answer, each as far as possible at the moment."""
import errno
import os
import select
import socket
import ssl

from .http_answer import AnswerReader, BadAnswer

READ = select.EPOLLIN
BOTH = select.EPOLLIN | select.EPOLLOUT


class Connection:
    """Owned by RateClient. `due` is the intended start of its current request, None while it is idle;
    `interest` is what epoll should watch."""

    def __init__(self, address, host, tls, request, head_request):
        family, where = address
        self.request, self.head_request = request, head_request
        self.socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = self.socket.connect_ex(where)
        if code not in (0, errno.EINPROGRESS):
            self.socket.close()
            raise OSError(code, os.strerror(code))
        self.connecting = code != 0
        self.handshaking = tls is not None
        self.tls, self.host = tls, host
        self.due = self.sent = self.answer = None
        self.unsent = memoryview(b"")
        self.answers = 0       # how many answers it has carried
        self.interest = BOTH

    def fileno(self):
        return self.socket.fileno()

    def begin(self, due, now):
        """Takes over the request that was due at that time."""
        self.due, self.sent = due, now
        self.unsent = memoryview(self.request)
        self.answer = AnswerReader(self.head_request)
        self.heard = False

    def rest(self):
        """The answer is complete; the next request may follow."""
        self.due = None
        self.answers += 1
        self.interest = READ

    def step(self):
        """"answered", "closed" (while idle, by the other side), "again" (the same, but a request had been
        sent and nothing of its answer came), or the description of a failure; None: not finished."""
        try:
            return self._step()
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except ssl.SSLWantWriteError:
            self.interest = BOTH
            return None
        except BadAnswer:
            return "no HTTP answer"
        except OSError as error:
            return self._closed(error.strerror or str(error))

    def _step(self):
        if self.connecting:
            code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                return os.strerror(code)
            if self.due is None:
                return None
            try:
                self.socket.getpeername()
            except OSError:
                return None  # not yet
            self.connecting = False
        if self.handshaking:
            self._shake_hands()
        if self.due is None:
            return self._closed("closed") if not self.socket.recv(65536) else "closed"
        self._send()
        return self._receive()

    def _shake_hands(self):
        if not isinstance(self.socket, ssl.SSLSocket):
            self.socket = self.tls.wrap_socket(self.socket, server_hostname=self.host,
                                               do_handshake_on_connect=False)
        self.interest = READ
        self.socket.do_handshake()
        self.handshaking = False

    def _send(self):
        while self.unsent:
            self.interest = BOTH
            self.unsent = self.unsent[self.socket.send(self.unsent):]
        self.interest = READ

    def _receive(self):
        while True:
            data = self.socket.recv(262144)
            if not data:
                return "answered" if self.answer.end() else self._closed("closed in mid-answer")
            self.heard = True
            self.answer.feed(data)
            if self.answer.done:
                return "answered"

    def _closed(self, words):
        if self.due is None:
            return "closed"
        return "again" if self.answers and not self.heard else words

    def close(self):
        self.socket.close()
