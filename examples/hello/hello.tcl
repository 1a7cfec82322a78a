#!/usr/bin/tclsh
# The smallest CGI program.
puts -nonewline "Content-Type: text/plain\r\n\r\nHello, world!\n"
