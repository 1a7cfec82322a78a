"""An HTTP server to test clients with: it answers one request after another, as slowly and as wrongly as it
is told."""

import contextlib
import socket
import threading
import time


class SlowServer:
    """A context manager. Every request is answered after `pause` seconds, with `status`. With `closes`, the
    connection ends after the answer; with `tls` (a context), it is HTTPS."""

    def __init__(self, pause=0.0, status=200, closes=False, tls=None):
        self.pause, self.status, self.closes, self.tls = pause, status, closes, tls
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.turn = threading.Lock()
        self.threads = [threading.Thread(target=self.accept)]
        self.connections = []
        self.threads[0].start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections.append(connection)
                self.threads.append(threading.Thread(target=self.serve, args=(connection,)))
                self.threads[-1].start()

    def serve(self, connection):
        with contextlib.suppress(OSError), connection:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            while connection.recv(65536):
                with self.turn:
                    time.sleep(self.pause)
                connection.sendall(b"HTTP/1.1 %d Fine\r\nContent-Length: 2\r\n\r\nok" % self.status)
                if self.closes:
                    return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()

    def url(self, target="/"):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}{target}"
