/**
 * Turns what a decoder says into a message: finds leaked reasoning, hands content to the queue of blocks, and knows when a reply is
 * whole.
 * @module
 */
import { PawlError } from "../model/error.ts";
import type { CompletionInfo, StreamEvent } from "../model/event.ts";
import { exceeded } from "../model/limits.ts";
import type { Message, Origin, StopReason, TextBlock, ThinkingBlock, ToolUseBlock, Usage } from "../model/message.ts";
import { createSplitter } from "../text/reasoning.ts";
import type { Exchange } from "../wire/http.ts";
import { createBlockQueue, type Draft, isNameless, judge, type ReplyBlock, waits } from "./block_queue.ts";
import type { MessageSink } from "./dialect.ts";
import { reported, truncated, violation } from "./failure.ts";
import { createInputScan, isDeeper } from "./tool_input.ts";
import { warningsOf } from "./warnings.ts";

/** What a builder must know beside what arrives. */
export interface BuilderOptions {
  /** Written on the message. */
  origin: Origin;
  /** What is asked. */
  sent: readonly Message[];
  /** Takes keys out of whatever the endpoint wrote. */
  redact: (text: string) => string;
  /** Find leaked reasoning in text. */
  splitText: boolean;
}

/** The {@linkcode MessageSink} of the provider. */
export interface MessageBuilder extends MessageSink {
  stopped: boolean;
  /** Hands out the events since the last call. */
  take(): StreamEvent[];
  /**
   * Ends the reply.
   *
   * @param protocolEnd The protocol's own end mark came; otherwise the body ended.
   * @throws {PawlError} The reply is not whole.
   */
  finish(protocolEnd: boolean): Message;
  /** What has arrived of a reply that failed; open and waiting blocks as far as they got. */
  partial(): { message: Message; usage?: Usage };
}

/**
 * Makes the builder of one reply.
 *
 * @param exchange Has the limits, and is told when content has arrived.
 * @param options Origin and switches of the provider.
 */
export function createMessageBuilder(
  { limits, progress }: Pick<Exchange, "limits" | "progress">,
  { origin, sent, redact, splitText }: BuilderOptions,
): MessageBuilder {
  const { drafts, advance, tell, identify } = createBlockQueue((event) => events.push(event));
  const byKey = new Map<unknown, Draft>();
  const splitter = splitText
    ? createSplitter(
      (piece) => add("text", textKey, piece),
      (piece) => add("thinking", textKey, piece, undefined, true),
      endThinking,
    )
    : undefined;
  const info: Omit<CompletionInfo, "stopReason"> = {};
  let { maxBlocks } = limits;
  let events: StreamEvent[] = [];
  let isStarted = false;
  /** Reasoning came in a field of its own. */
  let isNative = false;
  /** Key of the text that the splitter is in. */
  let textKey: unknown;
  let isChosen = false;
  let word: StopReason | undefined;

  /** The newest draft: the only one that its neighbours may join. */
  function tail(): Draft | undefined {
    return drafts[drafts.length - 1];
  }

  function begin(): void {
    if (!isStarted) events.push({ type: "message_start", role: "assistant" });
    isStarted = true;
  }

  /** Lets go of what the splitter holds, before anything else may begin. */
  function settle(): void {
    splitter?.("", isNative, true);
  }

  /** Begins a block behind all others. */
  function append(key: unknown, block: ReplyBlock): Draft {
    const { type } = block;
    // While the splitter tells, it holds nothing.
    settle();
    // Blank text that something else follows is dropped.
    if (waits(tail())) drafts.pop();
    if (drafts.length >= maxBlocks) throw exceeded("maxBlocks", limits);
    const before = tail();
    const draft: Draft = {
      key,
      type,
      block,
      index: -1,
      carry: "",
      blank: type === "text",
      leading: !before || before.scan !== undefined,
      scan: type === "tool_use" ? createInputScan(block) : undefined,
    };
    begin();
    progress();
    drafts.push(draft);
    byKey.set(key, draft);
    advance();
    return draft;
  }

  /** Adds to the newest block if it is the same, else begins one. */
  function add(type: "text" | "thinking", key: unknown, arrived: string, field?: string, leaked?: true): void {
    let draft = tail(), piece = arrived;
    if (draft?.block.type !== type || draft.key !== key || draft.ended || draft.leaked !== leaked) {
      // A leaked thought that a call interrupted may end without another word: that is no block.
      if (leaked && (piece = piece.trimStart()) === "") return;
      const block = { type, text: "", ...(field !== undefined && { field }) };
      draft = append(key, block as TextBlock | ThinkingBlock);
      if (leaked) draft.leaked = true;
    }
    grow(draft, piece);
  }

  /** Adds arrived content to a block: well-formed, and within the caps. */
  function grow(draft: Draft, arrived: string): void {
    const { scan } = draft;
    if (scan?.exceeds(limits.maxToolInputBytes, arrived)) throw exceeded("maxToolInputBytes", limits);
    progress();
    let piece = draft.carry + arrived;
    draft.carry = "";
    if (!piece.isWellFormed()) {
      const whole = piece.length - (/[\ud800-\udbff]$/.test(piece) ? 1 : 0);
      draft.carry = piece.slice(whole);
      piece = piece.slice(0, whole).toWellFormed();
    }
    if (piece !== "") tell(draft, piece);
    if (draft.index < 0 || draft !== tail()) advance();
  }

  function end(draft: Draft): void {
    draft.ended = true;
    advance();
  }

  /** A thought is over. Where the template ate its opening tag, the open text was one (rig's third rule). */
  function endThinking(): void {
    const draft = tail();
    if (draft?.block.type === "text" && !draft.ended && !draft.blank) {
      draft.block = { type: "thinking", text: draft.block.text };
      draft.leaked = true;
    }
    if (draft?.leaked) end(draft);
  }

  function callUnder(key: unknown): Draft {
    const draft = byKey.get(key);
    return draft?.scan ? draft : append(key, { type: "tool_use", id: "", name: "", input: "" });
  }

  /** People are shown these: a short, well-formed string; the first one counts. */
  function label(name: "id" | "model", value: unknown): void {
    if (value && typeof value === "string") info[name] ??= value.slice(0, 256).toWellFormed();
  }

  function messageOf(whole: readonly Draft[]): Message {
    return { role: "assistant", content: whole.map(({ block }) => block), origin };
  }

  const builder: MessageBuilder = {
    /** A broken connection no longer harms. */
    stopped: false,

    take() {
      // Never the list that grows on: what is told later would come with it.
      const told = events;
      events = [];
      return told;
    },

    begin(hasChoice = false, id, model) {
      begin();
      isChosen ||= hasChoice;
      label("id", id);
      label("model", model);
    },

    text(key, delta) {
      if (delta === "") return;
      if (textKey !== key) {
        settle();
        textKey = key;
        // Reasoning that goes on behind text is a block of its own, even where the text was a tag that vanishes.
        const last = tail();
        if (last?.block.type === "thinking") last.ended = true;
      }
      if (splitter) splitter(delta, isNative);
      else add("text", key, delta);
    },

    thinking(key, delta, field) {
      if (delta === "") return;
      settle();
      textKey = undefined;
      isNative = true;
      add("thinking", key, delta, field);
    },

    note(key: unknown, field: "signature" | "redacted" | "details", value: unknown) {
      if (!value) return;
      let draft = byKey.get(key);
      if (draft?.block.type !== "thinking") draft = append(key, { type: "thinking", text: "" });
      const block = draft.block as ThinkingBlock;
      if (field === "details") block.details = value;
      else block[field] = (block[field] ?? "") + (value as string).toWellFormed();
      advance();
    },

    call(key, about = {}) {
      const draft = callUnder(key);
      const block = draft.block as ToolUseBlock;
      if (about.id && about.id !== draft.id) identify(block, draft.id = about.id);
      // Templates leak their channel marks into the name (quirk O-79).
      if (about.name) block.name = about.name.split("<|", 1)[0]!.toWellFormed();
      if (about.extra !== undefined) block.extra = about.extra;
      advance();
    },

    input(key, fragment) {
      if (fragment !== "") grow(callUnder(key), fragment);
    },

    inputComplete: (key) => byKey.get(key)?.scan?.isComplete() ?? false,

    opaque(key, value) {
      append(key, { type: "opaque", value });
    },

    end(key) {
      if (key === textKey) settle();
      const draft = byKey.get(key);
      if (draft) end(draft);
    },

    usage(report) {
      for (const [field, tokens] of Object.entries(report)) {
        // JSON knows numbers beyond all counts, which would end a budget or a sum.
        if (Number.isSafeInteger(tokens) && tokens >= 0) (info.usage ??= {})[field as keyof Usage] = tokens;
      }
    },

    stop(reason, raw) {
      if (word && word !== "end_turn" && reason !== "max_tokens") return;
      word = reason;
      builder.stopped = true;
      if (raw !== undefined) info.rawStopReason = raw;
    },

    fail(error) {
      throw reported(error, redact);
    },

    finish(protocolEnd) {
      if (!word) {
        if (!protocolEnd) throw truncated("it ended without its end mark");
        if (drafts.some(({ scan }) => scan?.isOpen())) throw truncated("it ended inside a call");
        if (!isChosen && !drafts[0]) {
          throw new PawlError("empty_reply", "Cannot read the reply: it is empty", { retryable: true });
        }
      }
      settle();
      begin();
      const hasCalls = drafts.some(({ scan }) => scan);
      const stopReason = hasCalls && word !== "max_tokens" && word !== "refusal" ? "tool_use" : word ?? "end_turn";
      // Where the output limit cut a call before its name, there is no call.
      if (stopReason !== "max_tokens" && drafts.some(({ block }) => isNameless(block))) {
        throw new PawlError("unsupported_tool_call", "Cannot read the reply: a call has no name");
      }
      advance(true);
      for (const draft of drafts) {
        if (draft.late) judge(draft);
        // Only what the endpoint itself nested can be deep; the block around it is one level more.
        if (isDeeper({ ...draft.block, parsed: draft.parsed }, limits.maxJsonDepth + 1)) {
          throw exceeded("maxJsonDepth", limits);
        }
      }
      if (stopReason === "tool_use" && !hasCalls) {
        violation("it holds no call", true);
      }
      const message = messageOf(drafts);
      const warnings = warningsOf(message.content, info.usage, sent);
      if (warnings[0]) info.warnings = warnings;
      events.push({ type: "message_complete", message, stopReason, ...info });
      return message;
    },

    partial() {
      // Letting go of held text may begin a block.
      maxBlocks = Infinity;
      settle();
      const whole = drafts.filter(({ blank, block }) => !blank && !isNameless(block));
      whole.forEach(judge);
      const { usage } = info;
      return { message: messageOf(whole), ...(usage && { usage }) };
    },
  };
  return builder;
}
