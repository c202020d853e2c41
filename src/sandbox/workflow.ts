/** What a workflow of the sandbox is, and how it is read from a file. */
import { parseDuration } from '../text/duration.js';

const PARAMETER_TYPES = ['string', 'document', 'number', 'boolean', 'object', 'array'] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

interface Step {
  name: string;
  /** Milliseconds. */
  duration: number;
}

/** How long a run is PENDING, in milliseconds, where nothing else was asked for. */
export const DEFAULT_PENDING_MS = 300;

export interface Workflow {
  id: string;
  versionName: string;
  parameters: ReadonlyMap<string, ParameterType>;
  /** Milliseconds. */
  pendingFor: number;
  steps: readonly Step[];
  /** JSON in which `{{name}}`, `{{name.bytes}}`, `{{name.mediaType}}` and `{{name.sha256}}` stand for what arrived. */
  output: unknown;
  failure: { step: string; message: string } | undefined;
}

/** A definition is not as it should be; the message begins with the place, such as `workflows[0].steps[2].duration`. */
export class DefinitionError extends Error {
  constructor(place: string, complaint: string) {
    super(`${place} ${complaint}`);
  }
}

/** The workflows of `{"workflows": [...]}`. Throws DefinitionError. */
export function parseWorkflows(definition: unknown): Workflow[] {
  const { workflows } = assertObject(definition, 'the file', ['workflows']);
  const parsed = assertArray(workflows, 'workflows').map((entry, index) =>
    parseWorkflow(entry, `workflows[${index}]`),
  );
  if (parsed.length === 0) throw new DefinitionError('workflows', 'is empty');
  parsed.forEach(({ id }, index) => {
    const twin = parsed.findIndex((other) => other.id === id);
    if (twin < index)
      throw new DefinitionError(`workflows[${index}].id`, `is that of workflows[${twin}], too`);
  });
  return parsed;
}

function parseWorkflow(value: unknown, place: string): Workflow {
  const known = ['id', 'versionName', 'parameters', 'steps', 'output', 'failure'];
  const fields = assertObject(value, place, known);
  const steps = assertArray(fields.steps, `${place}.steps`).map((step, index) =>
    parseStep(step, `${place}.steps[${index}]`),
  );
  if (steps.length === 0) throw new DefinitionError(`${place}.steps`, 'is empty');
  return {
    id: assertText(fields.id, `${place}.id`),
    versionName: assertText(fields.versionName, `${place}.versionName`),
    parameters: parseParameters(fields.parameters, `${place}.parameters`),
    pendingFor: DEFAULT_PENDING_MS,
    steps,
    output: fields.output === undefined ? {} : assertObject(fields.output, `${place}.output`),
    failure:
      fields.failure === undefined ? undefined : parseFailure(fields.failure, `${place}.failure`, steps),
  };
}

function parseParameters(value: unknown, place: string): Map<string, ParameterType> {
  return new Map(
    Object.entries(assertObject(value, place)).map(([name, type]) => {
      const known = PARAMETER_TYPES.find((candidate) => candidate === type);
      if (known !== undefined) return [name, known];
      throw new DefinitionError(
        `${place}[${JSON.stringify(name)}]`,
        `should be one of ${PARAMETER_TYPES.join(', ')}`,
      );
    }),
  );
}

function parseStep(value: unknown, place: string): Step {
  const { name, duration } = assertObject(value, place, ['name', 'duration']);
  const ms = typeof duration === 'string' ? parseDuration(duration) : undefined;
  if (ms === undefined) throw new DefinitionError(`${place}.duration`, 'should be a duration such as "1.5s"');
  return { name: assertText(name, `${place}.name`), duration: ms };
}

function parseFailure(
  value: unknown,
  place: string,
  steps: readonly Step[],
): { step: string; message: string } {
  const fields = assertObject(value, place, ['step', 'message']);
  const step = assertText(fields.step, `${place}.step`);
  if (!steps.some(({ name }) => name === step)) {
    throw new DefinitionError(
      `${place}.step`,
      `should name one of the steps: ${steps.map((s) => s.name).join(', ')}`,
    );
  }
  return { step, message: assertText(fields.message, `${place}.message`) };
}

function assertObject(value: unknown, place: string, known?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DefinitionError(place, 'should be an object');
  }
  const unknown = Object.keys(value).find((key) => known !== undefined && !known.includes(key));
  if (unknown !== undefined) {
    throw new DefinitionError(
      place,
      `has an unknown field ${JSON.stringify(unknown)}; it may have ${known?.join(', ')}`,
    );
  }
  return value as Record<string, unknown>;
}

function assertArray(value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) throw new DefinitionError(place, 'should be a list');
  return value;
}

function assertText(value: unknown, place: string): string {
  if (typeof value !== 'string' || value === '')
    throw new DefinitionError(place, 'should be a text that is not empty');
  return value;
}
