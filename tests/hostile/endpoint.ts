/**
 * A hostile model endpoint on 127.0.0.1, for tests and for `deno task hostile`. It speaks both dialects; the path chooses the attack:
 *
 *     POST /ATTACK/v1/chat/completions, /ATTACK/v1/messages; GET /ATTACK/v1/models
 *
 * `ATTACK;N` scales those that scale. A second port plays the other origin that redirects point to. It writes raw bytes, since no HTTP
 * server does what it has to do. It is bounded: so many bytes and so many seconds a connection.
 * @module
 */
import { type Writer, WRITERS } from "../support/writer.ts";

/** Text and bytes are sent as they are, a number is a pause in milliseconds. */
export type Piece = string | Uint8Array | number;

/** What is done to a client. */
export interface Answer {
  /** Default 200. */
  status?: number;
  /** With a content-length there, the body is not chunked. Default content-type: an event stream. */
  headers?: Record<string, string>;
  /** `false`: the body has the head in it. */
  head?: false;
  body: Iterable<Piece> | string;
  /** `whole`: as HTTP wants it. `cut`: the connection is closed without an end mark. `open`: it is never closed. Default `whole`. */
  end?: "whole" | "cut" | "open";
}

/** What a client asked. */
export interface Asked {
  writer: Writer;
  /** Requests of this attack before this one. */
  nth: number;
  /** How much, if the path says so, else `usual`. */
  scale(usual: number): number;
  /** A tool that was offered. */
  tool: string;
  key: string;
  /** Behind the name of the attack: `/v1/messages`. */
  path: string;
  /** The other origin. */
  elsewhere: string;
  // deno-lint-ignore no-explicit-any -- whatever was sent
  body: any;
}

/** One row of the table. */
export interface Attack {
  does: string;
  answer(asked: Asked): Answer | Promise<Answer>;
  /** The body of the request is left in the kernel: closing then resets the connection. */
  resets?: true;
}

/** A request as it was seen. */
export interface Seen {
  attack: string;
  method: string;
  /** Behind the name of the attack. */
  path: string;
  /** It came to the other origin. */
  elsewhere: boolean;
  headers: Record<string, string>;
  // deno-lint-ignore no-explicit-any -- whatever was sent
  body: any;
  /** `performance.now()` of its arrival. */
  at: number;
  /** Bytes that the kernel took; a client need not have read them. */
  sent: number;
  /** Who ended it; `bound`: nobody before a bound of this endpoint. */
  endedBy?: "client" | "endpoint" | "bound";
  over: Promise<void>;
}

const MAX_SECONDS = 60;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A running endpoint. Dispose of it: that closes every connection and waits for its handlers. */
export class HostileEndpoint implements AsyncDisposable {
  /** Every request, in the order of arrival. */
  readonly seen: Seen[] = [];
  readonly #attacks: Record<string, Attack>;
  readonly #maxBytes: number;
  readonly #listeners = [0, 1].map(() => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  readonly #open = new Set<Deno.Conn>();
  readonly #running: Promise<void>[];
  #count = new Map<string, number>();

  /**
   * Listens on two free ports.
   *
   * @param maxBytes Of one connection. Default: 64 MiB.
   */
  constructor(attacks: Record<string, Attack>, maxBytes = 64 * 1024 * 1024) {
    this.#attacks = attacks;
    this.#maxBytes = maxBytes;
    this.#running = this.#listeners.map((listener, i) => this.#accept(listener, i === 1));
  }

  /** `127.0.0.1:PORT`. */
  get host(): string {
    return hostOf(this.#listeners[0]!);
  }

  /** The other origin, as `127.0.0.1:PORT`. */
  get elsewhere(): string {
    return hostOf(this.#listeners[1]!);
  }

  /** The base URL for an attack, as a user of the dialect would write it. */
  baseUrl(attack: string, dialect: string): string {
    return `http://${this.host}/${attack}${dialect === "openai_chat" ? "/v1" : ""}`;
  }

  /** Forgets what was seen. */
  reset(): void {
    this.seen.length = 0;
    this.#count.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    this.#open.forEach(close);
    await Promise.all(this.#running);
  }

  async #accept(listener: Deno.TcpListener, elsewhere: boolean): Promise<void> {
    for await (const conn of listener) {
      this.#open.add(conn);
      const handled = this.#handle(conn, elsewhere).finally(() => {
        this.#open.delete(conn);
        close(conn);
      });
      this.#running.push(handled);
    }
  }

  async #handle(conn: Deno.TcpConn, elsewhere: boolean): Promise<void> {
    conn.setNoDelay(true);
    const request = await readHead(conn);
    if (!request) return;
    const { method, name, amount, path, headers, rest } = request;
    const attack = this.#attacks[name];
    const isRead = elsewhere || !attack?.resets;
    const body: Asked["body"] = isRead ? await readBody(conn, headers, rest) : undefined;
    const nth = this.#count.get(name + path) ?? 0;
    const over = Promise.withResolvers<void>();
    const seen: Seen = {
      attack: name,
      method,
      path,
      elsewhere,
      headers,
      body,
      at: performance.now(),
      sent: 0,
      over: over.promise,
    };
    this.seen.push(seen);
    if (!elsewhere) this.#count.set(name + path, nth + 1);
    const writer = WRITERS[path.endsWith("/messages") || "x-api-key" in headers ? 1 : 0]!;
    const asked: Asked = {
      writer,
      nth,
      scale: (usual) => amount || usual,
      tool: body?.tools?.[0]?.function?.name ?? body?.tools?.[0]?.name ?? "noop",
      key: headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /, "") ?? "",
      path,
      elsewhere: this.elsewhere,
      body,
    };
    const answer = elsewhere ? says(asked, "I have your conversation") : await attack?.answer(asked) ?? notFound(name);
    const connection = new Connection(conn, seen, this.#maxBytes);
    if (isRead) connection.watch();
    await connection.send(answer);
    if (isRead) await connection.end(answer.end === "open");
    over.resolve();
  }
}

/** Writes an answer, and notices when the client goes. */
class Connection {
  readonly #conn: Deno.TcpConn;
  readonly #seen: Seen;
  readonly #maxBytes: number;
  readonly #left = Promise.withResolvers<void>();
  #isGone = false;

  constructor(conn: Deno.TcpConn, seen: Seen, maxBytes: number) {
    this.#conn = conn;
    this.#seen = seen;
    this.#maxBytes = maxBytes;
  }

  watch(): void {
    const buffer = new Uint8Array(1024);
    const look = async () => {
      // A client that resets the connection has left it too, and so has one whose connection was closed here.
      while (await this.#conn.read(buffer).catch(() => null) !== null);
      this.#isGone = true;
      this.#left.resolve();
    };
    look();
  }

  async send({ status = 200, headers, head, body, end = "whole" }: Answer): Promise<void> {
    const fields = { "content-type": "text/event-stream", ...headers };
    const isChunked = head !== false && !("content-length" in fields);
    if (head !== false) {
      const lines = Object.entries({
        ...fields,
        connection: "close",
        ...isChunked && { "transfer-encoding": "chunked" },
      });
      await this.#write(`HTTP/1.1 ${status} X\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join("")}\r\n`);
    }
    for (const piece of typeof body === "string" ? [body] : body) {
      if (this.#isGone || performance.now() - this.#seen.at > MAX_SECONDS * 1000 || this.#seen.sent > this.#maxBytes) {
        break;
      }
      if (typeof piece === "number") await this.#pause(piece);
      else if (piece.length > 0) await this.#write(isChunked ? chunk(piece) : piece);
    }
    if (isChunked && end === "whole") await this.#write("0\r\n\r\n");
  }

  /** Lets the client read what is on its way. */
  async end(isOpen: boolean): Promise<void> {
    const isBound = this.#seen.sent > this.#maxBytes;
    if (!this.#isGone && !isOpen && !isBound) await this.#conn.closeWrite().catch(() => {});
    const byItself = !isOpen && !isBound && !this.#isGone;
    await this.#pause(isOpen || isBound ? MAX_SECONDS * 1000 : 500);
    this.#seen.endedBy = byItself ? "endpoint" : isBound || !this.#isGone ? "bound" : "client";
  }

  async #pause(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([this.#left.promise, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
    clearTimeout(timer);
  }

  async #write(piece: string | Uint8Array): Promise<void> {
    let bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
    while (bytes.length > 0 && !this.#isGone) {
      const sent = await this.#conn.write(bytes).catch(() => undefined);
      if (sent === undefined) return void (this.#isGone = true);
      this.#seen.sent += sent;
      bytes = bytes.subarray(sent);
    }
  }
}

/** A reply of one text. */
export function says({ writer }: Asked, text: string): Answer {
  return { body: writer.events({ parts: [{ text: [text] }], end: "end_turn" }) };
}

function notFound(name: string): Answer {
  return { status: 404, headers: { "content-type": "text/plain" }, body: `there is no attack "${name}"` };
}

function chunk(piece: string | Uint8Array): Uint8Array {
  const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
  const head = encoder.encode(`${bytes.length.toString(16)}\r\n`);
  const framed = new Uint8Array(head.length + bytes.length + 2);
  framed.set(head);
  framed.set(bytes, head.length);
  framed.set([13, 10], head.length + bytes.length);
  return framed;
}

interface Head {
  method: string;
  name: string;
  /** Behind the semicolon. */
  amount: number;
  path: string;
  headers: Record<string, string>;
  /** What has been read of the body. */
  rest: Uint8Array;
}

/** In small steps, so that a body can be left in the kernel. */
async function readHead(conn: Deno.Conn): Promise<Head | undefined> {
  const bytes: number[] = [];
  const step = new Uint8Array(16);
  for (let end = -1; end < 0;) {
    const length = await conn.read(step).catch(() => null);
    if (length === null) return undefined;
    bytes.push(...step.subarray(0, length));
    const text = String.fromCharCode(...bytes);
    end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const [start = "", ...lines] = text.slice(0, end).split("\r\n");
    const [method = "", target = ""] = start.split(" ");
    const [, name = "", amount, path = ""] = /^\/([^/;]*)(?:;(\d+))?(.*)$/.exec(decodeURI(target)) ?? [];
    const headers = Object.fromEntries(lines.map((line) => {
      const [field = "", value = ""] = line.split(/:\s*(.*)/s);
      return [field.toLowerCase(), value];
    }));
    return { method, name, amount: Number(amount ?? 0), path, headers, rest: Uint8Array.from(bytes.slice(end + 4)) };
  }
}

async function readBody(conn: Deno.Conn, headers: Record<string, string>, rest: Uint8Array): Promise<unknown> {
  const body = new Uint8Array(Number(headers["content-length"] ?? 0));
  body.set(rest);
  for (let have = rest.length; have < body.length;) {
    const length = await conn.read(body.subarray(have)).catch(() => null);
    if (length === null) return undefined;
    have += length;
  }
  return body.length > 0 ? JSON.parse(decoder.decode(body)) : undefined;
}

function hostOf(listener: Deno.TcpListener): string {
  return `127.0.0.1:${listener.addr.port}`;
}

function close(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // It is closed already, by the endpoint's end.
  }
}
