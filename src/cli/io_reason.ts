/**
 * Why the system refuses a file.
 * @module
 */

const REASONS: Record<string, string> = {
  ENOENT: "there is no such file or directory",
  EISDIR: "it is a directory",
  EACCES: "the file system does not permit it",
  EPERM: "the file system does not permit it",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
};

/** Why a file operation failed: in one clause, without paths. */
export function ioReason(error: unknown): string {
  const { name, code, message = String(error) } = error as { name?: string; code?: string; message?: string };
  if (name === "NotCapable") return message.replace(/ to ".*", run again with the /, ", run again with the ");
  const text = message.split(/ \(os error|: /)[0]!;
  return REASONS[code ?? ""] ?? text.charAt(0).toLowerCase() + text.slice(1);
}
