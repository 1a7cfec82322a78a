#!/usr/bin/perl
# hello, rewritten by hand as a FastCGI responder on FCGI.pm.
use strict;
use warnings;
use FCGI;

my $request = FCGI::Request();
while ($request->Accept >= 0) {
    print "Content-Type: text/plain\r\n\r\nHello, world!\n";
}
