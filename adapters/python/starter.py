"""From the interpreter's start to the checkpoint, and from there to the script's first line.

A step fails towards safety: a module that cannot be loaded ahead without the program noticing makes the
zygote start over without it; if a program cannot run at this level, the bridge is told so
(`note/shallower`, which ends the zygote). Without the checkpoint library the script runs as plain CGI.
Modules and the watch on them are in ahead.py, the end is in ending.py.
"""

import os
import posix
import sys

# What __main__ holds when `python SCRIPT` runs its first line.
MAIN_NAMES = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__annotations__",
              "__builtins__", "__file__", "__cached__"}


# -- the library's call -------------------------------------------------------------------------

try:
    # Told to the first caller that asks, and to no other after that.
    CALL = os.readlink(b"/.cgibridge/open")
except OSError:
    CALL = None
SET_ENVIRONMENT, STREAMS = [CALL and CALL + what for what in (b"environ/set", b"streams")]


def ask(what):
    """The library's answer as bytes, or None if it has none (or is not loaded)."""
    try:
        return os.readlink(CALL + what)
    except OSError:
        return None


def ask_all(what):
    """An answer that comes in pieces. All but the last one fill the interpreter's buffer, which has
    PATH_MAX bytes, except for one."""
    path = CALL + what
    text = piece = os.readlink(path)
    while len(piece) == 4095:
        piece = os.readlink(path)
        text += piece
    return text


def note(kind, text):
    ask(b"note/" + kind + b"/" + os.fsencode(text))


# -- modules -----------------------------------------------------------------------------------

MODULE = type(sys)
MODULE_NAMES = MODULE.__dict__["__dict__"].__get__


def names_of(module):
    """What a module holds, without triggering it: a module of importlib.util.LazyLoader loads when it is
    asked for anything. sys.modules may contain anything else, too."""
    return MODULE_NAMES(module) or {} if issubclass(type(module), MODULE) else {}


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
        self.coerced_locale = coerced_locale(os.environ._data)
        # A request's argv, if its query has no words.
        self.usual = b"".join(word + b"\0" for word in self.plain([]))

    def plain(self, words):
        """As if this starter had never run."""
        return self.line[:self.at] + [os.fsencode(self.script)] + [os.fsencode(w) for w in words]

    def take_words(self, words):
        self.words = [os.fsdecode(word) for word in words]
        sys.argv[:] = [self.script] + self.words
        if hasattr(sys, "orig_argv"):
            sys.orig_argv[:] = [os.fsdecode(word) for word in self.plain(self.words)]

    def start_over_without(self, module):
        """An import cannot be undone in a process, so a new one starts."""
        names = ",".join(name for name in self.preload if name != module)
        line = list(self.line)
        line[self.at + 1] = os.fsencode("--preload=" + names)
        self.start(line)

    def start(self, line):
        """In place of this process, with its environment."""
        os.execve(sys.executable, line, for_a_start(os.environ._data, self.coerced_locale))


# -- the checkpoint -----------------------------------------------------------------------------

def freeze_modules():
    """After this, collections, above all those at the interpreter's own end, leave the memory alone that
    the workers share. Modules must not die with frozen names in them, so they are kept alive: the
    interpreter clears such modules by hand, and what a script put there is flushed and deleted."""
    import gc
    kept = [module for name, module in sys.modules.items() if name != "__main__"]
    kept.append(kept)
    gc.collect()
    gc.freeze()


def words_after(script, words):
    script = os.fsencode(script)
    after = words.index(script) + 1 if script in words else 1
    return words[after:]


class Request:
    """All that differs between the zygote and a process that `python SCRIPT` has just started."""

    def __init__(self, command, watched, fork_handlers, preload):
        self.command, self.reads = command, list(watched.reads.items())
        self.words_were_read = preload.words_were_read()
        self.environment, self.streams = Environment(os.environ._data, command.coerced_locale), Streams()
        self.steps = renewals(fork_handlers, preload.generators)
        self.streams.prepare()

    def take(self):
        text = ask_all(b"argv")
        if text != self.command.usual:
            self.take_words(text)
        self.environment.take(ask_all(b"env"))
        if self.reads or self.words_were_read:
            self.compare_reads()
        for step in self.steps:
            step()
        self.streams.take()
        self.pid = os.getpid()
        ask(b"script")

    def take_words(self, text):
        self.command.take_words(words_after(self.command.script, text.split(b"\0")[:-1]))

    def compare_reads(self):
        for name, value in self.reads:
            if self.environment.data.get(name) != value:
                self.start_anew(name)
        if self.words_were_read and self.command.words:
            self.start_anew(b"sys.argv")

    def take_next(self):
        """In a process that is used again."""
        self.take_words(ask_all(b"argv"))
        self.environment.empty()
        self.environment.take(ask_all(b"env"))
        self.compare_reads()
        self.streams.renew()
        ask(b"script")

    def start_anew(self, name):
        text = f"{os.fsdecode(name)} was read before the checkpoint, and the request's differs"
        note(b"shallower", text)
        self.command.start(self.command.plain(self.command.words))


# -- the script ---------------------------------------------------------------------------------

def path_of_main(script):
    """__file__ as the interpreter makes it."""
    if sys.version_info < (3, 9) or os.path.isabs(script):
        return script
    return os.getcwd() + "/" + (script[2:] if script.startswith("./") else script)


def script_folder(command):
    """sys.path[0] for the script, put there; None if the interpreter was told to have none."""
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return None
    sys.path_importer_cache.pop(sys.path[0], None)
    sys.path[0] = os.path.dirname(os.path.realpath(command.script))
    return sys.path[0]


class ScriptsMain:
    """The script's own `__main__`: modules that are loaded ahead find it, and may keep it."""

    def __init__(self, old, path):
        module = MODULE("__main__")
        self.names = {name: old[name] for name in old if name in MAIN_NAMES}
        self.names["__doc__"] = None
        self.names["__file__"] = path
        self.names["__loader__"] = type(old["__loader__"])("__main__", path)
        self.module = sys.modules["__main__"] = module
        self.fill()

    def fill(self):
        self.module.__dict__.clear()
        self.module.__dict__.update(self.names)
        if "__annotations__" in self.names:
            self.module.__annotations__ = {}

    def freeze_others(self):
        """What the script defines must be younger than the frozen objects, so that finalisation collects it.
        A collection forgets a dictionary that is empty, and what is put into it then makes it young."""
        self.module.__dict__.clear()
        freeze_modules()
        self.fill()
        import gc
        is_young = any(one is self.module.__dict__ for one in gc.get_objects())
        if not is_young and sys.getrefcount(self.module) == self.HOLDERS:
            self.module = sys.modules["__main__"] = MODULE("__main__")
            self.fill()
        self.module = None  # it ends with the request

    HOLDERS = 3  # sys.modules, this object, and the question


def without_our_frames(traceback):
    while traceback is not None and traceback.tb_frame.f_globals is globals():
        traceback = traceback.tb_next
    return traceback


def hide_our_frames(error, ending):
    """The interpreter prints the error itself; only our frames are removed from its traceback."""
    hook, traceback = sys.excepthook, without_our_frames(error.__traceback__)

    def excepthook(kind, value, _):
        sys.excepthook = hook
        value.__traceback__ = sys.last_traceback = traceback
        try:
            hook(kind, value, traceback)
        except SystemExit as error:
            ending.code = exit_code_of(error)
            raise

    sys.excepthook = excepthook


def rehearse(request, ending):
    """The interpreter specialises code for the values it meets, and remembers where it found a name: this
    is done here once, instead of in each request."""
    launched = b"".join(b"%b=%b\0" % pair for pair in os.environ._data.items())
    for _ in range(20):
        request.environment.empty()
        request.environment.take(launched)
        ending.is_nothing_left(ending.learned.report())
        flush()
    request.environment.empty()
    request.environment.is_rehearsal = False


def load_ahead(command, folder, code, environment):
    if ask(b"learn") == b"all":
        folder = None  # the program's own modules, too
    preload = Preload(command, folder, code, environment)
    preload.run()
    sys.path_importer_cache.pop(folder, None)  # it lists the folder, where programs may write
    return preload


def stand_at_checkpoint(main, command, folder, code, ending):
    """Returns in a worker, with the request applied."""
    data = os.environ._data
    watched, fork_handlers = WatchedEnvironment(data), ForkHandlers()
    set_data(watched)
    preload = load_ahead(command, folder, code, watched)
    set_data(data)
    note(b"file", files_of_modules(os.path.abspath(command.script)))
    for place in sys.path:
        ask(b"own-folders/" + os.fsencode(place))  # the finders list them
    if command.preload:
        note(b"file", Places(preload.missing.found_nowhere).as_lines(folder))
    request = Request(command, watched, fork_handlers, preload)
    learned = LearnedModules(command, folder)
    note(b"folders", "\n".join(learned.folders()))
    ending.prepare(learned)
    main.freeze_others()
    ending.put_landmark()
    command.take_words(command.words)
    rehearse(request, ending)
    if ask(b"checkpoint/compiled") is None:
        note(b"shallower", "the checkpoint refused")
        sys.exit(0)
    request.take()
    # If these were freed here, their memory would be written to.
    request.kept = data, watched, fork_handlers, preload.generators
    return request


def refuse_what_site_did():
    """The library watches sitecustomize, usercustomize and .pth files, which ran before this file."""
    seen = CALL and ask(b"seen")
    if seen:
        note(b"shallower", os.fsdecode(seen) + " in sitecustomize, usercustomize or a .pth file")


def run(main):
    refuse_what_site_did()
    command, ending = Command(), Ending()
    try:
        folder, path = script_folder(command), path_of_main(command.script)
        with open(command.script, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        if CALL is not None:
            is_again = ask(b"reset") == b"none"
            main = ScriptsMain(main, path)
            request = stand_at_checkpoint(main, command, folder, code, ending)
            if is_again:
                sys.exit(run_until_the_end(code, request, ending.learned))
            ending.pid = request.pid
        elif "REQUEST_METHOD" in os.environ:
            ScriptsMain(main, path)
            command.take_words(command.words)
        else:
            sys.exit("start.py: no checkpoint library and no request")
        exec(code, sys.modules["__main__"].__dict__)
        ending.code = 0
    except SystemExit as error:
        ending.code = exit_code_of(error)
        if error.code is not None and not isinstance(error.code, int):
            ending.report()
            raise
    except BaseException as error:
        ending.code = None if isinstance(error, KeyboardInterrupt) else 1
        ending.report()
        hide_our_frames(error, ending)
        raise
    ending.leave(ending.report())
    if ending.code:
        sys.exit(ending.code)
