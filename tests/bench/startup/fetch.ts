/** The start-up limit: a bare fetch. */
const [origin, key] = Deno.args;
const response = await fetch(`${origin}/${key}/chat/completions`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "bench-model", messages: [{ role: "user", content: "Hi" }], stream: true }),
});
await response.text();
