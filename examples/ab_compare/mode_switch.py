"""Switches a program's mode in a live settings file, the way a person with an editor would."""
import fnmatch
import os
import pathlib
import re
import shutil
import tomllib

from . import Problem

SECTION = re.compile(r"^\s*\[")
PROGRAM = re.compile(r"^\s*\[\[\s*program\s*\]\]")
MODE = re.compile(r"^(\s*mode\s*=\s*)(\"[^\"]*\"|'[^']*')(.*)$", re.DOTALL)


class SettingsFile:
    """config.toml as it was found, to be put back byte for byte when the comparison is over."""

    def __init__(self, path):
        self.path = pathlib.Path(os.path.realpath(path))
        try:
            self.original = self.path.read_text(encoding="utf-8")
            self.settings = tomllib.loads(self.original)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Problem(f"cannot read the settings in {path}: {error}") from None

    def find_program(self, program):
        """The number of the [[program]] that counts for a program, and the program's path."""
        roots = self.settings.get("bridge", {}).get("roots", [])
        paths = [os.path.realpath(os.path.join(root, program)) for root in roots]
        path = next(filter(os.path.isfile, paths), None)
        if path is None:
            raise Problem(f"{program}: no such file in the roots of {self.path}: {', '.join(roots)}")
        for number, entry in enumerate(self.settings.get("program", [])):
            if fnmatch.fnmatchcase(path, entry.get("match", "")):
                return number, path
        raise Problem(
            f"{program}: no [[program]] in {self.path} matches {path}, so there is no mode to "
            f"switch for it alone. Add:\n\n"
            f'[[program]]\nname = "{program}"\nmatch = "{path}"\nmode = "classic"'
        )

    def switch(self, number, mode):
        text = edited(self.original, number, mode)
        wanted = tomllib.loads(self.original)
        wanted["program"][number]["mode"] = mode
        try:
            if tomllib.loads(text) != wanted:
                raise ValueError
        except ValueError:
            raise Problem(f"cannot edit the mode of program {number + 1} in {self.path}: write it "
                          'as a line of its own, mode = "classic"') from None
        self.write(text)

    def restore(self):
        self.write(self.original)

    def write(self, text):
        """At once or not at all, as good editors do it; owner and permissions stay."""
        try:
            new = self.path.with_name(self.path.name + ".new")
            new.write_text(text, encoding="utf-8")
            shutil.copymode(self.path, new)
            if os.geteuid() == 0:
                owner = self.path.stat()
                os.chown(new, owner.st_uid, owner.st_gid)
            new.replace(self.path)
        except OSError as error:
            raise Problem(f"cannot write {self.path}: {error}") from None


def edited(text, number, mode):
    """text with the mode of the [[program]] of that number (from 0) set."""
    lines = text.splitlines(keepends=True)
    headers = [at for at, line in enumerate(lines) if PROGRAM.match(line)]
    if number >= len(headers):
        return text
    at = headers[number] + 1
    while at < len(lines) and not SECTION.match(lines[at]):
        if found := MODE.match(lines[at]):
            lines[at] = f'{found[1]}"{mode}"{found[3]}'
            return "".join(lines)
        at += 1
    lines.insert(headers[number] + 1, f'mode = "{mode}"\n')
    return "".join(lines)
