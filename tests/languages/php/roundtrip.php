<?php
// A JSON reader and writer by hand, checked against itself and the built-in one.
declare(strict_types=1);

final class Wrong extends RuntimeException
{
}

final class Reader
{
    private const LITERALS = ['true' => true, 'false' => false, 'null' => null];
    private const ESCAPES = ['n' => "\n", 't' => "\t", 'r' => "\r", 'b' => "\x08", 'f' => "\f"];
    private int $at = 0;

    public function __construct(private string $text)
    {
    }

    public function whole(): mixed
    {
        $value = $this->value();
        if ($this->peek() !== '') {
            throw new Wrong('something follows');
        }
        return $value;
    }

    private function peek(): string
    {
        $this->at += strspn($this->text, " \t\r\n", $this->at);
        return $this->text[$this->at] ?? '';
    }

    private function take(string $wanted): void
    {
        if ($this->peek() !== $wanted) {
            throw new Wrong("expected $wanted at {$this->at}");
        }
        $this->at++;
    }

    private function value(): mixed
    {
        switch ($this->peek()) {
            case '{':
                return $this->members();
            case '[':
                return $this->items();
            case '"':
                return $this->string();
        }
        foreach (self::LITERALS as $word => $meaning) {
            if (substr_compare($this->text, $word, $this->at, strlen($word)) === 0) {
                $this->at += strlen($word);
                return $meaning;
            }
        }
        return $this->number();
    }

    private function members(): stdClass
    {
        $found = new stdClass();
        $this->take('{');
        while ($this->peek() !== '}') {
            if ((array) $found) {
                $this->take(',');
            }
            $this->peek();
            $key = $this->string();
            $this->take(':');
            $found->$key = $this->value();
        }
        $this->take('}');
        return $found;
    }

    private function items(): array
    {
        $found = [];
        $this->take('[');
        while ($this->peek() !== ']') {
            if ($found) {
                $this->take(',');
            }
            $found[] = $this->value();
        }
        $this->take(']');
        return $found;
    }

    private function next(): string
    {
        return $this->text[$this->at++] ?? throw new Wrong('a string does not end');
    }

    private function string(): string
    {
        $out = '';
        $this->take('"');
        while (($char = $this->next()) !== '"') {
            $out .= $char === '\\' ? $this->escaped() : $char;
        }
        return $out;
    }

    private function escaped(): string
    {
        $char = $this->next();
        if ($char !== 'u') {
            return self::ESCAPES[$char] ?? $char;
        }
        $code = hexdec(substr($this->text, $this->at, 4));
        $this->at += 4;
        return html_entity_decode("&#$code;", ENT_QUOTES, 'UTF-8');
    }

    private function number(): int|float
    {
        if (!preg_match('/\G[-+0-9.eE]+/', $this->text, $match, 0, $this->at) || !is_numeric($match[0])) {
            throw new Wrong("no value at {$this->at}");
        }
        $this->at += strlen($match[0]);
        return $match[0] + 0;
    }
}

function quote(string $text): string
{
    return '"' . strtr($text, ['\\' => '\\\\', '"' => '\\"', "\n" => '\\n', "\t" => '\\t']) . '"';
}

function write(mixed $value): string
{
    if ($value instanceof stdClass) {
        $members = (array) $value;
        ksort($members);
        $parts = array_map(fn ($key, $item) => quote($key) . ':' . write($item), array_keys($members), $members);
        return '{' . implode(',', $parts) . '}';
    }
    return match (true) {
        is_array($value) => '[' . implode(',', array_map('write', $value)) . ']',
        is_string($value) => quote($value),
        is_bool($value) => $value ? 'true' : 'false',
        default => $value === null ? 'null' : (string) $value,
    };
}

function tally(mixed $value, array &$totals, int $depth = 1): void
{
    $kind = match (true) {
        $value instanceof stdClass => 'objects',
        is_array($value) => 'arrays',
        is_string($value) => 'strings',
        is_int($value) || is_float($value) => 'numbers',
        default => 'literals',
    };
    $totals[$kind]++;
    if ($kind === 'objects' || $kind === 'arrays') {
        $totals['depth'] = max($totals['depth'], $depth);
        foreach ((array) $value as $item) {
            tally($item, $totals, $depth + 1);
        }
    }
}

function isRejected(string $text): bool
{
    try {
        (new Reader($text))->whole();
    } catch (Wrong) {
        return true;
    }
    return false;
}

$source = stream_get_contents(STDIN);
$document = (new Reader($source))->whole();
if ($document != json_decode($source)) {
    exit('not what the built-in reader reads');
}
$canonical = write($document);
$totals = array_fill_keys(['objects', 'arrays', 'strings', 'numbers', 'literals', 'depth'], 0);
tally($document, $totals);
echo $canonical, "\n", str_replace('&', ' ', http_build_query($totals)), "\n";
echo 'round trip ', write((new Reader($canonical))->whole()) === $canonical ? 'ok' : 'broken', "\n";
echo 'rejected ', count(array_filter(['{', '[1,]', '{"a" 1}'], 'isRejected')), " of 3\n";
