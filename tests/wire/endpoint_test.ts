import { assertEquals, assertThrows } from "@std/assert";
import { checkKey, mergeHeaders, resolveBaseUrl } from "../../src/wire/endpoint.ts";

function refused(run: () => unknown, secret: string): void {
  const { message, stack = "" } = assertThrows(run, TypeError);
  assertEquals(message.includes(secret) || stack.split("\n    at")[0]!.includes(secret), false, message);
}

Deno.test("checkKey: takes visible ASCII, and quotes nothing else", () => {
  assertEquals(checkKey("sk-!~"), "sk-!~");
  for (const key of ["", " SECRET", "SECRET\n", "SEC RET", "SECRETé", "SECRET\0", "“SECRET”"]) {
    refused(() => checkKey(key), "SEC");
  }
});

Deno.test("resolveBaseUrl: cuts blanks and trailing slashes, and lets the dialect complete the path", () => {
  const complete = (path: string) => path === "" ? "/v1" : path;
  for (
    const [given, resolved] of [
      ["http://localhost:11434", "http://localhost:11434/v1"],
      [" http://localhost:11434/ \n", "http://localhost:11434/v1"],
      ["https://api.example//", "https://api.example/v1"],
      ["HTTPS://API.example/openai/v1///", "https://api.example/openai/v1"],
      ["http://[::1]:80/x y".replace(" ", "%20"), "http://[::1]/x%20y"],
    ]
  ) assertEquals(resolveBaseUrl(given!, complete), resolved);
});

Deno.test("resolveBaseUrl: refuses what is no plain http URL, and quotes none of it", () => {
  for (
    const url of [
      "",
      "SECRET",
      "localhost:11434",
      "ftp://SECRET",
      "file:///SECRET",
      "http://user:SECRET@host",
      "http://SECRET@host",
      "http://host/?key=SECRET",
      "http://host/?",
      "http://host/#SECRET",
      "http://host/#",
      "http://ho st/SECRET",
      "http://host/SEC\nRET",
      "http://",
      "http://host:99999/SECRET",
      "https:host/SECRET",
    ]
  ) refused(() => resolveBaseUrl(url, (path) => path), "SEC");
});

Deno.test("mergeHeaders: adds and replaces, whatever the case of the names", () => {
  const merged = mergeHeaders({ Accept: "a", authorization: "b" }, { Authorization: "c", "X-Y": "d" });
  assertEquals({ ...merged }, { accept: "a", authorization: "c", "x-y": "d" });
  assertEquals(Object.entries(mergeHeaders({}, { ["__proto__"]: "e" })), [["__proto__", "e"]]);
});

Deno.test("mergeHeaders: printed, it shows nothing; it has no key of its own beside the fields, which Node's fetch would refuse", () => {
  const merged = mergeHeaders({ authorization: "Bearer SECRET" }, {});
  assertEquals(Deno.inspect({ merged }).includes("SECRET"), false);
  assertEquals(Reflect.ownKeys(merged), ["authorization"]);
  assertEquals(new Headers(merged).get("authorization"), "Bearer SECRET");
});

Deno.test("mergeHeaders: refuses fields of the connection and what HTTP does not allow, and quotes no value", () => {
  for (const name of ["host", "Content-Length", "CONNECTION", "", "a b", "a:b", "é", "a\n"]) {
    refused(() => mergeHeaders({}, { [name]: "SECRET" }), "SECRET");
  }
  for (const value of ["SECRET\n", "SECRET\r\nx: y", "SECRET\0", "SECRET€", 1 as unknown as string]) {
    refused(() => mergeHeaders({}, { "x-y": value }), "SECRET");
  }
});
