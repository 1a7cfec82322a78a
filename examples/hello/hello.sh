#!/bin/bash
# The smallest CGI program.
printf 'Content-Type: text/plain\r\n\r\nHello, world!\n'
