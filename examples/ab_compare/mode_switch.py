"""Switches a program's arm in a live settings file, as a person with an editor would, and restores the file
byte for byte, whatever happens."""
import fnmatch
import glob
import itertools
import os
import pathlib
import re
import shutil
import tomllib

from . import Problem

FILES_MAX = 5000   # the most files to look at below the roots
SECTION = re.compile(r"^\s*\[")
PROGRAM = re.compile(r"^\s*\[\[\s*program\s*\]\]")
LINE = r"^(\s*{}\s*=\s*)(\"[^\"]*\"|'[^']*')(.*)$"


class SettingsFile:
    """config.toml as it was found. From the first switch to restore() there is a copy beside it, which keeps
    a second comparison out and survives a kill that leaves no time to restore the file."""

    def __init__(self, path):
        self.path = pathlib.Path(os.path.realpath(path))
        self.kept = self.path.with_name(self.path.name + ".before-ab-compare")
        try:
            self.original = self.path.read_bytes().decode("utf-8")
            self.settings = tomllib.loads(self.original)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Problem(f"cannot read the settings in {path}: {error}") from None
        if self.kept.exists():
            raise Problem(f"{self.kept} is there: another comparison runs, or one was killed and "
                          f"left its own mode in {self.path.name}. If none runs: mv {self.kept} "
                          f"{self.path}")
        self.ours = {self.original}   # the texts that we have put there: one, or two during a
        self.keeping = False          # replacement; keeping: the copy is ours to remove

    def bridge(self, name, default):
        return self.settings.get("bridge", {}).get(name, default)

    def find_program(self, program):
        """(number, path): the number of the [[program]] that applies to a program, or None, and the program's
        file."""
        roots = self.bridge("roots", [])
        paths = [os.path.realpath(os.path.join(root, program)) for root in roots]
        inside = [path for path in paths
                  if any(pathlib.Path(path).is_relative_to(os.path.realpath(r)) for r in roots)]
        path = next(filter(os.path.isfile, inside), None)
        if path is None:
            raise Problem(f"{program}: no such file in the roots of {self.path}: {', '.join(roots)}")
        return self.section_of(path), path

    def others_of(self, number, path):
        """The names of at most three other programs to which this [[program]] also applies, and which then
        switch as well."""
        if number is None:
            return []
        names, files = [], (os.path.join(folder, name) for root in self.bridge("roots", [])
                            for folder, _, found in os.walk(os.path.realpath(root)) for name in found)
        for other in itertools.islice(files, FILES_MAX):
            if other != path and self.section_of(other) == number and os.access(other, os.X_OK):
                names.append(os.path.basename(other))
        return sorted(names)[:3]

    def section_of(self, path):
        """The number of the [[program]] that applies to a path; None if there is none."""
        for number, entry in enumerate(self.settings.get("program", [])):
            if fnmatch.fnmatchcase(path, entry.get("match", "")):
                return number
        return None

    def env_of(self, number):
        """The environment that the settings give a program."""
        own = {} if number is None else self.settings["program"][number].get("env", {})
        return {**self.settings.get("defaults", {}).get("env", {}), **own}

    def switch(self, number, path, values):
        """values: {"mode": ..., "reset": ...}, set only in the program's section. A program without a section
        gets one at the end of the file."""
        wanted = tomllib.loads(self.original)
        if number is None:
            text = appended(self.original, path, values)
            wanted.setdefault("program", []).append({"match": glob.escape(path), **values})
        else:
            text = self.original
            for name, value in values.items():
                text = edited(text, number, name, value)
            wanted["program"][number].update(values)
        try:
            if tomllib.loads(text) != wanted:
                raise ValueError
        except ValueError:
            place = "a section of its own" if number is None else "lines of their own"
            raise Problem(f"cannot edit {' and '.join(values)} of {path} in {self.path}: give "
                          f"them {place}, as in\n"
                          f"{appended('', path, values)}") from None
        self.write(text)

    def changed_by_others(self):
        try:
            return self.path.read_bytes().decode("utf-8", "replace") not in self.ours
        except OSError:
            return True

    def restore(self):
        """Restores the file, unless somebody else wrote it meanwhile; then theirs stays, and so does the
        copy."""
        if not self.keeping:
            return
        if self.changed_by_others():
            raise Problem(f"somebody else wrote {self.path} during the comparison; it is left as "
                          f"they wrote it, with a mode and reset of this comparison in it. As it "
                          f"was before: {self.kept}")
        self.replace(self.original)
        self.kept.unlink(missing_ok=True)
        self.keeping = False

    def write(self, text):
        if self.changed_by_others():
            raise Problem(f"somebody else wrote {self.path} since the comparison began; start "
                          "again when they are done")
        if not self.keeping:
            self.keep()
        self.replace(text)

    def keep(self):
        self.keeping = True   # set first, because Ctrl-C may come in between
        try:
            with open(self.kept, "x", encoding="utf-8", newline="") as copy:
                copy.write(self.original)
            self.take_ownership(self.kept)
        except OSError as error:
            self.keeping = not isinstance(error, FileExistsError)
            raise Problem(f"cannot write {self.kept}: {error}") from None

    def replace(self, text):
        """Replaces the file atomically, as good editors do; owner and permissions stay."""
        try:
            new = self.path.with_name(self.path.name + ".new")
            new.write_text(text, encoding="utf-8", newline="")
            self.take_ownership(new)
            self.ours.add(text)
            new.replace(self.path)
            self.ours = {text}
        except OSError as error:
            raise Problem(f"cannot write {self.path}: {error}") from None

    def take_ownership(self, file):
        shutil.copymode(self.path, file)
        if os.geteuid() == 0:
            owner = self.path.stat()
            os.chown(file, owner.st_uid, owner.st_gid)


def edited(text, number, name, value):
    """text with one setting changed in the [[program]] of that number (from 0)."""
    lines = text.splitlines(keepends=True)
    headers = [at for at, line in enumerate(lines) if PROGRAM.match(line)]
    if number >= len(headers):
        return text
    setting = re.compile(LINE.format(re.escape(name)), re.DOTALL)
    at = headers[number] + 1
    while at < len(lines) and not SECTION.match(lines[at]):
        if found := setting.match(lines[at]):
            lines[at] = f'{found[1]}"{value}"{found[3]}'
            return "".join(lines)
        at += 1
    if not lines[headers[number]].endswith("\n"):
        lines[headers[number]] += "\n"
    lines.insert(headers[number] + 1, f'{name} = "{value}"\n')
    return "".join(lines)


def appended(text, path, values):
    """text with a [[program]] for that path alone after all others."""
    gap = "" if not text or text.endswith("\n") else "\n"
    quoted = glob.escape(path).replace("\\", "\\\\").replace('"', '\\"')
    lines = "".join(f'{name} = "{value}"\n' for name, value in values.items())
    return f'{text}{gap}\n[[program]]\nmatch = "{quoted}"\n{lines}'
