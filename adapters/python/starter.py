"""From the interpreter's start to the checkpoint, and from there to the script's first line.

A step fails towards safety: a module that cannot be loaded ahead without the program noticing makes
the zygote start over without it; a program that cannot bear the level is told so (`note/shallower`,
which ends the zygote). Without the checkpoint library the script runs as plain CGI.
"""

import os
import posix
import sys

REQUEST_NAMES = {b"QUERY_STRING", b"PATH_INFO", b"PATH_TRANSLATED", b"AUTH_TYPE", b"HTTPS",
                 b"DOCUMENT_URI", b"UNIQUE_ID", b"SCRIPT_URI", b"SCRIPT_URL", b"COOKIE"}
REQUEST_PREFIXES = (b"REQUEST_", b"HTTP_", b"REMOTE_", b"CONTENT_", b"REDIRECT_")
# What __main__ holds when `python SCRIPT` runs its first line.
MAIN_NAMES = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__annotations__",
              "__builtins__", "__file__", "__cached__"}
LOADED_NOTES_MAX = 200


# -- the library's call -------------------------------------------------------------------------

def ask(what):
    """The library's answer as bytes, or None if it has none (or is not there)."""
    try:
        return os.readlink(b"/.cgibridge/" + what)
    except OSError:
        return None


def ask_all(what):
    """The strings of an answer that comes in pieces, the last one empty."""
    text = b"".join(iter(lambda: ask(what) or b"", b""))
    return text.split(b"\0")[:-1]


def note(kind, text):
    ask(b"note/" + kind + b"/" + os.fsencode(text))


# -- the command line ---------------------------------------------------------------------------

class Command:
    """`start.py --preload=LIST SCRIPT`, and the commands that follow from it."""

    def __init__(self):
        self.starter, option, self.script = sys.argv[:3]
        self.words = sys.argv[3:]
        self.preload = [name for name in option[len("--preload="):].split(",") if name]
        with open("/proc/self/cmdline", "rb") as file:
            self.line = file.read().split(b"\0")[:-1]
        self.at = self.line.index(os.fsencode(self.starter))

    def plain(self, words):
        """As if we had never been here."""
        return self.line[:self.at] + [os.fsencode(self.script)] + [os.fsencode(w) for w in words]

    def start_over_without(self, module):
        """Nothing can be imported back out of a process, so a new one starts."""
        names = ",".join(name for name in self.preload if name != module)
        line = list(self.line)
        line[self.at + 1] = os.fsencode("--preload=" + names)
        os.execve(sys.executable, line, os.environ)


# -- the environment ----------------------------------------------------------------------------

class WatchedEnvironment(dict):
    """Takes the place of os.environ's own dictionary until the checkpoint, and remembers who looked.

    reads: name -> value or None, of all that was read; touched: why the last import may not be kept."""

    def __init__(self, data):
        super().__init__(data)
        self.reads, self.touched = {}, None

    def _read(self, name):
        self.reads[name] = dict.get(self, name)
        if name in REQUEST_NAMES or name.startswith(REQUEST_PREFIXES):
            self.touched = "reads the environment's " + os.fsdecode(name)

    def _all(self):
        self.touched = "lists the environment"

    def __getitem__(self, name):
        self._read(name)
        return super().__getitem__(name)

    def __contains__(self, name):
        self._read(name)
        return super().__contains__(name)

    def get(self, name, default=None):
        self._read(name)
        return super().get(name, default)

    def __setitem__(self, name, value):
        self.touched = "writes the environment"
        super().__setitem__(name, value)

    def __delitem__(self, name):
        self.touched = "writes the environment"
        super().__delitem__(name)

    def __iter__(self):
        self._all()
        return super().__iter__()

    def keys(self):
        self._all()
        return super().keys()

    def values(self):
        self._all()
        return super().values()

    def items(self):
        self._all()
        return super().items()


def set_data(data):
    os.environ._data = data
    os.environb._data = data


def take_environment(data):
    """Fills data, os.environ's own dictionary (posix.environ is the same one), and the C environment
    from the request."""
    # The interpreter sets this one itself in the C locale (PEP 538).
    coerced_locale = data.get(b"LC_CTYPE")
    for name in data:
        posix.unsetenv(name)
    data.clear()
    for text in ask_all(b"env"):
        name, equals, value = text.partition(b"=")
        if equals and name:
            data.setdefault(name, value)
    if coerced_locale is not None:
        data.setdefault(b"LC_CTYPE", coerced_locale)
    for name, value in data.items():
        posix.putenv(name, value)
    set_data(data)


# -- modules ahead of the request ---------------------------------------------------------------

class ProgramsOwn:
    """Keeps modules of the script's folder, and whatever would import them, out of the zygote."""

    def __init__(self, folder):
        machinery = sys.modules["_frozen_importlib_external"]
        suffixes = tuple(machinery._get_supported_file_loaders()[0][1]
                         + machinery.SOURCE_SUFFIXES + machinery.BYTECODE_SUFFIXES)
        self.names = set()
        for name in os.listdir(folder or "."):
            is_package = os.path.exists(os.path.join(folder, name, "__init__.py"))
            if is_package or name.endswith(suffixes):
                self.names.add(name.partition(".")[0])

    def find_spec(self, name, path=None, target=None):
        if path is None and name in self.names:
            raise ImportError(f"{name} is the program's own")
        return None


class Preload:
    """Imports the modules that the bridge learned, and sees what each one does besides."""

    def __init__(self, command, folder, code, environment):
        self.command, self.environment = command, environment
        self.guard = ProgramsOwn(folder) if folder is not None else None
        self.words = {os.fsencode(word) for word in string_constants(code)}
        self.outputs = [os.memfd_create(name) for name in ("stdout", "stderr")]

    def run(self):
        saved = [os.dup(1), os.dup(2)]
        for output, fd in zip(self.outputs, (1, 2)):
            os.dup2(output, fd)
        if self.guard:
            sys.meta_path.insert(0, self.guard)
        trouble = None
        for name in self.command.preload:
            trouble = self.load(name)
            if trouble:
                break
        if self.guard:
            sys.meta_path.remove(self.guard)
        sys.stdout.flush()
        for copy, fd in zip(saved, (1, 2)):
            os.dup2(copy, fd)
        for fd in saved + self.outputs:
            os.close(fd)
        if trouble:
            note(b"warning", f"{name} is not loaded ahead: it {trouble}")
            set_data(dict(self.environment))
            self.command.start_over_without(name)

    def load(self, name):
        """None, or what the module does that a program would notice."""
        if name in sys.modules:
            return None
        self.environment.touched = None
        self.environment.reads, before = {}, self.environment.reads
        try:
            __import__(name)
        except ImportError:
            pass  # as it would for the program, if it asks
        except BaseException as error:
            return f"fails to import ({type(error).__name__})"
        chosen = self.words & set(self.environment.reads)
        self.environment.reads.update(before)
        if chosen:
            return f"reads {os.fsdecode(min(chosen))}, which the program may set"
        return self.environment.touched or self.side_effect()

    def side_effect(self):
        sys.stdout.flush()
        sys.stderr.flush()
        if any(os.fstat(output).st_size for output in self.outputs):
            return "prints while it is imported"
        if os.stat("/proc/self/task").st_nlink > 3:
            return "starts a thread"
        return None


def string_constants(code):
    """Every string in the program, among them the names of the variables that it sets."""
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from (item for item in constant if isinstance(item, str))
        elif hasattr(constant, "co_consts"):
            yield from string_constants(constant)
    yield from code.co_names


class LearnedModules:
    """Tells the bridge which of the interpreter's own modules a request loaded."""

    def __init__(self, command, folder):
        self.known = set(sys.modules).union(command.preload)
        self.folder = os.path.join(folder or os.path.dirname(os.path.abspath(command.script)), "")
        library = os.path.dirname(os.__file__)
        self.libraries = tuple(os.path.join(path, "") for path in [library] + sys.path
                               if path == library or path.endswith(("site-packages", "dist-packages")))

    def is_learned(self, name):
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        origin = getattr(spec, "origin", None)
        return (isinstance(origin, str) and spec.name == name and "," not in name
                and origin.startswith(self.libraries) and not origin.startswith(self.folder))

    def report(self):
        names = sorted(sys.modules.keys() - self.known)  # parents come first
        for name in [name for name in names if self.is_learned(name)][:LOADED_NOTES_MAX]:
            note(b"loaded", name)


def files_of_modules(script):
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    files = [name for name in files if isinstance(name, str) and os.path.isabs(name)]
    return "\n".join(sorted(name for name in files if "\n" not in name) + [script])


# -- a process that has seen nothing ------------------------------------------------------------

class ForkHandlers:
    """What modules registered with os.register_at_fork: they reseed and unlock there."""

    def __init__(self):
        self.handlers = []
        self.real = os.register_at_fork
        os.register_at_fork = self.register

    def register(self, **handlers):
        self.real(**handlers)
        self.handlers.append(handlers)

    def run(self):
        """As os.fork() would have, in the child."""
        nothing = lambda: None
        for handlers in reversed(self.handlers):
            handlers.get("before", nothing)()
        for handlers in self.handlers:
            handlers.get("after_in_child", nothing)()


def renew_stream(stream, fd, name, mode):
    """The interpreter opened the stream on /dev/null. Initialised again, it is what the interpreter
    would make of the request's descriptor, and whoever holds the object already sees the new one.
    Only the raw file is another object: it never forgets whether it can seek."""
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
            size = max(min(size, 8 << 20), sys.modules["io"].DEFAULT_BUFFER_SIZE)
        buffer.__init__(raw, size)
    stream.__init__(buffer, encoding, errors, "\n", line_buffering, write_through)
    stream.mode = mode[0]


def renew_modules():
    """Random generators and what modules remember of the process they were loaded in."""
    modules = sys.modules
    if "random" in modules:
        modules["random"].seed()
    if "numpy.random" in modules:
        modules["numpy.random"].seed()
    if "uuid" in modules:
        modules["uuid"]._last_timestamp = None
    if "logging" in modules:
        import time
        is_new = sys.version_info >= (3, 13)
        modules["logging"]._startTime = time.time_ns() if is_new else time.time()
    if "threading" in modules:
        set_native_id = getattr(modules["threading"].main_thread(), "_set_native_id", None)
        if set_native_id:
            set_native_id()


def words_after(script, words):
    script = os.fsencode(script)
    after = words.index(script) + 1 if script in words else 1
    return words[after:]


def take_request(command, data, environment, fork_handlers):
    """Everything that differs between the zygote and a process that `python SCRIPT` just started."""
    words = words_after(command.script, ask_all(b"argv"))
    take_environment(data)
    for name, value in environment.reads.items():
        if data.get(name) != value:
            text = f"{os.fsdecode(name)} was read before the checkpoint, and the request's differs"
            note(b"shallower", text)
            os.execve(sys.executable, command.plain(words), os.environ)
    fork_handlers.run()
    renew_modules()
    renew_stream(sys.__stdin__, 0, "<stdin>", "rb")
    renew_stream(sys.__stdout__, 1, "<stdout>", "wb")
    renew_stream(sys.__stderr__, 2, "<stderr>", "wb")
    command.words = [os.fsdecode(word) for word in words]


# -- the script ---------------------------------------------------------------------------------

def path_of_main(script):
    """__file__ as the interpreter makes it."""
    if sys.version_info < (3, 9) or os.path.isabs(script):
        return script
    return os.getcwd() + "/" + (script[2:] if script.startswith("./") else script)


def script_folder(command):
    """sys.path[0] for the script, put there; None if the interpreter is told to have none."""
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return None
    sys.path_importer_cache.pop(sys.path[0], None)
    sys.path[0] = os.path.dirname(os.path.realpath(command.script))
    return sys.path[0]


def become_main(main, command, path):
    sys.argv[:] = [command.script] + command.words
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [os.fsdecode(word) for word in command.plain(command.words)]
    for name in set(main) - MAIN_NAMES:
        del main[name]
    main["__doc__"] = None
    main["__file__"] = path
    main["__loader__"] = type(main["__loader__"])("__main__", path)


def hide_our_frames(error):
    """The interpreter prints the error itself; only our frames are taken off its traceback."""
    hook, traceback = sys.excepthook, error.__traceback__.tb_next

    def excepthook(kind, value, _):
        sys.excepthook = hook
        value.__traceback__ = sys.last_traceback = traceback
        hook(kind, value, traceback)

    sys.excepthook = excepthook


def stand_at_checkpoint(command, folder, code):
    """Returns in a worker, with the request applied; returns what to do behind the script."""
    data = os.environ._data
    environment, fork_handlers = WatchedEnvironment(data), ForkHandlers()
    set_data(environment)
    if folder is not None:
        del sys.path[0]
    Preload(command, folder, code, environment).run()
    if folder is not None:
        sys.path.insert(0, folder)
    set_data(data)
    os.register_at_fork = fork_handlers.real
    learned = LearnedModules(command, folder)
    note(b"file", files_of_modules(os.path.abspath(command.script)))
    gc = __import__("gc")
    gc.collect()
    gc.freeze()
    if ask(b"checkpoint/compiled") is None:
        note(b"shallower", "the checkpoint refused")
        sys.exit(0)
    take_request(command, data, environment, fork_handlers)
    return learned.report


def run(main):
    command = Command()
    at_end = lambda: None
    try:
        folder, path = script_folder(command), path_of_main(command.script)
        with open(command.script, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        if ask(b"active") is not None:
            at_end = stand_at_checkpoint(command, folder, code)
        elif "REQUEST_METHOD" not in os.environ:
            sys.exit("start.py: no checkpoint library and no request")
        become_main(main, command, path)
        exec(code, main)
    except SystemExit:
        raise
    except BaseException as error:
        hide_our_frames(error)
        raise
    finally:
        at_end()
