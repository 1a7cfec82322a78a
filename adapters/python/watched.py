"""What stands in for the environment, the words and `__main__` while modules are loaded ahead: each notices
who looks at what only a request brings, or only the script defines. And what a module leaves in the
interpreter.

Lives in one namespace with the other files (see start.py): `names_of`, `MAIN_NAMES` and `string_constants`
are there.
"""

import os
import posix
import sys

REQUEST_NAMES = {b"QUERY_STRING", b"PATH_INFO", b"PATH_TRANSLATED", b"AUTH_TYPE", b"HTTPS",
                 b"DOCUMENT_URI", b"UNIQUE_ID", b"SCRIPT_URI", b"SCRIPT_URL", b"COOKIE"}
REQUEST_PREFIXES = (b"REQUEST_", b"HTTP_", b"REMOTE_", b"CONTENT_", b"REDIRECT_")


def noticing(kind, name, notice):
    """A method of kind that notices its call, and then does what it does."""
    real = getattr(kind, name)

    def noticed(self, *values, **named):
        notice(self)
        return real(self, *values, **named)
    return noticed


class WatchedEnvironment(dict):
    """Takes the place of os.environ's own dictionary until the checkpoint; remembers what was read.

    reads: name -> value or None, of all that was read; touched: why the last import is not kept."""

    def __init__(self, data):
        super().__init__(data)
        self.reads, self.touched = {}, None
        self.before, self.given = {}, {}  # of a variable that is set and taken back: its value before; what
        # putenv() gave last

    def begin(self):
        """Before an import."""
        self.touched = None
        self.before.clear()
        self.given.clear()

    def trouble(self):
        """After it. What is as it was before leaves no trace: numpy tells a library something while that is
        loaded."""
        changes = (*self.before.items(), *self.given.items())
        if not self.touched and any(dict.get(self, name) != value for name, value in changes):
            self._write()
        return self.touched

    def _set(self, name):
        self.reads.setdefault(name, dict.get(self, name))
        self.before.setdefault(name, dict.get(self, name))

    def _read(self, name):
        self.reads[name] = dict.get(self, name)
        if name in REQUEST_NAMES or name.startswith(REQUEST_PREFIXES):
            self.touched = "reads the environment's " + os.fsdecode(name)

    def _all(self):
        self.touched = "lists the environment"

    def _write(self):
        self.touched = "writes the environment"

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
        self._set(name)
        super().__setitem__(name, value)

    def __delitem__(self, name):
        self._set(name)
        super().__delitem__(name)


for _name in ("__iter__", "__len__", "__eq__", "__ne__", "__or__", "__ror__", "__reversed__", "__repr__",
              "keys", "values", "items", "copy"):
    if hasattr(dict, _name):  # some are missing before Python 3.9
        setattr(WatchedEnvironment, _name, noticing(dict, _name, WatchedEnvironment._all))
for _name in ("__ior__", "pop", "popitem", "setdefault", "update", "clear"):
    if hasattr(dict, _name):
        setattr(WatchedEnvironment, _name, noticing(dict, _name, WatchedEnvironment._write))


class WatchedPutenv:
    """os.putenv() changes only what children are given: so nothing of it is seen in os.environ."""

    NAMES = ("putenv", "unsetenv")

    def __init__(self, environment):
        self.real = {name: getattr(posix, name) for name in self.NAMES}
        for name, real in self.real.items():
            self.put(name, self.noticing(environment, real))

    @staticmethod
    def noticing(environment, real):
        def noticed(name, *value):
            if isinstance(name, bytes) and all(isinstance(one, bytes) for one in value):
                environment.given[name] = value[0] if value else None  # os.environ's own way
            else:
                environment._write()
            return real(name, *value)
        return noticed

    @staticmethod
    def put(name, function):
        setattr(posix, name, function)
        setattr(os, name, function)

    def end(self):
        for name, real in self.real.items():
            self.put(name, real)


class WatchedAuthkey:
    """multiprocessing's key, which each request draws anew (fresh.py): one that was kept would be the same in
    all. Whoever loads that module for the first time is seen to draw it."""

    def __init__(self):
        self.process = names_of(sys.modules.get("multiprocessing.process")).get("BaseProcess")
        self.was_read = False
        if self.process is not None:
            self.real = self.process.authkey
            self.process.authkey = self.real.getter(self.get)

    def get(self, process):
        self.was_read = True
        return self.real.fget(process)

    def end(self):
        if self.process is not None:
            self.process.authkey = self.real


class WatchedWords(list):
    """sys.argv until the checkpoint. Its first word is the script in every request."""

    def __init__(self, words):
        super().__init__(words)
        self.was_read = self.was_changed = False

    def _read(self):
        self.was_read = True

    def _change(self):
        self.was_changed = True

    def __getitem__(self, at):
        if at != 0:
            self.was_read = True
        return super().__getitem__(at)


for _name in ("__len__", "__iter__", "__contains__", "__eq__", "__ne__", "__add__", "__mul__", "__reversed__",
              "copy", "index", "count"):
    setattr(WatchedWords, _name, noticing(list, _name, WatchedWords._read))
for _name in ("pop", "append", "extend", "insert", "remove", "clear", "sort", "reverse", "__setitem__",
              "__delitem__", "__iadd__", "__imul__"):
    setattr(WatchedWords, _name, noticing(list, _name, WatchedWords._change))


# -- the script's module ------------------------------------------------------------------------

def names_in(code):
    """Every name in the program that it may give to something."""
    yield from code.co_names
    for constant in code.co_consts:
        if hasattr(constant, "co_consts"):
            yield from names_in(constant)


class LooksAtMain:
    """When a module looks at the script's, the script has run as far as its import: what it may have defined
    there is not known. A name that occurs nowhere in it is missing for everybody."""

    def __init__(self, code):
        self.names = {*string_constants(code), *names_in(code)}
        self.touched = None

    def read(self, name):
        if name in MAIN_NAMES or (name not in self.names and "*" not in self.names):
            return  # (`from x import *` defines anything)
        self.touched = f"looks for {name} in __main__"

    def read_all(self):
        self.touched = "looks at all of __main__"


class WatchedMain(type(sys)):
    """The class of the script's module until the checkpoint."""

    def __getattribute__(self, name):
        if name == "__dict__":
            LOOKS_AT_MAIN[-1].read_all()
        elif not (name[:2] == name[-2:] == "__" and hasattr(MODULE, name)):
            LOOKS_AT_MAIN[-1].read(name)
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        LOOKS_AT_MAIN[-1].touched = "changes __main__"
        super().__setattr__(name, value)

    def __delattr__(self, name):
        LOOKS_AT_MAIN[-1].touched = "changes __main__"
        super().__delattr__(name)


LOOKS_AT_MAIN = []


class WatchedGlobals(dict):
    """The names of the frame that imports, for those who look for their importer there. C code, which looks
    directly, finds another name of the module: so a warning that is shown only to the script's author is not
    shown."""

    def __init__(self, names):
        super().__init__(names)
        super().__setitem__("__name__", "cgibridge.import")

    def __getitem__(self, name):
        if name == "__name__":
            return "__main__"
        if name != "__import__":
            LOOKS_AT_MAIN[-1].read(name)
        return super().__getitem__(name)

    def __contains__(self, name):
        LOOKS_AT_MAIN[-1].read(name)
        return super().__contains__(name)

    def get(self, name, default=None):
        return self[name] if name in self else default

    def _all(self):
        LOOKS_AT_MAIN[-1].read_all()

    def _change(self):
        LOOKS_AT_MAIN[-1].touched = "changes __main__"


for _name in ("__iter__", "__len__", "__eq__", "__ne__", "keys", "values", "items", "copy"):
    setattr(WatchedGlobals, _name, noticing(dict, _name, WatchedGlobals._all))
for _name in ("__setitem__", "__delitem__", "pop", "popitem", "setdefault", "update", "clear"):
    setattr(WatchedGlobals, _name, noticing(dict, _name, WatchedGlobals._change))


class MainWatch:
    """What is loaded meanwhile finds the script's own module as `__main__`, and is imported by a frame that
    looks like the script's."""

    def __init__(self, code):
        self.main, self.looks, self.path = sys.modules["__main__"], LooksAtMain(code), code.co_filename
        self.names = dict(names_of(self.main))
        LOOKS_AT_MAIN.append(self.looks)
        self.main.__class__ = WatchedMain

    def load(self, name):
        self.looks.touched = None
        exec(compile(f"__import__({name!r})", self.path, "exec"), WatchedGlobals(self.names))

    def trouble(self):
        if sys.modules.get("__main__") is not self.main or type(self.main) is not WatchedMain:
            return "changes __main__"
        return self.looks.touched

    def end(self):
        self.main.__class__ = MODULE
        LOOKS_AT_MAIN.pop()


# -- the interpreter ----------------------------------------------------------------------------

def interpreter_state():
    """What is the same for all modules, so that a request would notice a change of it that was made by one
    which it does not load. (Not sys.meta_path and the warnings' filters: many modules add to these what
    concerns only themselves.)"""
    import gc
    builtins, timeout = sys.modules["builtins"], names_of(sys.modules.get("socket")).get("getdefaulttimeout")
    hooks = ["excepthook", "displayhook", "unraisablehook", "stdin", "stdout", "stderr", "tracebacklimit"]
    modes = ["encoding", "errors", "line_buffering", "write_through"]
    streams = [getattr(sys, name, None) for name in ("stdin", "stdout", "stderr")]
    return {
        "sys.path": list(sys.path),
        "sys.path_hooks": list(map(id, sys.path_hooks)),
        **{"sys." + name: id(getattr(sys, name, None)) for name in hooks},
        "the streams' modes": [getattr(stream, mode, None) for stream in streams for mode in modes],
        "what runs for each line or call": (id(sys.gettrace()), id(sys.getprofile())),
        "the limit of recursion": sys.getrecursionlimit(),
        "the switch interval": sys.getswitchinterval(),
        "the built-in names": {name: id(value) for name, value in names_of(builtins).items()},
        "the collector": (gc.isenabled(), gc.get_threshold(), len(gc.callbacks)),
        "the timeout of sockets": timeout and timeout(),
    }


def changed_state(before, after):
    """In words, or None. A module that is loaded only now begins with its defaults."""
    changed = [name for name in before if before[name] != after[name]]
    return f"changes {changed[0]}" if changed else None
