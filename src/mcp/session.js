"use strict";
// The live interpreter of a session: runs one task after another in one global scope.
//
// A task comes as a line "NONCE LENGTH" and a JSON object of that length on standard input. Its end
// is told on both outputs by a mark with the nonce and an exit code. The inspector's way of
// evaluating allows top-level await, and names to be declared again.
const fs = require("node:fs");
const inspector = require("node:inspector");
const { Readable } = require("node:stream");
const { inspect } = require("node:util");

const open = (number, flags) => {
  try { return fs.openSync("/proc/self/fd/" + number, flags); } catch { return number; }
};
const wire = open(0, "r"), outputs = [open(1, "w"), open(2, "w")];
if (wire !== 0) {
  fs.closeSync(0);
  fs.openSync("/dev/null", "r");
}
const { writeSync } = fs, { parse } = JSON, exit = process.exit;

class Exit { constructor(code) { this.code = code; } }
const show = (value) => { console.log(inspect(value)); };
const complain = (error) => {
  if (error instanceof Exit) return;
  const text = String(error && error.stack || error);
  console.error(text.replace(/\n\s+at Session\.post [^]*$/, ""));
};
process.on("uncaughtException", complain);
process.on("unhandledRejection", complain);
process.exit = (code) => { throw new Exit(Number(code ?? process.exitCode ?? 0) & 255); };

const session = new inspector.Session();
session.connect();
const post = (method, params) => new Promise((resolve, reject) => {
  session.post(method, params, (error, result) => error ? reject(error) : resolve(result));
});
globalThis.require = require("node:module").createRequire(process.cwd() + "/session.js");
Object.defineProperty(globalThis, Symbol.for("sandbox.session"), { value: { show, complain, Exit } });

const callOn = (object, name) => post("Runtime.callFunctionOn", {
  objectId: object.objectId,
  functionDeclaration: `function () { return globalThis[Symbol.for("sandbox.session")].${name}(this); }`,
  returnByValue: true,
});

const exitCode = async (thrown) => {
  const told = await post("Runtime.callFunctionOn", {
    objectId: thrown.objectId,
    functionDeclaration: `function () {
      return this instanceof globalThis[Symbol.for("sandbox.session")].Exit ? this.code : -1; }`,
    returnByValue: true,
  });
  return told.result.value;
};

const attempt = async (task, name) => {
  process.argv.splice(1, process.argv.length, "main.js", ...task.args);
  Object.defineProperty(process, "stdin", { value: Readable.from(task.stdin ? [task.stdin] : []),
                                            configurable: true });
  const { result, exceptionDetails } = await post("Runtime.evaluate", {
    expression: task.code + "\n//# sourceURL=" + name, replMode: true, awaitPromise: true });
  if (!exceptionDetails) {
    if (result.objectId) await callOn(result, "show");
    else if (result.unserializableValue) console.log(result.unserializableValue);
    else if (result.type !== "undefined") show(result.value);
    return 0;
  }
  const thrown = exceptionDetails.exception;
  if (thrown && thrown.objectId) {
    const code = await exitCode(thrown);
    if (code >= 0) return code;
    await callOn(thrown, "complain");
  } else {
    console.error("Uncaught", thrown ? thrown.value ?? thrown.description : exceptionDetails.text);
  }
  return 1;
};

const writeAll = (output, bytes) => {
  while (bytes.length) {
    try {
      bytes = bytes.subarray(writeSync(output, bytes));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
};

let number = 0;
const serve = async (nonce, task) => {
  let code = 1;
  try { code = await attempt(task, "call-" + ++number); } catch (error) { complain(error); }
  const mark = Buffer.from("\x1e" + nonce + "\x1e" + String(code).padStart(3, "0") + "\x1e");
  for (const output of outputs) writeAll(output, mark);
};

// One task at a time: the next is looked for when the one before has ended.
let kept = Buffer.alloc(0), busy = false, ended = false;
const next = async () => {
  if (busy) return;
  const line = kept.indexOf(10);
  if (line < 0) { if (ended) exit.call(process, 0); return; }
  const [nonce, length] = kept.subarray(0, line).toString().split(" ");
  const end = line + 1 + Number(length);
  if (kept.length < end) return;
  const task = parse(kept.subarray(line + 1, end).toString());
  kept = kept.subarray(end);
  busy = true;
  await serve(nonce, task);
  busy = false;
  next();
};
const stream = fs.createReadStream(null, { fd: wire });
stream.on("data", (chunk) => { kept = Buffer.concat([kept, chunk]); next(); });
stream.on("end", () => { ended = true; next(); });
