"""What the zygote loads ahead of the requests, and what a module must not do to be loaded so; the watches are
in watched.py.

Lives in one namespace with the other files (see start.py): `os`, `sys`, `note` and `set_data` are there.
"""

LOADED_NOTES_MAX = 1000
# Among the modules' names for a process that starts over: an exit handler hangs, and would again.
NO_REHEARSAL = "-"


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


class Missing:
    """The last finder: it is asked for what no other found."""

    def __init__(self):
        self.found_nowhere = []  # names, each with the folders of its package, or None

    def find_spec(self, name, path=None, target=None):
        self.found_nowhere.append((name.rpartition(".")[2], None if path is None else list(path)))
        return None


def is_standard(name):
    """What it draws or asks for while it is loaded is renewed for each request (fresh.py), or has been
    reviewed: tests/adapters/draws_at_import.py."""
    name = name.partition(".")[0]
    return name in getattr(sys, "stdlib_module_names", ()) or name == "numpy"


def is_renewed(name, seen):
    """Whether what this module asks for is renewed for each request (fresh.py)."""
    if name != "dateutil.parser._parser" or not seen.startswith(b"asks for the time (time, "):
        return False
    try:
        return keeps_only_a_year()
    except (AttributeError, KeyError, TypeError):  # of another version
        return False


def in_order(names):
    """As requests loaded them, but `random` first, so that the generators of other modules are seen, and the
    interpreter's own modules before modules that load them and are judged. An underscore means that it
    belongs to another module, which has to load it: `_asyncio` before `asyncio` is loaded twice, and each of
    the two knows only its own tasks."""
    return sorted(names, key=lambda name: (name != "random", not is_standard(name), name.startswith("_")))


class Places:
    """Where something would have to appear to be imported instead of what was found, or where nothing was:
    whole folders of installed modules, which change when something is installed; elsewhere, where programs
    may write, just the names that were asked for."""

    def __init__(self, missing):
        machinery = sys.modules["_frozen_importlib_external"]
        self.endings = ["", *machinery._get_supported_file_loaders()[0][1], *machinery.SOURCE_SUFFIXES,
                        *machinery.BYTECODE_SUFFIXES]
        self.library = os.path.dirname(os.__file__)
        self.missing = missing

    def is_installed(self, place):
        return (place.startswith(self.library) or place.endswith(("site-packages", "dist-packages"))
                or place.endswith(".zip"))

    def names(self, place, names):
        for name in names:
            yield from (os.path.join(place, name + ending) for ending in self.endings)

    def as_lines(self, folder):
        return "\n".join(sorted({place for place in self.all(folder) if "\n" not in place}))

    def all(self, folder):
        """folder: the program's, which is searched first."""
        loaded = {name for name, module in list(sys.modules.items())
                  if "." not in name and names_of(module).get("__file__")}
        wanted = loaded | {name for name, places in self.missing if places is None}
        for place in [folder, *sys.path]:
            if isinstance(place, str) and os.path.isabs(place):
                yield from [place] if self.is_installed(place) else self.names(place, wanted)
        for name, places in self.missing:
            for place in places or ():
                yield from self.names(place, [name])


class Preload:
    """Imports the modules that the bridge learned, and notices what else each one does."""

    def __init__(self, command, folder, code, environment):
        self.command, self.environment, self.code = command, environment, code
        self.guard = ProgramsOwn(folder) if folder is not None else None
        self.missing = Missing()
        self.words = {os.fsencode(word) for word in string_constants(code)}
        self.has_handlers = {"atexit", "finalize"} & set(names_in(code))
        self.generators = Generators()
        self.generators.watch(sys.modules.get("random"))
        self.launched = dict(dict.items(environment))  # without counting as a read of all of it
        self.outputs = [os.memfd_create(name) for name in ("stdout", "stderr")]

    def run(self):
        saved = [os.dup(1), os.dup(2)]
        for output, fd in zip(self.outputs, (1, 2)):
            os.dup2(output, fd)
        if self.guard:
            sys.meta_path.insert(0, self.guard)
        sys.meta_path.append(self.missing)
        # As in a request whose query has no words: a module that reads them suits only such requests
        # (Request.take).
        words, launched_with = sys.argv, self.command.words
        self.command.take_words([])
        sys.argv = self.words_of_query = WatchedWords(words)
        line = getattr(sys, "orig_argv", [])  # since Python 3.10
        sys.orig_argv = self.line = WatchedWords(line)
        self.main, putenv = MainWatch(self.code), WatchedPutenv(self.environment)
        self.holders, self.ends = self.count_holders(), self.line_ends()
        names = in_order(name for name in self.command.preload if name != NO_REHEARSAL)
        trouble = None
        for name in names:
            trouble = self.load(name)
            if trouble:
                break
            if name == "random":
                self.generators.watch(sys.modules.get("random"))
        ask(b"effects/refuse/after its modules are imported")  # what these have left may still end
        self.main.end()
        putenv.end()
        sys.argv, sys.orig_argv, self.command.words = words, line, launched_with
        if sys.version_info < (3, 10):
            del sys.orig_argv
        sys.meta_path.remove(self.missing)
        if self.guard:
            sys.meta_path.remove(self.guard)
        sys.stdout.flush()
        for copy, fd in zip(saved, (1, 2)):
            os.dup2(copy, fd)
        for fd in saved + self.outputs:
            os.close(fd)
        if trouble:
            note(b"warning", f"{name} is not loaded ahead: it {trouble}")
            set_data(self.launched)
            ask(b"over")
            self.command.start_over_without(name)

    def load(self, name):
        """None, or what the module does that a program would notice."""
        if name in sys.modules:
            return None
        self.environment.begin()
        self.environment.reads, before = {}, self.environment.reads
        state, exits, interpreter = self.generators.state(), exit_handlers(), interpreter_state()
        writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        authkey = WatchedAuthkey()
        ask(b"watch")
        # Before it changes anything outside, the library starts the process over.
        ask(b"effects/without/--preload=\n" + os.fsencode(name) + b"\nwhile it is imported")
        try:
            self.main.load(name)
        except BaseException as error:
            # One that is missing leaves nothing: the program gets the same error, if it imports it. What
            # another has done until it failed cannot be taken back.
            if not isinstance(error, ModuleNotFoundError) or error.name not in (name, name.partition(".")[0]):
                return f"fails to import ({type(error).__name__})"
        finally:
            sys.dont_write_bytecode = writes_none
            authkey.end()
        seen = ask(b"seen")
        if seen and not is_standard(name) and not is_renewed(name, seen):
            return os.fsdecode(seen) + " while it is imported"
        chosen = self.words & set(self.environment.reads)
        self.environment.reads.update(before)
        if chosen:
            return f"reads {os.fsdecode(min(chosen))}, which the program may set"
        if state != self.generators.state() and ask(b"accepts/random") is None:
            return "draws random numbers or seeds them"
        if exits != exit_handlers() and not is_standard(name) and not self.ends_unnoticed():
            return "leaves an exit handler"
        if authkey.was_read:
            return "keeps multiprocessing's key"
        trouble = self.environment.trouble() or self.main.trouble()
        return trouble or changed_state(interpreter, interpreter_state()) or self.side_effect()

    def ends_unnoticed(self):
        """Whether exit handlers change nothing if a request has not used their modules, which are there even
        if it does not import them. They are called in a copy of this process. The program must have none of
        its own, because these would come before them."""
        if self.has_handlers or NO_REHEARSAL in self.command.preload:
            return False
        copied = ask(b"rehearse")
        if copied == b"hangs":
            self.command.preload.append(NO_REHEARSAL)
        if copied != b"copy":
            return copied == b"unnoticed"
        trouble = True
        try:
            sizes, reads = self.output_sizes(), set(self.environment.reads)
            words = self.words_were_read()
            sys.modules["atexit"]._run_exitfuncs()
            trouble = (self.output_sizes() != sizes or reads != set(self.environment.reads)
                       or words != self.words_were_read() or self.environment.trouble() or ask(b"seen"))
        finally:
            ask(b"rehearse/noticed" if trouble else b"rehearse/unnoticed")  # and the copy ends

    def output_sizes(self):
        sys.stdout.flush()
        sys.stderr.flush()
        return [os.fstat(output).st_size for output in self.outputs]

    def side_effect(self):
        if any(self.output_sizes()) and ask(b"accepts/output") is None:
            return "prints while it is imported"
        if self.line_ends() != self.ends:
            return "changes how the streams end a line"
        if sys.modules["_thread"]._count():
            return "starts a thread"
        changed = self.words_of_query.was_changed or self.line.was_changed
        holders = self.count_holders()
        if changed or holders[0] > self.holders[0]:
            return "keeps or changes the list of the query's words (sys.argv)"
        if holders[1] > self.holders[1]:
            return "keeps the environment's own dictionary"
        return os.fsdecode(ask(b"left/threads") or b"") or None

    def line_ends(self):
        """What each stream makes of the end of a line, in bytes: it does not tell otherwise."""
        sizes = []
        for stream, output in zip((sys.stdout, sys.stderr), self.outputs):
            size = os.fstat(output).st_size
            if stream is not None:
                print(file=stream, flush=True)
            sizes.append(os.fstat(output).st_size - size)
            os.ftruncate(output, size)
            os.lseek(output, size, os.SEEK_SET)
        return sizes

    def count_holders(self):
        words = sys.getrefcount(self.words_of_query) + sys.getrefcount(self.line)
        return words, sys.getrefcount(self.environment)

    def words_were_read(self):
        return self.words_of_query.was_read or self.line.was_read


def exit_handlers():
    """How many there are, and how many finalizers, for all of which weakref has one handler."""
    count = getattr(sys.modules.get("atexit"), "_ncallbacks", None)
    finalize = getattr(sys.modules.get("weakref"), "finalize", None)
    return count() if count else 0, len(getattr(finalize, "_registry", ()))


def names_in(code):
    yield from code.co_names
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            yield from names_in(constant)


def string_constants(code):
    """Every string in the program, among them the names of the variables that it sets."""
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from (item for item in constant if isinstance(item, str))
        elif hasattr(constant, "co_consts"):
            yield from string_constants(constant)


class Generators:
    """random.Random objects that modules made while they were loaded: two requests must not draw the same
    numbers from one, unless it was given a seed."""

    def __init__(self):
        self.random, self.seeded = None, []

    def watch(self, random):
        if random is None or self.random is not None:
            return
        self.random, self.real = random, random.Random.seed

        def seed(generator, *values, **more):
            if any(value is not None for value in [*values[:1], more.get("a")]):
                self.seeded.append(generator)
            return self.real(generator, *values, **more)

        random.Random.seed = seed

    def state(self):
        """Of the shared generator; its seed is renewed for each request."""
        return self.random and self.random.getstate()

    def unseeded(self):
        """Ends the watch. Without a watch, it is not known whether a seed was given."""
        random = sys.modules.get("random")
        if random is None:
            return []
        if self.random is not None:
            random.Random.seed = self.real
        import gc
        return [one for one in gc.get_objects() if issubclass(type(one), random.Random)
                and not any(one is seeded for seeded in self.seeded)]


class LearnedModules:
    """Finds the interpreter's own modules that a request loaded, and tells the bridge."""

    def __init__(self, command, folder):
        self.modules, self.known = sys.modules, set(sys.modules)
        self.count, self.told = len(self.known), self.known.union(command.preload)
        self.learn = ask(b"learn")
        self.folder = os.path.join(folder or os.path.dirname(os.path.abspath(command.script)), "")
        library = os.path.dirname(os.__file__)
        installed = [path for path in sys.path
                     if path.endswith(("site-packages", "dist-packages"))]
        self.libraries = tuple(os.path.join(path, "") for path in [library] + installed)

    def new_names(self):
        """All that was added to sys.modules since the checkpoint, in the order in which their loading ended.
        New names come last there, so usually nothing else has to be checked."""
        modules, known, names = self.modules, self.known, []
        for name in reversed(modules):
            if name in known:
                break
            names.append(name)
        if len(names) != len(modules) - self.count:
            return [name for name in modules if name not in known]
        names.reverse()
        return names

    def folders(self):
        """Where a module has to be."""
        if self.learn != b"all":
            return [path[:-1] for path in self.libraries]
        return [path for path in sys.path if os.path.isabs(path) and "\n" not in path]

    def is_learned(self, name):
        spec = names_of(sys.modules.get(name)).get("__spec__")
        origin = getattr(spec, "origin", None)
        if not isinstance(origin, str) or spec.name != name or "," in name:
            return False
        if self.learn == b"all":
            return os.path.isabs(origin)
        return origin.startswith(self.libraries) and not origin.startswith(self.folder)

    def report(self):
        """Returns the new names."""
        names = self.new_names()
        if names and self.learn != b"none":
            untold = [name for name in names if name not in self.told]
            for name in list(filter(self.is_learned, untold))[:LOADED_NOTES_MAX]:
                note(b"loaded", f"{name}\n{names_of(sys.modules[name])['__spec__'].origin}")
                self.told.add(name)
        return names


def files_of_modules(script):
    files = [names_of(module).get("__file__") for module in list(sys.modules.values())]
    files = [name for name in files if isinstance(name, str) and os.path.isabs(name)]
    return "\n".join(sorted({name for name in files if "\n" not in name}) + [script])
