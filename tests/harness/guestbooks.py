"""The guestbooks of examples/, and the answers that their README specifies."""

import re
import shutil
import sqlite3

from harness.site import EXAMPLES, PROJECT

# Each language's program.
PROGRAMS = {
    "bash": "guestbook.sh",
    "Perl": "guestbook.pl",
    "JavaScript": "guestbook.js",
    "Python": "guestbook.py",
    "Go": "guestbook-go.cgi",
    "Rust": "guestbook-rust.cgi",
    "C": "guestbook.cgi",
}
FORM = "application/x-www-form-urlencoded"

README = PROJECT / "examples" / "guestbook" / "README.md"
ENTRIES_MAX = 100


def missing(language):
    """Why a language is not available here, or None."""
    if (EXAMPLES / PROGRAMS[language]).exists():
        return None
    return f"{PROGRAMS[language]} was not built: cmake says why when it configures the build"


def install(site, language):
    """Puts the language's program into the site's cgi-bin; returns its path."""
    modules, link = EXAMPLES.parent / "node_modules", site.folder / "node_modules"
    if modules.exists() and not link.is_symlink():
        link.symlink_to(modules)
    path = site.cgi_bin / PROGRAMS[language]
    shutil.copy2(EXAMPLES / PROGRAMS[language], path)
    return path


def entries_of(database):
    """The entries, newest first: (id, name, created, message)."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT id, name, created, message FROM entries ORDER BY id DESC").fetchall()
    db.close()
    return rows


def add_entries(database, entries):
    """Writes entries directly into a table that a program has made."""
    with sqlite3.connect(database, timeout=30) as db:
        db.executemany("INSERT INTO entries (name, message) VALUES (?, ?)", entries)
    db.close()


def escaped(value):
    for raw, text in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        value = str(value).replace(raw, text)
    return value


def page_of(rows):
    """The page that README.md specifies for these entries, as bytes."""
    text = re.search(r"^```html\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL).group(1)
    line = re.search(r"^<li.*\n", text, re.MULTILINE).group(0)
    listed = ""
    for row in rows[:ENTRIES_MAX]:
        values = dict(zip(("ID", "NAME", "CREATED", "MESSAGE"), map(escaped, row)))
        listed += re.sub(r"ID|NAME|CREATED|MESSAGE", lambda found: values[found.group(0)], line)
    return text.replace(line, listed).encode()
