/** Return what people are told of an error. The server's own sentence is within what the SDK throws. */
export function sentenceOf(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  const json = /\{.*\}$/s.exec(said)?.[0];
  if (json === undefined) return said;
  try {
    return JSON.parse(json).error.message;
  } catch {
    return said;
  }
}
