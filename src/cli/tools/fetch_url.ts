/**
 * The tool `fetch_url`: the text of a page, from the granted hosts only.
 * @module
 */
import type { Tool } from "../../model/tool.ts";
import { intOf, textOf } from "./input.ts";
import { htmlText, plainText } from "./plain_text.ts";

const MAX_BYTES = 2 * 1024 * 1024;
const MAX_CHARS = 32 * 1024;
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 30_000;
const TEXT =
  /^(?:text\/[\w.+-]+|application\/(?:[\w.-]+\+)?(?:json|xml)|application\/(?:x-)?(?:ndjson|yaml|toml|javascript))$/;

/** Settings of {@linkcode fetchUrlTool}. */
export interface FetchUrlOptions {
  /** Milliseconds. Default 30,000. */
  timeoutMs?: number | undefined;
}

/** Why there is no page, in our own words: what the host wrote is not among them. */
class NoPage extends Error {
  constructor(why: string) {
    super(`Cannot fetch the page: ${why}`);
  }
}

/**
 * Makes `fetch_url`: GET over http or https, status 200, text only, 2 MiB, 30 seconds, 32 Ki characters a call. Redirects are followed on the
 * same host only, and never from https to http.
 *
 * @param hosts Granted hosts, `name` or `name:port`; without a port every port is granted, as in `--allow-net`.
 * @param request What sends: `fetch`, or a recording of it.
 */
export function fetchUrlTool(
  hosts: readonly string[],
  request: typeof fetch,
  { timeoutMs = TIMEOUT_MS }: FetchUrlOptions = {},
): Tool {
  return {
    name: "fetch_url",
    description: `Gets the text of a page by http or https. Only from: "${hosts.join('", "')}".`,
    inputSchema: {
      type: "object",
      properties: {
        url: { type: "string", description: "The address" },
        offset: { type: "integer", minimum: 0, description: "First character of a long text; default 0" },
      },
      required: ["url"],
    },
    timeoutMs: timeoutMs + 5000,
    async run({ url, offset }, { signal }) {
      const target = checkUrl(textOf(url, "url"), hosts);
      const stop = new AbortController();
      const abort = () => stop.abort();
      signal.addEventListener("abort", abort);
      const timer = setTimeout(abort, timeoutMs);
      try {
        signal.throwIfAborted();
        return excerpt(await load(target, request, stop.signal), intOf(offset, 0, 0, MAX_BYTES));
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NoPage) throw error;
        throw new NoPage(stop.signal.aborted ? `it took more than ${timeoutMs} ms` : "the connection failed");
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        stop.abort();
      }
    },
  };
}

function checkUrl(text: string, hosts: readonly string[]): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Error("Cannot fetch the page: the url is no http or https address");
  }
  if (url.username || url.password) {
    throw new Error("Cannot fetch the page: the url must not hold a user name or password");
  }
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  if (hosts.includes(url.hostname) || hosts.includes(`${url.hostname}:${port}`)) return url;
  throw new Error(`Cannot fetch the page: only these hosts are granted: ${hosts.join(", ")}`);
}

async function load(url: URL, request: typeof fetch, signal: AbortSignal): Promise<string> {
  let target = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const reply = await request(target, {
      headers: {
        accept: "text/html, text/*, application/json, application/xml;q=0.9, */*;q=0.1",
        "user-agent": "pawl",
      },
      credentials: "omit",
      redirect: "manual",
      signal,
    });
    if (reply.status === 200) return await textOfReply(reply);
    await reply.body?.cancel();
    const next = URL.parse(reply.headers.get("location") ?? "nowhere:", target);
    if (reply.status < 300 || reply.status > 399) throw new NoPage(`the host answers with HTTP ${reply.status}`);
    const sameOrigin = next?.origin === target.origin;
    const upgrade = next?.protocol === "https:" && target.protocol === "http:" && !next.port && !target.port &&
      next.hostname === target.hostname;
    if (!next || !(sameOrigin || upgrade) || next.username || next.password) {
      throw new NoPage(`it leads elsewhere (HTTP ${reply.status}), and only its own host is asked`);
    }
    target = next;
  }
  throw new NoPage(`it leads on and on, more than ${MAX_REDIRECTS} times`);
}

async function textOfReply(reply: Response): Promise<string> {
  const [type = "", ...parameters] = (reply.headers.get("content-type") ?? "").toLowerCase().split(";").map((part) =>
    part.trim()
  );
  if (!TEXT.test(type) || !reply.body) {
    await reply.body?.cancel();
    throw new NoPage("it is no text");
  }
  const charset = parameters.find((part) => part.startsWith("charset="))?.slice(8).replaceAll('"', "") || "utf-8";
  const decoder = decoderOf(charset);
  let text = "";
  let size = 0;
  for await (const chunk of reply.body) {
    text += decoder.decode(chunk.subarray(0, MAX_BYTES - size), { stream: true });
    if ((size += chunk.length) > MAX_BYTES) break;
  }
  text += decoder.decode();
  const plain = plainText(/^text\/html$|xhtml/.test(type) ? htmlText(text) : text);
  return size > MAX_BYTES ? `${plain}\n[the page is too large: only its first 2 MiB were read]` : plain;
}

function decoderOf(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    throw new NoPage("its character encoding is unknown");
  }
}

function excerpt(text: string, offset: number): string {
  if (text === "") return "(the page is empty)";
  if (offset >= text.length) return `(the page has ${text.length} characters)`;
  const piece = text.slice(offset, offset + MAX_CHARS).toWellFormed();
  const end = offset + piece.length;
  return end < text.length
    ? `${piece}\n[characters ${offset} to ${end} of ${text.length}; go on with offset ${end}]`
    : piece;
}
