/**
 * A replay server over raw TCP: exact chunk borders, wrong lengths, aborts and delays, which no HTTP server allows.
 * It listens on 127.0.0.1 only and records every request.
 * @module
 */
import { type Chunking, CHUNKINGS, type Reply, seeded, seedOf, type Step, steps, type WireCase } from "./wire_case.ts";

/** A request as it arrived. */
export interface RecordedRequest {
  method: string;
  path: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** The body as text. */
  text: string;
  /** The body as JSON; the text if it is none. */
  body: unknown;
}

/** What is sent back: a reply with its steps made. */
export interface Answer extends Omit<Reply, "chunks"> {
  steps: Step[];
}

/** A running server. */
export interface ReplayServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  readonly requests: RecordedRequest[];
  /** Ends all connections and waits for their handlers. */
  close(): Promise<void>;
}

/**
 * Starts a server.
 *
 * @param answer Chooses the answer to a request; without one it is a 404 that says so.
 * @param options Port; 0, the default, takes a free one.
 */
export function startReplayServer(
  answer: (request: RecordedRequest) => Answer | undefined,
  options: { port?: number } = {},
): ReplayServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: options.port ?? 0 });
  const requests: RecordedRequest[] = [];
  const open = new Map<Deno.TcpConn, Promise<void>>();

  async function handle(conn: Deno.TcpConn): Promise<void> {
    conn.setNoDelay(true);
    let gone: Promise<void> | undefined;
    try {
      const request = await readRequest(conn);
      if (request === undefined) return;
      requests.push(request);
      gone = whenGone(conn);
      await respond(conn, answer(request) ?? notFound(), gone);
    } catch (error) {
      tolerateClosed(error);
    } finally {
      open.delete(conn);
      closeQuietly(conn);
      await gone;
    }
  }

  async function accept(): Promise<void> {
    for await (const conn of listener) open.set(conn, handle(conn));
  }
  const accepting = accept();

  async function close(): Promise<void> {
    listener.close();
    const handlers = [...open.values()];
    for (const conn of open.keys()) closeQuietly(conn);
    await Promise.all([accepting, ...handlers]);
  }

  return {
    origin: `http://127.0.0.1:${listener.addr.port}`,
    requests,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Answers requests in the order they come, with the replies of a list. */
export function inOrder(replies: readonly Reply[]): () => Answer | undefined {
  let next = 0;
  return () => {
    const reply = replies[next++];
    return reply && { ...reply, steps: steps(reply.chunks, "recorded") };
  };
}

/** Answers `/CHUNKING/CASE-ID/…` with that case, so that a base URL alone chooses what is replayed. */
export function byPath(cases: readonly WireCase[], seed: number): (request: RecordedRequest) => Answer | undefined {
  const byId = new Map(cases.map((wireCase) => [wireCase.id, wireCase]));
  return ({ path }) => {
    const [, chunking, id] = path.split("/");
    const found = byId.get(id ?? "");
    if (found === undefined || !CHUNKINGS.includes(chunking as Chunking)) return undefined;
    return answerOf(found, chunking as Chunking, seed);
  };
}

/** The answer of a case under a chunking. */
export function answerOf(wireCase: WireCase, chunking: Chunking, seed: number): Answer {
  const random = seeded(seedOf(wireCase.id, seed));
  return { ...wireCase.response, steps: steps(wireCase.response.chunks, chunking, random) };
}

function notFound(): Answer {
  const body = JSON.stringify({ error: { message: "the replay server has no answer to this request" } });
  return {
    status: 404,
    headers: { "content-type": "application/json", "x-should-retry": "false" },
    steps: steps([body], "whole"),
  };
}

const { BadResource, BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted } = Deno.errors;

/** The client went away, or the server is closing: nothing is left to replay to. */
function tolerateClosed(error: unknown): void {
  const closed = [BadResource, BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted];
  if (!closed.some((kind) => error instanceof kind)) throw error;
}

function closeQuietly(conn: Deno.TcpConn): void {
  try {
    conn.close();
  } catch (error) {
    tolerateClosed(error);
  }
}

const encoder = new TextEncoder();

/** One character a byte, so that offsets in text are offsets in bytes. */
function binary(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

async function readRequest(conn: Deno.TcpConn): Promise<RecordedRequest | undefined> {
  let raw = "";
  const buffer = new Uint8Array(65536);
  const more = async () => {
    const count = await conn.read(buffer);
    if (count !== null) raw += binary(buffer.subarray(0, count));
    return count !== null;
  };
  while (!raw.includes("\r\n\r\n")) if (!(await more())) return undefined;
  const head = raw.indexOf("\r\n\r\n");
  const [first = "", ...lines] = raw.slice(0, head).split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  let content: string;
  if (headers["transfer-encoding"]?.toLowerCase() === "chunked") {
    while (!raw.endsWith("0\r\n\r\n")) if (!(await more())) return undefined;
    content = unchunk(raw.slice(head + 4));
  } else {
    const end = head + 4 + Number(headers["content-length"] ?? 0);
    while (raw.length < end) if (!(await more())) return undefined;
    content = raw.slice(head + 4, end);
  }
  const text = new TextDecoder().decode(Uint8Array.from(content, (c) => c.charCodeAt(0)));
  return { method, path, headers, text, body: parsed(text) };
}

function unchunk(raw: string): string {
  let content = "";
  for (let at = 0;;) {
    const line = raw.indexOf("\r\n", at);
    const size = parseInt(raw.slice(at, line), 16);
    if (!(size > 0)) return content;
    content += raw.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function respond(conn: Deno.TcpConn, answer: Answer, gone: Promise<void>): Promise<void> {
  const { status, headers, framing } = answer;
  const chunked = framing !== "close" && status !== 204 && status !== 304 &&
    !Object.keys(headers).some((name) => name.toLowerCase() === "content-length");
  let head = `HTTP/1.1 ${status} Replay\r\nconnection: close\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  if (chunked) head += "transfer-encoding: chunked\r\n";
  await write(conn, encoder.encode(head + "\r\n"));
  for (const step of answer.steps) {
    if (step instanceof Uint8Array) {
      if (!chunked) await write(conn, step);
      else {
        const size = encoder.encode(step.length.toString(16) + "\r\n");
        const chunk = new Uint8Array(size.length + step.length + 2);
        chunk.set(size);
        chunk.set(step, size.length);
        chunk.set([13, 10], size.length + step.length);
        await write(conn, chunk);
      }
    } else if ("abort" in step || !(await waited(step.delay_ms, gone))) return;
  }
  if (chunked) await write(conn, encoder.encode("0\r\n\r\n"));
}

async function write(conn: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}

/** Settles when the client closes, so that nobody waits out a delay for a client that has left. */
async function whenGone(conn: Deno.TcpConn): Promise<void> {
  try {
    while (await conn.read(new Uint8Array(256)) !== null);
  } catch (error) {
    tolerateClosed(error);
  }
}

async function waited(ms: number, gone: Promise<void>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(true), ms));
  const result = await Promise.race([over, gone.then(() => false)]);
  clearTimeout(timer);
  return result;
}
