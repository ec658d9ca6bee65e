// What a program sees, built on the few functions of front.c. Nothing here is Node; the names are those that
// people know from there.
"use strict";
(() => {
const host = __host;
const native = { ...host };
for (const name of ["write", "read", "save", "stat", "list", "mkdir", "rmdir", "unlink", "rename", "exit", "now", "sleep",
        "random", "decode", "encode", "script"])
        native[name] = host[name];
delete globalThis.__host;
Object.defineProperty(globalThis, "__host", { value: host, enumerable: false, configurable: false, writable: false });

const opening = "(function(exports,require,module,__filename,__dirname){";

// ---- showing values
const plain = /^[A-Za-z_$][\w$]*$/;
function quote(text) {
        return text.includes("'") ? JSON.stringify(text) : "'" + JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"') + "'";
}
function inspect(value, depth = 2, seen = []) {
        switch (typeof value) {
        case "string": return seen.length ? quote(value) : value;
        case "number": return Object.is(value, -0) ? "-0" : String(value);
        case "bigint": return value + "n";
        case "symbol": return value.toString();
        case "function": {
                const kind = Function.prototype.toString.call(value).startsWith("class") ? "class" : "Function";
                return kind === "class" ? `[class ${value.name || "(anonymous)"}]` : `[Function${value.name ? ": " + value.name : " (anonymous)"}]`;
        }
        case "object": break;
        default: return String(value);
        }
        if (value === null) return "null";
        if (seen.includes(value)) return "[Circular *1]";
        if (value instanceof Error) return show(value);
        if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
        if (value instanceof RegExp) return String(value);
        if (value instanceof Promise) return "Promise { <pending> }";
        if (seen.length > depth) return Array.isArray(value) ? "[Array]" : `[${nameOf(value) || "Object"}]`;
        const inner = [...seen, value], next = (item) => inspect(item, depth, inner.length ? inner : [value]);
        let parts, open = "{", close = "}", prefix = nameOf(value);
        if (prefix === "Object") prefix = "";
        if (Array.isArray(value)) {
                prefix = prefix === "Array" ? "" : `${prefix}(${value.length})`;
                [open, close] = ["[", "]"];
                parts = [];
                for (let i = 0; i < value.length && i < 100; i++)
                        parts.push(i in value ? next(value[i]) : "<1 empty item>");
                if (value.length > 100) parts.push(`... ${value.length - 100} more items`);
        } else if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
                prefix += `(${value.length})`;
                [open, close] = ["[", "]"];
                parts = Array.from(value.slice(0, 100), next);
                if (value.length > 100) parts.push(`... ${value.length - 100} more items`);
        } else if (value instanceof Map) {
                prefix = `Map(${value.size})`;
                parts = [...value].map(([key, item]) => `${next(key)} => ${next(item)}`);
        } else if (value instanceof Set) {
                prefix = `Set(${value.size})`;
                parts = [...value].map(next);
        } else {
                parts = Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)).map((key) => {
                        const known = Object.getOwnPropertyDescriptor(value, key);
                        const label = typeof key === "symbol" ? `[${String(key)}]` : plain.test(key) ? key : quote(key);
                        return label + ": " + ("value" in known ? next(known.value) : known.set ? known.get ? "[Getter/Setter]" : "[Setter]" : "[Getter]");
                });
        }
        if (prefix) prefix += " ";
        if (!parts.length) return prefix + open + close;
        const line = `${prefix}${open} ${parts.join(", ")} ${close}`;
        if (line.length <= 76 && !line.includes("\n")) return line;
        return `${prefix}${open}\n${parts.map((part) => "  " + part.replaceAll("\n", "\n  ")).join(",\n")}\n${close}`;
}
function nameOf(value) {
        const maker = Object.getPrototypeOf(value)?.constructor;
        return Object.getPrototypeOf(value) === null ? "[Object: null prototype]" : typeof maker === "function" ? maker.name : "";
}
function show(error) {
        const head = `${error.name}: ${error.message}`;
        // Frames of this file are none of the program's; a first line begins after our own words.
        const stack = (error.stack ?? "").split("\n").filter((frame) => frame && !frame.includes("<prelude>") && !frame.endsWith("call (native)"))
                .map((frame) => frame.replace(/:1:(\d+)\)$/, (all, column) => column > opening.length ? `:1:${column - opening.length})` : all)).join("\n");
        const cause = error.cause === undefined ? "" : ` {\n  [cause]: ${inspect(error.cause)}\n}`;
        return (stack ? head + "\n" + stack : head) + cause;
}
function format(...words) {
        let text = "";
        if (typeof words[0] === "string" && words.length > 1)
                text = words.shift().replace(/%[sdifjoOc%]/g, (mark) => {
                        if (mark === "%%") return "%";
                        if (!words.length) return mark;
                        const word = words.shift();
                        switch (mark[1]) {
                        case "s": return typeof word === "object" && word !== null ? inspect(word, 0, [{}]) : String(word);
                        case "d": return String(Number(word));
                        case "i": return String(parseInt(word));
                        case "f": return String(parseFloat(word));
                        case "j": return JSON.stringify(word);
                        case "c": return "";
                        default: return inspect(word, 4, [{}]);
                        }
                });
        else if (words.length)
                text = inspect(words.shift());
        for (const word of words)
                text += " " + inspect(word);
        return text;
}

// ---- console
let indent = "";
const counts = new Map(), timers = new Map();
function line(stream, words) {
        const text = format(...words);
        native.write(stream, (indent ? indent + text.replaceAll("\n", "\n" + indent) : text) + "\n");
}
function table(rows) {
        if (typeof rows !== "object" || rows === null) return line(1, [rows]);
        const entries = Object.entries(rows), columns = [...new Set(entries.flatMap(([, row]) => typeof row === "object" && row ? Object.keys(row) : []))];
        const values = entries.some(([, row]) => typeof row !== "object" || !row);
        const head = ["(index)", ...columns, ...(values ? ["Values"] : [])];
        const body = entries.map(([key, row]) => [key, ...columns.map((column) => typeof row === "object" && row && column in row ? inspect(row[column], 0, [{}]) : ""),
                ...(values ? [typeof row !== "object" || !row ? inspect(row, 0, [{}]) : ""] : [])]);
        const widths = head.map((word, i) => Math.max(word.length, ...body.map((row) => row[i].length)) + 2);
        const put = (row) => "│" + row.map((word, i) => " " + word.padEnd(widths[i] - 1)).join("│") + "│";
        const rule = (l, m, r) => l + widths.map((width) => "─".repeat(width)).join(m) + r;
        line(1, [[rule("┌", "┬", "┐"), put(head), rule("├", "┼", "┤"), ...body.map(put), rule("└", "┴", "┘")].join("\n")]);
}
globalThis.console = {
        log: (...words) => line(1, words), info: (...words) => line(1, words), debug: (...words) => line(1, words),
        warn: (...words) => line(2, words), error: (...words) => line(2, words), table,
        dir: (value) => line(1, [inspect(value)]),
        trace: (...words) => line(2, ["Trace: " + format(...words) + "\n" + new Error().stack.split("\n").slice(1).join("\n")]),
        assert: (good, ...words) => { if (!good) line(2, ["Assertion failed" + (words.length ? ": " + format(...words) : "")]); },
        group: (...words) => { if (words.length) line(1, words); indent += "  "; },
        groupEnd: () => { indent = indent.slice(2); },
        count: (label = "default") => { counts.set(label, (counts.get(label) ?? 0) + 1); line(1, [`${label}: ${counts.get(label)}`]); },
        countReset: (label = "default") => { counts.delete(label); },
        time: (label = "default") => { timers.set(label, native.now()); },
        timeEnd: (label = "default") => { line(1, [`${label}: ${(native.now() - timers.get(label)).toFixed(3)}ms`]); timers.delete(label); },
        timeLog: (label = "default", ...words) => line(1, [`${label}: ${(native.now() - timers.get(label)).toFixed(3)}ms`, ...words]),
};
globalThis.print = (...words) => native.write(1, words.map(String).join(" ") + "\n");

// ---- time
let last = 0, origin = 0;
const waiting = new Map();
function later(call, delay, words, every) {
        const number = ++last;
        delay = Math.max(1, Number(delay) || 0);
        waiting.set(number, { call, words, due: native.now() + delay, every: every ? delay : 0, number });
        return number;
}
globalThis.setTimeout = (call, delay, ...words) => later(call, delay, words, false);
globalThis.setInterval = (call, delay, ...words) => later(call, delay, words, true);
globalThis.setImmediate = (call, ...words) => later(call, 0, words, false);
globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = (number) => { waiting.delete(number); };
globalThis.queueMicrotask = (call) => { Promise.resolve().then(call); };
globalThis.performance = { now: () => native.now() - origin, timeOrigin: 0 };
host.tick = () => {
        let next;
        for (const timer of waiting.values())
                if (!next || timer.due < next.due || (timer.due === next.due && timer.number < next.number)) next = timer;
        if (!next) return false;
        native.sleep(next.due - native.now());
        if (next.every) next.due = native.now() + next.every;
        else waiting.delete(next.number);
        next.call(...next.words);
        return true;
};

// ---- text and bytes
globalThis.TextEncoder = class TextEncoder { encoding = "utf-8"; encode(text = "") { return new Uint8Array(native.encode(String(text))); } };
globalThis.TextDecoder = class TextDecoder { encoding = "utf-8"; decode(bytes) { return bytes === undefined ? "" : native.decode(bytes); } };
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
globalThis.btoa = (text) => {
        let out = "";
        for (let i = 0; i < text.length; i += 3) {
                const [a, b, c] = [text.charCodeAt(i), text.charCodeAt(i + 1), text.charCodeAt(i + 2)];
                out += letters[a >> 2] + letters[(a & 3) << 4 | b >> 4] + (isNaN(b) ? "=" : letters[(b & 15) << 2 | c >> 6]) + (isNaN(c) ? "=" : letters[c & 63]);
        }
        return out;
};
globalThis.atob = (text) => {
        let out = "", bits = 0, count = 0;
        for (const letter of text.replace(/[=\s]/g, "")) {
                bits = bits << 6 | letters.indexOf(letter);
                if ((count += 6) >= 8) out += String.fromCharCode(bits >> (count -= 8) & 255);
        }
        return out;
};
globalThis.structuredClone = (value, seen = new Map()) => {
        if (typeof value !== "object" || value === null) {
                if (typeof value === "function" || typeof value === "symbol") throw new TypeError("cannot be cloned");
                return value;
        }
        if (seen.has(value)) return seen.get(value);
        const copy = (item) => structuredClone(item, seen);
        let out;
        if (value instanceof Date) return new Date(value);
        if (value instanceof RegExp) return new RegExp(value);
        if (ArrayBuffer.isView(value)) return value.slice();
        if (value instanceof Map) { seen.set(value, out = new Map()); value.forEach((item, key) => out.set(copy(key), copy(item))); return out; }
        if (value instanceof Set) { seen.set(value, out = new Set()); value.forEach((item) => out.add(copy(item))); return out; }
        seen.set(value, out = Array.isArray(value) ? [] : value instanceof Error ? new value.constructor(value.message) : {});
        for (const key of Object.keys(value)) out[key] = copy(value[key]);
        return out;
};
globalThis.crypto = {
        getRandomValues: (array) => {
                const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
                for (let i = 0; i < bytes.length; i += 256) bytes.set(new Uint8Array(native.random(Math.min(256, bytes.length - i))), i);
                return array;
        },
        randomUUID: () => {
                const bytes = crypto.getRandomValues(new Uint8Array(16));
                bytes[6] = bytes[6] & 15 | 64;
                bytes[8] = bytes[8] & 63 | 128;
                const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
                return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
        },
};

// ---- the program
const streams = (number) => ({ write: (text) => { native.write(number, typeof text === "string" ? text : native.decode(text)); return true; }, isTTY: false, fd: number });
let exiting = [];
globalThis.process = {
        argv: [], env: {}, exitCode: undefined, platform: "wasi", arch: "wasm32", version: "v0.0.0", versions: { quickjs: "2025-04-26" }, pid: 1,
        stdout: streams(1), stderr: streams(2), stdin: { fd: 0, isTTY: false },
        cwd: () => "/workspace", nextTick: (call, ...words) => queueMicrotask(() => call(...words)),
        exit: (code) => { if (code !== undefined) process.exitCode = code; native.exit(finish()); },
        on: (event, call) => { if (event === "exit") exiting.push(call); return process; },
        once: (event, call) => process.on(event, call),
        hrtime: Object.assign((before) => {
                const now = native.now(), s = Math.floor(now / 1e3), n = Math.floor((now % 1e3) * 1e6);
                return before ? n < before[1] ? [s - before[0] - 1, n - before[1] + 1e9] : [s - before[0], n - before[1]] : [s, n];
        }, { bigint: () => BigInt(Math.floor(native.now() * 1e6)) }),
        memoryUsage: () => ({ heapUsed: 0, heapTotal: 0, rss: 0 }), uptime: () => (native.now() - origin) / 1e3,
};
function finish() {
        const calls = exiting;
        exiting = [];
        for (const call of calls) call(process.exitCode ?? 0);
        return process.exitCode ?? 0;
}
host.end = finish;
host.uncaught = (error) => native.write(2, "Uncaught " + (error instanceof Error ? show(error) : inspect(error, 2, [{}])) + "\n");

// ---- files
const text = (bytes, way) => {
        const encoding = typeof way === "string" ? way : way?.encoding;
        return encoding ? native.decode(bytes) : new Uint8Array(bytes);
};
const missing = (call, path) => Object.assign(new Error(`No such file or directory, ${call} '${path}'`), { code: "ENOENT", syscall: call, path });
const statOf = (path, follow) => {
        const found = native.stat(String(path), follow);
        if (!found) throw missing("stat", path);
        const [mode, size, mtimeMs] = found, kind = mode & 0o170000;
        return { mode, size, mtimeMs, mtime: new Date(mtimeMs), isFile: () => kind === 0o100000, isDirectory: () => kind === 0o040000, isSymbolicLink: () => kind === 0o120000 };
};
const mkdirs = (path, options) => {
        if (!options?.recursive) return native.mkdir(path);
        let made = path.startsWith("/") ? "/" : "";
        for (const part of path.split("/").filter(Boolean)) {
                made += (made && !made.endsWith("/") ? "/" : "") + part;
                if (!native.stat(made, true)) native.mkdir(made);
        }
};
const remove = (path, options) => {
        const found = native.stat(path, false);
        if (!found) { if (options?.force) return; throw missing("rm", path); }
        if ((found[0] & 0o170000) !== 0o040000) return native.unlink(path);
        if (options?.recursive) for (const name of native.list(path)) remove(path + "/" + name, options);
        native.rmdir(path);
};
const fs = {
        readFileSync: (path, way) => text(native.read(path), way),
        writeFileSync: (path, data) => native.save(String(path), data, false),
        appendFileSync: (path, data) => native.save(String(path), data, true),
        existsSync: (path) => native.stat(String(path), true) !== undefined,
        statSync: (path) => statOf(path, true), lstatSync: (path) => statOf(path, false),
        readdirSync: (path, options) => {
                const names = native.list(String(path)).sort();
                return options?.withFileTypes ? names.map((name) => ({ name, ...statOf(path + "/" + name, false) })) : names;
        },
        mkdirSync: mkdirs, rmdirSync: (path) => native.rmdir(path), unlinkSync: (path) => native.unlink(path), rmSync: remove,
        renameSync: (from, to) => native.rename(from, to),
        copyFileSync: (from, to) => native.save(to, native.read(from), false),
        accessSync: (path) => { statOf(path, true); },
};
fs.promises = {};
for (const name of Object.keys(fs))
        if (name.endsWith("Sync")) {
                fs.promises[name.slice(0, -4)] = async (...words) => fs[name](...words);
                fs[name.slice(0, -4)] = (...words) => {
                        const done = words.pop();
                        fs.promises[name.slice(0, -4)](...words).then((value) => done(null, value), (error) => done(error));
                };
        }
const path = {
        sep: "/", delimiter: ":",
        normalize: (name) => {
                const out = [];
                for (const part of name.split("/"))
                        if (part === "..") { if (out.length && out.at(-1) !== "..") out.pop(); else if (!name.startsWith("/")) out.push(".."); }
                        else if (part && part !== ".") out.push(part);
                return (name.startsWith("/") ? "/" : "") + out.join("/") || ".";
        },
        join: (...parts) => path.normalize(parts.filter(Boolean).join("/") || "."),
        resolve: (...parts) => path.normalize(parts.reduce((made, part) => part.startsWith("/") ? part : made + "/" + part, "/workspace")),
        dirname: (name) => { const at = name.replace(/\/+$/, "").lastIndexOf("/"); return at < 0 ? "." : name.slice(0, at) || "/"; },
        basename: (name, end = "") => { const base = name.replace(/\/+$/, "").split("/").at(-1); return end && base.endsWith(end) && base !== end ? base.slice(0, -end.length) : base; },
        extname: (name) => /[^/]\.[^./]*$/.test(name) ? name.slice(name.lastIndexOf(".")) : "",
        isAbsolute: (name) => name.startsWith("/"),
};
const same = (a, b) => Object.is(a, b) || (typeof a === "object" && typeof b === "object" && a && b && Object.getPrototypeOf(a) === Object.getPrototypeOf(b) &&
        (a instanceof Date ? +a === +b : Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => same(a[key], b[key]))));
class AssertionError extends Error { name = "AssertionError"; code = "ERR_ASSERTION"; }
const check = (good, message, fallback) => { if (!good) throw message instanceof Error ? message : new AssertionError(message ?? fallback); };
const assert = Object.assign((good, message) => check(good, message, "The expression evaluated to a falsy value"), {
        AssertionError, ok: (good, message) => check(good, message, "not ok"),
        equal: (a, b, message) => check(a == b, message, `${inspect(a)} == ${inspect(b)}`), notEqual: (a, b, message) => check(a != b, message, `${inspect(a)} != ${inspect(b)}`),
        strictEqual: (a, b, message) => check(Object.is(a, b), message, `Expected values to be strictly equal:\n\n${inspect(a, 2, [{}])} !== ${inspect(b, 2, [{}])}`),
        notStrictEqual: (a, b, message) => check(!Object.is(a, b), message, "Expected values not to be strictly equal"),
        deepEqual: (a, b, message) => check(same(a, b), message, "Expected values to be deeply equal"),
        deepStrictEqual: (a, b, message) => check(same(a, b), message, "Expected values to be strictly deep-equal"),
        throws: (call, kind, message) => {
                try { call(); } catch (error) {
                        if (typeof kind === "function" && !(error instanceof kind)) throw error;
                        return;
                }
                check(false, message, "Missing expected exception");
        },
});
class EventEmitter {
        #calls = new Map();
        on(event, call) { this.#calls.set(event, [...this.#calls.get(event) ?? [], call]); return this; }
        addListener(event, call) { return this.on(event, call); }
        off(event, call) { this.#calls.set(event, (this.#calls.get(event) ?? []).filter((one) => one !== call && one.call !== call)); return this; }
        removeListener(event, call) { return this.off(event, call); }
        once(event, call) { const one = (...words) => { this.off(event, one); call.apply(this, words); }; one.call = call; return this.on(event, one); }
        emit(event, ...words) {
                const calls = this.#calls.get(event) ?? [];
                if (!calls.length && event === "error") throw words[0];
                for (const call of calls) Function.prototype.apply.call(call, this, words);
                return calls.length > 0;
        }
        listenerCount(event) { return (this.#calls.get(event) ?? []).length; }
}
EventEmitter.EventEmitter = EventEmitter;
const builtin = {
        fs, "fs/promises": fs.promises, path, assert, process, events: EventEmitter, util: { inspect, format, isDeepStrictEqual: same,
                promisify: (call) => (...words) => new Promise((good, bad) => call(...words, (error, value) => error ? bad(error) : good(value))) },
        os: { EOL: "\n", platform: () => "wasi", tmpdir: () => "/tmp", cpus: () => [{}], hostname: () => "sandbox" }, perf_hooks: { performance },
        crypto: globalThis.crypto, url: { fileURLToPath: (url) => String(url).replace(/^file:\/\//, ""), pathToFileURL: (name) => ({ href: "file://" + name, toString: () => "file://" + name }) },
        timers: { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval },
        "timers/promises": { setTimeout: (delay, value) => new Promise((done) => setTimeout(done, delay, value)) },
};
const known = (name) => name.startsWith("node:") ? name.slice(5) in builtin ? name.slice(5) : undefined : Object.hasOwn(builtin, name) ? name : undefined;

// ---- modules: ES ones by the engine, CommonJS ones here
const isFile = (name) => { const found = native.stat(name, true); return found && (found[0] & 0o170000) === 0o100000; };
function findFile(name) {
        for (const end of ["", ".js", ".mjs", ".cjs", ".json", "/index.js", "/index.mjs"])
                if (isFile(name + end)) return name + end;
        if (isFile(name + "/package.json")) {
                const about = JSON.parse(native.decode(native.read(name + "/package.json")));
                const main = typeof about.exports === "string" ? about.exports : about.exports?.["."]?.import ?? about.module ?? about.main;
                if (typeof main === "string") return findFile(path.join(name, main));
        }
        return undefined;
}
function resolve(base, name) {
        if (known(name)) return "node:" + known(name);
        if (name.startsWith("file://")) name = name.slice(7);
        if (name.startsWith("/") || name.startsWith("./") || name.startsWith("../") || name === "." || name === "..") {
                const found = findFile(path.normalize(name.startsWith("/") ? name : path.dirname(base) + "/" + name));
                if (found) return found;
        } else {
                const places = [];
                for (let folder = path.dirname(base); ; folder = path.dirname(folder)) {
                        places.push((folder === "/" ? "" : folder) + "/node_modules");
                        if (folder === "/" || folder === ".") break;
                }
                for (const place of [...places, "/workspace/node_modules", "/deps/node_modules"]) {
                        const found = findFile(place + "/" + name);
                        if (found) return found;
                }
        }
        throw Object.assign(new Error(`Cannot find module '${name}' imported from ${base}`), { code: "ERR_MODULE_NOT_FOUND" });
}
host.resolve = resolve;
const isModule = (name, code) => {
        if (name.endsWith(".mjs")) return true;
        if (name.endsWith(".cjs") || name.endsWith(".json")) return false;
        if (!/\b(import|export|await)\b/.test(code)) return false;
        try {
                native.script(opening + code.replace(/^#!.*/, "") + "\n})", name);
                return false;
        } catch (error) {
                return error instanceof SyntaxError;
        }
};
const exportNames = (value) => Object.keys(value).filter((name) => plain.test(name) && name !== "default" && !reserved.has(name));
const reserved = new Set("break case catch class const continue debugger delete do else enum export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static await implements interface package private protected public".split(" "));
const loaded = new Map();
Object.defineProperty(host, "loaded", { value: loaded });
const wrap = (name, value) => `const value = __host.loaded.get(${JSON.stringify(name)}).exports;\nexport default value;\n` +
        (typeof value === "object" && value || typeof value === "function" ? exportNames(value).map((key) => `export const ${key} = value.${key};`).join("\n") : "");
host.source = (name) => {
        if (name.startsWith("node:")) {
                loaded.set(name, { exports: builtin[name.slice(5)] });
                return wrap(name, builtin[name.slice(5)]);
        }
        const code = native.decode(native.read(name));
        return isModule(name, code) ? code.replace(/^#!.*/, "") : wrap(name, load(name, code));
};
function load(name, code) {
        if (loaded.has(name)) return loaded.get(name).exports;
        const module = { exports: {}, filename: name, id: name, loaded: false };
        loaded.set(name, module);
        if (name.endsWith(".json")) { module.exports = JSON.parse(code); return module.exports; }
        const run = native.script(opening + code.replace(/^#!.*/, "") + "\n})", name);
        run.call(module.exports, module.exports, requireFrom(name), module, name, path.dirname(name));
        module.loaded = true;
        return module.exports;
}
function requireFrom(base) {
        return Object.assign((name) => {
                if (known(name)) return builtin[known(name)];
                const found = resolve(base, name);
                return load(found, native.decode(native.read(found)));
        }, { resolve: (name) => resolve(base, name), cache: {} });
}
host.start = (words, variables) => {
        origin = native.now();
        performance.timeOrigin = Date.now();
        process.argv = ["node", ...words];
        globalThis.scriptArgs = words;
        for (const variable of variables) {
                const at = variable.indexOf("=");
                process.env[variable.slice(0, at)] = variable.slice(at + 1);
        }
        const name = words[0], code = native.decode(native.read(name));
        globalThis.require = requireFrom(name);
        require.main = undefined;
        if (isModule(name, code)) return import(name);
        load(name, code);
};
builtin.module = { createRequire: (name) => requireFrom(String(name).replace(/^file:\/\//, "")) };
globalThis.global = globalThis;
})();
