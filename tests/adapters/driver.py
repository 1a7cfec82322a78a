"""Plays the bridge for the checkpoint library: launches a zygote, forks workers, sends requests.

The numbers are those of bridge/message/wire.h."""

import array
import os
import selectors
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

MAGIC, VERSION = 0x43474942, 6
FORK, CHECKPOINT, FORK_FAILED, REQUEST, READY, DONE, NOTE, VERIFY, VERIFIED, RETIRED = range(1, 11)
EXECUTE, EXECUTED_BY = 12, 13
LOADED, SHALLOWER, WARNING, FILE, FOLDERS, READ, LEVEL = range(1, 8)
RESETS = {1: "fork", 2: "rewind", 3: "none"}
TRACKINGS = {1: "compare", 2: "scan", 3: "soft-dirty"}
RETIREMENTS = ["not", "threads", "children", "identity", "session", "limits", "descriptors",
               "mappings", "call", "verify", "fault"]
IN_MEMFD, SAY_READY, KEPT = 1, 2, 4
HEADER = struct.Struct("=IHHI")
DONE_HEAD = struct.Struct("=QiIIIIIIIIIII")
REQUEST_HEAD = struct.Struct("=QIIII")
PACKET_MAX = 60 * 1024
PATIENCE = 30.0 * float(os.environ.get("CGIBRIDGE_TESTS_PATIENCE", "2"))

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


def is_static(program):
    """Whether it is an ELF file that wants no loader (PT_INTERP); a program on the PATH is none."""
    if "/" not in str(program):
        return False
    with open(program, "rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF":
            return False
        offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        headers = file.read(size * count)
        return all(struct.unpack_from("<I", headers, at)[0] != 3 for at in range(0, len(headers), size))


def library():
    return os.path.join(adapters_dir(), "libcgibridge_checkpoint.so")


class Answer:
    """What a program printed, and how it ended."""

    def __init__(self, stdout=b"", stderr=b"", code=None):
        self.stdout, self.stderr, self.code = stdout, stderr, code
        self.done = None        # the exit code of MESSAGE_DONE, if one came
        self.stays = False      # the worker takes another request
        self.retirement = None  # why not: a word of RETIREMENTS, and a text
        self.reason = ""
        self.tracking, self.pages, self.microseconds = None, 0, 0  # of the rewind before this answer
        self.is_clean = None    # the kernel was not asked what it has changed
        self.walked = None      # the rewind before this answer looked for changed pages
        self.keeps = False      # its pipes stay, for another request
        self.unread = False     # the worker ended before it began
        self.difference = None  # the zygote's comparison with the worker after the answer: "" if equal
        self.notes = []

    @property
    def text(self):
        return self.stdout.decode()

    def seen(self):
        """What a client and a log can see of the answer."""
        return self.stdout, self.stderr, self.code

    def loaded(self):
        return [text.partition("\n")[0] for kind, text in self.notes if kind == LOADED]

    def take_done(self, body, number):
        assert self.done is None, "a second DONE"
        (got, self.done, stays, retirement, tracking, self.pages, self.microseconds, size,
         _, _, unusual, keeps, _) = DONE_HEAD.unpack_from(body)
        assert got == number, (got, number)
        self.keeps = bool(keeps)
        self.is_clean = unusual & 4 == 0
        self.walked = unusual & 8 != 0
        self.stays, self.tracking = bool(stays), TRACKINGS.get(tracking)
        self.retire(retirement, text_of(body, DONE_HEAD.size, size))

    def retire(self, retirement, text):
        self.retirement, self.reason = RETIREMENTS[retirement] if retirement else None, text


def text_of(body, at, size):
    """The text at the end of a message, whose size the message gives."""
    assert len(body) == at + size, (len(body), at, size)
    return os.fsdecode(body[at:])


def read_to_emptiness(fd):
    """What is there now, without waiting for more."""
    os.set_blocking(fd, False)
    text = b""
    try:
        while piece := os.read(fd, 1 << 20):
            text += piece
    except BlockingIOError:
        pass
    return text


def stdin_with(body):
    """The reading end of a pipe that contains the body and then ends."""
    assert len(body) <= 65536
    reading, writing = os.pipe()
    os.write(writing, body)
    os.close(writing)
    return reading


def run_plainly(argv, env=None, cwd="/", body=b""):
    """Runs the program as the classic way does; every answer is compared with this."""
    process = subprocess.run(argv, env=REQUEST_ENV if env is None else env, cwd=cwd, input=body,
                             capture_output=True, timeout=PATIENCE)
    return Answer(process.stdout, process.stderr, process.returncode)


class Channel:
    def __init__(self):
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(PATIENCE)
        self.was_reset = False  # the other side ended without reading everything

    def send(self, kind, body, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.ours.sendmsg([HEADER.pack(MAGIC, VERSION, kind, len(body)) + body], rights)

    def receive(self):
        """(type, body), or None at the end. What a program executes in a request, it executes itself."""
        try:
            packet = self.ours.recv(PACKET_MAX)
        except ConnectionResetError:
            # Reported once, before the packets that were sent earlier.
            self.was_reset = True
            return self.receive()
        if not packet:
            return None
        magic, version, kind, size = HEADER.unpack_from(packet)
        assert (magic, version, size) == (MAGIC, VERSION, len(packet) - HEADER.size)
        if kind == EXECUTE:
            self.send(EXECUTED_BY, b"")
            return self.receive()
        return kind, packet[HEADER.size:]

    def close(self):
        self.ours.close()
        self.theirs.close()


def note_of(body):
    kind, size = struct.unpack_from("=II", body)
    return kind, text_of(body, 8, size)


class Worker:
    """Takes requests one after another, as long as its answers say that it stays."""

    def __init__(self, zygote, number):
        self.zygote, self.channel, self.number = zygote, Channel(), number
        zygote.channel.send(FORK, struct.pack("=Q", number), [self.channel.theirs.fileno()])
        self.channel.theirs.close()
        message = self.channel.receive()
        if message is None:
            raise AssertionError(("no worker", zygote.channel.receive(), zygote.log()))
        assert message[0] == READY, message
        self.pid = struct.unpack_from("=i", message[1])[0]
        self.requests, self.status = 0, None
        self.kept = []  # our ends of the pipes that it has kept: used for a request without a body
        zygote.living.append(self)

    def request(self, argv, say_ready=False, **request):
        """say_ready: also waits until the reset after the answer is over."""
        answer = self.collect(*self.send(argv, say_ready=say_ready, **request))
        if answer.stays and say_ready:
            self.await_reset(answer)
        return answer

    def answer_until_done(self, argv, **request):
        """Returns as soon as the process has said that it is done; the caller must wait for its end."""
        stdout, stderr, number = self.send(argv, **request)
        answer = Answer()
        while answer.done is None:
            assert self.take_message(answer, number), "it ended before it was done"
        answer.stdout, answer.stderr = [read_to_emptiness(fd) for fd in (stdout, stderr)]
        self.keep_or_close(answer, stdout, stderr)
        return answer

    def keep_or_close(self, answer, *pipes):
        if answer.keeps and answer.stays:
            self.kept = list(pipes)
        else:
            for fd in pipes:
                os.close(fd)

    def take_kept(self):
        kept, self.kept = self.kept, []
        return kept

    def send(self, argv, env=None, cwd="/", body=b"", memfd=None, say_ready=False, number=None):
        """Returns the reading ends of the request's output streams, and its number."""
        env = REQUEST_ENV if env is None else env
        self.requests += 1
        number = 6 + self.requests if number is None else number
        strings = [os.fsencode(word) for word in
                   [cwd, *argv, *(f"{name}={value}" for name, value in env.items())]]
        text = b"".join(word + b"\0" for word in strings)
        memfd = len(text) > PACKET_MAX - 64 if memfd is None else memfd
        kept, fds = self.take_kept(), []
        if kept and not body:
            stdout, stderr = kept
            os.set_blocking(stdout, True)
            os.set_blocking(stderr, True)
        else:
            for fd in kept:
                os.close(fd)
            stdout, stdout_end = os.pipe()
            stderr, stderr_end = os.pipe()
            fds = [stdin_with(body), stdout_end, stderr_end]
        flags = (IN_MEMFD if memfd else 0) | (SAY_READY if say_ready else 0) | (0 if fds else KEPT)
        if memfd:
            fds.append(os.memfd_create("strings"))
            os.write(fds[-1], text)
        head = REQUEST_HEAD.pack(number, len(argv), len(env), len(text), flags)
        try:
            self.channel.send(REQUEST, head + (b"" if memfd else text), fds)
        except (BrokenPipeError, ConnectionResetError):
            self.channel.was_reset = True
        for fd in fds:
            os.close(fd)
        return stdout, stderr, number

    def collect(self, stdout, stderr, number):
        """Reads until the worker says that it stays, or is gone."""
        answer, texts = Answer(), {stdout: b"", stderr: b""}
        deadline = time.monotonic() + PATIENCE
        pidfd = os.pidfd_open(self.pid)
        with selectors.DefaultSelector() as selector:
            for fd in (stdout, stderr, pidfd, self.channel.ours):
                selector.register(fd, selectors.EVENT_READ)
            while not answer.stays and self.status is None:
                if time.monotonic() > deadline:
                    raise AssertionError(("no end of the answer", texts, answer.done))
                for key, _ in selector.select(0.5):
                    if key.fd in texts:
                        piece = os.read(key.fd, 1 << 20)
                        texts[key.fd] += piece
                        ended = not piece
                    elif key.fd == pidfd:
                        ended = self.reap(answer)
                    else:
                        ended = not self.take_message(answer, number)
                    if ended:
                        selector.unregister(key.fileobj)
        # A child that was left behind may keep the streams open.
        answer.stdout, answer.stderr = [texts[fd] + read_to_emptiness(fd) for fd in texts]
        os.close(pidfd)
        if self.status is not None:
            self.take_last_words(answer, number)
        elif answer.stays:
            answer.code = answer.done
        self.keep_or_close(answer, stdout, stderr)
        return answer

    def take_message(self, answer, number):
        """Returns whether there was one."""
        message = self.channel.receive()
        if message is None:
            return False
        kind, body = message
        if kind == DONE:
            answer.take_done(body, number)
        elif kind == NOTE:
            answer.notes.append(note_of(body))
        elif kind == RETIRED:
            retirement, size = struct.unpack_from("=II", body)
            answer.retire(retirement, text_of(body, 8, size))
            answer.unread = answer.done is None
            answer.stays = False
        else:
            raise AssertionError(("an unexpected message", kind, body))
        return True

    def reap(self, answer):
        self.status = os.waitpid(self.pid, 0)[1]
        answer.code = os.waitstatus_to_exitcode(self.status)
        return True

    def take_last_words(self, answer, number):
        self.channel.ours.setblocking(False)
        try:
            while self.take_message(answer, number):
                pass
        except BlockingIOError:
            pass  # another process holds the channel
        if self.channel.was_reset and answer.done is None:
            answer.unread = True
        self.forget()

    def await_reset(self, answer):
        """Waits for READY, or for the worker to end after all."""
        message = self.channel.receive()
        if message is not None and message[0] == READY:
            assert struct.unpack_from("=i", message[1])[0] == self.pid
            return
        answer.stays = False
        if message is not None:
            assert message[0] == RETIRED, message
            answer.retire(struct.unpack_from("=I", message[1])[0], os.fsdecode(message[1][8:]))
        self.status = os.waitpid(self.pid, 0)[1]
        self.forget()

    def forget(self):
        self.channel.close()
        for fd in self.take_kept():
            os.close(fd)
        if self in self.zygote.living:
            self.zygote.living.remove(self)

    def close(self):
        """Closes its channel; it must end by itself."""
        self.forget()
        deadline = time.monotonic() + PATIENCE
        try:
            while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    os.kill(self.pid, signal.SIGKILL)
                    os.waitpid(self.pid, 0)
                    raise AssertionError("a worker does not end with its channel")
                time.sleep(0.0005)
        except ChildProcessError:
            pass  # a test has waited for it


class Zygote:
    """argv: what the bridge would launch. level: where it is to stop. The rest is as in the launch words.
    without: parts of the reset to leave out, so that a leak becomes visible."""

    def __init__(self, argv, level="linked", env=None, cwd="/", preload=None, reset="fork",
                 tracking="auto", without="", learn="installed", accept="", name="", has_pipe=False,
                 **popen_options):
        self.channel = Channel()
        self.log_file = tempfile.TemporaryFile()
        # With the bridge its standard error is a pipe.
        errors = subprocess.PIPE if has_pipe else self.log_file
        fd = self.channel.theirs.fileno()
        words = f"fd={fd} level={level} reset={reset} learn={learn} tracking={tracking}"
        words += f" without={without}" if without else ""
        words += f" accept={accept}" if accept else ""
        words += f" name={name}" if name else ""
        if "executable" not in popen_options and is_static(argv[0]):
            popen_options["executable"] = os.path.join(adapters_dir(), "cgibridge-static")
            env = {**(LAUNCH_ENV if env is None else env), "CGIBRIDGE_STATIC": argv[0]}
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            pass_fds=[fd], cwd=cwd, **popen_options,
            env={**(LAUNCH_ENV if env is None else env), "LD_PRELOAD": preload or library(),
                 "CGIBRIDGE_CHECKPOINT": words})
        self.channel.theirs.close()
        if has_pipe:
            threading.Thread(target=self.copy_errors).start()
        self.notes, self.threads, self.workers, self.living = [], None, 0, []
        self.reset, self.weaker = None, ""  # what its workers will do, and why it is less than requested
        while True:
            message = self.channel.receive()
            if message is None:
                break
            if message[0] == CHECKPOINT:
                self.level, self.threads, reset, size = struct.unpack_from("=IIII", message[1])
                self.reset, self.weaker = RESETS[reset], text_of(message[1], 16, size)
                break
            assert message[0] == NOTE, message
            self.notes.append(note_of(message[1]))

    def copy_errors(self):
        with self.process.stderr as errors:
            while text := os.read(errors.fileno(), 65536):
                self.log_file.write(text)
                self.log_file.flush()

    @property
    def stands(self):
        return self.threads is not None

    def worker(self):
        self.workers += 1
        assert self.stands, ("not at the checkpoint", self.notes, self.log())
        return Worker(self, self.workers)

    def verify(self, worker):
        """(pages compared, the first differences in words) for a worker at rest."""
        self.channel.send(VERIFY, struct.pack("=QiI", worker.number, worker.pid, 0))
        message = self.channel.receive()
        assert message is not None and message[0] == VERIFIED, (message, self.log())
        number, pid, pages = struct.unpack_from("=QiI", message[1])
        assert (number, pid) == (worker.number, worker.pid)
        return pages, os.fsdecode(message[1][16:])

    def log(self):
        self.log_file.seek(0)
        return self.log_file.read().decode(errors="replace")

    def note(self, kind):
        return [text for got, text in self.notes if got == kind]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for worker in list(self.living):
            worker.close()
        self.channel.close()
        self.process.wait(PATIENCE)
        self.log_file.close()


class Warm(Zygote):
    """A zygote with one worker at a time, which answers until it retires; it is verified after each
    answer."""

    def __init__(self, argv, reset="rewind", verify=True, **options):
        super().__init__(argv, reset=reset, **options)
        self.argv, self.verifies, self.current = argv, verify, None
        self.retired = []  # (why, in words)

    def ask(self, *words, **request):
        """words: appended to the program's own argv."""
        if self.current is None or self.current.status is not None:
            self.current = self.worker()
        worker, reset = self.current, self.reset == "rewind"
        answer = worker.request([*self.argv, *words], say_ready=reset and self.verifies, **request)
        if answer.retirement:
            self.retired.append((answer.retirement, answer.reason))
        if answer.unread:
            return self.ask(*words, **request)
        if answer.stays and reset and self.verifies:
            pages, answer.difference = self.verify(worker)
            assert answer.difference == "", answer.difference
            assert pages > 0
        return answer


def answers_in_one_worker(argv, plain, times=6, **options):
    """Each request gets the plain answer, from one worker, which is put back every time."""
    with Warm(argv, **options) as warm:
        assert warm.reset == "rewind", warm.weaker
        for _ in range(times):
            assert warm.ask().seen() == plain.seen()
        assert (warm.workers, warm.retired) == (1, [])
