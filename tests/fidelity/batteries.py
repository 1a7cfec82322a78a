"""The leak battery: one program per language that checks many kinds of state and then changes one of them
(battery/battery.h explains it). This file has the kinds, and runs the programs."""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess

import driver
from harness.compiled import compile_go, compile_library, compile_program

SOURCES = pathlib.Path(__file__).parent / "battery"
LANGUAGES = ["c", "bash", "perl", "python", "ruby", "tcl"]
BODY = b"body line\nrest\n"
PROGRAMS = {"c": "battery", "bash": "battery.bash", "perl": "battery.pl", "python": "battery.py",
            "ruby": "battery.rb", "tcl": "battery.tcl"}
PR_SET_PDEATHSIG = 1
# Programs for Debian's compilers, if they are installed.
COMPILED = {"rust": ("battery-rust", "battery.rs", "/usr/bin/rustc"),
            "go": ("battery-go", "battery.go", "/usr/bin/go"),
            "go_static": ("battery-go-static", "battery.go", "/usr/bin/go")}
for _language, (_program, _, _compiler) in COMPILED.items():
    PROGRAMS[_language] = _program
    if os.path.exists(_compiler):
        LANGUAGES.append(_language)
# The resets to test: one replaces a worker, one puts it back.
RESETS = ["fork", "rewind"]

# How a program declares a kind: its name, and what lets it leak.
KINDS = {"c": r'^KIND\((\w+), "([^"]*)"\)', "bash": r"^kind (\w+) '([^']*)'",
         "perl": r"^kind (\w+) => '([^']*)'", "python": r'^kind\("(\w+)", "([^"]*)"',
         "ruby": r"^kind :(\w+), '([^']*)'",
         "tcl": r"^kind (\w+) \{?(\w*)\}? ",
         "rust": r'^    kind!\("(\w+)", "([^"]*)"',
         "go": r'^\t\{"(\w+)", "([^"]*)"', "go_static": r'^\t\{"(\w+)", "([^"]*)"'}


# All parts except the stack, without which main() cannot run again.
PARTS = {"memory": "memory,libraries,heap,brk,mappings", "own data": "memory"}


# What only root can do.
NEED_ROOT = {"user", "groups", "root_folder", "namespace", "file_system_s_user", "system_call_filter"}


def can_do(name):
    return os.getuid() == 0 or name not in NEED_ROOT


def kinds(language):
    """{name: what must be left out of the reset, or `none`, the reset that leaves it; empty if it cannot
    outlive a request anyway, or retires the worker}"""
    found = {}
    paths = sorted(SOURCES.glob("*.c")) if language == "c" else [SOURCES / source_of(language)]
    for path in paths:
        found.update(re.findall(KINDS[language], path.read_text(), re.MULTILINE))
    return {name: PARTS.get(part, part) for name, part in found.items()}


def source_of(language):
    return COMPILED[language][1] if language in COMPILED else PROGRAMS[language]


def install(folder, languages=None):
    """Puts the programs of these languages, or of all, into a folder, ready to run."""
    folder = pathlib.Path(folder)
    for language in LANGUAGES if languages is None else languages:
        if language == "c":
            install_c(folder)
        elif language in COMPILED:
            compile_one(language, folder)
        else:
            shutil.copy2(SOURCES / PROGRAMS[language], folder / PROGRAMS[language])
            (folder / PROGRAMS[language]).chmod(0o755)


def compile_one(language, folder):
    name, source, compiler = COMPILED[language]
    if language == "rust":
        compile_program(compiler, SOURCES / source, folder / name, ["--edition", "2021", "-O"])
        return
    # Linked by the system's linker, it is a dynamic executable, as if it called C.
    with_libc = language == "go"
    flags = ["-ldflags", "-linkmode external"] if with_libc else []
    compile_go(folder / name, [SOURCES / source], flags, with_libc)


def install_c(folder):
    compile_library(SOURCES / "library.c", folder / "libinbattery.so", "-O1")
    # errno is checked first.
    sources = [SOURCES / f"{name}.c" for name in ("battery", "libc", "memory", "files", "signals", "process")]
    subprocess.run(["cc", "-O1", "-w", "-o", folder / "battery", *sources, f"-L{folder}", "-linbattery",
                    f"-Wl,-rpath,{folder}", "-ldl", "-lm", "-pthread"], check=True)


def command(language, folder):
    path = str(pathlib.Path(folder) / PROGRAMS[language])
    interpreter = {"bash": ["/bin/bash"], "perl": ["/usr/bin/perl"], "python": ["/usr/bin/python3"],
                   "ruby": ["/usr/bin/ruby"], "tcl": ["/usr/bin/tclsh"]}
    return [*interpreter.get(language, []), path]


def environment(query):
    return {**driver.REQUEST_ENV, "QUERY_STRING": query}


def as_the_bridge_launches():
    """In its own process group, and ended with its parent."""
    os.setpgrp()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def by_hand(language, folder, query=""):
    """What the program reports about a process that was launched classic."""
    done = subprocess.run(command(language, folder), env=environment(query), cwd=folder, input=BODY,
                          capture_output=True, preexec_fn=as_the_bridge_launches, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def sections(text):
    """{kind: what was seen}"""
    parts = re.split(r"(?m)^(\w+): ", text)
    return dict(zip(parts[1::2], parts[2::2]))


def differences(text, reference):
    seen, wanted = sections(text), sections(reference)
    return {name: (seen.get(name), wanted.get(name)) for name in {**wanted, **seen}
            if seen.get(name) != wanted.get(name)}


class Stand:
    """One battery, launched as a zygote with its workers."""

    def __init__(self, language, folder, **options):
        self.folder = folder
        argv, level = command(language, folder), "linked"
        if language == "bash" and "without" in options:
            # Otherwise bash remembers that its script is at its end, and reads no other.
            argv = [argv[0], "-c", f". {argv[1]}"]
        elif language == "perl":
            argv, level = [argv[0], f"-I{driver.adapters_dir()}/perl", "-MCGIBridge", argv[1]], "compiled"
        elif language == "python":
            imports = re.findall(r"^import ([\w.]+)", (SOURCES / PROGRAMS["python"]).read_text(), re.M)
            argv = [argv[0], f"{driver.adapters_dir()}/python/start.py",
                    "--preload=" + ",".join(imports), argv[1]]
            level = "compiled"
        elif language == "ruby":
            names = re.findall(r"^require '([\w/]+)'", (SOURCES / PROGRAMS["ruby"]).read_text(), re.M)
            argv = [argv[0], f"-I{driver.adapters_dir()}/ruby/preload={','.join(names)}",
                    f"-r{driver.adapters_dir()}/ruby/start.rb", argv[1]]
            level = "compiled"
        elif language in ("go", "go_static"):
            level = "compiled"
        elif language == "tcl":
            level = "compiled"
            options["env"] = {"TCL_LIBRARY": f"{driver.adapters_dir()}/tcl",
                              "CGIBRIDGE_PRELOAD": "clock.tcl", **driver.LAUNCH_ENV}
        self.zygote = driver.Warm(argv, level=level, cwd=str(folder), **options)
        self.untouched = None  # what a worker's second request sees, if the first left nothing

    def ask(self, query=""):
        return self.zygote.ask(env=environment(query), cwd=str(self.folder), body=BODY)

    def renew(self):
        """Makes the next request another worker's first."""
        if self.zygote.current is not None and self.zygote.current.status is None:
            self.zygote.current.close()
        self.zygote.current = None


class Stands:
    def __init__(self, folder):
        self.folder, self.kept, self.references = folder, {}, {}

    def get(self, language, **options):
        key = language, *sorted(options.items())
        if key not in self.kept:
            self.kept[key] = Stand(language, self.folder, **options)
        return self.kept[key]

    def reference(self, language):
        if language not in self.references:
            self.references[language] = by_hand(language, self.folder)
        return self.references[language]

    def close(self):
        for stand in self.kept.values():
            stand.zygote.__exit__()
