// What real web servers send for the program /srv/www/cgi-bin/s.cgi (or "a b.cgi"), recorded from
// nginx 1.22.1, Apache 2.4 (mod_proxy_fcgi) and lighttpd 1.4.69 on loopback with a server that
// records its FastCGI params. Lines that say nothing about the script are left out.
#pragma once

#include <string_view>

namespace recorded {

struct Request {
  std::string_view server;
  std::string_view params;  // NAME=VALUE lines
};

// GET /cgi-bin/s.cgi/x/y%20z?q=1
inline constexpr Request kPathInfo[] = {
    {"nginx, fastcgi_params and SCRIPT_FILENAME $document_root$fastcgi_script_name",
     R"(QUERY_STRING=q=1
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/s.cgi/x/y z
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
DOCUMENT_URI=/cgi-bin/s.cgi/x/y z
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi/x/y z
)"},
    {"nginx, fastcgi_split_path_info and PATH_INFO",
     R"(QUERY_STRING=q=1
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/s.cgi
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
DOCUMENT_URI=/cgi-bin/s.cgi/x/y z
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
PATH_INFO=/x/y z
)"},
    {"nginx, fastcgi_params alone",
     R"(QUERY_STRING=q=1
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/s.cgi/x/y z
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
DOCUMENT_URI=/cgi-bin/s.cgi/x/y z
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
)"},
    {"Apache ProxyPass fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19011/srv/www/cgi-bin/s.cgi/x/y%20z
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
SCRIPT_NAME=/cgi-bin/s.cgi/x/y z
)"},
    {"Apache ProxyPass fcgi://, ProxyFCGIBackendType GENERIC",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi/x/y%20z
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
SCRIPT_NAME=/cgi-bin/s.cgi/x/y z
)"},
    {"Apache ProxyPass balancer://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19015/srv/www/cgi-bin/s.cgi/x/y%20z
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
SCRIPT_NAME=/cgi-bin/s.cgi/x/y z
)"},
    {"Apache SetHandler proxy:fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19013/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
SCRIPT_NAME=/cgi-bin/s.cgi
PATH_INFO=/x/y z
PATH_TRANSLATED=/srv/www/x/y z
)"},
    {"Apache SetHandler proxy:fcgi://, ProxyFCGIBackendType GENERIC",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
SCRIPT_NAME=/cgi-bin/s.cgi
PATH_INFO=/x/y z
PATH_TRANSLATED=/srv/www/x/y z
)"},
    {"Apache SetHandler proxy:unix:/socket|fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://localhost/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
SCRIPT_NAME=/cgi-bin/s.cgi
PATH_INFO=/x/y z
PATH_TRANSLATED=/srv/www/x/y z
)"},
    {"lighttpd, fastcgi.server by prefix, check-local disabled",
     R"(CONTENT_LENGTH=0
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
REDIRECT_STATUS=200
SCRIPT_NAME=/cgi-bin/s.cgi
PATH_INFO=/x/y z
PATH_TRANSLATED=/srv/www/x/y z
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
)"},
    {"lighttpd, fastcgi.server by suffix",
     R"(CONTENT_LENGTH=0
QUERY_STRING=q=1
REQUEST_URI=/cgi-bin/s.cgi/x/y%20z?q=1
REDIRECT_STATUS=200
SCRIPT_NAME=/cgi-bin/s.cgi
PATH_INFO=/x/y z
PATH_TRANSLATED=/srv/www/x/y z
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
)"},
};

// GET /cgi-bin/a%20b.cgi/p
inline constexpr Request kBlankInName[] = {
    {"nginx, fastcgi_params and SCRIPT_FILENAME $document_root$fastcgi_script_name",
     R"(QUERY_STRING=
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/a b.cgi/p
REQUEST_URI=/cgi-bin/a%20b.cgi/p
DOCUMENT_URI=/cgi-bin/a b.cgi/p
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
SCRIPT_FILENAME=/srv/www/cgi-bin/a b.cgi/p
)"},
    {"nginx, fastcgi_split_path_info and PATH_INFO",
     R"(QUERY_STRING=
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/a b.cgi
REQUEST_URI=/cgi-bin/a%20b.cgi/p
DOCUMENT_URI=/cgi-bin/a b.cgi/p
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
SCRIPT_FILENAME=/srv/www/cgi-bin/a b.cgi
PATH_INFO=/p
)"},
    {"nginx, fastcgi_params alone",
     R"(QUERY_STRING=
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/a b.cgi/p
REQUEST_URI=/cgi-bin/a%20b.cgi/p
DOCUMENT_URI=/cgi-bin/a b.cgi/p
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
)"},
    {"Apache ProxyPass fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19011/srv/www/cgi-bin/a%20b.cgi/p
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
SCRIPT_NAME=/cgi-bin/a b.cgi/p
)"},
    {"Apache ProxyPass fcgi://, ProxyFCGIBackendType GENERIC",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=/srv/www/cgi-bin/a%20b.cgi/p
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
SCRIPT_NAME=/cgi-bin/a b.cgi/p
)"},
    {"Apache ProxyPass balancer://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19015/srv/www/cgi-bin/a%20b.cgi/p
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
SCRIPT_NAME=/cgi-bin/a b.cgi/p
)"},
    {"Apache SetHandler proxy:fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19013/srv/www/cgi-bin/a b.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
SCRIPT_NAME=/cgi-bin/a b.cgi
PATH_INFO=/p
PATH_TRANSLATED=/srv/www/p
)"},
    {"Apache SetHandler proxy:fcgi://, ProxyFCGIBackendType GENERIC",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=/srv/www/cgi-bin/a b.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
SCRIPT_NAME=/cgi-bin/a b.cgi
PATH_INFO=/p
PATH_TRANSLATED=/srv/www/p
)"},
    {"Apache SetHandler proxy:unix:/socket|fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://localhost/srv/www/cgi-bin/a b.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
SCRIPT_NAME=/cgi-bin/a b.cgi
PATH_INFO=/p
PATH_TRANSLATED=/srv/www/p
)"},
    {"lighttpd, fastcgi.server by prefix, check-local disabled",
     R"(CONTENT_LENGTH=0
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
REDIRECT_STATUS=200
SCRIPT_NAME=/cgi-bin/a b.cgi
PATH_INFO=/p
PATH_TRANSLATED=/srv/www/p
SCRIPT_FILENAME=/srv/www/cgi-bin/a b.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
)"},
    {"lighttpd, fastcgi.server by suffix",
     R"(CONTENT_LENGTH=0
QUERY_STRING=
REQUEST_URI=/cgi-bin/a%20b.cgi/p
REDIRECT_STATUS=200
SCRIPT_NAME=/cgi-bin/a b.cgi
PATH_INFO=/p
PATH_TRANSLATED=/srv/www/p
SCRIPT_FILENAME=/srv/www/cgi-bin/a b.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
)"},
};

// GET /cgi-bin/s.cgi
inline constexpr Request kNoPathInfo[] = {
    {"nginx, fastcgi_params and SCRIPT_FILENAME $document_root$fastcgi_script_name",
     R"(QUERY_STRING=
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/s.cgi
REQUEST_URI=/cgi-bin/s.cgi
DOCUMENT_URI=/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
)"},
    {"nginx, fastcgi_split_path_info and PATH_INFO",
     R"(QUERY_STRING=
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/s.cgi
REQUEST_URI=/cgi-bin/s.cgi
DOCUMENT_URI=/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
PATH_INFO=
)"},
    {"nginx, fastcgi_params alone",
     R"(QUERY_STRING=
CONTENT_TYPE=
CONTENT_LENGTH=
SCRIPT_NAME=/cgi-bin/s.cgi
REQUEST_URI=/cgi-bin/s.cgi
DOCUMENT_URI=/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
REDIRECT_STATUS=200
)"},
    {"Apache ProxyPass fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19011/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
SCRIPT_NAME=/cgi-bin/s.cgi
)"},
    {"Apache ProxyPass fcgi://, ProxyFCGIBackendType GENERIC",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
SCRIPT_NAME=/cgi-bin/s.cgi
)"},
    {"Apache ProxyPass balancer://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19015/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
SCRIPT_NAME=/cgi-bin/s.cgi
)"},
    {"Apache SetHandler proxy:fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://127.0.0.1:19013/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
SCRIPT_NAME=/cgi-bin/s.cgi
)"},
    {"Apache SetHandler proxy:fcgi://, ProxyFCGIBackendType GENERIC",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
SCRIPT_NAME=/cgi-bin/s.cgi
)"},
    {"Apache SetHandler proxy:unix:/socket|fcgi://",
     R"(DOCUMENT_ROOT=/srv/www
SCRIPT_FILENAME=proxy:fcgi://localhost/srv/www/cgi-bin/s.cgi
GATEWAY_INTERFACE=CGI/1.1
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
SCRIPT_NAME=/cgi-bin/s.cgi
)"},
    {"lighttpd, fastcgi.server by prefix, check-local disabled",
     R"(CONTENT_LENGTH=0
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
REDIRECT_STATUS=200
SCRIPT_NAME=/cgi-bin/s.cgi
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
)"},
    {"lighttpd, fastcgi.server by suffix",
     R"(CONTENT_LENGTH=0
QUERY_STRING=
REQUEST_URI=/cgi-bin/s.cgi
REDIRECT_STATUS=200
SCRIPT_NAME=/cgi-bin/s.cgi
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
GATEWAY_INTERFACE=CGI/1.1
)"},
};

// POST /cgi-bin/s.cgi with "n=1", user and password, and a header "Proxy: evil"; complete.
inline constexpr Request kNginxPost = {"nginx",
                                       R"(QUERY_STRING=
REQUEST_METHOD=POST
CONTENT_TYPE=application/x-www-form-urlencoded
CONTENT_LENGTH=3
SCRIPT_NAME=/cgi-bin/s.cgi
REQUEST_URI=/cgi-bin/s.cgi
DOCUMENT_URI=/cgi-bin/s.cgi
DOCUMENT_ROOT=/srv/www
SERVER_PROTOCOL=HTTP/1.1
REQUEST_SCHEME=http
GATEWAY_INTERFACE=CGI/1.1
SERVER_SOFTWARE=nginx/1.22.1
REMOTE_ADDR=127.0.0.1
REMOTE_PORT=58660
REMOTE_USER=u
SERVER_ADDR=127.0.0.1
SERVER_PORT=18081
SERVER_NAME=
REDIRECT_STATUS=200
HTTP_HOST=127.0.0.1
SCRIPT_FILENAME=/srv/www/cgi-bin/s.cgi
HTTP_AUTHORIZATION=Basic dTpw
HTTP_USER_AGENT=curl/7.88.1
HTTP_ACCEPT=*/*
HTTP_PROXY=evil
HTTP_CONTENT_LENGTH=3
HTTP_CONTENT_TYPE=application/x-www-form-urlencoded
)"};

}  // namespace recorded
