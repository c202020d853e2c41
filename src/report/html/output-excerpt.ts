/** The output of a run as the page shows it: indented JSON of limited length, without the bytes of documents. */
import { formatJson } from '../../text/json/format-json.js';
import { decodeStart } from '../../text/json/members.js';
import { JsonScanner } from '../../text/json/scanner.js';
import { escapeUnencodable } from './markup.js';

/** In bytes. */
const MAX_OUTPUT = 64 * 1024;
/** Bytes of a longer data URI that are shown. */
const MAX_DATA_URI = 60;
const DATA_URI = Buffer.from('"data:');

/** Returns the start of an output (JSON text in UTF-8); the last line says how much is missing. */
export function excerptOutput(output: Uint8Array): string {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (const chunk of formatJson(shortenDocuments(output))) {
    const shown = chunk.subarray(0, Math.max(0, MAX_OUTPUT - bytes));
    text += decoder.decode(shown, { stream: true });
    bytes += chunk.length;
  }
  const missing = bytes - MAX_OUTPUT;
  const end = missing > 0 ? `…\n(${missing} more bytes)` : '';
  return escapeUnencodable(`${text.trimEnd()}${end}`);
}

/** Shortens the strings that are data URIs: their bytes tell a person nothing. */
function shortenDocuments(json: Uint8Array): Buffer {
  const pieces: Uint8Array[] = [];
  const scanner = new JsonScanner(json);
  let position = 0;
  while (scanner.next()) {
    const { token, start, end } = scanner;
    const text = json.subarray(start, end);
    if (token !== 'string' || text.length <= 2 * MAX_DATA_URI || DATA_URI.compare(text, 0, 6) !== 0) continue;
    const shown = `${decodeStart(text, MAX_DATA_URI)} (${text.length} bytes)`;
    pieces.push(json.subarray(position, start), Buffer.from(JSON.stringify(shown)));
    position = end;
  }
  return Buffer.concat([...pieces, json.subarray(position)]);
}
