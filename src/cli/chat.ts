/**
 * The state of a chat: conversation, model, what it has cost.
 * @module
 */
import { Agent } from "../agent/agent.ts";
import { addUsage } from "../agent/options.ts";
import { Conversation } from "../model/conversation.ts";
import { isPawlError } from "../model/error.ts";
import type { Message, Usage } from "../model/message.ts";
import type { Tool } from "../model/tool.ts";
import type { Provider } from "../provider/provider.ts";
import { race } from "../wire/race.ts";
import type { Context, Ready } from "./context.ts";
import { type Endpoint, loopOptions } from "./endpoint.ts";
import { withAttachments } from "./input.ts";
import { makeRenderer, receiverOf, type Renderer } from "./render.ts";
import { Tally } from "./tally.ts";
import type { Session } from "./session.ts";
import { alongside, beginWith, joinSystem, systemMessage, systemTexts, withSystem } from "./system_prompt.ts";
import { type Task, toolsFor } from "./task.ts";

/** What a chat is made of. */
export interface ChatParts {
  ready: Ready;
  endpoint: Endpoint;
  task: Task;
  isTyped: boolean;
  session: Session | undefined;
}

/** One chat, typed or piped. */
export class Chat {
  readonly context: Context;
  readonly task: Task;
  readonly endpoint: Endpoint;
  /** Somebody can be asked. */
  readonly isTyped: boolean;
  /** Where the conversation is kept, if it is. */
  readonly session: Session | undefined;
  provider: Provider;
  /** Tokens of all turns so far. */
  readonly usage: Usage = {};
  readonly #renderer: Renderer;
  #conversation: Conversation;
  #attachments: readonly string[];
  /** Made anew for each conversation: the skills that one has loaded are unknown to the next. */
  #tools: readonly Tool[] | undefined;
  /** A key is asked for once; a recording would not know to redact one that is typed. */
  #hasKey: boolean;

  constructor(context: Context, { ready, endpoint, task, isTyped, session }: ChatParts) {
    this.context = context;
    this.endpoint = endpoint;
    this.provider = endpoint.provider;
    this.task = task;
    this.isTyped = isTyped;
    this.#attachments = context.options.attach ?? [];
    this.#hasKey = ready.apiKey !== undefined || context.options.record !== undefined;
    this.#renderer = makeRenderer(context, { host: endpoint.host, stream: true });
    this.session = session;
    this.#conversation = beginWith(session?.conversation ?? new Conversation(), task);
    session?.save(this.#conversation);
    this.#renderer.start(this.provider);
  }

  /** What has been said. */
  get conversation(): Conversation {
    return this.#conversation;
  }

  set conversation(conversation: Conversation) {
    this.#tools = undefined;
    this.#conversation = conversation;
    this.session?.save(conversation);
  }

  /** The system prompt; empty if there is none. */
  get system(): string {
    return joinSystem(...systemTexts(this.conversation));
  }

  /** Begins anew. */
  reset(): void {
    this.conversation = withSystem(new Conversation(), this.task.system);
  }

  /** Sets the system prompt; empty is none. */
  setSystem(text: string): void {
    this.conversation = withSystem(this.conversation, { own: text, added: "" });
  }

  /** Takes the last message of the user back, and all that followed. Returns whether there was one. */
  undo(): boolean {
    const { messages } = this.conversation;
    const last = messages.findLastIndex(({ role, content }) =>
      role === "user" && content.every(({ type }) => type !== "tool_result")
    );
    if (last >= 0) this.replace(messages.slice(0, last));
    return last >= 0;
  }

  /** Goes on with other messages. */
  replace(messages: readonly Message[]): void {
    this.conversation = Conversation.fromJSON({ version: 1, messages });
  }

  /**
   * One turn: says something, and shows the reply.
   *
   * @returns The exit status that the turn would end a program with.
   */
  async say(text: string, signal: AbortSignal): Promise<number> {
    this.conversation.addUserMessage(await race(withAttachments(text, this.#attachments), signal));
    this.#attachments = [];
    this.session?.save();
    return await this.reply(signal);
  }

  /** Asks for a reply to the conversation as it stands. */
  async reply(signal: AbortSignal): Promise<number> {
    const tally = new Tally();
    const { decide, offer } = this.task;
    const tools = this.#tools ??= await toolsFor(this.task);
    try {
      const agent = new Agent(this.provider, {
        ...loopOptions(this.endpoint.options),
        tools,
        ...decide && { decide },
        ...offer !== "" && { prepare: (conversation) => alongside(conversation, [systemMessage(offer)]) },
      });
      const receiver = receiverOf((event) => {
        tally.see(event);
        this.session?.record(event);
        this.#renderer.event(event);
      });
      const result = await agent.runStep(this.conversation, receiver, { signal });
      this.#renderer.result(result, {
        model: this.provider.model,
        ...this.session && { session: this.session.path },
      });
      return 0;
    } catch (error) {
      return await this.#fail(error, { tally, signal });
    } finally {
      addUsage(this.usage, tally.partial.usage);
      this.session?.save();
    }
  }

  async #fail(error: unknown, { tally, signal }: { tally: Tally; signal: AbortSignal }): Promise<number> {
    const { context } = this;
    if (this.isTyped && error === signal.reason && !context.signal.aborted) {
      this.#renderer.stopped();
      return 130;
    }
    const status = this.#renderer.failure(error, tally.partial);
    if (!this.isTyped || !isPawlError(error, "http_status") || error.status !== 401 || this.#hasKey) return status;
    const { askSecret } = await import("./ask.ts");
    const apiKey = await askSecret(`Key for ${this.endpoint.host}`, signal);
    if (apiKey === "") return status;
    this.#hasKey = true;
    this.provider = this.endpoint.change({ model: this.provider.model, apiKey });
    return await this.reply(signal);
  }
}
