/** The workflows of the sandbox, and the parser of `--workflows` files. */
import { type Parameters, parseParameters } from '../parameters/declaration.js';
import { parseDuration } from '../text/duration.js';
import type { InputValues } from './read-trigger.js';

interface Step {
  name: string;
  /** Milliseconds. */
  duration: number;
}

/** How long a run is PENDING, in milliseconds, before `--slow` is applied. */
export const DEFAULT_PENDING_MS = 300;

export interface Workflow {
  id: string;
  versionName: string;
  /** Undefined if it takes any inputs. */
  parameters: Parameters | undefined;
  /** Milliseconds. */
  pendingFor: number;
  steps: readonly Step[];
  /**
   * JSON with the placeholders `{{name}}`, `{{name.bytes}}`, `{{name.mediaType}}` and `{{name.sha256}}`; a document is
   * returned by `{{name}}` as a whole string.
   */
  output: unknown;
  failure: { step: string; message: string } | undefined;
}

/** A definition is invalid; the message begins with its path, such as `workflows[0].steps[2].duration`. */
export class DefinitionError extends Error {
  constructor(jsonPath: string, problem: string) {
    super(`${jsonPath} ${problem}`);
  }
}

/** Parses `{"workflows": [...]}`. Throws DefinitionError for the first error. */
export function parseWorkflows(definition: unknown): Workflow[] {
  const { workflows } = assertObject(definition, 'the file', ['workflows']);
  const parsed = assertArray(workflows, 'workflows').map((entry, index) =>
    parseWorkflow(entry, `workflows[${index}]`),
  );
  if (parsed.length === 0) throw new DefinitionError('workflows', 'is empty');
  parsed.forEach(({ id }, index) => {
    const duplicate = parsed.findIndex((other) => other.id === id);
    if (duplicate < index)
      throw new DefinitionError(
        `workflows[${index}].id`,
        `is the same as workflows[${duplicate}].id; ids must be unique`,
      );
  });
  return parsed;
}

function parseWorkflow(value: unknown, jsonPath: string): Workflow {
  const known = ['id', 'versionName', 'parameters', 'steps', 'output', 'failure'];
  const fields = assertObject(value, jsonPath, known);
  const steps = assertArray(fields.steps, `${jsonPath}.steps`).map((step, index) =>
    parseStep(step, `${jsonPath}.steps[${index}]`),
  );
  if (steps.length === 0) throw new DefinitionError(`${jsonPath}.steps`, 'is empty');
  return {
    id: assertText(fields.id, `${jsonPath}.id`),
    versionName: assertText(fields.versionName, `${jsonPath}.versionName`),
    parameters: parseDeclaration(fields.parameters, `${jsonPath}.parameters`),
    pendingFor: DEFAULT_PENDING_MS,
    steps,
    output: fields.output === undefined ? {} : assertObject(fields.output, `${jsonPath}.output`),
    failure:
      fields.failure === undefined ? undefined : parseFailure(fields.failure, `${jsonPath}.failure`, steps),
  };
}

function parseDeclaration(value: unknown, jsonPath: string): Parameters {
  const { parameters, problems } = parseParameters(value);
  const [first] = problems;
  if (first === undefined) return parameters;
  const segments = first.path.map((segment) => `[${JSON.stringify(segment)}]`);
  throw new DefinitionError(jsonPath + segments.join(''), first.problem);
}

function parseStep(value: unknown, jsonPath: string): Step {
  const { name, duration } = assertObject(value, jsonPath, ['name', 'duration']);
  const ms = typeof duration === 'string' ? parseDuration(duration) : undefined;
  if (ms === undefined)
    throw new DefinitionError(`${jsonPath}.duration`, 'must be a duration such as "1.5s"');
  return { name: assertText(name, `${jsonPath}.name`), duration: ms };
}

function parseFailure(
  value: unknown,
  jsonPath: string,
  steps: readonly Step[],
): { step: string; message: string } {
  const fields = assertObject(value, jsonPath, ['step', 'message']);
  const step = assertText(fields.step, `${jsonPath}.step`);
  if (!steps.some(({ name }) => name === step)) {
    throw new DefinitionError(
      `${jsonPath}.step`,
      `must be one of the steps: ${steps.map((s) => s.name).join(', ')}`,
    );
  }
  return { step, message: assertText(fields.message, `${jsonPath}.message`) };
}

function assertObject(value: unknown, jsonPath: string, known?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DefinitionError(jsonPath, 'must be an object');
  }
  const unknown = Object.keys(value).find((key) => known !== undefined && !known.includes(key));
  if (unknown !== undefined) {
    throw new DefinitionError(
      jsonPath,
      `has an unknown field ${JSON.stringify(unknown)}; expected ${known?.join(', ')}`,
    );
  }
  return value as Record<string, unknown>;
}

function assertArray(value: unknown, jsonPath: string): unknown[] {
  if (!Array.isArray(value)) throw new DefinitionError(jsonPath, 'must be an array');
  return value;
}

function assertText(value: unknown, jsonPath: string): string {
  if (typeof value !== 'string' || value === '')
    throw new DefinitionError(jsonPath, 'must be a non-empty string');
  return value;
}

const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** A string that is one placeholder. */
const ONLY_PLACEHOLDER = /^\{\{([^{}]+)\}\}$/;

/**
 * Replaces `{{name}}` and `{{name.member}}` in every string of a JSON value. A string that is one placeholder becomes
 * the value itself, of any type; an unknown placeholder is left unchanged.
 */
export function fillTemplate(template: unknown, values: InputValues): unknown {
  if (typeof template === 'string') return fillText(template, values);
  if (Array.isArray(template)) return template.map((entry) => fillTemplate(entry, values));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).map(([key, value]) => [key, fillTemplate(value, values)]),
  );
}

/** Returns the names of the placeholders that are a whole string. */
export function wholePlaceholders(template: unknown): Set<string> {
  if (typeof template === 'string') return new Set(ONLY_PLACEHOLDER.exec(template)?.slice(1) ?? []);
  if (typeof template !== 'object' || template === null) return new Set();
  return new Set(Object.values(template).flatMap((value) => [...wholePlaceholders(value)]));
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

function findValue(path: string, values: InputValues): unknown {
  if (values.has(path)) return values.get(path);
  const dot = path.lastIndexOf('.');
  const owner = dot < 0 ? undefined : values.get(path.slice(0, dot));
  // An optional parameter without an input has no members either.
  if (owner === null) return null;
  const member = path.slice(dot + 1);
  if (typeof owner !== 'object' || owner === null || !Object.hasOwn(owner, member)) return undefined;
  return (owner as Record<string, unknown>)[member];
}
