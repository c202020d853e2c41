/** The workflows of the sandbox, and the parser of `--workflows` files. */
import { declare, type Parameters, parseParameters } from '../parameters/declaration.js';
import { aboutName, aboutValue, isObject, type JsonPath, type JsonProblem } from '../text/json/json-file.js';
import { findNearest } from '../text/nearest.js';
import { parseDuration } from '../text/quantity.js';

interface Step {
  name: string;
  /** Milliseconds. */
  duration: number;
}

export interface Workflow {
  id: string;
  versionName: string;
  /** Undefined if it takes any inputs. */
  parameters: Parameters | undefined;
  steps: readonly Step[];
  /**
   * JSON with the placeholders `{{name}}`, `{{name.bytes}}`, `{{name.mediaType}}` and `{{name.sha256}}`; a document is
   * returned by `{{name}}` as a whole string.
   */
  output: unknown;
  failure?: Failure | undefined;
}

interface Failure {
  step: string;
  message: string;
  /** Only runs whose inputs have these values fail, by placeholder such as `customer` or `scan.bytes`; by default all. */
  when?: Readonly<Record<string, unknown>>;
}

/** The values of inputs by name; an optional parameter without an input is null. */
export type InputValues = ReadonlyMap<string, unknown>;

/** Parses `{"workflows": [...]}`; with problems, what is returned is not complete. */
export function parseWorkflows(definition: unknown) {
  const problems: JsonProblem[] = [];
  return { workflows: new DefinitionParser(problems).parse(definition), problems };
}

/** Collects the mistakes, whose messages begin with the name of the value. */
class DefinitionParser {
  constructor(private readonly problems: JsonProblem[]) {}

  parse(definition: unknown): Workflow[] {
    const { workflows } = this.#object(definition, [], ['workflows']);
    const entries = this.#list(workflows, ['workflows']);
    const parsed = entries.map((entry, index) => this.#workflow(entry, ['workflows', index]));
    const seen = new Set<string>();
    for (const [index, { id }] of parsed.entries()) {
      if (id !== '' && seen.has(id)) this.#report(['workflows', index, 'id'], 'must be unique');
      seen.add(id);
    }
    return parsed;
  }

  #workflow(value: unknown, path: JsonPath): Workflow {
    const known = ['id', 'versionName', 'parameters', 'steps', 'output', 'failure'];
    const fields = this.#object(value, path, known);
    const steps = this.#list(fields.steps, [...path, 'steps']).map((step, index) =>
      this.#step(step, [...path, 'steps', index]),
    );
    const { parameters, problems } = parseParameters(fields.parameters);
    for (const { path: rest, ...problem } of problems)
      this.problems.push({ path: [...path, 'parameters', ...rest], ...problem });
    const output = fields.output === undefined ? {} : this.#object(fields.output, [...path, 'output']);
    for (const { text, path: place } of textsIn(output, [...path, 'output']))
      for (const [, name = ''] of text.matchAll(PLACEHOLDER)) {
        const problem = placeholderProblem(name, parameters);
        if (problem !== undefined) this.problems.push(aboutValue(place, problem));
      }
    return {
      id: this.#text(fields.id, [...path, 'id']),
      versionName: this.#text(fields.versionName, [...path, 'versionName']),
      parameters,
      steps,
      output,
      failure:
        fields.failure === undefined
          ? undefined
          : this.#failure(fields.failure, [...path, 'failure'], steps, parameters),
    };
  }

  #step(value: unknown, path: JsonPath): Step {
    const { name, duration } = this.#object(value, path, ['name', 'duration']);
    const ms = typeof duration === 'string' ? parseDuration(duration) : undefined;
    if (ms === undefined) this.#report([...path, 'duration'], 'must be a duration, such as "1.5s"');
    return { name: this.#text(name, [...path, 'name']), duration: ms ?? 0 };
  }

  #failure(value: unknown, path: JsonPath, steps: readonly Step[], parameters: Parameters): Failure {
    const fields = this.#object(value, path, ['step', 'message', 'when']);
    const step = this.#text(fields.step, [...path, 'step']);
    if (step !== '' && !steps.some(({ name }) => name === step))
      this.#report([...path, 'step'], `must be one of the steps: ${steps.map((s) => s.name).join(', ')}`);
    const when = fields.when === undefined ? {} : this.#object(fields.when, [...path, 'when']);
    for (const name of Object.keys(when)) {
      const problem = placeholderProblem(name, parameters);
      if (problem !== undefined) this.problems.push(aboutName([...path, 'when', name], problem));
    }
    return { step, message: this.#text(fields.message, [...path, 'message']), when };
  }

  #object(value: unknown, path: JsonPath, known?: readonly string[]): Record<string, unknown> {
    if (!isObject(value)) {
      this.#report(path, 'must be an object');
      return {};
    }
    const unknown = Object.keys(value).filter((name) => known?.includes(name) === false);
    for (const name of unknown)
      this.#report([...path, name], `is unknown; expected ${known?.join(', ')}`, aboutName);
    return value;
  }

  #list(value: unknown, path: JsonPath): unknown[] {
    if (Array.isArray(value) && value.length > 0) return value;
    this.#report(path, 'must be a list that is not empty');
    return [];
  }

  #text(value: unknown, path: JsonPath): string {
    if (typeof value === 'string' && value !== '') return value;
    this.#report(path, 'must be a non-empty string');
    return '';
  }

  #report(path: JsonPath, problem: string, about = aboutValue): void {
    this.problems.push(about(path, `${nameOf(path)} ${problem}`));
  }
}

/** Returns `"duration"`, or `each of "steps"` for an element of a list. */
function nameOf(path: JsonPath): string {
  const name = path.findLast((segment) => typeof segment === 'string');
  if (name === undefined) return 'the file';
  return name === path.at(-1) ? JSON.stringify(name) : `each of ${JSON.stringify(name)}`;
}

const DOCUMENT_MEMBERS = ['bytes', 'mediaType', 'sha256'];

/** Returns why no input can fill a placeholder; undefined if one can. */
function placeholderProblem(name: string, parameters: Parameters): string | undefined {
  const dot = name.lastIndexOf('.');
  const owner = dot < 0 ? undefined : parameters.get(name.slice(0, dot));
  if (owner?.type === 'object' || owner?.type === 'array') return undefined;
  const members = owner?.type === 'document' ? DOCUMENT_MEMBERS.map((one) => `${owner.name}.${one}`) : [];
  const known = [...parameters.keys(), ...members];
  if (known.includes(name)) return undefined;
  const nearest = findNearest(name, known);
  const fix = nearest === undefined ? `expected ${known.join(', ') || 'none'}` : `did you mean ${nearest}?`;
  return `${JSON.stringify(name)} is no parameter; ${fix}`;
}

const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** A string that is one placeholder. */
const ONLY_PLACEHOLDER = /^\{\{([^{}]+)\}\}$/;

/**
 * Replaces `{{name}}` and `{{name.member}}` in every string of a JSON value. A string that is one placeholder becomes
 * the value itself, of any type; an unknown placeholder is left unchanged.
 */
export function fillTemplate(template: unknown, values: InputValues): unknown {
  return JSON.parse(JSON.stringify(template), (_name, value) =>
    typeof value === 'string' ? fillText(value, values) : value,
  );
}

/** Returns the names of the placeholders that are a whole string. */
export function wholePlaceholders(template: unknown): Set<string> {
  return new Set([...textsIn(template)].flatMap(({ text }) => ONLY_PLACEHOLDER.exec(text)?.slice(1) ?? []));
}

/** Yields the strings in a JSON value. */
function* textsIn(value: unknown, path: JsonPath = []): Generator<{ text: string; path: JsonPath }> {
  if (typeof value === 'string') yield { text: value, path };
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) yield* textsIn(member, [...path, key]);
}

function fillText(text: string, values: InputValues): unknown {
  const [, only] = ONLY_PLACEHOLDER.exec(text) ?? [];
  if (only !== undefined) {
    const value = findValue(only, values);
    return value === undefined ? text : value;
  }
  return text.replace(PLACEHOLDER, (whole, name: string) => {
    const value = findValue(name, values);
    if (value === undefined) return whole;
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

/** Returns the value that a placeholder stands for; undefined for an unknown one. */
export function findValue(path: string, values: InputValues): unknown {
  if (values.has(path)) return values.get(path);
  const dot = path.lastIndexOf('.');
  const owner = dot < 0 ? undefined : values.get(path.slice(0, dot));
  // An optional parameter without an input has no members either.
  if (owner === null) return null;
  const member = path.slice(dot + 1);
  if (typeof owner !== 'object' || owner === null || !Object.hasOwn(owner, member)) return undefined;
  return (owner as Record<string, unknown>)[member];
}

export const BUILT_IN_WORKFLOWS: readonly Workflow[] = [
  {
    id: '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e',
    versionName: 'invoice v3',
    parameters: declare({ invoice: 'document', customer: 'string' }),
    steps: [
      { name: 'Read document', duration: 900 },
      { name: 'Extract fields', duration: 1_200 },
      { name: 'Check totals', duration: 900 },
      { name: 'Write result', duration: 600 },
    ],
    output: {
      customer: '{{customer}}',
      document: {
        mediaType: '{{invoice.mediaType}}',
        bytes: '{{invoice.bytes}}',
        sha256: '{{invoice.sha256}}',
      },
    },
  },
  {
    id: 'f7a1c2d3-0b4e-4f5a-8c6d-7e8f9a0b1c2d',
    versionName: 'failing v1',
    parameters: declare({ customer: 'string' }),
    steps: [
      { name: 'Find customer', duration: 300 },
      { name: 'Check credit', duration: 300 },
      { name: 'Write result', duration: 300 },
    ],
    output: {},
    failure: { step: 'Check credit', message: 'The credit service does not know the customer.' },
  },
  {
    id: '51000000-2f3a-4b4c-9d5e-6f7a8b9c0d1e',
    versionName: 'slow v1',
    parameters: declare({ label: 'string' }),
    steps: Array.from({ length: 10 }, (_, index) => ({ name: `Part ${index + 1}`, duration: 6_000 })),
    output: { label: '{{label}}' },
  },
  {
    id: 'a6c4e2f0-1b3d-4f5e-8a7c-9d0b1c2e3f4a',
    versionName: 'archive v1',
    parameters: declare({ scan: 'document', title: 'string' }),
    steps: [
      { name: 'Read document', duration: 600 },
      { name: 'Write copy', duration: 600 },
    ],
    output: { title: '{{title}}', copy: '{{scan}}', sha256: '{{scan.sha256}}' },
  },
  {
    id: '3c0ffee1-4a2b-4c3d-8e5f-6a7b8c9d0e1f',
    versionName: 'greeting v1',
    parameters: declare({ name: 'string' }),
    steps: [{ name: 'Write greeting', duration: 500 }],
    output: { greeting: 'Hello, {{name}}' },
  },
];
