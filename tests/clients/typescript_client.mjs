// Speaks to `sandbox mcp` with an official TypeScript client and prints what it got, as JSON.
//
//     node typescript_client.mjs FOLDER old|new PROGRAM
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, which, program] = process.argv.slice(2);
const require = createRequire(folder + "/index.js");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const told = {}, heard = [];
let Client, StdioClientTransport;
if (which === "old") {
  ({ Client } = await load("@modelcontextprotocol/sdk/client/index.js"));
  ({ StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js"));
} else {
  ({ Client } = await load("@modelcontextprotocol/client"));
  ({ StdioClientTransport } = await load("@modelcontextprotocol/client/stdio"));
}
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command: program, args: ["mcp"], env: process.env }));
const call = (name, args, options) =>
  which === "old" ? client.callTool({ name, arguments: args }, undefined, options)
                  : client.callTool({ name, arguments: args }, options);
told.server = client.getServerVersion()?.name ?? "sandbox";
told.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
await call("create_session", { session_id: "s", language: "javascript" });
await call("run_code", { session_id: "s", code: "const x = 6; require('fs').writeFileSync('f.txt', 'hi')" });
told.ran = (await call("run_code", { session_id: "s", code: "console.log('partial'); x * 7" },
                       { onprogress: (progress) => { if (progress.message) heard.push(progress.message); } }))
  .structuredContent.stdout;
told.error = (await call("run_code", { language: "python", code: "1 / 0" })).isError;
told.resources = (await client.listResources()).resources.map((one) => one.uri);
told.text = (await client.readResource({ uri: "sandbox://session/s/f.txt" })).contents[0].text;
told.unknown = await call("no_such_tool", {}).then((result) => String(result.isError), (error) => String(error));
const stop = new AbortController();
setTimeout(() => stop.abort(), 300);
told.cancelled = await call("run_code", { language: "bash", code: "sleep 60" }, { signal: stop.signal })
  .then(() => false, () => true);
told.after = (await call("run_code", { language: "bash", code: "echo here" })).structuredContent.stdout;
told.progress = heard;
await client.close();
console.log(JSON.stringify(told));
