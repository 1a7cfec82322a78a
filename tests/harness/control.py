"""A client of the control socket. bridge/admin/control_message.h says what passes over it."""

import json

from harness import processes


class Control:
    """One connection, for many commands; leaving the context closes it."""

    def __init__(self, path):
        self._socket = processes.connect(path, 20)
        self._lines = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._lines.close()
        self._socket.close()

    def ask(self, command, **arguments):
        """Gives a command; returns what the bridge answers, which must not be a refusal."""
        self._socket.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
        line = self._lines.readline()
        if not line:
            raise ConnectionError("the bridge has closed the control connection")
        answer = json.loads(line)
        assert answer.pop("ok"), answer
        return answer
