/**
 * Makes a model that speaks scripts: one llama layer, nothing trained, so that a real llama-server can be tested with
 * replies that are known beforehand.
 *
 * - Every token has a one-hot embedding and a constant 1; the feed-forward part is zero.
 * - `output.weight` is a table of pairs: after token a, token b is likely. Since most pieces of the scripts occur once,
 *   the last token says nearly everything.
 * - Where a token has several successors, votes decide: attention looks only at selectors, and its rotary encoding lets
 *   the most recent one win. Selectors are the names of the scripts, `user\n` (back to the script `""`) and the last
 *   unique piece before a shared one.
 * - A small standing preference (end of turn, then JSON's closing marks) lets generation under a grammar terminate.
 *
 * The name of the script has to stand near the end of the prompt.
 *
 * @module
 */
import { type Metadata, type Tensor, writeGguf } from "./gguf.ts";
import { CHAT_TEMPLATE, SCRIPTS } from "./scripts.ts";
import { BYTE_CHARACTERS, cutScripts, TAGS, Vocabulary } from "./vocabulary.ts";

const HEAD = 128;
const FEED_FORWARD = 32;
const ROPE_BASE = 1e6;
const USER = "user\n";

/** Logits: a pair in the table, the standing preferences, a vote, and the order of pairs that no vote decides. */
const PAIR = 400;
const PREFERENCE = 160;
const VOTE = 90;
const ORDER = 4;
const ATTENTION_SHARPNESS = 8;
const PREFERRED = ['"', "}", "]", ":", ",", "{", "[", "0", "1", "t", "r", "u", "e", "n", "a"];

/** The scripts as an automaton over tokens. */
interface Automaton {
  vocabulary: Vocabulary;
  /** Token to the tokens that may follow it, most likely first. */
  successors: Map<number, Set<number>>;
  /** Selector to the successors that it prefers. */
  votes: Map<number, Set<number>>;
}

function into(map: Map<number, Set<number>>, key: number, value: number): void {
  const set = map.get(key);
  if (set) set.add(value);
  else map.set(key, new Set([value]));
}

function automaton(scripts: Record<string, string>): Automaton {
  const names = [...Object.keys(scripts).filter((name) => name !== ""), USER];
  const vocabulary = new Vocabulary(names.filter((name) => !TAGS.includes(name)));
  const { pieces, unique } = cutScripts(scripts, vocabulary);
  const end = vocabulary.id("<|im_end|>");
  const lineFeed = vocabulary.id(BYTE_CHARACTERS[10]!);
  const successors: Automaton["successors"] = new Map();
  const votes: Automaton["votes"] = new Map();
  const sequences = new Map<string, number[]>();
  for (const [name, texts] of pieces) {
    const tokens = texts.map((text) => vocabulary.has(text) ? vocabulary.id(text) : vocabulary.add(text));
    sequences.set(name, tokens);
    let selector = vocabulary.id(name || USER);
    const start = tokens[0] ?? end;
    into(successors, lineFeed, start);
    into(votes, selector, start);
    tokens.forEach((token, i) => {
      const next = tokens[i + 1] ?? end;
      into(successors, token, next);
      if (!unique.has(vocabulary.tokens[token]!)) into(votes, selector, next);
      else if (next !== end && !unique.has(vocabulary.tokens[next]!)) selector = token;
    });
  }
  const made = { vocabulary, successors, votes };
  for (const [name, tokens] of sequences) check(made, name, [...tokens, end]);
  return made;
}

/** Speaks a script on the automaton itself: what is ambiguous there cannot become right in the weights. */
function check({ vocabulary, successors, votes }: Automaton, name: string, tokens: number[]): void {
  let last = vocabulary.id(BYTE_CHARACTERS[10]!);
  let selector = vocabulary.id(name || USER);
  for (const wanted of tokens) {
    const all = [...successors.get(last) ?? []];
    const best = all.length === 1 ? all : all.filter((token) => votes.get(selector)?.has(token));
    if (best.length !== 1 || best[0] !== wanted) {
      throw new Error(`Cannot speak the script "${name}": ambiguous behind "${vocabulary.tokens[last]}", reword it`);
    }
    last = wanted;
    if (votes.has(last)) selector = last;
  }
}

class Matrix {
  readonly data: Float32Array;
  readonly #columns: number;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.data = new Float32Array(columns * rows);
  }

  add(row: number, column: number, value: number): void {
    const at = row * this.#columns + column;
    this.data[at] = this.data[at]! + value;
  }
}

function tensors({ vocabulary, successors, votes }: Automaton): { width: number; tensors: Tensor[] } {
  const count = vocabulary.tokens.length;
  const selectors = [...votes.keys()];
  if (selectors.length > HEAD) throw new Error(`Cannot make the model: ${selectors.length} selectors, at most ${HEAD}`);
  const width = Math.ceil((count + 1 + selectors.length) / HEAD) * HEAD;
  // Behind the one-hot part: the constant, then what attention found.
  const constant = count;
  const found = count + 1;
  // What the norm makes of each 1, before attention (two of them) and behind it (three).
  const before = Math.sqrt(width / 2);
  const behind = Math.sqrt(width / 3);
  const [embedding, query, key] = [new Matrix(width, count), new Matrix(width, width), new Matrix(width, HEAD)];
  const [value, merge, output] = [new Matrix(width, HEAD), new Matrix(width, width), new Matrix(width, count)];

  for (let token = 0; token < count; token++) {
    embedding.add(token, token, 1);
    embedding.add(token, constant, 1);
  }
  // The sum of w² cos(angle · distance) over the rotary pairs falls with the distance: the most recent selector wins.
  for (let pair = 2; pair < HEAD / 2; pair++) {
    const ramp = Math.sin(Math.PI * Math.min(0.5, 3 * (pair - 2) / (HEAD / 2 - 3)));
    const weight = Math.sqrt(ramp * ATTENTION_SHARPNESS * Math.sqrt(HEAD)) / before;
    query.add(2 * pair, constant, weight);
    for (const selector of selectors) key.add(2 * pair, selector, weight);
  }
  selectors.forEach((selector, i) => {
    value.add(i, selector, 1 / before);
    merge.add(found + i, i, 1);
    for (const token of votes.get(selector)!) output.add(token, found + i, VOTE / behind);
  });
  const end = vocabulary.id("<|im_end|>");
  const preference = new Map(
    [end, ...PREFERRED.map((mark) => vocabulary.id(mark))].map((token, i) => [token, PREFERENCE - 4 * i]),
  );
  for (const [token, logit] of preference) output.add(token, constant, logit / behind);
  for (const [token, next] of successors) {
    [...next].forEach((follower, i) => {
      const logit = PAIR - ORDER * Math.min(i, 15) - (preference.get(follower) ?? 0);
      output.add(follower, token, logit / behind);
    });
    // Where a grammar forbids the end of a turn (a required tool), a call is the next best.
    if (next.size === 1 && next.has(end)) output.add(vocabulary.id("<tool_call>"), token, PAIR / 2 / behind);
  }
  // A call whose name or arguments a grammar forced is closed, and no list of more calls begins.
  const lineFeed = vocabulary.id(BYTE_CHARACTERS[10]!);
  output.add(vocabulary.id("</tool_call>"), lineFeed, (PREFERENCE + 10) / behind);
  output.add(lineFeed, vocabulary.id("}"), (PREFERENCE - 18) / behind);

  const ones = new Float32Array(width).fill(1);
  const made: Tensor[] = [
    { name: "token_embd.weight", dims: [width, count], data: embedding.data },
    { name: "output_norm.weight", dims: [width], data: ones },
    { name: "output.weight", dims: [width, count], data: output.data },
    { name: "blk.0.attn_norm.weight", dims: [width], data: ones },
    { name: "blk.0.ffn_norm.weight", dims: [width], data: ones },
    { name: "blk.0.attn_q.weight", dims: [width, width], data: query.data },
    { name: "blk.0.attn_k.weight", dims: [width, HEAD], data: key.data },
    { name: "blk.0.attn_v.weight", dims: [width, HEAD], data: value.data },
    { name: "blk.0.attn_output.weight", dims: [width, width], data: merge.data },
    { name: "blk.0.ffn_gate.weight", dims: [width, FEED_FORWARD] },
    { name: "blk.0.ffn_up.weight", dims: [width, FEED_FORWARD] },
    { name: "blk.0.ffn_down.weight", dims: [FEED_FORWARD, width] },
  ];
  return { width, tensors: made };
}

/**
 * Writes the scripted model.
 *
 * @param path Where to, about 5 MB
 * @param scripts Name to text
 */
export function writeScriptedModel(path: string, scripts: Record<string, string> = SCRIPTS): void {
  const made = automaton(scripts);
  const { vocabulary } = made;
  const { width, tensors: weights } = tensors(made);
  const end = vocabulary.id("<|im_end|>");
  const metadata: Metadata = {
    "general.architecture": ["str", "llama"],
    "general.name": ["str", "scripted-tiny"],
    "llama.context_length": ["u32", 32_768],
    "llama.embedding_length": ["u32", width],
    "llama.block_count": ["u32", 1],
    "llama.feed_forward_length": ["u32", FEED_FORWARD],
    "llama.attention.head_count": ["u32", width / HEAD],
    "llama.attention.head_count_kv": ["u32", 1],
    "llama.attention.layer_norm_rms_epsilon": ["f32", 1e-6],
    "llama.rope.dimension_count": ["u32", HEAD],
    "llama.rope.freq_base": ["f32", ROPE_BASE],
    "llama.vocab_size": ["u32", vocabulary.tokens.length],
    "tokenizer.ggml.model": ["str", "gpt2"],
    "tokenizer.ggml.pre": ["str", "qwen2"],
    "tokenizer.ggml.tokens": ["str", vocabulary.tokens],
    "tokenizer.ggml.token_type": ["i32", vocabulary.types],
    // The list must exist; this pair gives no token.
    "tokenizer.ggml.merges": ["str", [`${BYTE_CHARACTERS[0]} ${BYTE_CHARACTERS[0]}`]],
    "tokenizer.ggml.eos_token_id": ["u32", end],
    "tokenizer.ggml.padding_token_id": ["u32", end],
    "tokenizer.ggml.add_bos_token": ["bool", false],
    "tokenizer.chat_template": ["str", CHAT_TEMPLATE],
  };
  writeGguf(path, metadata, weights);
}
