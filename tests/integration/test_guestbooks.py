"""The guestbooks of examples/, in seven languages: each answers as its README specifies, run by hand, under
fcgiwrap and under every arm of the bridge, all behind nginx."""

import dataclasses
import subprocess
import threading
import urllib.parse

import pytest

from harness import guestbooks, processes
from harness.bridge import environment
from harness.guestbooks import FORM, PROGRAMS

ARMS = {
    "classic": 'mode = "classic"',
    "fork": 'mode = "persistent"\nreset = "fork"',
    "rewind": 'mode = "persistent"\nreset = "rewind"',
}
AT_ONCE, ENTRIES_EACH = 16, 2

ENTRIES = [("Ada", "Hello"), ("Bob <b>", "a & b < c > d \"quoted\" 'single' &amp; &#39;"),
           ("Çelik", "ünïcödé ✓ 漢字 \U0001f600 \ufeff"), ("x" * 100, "line one\r\nline two\n\ttab\n"),
           ("O'Neil; DROP TABLE entries", "%s %d $HOME `id` \\n ${x} %41 + ?"), ("007", "y" * 2000)]

# A form's bytes, and the entry that they make; None: refused.
FORMS = [
    (b"name=a&message=b", ("a", "b")),
    (b"message=x;name=y", ("y", "x")),
    (b"name=%C3%A9&message=%f0%9F%98%80+<&>\"'", ("é", "😀 <")),
    (b"name=a&name=b&message=c", ("a", "c")),
    (b"n%61me=k&mess%61ge=%6d", ("k", "m")),
    (b"name=a=b&message==", ("a=b", "=")),
    (b"name=%u00e9&message=%zz%4", ("%u00e9", "%zz%4")),
    (b"name=a&message=%", ("a", "%")),
    (b"name=%2B+%2b&message=%25%32%35", ("+ +", "%25")),
    (b"&&;name=a;;=z&message=%09%0a%0dq", ("a", "\t\n\rq")),
    (b"name=" + b"%41" * 100 + b"&message=m", ("A" * 100, "m")),
    (b"x=\0&name=a&message=b", ("a", "b")),
    (b"", None),
    (b"name=x", None),
    (b"name&message=x", None),
    (b"name=&message=x", None),
    (b"name=&name=x&message=x", None),
    (b"name=a%00&message=x", None),
    (b"name=a&message=b\0", None),
    (b"name=%7f&message=b", None),
    (b"name=a&message=%1b[0m", None),
    (b"name=%ff&message=x", None),
    (b"name=%c3&message=x", None),
    (b"name=%ed%a0%80&message=b", None),
    (b"name=%c0%af&message=b", None),
    (b"name=" + b"a" * 101 + b"&message=m", None),
    (b"name=x&message=" + b"y" * 2001, None),
    (b"name=x&message=y&z=" + b"z" * 17_000, None),
]


@dataclasses.dataclass
class Book:
    """One language's guestbook, served by one side."""
    nginx: object
    bridge: object
    script: object
    database: object

    def get(self):
        return self.nginx.send_request(f"/cgi-bin/{self.script.name}")

    def post(self, body, kind=FORM, method="POST"):
        return self.nginx.send_request(f"/cgi-bin/{self.script.name}", method, body,
                                       {"Content-Type": kind})

    def sign(self, name, message):
        return self.post(urllib.parse.urlencode({"name": name, "message": message}).encode())

    def expect_page(self):
        """The page must be the README's, for the table's current entries."""
        answer = self.get()
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert answer.body == guestbooks.page_of(guestbooks.entries_of(self.database))
        return answer.body.decode()


class Fcgiwrap:
    """Like a bridge for Site.start_nginx: something with an address."""

    def __init__(self, site):
        self.address = str(site.folder / "fcgiwrap.sock")
        site.start("spawn-fcgi", "-n", "-s", self.address, "--", "/usr/sbin/fcgiwrap",
                   "-c", str(AT_ONCE), env=environment(), stderr=subprocess.DEVNULL)
        processes.wait_until(lambda: processes.accepts(self.address), "fcgiwrap answers")


@pytest.fixture(scope="module", params=PROGRAMS)
def language(request):
    if guestbooks.missing(request.param):
        pytest.fail(guestbooks.missing(request.param))
    return request.param


@pytest.fixture(scope="module", params=["fcgiwrap", *ARMS])
def side(request):
    return request.param


@pytest.fixture(scope="module")
def served(site_for_several, language, side):
    """A book that is served, and as warm as it gets; and the list of the tests that use it."""
    tests = []
    with site_for_several(tests) as site:
        yield serve(site, language, side), tests
        if side == "fcgiwrap":
            (site.folder / "fcgiwrap.sock").unlink()


def serve(site, language, side):
    script, database = guestbooks.install(site, language), site.folder / "book.db"
    bridge = Fcgiwrap(site) if side == "fcgiwrap" else site.start_bridge(
        f"{ARMS[side]}\nworkers = {{ max = {AT_ONCE} }}")
    nginx = site.start_nginx(bridge, locations=f"""
        location /cgi-bin/ {{
          include /etc/nginx/fastcgi_params;
          fastcgi_param SCRIPT_FILENAME {site.folder}$fastcgi_script_name;
          fastcgi_param GUESTBOOK_DB {database};
          fastcgi_pass bridge;
        }}""")
    made = Book(nginx, bridge, script, database)
    assert made.get().status == 200
    if side in ("fork", "rewind"):
        bridge.wait_warm(script)
    return made


@pytest.fixture
def book(request, served, language, side):
    """The served book, without any entry. After a test that passed, the intended arm must have answered."""
    book, tests = served
    tests.append(request.node)
    for file in book.database.parent.glob(f"{book.database.name}*"):
        file.unlink()
    assert book.get().status == 200
    before = book.bridge.program(book.script) if side != "fcgiwrap" else None
    yield book
    if before and getattr(request.node, "call_passed", False):
        expect_arm(book, language, side, before)


def arm_of(entry, before):
    """The arm that really answered since `before`, by the bridge's own counts."""
    if entry["requests_persistent"] == before["requests_persistent"]:
        return "classic"
    if entry["rewind"]["rewinds"] > before["rewind"]["rewinds"]:
        return "rewind"
    if entry["reset"] == "fork":
        return "fork"
    return "none yet"


def expect_arm(book, language, side, before):
    def reached():
        if arm_of(book.bridge.program(book.script), before) == side:
            return True
        # A few requests may each have met a fresh worker, of a generation that had just learned modules.
        assert book.get().status == 200
        return False
    processes.wait_until(reached, f"{side} answered", 10)
    entry = book.bridge.program(book.script)
    print(f"{language}, asked for {side}: {arm_of(entry, before)} at level {entry['level']}, "
          f"{entry['requests_persistent']} warm and {entry['requests_classic']} classic requests, "
          f"{entry['rewind']['rewinds']} rewinds, retired: {entry['retired']}")
    if side != "classic":
        levels = dict.fromkeys(("Perl", "Python", "JavaScript", "Go"), "compiled")
        assert entry["level"] == levels.get(language, "linked")
    if side == "rewind":
        assert not entry["retired"]


def test_entries_are_kept_and_shown_as_they_are(book):
    for n, (name, message) in enumerate(ENTRIES, 1):
        answer = book.sign(name, message)
        assert (answer.status, answer.body) == (303, b"")
        target = urllib.parse.urlsplit(answer.headers["location"]).path
        assert target == f"/cgi-bin/{book.script.name}"
        page = book.expect_page()
        assert page.count("<li") == n
    rows = guestbooks.entries_of(book.database)
    assert [(name, message) for _, name, _, message in reversed(rows)] == ENTRIES
    assert "Bob &lt;b&gt;" in page and "&amp;amp; &amp;#39;" in page and "漢字" in page


def test_what_is_wrong_is_refused_and_not_kept(book, side):
    bodies = [b"name=&message=x", b"name=x", b"name=%ff&message=x"]
    if side != "fcgiwrap":  # it answers 502 when a program does not read its whole body
        bodies.append(b"name=x&message=" + b"y" * 50_000)

    def post(*words, **more):
        """fcgiwrap also does this sometimes if the program ends before the body arrives."""
        for _ in range(10):
            answer = book.post(*words, **more)
            if side != "fcgiwrap" or answer.status != 502:
                break
        return answer
    refused = [post(body) for body in bodies] + [post(b"name=a&message=b", "text/plain")]
    assert {(answer.status, answer.body) for answer in refused} == {(400, b"400 Bad Request\n")}
    other = post(b"name=a&message=b", method="PUT")
    assert (other.status, other.body) == (405, b"405 Method Not Allowed\n")
    assert other.headers["allow"] == "GET, HEAD, POST"
    assert {answer.headers["content-type"] for answer in [*refused, other]} == \
        {"text/plain; charset=utf-8"}
    assert guestbooks.entries_of(book.database) == []
    assert book.expect_page().count("<li") == 0


def test_only_the_newest_hundred_are_listed(book):
    guestbooks.add_entries(book.database, [(f"visitor {n}", f"entry {n}") for n in range(149)])
    book.sign("the last", "one")
    page = book.expect_page()
    assert page.count("<li") == 100
    assert page.index("the last") < page.index("visitor 148") < page.index("visitor 50")
    assert "visitor 49<" not in page
    # Not only in the next request: the program reads the table again each time.
    book.sign("one more", "after it")
    assert "visitor 50<" not in book.expect_page()


def test_sixteen_writers_at_once_lose_nothing(book):
    answers = []

    def write(n):
        for m in range(ENTRIES_EACH):
            answers.append(book.sign(f"writer {n}", f"entry {m}").status)
    threads = [threading.Thread(target=write, args=(n,)) for n in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [303] * (ENTRIES_EACH * AT_ONCE)
    rows = guestbooks.entries_of(book.database)
    assert sorted((name, message) for _, name, _, message in rows) == \
        sorted((f"writer {n}", f"entry {m}") for n in range(AT_ONCE) for m in range(ENTRIES_EACH))
    assert [row[0] for row in rows] == list(range(ENTRIES_EACH * AT_ONCE, 0, -1))
    book.expect_page()


def run(program, database, method="GET", body=b"", **variables):
    """(headers, body) of a run by hand, without any server."""
    done = subprocess.run([str(program)], input=body, capture_output=True, check=True, env={
        "PATH": "/usr/local/bin:/usr/bin:/bin", "GUESTBOOK_DB": str(database),
        "REQUEST_METHOD": method, "SCRIPT_NAME": "/book", "QUERY_STRING": "",
        "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": FORM, "CONTENT_LENGTH": str(len(body)), **variables})
    head, _, text = done.stdout.partition(b"\r\n\r\n")
    lines = {line.lower() for line in head.decode().replace("; charset", ";charset").split("\r\n")}
    # Every server assumes this status, and net/http/cgi prints it.
    return lines - {"status: 200 ok"}, text


REFUSED = ({"status: 400 bad request", "content-type: text/plain;charset=utf-8"}, b"400 Bad Request\n")


def test_every_language_reads_a_form_as_the_rules_say(site, language):
    program, database = guestbooks.install(site, language), site.folder / "book.db"
    kept = []
    for body, entry in FORMS:
        wanted = ({"status: 303 see other", "location: /book"}, b"") if entry else REFUSED
        assert run(program, database, "POST", body) == wanted, body[:100]
        kept += [entry] if entry else []
    rows = guestbooks.entries_of(database)
    assert [(name, message) for _, name, _, message in reversed(rows)] == kept


def test_every_language_looks_at_length_and_type_alike(site, language):
    program, database = guestbooks.install(site, language), site.folder / "book.db"
    run(program, database)
    body = b"name=a&message=b"
    for length in ("", "abc", "-1", "+5", "16385", "1234567890", "0", "3", "40"):
        assert run(program, database, "POST", body, CONTENT_LENGTH=length) == REFUSED, length
    for kind in ("", "text/plain", FORM + "2", FORM.upper()):
        assert run(program, database, "POST", body, CONTENT_TYPE=kind) == REFUSED, kind
    assert guestbooks.entries_of(database) == []
    for kind in (FORM + "; charset=utf-8", FORM + " "):
        assert "status: 303 see other" in run(program, database, "POST", body, CONTENT_TYPE=kind)[0]
    # What follows the announced length belongs to somebody else.
    run(program, database, "POST", body + b"&c", CONTENT_LENGTH="16")
    assert [row[3] for row in guestbooks.entries_of(database)] == ["b"] * 3


def test_every_language_answers_head_and_failure_alike(site, language):
    program, database = guestbooks.install(site, language), site.folder / "book.db"
    assert run(program, database, "HEAD") == ({"content-type: text/html;charset=utf-8"}, b"")
    junk = site.folder / "junk.db"
    junk.write_bytes(b"this is no database, however long one looks at it" * 100)
    failed = ({"status: 500 internal server error", "content-type: text/plain;charset=utf-8"},
              b"500 Internal Server Error\n")
    for broken in (junk, site.folder / "no" / "folder" / "book.db"):
        for method, body in (("GET", b""), ("POST", b"name=a&message=b")):
            assert run(program, broken, method, body) == failed


def test_all_languages_write_the_same_bytes_for_the_same_table(site):
    database = site.folder / "book.db"
    programs = [guestbooks.install(site, language) for language in PROGRAMS]
    run(programs[0], database)
    guestbooks.add_entries(database, ENTRIES * 20)
    wanted = guestbooks.page_of(guestbooks.entries_of(database))
    for program in programs:
        assert run(program, database) == ({"content-type: text/html;charset=utf-8"}, wanted), program
