"""WebAssembly components of the world wasi:http/proxy: the request reaches them as a value, and their answer
is printed as a CGI program would print it."""

import os
import re
import subprocess
import time

import driver
import pytest
from harness.components import component
from harness.modules import RESETS
from wasm import Programs

REQUEST = {
    "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "POST", "SERVER_PROTOCOL": "HTTP/1.1",
    "SERVER_NAME": "server.example", "SERVER_PORT": "8080", "SCRIPT_NAME": "/cgi-bin/http.wasm",
    "PATH_INFO": "/a b", "HTTP_USER_AGENT": "t", "HTTP_X_Y": "z", "HTTP_CONNECTION": "close",
    "HTTP_STATUS": "404", "CONTENT_TYPE": "text/plain",
}


@pytest.fixture
def http(tmp_path):
    return Http(tmp_path)


class Http:
    """The component of http.c, with a folder and a cache of the test."""

    def __init__(self, folder):
        programs = Programs(folder, component)
        self.folder, self.data, self.argv = folder, programs.data, programs.argv("http")

    def ask(self, deed, body=b"", **more):
        return driver.run_plainly(self.argv, env=env_of(deed, body, **more), body=body)

    def warm(self, reset):
        return driver.Warm(self.argv, reset=reset, level="compiled")

    def start(self, deed, **more):
        env = {**REQUEST, "QUERY_STRING": deed, **more}
        return subprocess.Popen(self.argv, env=env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)


def env_of(deed, body=b"", **more):
    return {**REQUEST, "QUERY_STRING": deed, "CONTENT_LENGTH": str(len(body)), **more}


def parts_of(answer):
    """The lines of the head, and the body."""
    head, _, body = answer.stdout.partition(b"\r\n\r\n")
    return head.decode("latin-1").split("\r\n"), body


@pytest.mark.parametrize("reset", ["", *RESETS])
def test_it_gets_the_request_and_its_answer_is_that_of_a_cgi_program(http, reset):
    wanted = ["method: 2", "scheme: 0", "authority: server.example:8080",
              "path: /cgi-bin/http.wasm/a%20b?a=1", "header content-length: 5",
              "header content-type: text/plain", "header user-agent: t",
              "header x-y: z", "body: hello", "SCRIPT_NAME: /cgi-bin/http.wasm", "runs: 1"]
    if reset:
        with http.warm(reset) as warm:
            answers = [warm.ask(env=env_of("a=1", b"hello"), body=b"hello") for _ in range(5)]
            assert warm.reset == reset and (warm.workers == 1 or reset == "fork"), warm.weaker
    else:
        answers = [http.ask("a=1", b"hello")]
    for answer in answers:
        head, body = parts_of(answer)
        assert (head, answer.code, answer.stderr) == (["Status: 200 OK", "content-type: text/plain"], 0, b"")
        assert sorted(body.decode().splitlines()) == sorted(wanted)


def test_the_client_s_own_spelling_of_the_target_is_kept(http):
    lines = http.ask("x=%41", REQUEST_URI="/cgi-bin/http.wasm/%61+b?x=%41").stdout.decode().splitlines()
    assert "path: /cgi-bin/http.wasm/a%20b?x=%41" in lines
    lines = http.ask("x=%41", REQUEST_URI="/cgi-bin/http%2ewasm/a%20b?x=%41").stdout.decode().splitlines()
    assert "path: /cgi-bin/http%2ewasm/a%20b?x=%41" in lines
    more = {"HTTPS": "on", "HTTP_HOST": "h.example", "REQUEST_METHOD": "PROPFIND"}
    lines = http.ask("", **more).stdout.decode().splitlines()
    assert {"scheme: 1", "authority: h.example", "method: PROPFIND"} <= set(lines)
    assert "path: /cgi-bin/http.wasm/a%20b" in lines


@pytest.mark.parametrize("reset", RESETS)
def test_no_header_line_is_made_that_is_not_its_own(http, reset):
    head, body = parts_of(http.ask("headers"))
    good = "x-good: gr\u00c3\u00bc\u00c3\u009f dich"
    assert head == ["Status: 201 Created", "content-type: text/plain", good]
    # Forbidden (1): what is between neighbours, and Status. Bad syntax (0): ends of lines, no names.
    assert body.split(b"\n") == [b"refused with 1"] * 7 + [b"refused with 0"] * 8 + [b""]
    with http.warm(reset) as warm:
        assert parts_of(warm.ask(env=env_of("headers"))) == (head, body)


@pytest.mark.parametrize("status, line", [(204, "204 No Content"), (404, "404 Not Found"), (599, "599 ")])
def test_the_status_is_the_one_it_sets(http, status, line):
    assert parts_of(http.ask(f"status={status}"))[0][0] == f"Status: {line}"


ENDS = {
    "error": (1, rb"answers with an error: .*LoopDetected"),
    "status=103": (1, rb"its status, 103 .*is none of an answer"),
    "silence": (1, rb"ends without an answer"),
    "short": (1, rb"its answer was cut off"),
    "trap": (134, rb"in exports_wasi_http_incoming_handler_handle .*\n.*wasm `unreachable`"),
    "trap-late": (134, rb"in trap_late .*\n.*wasm `unreachable`"),
    "exit": (1, rb"ends without an answer|^$"),
}


@pytest.mark.parametrize("reset", ["", *RESETS])
def test_what_is_no_whole_answer_is_told(http, reset):
    def check(ask):
        for deed, (code, said) in ENDS.items():
            answer = ask(deed)
            assert answer.code == code and re.search(said, answer.stderr), (deed, answer.code, answer.stderr)
            begun = {"short": b"12345", "trap-late": b"begun\n"}.get(deed)
            assert parts_of(answer)[1] == (begun or b"") and (begun or not answer.stdout), deed
    if not reset:
        check(http.ask)
        return
    with http.warm(reset) as warm:
        for _ in range(2):
            check(lambda deed: warm.ask(env=env_of(deed)))
            assert warm.ask(env=env_of("drain", b"x"), body=b"x").stdout.endswith(b"1 bytes\n")


def test_a_body_that_ends_too_early_is_an_error_and_what_follows_it_is_not_read(http):
    assert b"input: an error\n3 bytes\n" in http.ask("drain", b"abc", CONTENT_LENGTH="9").stdout
    assert http.ask("echo", b"abcdef", CONTENT_LENGTH="3").stdout.endswith(b"\r\n\r\nabc")
    assert b"\n\n6 bytes\n" in http.ask("drain", b"abcdef", CONTENT_LENGTH="").stdout.replace(b"\r", b"")
    ended = http.ask("drain", b"abc", CONTENT_LENGTH="many")
    assert ended.code == 1 and b"CONTENT_LENGTH" in ended.stderr and not ended.stdout


def test_a_request_of_its_own_is_denied(http):
    answer = http.ask("outgoing")
    assert re.search(rb"refused with (\d+), denied is \1\n$", answer.stdout), answer.stdout


def test_it_has_the_folders_and_prints_to_the_log(http):
    (http.data / "there").write_text("content")
    assert parts_of(http.ask("file"))[1] == b"content"
    answer = http.ask("print")
    assert answer.stderr == b"printed\n" and b"printed" not in answer.stdout


def test_its_memory_has_the_limit(http):
    answer = http.ask("fill")
    refused = re.search(rb"refused after (\d+) MiB\n$", answer.stdout)
    assert refused and 50 < int(refused[1]) < 64 and answer.code == 0, answer.stdout


# ---- streams ----

def peak_kib(process):
    """Waits for its end."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss


def test_large_bodies_pass_through_a_small_memory(http):
    size = 200 << 20
    http.ask("drain")
    with http.start(f"volume={size}", CONTENT_LENGTH="0") as process:
        got = 0
        while piece := process.stdout.read(1 << 20):
            got += len(piece)
        assert got > size and peak_kib(process) < 64 << 10 and process.returncode == 0
    with subprocess.Popen(["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE) as source:
        with subprocess.Popen(http.argv, env=env_of("echo", CONTENT_LENGTH=str(size)), stdin=source.stdout,
                              stdout=subprocess.PIPE) as process:
            source.stdout.close()
            got = 0
            while piece := process.stdout.read(1 << 20):
                got += len(piece)
            assert got > size and peak_kib(process) < 64 << 10 and process.returncode == 0


def test_each_piece_is_passed_on_when_it_is_there(http):
    http.ask("drain")
    with http.start("echo") as process:
        for piece in (b"one", b"two"):
            process.stdin.write(piece)
            got = b""
            while not got.endswith(piece):
                got += process.stdout.read(4096)
        process.stdin.close()
        assert process.stdout.read() == b"" and process.wait(driver.PATIENCE) == 0
    with http.start("slowly") as process:
        times = []
        while process.stdout.read(4096):
            times.append(time.monotonic())
        assert len(times) >= 5 and times[-1] - times[0] > 0.5
        assert process.wait(driver.PATIENCE) == 0


def test_it_does_not_use_the_processor_while_it_waits(http):
    http.ask("drain")
    with http.start("echo") as process:
        process.stdin.write(b"x")
        time.sleep(1)
        process.stdin.close()
        process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert used.ru_utime + used.ru_stime < 0.5 and process.returncode == 0


def test_who_answers_nobody_ends_as_by_a_signal(http):
    http.ask("drain")
    with http.start(f"volume={1 << 40}") as process:
        process.stdout.read(1000)
        process.stdout.close()
        assert process.wait(driver.PATIENCE) == 141


@pytest.mark.parametrize("reset", ["rewind", "none"])
def test_a_worker_whose_answer_nobody_reads_takes_the_next_request(http, reset):
    with http.warm(reset) as warm:
        wanted = warm.ask(env=env_of("drain")).seen()
        for _ in range(3):
            stdout, stderr, number = warm.current.send(warm.argv, env=env_of(f"volume={1 << 40}"))
            os.read(stdout, 1000)
            os.close(stdout)
            answer = driver.Answer()
            while answer.done is None:
                assert warm.current.take_message(answer, number)
            os.close(stderr)
            assert answer.done == 141 and answer.stays, answer.reason
            assert warm.ask(env=env_of("drain")).seen() == wanted
        assert warm.workers == 1


@pytest.mark.parametrize("reset", RESETS)
def test_random_numbers_are_new_in_each_request(http, reset):
    with http.warm(reset) as warm:
        texts = [warm.ask(env=env_of("draw")).stdout for _ in range(20)]
    drawn = [re.search(rb"drawn ([0-9a-f]{32})\n", text)[1] for text in texts]
    assert len(set(drawn)) == 20


def test_it_makes_no_thread_and_no_process(http):
    http.ask("drain")
    driver.run_plainly([http.argv[0], "--compile", *http.argv[1:]])
    trace = http.folder / "trace"
    for deed in ("echo", "outgoing", "file", "slowly"):
        words = ["strace", "-f", "-o", str(trace), "-e", "trace=clone,clone3,fork,vfork,socket", *http.argv]
        try:
            traced = subprocess.run(words, env=env_of(deed), stdin=subprocess.DEVNULL, capture_output=True)
        except FileNotFoundError:
            pytest.skip("no strace")
        if b"PTRACE" in traced.stderr:
            pytest.skip("strace may not trace here")
        assert traced.returncode == 0 and not re.search(r"(clone|fork|socket)\w*\(", trace.read_text()), deed
