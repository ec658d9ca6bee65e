<?php
// One program, many modes: the first argument says which.
$words = array_slice($argv, 2);

switch ($argv[1]) {
    case 'args':
        foreach ($words as $word) {
            echo "[$word]\n";
        }
        break;
    case 'stdin':
        $numbers = array_map('intval', file('php://stdin', FILE_IGNORE_NEW_LINES));
        printf("%d lines, sum %d\n", count($numbers), array_sum($numbers));
        break;
    case 'files':
        file_put_contents('made.txt', "one\n");
        file_put_contents('made.txt', "two\n", FILE_APPEND);
        echo file_get_contents('made.txt');
        break;
    case 'exit':
        exit(7);
    case 'uncaught':
        throw new RuntimeException('deliberate');
    case 'forever':
        for (;;);
    case 'memory':
        for ($kept = [];;) {
            $kept[] = str_repeat('x', 1 << 20);
        }
    case 'unicode':
        echo 'Grüße, 世界 🌍 ', $words[0], ' ', preg_match_all('/./u', $words[0]), "\n";
        break;
    case 'big':
        for ($i = 0; $i < 40000; $i++) {
            echo str_repeat('x', 63), "\n";
        }
        break;
}
