"""Plays systemd for a Type=notify service: a datagram socket that receives its state."""

import socket
import threading

from harness.processes import wait_until


class ServiceManager:
    """A context manager. It reads all the time, because the queue of such a socket holds ten datagrams and a
    service drops what does not fit."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(0.1)
        self._said, self._next = [], 0
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._read)

    def _read(self):
        while not self._over.is_set():
            try:
                self._said.append(self.socket.recv(4096).decode().splitlines())
            except TimeoutError:
                pass

    def __enter__(self):
        self._reader.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._reader.join()
        self.socket.close()

    def next(self):
        """All lines of the next message."""
        wait_until(lambda: len(self._said) > self._next, "the service says something", 20)
        self._next += 1
        return self._said[self._next - 1]

    def expect(self, word):
        """Reads until a message contains that line; returns all lines of that message."""
        while True:
            lines = self.next()
            if word in lines:
                return lines
