"""Programs that speak FastCGI themselves (`launch = "fastcgi"`), pooled and called by the bridge: written
with libfcgi, CGI::Fast and Go's library, and scripted ones that break every rule there is."""

import hashlib
import os
import pathlib
import shutil
import threading

import pytest

from harness import processes
from harness.bridge import BUILD
from harness.fastcgi import Closed, variables_for
from harness.processes import wait_until

RESPONDERS = BUILD / "examples" / "responders"
FASTCGI = 'mode = "persistent"\nlaunch = "fastcgi"\n'
ONE = FASTCGI + "workers = { max = 1, spare = 1 }\n"

# With libfcgi's stdio a program is both: a CGI program for one request, or a responder for many.
BATTERY = r"""
    #include <fcgi_stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    extern char **environ;
    static int by_name(const void *a, const void *b) {
      return strcmp(*(char *const *)a, *(char *const *)b);
    }
    int main(void) {
      static char bytes[65536];
      int served = 0, status = 0;
      while (FCGI_Accept() >= 0) {
        const char *q = getenv("QUERY_STRING");
        ++served;
        FCGI_SetExitStatus(status = 0);
        if (!strcmp(q, "crash-first")) abort();
        if (!strncmp(q, "silent=", 7)) sleep(atoi(q + 7));
        printf("Content-Type: application/octet-stream\r\n\r\n");
        if (!strcmp(q, "echo")) {
          size_t got;
          while ((got = fread(bytes, 1, sizeof bytes, stdin)) > 0) fwrite(bytes, 1, got, stdout);
        } else if (!strncmp(q, "big=", 4)) {
          memset(bytes, 0, sizeof bytes);  // or the request before shows
          for (long left = atol(q + 4); left > 0; left -= sizeof bytes)
            fwrite(bytes, 1, left < (long)sizeof bytes ? (size_t)left : sizeof bytes, stdout);
        } else if (!strcmp(q, "crash")) {
          printf("half"); fflush(stdout); abort();
        } else if (!strncmp(q, "exit=", 5)) {
          printf("%d\n", status = atoi(q + 5)); FCGI_SetExitStatus(status);
        } else if (!strcmp(q, "stderr")) {
          fprintf(stderr, "a word of complaint\n");
          write(2, "a word to the log\n", 18);
        } else if (!strcmp(q, "env")) {
          int count = 0;
          while (environ[count]) ++count;
          qsort(environ, count, sizeof *environ, by_name);
          for (int i = 0; i < count; ++i) printf("%s\n", environ[i]);
        } else if (!strncmp(q, "hang", 4)) {
          printf("begun\n"); fflush(stdout);
          for (;;) pause();
        } else if (!strcmp(q, "leave")) {
          printf("last\n"); FCGI_Finish(); exit(0);
        } else {
          printf("%d %d\n", served, (int)getpid());
        }
      }
      return status;
    }
    """

# An application whose behaviour BEHAVIOUR chooses, written by hand on the socket that is its descriptor 0.
SCRIPTED = '''
    import os, socket, struct, sys
    BEHAVIOUR = "%s"
    def record(type, id, content=b""):
        return struct.pack(">BBHHBx", 1, type, id, len(content), 0) + content
    def read(connection, count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more: raise EOFError
            data += more
        return data
    def next_record(connection):
        _, type, id, length, padding = struct.unpack(">BBHHBx", read(connection, 8))
        return type, read(connection, length + padding)[:length]
    listener = socket.socket(fileno=0)
    served = 0
    def serve(connection):
        global served
        while True:
            type, content = next_record(connection)
            if type == 9 and BEHAVIOUR != "closes-at-questions":
                type = 11 if BEHAVIOUR == "knows-no-values" else 10
                connection.sendall(record(type, 0, b"\\x09" + b"\\0" * 7))
                continue
            if type == 9 and BEHAVIOUR == "closes-at-questions": return
            if type != 5 or content: continue
            served += 1
            if BEHAVIOUR == "overloaded" and served == 1:
                connection.sendall(record(3, 1, b"\\0\\0\\0\\0\\2\\0\\0\\0")); continue
            if BEHAVIOUR == "garbage" and served == 2:
                connection.sendall(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n"); continue
            answer = b"Content-Type: text/plain\\r\\n\\r\\n%%d %%d\\n" %% (served, os.getpid())
            if BEHAVIOUR == "hangs-up" and served == 2:
                connection.sendall(record(6, 1, answer)); return
            connection.sendall(record(6, 1, answer) + record(3, 1, b"\\0" * 8))
            if BEHAVIOUR == "closes" or (BEHAVIOUR == "closes-later" and served %% 2 == 0): return
    if BEHAVIOUR == "never-accepts":
        while True: os.read(os.open("/dev/zero", os.O_RDONLY), 1); __import__("time").sleep(60)
    while True:
        connection, _ = listener.accept()
        try: serve(connection)
        except (EOFError, OSError): pass
        connection.close()
    '''


@pytest.fixture
def battery(site):
    return site.c("battery", BATTERY, "-w", "-lfcgi")


def scripted(site, behaviour):
    return site.python(behaviour + ".py", SCRIPTED % behaviour)


def served_and_pid(response):
    assert response.status == 200, response
    return tuple(map(int, response.body.split()))


def exchange(bridge, script, query, body, **more):
    """One request whose body is sent while its answer is read."""
    with bridge.connect() as peer:
        peer.begin(keep=False)
        peer.params(variables_for(script, "POST", query, body, **more))

        def send():
            peer.stdin(body)
            peer.stdin(b"")
        sender = threading.Thread(target=send)
        sender.start()
        try:
            return peer.response()
        finally:
            sender.join()


class TestLife:
    def test_one_process_serves_one_request_after_another(self, site, battery):
        bridge = site.start_bridge(ONE)
        seen = [served_and_pid(bridge.request(battery)) for _ in range(10)]
        assert [count for count, _ in seen] == list(range(1, 11))
        assert len({pid for _, pid in seen}) == 1
        entry = bridge.program(battery)
        assert (entry["level"], entry["reset"], entry["zygote_pid"]) == ("fastcgi", "none", None)
        assert entry["requests_persistent"] == 10 and entry["requests_classic"] == 0

    def test_the_first_request_waits_for_the_start(self, site):
        script = scripted(site, "keeps")
        bridge = site.start_bridge(ONE)
        assert served_and_pid(bridge.request(script))[0] == 1

    def test_requests_at_once_get_a_process_each(self, site, battery):
        bridge = site.start_bridge(FASTCGI + "workers = { max = 4 }\n")
        peers = [bridge.connect() for _ in range(4)]
        for peer in peers:
            peer.start(battery, query="silent=3")
        # Otherwise one that has served already might serve another.
        wait_until(lambda: bridge.program(battery)["workers"]["busy"] == 4, "all run at once")
        pids = {served_and_pid(peer.response())[1] for peer in peers}
        for peer in peers:
            peer.close()
        assert len(pids) == 4

    def test_a_worker_is_replaced_after_max_requests(self, site, battery):
        bridge = site.start_bridge(FASTCGI + "workers = { max = 1, spare = 1, max_requests = 3 }\n")
        counts = [served_and_pid(bridge.request(battery))[0] for _ in range(9)]
        assert max(counts) <= 4 and counts.count(1) >= 2, counts
        assert bridge.program(battery)["retired"]["max_requests"] >= 2

    def test_a_changed_program_answers_at_once_and_what_runs_is_finished(self, site, battery):
        bridge = site.start_bridge(ONE)
        old = served_and_pid(bridge.request(battery))[1]
        with bridge.connect() as peer:
            peer.start(battery, query="silent=2")
            wait_until(lambda: bridge.program(battery)["workers"]["busy"] == 1, "it runs")
            battery.rename(battery.with_name("old"))
            shutil.copy2(battery.with_name("old"), battery)
            assert served_and_pid(bridge.request(battery))[1] != old
            assert served_and_pid(peer.response())[1] == old
        wait_until(lambda: not processes.alive(old), "the old process is gone", 10)

    def test_idle_workers_end_with_the_bridge_and_leave_no_socket(self, site, battery):
        before = set(pathlib.Path("/tmp").glob("cgibridge-??????"))
        bridge = site.start_bridge(FASTCGI)
        pid = served_and_pid(bridge.request(battery))[1]
        # Folders of other bridges come and go.
        wait_until(lambda: set(pathlib.Path("/tmp").glob("cgibridge-??????")) <= before,
                   "its socket has no name")
        bridge.expect_clean_stop()
        assert not processes.alive(pid)

    def test_other_settings_start_new_processes(self, site, battery):
        bridge = site.start_bridge(ONE)
        old = served_and_pid(bridge.request(battery))[1]
        site.rewrite_config(ONE + 'env = { COLOUR = "blue" }\n')
        bridge.hangup()
        wait_until(lambda: served_and_pid(bridge.request(battery))[1] != old, "a new process answers")


class TestBodies:
    BODY = os.urandom(1 << 20) * 3

    def test_a_body_goes_through_both_ways_at_once(self, site, battery):
        bridge = site.start_bridge(ONE)
        for _ in range(3):
            answer = exchange(bridge, battery, "echo", self.BODY)
            assert hashlib.sha1(answer.body).digest() == hashlib.sha1(self.BODY).digest()

    def test_a_body_of_unknown_length_is_given_its_length(self, site, battery):
        bridge = site.start_bridge(ONE)
        answer = exchange(bridge, battery, "echo", self.BODY, CONTENT_LENGTH=None,
                          HTTP_TRANSFER_ENCODING="chunked")
        assert answer.body == self.BODY

    @pytest.mark.plain_build  # ASan keeps freed memory
    def test_a_client_that_does_not_read_stops_the_program(self, site, battery):
        bridge = site.start_bridge(ONE)
        size = 16 << 20
        with bridge.connect() as peer:
            peer.start(battery, query=f"big={size}")
            peer.wait_for_output(b"\r\n\r\n")
            wait_until(lambda: bridge.program(battery)["workers"]["busy"] == 1, "it runs")
            memory = processes.memory_kib(bridge.pid)
            received, record = 0, None
            while record is None or record.type != 3:
                record = peer.next_record()
                received += len(record.content) if record.type == 6 else 0
            assert received > size - 100_000
        assert processes.memory_kib(bridge.pid) < memory + 4 * 1024

    def test_a_body_that_is_not_read_does_not_reach_the_next_request(self, site, battery):
        bridge = site.start_bridge(ONE)
        pids = set()
        for count in range(1, 6):
            answer = bridge.request(battery, "POST", "pid", b"x" * 300_000)
            served, pid = served_and_pid(answer)
            pids.add(pid)
            assert served == count
        assert len(pids) == 1

    def test_a_head_request_has_no_body(self, site, battery):
        bridge = site.start_bridge(ONE)
        bridge.request(battery)
        answer = bridge.request(battery, "HEAD")
        assert answer.status == 200 and answer.body == b""


class TestEnds:
    def test_the_exit_code_is_passed_on(self, site, battery):
        bridge = site.start_bridge(ONE)
        answer = bridge.request(battery, query="exit=3")
        assert (answer.app_status, answer.body) == (3, b"3\n")
        assert bridge.request(battery).app_status == 0

    def test_standard_error_goes_to_the_web_server_and_the_processs_own_to_the_log(self, site, battery):
        bridge = site.start_bridge(ONE)
        assert bridge.request(battery, query="stderr").stderr == b"a word of complaint\n"
        bridge.expect_log("stderr: a word of complaint")
        bridge.expect_log("stderr: a word to the log")

    def test_a_crash_before_the_answer_is_a_502_with_a_reason(self, site, battery):
        bridge = site.start_bridge(ONE)
        bridge.request(battery)
        answer = bridge.request(battery, query="crash-first")
        assert answer.status == 502 and b"signal 6" in answer.stderr
        bridge.expect_log("gone before the request's end: killed by signal 6")
        assert served_and_pid(bridge.request(battery))[0] == 1

    def test_a_crash_in_the_middle_breaks_the_answer_off(self, site, battery):
        bridge = site.start_bridge(ONE)
        with bridge.connect() as peer:
            peer.start(battery, query="crash")
            with pytest.raises(Closed):
                peer.response()
        bridge.expect_log("gone before the request's end")
        assert served_and_pid(bridge.request(battery))[0] == 1

    def test_a_program_may_leave_behind_an_answer(self, site, battery):
        bridge = site.start_bridge(ONE)
        for _ in range(3):
            answer = bridge.request(battery, query="leave")
            assert (answer.status, answer.body) == (200, b"last\n")

    def test_a_request_that_takes_too_long_is_a_504(self, site, battery):
        bridge = site.start_bridge(
            ONE + 'timeouts = { request = "3s", kill_grace = "200ms" }\n')
        pid = served_and_pid(bridge.request(battery))[1]
        assert bridge.request(battery, query="silent=60").status == 504
        bridge.expect_log("timeouts.request")
        wait_until(lambda: not processes.alive(pid), "it is ended")
        assert served_and_pid(bridge.request(battery))[0] == 1

    def test_silence_is_a_504(self, site, battery):
        bridge = site.start_bridge(
            ONE + 'timeouts = { output = "500ms", kill_grace = "200ms" }\n')
        assert bridge.request(battery, query="silent=60").status == 504
        bridge.expect_log("timeouts.output")

    def test_a_client_that_leaves_aborts_the_request(self, site, battery):
        bridge = site.start_bridge(ONE + 'timeouts = { kill_grace = "300ms" }\n')
        pid = served_and_pid(bridge.request(battery))[1]
        with bridge.connect() as peer:
            peer.start(battery, query="hang")
            peer.wait_for_output(b"begun")
            peer.abort()
            assert peer.response().protocol_status == 0
        wait_until(lambda: not processes.alive(pid), "it is ended, as it does not end by itself")
        assert served_and_pid(bridge.request(battery))[0] == 1

    def test_a_request_that_ends_soon_after_its_client_left_costs_no_worker(self, site, battery):
        bridge = site.start_bridge(ONE + 'timeouts = { kill_grace = "10s" }\n')
        pid = served_and_pid(bridge.request(battery))[1]
        with bridge.connect() as peer:
            peer.start(battery, query="silent=2")
            wait_until(lambda: bridge.program(battery)["workers"]["busy"] == 1, "it runs")
        assert served_and_pid(bridge.request(battery))[1] == pid


class TestManners:
    """Applications that do what they should not."""

    @pytest.mark.parametrize("behaviour", ["keeps", "closes", "closes-later", "closes-at-questions",
                                           "knows-no-values"])
    def test_no_request_is_lost(self, site, behaviour):
        script = scripted(site, behaviour)
        bridge = site.start_bridge(ONE)
        for count in range(1, 21):
            assert served_and_pid(bridge.request(script))[0] == count

    def test_a_program_that_is_overloaded_is_replaced_and_another_takes_the_request(self, site):
        script = scripted(site, "overloaded")
        bridge = site.start_bridge(FASTCGI + "workers = { max = 2 }\n")
        # Each process refuses its first request, and cannot answer as a CGI program at all.
        bridge.allow_log("no proper answer|No proper answer|502")
        assert bridge.request(script).status == 502
        bridge.expect_log("it refuses a request")

    def test_garbage_is_the_end_of_that_connection_alone(self, site):
        script = scripted(site, "garbage")
        bridge = site.start_bridge(ONE)
        assert served_and_pid(bridge.request(script))[0] == 1
        assert bridge.request(script).status == 502
        bridge.expect_log("it broke the protocol: a record's version is not 1")
        bridge.expect_log("502")
        assert served_and_pid(bridge.request(script))[0] == 1

    def test_an_answer_without_an_end_is_broken_off(self, site):
        script = scripted(site, "hangs-up")
        bridge = site.start_bridge(ONE)
        assert served_and_pid(bridge.request(script))[0] == 1
        with bridge.connect() as peer, pytest.raises(Closed):
            peer.request(script)
        bridge.expect_log("closed its connection before the request's end")

    def test_a_program_that_never_accepts_is_given_up_with_a_reason(self, site):
        script = scripted(site, "never-accepts")
        bridge = site.start_bridge(
            ONE + 'timeouts = { start = "200ms", request = "1s", kill_grace = "100ms" }\n')
        assert bridge.request(script).status in (502, 504)
        bridge.expect_log("it has not accepted a connection in time")
        bridge.expect_log("50[24]")

    def test_a_program_that_is_no_fastcgi_program_runs_classic_and_status_says_why(self, site):
        script = site.sh("plain", "printf 'Content-Type: text/plain\\n\\n1 %s\\n' $$\n")
        bridge = site.start_bridge(ONE)
        served_and_pid(bridge.request(script))
        wait_until(lambda: bridge.request(script) and bridge.program(script)["level"] == "none",
                   "it is given up", 10)
        assert "before they are ready" in bridge.program(script)["level_reason"]


class TestAsCgi:
    def test_a_hundred_requests_are_the_same_as_by_plain_cgi(self, site, battery):
        bridge = site.start_bridge('mode = "classic"\nlaunch = "fastcgi"\n')
        asked = [("GET", "env", b""), ("POST", "echo", b"a body"), ("GET", "exit=7", b""),
                 ("HEAD", "env", b""), ("GET", "big=100000", b"")]

        def answers():
            # libfcgi itself adds the role.
            return [(answer.head, answer.body.replace(b"FCGI_ROLE=RESPONDER\n", b""), answer.app_status)
                    for method, query, body in asked
                    for answer in [bridge.request(battery, method, query, body)]]
        wanted = answers()
        bridge.command("mode", battery, "persistent")
        for _ in range(20):
            assert answers() == wanted
        assert bridge.program(battery)["requests_persistent"] == 100

    def test_split_divides_between_plain_cgi_and_fastcgi(self, site, battery):
        bridge = site.start_bridge('mode = "split"\nsplit = { persistent = 50 }\nlaunch = "fastcgi"\n')
        for _ in range(20):
            assert bridge.request(battery, query="env").status == 200
        entry = bridge.program(battery)
        assert (entry["requests_classic"], entry["requests_persistent"]) == (10, 10)
        assert entry["arm"] == "split/none"

    def test_shadow_compares_plain_cgi_with_fastcgi(self, site, battery):
        bridge = site.start_bridge('mode = "shadow"\nshadow = { methods = ["GET", "POST"] }\n'
                                   'launch = "fastcgi"\n')
        for _ in range(5):
            assert bridge.request(battery, "POST", "echo", b"a body").body == b"a body"

        def compared():
            shadow = bridge.program(battery)["shadow"]
            return shadow if shadow["compared"] >= 5 else None
        assert wait_until(compared, "all were compared")["different"] == 0


class TestRealLibraries:
    @pytest.mark.parametrize("name", ["hello.fcgi", "hello.pl", "hello-cgi.pl", "hello-go.fcgi"])
    def test_a_hand_written_responder_is_an_arm_of_the_bridge(self, site, name):
        if not (RESPONDERS / name).exists():
            pytest.skip("not built")
        script = site.cgi_bin / name
        shutil.copy2(RESPONDERS / name, script)
        bridge = site.start_bridge(FASTCGI)
        for _ in range(100):
            answer = bridge.request(script)
            assert (answer.status, answer.body) == (200, b"Hello, world!\n")
        entry = bridge.program(script)
        assert (entry["requests_persistent"], entry["level"]) == (100, "fastcgi")

    def test_a_cgi_fast_program_that_leaves_the_end_of_its_bodies_unread_keeps_its_state(self, site):
        script = site.perl("fast.pl", """
            use CGI::Fast;
            my $served = 0;
            while (my $cgi = CGI::Fast->new) {
                $served++;
                print $cgi->header('text/plain'), $served, ' ', $$, ' ',
                    length($cgi->param('POSTDATA') // '');
            }
            """)
        bridge = site.start_bridge(ONE)
        for count in range(1, 11):
            answer = bridge.request(script, "POST", body=b"y" * 100_000, CONTENT_TYPE="text/plain")
            assert answer.body.split()[0] == b"%d" % count and answer.body.split()[2] == b"100000"

    def test_many_clients_at_once_lose_nothing(self, site, battery):
        bridge = site.start_bridge(FASTCGI + "workers = { max = 3, max_requests = 20 }\n")
        failures = []

        def client():
            for n in range(40):
                body = b"%d" % n * 5000
                answer = bridge.request(battery, "POST", "echo", body)
                if answer.body != body:
                    failures.append(answer)
        threads = [threading.Thread(target=client) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
