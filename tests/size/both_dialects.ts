// What a program loads that runs tools over either dialect.
export { Agent, anthropicMessages, Conversation, createProvider, openAiChat } from "@pawl/pawl";
