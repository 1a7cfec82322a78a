#!/usr/bin/perl
# hello-cgi.pl, rewritten by hand as a FastCGI responder on CGI::Fast.
use strict;
use warnings;
use CGI::Fast;
use DBI;
use POSIX;

while (my $cgi = CGI::Fast->new) {
    print $cgi->header('text/plain'), "Hello, world!\n";
}
