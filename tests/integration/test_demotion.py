"""How much one visitor's requests can change for everybody else: the way in which a program is run depends on
its costs, never on a few requests that somebody chose."""

import pytest

from harness import programs
from harness.processes import wait_until

# ?thread leaves a thread behind that cannot be ended, which costs its worker. Everything else leaves nothing.
SOMETIMES_C = programs.DEAF_THREAD_C + r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    int main(void) {
      pthread_t thread;
      const char* query = getenv("QUERY_STRING");
      if (query != NULL && strcmp(query, "thread") == 0) {
        pthread_create(&thread, NULL, sleep_on, NULL);
        while (!runs) usleep(10);
      }
      printf("Content-Type: text/plain\n\n%d\n", (int)getpid());
      return 0;
    }
    """

# It prints what it read while it was compiled, so another visitor's Host header makes its answer wrong.
EARLY_PL = r"""
    my $host;
    BEGIN { $host = $ENV{SERVER_NAME} }
    print "Content-Type: text/plain\n\n$host\n";
    """


def ask_often(bridge, script, count, **more):
    return [bridge.request(script, **more) for _ in range(count)]


class TestRewinding:
    @pytest.fixture
    def bridge(self, site):
        return site.start_bridge('mode = "persistent"\nworkers = { max = 4, spare = 1 }\n')

    @pytest.fixture
    def script(self, site, bridge):
        script = site.c("x", SOMETIMES_C, "-pthread")
        bridge.request(script)
        bridge.wait_warm(script)
        return script

    def test_is_not_taken_away_by_requests_that_end_their_workers(self, bridge, script):
        """There are more of them than rewind.max_retired, which would have been enough if that number alone
        decided."""
        for _ in range(40):
            for query in ("thread", "thread", "thread", ""):
                assert bridge.request(script, query=query).status == 200
        entry = bridge.program(script)
        assert entry["retired"]["threads"] >= 60
        assert (entry["reset"], entry["reset_reason"]) == ("rewind", "")

    def test_is_taken_away_for_a_time_where_it_never_works(self, bridge, script):
        ask_often(bridge, script, 60, query="thread")
        wait_until(lambda: bridge.program(script)["reset"] == "fork", "it is forked")
        bridge.expect_log("rewind is tried again in 60 s, or when it changes")
        entry = bridge.program(script)
        assert "us to put back or replace its worker" in entry["reset_reason"]
        assert 0 < entry["retry_in_ms"] <= 60_000

    @pytest.mark.slow
    def test_is_tried_again_after_its_time(self, bridge, script):
        ask_often(bridge, script, 60, query="thread")
        wait_until(lambda: bridge.program(script)["reset"] == "fork", "it is forked")

        def rewinds():
            bridge.request(script)
            return bridge.program(script)["reset"] == "rewind"
        wait_until(rewinds, "it rewinds again", 90)
        assert bridge.program(script)["reset_reason"] == ""


class TestTheLevel:
    @pytest.fixture
    def script(self, site):
        return site.perl("early.pl", EARLY_PL)

    @pytest.fixture
    def bridge(self, site, script):
        bridge = site.start_bridge('mode = "persistent"\n')
        bridge.request(script)
        assert bridge.wait_warm(script)["level"] == "compiled"
        return bridge

    def test_is_not_lost_by_a_request_that_it_is_wrong_for(self, bridge, script):
        for _ in range(20):
            assert bridge.request(script, SERVER_NAME="other").body == b"other\n"
            assert bridge.request(script).body == b"localhost\n"
        entry = bridge.program(script)
        assert (entry["level"], entry["level_reason"]) == ("compiled", "")
        assert entry["started_anew"] == 20 and entry["newest_generation"] == 1
        bridge.expect_log(r"a request was started anew: .*SERVER_NAME")
        assert bridge.log().count("a request was started anew") == 1
        assert "cgibridge_program_started_anew_total{" in bridge.command("status", "--openmetrics")

    def test_is_given_up_for_a_time_if_it_is_wrong_for_nearly_all(self, bridge, script):
        def shallower():
            answers = ask_often(bridge, script, 20, SERVER_NAME="other")
            assert {answer.body for answer in answers} == {b"other\n"}
            entry = bridge.program(script)
            return entry if entry["level"] == "linked" else None
        entry = wait_until(shallower, "it is shallower", 30)
        assert "requests were started anew" in entry["level_reason"]
        assert "SERVER_NAME" in entry["level_reason"]
        assert 0 < entry["retry_in_ms"] <= 60_000
