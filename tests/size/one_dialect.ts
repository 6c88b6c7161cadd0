// What a program loads that runs tools over one dialect: the other must fall out of the bundle.
export { Agent, Conversation, createProvider, openAiChat } from "@pawl/pawl";
