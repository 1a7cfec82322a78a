"""promote = {...}: from shadow through split to persistent by rule, and back at once."""

import pytest

from harness.processes import wait_until

HEADER = 'arm_header = "X-CGI-Arm"\n'


def promote(mode="shadow", after=30, more=""):
    return (f'mode = "{mode}"\npromote = {{ after = {after}{more} }}\n'
            "split = { persistent = 50 }\n" + HEADER)


def promotion_of(bridge, script):
    return bridge.program(script)["promotion"]


def drive(bridge, script, until, what, most=1500, **more):
    """Sends requests until the promotion reaches that state; returns the arms that answered."""
    arms = []
    for _ in range(most):
        answer = bridge.request(script, **more)
        arms.append(answer.head.get("x-cgi-arm"))
        if len(arms) % 10 == 0 and until(promotion_of(bridge, script)):
            return arms
    raise AssertionError(f"{what}: {promotion_of(bridge, script)}")


def warm(bridge, script):
    bridge.request(script)
    bridge.wait_warm(script)


HELLO = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    /* Warm or not shows in the mappings; QUERY_STRING says what a warm one does with that. Classic takes its
       time, so that a busy machine does not make the warm side the slower one. */
    int main(void) {
      char line[4096];
      int warm = 0;
      FILE *maps = fopen("/proc/self/maps", "r");
      while (fgets(line, sizeof line, maps)) warm |= strstr(line, "cgibridge_checkpoint") != 0;
      if (!warm) usleep(20000);
      const char *query = getenv("QUERY_STRING");
      int differ = warm && strcmp(query, "differ") == 0;
      printf("Content-Type: text/plain\\n\\nhello%s\\n", differ ? "?" : "");
      return warm && strcmp(query, "fail") == 0;
    }
    """


@pytest.fixture
def script(site):
    return site.c("hello", HELLO)


def stage_is(stage):
    return lambda promotion: promotion["stage"] == stage


def test_a_program_that_answers_alike_becomes_persistent_by_itself(site, script):
    bridge = site.start_bridge(promote())
    warm(bridge, script)
    in_shadow = drive(bridge, script, stage_is("split"), "split")
    assert set(in_shadow[:30]) == {"classic"}  # the split begins when the 30th has been compared
    in_split = drive(bridge, script, stage_is("persistent"), "persistent")
    assert set(in_split) == {"classic", "rewind"}
    arms = [bridge.request(script).head["x-cgi-arm"] for _ in range(10)]
    assert arms == ["rewind"] * 10
    promotion = promotion_of(bridge, script)
    assert [(step["from"], step["to"]) for step in promotion["steps"]] == [
        ("shadow", "split"), ("split", "persistent")]
    assert not promotion["held"]
    bridge.expect_log(r"promotion: shadow→split: .*30")
    bridge.expect_log(r"promotion: split→persistent: ")


def test_differences_hold_it_in_shadow(site, script):
    bridge = site.start_bridge(promote())
    warm(bridge, script)
    for _ in range(60):
        assert bridge.request(script, query="differ").body == b"hello\n"
    wait_until(lambda: bridge.program(script)["shadow"]["different"] > 0, "a difference is found")
    promotion = promotion_of(bridge, script)
    assert promotion["stage"] == "shadow"
    assert "differ" in promotion["outlook"]


def test_errors_of_the_persistent_side_bring_it_back_at_once(site, script):
    bridge = site.start_bridge(promote(mode="split"))
    warm(bridge, script)
    drive(bridge, script, stage_is("persistent"), "persistent")
    arms = drive(bridge, script, stage_is("shadow"), "back in shadow", query="fail")
    assert len(arms) <= 30
    promotion = promotion_of(bridge, script)
    assert promotion["held"] and "error" in promotion["steps"][-1]["why"]
    assert [bridge.request(script).head["x-cgi-arm"] for _ in range(5)] == ["classic"] * 5
    bridge.expect_log(r"promotion: persistent→shadow: .*error")


def test_a_held_program_begins_anew_with_another_version(site, script):
    bridge = site.start_bridge(promote(mode="split"))
    warm(bridge, script)
    drive(bridge, script, lambda promotion: promotion["held"], "held", query="fail")
    site.c("hello", HELLO.replace("hello%s", "hello again%s"))
    bridge.request(script)
    promotion = promotion_of(bridge, script)
    assert (promotion["stage"], promotion["held"]) == ("split", False)


def test_other_settings_begin_anew_too(site, script):
    bridge = site.start_bridge(promote(mode="split"))
    warm(bridge, script)
    drive(bridge, script, lambda promotion: promotion["held"], "held", query="fail")
    site.rewrite_config(promote(mode="split", after=40))
    bridge.request(script)
    assert not promotion_of(bridge, script)["held"]


def test_an_operators_mode_ends_it(site, script):
    bridge = site.start_bridge(promote())
    warm(bridge, script)
    bridge.command("mode", script, "persistent")
    assert bridge.request(script).head["x-cgi-arm"] == "rewind"
    bridge.command("mode", script, "classic")
    assert bridge.request(script).head["x-cgi-arm"] == "classic"
    assert "promotion" not in bridge.program(script)
