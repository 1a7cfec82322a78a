"""The settings of the web servers that the comparison starts itself. Pure: values in, text out.

Every side gets requests for the same path and sends its program the same meta-variables, so that a program
that prints them gives the same bytes everywhere.
"""
import os

MODULES = "/usr/lib/apache2/modules"
PARAMS = {
    "QUERY_STRING": "$query_string", "REQUEST_METHOD": "$request_method",
    "CONTENT_TYPE": "$content_type", "CONTENT_LENGTH": "$content_length",
    "REQUEST_URI": "$request_uri", "DOCUMENT_URI": "$document_uri",
    "DOCUMENT_ROOT": "/var/www/html", "SERVER_PROTOCOL": "$server_protocol",
    "REQUEST_SCHEME": "$scheme", "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_SOFTWARE": "ab-compare",
    "REMOTE_ADDR": "$remote_addr", "REMOTE_PORT": "$remote_port", "SERVER_ADDR": "$server_addr",
    "SERVER_PORT": "80", "SERVER_NAME": "localhost", "REDIRECT_STATUS": "200",
}


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def nginx(folder, port, places, prefix, user, connections):
    """places: {program: (upstream, file, further params)}; user: the (user, group) that it switches to, or
    None."""
    addresses = list(dict.fromkeys(address for address, _, _ in places.values()))
    upstreams = "\n".join(f"  upstream up{number} {{ server {address}; keepalive {connections}; }}"
                          for number, address in enumerate(addresses))
    locations = "\n".join(location(f"{prefix}/{program}", f"up{addresses.index(address)}", file, more)
                          for program, (address, file, more) in places.items())
    temporary = "\n".join(f"  {kind}_temp_path {folder}/{kind};"
                          for kind in ("client_body", "fastcgi", "proxy", "uwsgi", "scgi"))
    return f"""daemon off;
{f"user {user[0]} {user[1]};" if user else ""}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
  access_log off;
{temporary}
  client_max_body_size 0;
  keepalive_requests 1000000;
  fastcgi_keep_conn on;
{upstreams}
  server {{
    listen 127.0.0.1:{port};
{locations}
  }}
}}
"""


def location(path, upstream, file, more):
    params = {**PARAMS, "SCRIPT_NAME": path, "SCRIPT_FILENAME": file, **more}
    lines = "\n".join(f"      fastcgi_param {name} {quoted(value)};" for name, value in params.items())
    return f"    location = {path} {{\n{lines}\n      fastcgi_pass {upstream};\n    }}"


def apache(folder, port, programs, prefix, user):
    """programs: {name: (path, environment)}; user: as above."""
    modules = ("mpm_event", "authz_core", "alias", "env", "cgid")
    load = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules)
    aliases = "\n".join(f"ScriptAlias {quoted(f'{prefix}/{name}')} {quoted(path)}"
                        for name, (path, _) in programs.items())
    folders = "\n".join(f"<Directory {quoted(where)}>\n  Require all granted\n</Directory>"
                        for where in sorted({os.path.dirname(path) for path, _ in programs.values()}))
    env = {name: value for _, own in programs.values() for name, value in own.items()}
    set_env = "\n".join(f"SetEnv {name} {quoted(value)}" for name, value in env.items())
    return f"""{load}
{f"User {user[0]}" if user else ""}
{f"Group {user[1]}" if user else ""}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
Mutex file:{folder}
ErrorLog {folder}/error.log
ScriptSock {folder}/cgid.sock
StartServers 1
ServerLimit 2
ThreadsPerChild 25
MaxRequestWorkers 50
KeepAlive On
MaxKeepAliveRequests 0
{aliases}
{folders}
{set_env}
"""
