/**
 * The replay server: raw TCP, so that a reply costs it a few large writes. A path that begins with the key of a subject is
 * answered with that reply, whatever the request.
 *
 *     deno run --allow-net=127.0.0.1 tests/bench/server.ts
 *
 * prints its origin, and serves until its standard input ends.
 *
 * @module
 */
import { chunksOf, subjectOf } from "./corpus.ts";

/** Between two events of a paced reply. */
const PACE_MS = 5;

/** A reply, framed. */
interface Wire {
  writes: Uint8Array[];
  paced: boolean;
}

const encoder = new TextEncoder();
const HEAD = encoder.encode(
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n" +
    "transfer-encoding: chunked\r\n\r\n",
);

function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

const LINE_END = encoder.encode("\r\n");

function frame(key: string): Wire {
  const subject = subjectOf(key), paced = subject.framing === "paced";
  const frames = chunksOf(subject).map((chunk) =>
    join([encoder.encode(chunk.length.toString(16)), LINE_END, chunk, LINE_END])
  );
  const end = encoder.encode("0\r\n\r\n");
  return { writes: paced ? [HEAD, ...frames, end] : [join([HEAD, ...frames, end])], paced };
}

/** Reads requests off a connection; each is over once its body has come. */
async function* requests(connection: Deno.Conn): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("latin1");
  const buffer = new Uint8Array(1 << 16);
  let text = "";
  for (;;) {
    const head = text.indexOf("\r\n\r\n") + 4;
    const length = /^content-length: *(\d+)/im.exec(text.slice(0, head))?.[1] ?? "0";
    if (head >= 4 && text.length >= head + Number(length)) {
      yield text.slice(0, head);
      text = text.slice(head + Number(length));
      continue;
    }
    const count = await connection.read(buffer);
    if (count === null) return;
    text += decoder.decode(buffer.subarray(0, count));
  }
}

/** A server within this process. */
export interface Server {
  /** `http://127.0.0.1:PORT` */
  origin: string;
  close(): Promise<void>;
}

/**
 * Starts to serve.
 *
 * @param onRequest Called when a request has arrived
 * @returns The server
 */
export function startServer(onRequest: () => void = () => {}): Server {
  const wires = new Map<string, Wire>();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Map<Deno.Conn, Promise<void>>();

  async function serve(connection: Deno.TcpConn): Promise<void> {
    connection.setNoDelay(true);
    for await (const head of requests(connection)) {
      onRequest();
      const key = head.split("/", 2)[1]!;
      const { writes, paced } = wires.get(key) ?? wires.set(key, frame(key)).get(key)!;
      for (const [i, bytes] of writes.entries()) {
        if (paced && i > 0) await new Promise((resolve) => setTimeout(resolve, PACE_MS));
        for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at, at + (1 << 18)));
      }
    }
  }
  async function serveToItsEnd(connection: Deno.TcpConn): Promise<void> {
    try {
      await serve(connection);
    } catch (error) {
      // A client may leave at any time, and close() takes the connection away.
      if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) return;
      if (!["ECONNRESET", "EPIPE"].includes((error as { code?: string }).code ?? "")) throw error;
    } finally {
      if (open.delete(connection)) connection.close();
    }
  }
  async function accept(): Promise<void> {
    for await (const connection of listener) open.set(connection, serveToItsEnd(connection));
  }
  const accepting = accept();
  return {
    origin: `http://127.0.0.1:${listener.addr.port}`,
    async close() {
      listener.close();
      const serving = [...open.values()];
      for (const connection of open.keys()) connection.close();
      open.clear();
      await Promise.all([accepting, ...serving]);
    },
  };
}

if (import.meta.main) {
  const server = startServer();
  console.log(server.origin);
  // Whoever started this process ends it by closing the pipe, or by ending itself.
  for await (const _ of Deno.stdin.readable);
  await server.close();
}
