"""Plays the bridge for the checkpoint library: launches a zygote, forks workers, sends requests.

The numbers are those of bridge/message/wire.h."""

import array
import os
import selectors
import socket
import struct
import subprocess
import tempfile
import time

MAGIC, VERSION = 0x43474942, 1
FORK, CHECKPOINT, FORK_FAILED, REQUEST, READY, DONE, NOTE = range(1, 8)
LOADED, SHALLOWER, WARNING, FILE = range(1, 5)
HEADER = struct.Struct("=IHHI")
PACKET_MAX = 60 * 1024
PATIENCE = 20.0

LAUNCH_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SERVER_SOFTWARE": "test",
    "DOCUMENT_ROOT": "/srv/www",
    "SCRIPT_NAME": "/cgi-bin/x",
}
REQUEST_ENV = {**LAUNCH_ENV, "REQUEST_METHOD": "GET", "QUERY_STRING": "a=1&b=2",
               "REMOTE_ADDR": "::1"}


def adapters_dir():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    build = os.path.abspath(os.environ.get("CGIBRIDGE_BUILD", top + "/build"))
    return os.path.join(build, "adapters")


def library():
    return os.path.join(adapters_dir(), "libcgibridge_checkpoint.so")


class Answer:
    """What a program said, and how it ended."""

    def __init__(self, stdout, stderr, code):
        self.stdout, self.stderr, self.code = stdout, stderr, code
        self.done = None  # the exit code of MESSAGE_DONE, if one came
        self.notes = []

    @property
    def text(self):
        return self.stdout.decode()

    def seen(self):
        """What a client and a log can see of it."""
        return self.stdout, self.stderr, self.code

    def loaded(self):
        return [text for kind, text in self.notes if kind == LOADED]


def drain(streams, process_gone, deadline):
    """Reads until every stream ended; or, once the process is gone, until they are empty."""
    texts = {fd: b"" for fd in streams}
    with selectors.DefaultSelector() as selector:
        for fd in streams:
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            events = selector.select(0.02)
            if not events and process_gone():
                break
            assert time.monotonic() < deadline, ("no end of the answer", texts)
            for key, _ in events:
                text = os.read(key.fd, 65536)
                texts[key.fd] += text
                if not text:
                    selector.unregister(key.fd)
    for fd in streams:
        os.close(fd)
    return [texts[fd] for fd in streams]


def stdin_with(body):
    """The reading end of a pipe that holds the body, with nothing behind it."""
    assert len(body) <= 65536
    reading, writing = os.pipe()
    os.write(writing, body)
    os.close(writing)
    return reading


def run_plainly(argv, env=None, cwd="/", body=b""):
    """The same program as the classic way runs it: what every answer is held against."""
    process = subprocess.run(argv, env=REQUEST_ENV if env is None else env, cwd=cwd, input=body,
                             capture_output=True, timeout=PATIENCE)
    return Answer(process.stdout, process.stderr, process.returncode)


class Channel:
    def __init__(self):
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(PATIENCE)

    def send(self, kind, body, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.ours.sendmsg([HEADER.pack(MAGIC, VERSION, kind, len(body)) + body], rights)

    def receive(self):
        """(type, body), or None at the end."""
        try:
            packet = self.ours.recv(PACKET_MAX)
        except ConnectionResetError:
            return None
        if not packet:
            return None
        magic, version, kind, size = HEADER.unpack_from(packet)
        assert (magic, version, size) == (MAGIC, VERSION, len(packet) - HEADER.size)
        return kind, packet[HEADER.size:]

    def close(self):
        self.ours.close()
        self.theirs.close()


def note_of(body):
    kind, size = struct.unpack_from("=II", body)
    text = body[8:]
    assert len(text) == size
    return kind, os.fsdecode(text)


class Worker:
    def __init__(self, zygote, number):
        self.zygote, self.channel = zygote, Channel()
        zygote.channel.send(FORK, struct.pack("=Q", number), [self.channel.theirs.fileno()])
        self.channel.theirs.close()
        message = self.channel.receive()
        if message is None:
            raise AssertionError(("no worker", zygote.channel.receive(), zygote.log()))
        assert message[0] == READY, message
        self.pid = struct.unpack_from("=i", message[1])[0]

    def request(self, argv, env=None, cwd="/", body=b"", memfd=None, number=7):
        env = REQUEST_ENV if env is None else env
        strings = [os.fsencode(word) for word in
                   [cwd, *argv, *(f"{name}={value}" for name, value in env.items())]]
        text = b"".join(word + b"\0" for word in strings)
        memfd = len(text) > PACKET_MAX - 64 if memfd is None else memfd
        stdin = stdin_with(body)
        stdout, stdout_end = os.pipe()
        stderr, stderr_end = os.pipe()
        fds = [stdin, stdout_end, stderr_end]
        if memfd:
            fds.append(os.memfd_create("strings"))
            os.write(fds[3], text)
        head = struct.pack("=QIIII", number, len(argv), len(env), len(text), memfd)
        self.channel.send(REQUEST, head + (b"" if memfd else text), fds)
        for fd in fds:
            os.close(fd)
        return self.collect(stdout, stderr, number)

    def collect(self, stdout, stderr, number):
        gone = []

        def process_gone():
            if not gone:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    gone.append(status)
            return gone

        deadline = time.monotonic() + PATIENCE
        texts = drain([stdout, stderr], process_gone, deadline)
        while not process_gone():
            assert time.monotonic() < deadline, ("worker does not end", texts)
            time.sleep(0.001)
        answer = Answer(texts[0], texts[1], os.waitstatus_to_exitcode(gone[0]))
        self.channel.ours.setblocking(False)
        while (message := self.last_words()) is not None:
            kind, words = message
            if kind == DONE:
                assert answer.done is None, "a second DONE"
                got, answer.done = struct.unpack_from("=Qi", words)
                assert got == number
            elif kind == NOTE:
                answer.notes.append(note_of(words))
        self.channel.close()
        return answer

    def last_words(self):
        try:
            return self.channel.receive()
        except BlockingIOError:
            return None


class Zygote:
    """argv: what the bridge would launch; level: where it is to stop."""

    def __init__(self, argv, level="linked", env=None, cwd="/", preload=None):
        self.channel = Channel()
        self.log_file = tempfile.TemporaryFile()
        fd = self.channel.theirs.fileno()
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log_file,
            pass_fds=[fd], cwd=cwd,
            env={**(LAUNCH_ENV if env is None else env), "LD_PRELOAD": preload or library(),
                 "CGIBRIDGE_CHECKPOINT": f"fd={fd} level={level}"})
        self.channel.theirs.close()
        self.notes, self.threads, self.workers = [], None, 0
        while True:
            message = self.channel.receive()
            if message is None:
                break
            if message[0] == CHECKPOINT:
                self.level, self.threads = struct.unpack_from("=II", message[1])
                break
            assert message[0] == NOTE, message
            self.notes.append(note_of(message[1]))

    @property
    def stands(self):
        return self.threads is not None

    def worker(self):
        self.workers += 1
        assert self.stands, ("not at the checkpoint", self.notes, self.log())
        return Worker(self, self.workers)

    def log(self):
        self.log_file.seek(0)
        return self.log_file.read().decode(errors="replace")

    def note(self, kind):
        return [text for got, text in self.notes if got == kind]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.channel.close()
        self.process.wait(PATIENCE)
        self.log_file.close()
