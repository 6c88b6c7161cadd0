export { SseParser } from "@pawl/pawl/sse";
