/**
 * Write a gabfest check as a function (docs/custom-checks.md). Needs Node.js 18 or later and nothing else. The types are in
 * gabfest-check.d.ts.
 *
 *     import { check } from "./gabfest-check.js";
 *
 *     const short = check((transcript, config) => {
 *       const longest = Math.max(...transcript.turns.map((turn) => (turn.agent ?? "").length));
 *       return [longest <= config.max, `the longest reply has ${longest} characters`];
 *     });
 *
 *     await short.run();
 *
 * `node short.js` answers line by line, for `command` in gabfest.yaml. `node short.js --http 8080` serves HTTP, for `url`.
 */

import { timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const PROTOCOL = "check/1";
const SCHEMA = "gabfest.transcript/1";
const MOST_BYTES = 8 << 20;
const KEYS = ["pass", "score", "reason", "not_applicable", "evidence", "findings"];

/** Makes a check of a function of the transcript and the scenario's `config`. The function can be async. */
export function check(decide) {
  const answer = async (transcript) => {
    if (transcript?.schema !== SCHEMA) {
      throw new Error(`expected the schema ${SCHEMA}, found ${transcript?.schema}`);
    }
    return complete(await decide(transcript, transcript.config));
  };
  return { answer, run: (argv) => run(answer, argv) };
}

/** Makes the answer that gabfest reads of what a function returns. */
export function complete(answer) {
  if (answer === null || typeof answer === "boolean") {
    return { pass: answer };
  }
  if (typeof answer === "number") {
    return { score: answer };
  }
  if (Array.isArray(answer) && answer.length === 2) {
    return { ...complete(answer[0]), reason: String(answer[1]) };
  }
  if (typeof answer === "object") {
    const unknown = Object.keys(answer).filter((key) => !KEYS.includes(key));
    if (unknown.length > 0) {
      throw new Error(`unknown keys ${unknown.join(", ")}; known are ${KEYS.join(", ")}`);
    }
    return answer;
  }
  throw new TypeError(`a check returns a boolean, null, a score, [decision, reason] or an object, not ${typeof answer}`);
}

async function run(answer, argv = process.argv.slice(2)) {
  const { values } = parseArgs({
    args: argv,
    options: { http: { type: "string" }, host: { type: "string", default: "127.0.0.1" }, key: { type: "string" } },
  });
  if (values.http === undefined) {
    return serveLines(answer);
  }
  const key = values.key === undefined ? undefined : process.env[values.key];
  if (values.key !== undefined && !key) {
    throw new Error(`the variable ${values.key} is not set`);
  }
  return serveHttp(answer, values.host, Number(values.http), key);
}

async function serveLines(answer) {
  const write = process.stdout.write.bind(process.stdout);
  const line = (value) => write(`${JSON.stringify(value)}\n`);
  // What the function prints must not end up between the answers.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  line({ gabfest: PROTOCOL });
  for await (const text of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const asked = JSON.parse(text);
    try {
      line({ id: asked.id, result: await answer(asked.transcript) });
    } catch (error) {
      // The process goes on, and gabfest reports the error.
      line({ id: asked.id, error: described(error) });
    }
  }
}

function serveHttp(answer, host, port, key) {
  const server = createServer(async (request, response) => {
    const reply = (status, value) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    };
    try {
      if (request.method !== "POST") {
        return reply(405, { error: "only POST is allowed" });
      }
      if (key !== undefined && !isSame(request.headers.authorization ?? "", `Bearer ${key}`)) {
        return reply(401, { error: "the bearer token is missing or wrong" });
      }
      const chunks = [];
      let size = 0;
      for await (const chunk of request) {
        size += chunk.length;
        if (size > MOST_BYTES) {
          return reply(413, { error: `more than ${MOST_BYTES} bytes` });
        }
        chunks.push(chunk);
      }
      return reply(200, await answer(JSON.parse(Buffer.concat(chunks).toString("utf8"))));
    } catch (error) {
      return reply(500, { error: described(error) });
    }
  });
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.on("close", resolve);
    server.listen(port, host, () => console.log(`listening on http://${host}:${server.address().port}/`));
  });
}

function isSame(a, b) {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function described(error) {
  return error instanceof Error ? (error.stack ?? error.message).split("\n").slice(0, 4).join("\n") : String(error);
}
