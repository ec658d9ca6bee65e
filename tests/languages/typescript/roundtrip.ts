// A JSON reader and writer by hand, checked against itself and the built-in one.
import assert from 'node:assert';
import { readFileSync } from 'node:fs';

class Wrong extends Error {}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Kind = 'objects' | 'arrays' | 'strings' | 'numbers' | 'literals';
type Totals = Record<Kind | 'depth', number>;

const literals: Record<string, Json> = { true: true, false: false, null: null };
const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '/': '/', '\\': '\\', '"': '"' };

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  peek(): string {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
    return this.#text[this.#at] ?? '';
  }

  take(wanted: string): void {
    if (this.peek() !== wanted) throw new Wrong(`expected ${wanted} at ${this.#at}`);
    this.#at++;
  }

  value(): Json {
    const first = this.peek();
    if (first === '{') return this.members();
    if (first === '[') return this.items();
    if (first === '"') return this.string();
    for (const [word, meaning] of Object.entries(literals)) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return meaning;
      }
    }
    return this.number();
  }

  members(): Json {
    const found = new Map<string, Json>();
    this.take('{');
    while (this.peek() !== '}') {
      if (found.size) this.take(',');
      this.peek();
      const key = this.string();
      this.take(':');
      found.set(key, this.value());
    }
    this.take('}');
    return Object.fromEntries(found);
  }

  items(): Json {
    const found: Json[] = [];
    this.take('[');
    while (this.peek() !== ']') {
      if (found.length) this.take(',');
      found.push(this.value());
    }
    this.take(']');
    return found;
  }

  string(): string {
    let out = '';
    this.take('"');
    for (;;) {
      const char = this.#text[this.#at++];
      if (char === undefined) throw new Wrong('a string does not end');
      if (char === '"') return out;
      if (char !== '\\') {
        out += char;
        continue;
      }
      const escape = this.#text[this.#at++];
      if (escape === 'u') {
        out += String.fromCharCode(parseInt(this.#text.slice(this.#at, this.#at + 4), 16));
        this.#at += 4;
      } else {
        out += escapes[escape];
      }
    }
  }

  number(): number {
    const word = /^[-+0-9.eE]*/.exec(this.#text.slice(this.#at))?.[0];
    if (!word) throw new Wrong(`no value at ${this.#at}`);
    this.#at += word.length;
    return Number(word);
  }
}

function read(text: string): Json {
  const reader = new Reader(text);
  const value = reader.value();
  if (reader.peek()) throw new Wrong('something follows');
  return value;
}

const marks: Record<string, string> = { '\\': '\\\\', '"': '\\"', '\n': '\\n', '\t': '\\t' };
const quote = (text: string): string => `"${text.replace(/[\\"\n\t]/g, (mark) => marks[mark])}"`;

function write(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (typeof value === 'string') return quote(value);
  if (value === null || typeof value !== 'object') return String(value);
  return `{${Object.keys(value).sort().map((key) => `${quote(key)}:${write(value[key])}`).join(',')}}`;
}

function* walk(value: Json, depth = 1): Generator<{ kind: Kind; depth: number }> {
  const isArray = Array.isArray(value);
  if (isArray || (value !== null && typeof value === 'object')) {
    yield { kind: isArray ? 'arrays' : 'objects', depth };
    for (const item of Object.values(value)) yield* walk(item, depth + 1);
  } else {
    const kind: Kind = typeof value === 'string' ? 'strings' : typeof value === 'number' ? 'numbers' : 'literals';
    yield { kind, depth: 0 };
  }
}

function isRejected(text: string): boolean {
  try {
    read(text);
  } catch (error) {
    if (error instanceof Wrong) return true;
    throw error;
  }
  return false;
}

const source = await Promise.resolve(readFileSync(0, 'utf8'));
const parsed = read(source);
assert.deepStrictEqual(parsed, JSON.parse(source));
const canonical = write(parsed);
const totals: Totals = { objects: 0, arrays: 0, strings: 0, numbers: 0, literals: 0, depth: 0 };
for (const { kind, depth } of walk(parsed)) {
  totals[kind]++;
  totals.depth = Math.max(totals.depth, depth);
}
console.log(canonical);
console.log(Object.entries(totals).map(([name, number]) => `${name}=${number}`).join(' '));
console.log('round trip', write(read(canonical)) === canonical ? 'ok' : 'broken');
console.log('rejected', ['{', '[1,]', '{"a" 1}'].filter(isRejected).length, 'of 3');
