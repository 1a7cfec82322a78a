#!/usr/bin/perl
# The smallest CGI program.
print "Content-Type: text/plain\r\n\r\nHello, world!\n";
