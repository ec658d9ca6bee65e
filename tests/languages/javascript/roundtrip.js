// A JSON reader and writer by hand, checked against itself and the built-in one. An ES module.
import assert from 'node:assert';
import { readFileSync } from 'node:fs';

class Wrong extends Error {}

const literals = { true: true, false: false, null: null };
const escapes = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '/': '/', '\\': '\\', '"': '"' };

class Reader {
  #text;
  #at = 0;

  constructor(text) {
    this.#text = text;
  }

  peek() {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
    return this.#text[this.#at] ?? '';
  }

  take(wanted) {
    if (this.peek() !== wanted) throw new Wrong(`expected ${wanted} at ${this.#at}`);
    this.#at++;
  }

  value() {
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

  members() {
    const found = new Map();
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

  items() {
    const found = [];
    this.take('[');
    while (this.peek() !== ']') {
      if (found.length) this.take(',');
      found.push(this.value());
    }
    this.take(']');
    return found;
  }

  string() {
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

  number() {
    const [word] = /^[-+0-9.eE]*/.exec(this.#text.slice(this.#at));
    if (!word) throw new Wrong(`no value at ${this.#at}`);
    this.#at += word.length;
    return Number(word);
  }
}

function read(text) {
  const reader = new Reader(text);
  const value = reader.value();
  if (reader.peek()) throw new Wrong('something follows');
  return value;
}

const marks = { '\\': '\\\\', '"': '\\"', '\n': '\\n', '\t': '\\t' };
const quote = (text) => `"${text.replace(/[\\"\n\t]/g, (mark) => marks[mark])}"`;

function write(value) {
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (typeof value === 'string') return quote(value);
  if (value === null || typeof value !== 'object') return String(value);
  return `{${Object.keys(value).sort().map((key) => `${quote(key)}:${write(value[key])}`).join(',')}}`;
}

function* walk(value, depth = 1) {
  const isArray = Array.isArray(value);
  if (isArray || (value !== null && typeof value === 'object')) {
    yield { kind: isArray ? 'arrays' : 'objects', depth };
    for (const item of Object.values(value)) yield* walk(item, depth + 1);
  } else {
    yield { kind: { string: 'strings', number: 'numbers' }[typeof value] ?? 'literals', depth: 0 };
  }
}

function isRejected(text) {
  try {
    read(text);
  } catch (error) {
    if (error instanceof Wrong) return true;
    throw error;
  }
  return false;
}

const source = await Promise.resolve(readFileSync(0, 'utf8'));
const document = read(source);
assert.deepStrictEqual(document, JSON.parse(source));
const canonical = write(document);
const totals = { objects: 0, arrays: 0, strings: 0, numbers: 0, literals: 0, depth: 0 };
for (const { kind, depth } of walk(document)) {
  totals[kind]++;
  totals.depth = Math.max(totals.depth, depth);
}
console.log(canonical);
console.log(Object.entries(totals).map(([name, number]) => `${name}=${number}`).join(' '));
console.log('round trip', write(read(canonical)) === canonical ? 'ok' : 'broken');
console.log('rejected', ['{', '[1,]', '{"a" 1}'].filter(isRejected).length, 'of 3');
