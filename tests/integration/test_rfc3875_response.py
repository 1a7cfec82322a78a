"""RFC 3875's response: what programs print, and what becomes of it. All tests run in both modes."""

import pytest

from harness.fastcgi import variables_for


@pytest.fixture
def answer(site, mode):
    """answer(PRINTF_TEXT) runs a program that prints it; further arguments are options of the request."""
    bridge = site.start_bridge(f'mode = "{mode}"')

    def run(text, after="", expect_ok=True, name="program", **more):
        script = site.sh(name, f"printf '{text}'\n{after}\n")
        if mode == "persistent":
            bridge.request(script, **more)
            bridge.wait_warm(script)
        return bridge.request(script, **more)
    run.bridge = bridge
    run.site = site
    return run


def test_line_feeds_alone_end_the_head_lines(answer):
    response = answer("Content-Type: text/plain\\nX-A: b\\n\\nbody\\n")
    assert (response.status, response.head["x-a"], response.body) == (200, "b", b"body\n")


def test_carriage_returns_end_the_head_lines(answer):
    response = answer("Content-Type: text/plain\\r\\nX-A: b\\r\\n\\r\\nbody\\r\\n")
    assert (response.status, response.head["x-a"], response.body) == (200, "b", b"body\r\n")


def test_a_status_is_passed_on(answer):
    response = answer("Status: 418 I am a teapot\\nContent-Type: text/plain\\n\\nshort\\n")
    assert response.head["status"] == "418 I am a teapot"
    assert response.body == b"short\n"


def test_a_redirect_is_passed_on_for_the_web_server_to_make_302_of(answer):
    response = answer("Location: http://example.org/\\n\\n")
    assert response.head["location"] == "http://example.org/"


def test_a_head_written_byte_by_byte_is_the_same_head(answer):
    response = answer("", after="""
for c in C o n t e n t - T y p e : t / p; do printf %s $c; sleep 0.002; done
printf '\\r'; sleep 0.01; printf '\\n\\r'; sleep 0.01; printf '\\n'; printf body
""")
    assert response.head["content-type"] == "t/p"
    assert response.body == b"body"


def test_an_nph_program_speaks_for_itself(answer):
    response = answer("HTTP/1.1 207 Odd\\r\\nContent-Type: text/plain\\r\\nX-N: ph\\r\\n\\r\\nbody\\n",
                      name="nph-program")
    assert response.head["status"] == "207 Odd"
    assert (response.head["x-n"], response.body) == ("ph", b"body\n")


def test_a_status_field_says_more_than_a_status_line(answer):
    response = answer("HTTP/1.0 200\\nContent-Type: text/plain\\nStatus: 404 Not Found\\n\\nbody\\n")
    assert response.head["status"] == "404 Not Found"
    assert (response.head["content-type"], response.body) == ("text/plain", b"body\n")


def test_a_head_request_gets_no_body(answer):
    response = answer("Content-Type: text/plain\\nContent-Length: 5\\n\\nbody\\n", method="HEAD")
    assert response.body == b""
    assert response.head["content-length"] == "5"


@pytest.mark.parametrize("head, status", [
    ("\\n", "200 OK"), ("\\r\\n", "200 OK"), ("X: y\\r\\r\\n\\r\\r\\n", None),
    ("Status: 404: gone\\n\\n", "404 : gone"),
    ("Status: 200OK\\nX: y\\n\\n", "200 OK"), ("Content-Length: 99\\nContent-Length: 5\\n\\n", None)])
def test_what_fcgiwrap_or_mod_cgi_would_pass_on_is_an_answer(answer, head, status):
    response = answer(head + "body\\n")
    assert response.head.get("status") == status and response.body == b"body\n"
    assert response.head.get("content-length") in (None, "5")


def test_binary_output_is_passed_on_byte_by_byte(answer):
    response = answer("Content-Type: x/y\\n\\n\\000\\001\\377\\n\\r\\n\\r\\n")
    assert response.body == b"\0\1\xff\n\r\n\r\n"


def test_what_belongs_to_the_connection_or_contradicts_itself_is_left_out(answer):
    """After a second Content-Length or a Transfer-Encoding, a web server and its client would disagree on
    where an answer ends: the program could then forge the next request's answer."""
    response = answer("Content-Type: text/plain\\r\\nContent-Length: 30\\r\\nContent-Length: 3\\r\\n"
                      "Transfer-Encoding: chunked\\r\\nConnection: close\\r\\nProxy-Authenticate: Basic\\r\\n"
                      "Trailer: X\\r\\nUpgrade: h2c\\r\\nStatus: 500\\r\\nStatus: 201\\r\\n"
                      " folded: x\\r\\nX-A: b\\r\\n\\r\\nabc")
    assert response.head == {"content-type": "text/plain", "content-length": "3", "status": "201",
                             "x-a": "b"}
    assert response.body == b"abc"
    answer.bridge.expect_log("8 line.s. of its head are dropped: .*a folded line")


def test_a_body_ends_where_its_content_length_says(site, mode):
    """mod_fcgid and mod_cgi would send the rest as the beginning of the connection's next answer."""
    forged = b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nevil!"
    script = site.perl("longer", f"""
        $| = 1; my ($length, $first, $rest) = split /,/, $ENV{{QUERY_STRING}};
        print "Content-Type: text/plain\\nContent-Length: $length\\n\\n", "b" x $first;
        select undef, undef, undef, 0.05 if $rest;
        print "b" x $rest, "{forged.decode()}"; print STDERR "end\\n";
        """)
    bridge = site.start_bridge(f'mode = "{mode}"')
    if mode == "persistent":
        bridge.request(script, query="0,0,0")
        bridge.wait_warm(script)
    with bridge.connect() as peer:
        for length, first in ((0, 0), (5, 5), (5, 0), (70_000, 5), (200_000, 200_000), (200_000, 100_000)):
            response = peer.request(script, query=f"{length},{first},{length - first}")
            assert response.body == b"b" * length and response.stderr == b"end\n"
    bridge.expect_log("its body is longer than its Content-Length: the rest is dropped")


def test_of_two_fields_with_one_name_the_last_counts(answer):
    response = answer("Status: 404 No\\nContent-Type: x/first\\nLocation: http://a.example/\\n"
                      "Status: 301 Moved\\nContent-Type: x/last\\nLocation: http://b.example/\\n\\n")
    assert response.head == {"content-type": "x/last", "location": "http://b.example/",
                             "status": "301 Moved"}


def test_what_is_dropped_or_changed_of_a_head_is_named_with_its_reason(site, mode):
    script = site.sh("head", r"""
        printf 'Content-Type: t/p\nTransfer-Encoding: chunked\nConnection: close, X-Foo\nX-Foo: 1\n'
        printf 'Status: 404\nStatus: 200 \001OK\nX-Ctl: a\033b\tc\nX-CGI-Arm: none\n\nbody\n'
        """)
    bridge = site.start_bridge(f'mode = "{mode}"\narm_header = "X-CGI-Arm"')
    head = bridge.request(script).head
    assert (head["status"], head["x-ctl"]) == ("200  OK", "a b\tc")
    assert head["x-cgi-arm"] in ("classic", "rewind", "fork") and "x-foo" not in head
    bridge.expect_log("5 line.s. of its head are dropped: "
                      "Transfer-Encoding: the connection is the web server's; "
                      "Connection: the connection is the web server's; X-Foo: Connection names it; "
                      r"Status: a later one counts; X-CGI-Arm: the bridge's own \(arm_header\)")
    bridge.expect_log("2 control byte.s. in its head are replaced by spaces")


@pytest.mark.parametrize("text", [
    "", "no colon in sight\\n\\nbody", "Content-Type text/plain\\n\\n", "Content-Type: x",
], ids=["nothing", "a-sentence", "a-field-without-colon", "a-head-cut-short"])
def test_no_proper_head_is_a_502_with_the_reason_in_the_log(answer, text):
    answer.bridge.allow_log("program")
    response = answer(text, after="echo a last sigh >&2")
    assert response.status == 502
    assert b"a last sigh" not in response.body
    answer.bridge.expect_log(r"502|head|response")
    answer.bridge.expect_log("a last sigh")


def test_a_head_without_end_is_a_502(answer):
    answer.bridge.allow_log("program")
    response = answer("A: ", after="head -c 200000 /dev/zero | tr '\\0' x; echo; echo")
    assert response.status == 502


def test_what_a_program_writes_to_stderr_reaches_client_and_log(answer):
    response = answer("Content-Type: text/plain\\n\\nbody\\n", after="echo careful now >&2")
    assert response.body == b"body\n"
    assert b"careful now" in response.stderr


def test_a_megabyte_of_stderr_blocks_nothing(answer):
    response = answer("Content-Type: text/plain\\n\\n",
                      after="head -c 1000000 /dev/zero | tr '\\0' e >&2; echo body")
    assert response.body == b"body\n"


def test_a_program_killed_before_its_head_is_a_502(answer):
    answer.bridge.allow_log("program")
    response = answer("", after="kill -SEGV $$")
    assert response.status == 502
    assert response.app_status != 0


def test_a_program_killed_in_its_body_keeps_what_it_wrote(answer):
    answer.bridge.allow_log("program")
    response = answer("Content-Type: text/plain\\n\\npartial", after="kill -KILL $$")
    assert (response.status, response.body) == (200, b"partial")
    assert response.app_status != 0


def test_output_arrives_as_it_is_written(answer):
    response = answer("Content-Type: text/event-stream\\n\\n")
    assert response.status == 200
    script = answer.site.sh("events", """
        printf 'Content-Type: text/event-stream\\n\\ndata: 1\\n\\n'
        read wait
        printf 'data: 2\\n\\n'
        """)
    with answer.bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(script, "POST", body=b"go\n"))
        assert b"data: 1" in peer.wait_for_output(b"data: 1")
        peer.stdin(b"go\n")
        peer.stdin(b"")
        assert peer.response().body == b"data: 1\n\ndata: 2\n\n"


def test_a_program_that_cannot_be_started_is_a_502(site, mode):
    script = site.script("broken", "#!/no/such/interpreter\n")
    bridge = site.start_bridge(f'mode = "{mode}"')
    bridge.allow_log("broken")
    for _ in range(3):
        assert bridge.request(script).status == 502
    bridge.expect_log(r"no/such/interpreter|No such file|no such file")
