#!/usr/bin/perl
# A guestbook as a CGI program; README.md has the rules that all languages share.
use strict;
use warnings;
use CGI;
use DBI;

my $body_max = 16384;
my %bytes_max = (name => 100, message => 2000);
# Unicode 15, table 3-7, without control characters.
my $text_in_utf8 = qr/(?:[\t\n\r\x20-\x7e]
  | [\xc2-\xdf][\x80-\xbf]             | \xe0[\xa0-\xbf][\x80-\xbf]
  | [\xe1-\xec\xee\xef][\x80-\xbf]{2}  | \xed[\x80-\x9f][\x80-\xbf]
  | \xf0[\x90-\xbf][\x80-\xbf]{2} | [\xf1-\xf3][\x80-\xbf]{3} | \xf4[\x80-\x8f][\x80-\xbf]{2})+/x;
my $database = $ENV{GUESTBOOK_DB} || '/var/lib/guestbook/guestbook.db';
my @schema = (
    'PRAGMA synchronous = NORMAL',
    'CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,'
      . ' message TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)',
    'CREATE INDEX IF NOT EXISTS entries_by_name ON entries (name)',
    'CREATE INDEX IF NOT EXISTS entries_by_created ON entries (created)',
    'CREATE INDEX IF NOT EXISTS entries_by_name_created ON entries (name, created)',
);

# The body is read here, not by CGI.pm, which would take a truncated body for a complete one.
my $cgi = CGI->new('');
my $method = $ENV{REQUEST_METHOD} // '';

sub refuse {
    my ($status, @headers) = @_;
    print $cgi->header(-status => $status, -type => 'text/plain', -charset => 'utf-8', @headers),
      "$status\n";
    exit 0;
}

sub escape { CGI::escapeHTML($_[0]) }

sub list_entries {
    my ($db) = @_;
    my $rows = $db->selectall_arrayref(
        'SELECT id, name, created, message FROM entries ORDER BY id DESC LIMIT 100');
    # CGI.pm escapes according to the header's charset, so it is set before the first escape.
    my $head = $cgi->header(-type => 'text/html', -charset => 'utf-8');
    my $page = <<'HTML';
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Guestbook</title></head>
<body>
<h1>Guestbook</h1>
<form method="post">
<p><input name="name" required maxlength="100" placeholder="Name"></p>
<p><textarea name="message" required maxlength="2000"></textarea></p>
<p><button>Sign</button></p>
</form>
<ol reversed>
HTML
    for (@$rows) {
        my ($id, $name, $created, $message) = ($_->[0], map { escape($_) } @$_[1 .. 3]);
        $page .= qq(<li value="$id"><b>$name</b> <time>$created</time><p>$message</p></li>\n);
    }
    $page .= "</ol>\n</body>\n</html>\n";
    print $head, $method eq 'HEAD' ? '' : $page;
}

sub read_body {
    my ($type, $length) = map { $_ // '' } @ENV{qw(CONTENT_TYPE CONTENT_LENGTH)};
    $type =~ m{\Aapplication/x-www-form-urlencoded(?:[; ]|\z)} or refuse('400 Bad Request');
    $length =~ /\A[0-9]{1,9}\z/ && $length <= $body_max or refuse('400 Bad Request');
    (read(STDIN, my $body, $length) // -1) == $length or refuse('400 Bad Request');
    return $body;
}

# By hand, because CGI.pm takes %uXXXX for a character.
sub decode { $_[0] =~ tr/+/ /r =~ s/%([0-9A-Fa-f]{2})/chr hex $1/egr }

sub read_form {
    my %values;
    for (split /[&;]/, read_body()) {
        my ($key, $value) = map { decode($_ // '') } (split(/=/, $_, 2))[0, 1];
        $values{$key} //= $value;
    }
    return map { field($values{$_} // '', $bytes_max{$_}) } qw(name message);
}

sub field {
    my ($value, $bytes_max) = @_;
    refuse('400 Bad Request') if length $value > $bytes_max || $value !~ /\A$text_in_utf8\z/;
    return $value;
}

sub add_entry {
    my ($db) = @_;
    my @values = read_form();
    $db->do('INSERT INTO entries (name, message) VALUES (?, ?)', undef, @values);
    print $cgi->redirect(-uri => $ENV{SCRIPT_NAME} // '', -status => '303 See Other');
}

$method =~ /\A(?:GET|HEAD|POST)\z/
  or refuse('405 Method Not Allowed', -allow => 'GET, HEAD, POST');
my $done = eval {
    my $db = DBI->connect("dbi:SQLite:dbname=$database", '', '',
        { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
    $db->sqlite_busy_timeout(5000);
    # Fails if two requests create the database at once; then the other one has switched it.
    eval { $db->do('PRAGMA journal_mode = WAL') };
    $db->do($_) for @schema;
    $method eq 'POST' ? add_entry($db) : list_entries($db);
    $db->disconnect;
    1;
};
unless ($done) {
    print STDERR "guestbook: $@";
    refuse('500 Internal Server Error');
}
