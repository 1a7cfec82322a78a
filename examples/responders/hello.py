#!/usr/bin/python3
"""hello, rewritten by hand as a FastCGI responder on the small module beside it."""
from fastcgi_responder import serve


def hello(_parameters, _body):
    return b"Content-Type: text/plain\r\n\r\nHello, world!\n"


serve(hello)
