"""Each request has an id, by which its lines in the log, the access log, the slow log, its capture and its
answer can be found. With -s the test shows the lines as an operator sees them."""

import json
import re
import threading

import pytest

from harness import programs
from harness.processes import wait_until

HEADER = 'request_id_header = "X-Request-ID"\n'
LABEL = re.compile(r"\bid=(\S+) client=(\S+) uri=(\S+) (?:program=\S+|request)")


def dies(site):
    return site.sh("dies.cgi", "echo 'cannot open the database' >&2\nexit 3\n")


def labels(bridge, pattern="."):
    """(id, client, uri) of the log lines about requests that match."""
    lines = [line for line in bridge.log().splitlines() if re.search(pattern, line)]
    return [found.groups() for found in map(LABEL.search, lines) if found]


def test_two_failures_of_a_program_can_be_told_apart(site, mode):
    script = dies(site)
    bridge = site.start_bridge(f'mode = "{mode}"')
    bridge.allow_log("502")
    bridge.request(script, query="page=1", REMOTE_ADDR="192.0.2.1")
    bridge.request(script, query="page=2", REMOTE_ADDR="2001:db8::2")
    print(bridge.log())
    found = labels(bridge, " 502: ")
    assert [(client, uri) for _, client, uri in found] == [
        ("192.0.2.1", "/cgi-bin/dies.cgi?page=1"), ("2001:db8::2", "/cgi-bin/dies.cgi?page=2")]
    ids = [request_id for request_id, _, _ in found]
    assert len(set(ids)) == 2 and all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in ids)
    # The program's own output in the log belongs to one of them as well.
    assert labels(bridge, "stderr: cannot open") == found


def test_every_line_about_a_request_has_its_name(site):
    """Requests that are refused, without a program, killed by a signal, with a broken head, or too slow."""
    bridge = site.start_bridge('mode = "classic"\ntimeouts = { request = "300ms" }\nlimits = { body = "10" }')
    bridge.allow_log(" 50[24]: ")
    killed = site.sh("killed.cgi", "kill -SEGV $$\n")
    asked = [(site.cgi_bin / "missing.cgi", "404: "), (killed, "it was killed by signal 11"),
             (site.sh("head.cgi", "printf 'Content-Type: a/b\\nConnection: x\\n\\n'\n"), "are dropped"),
             (site.sh("slow.cgi", "sleep 30\n"), "504: ")]
    for number, (script, pattern) in enumerate(asked):
        bridge.request(script, query=f"n={number}", REQUEST_ID=f"number-{number}")
        wait_until(lambda p=pattern: labels(bridge, p), pattern)
        assert labels(bridge, pattern)[-1][0] == f"number-{number}"
        assert labels(bridge, pattern)[-1][2].endswith(f"?n={number}")
    bridge.request(killed, "POST", body=b"x" * 20, REQUEST_ID="number-9")
    assert labels(bridge, "413: ")[-1][0] == "number-9"


def test_the_same_id_is_in_every_log_the_capture_and_the_answer(site, mode):
    access, captures, slow = (site.folder / name for name in ("access.log", "captures", "slow.log"))
    script = site.sh("both.cgi", "sleep 1\necho 'a last word' >&2\nexit 4\n")
    slowlog = 'slowlog = { after = "100ms", stacks = false }'
    bridge = site.start_bridge(f'mode = "{mode}"\n{HEADER}{slowlog}', bridge=f"""
        access_log = {{ file = "{access}" }}
        slowlog = {{ file = "{slow}" }}
        captures = {{ folder = "{captures}" }}
        """)
    bridge.allow_log("502")
    answer = bridge.request(script)
    request_id = answer.head["x-request-id"]
    assert answer.status == 502 and re.fullmatch("[0-9a-f]{32}", request_id)
    # The file gets its name when it is complete.
    wait_until(lambda: list(captures.glob("*.json")), "it is captured")
    (capture,) = captures.glob("*.json")
    assert json.loads(capture.read_text())["id"] == request_id
    wait_until(lambda: access.exists() and access.read_text(), "a line of the access log")
    print(access.read_text(), slow.read_text(), bridge.log())
    assert f" id={request_id} " in access.read_text()
    assert f" id={request_id} client=127.0.0.1 program={script} " in slow.read_text()
    assert {found[0] for found in labels(bridge)} == {request_id}
    assert f"id={request_id} program={script}: captured" in bridge.log()
    assert f"(id={request_id})" in answer.stderr.decode()
    replayed = site.cgibridge("replay", capture, expect=4)
    assert f"id {request_id}" in replayed.stderr


def test_json_access_lines_have_it_and_good_answers_the_header(site, mode):
    access = site.folder / "access.log"
    script = site.sh("good.cgi", "printf 'Content-Type: text/plain\\nX-Request-Id: forged\\n\\nok\\n'\n")
    bridge = site.start_bridge(f'mode = "{mode}"\n{HEADER}arm_header = "X-Arm"',
                               bridge=f'access_log = {{ file = "{access}", format = "json" }}')
    ids = [bridge.request(script).head["x-request-id"] for _ in range(3)]
    if mode == "persistent":
        bridge.wait_warm(script)
        answer = bridge.request(script)
        assert answer.head["x-arm"] == "rewind"
        ids.append(answer.head["x-request-id"])
    assert "forged" not in ids
    wait_until(lambda: len(access.read_text().splitlines()) == len(ids), "all lines are written")
    assert [json.loads(line)["id"] for line in access.read_text().splitlines()] == ids
    bridge.expect_log(r"X-Request-Id: the bridge's own \(request_id_header\)")


def test_without_the_setting_no_answer_has_it(site):
    bridge = site.start_bridge('mode = "classic"')
    bridge.allow_log("502")
    for script in (programs.hello(site), dies(site)):
        assert not [name for name in bridge.request(script).head if "id" in name.split("-")]


@pytest.mark.parametrize("param", ["REQUEST_ID", "UNIQUE_ID"])
@pytest.mark.parametrize("sent, taken", [
    ("5f1c9a77e02b4d31a90c5f1c9a77e02b", True), ("ZL-x_9", True), ("a" * 64, True), ("a" * 65, False),
    ("", False), ("a b", False), ("a\nid=b", False), ("a\"", False), ("a@b", False),
    ("é", False), ("a/b", False)])
def test_an_id_of_the_web_server_is_taken_over_if_it_is_strict(site, param, sent, taken):
    bridge = site.start_bridge('mode = "classic"\n' + HEADER)
    got = bridge.request(programs.hello(site), **{param: sent}).head["x-request-id"]
    assert (got == sent) == taken
    if not taken:
        assert re.fullmatch("[0-9a-f]{32}", got)


def test_what_a_visitor_calls_his_request_is_none(site):
    bridge = site.start_bridge('mode = "classic"\n' + HEADER)
    head = bridge.request(programs.hello(site), HTTP_X_REQUEST_ID="mine", HTTP_REQUEST_ID="mine").head
    assert head["x-request-id"] != "mine"


def test_made_ids_are_never_the_same_in_many_requests_and_two_bridges(site):
    script = programs.hello(site)
    bridges = [site.start_bridge('mode = "persistent"\n' + HEADER, name=f"{name}.toml",
                                 listen=[f"unix:{site.folder}/{name}.sock"]) for name in ("one", "two")]
    ids = []

    def ask(bridge):
        ids.extend(bridge.request(script).head["x-request-id"] for _ in range(150))
    asking = [threading.Thread(target=ask, args=[bridge]) for bridge in bridges * 2]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(ids) == len(set(ids)) == 600


class TestAVisitorsWords:
    """The visitor controls the URI and the address: they cannot forge a line, a field or a control sequence,
    they are cut, and secrets in a query are masked as in the access log."""

    def label(self, site, **params):
        bridge = site.start_bridge('mode = "classic"')
        bridge.allow_log("502")
        bridge.request(dies(site), **params)
        (line,) = [line for line in bridge.log().splitlines() if " 502: " in line]
        print(line)
        assert len(line) < 2000 and line.isascii()
        return LABEL.search(line).groups()

    def test_they_are_escaped(self, site):
        uri = "/a b\n2026-01-01T00:00:00.000 error id=x client=y uri=z program=/forged: 502\x1b[31m\"\\\u009b"
        request_id, client, shown = self.label(site, REQUEST_URI=uri, REMOTE_ADDR="1.2.3.4 uri=/b")
        assert client == "1.2.3.4\\x20uri=/b"
        assert shown.startswith("/a\\x20b\\x0a2026-01-01T00:00:00.000\\x20error\\x20id=x")
        assert shown.endswith("\\x1b[31m\\x22\\x5c\\x9b") and request_id != "x"

    def test_they_are_cut(self, site):
        _, client, uri = self.label(site, REQUEST_URI="/" + "u" * 5000, REMOTE_ADDR="9" * 500)
        assert client == "9" * 64
        assert uri == "/" + "u" * 255 + "...(5001_bytes)"

    def test_a_request_without_them_has_neither(self, site):
        assert self.label(site, REQUEST_URI="", REMOTE_ADDR="")[1:] == ("-", "-")

    @pytest.mark.parametrize("query, shown", [
        ("page=2&password=hunter2&x=1", "page=2&password=xxxxxxx&x=1"),
        ("user[pass]=abc&q=w", "user[pass]=xxx&q=w"), ("access_token=" + "t" * 400, None)])
    def test_secrets_in_the_query_are_masked(self, site, query, shown):
        _, _, uri = self.label(site, REQUEST_URI=f"/cgi-bin/dies.cgi?{query}")
        assert "hunter2" not in uri and "tt" not in uri
        if shown:
            assert uri == f"/cgi-bin/dies.cgi?{shown}"


def test_params_that_never_became_whole_have_an_id_as_well(site):
    bridge = site.start_bridge('mode = "classic"\n' + HEADER, bridge='params_max = "4KiB"')
    answer = bridge.request(programs.hello(site), HTTP_COOKIE="c" * 9000)
    assert answer.status == 431
    assert [answer.head["x-request-id"]] == [found[0] for found in labels(bridge, "431: ")]


class TestBehindAWebServer:
    def test_nginx_gives_its_own(self, site):
        bridge = site.start_bridge('mode = "classic"')
        server = site.start_nginx(bridge, locations=f"""
            location /cgi-bin/ {{
              include /etc/nginx/fastcgi_params;
              fastcgi_param SCRIPT_FILENAME {site.folder}$fastcgi_script_name;
              fastcgi_param REQUEST_ID $request_id;
              add_header X-Nginx-ID $request_id always;
              fastcgi_pass bridge;
            }}
            """)
        bridge.allow_log("502")
        dies(site)
        answer = server.send_request("/cgi-bin/dies.cgi?a=1")
        assert set(labels(bridge)) == {(answer.headers["x-nginx-id"], "127.0.0.1", "/cgi-bin/dies.cgi?a=1")}

    def test_apache_gives_its_own(self, site):
        """The program ends the lines of its head with LF alone; Apache still finds the end of the head."""
        bridge = site.start_bridge('mode = "classic"\narm_header = "X-Arm"\n' + HEADER)
        server = site.start_apache(bridge, modules=["unique_id"])
        script = programs.report(site)
        answer = server.send_request(f"/cgi-bin/{script.name}")
        sent = programs.reported(answer)["env"]["UNIQUE_ID"]
        print(sent)
        assert len(sent) >= 20
        assert (answer.headers["x-request-id"] == sent) == bool(re.fullmatch("[0-9A-Za-z_-]+", sent))
