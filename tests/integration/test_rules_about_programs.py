"""The rules of config/README.md about one program hold in each front end, however its URL is spelled."""

import http.client

import pytest

from harness import programs
from harness.webserver import require, shipped
from test_front_ends import start_front_end

# Where the rule goes, and the rule.
RULES = {
    "nginx": ("nginx/nginx-cgi-bin.conf", "location /cgi-bin/ {",
              "location /cgi-bin/admin { deny all; }\nlocation /cgi-bin/ {"),
    "apache": ("apache/apache-proxy-fcgi.conf", "ProxyFCGIBackendType",
               '<Location "/cgi-bin/admin">\nRequire all denied\n</Location>\nProxyFCGIBackendType'),
    "apache-files": ("apache/apache-proxy-fcgi.conf", "ProxyFCGIBackendType",
                     '<Files "admin">\nRequire all denied\n</Files>\nProxyFCGIBackendType'),
    "lighttpd": ("lighttpd/lighttpd-cgibridge.conf", "fastcgi.server",
                 'server.modules += ("mod_access")\n'
                 '$HTTP["url"] =~ "^/cgi-bin/admin" { url.access-deny = ("") }\nfastcgi.server'),
    "haproxy": ("haproxy/haproxy-cgibridge.cfg", "#http-request deny", "http-request deny"),
    "caddy": ("caddy/Caddyfile", None, None),
    "h2o": ("h2o/h2o-cgibridge.conf", "    paths:\n",
            "    paths:\n      /cgi-bin/admin:\n        file.dir: /nonexistent\n"),
}
# Below /cgi-bin/.
SPELLINGS = """
admin admin/ admin/x admin// admin/. admin/x/../../admin admin/../admin admin?x admin?hello admin/hello
admin#x /admin //admin ///admin/x ./admin x/../admin hello/../admin hello/%2e%2e/admin sub/../admin
sub/%2e%2e/admin sub/..%2fadmin hello%2f..%2fadmin %2e/admin %2E/admin %2e%2e/cgi-bin/admin
../cgi-bin/admin %61dmin adm%69n %61%64%6d%69%6e %2561dmin adm%2569n admin%2f admin%2Fx %2fadmin %2Fadmin
%2f/admin/x a%64min/x /a%64min/x admin; admin;x admin%3b admin%3Fx admin%3F admin/%3f admin%00 admin%00x
admin%0a admin%0d admin%0a/x admin%20 admin+ admin. admin%2e ADMIN admin%23 admin%25 admin\\ admin%5c
\\admin admin~ ..;/cgi-bin/admin ;/admin hello/..;/admin admin%e0%80%af %c1%a1dmin admin%u002f
""".split()
WHOLE = """
//cgi-bin/admin /cgi-bin//admin /cgi-bin///admin /./cgi-bin/admin /x/../cgi-bin/admin /%63gi-bin/admin
/cgi%2dbin/admin /cgi-bin%2fadmin /CGI-BIN/admin ///cgi-bin///admin http://localhost/cgi-bin/admin
http://localhost/cgi-bin//admin http://localhost//cgi-bin/admin /cgi-bin;x/admin cgi-bin/admin
\\cgi-bin\\admin
""".split()


def with_rule(monkeypatch, name):
    """Puts the rule into the shipped file where a user would."""
    file, mark, rule = RULES[name]

    def changed(wanted, site, bridge):
        text = shipped(wanted, site, bridge)
        if wanted != file:
            return text
        if mark is None:
            return text.replace("#@admin", "@admin").replace("#respond", "respond")
        assert mark in text
        return text.replace(mark, rule, 1)
    monkeypatch.setattr("test_front_ends.shipped", changed)
    monkeypatch.setattr("harness.webserver.shipped", changed)


def body_of(server, target):
    """What a visitor gets who sends this as it is; some front ends just close."""
    request = f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with server.send_raw(request.encode("latin-1")) as connection:
        answer = http.client.HTTPResponse(connection)
        try:
            answer.begin()
            return answer.read()
        except (http.client.HTTPException, OSError):
            return b""


@pytest.mark.parametrize("name", RULES)
def test_no_spelling_of_a_forbidden_program_is_answered(site, monkeypatch, name):
    front_end = name.partition("-")[0]
    require(front_end)
    programs.hello(site)
    programs.hello(site, "admin", "for few")
    programs.hello(site, "sub/x")
    (site.folder / "html").mkdir()
    bridge = site.start_bridge('mode = "classic"')
    bridge.allow_log(".")
    with_rule(monkeypatch, name)
    server = start_front_end(site, bridge, front_end)
    assert body_of(server, "/cgi-bin/hello") == b"hello\n"
    answered = [target for target in [*(f"/cgi-bin/{spelling}" for spelling in SPELLINGS), *WHOLE]
                if b"for few" in body_of(server, target)]
    assert answered == []


def test_a_line_end_in_path_info_reaches_the_program_through_nginx(site):
    """"." of a location's regular expression matches none."""
    programs.report(site)
    bridge = site.start_bridge('mode = "classic"')
    nginx = start_front_end(site, bridge, "nginx")
    assert programs.reported(nginx.send_request("/cgi-bin/report/a%0ab"))["env"]["PATH_INFO"] == "/a\nb"
