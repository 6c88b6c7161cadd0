/** The one tool of a client under attack, for `--tools-file`. */
export default [{
  name: "lookup",
  description: "Looks something up",
  inputSchema: { type: "object", properties: {} },
  pure: true,
  run: () => "found",
}];
