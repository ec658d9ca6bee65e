# A JSON reader and writer by hand, checked against itself and the core's module.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use Encode qw(encode_utf8);
use JSON::PP ();
use List::Util qw(max);
use Scalar::Util qw(blessed);

package Reader;

my %literals = (true => JSON::PP::true, false => JSON::PP::false, null => undef);
my %escapes = (n => "\n", t => "\t", r => "\r", b => "\b", f => "\f");

sub new {
    my ($class, $text) = @_;
    return bless { text => $text }, $class;
}

sub peek {
    my ($self) = @_;
    $self->{text} =~ /\G\s*/gc;
    return $self->{text} =~ /\G(.)/s ? $1 : '';
}

sub take {
    my ($self, $wanted) = @_;
    die "expected $wanted\n" if $self->peek ne $wanted;
    pos($self->{text})++;
    return;
}

sub whole {
    my ($self) = @_;
    pos($self->{text}) = 0;
    my $found = $self->value;
    die "something follows\n" if $self->peek ne '';
    return $found;
}

sub value {
    my ($self) = @_;
    my $first = $self->peek;
    return $self->members if $first eq '{';
    return $self->items   if $first eq '[';
    return $self->string  if $first eq '"';
    return $literals{$1}  if $self->{text} =~ /\G(true|false|null)/gc;
    return 0 + $1         if $self->{text} =~ /\G(-?\d[-+0-9.eE]*)/gc;
    die "no value\n";
}

sub members {
    my ($self) = @_;
    my %found;
    $self->take('{');
    while ($self->peek ne '}') {
        $self->take(',') if %found;
        my $key = $self->string;
        $self->take(':');
        $found{$key} = $self->value;
    }
    $self->take('}');
    return \%found;
}

sub items {
    my ($self) = @_;
    my @found;
    $self->take('[');
    while ($self->peek ne ']') {
        $self->take(',') if @found;
        push @found, $self->value;
    }
    $self->take(']');
    return \@found;
}

sub string {
    my ($self) = @_;
    my $out = '';
    $self->take('"');
    until ($self->{text} =~ /\G"/gc) {
        if    ($self->{text} =~ /\G([^"\\]+)/gc)             { $out .= $1 }
        elsif ($self->{text} =~ /\G\\u([0-9a-fA-F]{4})/gc) { $out .= chr hex $1 }
        elsif ($self->{text} =~ /\G\\(.)/gc)                { $out .= $escapes{$1} // $1 }
        else                                                { die "a string does not end\n" }
    }
    return $out;
}

package main;

sub quote {
    my ($text) = @_;
    my %marks = ("\\" => "\\\\", '"' => '\\"', "\n" => '\\n', "\t" => '\\t');
    $text =~ s/([\\"\n\t])/$marks{$1}/g;
    return qq("$text");
}

sub kind {
    my ($value) = @_;
    return 'literals' if !defined $value || blessed $value;
    return 'objects'  if ref $value eq 'HASH';
    return 'arrays'   if ref $value eq 'ARRAY';
    return $value =~ /^-?\d+(\.\d+)?$/ ? 'numbers' : 'strings';
}

sub write_value {
    my ($value) = @_;
    my $kind = kind($value);
    return '{' . join(',', map { quote($_) . ':' . write_value($value->{$_}) } sort keys %$value) . '}'
        if $kind eq 'objects';
    return '[' . join(',', map { write_value($_) } @$value) . ']' if $kind eq 'arrays';
    return quote($value) if $kind eq 'strings';
    return $value        if $kind eq 'numbers';
    return defined $value ? ($value ? 'true' : 'false') : 'null';
}

sub count {
    my ($value, $totals, $depth) = @_;
    my $kind = kind($value);
    $totals->{$kind}++;
    return if $kind !~ /objects|arrays/;
    $totals->{depth} = max($totals->{depth}, $depth);
    count($_, $totals, $depth + 1) for $kind eq 'objects' ? values %$value : @$value;
    return;
}

my $source    = do { local $/; <STDIN> };
my $document  = Reader->new($source)->whole;
my $canonical = write_value($document);
my $expected  = write_value(JSON::PP->new->utf8->decode(encode_utf8($source)));
die "not what the core's module reads\n" if $canonical ne $expected;

my @names  = qw(objects arrays strings numbers literals depth);
my %totals = map { $_ => 0 } @names;
count($document, \%totals, 1);
print "$canonical\n", join(' ', map { "$_=$totals{$_}" } @names), "\n";
print 'round trip ', write_value(Reader->new($canonical)->whole) eq $canonical ? "ok\n" : "broken\n";
my $rejected = grep { !defined eval { Reader->new($_)->whole } } '{', '[1,]', '{"a" 1}';
print "rejected $rejected of 3\n";
