"""What a worker puts right before the script's first line, and what the zygote prepares for it.

A page that a request writes is copied after a fork, and put back by a rewind, and most of what
Python does writes to the objects that it looks at. So whatever does not depend on the request is
done in the zygote, and the rest in few steps over few objects.
"""

FILE_KIND = 0o170000  # of st_mode


# -- the environment ----------------------------------------------------------------------------

def set_data(data):
    os.environ._data = data
    os.environb._data = data
    posix.environ = data


def coerced_locale(data):
    """The LC_CTYPE that the interpreter has set itself, in the C locale (PEP 538), or None."""
    with open("/proc/self/environ", "rb") as file:
        was_given = any(line.startswith(b"LC_CTYPE=") for line in file.read().split(b"\0"))
    return None if was_given else data.get(b"LC_CTYPE")


def for_a_start(data, coerced):
    """The environment for an interpreter that starts: it would take the coerced locale for the user's, and
    not switch its UTF-8 mode on (PEP 540)."""
    return {name: value for name, value in data.items() if name != b"LC_CTYPE" or value is not coerced}


class Environment:
    """os.environ's own dictionary (posix.environ is the same one), and the C environment."""

    def __init__(self, data, coerced):
        self.data, self.coerced_locale = data, coerced
        # With it, what C code keeps of a variable is valid only until the next request.
        self.by_library = ask(b"reset") != b"none"
        self.is_rehearsal = True

    def empty(self):
        self.names = list(self.data)
        self.data.clear()
        set_data(self.data)

    def take(self, text):
        """The first of two variables with one name counts, as for the interpreter."""
        data = self.data
        for line in text.split(b"\0"):
            name, equals, value = line.partition(b"=")
            if equals and name and name not in data:
                data[name] = value
        if self.is_rehearsal:
            return
        if self.by_library:
            os.readlink(SET_ENVIRONMENT)
        else:
            self.put(data)
        if self.coerced_locale is not None and b"LC_CTYPE" not in data:
            data[b"LC_CTYPE"] = self.coerced_locale
            posix.putenv(b"LC_CTYPE", self.coerced_locale)

    def put(self, data):
        for name in self.names:
            if name not in data:
                posix.unsetenv(name)
        for name, value in data.items():
            posix.putenv(name, value)


# -- the standard streams -----------------------------------------------------------------------

def renew_stream(stream, fd, name, mode):
    """The interpreter opened the stream on something else. Initialised again, it is what the interpreter
    would make of the request's descriptor, and code that already holds the object uses the new one. Only
    the raw file is another object, because a raw file never forgets whether it can seek."""
    if stream is None:
        return
    buffer, encoding, errors = stream.buffer, stream.encoding, stream.errors
    line_buffering, write_through = stream.line_buffering, stream.write_through
    old_raw = getattr(buffer, "raw", buffer)
    raw = type(old_raw)(fd, mode, closefd=False)
    raw.name = name
    if old_raw is buffer:  # python -u
        buffer = raw
    else:
        size = raw._blksize
        if sys.version_info >= (3, 14):
            size = max(min(size, 8 << 20), sys.modules["_io"].DEFAULT_BUFFER_SIZE)
        buffer.__init__(raw, size)
    stream.__init__(buffer, encoding, errors, "\n", line_buffering, write_through)
    stream.mode = mode[0]


def kind_of(fd):
    """What the interpreter's stream depends on."""
    status = os.fstat(fd)
    return status.st_mode & FILE_KIND, status.st_rdev, status.st_blksize


class Streams:
    """Opened in the zygote on what requests bring: three pipes."""

    def __init__(self):
        self.ours = [(sys.__stdin__, 0, "<stdin>", "rb"), (sys.__stdout__, 1, "<stdout>", "wb"),
                     (sys.__stderr__, 2, "<stderr>", "wb")]
        self.kinds = [kind_of(fd) for fd in range(3)]

    def prepare(self):
        saved = [os.dup(fd) for fd in range(3)]
        reading, writing = os.pipe()
        for fd in range(3):
            os.dup2(writing if fd else reading, fd)
            self.kinds[fd] = kind_of(fd)
            renew_stream(*self.ours[fd])
        for fd, copy in enumerate(saved):
            os.dup2(copy, fd)
        for fd in [*saved, reading, writing]:
            os.close(fd)

    def take(self):
        if os.readlink(STREAMS) == b"ppp":
            return
        kinds = self.kinds
        if kind_of(0) != kinds[0]:
            renew_stream(*self.ours[0])
        if kind_of(1) != kinds[1]:
            renew_stream(*self.ours[1])
        if kind_of(2) != kinds[2]:
            renew_stream(*self.ours[2])

    def renew(self):
        for stream in self.ours:
            renew_stream(*stream)


# -- what modules remember of the process that loaded them ---------------------------------------

class ForkHandlers:
    """What modules registered with os.register_at_fork: they reseed and unlock there."""

    def __init__(self):
        self.handlers = []
        self.real = os.register_at_fork
        self.before = set(sys.modules)  # their handlers are unknown
        os.register_at_fork = self.register

    def register(self, **handlers):
        self.real(**handlers)
        self.handlers.append(handlers)

    def prepare(self):
        """The steps of os.fork() in the child, in their order."""
        os.register_at_fork = self.real
        return ([one["before"] for one in reversed(self.handlers) if "before" in one]
                + [one["after_in_child"] for one in self.handlers if "after_in_child" in one])


def renew_authkey(process):
    """Drawn when the module is loaded: a process that has it may talk to another request's managers and
    pools."""
    process.current_process().authkey = os.urandom(32)


# What dateutil's own parser has; the last two it makes of the time.
KEPT_BY_DATEUTIL = {"_jump", "_weekdays", "_months", "_hms", "_ampm", "_utczone", "_pertain", "dayfirst",
                    "yearfirst", "_year", "_century"}


def keeps_only_a_year():
    """Whether that is all that dateutil keeps of the time at which it was loaded."""
    import gc
    module = sys.modules["dateutil.parser._parser"]
    kind, info = module.parserinfo, module.DEFAULTPARSER.info
    made = [one for one in gc.get_objects() if issubclass(type(one), kind)]
    return len(made) == 1 and made[0] is info and vars(info).keys() == KEPT_BY_DATEUTIL


def renew_dates(info):
    import time
    info._year = time.localtime().tm_year
    info._century = info._year // 100 * 100


def renewals(fork_handlers, generators):
    """Random generators, times, ids of the process: returns a list of functions to call."""
    # A lazy module, which is of another type, would load if it were asked for anything.
    modules = {name: module for name, module in sys.modules.items() if type(module) is MODULE}
    steps = fork_handlers.prepare()
    module_s_own = getattr(modules.get("random"), "_inst", None)
    steps += [one.seed for one in generators.unseeded() if one is not module_s_own]
    if "random" in fork_handlers.before & modules.keys():  # otherwise its fork handler seeds it
        steps.append(modules["random"].seed)
    if "numpy.random" in modules:
        steps.append(modules["numpy.random"].seed)
    dates = getattr(modules.get("dateutil.parser._parser"), "DEFAULTPARSER", None)
    if hasattr(getattr(dates, "info", None), "_year"):  # other versions may keep none
        steps.append(lambda: renew_dates(dates.info))
    if "uuid" in modules:
        steps.append(lambda uuid=modules["uuid"]: setattr(uuid, "_last_timestamp", None))
    if "multiprocessing.process" in modules:
        steps.append(lambda process=modules["multiprocessing.process"]: renew_authkey(process))
    if "logging" in modules:
        import time
        now = time.time_ns if sys.version_info >= (3, 13) else time.time
        steps.append(lambda logging=modules["logging"]: setattr(logging, "_startTime", now()))
    if "threading" in modules:
        set_native_id = getattr(modules["threading"].main_thread(), "_set_native_id", None)
        if set_native_id:
            steps.append(set_native_id)
    return steps
