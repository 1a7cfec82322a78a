"""How a request ends without finalising the interpreter.

Finalisation touches all the memory that the zygote shares, and took two thirds of a short request. So the
process leaves by libc's exit() as soon as nothing is left whose end anybody could notice. Lives in one
namespace with the other files (see start.py).
"""

import _thread
import _weakref
import atexit
import gc

CREATED_WHILE_RUNNING = 1 << 9  # of a type's flags, Py_TPFLAGS_HEAPTYPE: may get a `__del__` later
HAS_COLLECTORS_MARKS = 1 << 14  # Py_TPFLAGS_HAVE_GC: the collector lists its objects

# The interpreter's extensions whose objects do nothing at their end, except what a `__del__` shows.
# sqlite3's connections are found by their type.
PLAIN_EXTENSIONS = set("""
    _asyncio _bisect _blake2 _bz2 _contextvars _crypt _csv _ctypes _datetime _decimal _elementtree
    _hashlib _heapq _json _lzma _md5 _multibytecodec _opcode _pickle _posixsubprocess _queue _random
    _sha1 _sha2 _sha256 _sha3 _sha512 _socket _sqlite3 _ssl _statistics _struct _typing _uuid
    _zoneinfo array audioop binascii cmath fcntl grp math mmap pyexpat resource select syslog
    termios unicodedata zlib""".split())
NOT_PLAIN = {"_dbm", "_gdbm"}  # wherever they come from

# What the interpreter takes away before the modules end: an object that imports, opens a file or looks at
# its words at its end fails, and a traceback has no lines of source.
GONE_FROM_SYS = """argv path meta_path path_hooks path_importer_cache ps1 ps2 last_exc last_type last_value
    last_traceback __interactivehook__""".split()
GONE_FROM_BUILTINS = {"open", "copyright", "credits", "exit", "help", "license", "quit"}

BUILTINS, WARNINGS = sys.modules["builtins"], sys.modules["_warnings"]
COROUTINE = sys.modules["_collections_abc"].coroutine
KIND_NAMES, KIND_BASES, KIND_FLAGS = [type.__dict__[name].__get__
                                      for name in ("__dict__", "__mro__", "__flags__")]


class Landmark:
    """The one object of this type is younger than the checkpoint; if it is not seen, no other young object
    is."""


def exit_code_of(error):
    """What the interpreter makes of a SystemExit."""
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def is_plain_module(module):
    spec = names_of(module).get("__spec__")
    name, loader = getattr(spec, "name", None), getattr(spec, "loader", None)
    if type(loader).__name__ == "ExtensionFileLoader":
        return name in PLAIN_EXTENSIONS
    return name not in NOT_PLAIN


def has_end(kind):
    """Without asking the type, whose metaclass may answer by itself."""
    return any("__del__" in KIND_NAMES(base) for base in KIND_BASES(kind))


def has_end_of_its_own(kind):
    """A module that was loaded ahead may hold such an object, whose end is left to the interpreter."""
    module = KIND_NAMES(kind).get("__module__")
    return has_end(kind) and isinstance(module, str) and not is_standard(module)


def calls_python(reference):
    callback = reference.__callback__
    return callback is not None and type(callback) is not type(len)


class Ending:
    """Registered as an exit handler before any other, so it runs after all of them, and after the wait for
    the program's threads."""

    def __init__(self):
        # code: the interpreter's; pid: the worker's. None: leave the end to the interpreter.
        self.code, self.pid = None, None
        self.callback = self.finish
        atexit.register(self.callback)

    def prepare(self, learned):
        """In the zygote, after its last import."""
        self.learned, names = learned, BUILTINS.__dict__
        self.builtins = {name: names[name] for name in names if name not in GONE_FROM_BUILTINS}
        # Modes in which the interpreter reports on its own end.
        objects = gc.get_objects()
        kinds = set(map(type, objects))
        unmarked = {one for one in objects if issubclass(type(one), type)
                    and not KIND_FLAGS(one) & HAS_COLLECTORS_MARKS}
        self.is_watched = (sys.flags.dev_mode or sys.flags.inspect or sys.flags.verbose
                           or hasattr(sys, "gettotalrefcount")
                           or any(map(has_end_of_its_own, kinds | unmarked)))
        self.callbacks = atexit._ncallbacks()
        looked_at = (type, _weakref.ReferenceType)
        self.plain_kinds = {Landmark, *(
            kind for kind in kinds if not KIND_FLAGS(kind) & CREATED_WHILE_RUNNING
            and not has_end(kind) and not issubclass(kind, looked_at))}
        self.all_plain = not sys.warnoptions and sys.version_info >= (3, 10) and all(
            map(is_plain_module, list(sys.modules.values())))

    def put_landmark(self):
        """The first of the young objects: call it after gc.freeze()."""
        self.landmark = Landmark()

    def report(self):
        """Returns the modules that are new, if this is a worker."""
        return self.learned.report() if self.pid is not None else None

    # The interpreter's steps after a script

    def leave(self, new_names):
        """Takes these steps here, in the interpreter's order, so that it does not touch its own memory.
        Returns if the interpreter is to take them itself: the traceback of an exit handler of the script
        could show who called it."""
        if (self.pid != os.getpid() or self.is_watched or _thread._count()
                or atexit._ncallbacks() != self.callbacks or sys.version_info < (3, 10)):
            return
        try:
            sys.stderr.flush()
            sys.stdout.flush()
        except BaseException:
            return
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        elif self.callbacks == 1 and self.is_nothing_left(new_names):
            ask(b"exit/%d" % self.code)
        atexit._run_exitfuncs()

    def finish(self):
        if (self.code is None or self.pid != os.getpid() or self.is_watched
                or _thread._count()):
            return
        atexit._clear()
        if self.is_nothing_left(self.learned.new_names()):
            is_over = flush()
        else:
            is_over = not may_warn() and self.let_go() and not self.is_something_left()
        if is_over:
            ask(b"exit/%d" % self.code)

    def is_nothing_left(self, new_names):
        """Whether all that the request made would end unnoticed, so that it need not end at all."""
        if (not self.all_plain or sys.stdout is not sys.__stdout__
                or sys.stderr is not sys.__stderr__):
            return False
        modules = sys.modules
        for name in new_names:
            if not is_plain_module(modules.get(name)):
                return False
        young = gc.get_objects()  # not the frozen ones
        kinds = set(map(type, young))
        if kinds <= self.plain_kinds:
            return Landmark in kinds
        connections = modules["_sqlite3"].Connection if "_sqlite3" in modules else ()
        for kind in kinds - self.plain_kinds:
            if has_end(kind) or issubclass(kind, connections):
                return False
            if issubclass(kind, type):  # its objects may have no room for the collector's marks
                hidden = any(type(one) is kind and has_end(one) for one in young)
            elif issubclass(kind, _weakref.ReferenceType):
                hidden = any(type(one) is kind and calls_python(one) for one in young)
            else:
                hidden = False
            if hidden:
                return False
        return Landmark in kinds

    def let_go(self):
        try:
            # If objects are collected while all are alive, they are put after what holds them, and so a
            # file is closed before its buffers are. The interpreter does the same.
            gc.collect()
        except BaseException:
            return False
        if not flush():
            return False
        for name in ("stdin", "stdout", "stderr"):
            setattr(sys, name, getattr(sys, f"__{name}__"))
        for name in GONE_FROM_SYS:
            setattr(sys, name, None)
        # They go from the list's end on: `__main__` first.
        names = take_modules([*reversed(self.learned.new_names()), "__main__"])
        modules = sys.modules
        stay = dict(modules)
        modules.clear()
        self.restore_builtins()
        gc.collect()
        held = [one for one in gc.get_objects() if id(one) in names and type(one) is dict]
        for module_names in reversed(held):
            clear_names(module_names)
        if held:
            gc.collect()
        flush()  # the interpreter lets the streams end with its last module: no error of that shows
        modules.update(stay)
        return True

    def restore_builtins(self):
        """What the request put there goes before the other modules are cleared."""
        now = BUILTINS.__dict__
        for name in now.keys() - self.builtins.keys():
            del now[name]
        now.update(self.builtins)

    def is_something_left(self):
        """Whether a module that was loaded ahead holds something of the request that has an end."""
        ours = {id(getattr(stream.buffer, "raw", stream.buffer))
                for stream in (sys.stdin, sys.stdout, sys.stderr) if stream is not None}
        objects = gc.get_objects()
        with_end = {kind for kind in set(map(type, objects)) if has_end(kind)}
        return any(type(one) in with_end and id(one) not in ours for one in objects)


def may_warn():
    """Whether something that ends now could warn: a coroutine never awaited, or, if such warnings are shown,
    a file left open. The interpreter's modules are gone when it does, and it says so in other words."""
    if any(type(one) is COROUTINE for one in gc.get_objects()):
        return True
    filters = getattr(sys.modules.get("warnings"), "filters", None)
    for action, message, category, _, _ in filters if filters is not None else WARNINGS.filters:
        if issubclass(ResourceWarning, category) and (action != "ignore" or message is None):
            return action != "ignore"
    return True


def flush():
    """Whether both streams could be flushed; the interpreter has an exit code for failure."""
    succeeded = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            succeeded = False
    return succeeded


def take_modules(names):
    """Takes the modules out of the interpreter's table; returns where their names are."""
    modules = [sys.modules.pop(name, None) for name in names]
    return {id(names_of(module)) for module in modules}


def clear_names(names):
    """As the interpreter clears a module that something still holds: private names first."""
    for is_private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (not is_private or name[:1] == "_" != name[1:2]):
                names[name] = None
