# What modules do while they are loaded that is renewed, or compared, for each request.

package CGIBridge;

BEGIN { ${^WARNING_BITS} = '' }    # see CGIBridge.pm

our (@usual_folders, $watch, $time_local, $year, $launched_at, $usual);

# Of all that comes with perl only Time::Local asks for the time when it is loaded, and half of the other
# date modules load it. It keeps the year, for dates of two digits: so the year is compared.
sub leave_time_local {
    ($time_local) = grep { -e } map { "$_/Time/Local.pm" } @_;
    $watch .= "\n$time_local" if defined $time_local;
}

# IO::Socket::SSL, which Net::SMTP and others load, stirs a number, the time and the process id into OpenSSL's
# generator, which seeds itself. It keeps nothing, so it is left out before the checkpoint: a call of
# is_loading() is inserted into the function that does it, which has a file of its own.
sub leave_out_stirring {
    my ($path) = grep { -e } map { "$_/auto/Net/SSLeay/randomize.al" } @_;
    open my $file, '<:raw', $path // return or return;
    read $file, my $text, 4096;
    $text =~ /^sub randomize *\([;\$]*\) *\{(?=\n)/m or return;
    ask("insert/$+[0]/return if CGIBridge::is_loading();$path");
}

sub is_loading { !defined $usual }

sub leave_what_is_renewed {
    my %named = map { ($_ => 1) } map { split /:/ } grep { defined } map { $ENV{$_} } qw(PERL5LIB PERLLIB);
    my @folders = grep { !$named{$_} } @usual_folders;
    leave_time_local(@folders);
    leave_out_stirring(@folders);
}

sub keep_year {
    my $loaded = $INC{'Time/Local.pm'};
    $year = (localtime $launched_at)[5] if defined $loaded && defined $time_local && $loaded eq $time_local;
}

# Perl seeds its generator when a process first draws a number, and so in each request and each of its
# children. If the operator accepts that a number was drawn before, it is seeded here.
sub seed {
    my $bytes = ask('random');
    defined $bytes ? srand unpack 'L', $bytes : srand;
}

1;
