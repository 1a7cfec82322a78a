"""WebAssembly components behind a bridge: recognised as modules are, warm as they are, held to the same
settings."""

import pytest
from harness.components import component
from harness.modules import RESETS, maker, seen, settings
from harness.processes import wait_until


@pytest.fixture
def wasm(site):
    return maker(site, component)


@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("name", ["request", "http"])
def test_a_component_is_warm_and_answers_as_in_classic(site, wasm, name, reset):
    program = wasm(name)
    bridge = site.start_bridge(settings(site, reset), bridge=wasm.bridge)
    bridge.command("mode", program, "classic")

    def ask(n):
        return seen(bridge.request(program, "POST", f"n={n}", b"x" * n, HTTP_X=f"{n}", HTTP_HOST="h"))
    wanted = [ask(n) for n in range(20)]
    assert {answer[0] for answer in wanted} == {200} and b"xxx" in wanted[3][2]
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
    for n in range(100):
        answer = bridge.request(program, query=f"visitor{n}", HTTP_COOKIE=f"secret{n}")
        assert b"runs 0, initialized 41" in answer.body and b"found 0\n" in answer.body, answer.body


@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_a_trap_is_502_with_its_functions_in_the_log_and_harms_no_other(site, wasm, mode):
    program = wasm("http")
    bridge = site.start_bridge(settings(site).replace("persistent", mode), bridge=wasm.bridge)
    good = bridge.request(program, query="drain")
    assert good.body == b"0 bytes\n"
    if mode == "persistent":
        bridge.wait_warm(program)
    for _ in range(3):
        assert bridge.request(program, query="trap").status == 502
        assert seen(bridge.request(program, query="drain")) == seen(good)
    bridge.expect_log(r"502: .* it exited with 134; its last word: .*unreachable")
    bridge.expect_log(r"in exports_wasi_http_incoming_handler_handle \(at 0x")
    assert bridge.request(program, query="error").status == 502
    bridge.expect_log(r"answers with an error: .*LoopDetected")
    answer = bridge.request(program, query="trap-late")
    assert (answer.status, answer.app_status) == (200, 134)


@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_an_answer_of_http_is_the_client_s_with_its_status_and_headers(site, wasm, mode):
    program = wasm("http")
    bridge = site.start_bridge(settings(site).replace("persistent", mode), bridge=wasm.bridge)
    bridge.request(program, query="drain")
    if mode == "persistent":
        bridge.wait_warm(program)
    answer = bridge.request(program, query="headers")
    assert answer.status == 201 and b"X-B" not in answer.head and b"chunked" not in answer.head
    assert bridge.request(program, query="status=404").status == 404
    body = bytes(range(256)) * 100
    assert bridge.request(program, "POST", "echo", body).body == body
    assert bridge.request(program, "POST", "drain", body * 400).body == b"10240000 bytes\n"
    size = 30 << 20
    assert len(bridge.request(program, query=f"volume={size}").body) == size


def test_it_has_the_folders_that_the_settings_give_and_no_more(site, wasm):
    program = wasm("files")
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    params = {"DATA": "/data", "OUTSIDE": "/etc/passwd"}
    bridge.request(program, **params)
    bridge.wait_warm(program)
    body = bridge.request(program, **params).body
    assert b"create: ok" in body and b"root:x:" not in body, body
    site.rewrite_config(settings(site, more=', read_only = ["/data"]'), bridge=wasm.bridge)
    bridge.hangup()

    def is_refused():
        return b"create: Operation not permitted" in bridge.request(program, **params).body
    wait_until(is_refused, "the new setting counts")


def test_what_is_no_program_is_told_in_the_log(site, wasm):
    program = wasm("no_program")
    bridge = site.start_bridge(settings(site).replace("persistent", "classic"), bridge=wasm.bridge)
    assert bridge.request(program).status == 502
    bridge.expect_log("exports neither wasi:cli/run nor wasi:http/incoming-handler")



def test_an_answer_of_http_through_nginx(site, wasm):
    wasm("http")
    bridge = site.start_bridge(settings(site), bridge=wasm.bridge)
    server = site.start_nginx(bridge)
    for _ in range(2):
        answer = server.send_request("/cgi-bin/http.wasm/a%2fb?x")
        assert answer.status == 200 and b"SCRIPT_NAME: /cgi-bin/http.wasm\n" in answer.body
        assert server.send_request("/cgi-bin/http.wasm?status=204").status == 204
        for bad in ("silence", "error", "status=103", "trap"):
            assert server.send_request(f"/cgi-bin/http.wasm?{bad}").status == 502
        bridge.wait_warm(site.cgi_bin / "http.wasm")
    bridge.expect_log(" 502: ")
