#!/usr/bin/perl
# The same hello as Perl programs really are: with CGI.pm, DBI and POSIX loaded.
use strict;
use warnings;
use CGI;
use DBI;
use POSIX;

my $cgi = CGI->new;
print $cgi->header('text/plain'), "Hello, world!\n";
