/** What an access was about, as a person reads it: a search is kept as the JSON of its question. */
export function accessSubject(action: string, subject: string): string {
  if (!/^(messages|completeness)\./.test(action)) return subject;
  try {
    const question: unknown = JSON.parse(subject);
    if (typeof question !== "object" || question === null || Array.isArray(question)) return subject;
    const parts = Object.entries(question as Record<string, unknown>).map(
      ([name, value]) => `${name}: ${String(value)}`,
    );
    return parts.join(", ");
  } catch {
    return subject;
  }
}
