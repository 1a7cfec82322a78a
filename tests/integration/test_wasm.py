"""WebAssembly modules behind a bridge: recognised by what they are, warm as scripts are, held to what the
settings give them, and answered with an error where nothing can run them."""

import concurrent.futures
import os
import pwd
import shutil
import sqlite3
import time

import pytest
from harness import fastcgi
from harness.bridge import BUILD
from harness.modules import RESETS, maker, module, need_runner, seen, settings
from harness.processes import descendants_of, kill_quietly, wait_until


@pytest.fixture
def wasm(site):
    return maker(site, module)


@pytest.mark.parametrize("reset", RESETS)
def test_a_module_without_x_bit_is_warm_and_answers_as_in_classic(site, wasm, reset):
    program = wasm("request")
    assert program.stat().st_mode & 0o111 == 0
    bridge = site.start_bridge(settings(site, reset), bridge=wasm.bridge)
    bridge.command("mode", program, "classic")

    def ask(n):
        return seen(bridge.request(program, "POST", f"n={n}", b"x" * n, HTTP_X=f"{n}"))
    wanted = [ask(n) for n in range(20)]
    assert wanted[3][0] == 200 and b"variable: QUERY_STRING=n=3\n" in wanted[3][2]
    bridge.command("mode", program, "persistent")
    bridge.request(program)
    bridge.wait_warm(program)
    for n in range(20):
        assert sorted(ask(n)[2].split(b"\n")) == sorted(wanted[n][2].split(b"\n"))
    entry = bridge.program(program)
    assert (entry["level"], entry["reset"]) == ("compiled", reset), entry
    assert entry["requests_persistent"] >= 20 and not entry["level_reason"], entry


@pytest.mark.parametrize("reset", RESETS)
def test_nothing_of_a_visitor_reaches_another(site, wasm, reset):
    program = wasm("leak")
    bridge = site.start_bridge(settings(site, reset), bridge=wasm.bridge)
    bridge.request(program)
    bridge.wait_warm(program)
    for n in range(150):
        answer = bridge.request(program, query=f"visitor{n}", HTTP_COOKIE=f"secret{n}")
        assert b"runs 0, initialized 41" in answer.body and b"found 0\n" in answer.body, answer.body


def test_what_other_programs_keep_in_the_cache_begins_no_generation(site, wasm):
    program, other = wasm("request"), wasm("leak")
    bridge = site.start_bridge(settings(site), bridge=f'cache = "{site.folder}/cache/"\n')
    bridge.request(program)
    bridge.wait_warm(program)
    generation = bridge.program(program)["generation"]
    bridge.request(other)
    bridge.wait_warm(other)
    for _ in range(3):
        bridge.request(program)
    assert bridge.program(program)["generation"] == generation
    assert len(list((site.folder / "cache").glob("*.cwasm"))) == 2


def test_words_of_an_indexed_query_are_its_arguments(site, wasm, mode):
    program = wasm("request")
    bridge = site.start_bridge(settings(site).replace("persistent", mode), bridge=wasm.bridge)
    if mode == "persistent":
        bridge.request(program)
        bridge.wait_warm(program)
    body = bridge.request(program, query="one+two%20words").body
    assert f"word 0: {program}\nword 1: one\nword 2: two words\n".encode() in body


def test_a_trap_is_502_with_its_functions_in_the_log_and_harms_no_other(site, wasm, mode):
    program = wasm("deeds")
    bridge = site.start_bridge(settings(site).replace("persistent", mode), bridge=wasm.bridge)
    good = bridge.request(program, query="recurse-a-little")
    assert good.body.endswith(b"done\n")
    if mode == "persistent":
        bridge.wait_warm(program)
    for _ in range(3):
        assert bridge.request(program, query="divide-by-zero").status == 502
        assert seen(bridge.request(program, query="recurse-a-little")) == seen(good)
    bridge.expect_log(r"502: .* it exited with 134; its last word: .*integer divide by zero$")
    bridge.expect_log(r"in divide_by_zero \(at 0x")
    answer = bridge.request(program, query="abort", LATE="1")
    assert (answer.status, answer.app_status) == (200, 134)
    assert bridge.request(program, query="exit=7").app_status == 7


def test_an_endless_loop_is_ended_by_the_request_s_time(site, wasm, mode):
    program = wasm("deeds")
    defaults = settings(site).replace("persistent", mode)
    defaults += 'timeouts = { request = "1s", kill_grace = "1s" }\n'
    bridge = site.start_bridge(defaults, bridge=wasm.bridge)
    bridge.request(program)
    if mode == "persistent":
        bridge.wait_warm(program)
    for _ in range(2):
        assert bridge.request(program, query="loop").status in (502, 504)
        assert bridge.request(program).status == 200
    bridge.expect_log("longer than|timeouts.request|out of time|took")


def test_it_has_the_folders_that_the_settings_give_and_no_more(site, wasm):
    program = wasm("files")
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    params = {"DATA": "/data", "OUTSIDE": "/etc/passwd"}

    def ask():
        return bridge.request(program, **params).body
    assert b"create: ok" in ask() and b"root:x:" not in ask()
    bridge.wait_warm(program)
    assert b"create: ok" in ask()
    before = sorted(path.name for path in (site.folder / "data").iterdir())
    site.rewrite_config(settings(site, more=', read_only = ["/data"]'), bridge=wasm.bridge)
    bridge.hangup()
    wait_until(lambda: b"create: Read-only file system" in ask(), "the new setting counts")
    bridge.wait_warm(program)
    assert b"create: Read-only file system" in ask()
    assert sorted(path.name for path in (site.folder / "data").iterdir()) == before


def test_a_folder_that_does_not_exist_is_named_in_the_log(site, wasm):
    program = wasm("request")
    bridge = site.start_bridge('wasm = { dirs = { "/data" = "/no/such" } }', bridge=wasm.bridge)
    assert bridge.request(program).status == 502
    bridge.expect_log(r"wasm.dirs: /data = /no/such: No such file")


def test_its_memory_has_the_limit_of_the_settings(site, wasm):
    program = wasm("deeds")
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    for _ in range(3):
        body = bridge.request(program, query="take-all-memory").body
        pages = int(body.split(b"refused after ")[1].split()[0])
        assert 900 < pages <= 1024, body
        bridge.wait_warm(program)


@pytest.mark.parametrize("name,said", [
    ("missing_import", "unknown import: `env::unheard_of`"), ("reactor", "no function _start"),
    ("declares_all_memory", "its limit of memory is 67108864 bytes")])
def test_a_module_that_cannot_run_is_502_and_the_log_says_why(site, wasm, name, said):
    program = wasm(name)
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    answer = bridge.request(program)
    assert answer.status == 502 and said in answer.stderr.decode()
    bridge.expect_log(said)


def test_without_its_runner_a_module_is_500_and_says_what_to_install(site, wasm):
    program = wasm("request")
    adapters = shutil.copytree(BUILD / "adapters", site.folder / "adapters",
                               ignore=shutil.ignore_patterns("cgibridge-wasm"))
    bridge = site.start_bridge(bridge=wasm.bridge + f'adapters = "{adapters}"\n')
    answer = bridge.request(program)
    assert answer.status == 500 and b"install the package cgibridge-wasm" in answer.stderr
    bridge.expect_log("install the package cgibridge-wasm")


def test_check_says_what_it_is_and_that_it_is_warm(site, wasm):
    program = wasm("request")
    done = site.cgibridge("check", program, seconds=60)
    assert "WebAssembly module" in done.stdout, done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's bridge runs programs as other users")
@pytest.mark.parametrize("mode", ["persistent", "classic"])
def test_a_program_of_another_user_keeps_its_code_where_only_that_user_can_write(site, wasm, mode):
    program = wasm("request")
    site.folder.chmod(0o755)
    kept = site.folder / "cache" / str(pwd.getpwnam("nobody").pw_uid)
    codes = []
    for _ in range(2):
        bridge = site.start_bridge(f'user = "nobody"\nmode = "{mode}"\n', bridge=wasm.bridge)
        assert bridge.request(program).status == 200
        if mode == "persistent":
            bridge.wait_warm(program, 60)
        wait_until(lambda: list(kept.glob("*.cwasm")), "the module is compiled into the user's folder", 60)
        codes.append({path: path.stat().st_mtime_ns for path in kept.glob("*.cwasm")})
        bridge.expect_clean_stop()
    assert len(codes[0]) == 1 and codes[0] == codes[1]  # the second start compiled nothing
    assert next(iter(codes[0])).owner() == "nobody"
    assert (kept.owner(), kept.stat().st_mode & 0o777) == ("nobody", 0o700)
    assert (site.folder / "cache").owner() == "root"


def test_answers_of_each_kind_through_nginx(site, wasm):
    wasm("answers")
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    server = site.start_nginx(bridge)

    def ask(query):
        return server.send_request(f"/cgi-bin/answers.wasm?{query}")
    for _ in range(2):
        assert (ask("plain").status, ask("plain").body) == (200, b"plain\n")
        assert ask("status").status == 418 and ask("no-content").status == 204
        assert ask("redirect").status == 302
        for bad in ("no-head", "nothing", "bad-status"):
            assert ask(bad).status == 502
        bridge.wait_warm(site.cgi_bin / "answers.wasm")
    bridge.expect_log(" 502: ")


def most_memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def test_a_large_body_passes_both_ways_with_flat_memory(site, wasm):
    program = wasm("volume")
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    server = site.start_nginx(bridge, extra="client_max_body_size 0;")
    server.send_request("/cgi-bin/volume.wasm?1")
    bridge.wait_warm(program)
    size = 256 << 20
    body = server.send_request(f"/cgi-bin/volume.wasm?{size}").body
    assert len(body) == size and body[1000:1010] == bytes((1000 + n) % 251 for n in range(10))
    answer = server.send_request("/cgi-bin/volume.wasm", "POST", body=body)
    assert answer.body == b"%d %d\n" % (size, sum(body) % (1 << 32))
    assert all(most_memory(pid) < 100_000 for pid in descendants_of(bridge.pid))


def test_a_module_that_prints_for_nobody_ends(site, wasm):
    program = wasm("deeds")
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    server = site.start_nginx(bridge)
    server.send_request("/cgi-bin/deeds.wasm")
    bridge.wait_warm(program)
    for _ in range(2):
        with server.send_raw(b"GET /cgi-bin/deeds.wasm?print-forever HTTP/1.0\r\n\r\n") as peer:
            peer.recv(1000)
        bridge.wait_idle()
        bridge.wait_warm(program)
        assert server.send_request("/cgi-bin/deeds.wasm?recurse-a-little").status == 200


def test_hello_of_the_examples_answers_as_the_native_one(site):
    need_runner()
    if not (BUILD / "examples" / "cgi-bin" / "hello.wasm").exists():
        pytest.skip("no C compiler for WebAssembly when it was configured")
    native, wasm = site.example("hello.cgi"), site.example("hello.wasm")
    bridge = site.start_bridge(bridge=f'cache = "{site.folder}/cache"\n')
    for _ in range(20):
        assert seen(bridge.request(wasm)) == seen(bridge.request(native))
        bridge.wait_warm(wasm)


class Guestbook:
    """guestbook.wasm, warm."""
    FORM = "application/x-www-form-urlencoded"

    def __init__(self, site):
        need_runner()
        if not (BUILD / "examples" / "cgi-bin" / "guestbook.wasm").exists():
            pytest.skip("no compiler for WebAssembly, or no source of SQLite, when it was configured")
        self.program, self.database = site.example("guestbook.wasm"), site.folder / "data" / "book.db"
        self.lock = self.database.with_name("book.db.lock")
        self.bridge = site.start_bridge(settings(site) + 'env = { GUESTBOOK_DB = "/data/book.db" }',
                                        bridge=f'cache = "{site.folder}/cache"\n')
        self.bridge.request(self.program)
        self.bridge.wait_warm(self.program)

    def write(self, n):
        return self.bridge.request(self.program, "POST", body=b"name=Visitor+%d&message=Hello" % n,
                                   CONTENT_TYPE=self.FORM).status

    def missing(self, numbers):
        page = self.bridge.request(self.program).body
        return [n for n in numbers if b"Visitor %d<" % n not in page]


def test_the_guestbook_keeps_every_entry_of_writers_at_once(site):
    book = Guestbook(site)
    with concurrent.futures.ThreadPoolExecutor(8) as writers:
        assert set(writers.map(book.write, range(60))) == {303}
    assert book.missing(range(60)) == []


def test_a_lock_that_a_killed_guestbook_left_keeps_nobody_out(site):
    book = Guestbook(site)
    book.lock.touch()
    book.lock.with_name("book.db.lock.left").mkdir()
    assert book.write(1) == 303 and not book.lock.exists()
    assert not book.lock.with_name("book.db.lock.left").exists()


def test_visitors_that_go_away_leave_no_lock(site):
    book = Guestbook(site)
    for n in range(150):
        sent = fastcgi.whole_request(book.program, b"name=Visitor+%d&message=Hello" % n,
                                     REQUEST_METHOD="POST", CONTENT_TYPE=Guestbook.FORM)
        with book.bridge.connect() as peer:
            peer.socket.sendall(sent)
            time.sleep(0.0001 * (n % 30))
        wait_until(lambda: not book.lock.exists(), f"visitor {n}'s lock is given back")
    assert book.write(99) == 303 and book.missing([99]) == []


def test_guestbooks_that_are_killed_while_they_write_lose_no_entry_that_was_answered(site):
    book, done = Guestbook(site), []

    def write(n):
        if book.write(n) == 303:
            done.append(n)
    with concurrent.futures.ThreadPoolExecutor(6) as writers:
        for begun in range(0, 36, 6):
            list(writers.map(write, range(begun, begun + 5)))
            doomed = writers.submit(write, begun + 5)
            for pid in book.bridge.program(book.program)["worker_pids"]:
                kill_quietly(pid)
            doomed.result()
    book.bridge.allow_log("signal 9|Killed|SIGKILL")
    assert len(done) >= 25 and book.missing(done) == []
    with sqlite3.connect(book.database) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
