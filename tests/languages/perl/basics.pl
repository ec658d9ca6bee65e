# One program, many modes: the first argument says which.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use Encode qw(decode);

my ($mode, @words) = map { decode('UTF-8', $_) } @ARGV;

my %modes = (
    args  => sub { print "[$_]\n" for @words },
    stdin => sub {
        my ($count, $sum) = (0, 0);
        while (my $number = <STDIN>) {
            $count++;
            $sum += $number;
        }
        print "$count lines, sum $sum\n";
    },
    files => sub {
        for (['>', 'one'], ['>>', 'two']) {
            open my $made, $_->[0], 'made.txt' or die "made.txt: $!";
            print $made "$_->[1]\n";
            close $made;
        }
        open my $made, '<', 'made.txt' or die "made.txt: $!";
        print while <$made>;
    },
    exit     => sub { exit 7 },
    uncaught => sub { die "deliberate" },
    forever  => sub { 1 while 1 },
    memory   => sub {
        my @kept;
        push @kept, 'x' x (1 << 20) . @kept while 1;
    },
    unicode => sub { print "Grüße, 世界 🌍 $words[0] ", length($words[0]), "\n" },
    big     => sub { print 'x' x 63, "\n" for 1 .. 40000 },
);
$modes{$mode}->();
