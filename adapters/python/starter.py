"""From the interpreter's start to the checkpoint, and from there to the script's first line.

A step fails towards safety: a module that cannot be loaded ahead without the program noticing makes
the zygote start over without it; a program that cannot bear the level is told so (`note/shallower`,
which ends the zygote). Without the checkpoint library the script runs as plain CGI. Modules and the
watch on them are in ahead.py, the end is in ending.py.
"""

import os
import posix
import sys

# What __main__ holds when `python SCRIPT` runs its first line.
MAIN_NAMES = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__annotations__",
              "__builtins__", "__file__", "__cached__"}


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

def set_data(data):
    os.environ._data = data
    os.environb._data = data


def take_environment(data):
    """Fills data, os.environ's own dictionary (posix.environ is the same one), and the C
    environment from the request."""
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


# -- a process that has seen nothing ------------------------------------------------------------

def freeze_modules():
    """Collections, those of the interpreter's own end above all, then leave the memory alone that
    the workers share. Modules must not die with frozen names in them, so they are kept alive: the
    interpreter clears such modules by hand, and what a script put there is flushed and deleted."""
    import gc
    kept = [module for name, module in sys.modules.items() if name != "__main__"]
    kept.append(kept)
    gc.collect()
    gc.freeze()


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
    """All that differs between the zygote and a process that `python SCRIPT` just started."""
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


def fresh_main(old):
    """A __main__ that is younger than the frozen objects, so that finalisation collects it."""
    module = type(sys)("__main__")
    names = {name: old[name] for name in old if name in MAIN_NAMES}
    module.__dict__.clear()
    module.__dict__.update(names)
    if "__annotations__" in names:
        module.__annotations__ = {}
    sys.modules["__main__"] = module
    return module.__dict__


def become_main(main, command, path):
    sys.argv[:] = [command.script] + command.words
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [os.fsdecode(word) for word in command.plain(command.words)]
    main = fresh_main(main)
    main["__doc__"] = None
    main["__file__"] = path
    main["__loader__"] = type(main["__loader__"])("__main__", path)
    return main


def hide_our_frames(error, ending):
    """The interpreter prints the error itself; only our frames are taken off its traceback."""
    hook, traceback = sys.excepthook, error.__traceback__.tb_next

    def excepthook(kind, value, _):
        sys.excepthook = hook
        value.__traceback__ = sys.last_traceback = traceback
        try:
            hook(kind, value, traceback)
        except SystemExit as error:
            ending.code = exit_code_of(error)
            raise

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
    freeze_modules()
    if ask(b"checkpoint/compiled") is None:
        note(b"shallower", "the checkpoint refused")
        sys.exit(0)
    take_request(command, data, environment, fork_handlers)
    return learned.report


def run(main):
    command, ending = Command(), Ending()
    at_end = lambda: None
    try:
        folder, path = script_folder(command), path_of_main(command.script)
        with open(command.script, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        if ask(b"active") is not None:
            at_end = stand_at_checkpoint(command, folder, code)
            ending.begin_request()
        elif "REQUEST_METHOD" not in os.environ:
            sys.exit("start.py: no checkpoint library and no request")
        exec(code, become_main(main, command, path))
        ending.code = 0
    except SystemExit as error:
        ending.code = exit_code_of(error)
        raise
    except BaseException as error:
        ending.code = None if isinstance(error, KeyboardInterrupt) else 1
        hide_our_frames(error, ending)
        raise
    finally:
        at_end()
