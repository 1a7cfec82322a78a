"""FIELD's measurement 3: hello in Python through one Apache, as CGI (mod_cgid), rewritten by hand for FastCGI
(mod_fcgid), and unchanged behind the bridge (mod_proxy_fcgi)."""

import shutil

import loads
from stage import RESPONDERS, Stage

PROGRAM = "hello.py"
SIDES = {
    "mod_cgid": "Apache mod_cgid",
    "mod_fcgid": "Apache mod_fcgid, program rewritten for FastCGI",
    "rewind": "Apache mod_proxy_fcgi, cgibridge `rewind`",
    "rewind-reuse": "the same with `enablereuse=on`",
}
CONNECTIONS = (1, 8)
WORKERS = 16


class HelloStage(Stage):
    """The bridge and an Apache that serves all sides."""

    def __init__(self, site):
        super().__init__(site, [PROGRAM], ["rewind", "mod_cgid"], True, WORKERS)

    def start_apache(self):
        responders = self.site.folder / "responders"
        shutil.copytree(RESPONDERS, responders)
        socket = self.bridges["rewind"].address
        return self.site.start_apache(None, modules=["cgid", "fcgid"], extra=f"""
            ScriptSock cgid.sock
            FcgidIPCDir fcgid
            FcgidProcessTableFile fcgid.table
            FcgidMaxProcessesPerClass {WORKERS}
            FcgidMaxRequestsPerProcess 0
            ScriptAlias "/mod_cgid/" "{self.site.cgi_bin}/"
            Alias "/mod_fcgid/" "{responders}/"
            Alias "/rewind/" "{self.site.cgi_bin}/"
            Alias "/rewind-reuse/" "{self.site.cgi_bin}/"
            <Directory "/">
              AllowOverride None
            </Directory>
            <Directory "{self.site.folder}">
              Options +ExecCGI
              Require all granted
            </Directory>
            <Location "/mod_fcgid/">
              SetHandler fcgid-script
            </Location>
            <Location "/rewind/">
              SetHandler "proxy:unix:{socket}|fcgi://once/"
            </Location>
            <Proxy "fcgi://kept/" enablereuse=on max={WORKERS}>
            </Proxy>
            <Location "/rewind-reuse/">
              SetHandler "proxy:unix:{socket}|fcgi://kept/"
            </Location>
            KeepAlive On
            MaxKeepAliveRequests 0
            LogLevel warn
            """)

    def server(self, side):
        return self.apache

    def warm_up(self):
        bodies = {side: self.answer(side, PROGRAM) for side in SIDES}
        if len(set(bodies.values())) != 1:
            raise SystemExit(f"the sides answer different bytes: {bodies}")
        self.bridges["rewind"].wait_warm(self.site.cgi_bin / PROGRAM)
        for side in SIDES:
            loads.ab(self.url(side, PROGRAM), 50, max(CONNECTIONS))


def measure(stage, requests):
    """{side: {connections: figures}}"""
    return {side: {count: loads.ab(stage.url(side, PROGRAM), requests, count) for count in CONNECTIONS}
            for side in SIDES}
