"""The program's end, without the interpreter taking its own memory apart.

Finalisation visits every object of the zygote, and each page of it must be copied first: more work
than all else in a short request, for a process that is about to go. So what finalisation does for
the *program* is done here, in its order: everything that the request made is let go, deleted and
flushed, then the process leaves through libc's exit(). At any doubt the interpreter finalises.

Lives in one namespace with starter.py (see start.py).
"""


def exit_code_of(error):
    """What the interpreter makes of a SystemExit."""
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


class Ending:
    """Registered as an exit handler before any other, so it runs behind all of them, and behind the
    wait for the program's threads."""

    def __init__(self):
        import atexit
        self.code, self.pid = None, None  # code: the interpreter's; None: leave the end to it
        self.callback, self.atexit = self.finish, atexit
        atexit.register(self.callback)

    def begin_request(self):
        self.pid, self.known = os.getpid(), set(sys.modules) - {"__main__"}

    def finish(self):
        if self.code is None or os.getpid() != self.pid or self.is_watched():
            return
        self.atexit._clear()
        if self.let_go() and not self.is_something_left():
            ask(b"exit/%d" % self.code)

    def is_watched(self):
        """Threads that still run, and modes in which the interpreter reports on its own end."""
        return (os.stat("/proc/self/task").st_nlink > 3 or sys.flags.dev_mode or sys.flags.inspect
                or sys.flags.verbose or hasattr(sys, "gettotalrefcount"))

    def let_go(self):
        import gc
        try:
            # Collected while all is alive, objects come to stand behind what holds them, and so a
            # file is closed before its buffers are. The interpreter does the same.
            gc.collect()
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            return False  # the interpreter has an exit code for that
        for name in ("stdin", "stdout", "stderr"):
            setattr(sys, name, getattr(sys, f"__{name}__"))
        for name in ("last_exc", "last_type", "last_value", "last_traceback"):
            sys.__dict__.pop(name, None)
        names = take_modules([name for name in sys.modules if name not in self.known])
        gc.collect()
        held = [one for one in gc.get_objects() if id(one) in names and type(one) is dict]
        for module_names in held:
            clear_names(module_names)
        if held:
            gc.collect()
        try:
            sys.stdout.flush()
        except BaseException:
            return False
        return True

    def is_something_left(self):
        """Whether a module that was loaded ahead holds something of the request that has an end."""
        import gc
        ours = {id(getattr(stream.buffer, "raw", stream.buffer))
                for stream in (sys.stdin, sys.stdout, sys.stderr) if stream is not None}
        objects = gc.get_objects()  # not the frozen ones
        with_end = {kind for kind in set(map(type, objects)) if hasattr(kind, "__del__")}
        return any(type(one) in with_end and id(one) not in ours for one in objects)


def take_modules(names):
    """Takes the modules out of the interpreter's table; returns where their names are."""
    modules = [sys.modules.pop(name) for name in names]
    return {id(module.__dict__) for module in modules if isinstance(module, type(sys))}


def clear_names(names):
    """As the interpreter clears a module that something still holds: private names first."""
    for is_private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (not is_private or name[:1] == "_" != name[1:2]):
                names[name] = None
