# The solar system, a spectral norm, and primes found by processes.
use strict;
use warnings;
use List::Util qw(sum sum0 none);

use constant PI         => 4 * atan2(1, 1);
use constant SOLAR_MASS => 4 * PI**2;
use constant DAYS       => 365.24;
use constant WORKERS    => 4;
use constant LIMIT      => 20000;

package Body;

sub new {
    my ($class, $position, $velocity, $mass) = @_;
    return bless {
        position => $position,
        velocity => [map { $_ * main::DAYS } @$velocity],
        mass     => $mass * main::SOLAR_MASS,
    }, $class;
}

sub away_from {
    my ($self, $other) = @_;
    return map { $self->{position}[$_] - $other->{position}[$_] } 0 .. 2;
}

sub move {
    my ($self, $step) = @_;
    $self->{position}[$_] += $step * $self->{velocity}[$_] for 0 .. 2;
    return;
}

package main;

sub solar_system {
    return (
        Body->new([0, 0, 0], [0, 0, 0], 1),
        Body->new(
            [4.84143144246472090,    -1.16032004402742839,   -0.103622044471123109],
            [0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023],
            0.000954791938424326609
        ),
        Body->new(
            [8.34336671824457987,  4.12479856412430479,    -0.403523417114321381],
            [-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929],
            0.000285885980666130812
        ),
        Body->new(
            [12.8943695621391310,    -15.1111514016986312,   -0.223307578892655734],
            [0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556],
            0.0000436624404335156298
        ),
        Body->new(
            [15.3796971148509165,    -25.9193146099879641,   0.179258772950371181],
            [0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870],
            0.0000515138902046611451
        ),
    );
}

sub square { return sum0(map { $_ * $_ } @_) }

sub offset_momentum {
    my @bodies = @_;
    for my $axis (0 .. 2) {
        my $momentum = sum(map { $_->{velocity}[$axis] * $_->{mass} } @bodies);
        $bodies[0]{velocity}[$axis] = -$momentum / SOLAR_MASS;
    }
    return;
}

# Calls the block with each pair of bodies.
sub each_pair {
    my ($block, @bodies) = @_;
    while (my $first = shift @bodies) {
        $block->($first, $_) for @bodies;
    }
    return;
}

sub energy {
    my @bodies = @_;
    my $total = sum(map { 0.5 * $_->{mass} * square(@{ $_->{velocity} }) } @bodies);
    each_pair(sub {
        my ($first, $second) = @_;
        $total -= $first->{mass} * $second->{mass} / sqrt(square($first->away_from($second)));
    }, @bodies);
    return $total;
}

sub advance {
    my ($step, @bodies) = @_;
    each_pair(sub {
        my ($first, $second) = @_;
        my @away = $first->away_from($second);
        my $magnitude = $step / square(@away)**1.5;
        for my $axis (0 .. 2) {
            $first->{velocity}[$axis]  -= $away[$axis] * $second->{mass} * $magnitude;
            $second->{velocity}[$axis] += $away[$axis] * $first->{mass} * $magnitude;
        }
    }, @bodies);
    $_->move($step) for @bodies;
    return;
}

sub element {
    my ($i, $j) = @_;
    return 1 / (($i + $j) * ($i + $j + 1) / 2 + $i + 1);
}

sub multiply {
    my @in = @_;
    my @between;
    for my $i (0 .. $#in) {
        $between[$i] = sum(map { element($i, $_) * $in[$_] } 0 .. $#in);
    }
    return map { my $i = $_; sum(map { element($_, $i) * $between[$_] } 0 .. $#in) } 0 .. $#in;
}

sub spectral_norm {
    my ($size) = @_;
    my @u = (1) x $size;
    my @v;
    for (1 .. 10) {
        @v = multiply(@u);
        @u = multiply(@v);
    }
    return sqrt(sum(map { $u[$_] * $v[$_] } 0 .. $#u) / square(@v));
}

sub is_prime {
    my ($number) = @_;
    return $number > 1 && none { $number % $_ == 0 } 2 .. int sqrt $number;
}

sub count_primes {
    my ($worker) = @_;
    return scalar grep { $_ % WORKERS == $worker && is_prime($_) } 0 .. LIMIT - 1;
}

# Each worker is a process whose output is read.
sub count_together {
    my @outputs = map {
        my $worker = $_;
        my $pid = open(my $output, '-|') // die "fork: $!";
        if ($pid == 0) {
            print count_primes($worker);
            exit 0;
        }
        $output;
    } 0 .. WORKERS - 1;
    return sum(map { my $count = <$_>; close $_; $count } @outputs);
}

$| = 1;
my @bodies = solar_system();
offset_momentum(@bodies);
printf "%.9f\n", energy(@bodies);
advance(0.01, @bodies) for 1 .. 1000;
printf "%.9f\n", energy(@bodies);
printf "%.9f\n", spectral_norm(100);
printf "%d\n",   count_together();
