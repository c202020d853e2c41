/** The service's own words in an answer that is not a 2xx, whatever its format. */

/** The message, as it came; undefined where the body says nothing. Reads JSON, problem details (RFC 9457), text, HTML. */
export function messageOf(body: Uint8Array): string | undefined {
  const text = Buffer.from(body)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return undefined;
  try {
    return messageOfJson(JSON.parse(text));
  } catch {
    return messageOfText(text);
  }
}

function messageOfText(text: string): string | undefined {
  if (!text.startsWith('<')) return text.split(/\r?\n/, 1)[0];
  const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1]?.trim();
  return title || undefined;
}

function messageOfJson(value: unknown): string | undefined {
  if (typeof value === 'string') return value || undefined;
  if (Array.isArray(value)) return messagesOfList(value).join('; ') || undefined;
  if (!isRecord(value)) return undefined;
  const head = headline(value);
  const details = ['errors', 'validation', 'details'].flatMap((key) => messagesOfList(value[key]));
  const parts = [head, details.join('; ')].filter((part) => part !== undefined && part !== '');
  return parts.join(': ') || undefined;
}

function headline(value: Record<string, unknown>): string | undefined {
  const { error } = value;
  if (isRecord(error)) return messageOfJson(error);
  const candidates = [value.message, error, joined(value.title, value.detail), value.error_description];
  const found = candidates.find((candidate) => typeof candidate === 'string' && candidate !== '');
  return typeof found === 'string' ? found : messagesOfList(value.message).join('; ') || undefined;
}

function joined(...parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join(': ');
}

function messagesOfList(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry) => {
    if (typeof entry === 'string') return [entry];
    return isRecord(entry) && typeof entry.message === 'string' ? [entry.message] : [];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
