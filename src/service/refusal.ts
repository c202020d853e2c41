/** The service's own words in an answer that is not a 2xx, whatever its format. */

/** The message, as it came; undefined where the body says nothing. Reads JSON, problem details (RFC 9457), text, HTML. */
export function messageOf(body: Uint8Array): string | undefined {
  const text = Buffer.from(body)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return undefined;
  try {
    // JSON of a shape that nobody has described is shown as it is: it may say what is wrong.
    return messageOfJson(JSON.parse(text)) ?? (/^[[{]\s*[\]}]$/.test(text) ? undefined : messageOfText(text));
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
  const details = ['errors', 'validation', 'details', 'detail'].flatMap((key) => messagesIn(value[key]));
  const parts = [headline(value), details.join('; ')].filter((part) => part !== undefined && part !== '');
  return parts.join(': ') || undefined;
}

function headline(value: Record<string, unknown>): string | undefined {
  const { error } = value;
  if (isRecord(error)) return messageOfJson(error);
  const candidates = [
    value.message,
    error,
    joined(value.title, value.detail),
    value.error_description,
    value.msg,
    value.reason,
  ];
  const found = candidates.find((candidate) => typeof candidate === 'string' && candidate !== '');
  return typeof found === 'string' ? found : messagesOfList(value.message).join('; ') || undefined;
}

function joined(...parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join(': ');
}

/** The messages of a list, or of an object that has a list or a text for each field. */
function messagesIn(value: unknown): string[] {
  if (!isRecord(value)) return messagesOfList(value);
  return Object.entries(value).flatMap(([field, entry]) => {
    const messages = typeof entry === 'string' ? [entry] : messagesOfList(entry);
    return messages.map((message) => `${field}: ${message}`);
  });
}

function messagesOfList(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry) => {
    if (typeof entry === 'string') return [entry];
    if (!isRecord(entry)) return [];
    const message = [entry.message, entry.msg].find((candidate) => typeof candidate === 'string');
    const place = Array.isArray(entry.loc) ? `${entry.loc.join('.')}: ` : '';
    return message === undefined ? [] : [`${place}${message}`];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
