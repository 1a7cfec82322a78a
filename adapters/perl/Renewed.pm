# What modules do while they are loaded that is renewed, or compared, for each request.

package CGIBridge;

BEGIN { ${^WARNING_BITS} = '' }    # see CGIBridge.pm

our (@usual_folders, $watch, $time_local, $stirs, $year, $launched_at);

# Of all that comes with perl only Time::Local asks for the time when it is loaded, and half of the other
# date modules load it. It keeps the year, for dates of two digits: so the year is compared. IO::Socket::SSL, which
# Net::SMTP and others load, stirs a number and the process id into OpenSSL's generator, and keeps neither: so perl's own
# generator is seeded anew.
sub leave_what_is_renewed {
    my %named = map { ($_ => 1) } map { split /:/ } grep { defined } map { $ENV{$_} } qw(PERL5LIB PERLLIB);
    my @folders = grep { !$named{$_} } @usual_folders;
    ($time_local) = grep { -e } map { "$_/Time/Local.pm" } @folders;
    ($stirs) = grep { -e } map { "$_/auto/Net/SSLeay/randomize.al" } @folders;
    $watch .= "\n$time_local" if defined $time_local;
    $watch .= "\n" . (name_in($stirs) // $stirs) if defined $stirs;
}

# As messages name it: AutoSplit has kept the name that the file had.
sub name_in {
    open my $file, '<:raw', $_[0] or return;
    read $file, my $text, 4096;
    return $text =~ /^#line \d+ "([^"\n]+)"$/m ? $1 : undef;
}

sub keep_year {
    my $loaded = $INC{'Time/Local.pm'};
    $year = (localtime $launched_at)[5] if defined $loaded && defined $time_local && $loaded eq $time_local;
}

# Perl seeds its generator when a process first draws a number, and so in each request and each of its
# children. If a number was drawn before, by what is renewed or as the operator accepts it, it is seeded here.
sub seed {
    my $bytes = ask('random');
    defined $bytes ? srand unpack 'L', $bytes : srand;
}

1;
