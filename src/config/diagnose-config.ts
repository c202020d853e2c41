/** The messages for mistakes in a config file: where each one is, what is wrong, and how to fix it. */
import { locateProblems } from '../text/json/positions.js';
import type { JsonSyntaxCode, JsonSyntaxError } from '../text/json/scanner.js';
import { findNearest } from '../text/nearest.js';
import { baseUrlProblem, redactUrl } from './base-url.js';
import { type ConfigError, checkConfig } from './check-config.js';
import { SETTINGS } from './settings-table.js';

/** Returns `path:line:column: error; fix` for each mistake in a config file, in their order. */
export function diagnoseConfig(bytes: Buffer, path: string): string[] {
  const check = (content: unknown) =>
    checkConfig(content).map((error) => {
      return { path: error.path, isAboutName: isAboutName(error), message: describe(error) };
    });
  return locateProblems(bytes, path, check, describeSyntaxError);
}

function isAboutName(error: ConfigError): boolean {
  const { code } = error;
  if (code === 'invalid-declaration') return error.isAboutName;
  return ['invalid-name', 'unknown-setting', 'missing-member', 'missing-setting', 'excluded'].includes(code);
}

/** Returns what is wrong and how to fix it, without what may be a secret. */
function describe(error: ConfigError): string {
  const name = error.path.at(-1) ?? '';
  switch (error.code) {
    case 'missing-setting':
      return `${quote(name)} requires ${quote(error.requires)} in the same profile`;
    case 'missing-member':
      return `${quote(name)} requires ${quote(error.member)}`;
    case 'invalid-declaration':
      return `${quote(name)} ${error.problem}`;
    case 'excluded':
      return `${quote(name)} and ${quote(error.by)} cannot be used together; remove one`;
    case 'invalid-name': {
      const { title, description, examples } = error.schema;
      return `${title} ${quote(name)} ${description}; use one such as ${quote(examples[0])}`;
    }
    case 'unknown-profile':
      return `unknown profile ${quote(error.value)}; ${listed('profiles', error.known)}`;
    case 'invalid-base-url': {
      const { value, allowHttp } = error;
      return `"baseUrl" ${redactUrl(value) || '""'}: ${baseUrlProblem(value, allowHttp, '"allowHttp": true')}`;
    }
    case 'unknown-setting':
      return describeUnknownSetting(error);
    case 'wrong-type':
    case 'invalid-value':
      return describeInvalidValue(error);
  }
}

const SECRET_ADVICE =
  'appears to contain a secret; keep it out of this file: set "tokenFile" to the path of a file that contains it,' +
  ' or "tokenCommand" to a command that prints it';

function describeUnknownSetting({ path, value, known }: ConfigError & { code: 'unknown-setting' }): string {
  const name = String(path.at(-1));
  const plain = lettersOf(name);
  const hasAuthorization = /^headers?$/.test(plain) && /authorization/i.test(JSON.stringify(value));
  if (namesSecret(name) || hasAuthorization) return `${quote(name)} ${SECRET_ADVICE}`;
  const similar = known.find((other) => isSimilar(lettersOf(other), plain)) ?? findNearest(name, known);
  if (similar !== undefined) return `unknown setting ${quote(name)}; did you mean ${quote(similar)}?`;
  if (path.length === 1 && Object.hasOwn(SETTINGS, name)) {
    return `${quote(name)} must be inside a profile: {"profiles": {"<name>": {${quote(name)}: ...}}}`;
  }
  return `unknown setting ${quote(name)}; ${listed('settings', known)}`;
}

type InvalidValue = ConfigError & { code: 'wrong-type' | 'invalid-value' };

function describeInvalidValue({ code, path, value, schema }: InvalidValue): string {
  const isListItem = typeof path.at(-1) === 'number';
  const setting = String(path.at(isListItem ? -2 : -1) ?? '');
  const isSensitive = schema.isSensitive === true || namesSecret(setting);
  if (code === 'invalid-value' && isSensitive && typeof value === 'string' && value !== '') {
    return `${quote(setting)} ${SECRET_ADVICE}`;
  }
  const subject =
    path.length === 0 ? 'the file' : isListItem ? `each part of ${quote(setting)}` : quote(setting);
  const found = code === 'wrong-type' ? kindOf(value) : quote(value);
  // Where the title names every choice, an example adds nothing.
  const isChoice = schema.enum !== undefined || schema.type === 'boolean';
  const example = isChoice ? '' : `, such as ${quote(schema.examples[0])}`;
  return `${subject} must be ${schema.title}${example}; found ${found}`;
}

const NAMES_SECRET =
  /token(?!file|command)|passw|passphrase|^pass$|pwd|secret|(api|access|private)key|credential|^auth|bearer/;

function namesSecret(name: string): boolean {
  return NAMES_SECRET.test(lettersOf(name));
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

function isSimilar(a: string, b: string): boolean {
  return b.length > 3 && (a.startsWith(b) || b.startsWith(a));
}

function listed(what: string, names: readonly string[]): string {
  return names.length === 0 ? `the file has no ${what}` : `valid ${what}: ${names.join(', ')}`;
}

function quote(value: unknown): string {
  return JSON.stringify(value);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  const kinds: Readonly<Record<string, string>> = {
    string: 'a string',
    number: 'a number',
    object: 'an object',
  };
  return kinds[typeof value] ?? String(value);
}

/** How to fix a syntax error, by its code and by the text that it is at: what other formats allow, and common typos. */
const SYNTAX_FIXES: readonly { code?: JsonSyntaxCode; text?: RegExp; fix: string }[] = [
  { code: 'unexpected-end', fix: 'the file may have been cut off: close what is open' },
  { code: 'unterminated-string', fix: 'close it with a double quote' },
  { code: 'control-character', fix: 'write \\n for a new line and \\t for a tab' },
  { code: 'invalid-escape', fix: 'write \\\\ for a backslash' },
  { code: 'invalid-number', fix: 'write it as in 0.5' },
  { code: 'unpaired-surrogate', fix: 'write the whole character' },
  { code: 'trailing-text', fix: 'remove everything after the object' },
  { text: /^(\/[/*]|#)/, fix: 'JSON has no comments: remove this one' },
  { text: /^'/, fix: 'write text in double quotes' },
  { code: 'missing-comma', text: /^["{[]/, fix: 'write a comma before it' },
  { text: /^[}\]]/, fix: 'remove the comma before it, or add what should follow' },
  { text: /^[A-Za-z_$]/, fix: 'write text and names in double quotes' },
];

function describeSyntaxError(error: JsonSyntaxError, bytes: Buffer): string {
  if (bytes.toString('utf8').trim() === '') return 'the file is empty; write {"profiles": {}}';
  const found = bytes.subarray(error.offset, error.offset + 2).toString('utf8');
  const match = SYNTAX_FIXES.find(
    ({ code = error.code, text }) => code === error.code && (text?.test(found) ?? true),
  );
  return match === undefined ? error.reason : `${error.reason}; ${match.fix}`;
}
