/** The workflows of the sandbox, and the parser of `--workflows` files. */
import { declare, PARAMETERS_SCHEMA, type Parameters, textSchema } from '../parameters/declaration.js';
import { checkSchema, type Schema } from '../text/json/check-schema.js';
import { aboutName, aboutValue, asObject, type JsonPath, type JsonProblem } from '../text/json/json-file.js';
import { DURATION, parseDuration } from '../text/quantity.js';

export interface Workflow {
  id: string;
  versionName: string;
  /** Undefined if it takes any inputs. */
  parameters: Parameters | undefined;
  /** Durations are in milliseconds. */
  steps: readonly { name: string; duration: number }[];
  /** JSON with the placeholders `{{name}}`, `{{name.member}}`, and of a document `{{name.bytes}}` and the like. */
  output: unknown;
  failure?: Failure | undefined;
}

interface Failure {
  step: string;
  message: string;
  /** Only runs whose inputs have these values fail, by placeholder such as `customer` or `scan.bytes`; by default all. */
  when?: Readonly<Record<string, unknown>>;
}

const TEXT = textSchema('a non-empty string', { pattern: /[\s\S]/ });

const TIME = textSchema('a duration, such as "1.5s"', { pattern: DURATION });

const ANY_OBJECT: Schema = { type: 'object', title: 'an object' };

const list = (items: Schema): Schema => {
  return { type: 'array', title: 'a list that is not empty', minItems: 1, items };
};

/** Returns an object with these members, which must not be missing, unless they are optional. */
const object = (members: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema => ({
  ...ANY_OBJECT,
  properties: { ...members, ...optional },
  required: Object.keys(members),
});

const STEP = object({ name: TEXT, duration: TIME });
const FAILURE = object({ step: TEXT, message: TEXT }, { when: ANY_OBJECT });
const WORKFLOW = object(
  { id: TEXT, versionName: TEXT, parameters: PARAMETERS_SCHEMA, steps: list(STEP) },
  { output: ANY_OBJECT, failure: FAILURE },
);
const FILE = object({ workflows: { ...list({ ...WORKFLOW, check: checkNames }), check: checkIds } });

/** Returns every mistake in a `--workflows` file, with its place. */
export function checkWorkflows(file: unknown): JsonProblem[] {
  return checkSchema(file, FILE, []);
}

/** Returns the workflows of a file without mistakes. */
export function readWorkflows(file: unknown): Workflow[] {
  return (file as { workflows: Workflow[] }).workflows.map((workflow) => ({
    ...workflow,
    parameters: declare(workflow.parameters),
    steps: workflow.steps.map((step) => ({ ...step, duration: parseDuration(String(step.duration)) ?? 0 })),
    output: workflow.output ?? {},
  }));
}

const listIn = (value: unknown) => (Array.isArray(value) ? value : []).map(asObject);

function checkIds(workflows: unknown, path: JsonPath): JsonProblem[] {
  const ids = listIn(workflows).map(({ id }) => id);
  return ids.flatMap((id, index) =>
    ids.indexOf(id) < index ? [aboutValue([...path, index, 'id'], '"id" must be unique')] : [],
  );
}

/** Returns the mistakes in what refers to the parameters and the steps of a workflow. */
function checkNames(workflow: unknown, path: JsonPath): JsonProblem[] {
  const { parameters: declaration, steps, output, failure } = asObject(workflow);
  const { step, when } = asObject(failure);
  const parameters = declare(declaration);
  const names = listIn(steps).map(({ name }) => name);
  const problems: JsonProblem[] = [];
  /** The placeholders that inputs fill, beside the members of objects and lists. */
  const known = [...parameters.values()].flatMap(({ name, type }) =>
    type === 'document' ? [name, ...DOCUMENT_MEMBERS.map((member) => `${name}.${member}`)] : [name],
  );
  const checkPlaceholder = (name: string, place: JsonPath, about: typeof aboutValue) => {
    const owner = parameters.get(name.replace(/\.[^.]*$/, ''));
    if (known.includes(name) || owner?.type === 'object' || owner?.type === 'array') return;
    const expected = known.join(', ') || 'none';
    problems.push(about(place, `${JSON.stringify(name)} is no parameter; expected ${expected}`));
  };
  for (const { text, path: place } of textsIn(output, [...path, 'output']))
    for (const [, name = ''] of text.matchAll(PLACEHOLDER)) checkPlaceholder(name, place, aboutValue);
  for (const name of Object.keys(asObject(when)))
    checkPlaceholder(name, [...path, 'failure', 'when', name], aboutName);
  if (step !== undefined && names.length > 0 && !names.includes(step))
    problems.push(
      aboutValue([...path, 'failure', 'step'], `"step" must be one of the steps: ${names.join(', ')}`),
    );
  return problems;
}

/** Yields the texts in a JSON value. */
function* textsIn(value: unknown, path: JsonPath): Generator<{ text: string; path: JsonPath }> {
  if (typeof value === 'string') yield { text: value, path };
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) yield* textsIn(member, [...path, key]);
}

const DOCUMENT_MEMBERS = ['mediaType', 'bytes', 'sha256'];

/** Returns an output with the members of a document. */
const describedDocument = (name: string) =>
  Object.fromEntries(DOCUMENT_MEMBERS.map((member) => [member, `{{${name}.${member}}}`]));

const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** What placeholders stand for. */
export type InputValues = ReadonlyMap<string, unknown>;

/** Returns a workflow as a run with these inputs has it: its output, and its failure only if the run fails. */
export function fillWorkflow(workflow: Workflow, values: InputValues): Workflow {
  const { output, failure } = workflow;
  const isFailing = Object.entries(failure?.when ?? {}).every(
    ([name, value]) => JSON.stringify(values.get(name) ?? null) === JSON.stringify(value),
  );
  const filled = JSON.parse(JSON.stringify(output), (_name, value) =>
    typeof value === 'string' ? fillText(value, values) : value,
  );
  return { ...workflow, output: filled, failure: isFailing ? failure : undefined };
}

/** A text that is one placeholder becomes its value, of any type; null if no input has it. */
function fillText(text: string, values: InputValues): unknown {
  const [only] = text.matchAll(PLACEHOLDER);
  if (only?.[0] === text) return values.get(only[1] ?? '') ?? null;
  return text.replace(PLACEHOLDER, (_placeholder, name: string) => {
    const value = values.get(name) ?? null;
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

/** Returns steps of a workflow, by their names in order, with durations in milliseconds. */
const stepsOf = (durations: Readonly<Record<string, number>>) =>
  Object.entries(durations).map(([name, duration]) => ({ name, duration }));

/** Returns a workflow whose output has its inputs, and of documents all but their content. */
export function echoWorkflow(id: string, versionName: string, parameters: Parameters | undefined): Workflow {
  const inputs = [...(parameters?.values() ?? [])].map(({ name, type }) => {
    return [name, type === 'document' ? describedDocument(name) : `{{${name}}}`];
  });
  const steps = stepsOf({ 'Read inputs': 500, 'Write result': 500 });
  return { id, versionName, parameters, steps, output: Object.fromEntries(inputs) };
}

/** The first one needs no file: its command works unchanged in any folder. */
export const BUILT_IN_WORKFLOWS: readonly Workflow[] = [
  {
    id: '3c0ffee1-4a2b-4c3d-8e5f-6a7b8c9d0e1f',
    versionName: 'greeting v1',
    parameters: declare({ name: 'string' }),
    steps: stepsOf({ 'Write greeting': 500 }),
    output: { greeting: 'Hello, {{name}}' },
  },
  {
    id: '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e',
    versionName: 'invoice v3',
    parameters: declare({ invoice: 'document', customer: 'string' }),
    steps: stepsOf({
      'Read document': 900,
      'Extract fields': 1_200,
      'Check totals': 900,
      'Write result': 600,
    }),
    output: { customer: '{{customer}}', document: describedDocument('invoice') },
  },
  {
    id: 'f7a1c2d3-0b4e-4f5a-8c6d-7e8f9a0b1c2d',
    versionName: 'failing v1',
    parameters: declare({ customer: 'string' }),
    steps: stepsOf({ 'Find customer': 300, 'Check credit': 300, 'Write result': 300 }),
    output: {},
    failure: { step: 'Check credit', message: 'The credit service does not know the customer.' },
  },
  {
    ...echoWorkflow('51000000-2f3a-4b4c-9d5e-6f7a8b9c0d1e', 'slow v1', declare({ label: 'string' })),
    steps: Array.from({ length: 10 }, (_, index) => ({ name: `Part ${index + 1}`, duration: 6_000 })),
  },
  {
    id: 'a6c4e2f0-1b3d-4f5e-8a7c-9d0b1c2e3f4a',
    versionName: 'archive v1',
    parameters: declare({ scan: 'document', title: 'string' }),
    steps: stepsOf({ 'Read document': 600, 'Write copy': 600 }),
    output: { title: '{{title}}', copy: '{{scan}}', sha256: '{{scan.sha256}}' },
  },
];
