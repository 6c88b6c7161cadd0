/**
 * A server that writes raw bytes, for what no HTTP server does: wrong lengths, cuts, stalls, connections that stay open.
 * @module
 */

/** One connection, seen from the server. */
export interface RawConnection {
  /** Counted from 1. */
  readonly id: number;
  /** Text or bytes, as they are. */
  write(...parts: (string | Uint8Array)[]): Promise<void>;
  /** As chunks of a chunked body. */
  chunks(...parts: (string | Uint8Array)[]): Promise<void>;
  /** Resolves when the client has closed. */
  left(): Promise<void>;
}

/** A request as it came. */
export interface RawRequest {
  method: string;
  path: string;
  head: string;
  body: string;
}

/** A running server. */
export interface RawServer {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  readonly requests: RawRequest[];
  /** Connections so far. */
  readonly connections: number;
}

export const OK = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
export const CHUNKED = OK + "transfer-encoding: chunked\r\n\r\n";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function bytesOf(part: string | Uint8Array): Uint8Array {
  return typeof part === "string" ? encoder.encode(part) : part;
}

/**
 * Serves while `use` runs; then all connections are closed and all handlers awaited.
 *
 * @param answer Answers a request; `false` closes the connection, otherwise the next request is read from it.
 */
export async function withServer(
  answer: (connection: RawConnection, request: RawRequest) => Promise<boolean | void>,
  use: (server: RawServer) => Promise<void>,
): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const handlers: Promise<void>[] = [];
  const requests: RawRequest[] = [];
  let count = 0;

  async function handle(conn: Deno.TcpConn, id: number): Promise<void> {
    conn.setNoDelay(true);
    const write = async (...parts: (string | Uint8Array)[]) => {
      for (const part of parts) {
        const bytes = bytesOf(part);
        for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
      }
    };
    const connection: RawConnection = {
      id,
      write,
      chunks: async (...parts) => {
        for (const part of parts) {
          const bytes = bytesOf(part);
          await write(bytes.length.toString(16) + "\r\n", bytes, "\r\n");
        }
      },
      left: async () => {
        while (await conn.read(new Uint8Array(1024)) !== null);
      },
    };
    try {
      for (let request; (request = await readRequest(conn)) !== undefined;) {
        requests.push(request);
        if (await answer(connection, request) === false) break;
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    } finally {
      open.delete(conn);
      close(conn);
    }
  }

  const accepting = (async () => {
    for await (const conn of listener) {
      open.add(conn);
      handlers.push(handle(conn, ++count));
    }
  })();
  try {
    await use({
      origin: `http://127.0.0.1:${listener.addr.port}`,
      requests,
      get connections() {
        return count;
      },
    });
  } finally {
    listener.close();
    open.forEach(close);
    await accepting;
    await Promise.all(handlers);
  }
}

/** A port of 127.0.0.1 on which nobody listens. */
export function deadPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

async function readRequest(conn: Deno.Conn): Promise<RawRequest | undefined> {
  let text = "";
  const buffer = new Uint8Array(64 * 1024);
  const more = async () => {
    const length = await conn.read(buffer);
    if (length === null) return false;
    text += decoder.decode(buffer.subarray(0, length));
    return true;
  };
  while (!text.includes("\r\n\r\n")) if (!(await more())) return undefined;
  const end = text.indexOf("\r\n\r\n") + 4;
  const head = text.slice(0, end);
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  while (text.length < end + length) if (!(await more())) return undefined;
  const [method = "", path = ""] = head.split(" ");
  return { method, path, head, body: text.slice(end) };
}

const { BadResource, BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted } = Deno.errors;

function isGone(error: unknown): boolean {
  return [BadResource, BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted].some((kind) =>
    error instanceof kind
  );
}

function close(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
