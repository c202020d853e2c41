/** The check of wfr, that of its sandbox, and a model of both agree on any declaration and inputs. */
import { writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readWorkflows, type Workflow } from '../../src/sandbox/workflow.js';
import { runCli } from '../helpers/cli.js';
import { writeTestConfig } from '../helpers/config.js';
import { folderWith } from '../helpers/files.js';
import { startTestSandbox } from '../helpers/sandbox.js';

const ID = '0b8f6c1e-2f57-4a53-9a8e-3d2f4c5b6a79';
const NAMES = ['a', 'b', 'ab', 'x y', 'd.x', 'ü', '__proto__', 'toString', 'n=1'];
const TYPES = ['string', 'document', 'number', 'boolean', 'object', 'array'];

/** What a value is: a type, the media type of a document, or `malformed`. */
type Kind = string;

const TEXTS: readonly (readonly [text: string, kind: Kind])[] = [
  ...[
    '',
    'x',
    '12',
    'true',
    'null',
    '{}',
    '"q"',
    'data:',
    'data:;base64,aaaa',
    'data:application/pdf,aaaa',
  ].map((text) => [text, 'string'] as const),
  ['data:application/pdf;base64,aaaa', 'application/pdf'],
  ['data:application/pdf;base64,', 'application/pdf'],
  ['data:text/plain;base64,aa==', 'text/plain'],
  ['data:Image/PNG;base64,aaa=', 'image/png'],
  ['data:application/pdf;base64,aaa', 'malformed'],
  ['data:application/pdf;base64,a?==', 'malformed'],
  ['data:application/pdf;base64,a===', 'malformed'],
  ['data:application/pdf;base64,aa==aaaa', 'malformed'],
  ['data:application/pdf;charset=x;base64,aaaa', 'application/pdf'],
  [' data:application/pdf;base64,aaaa', 'string'],
  [`data:${'x'.repeat(300)}/y;base64,aaaa`, 'string'],
];
const JSON_VALUES: readonly (readonly [json: string, kind: Kind])[] = [
  ...TEXTS.map(([text, kind]) => [` ${JSON.stringify(text)}`, kind] as const),
  ['"data\\u003aapplication\\/pdf;base64,aaaa"', 'application/pdf'],
  ...['0', '-1.5e3', '1e400'].map((json) => [json, 'number'] as const),
  ...['true', ' false '].map((json) => [json, 'boolean'] as const),
  ['null', 'null'],
  ...['{}', '{"a": [1, "b"]}'].map((json) => [json, 'object'] as const),
  ...['[]', '[{}]'].map((json) => [json, 'array'] as const),
];
const FILES: readonly (readonly [item: string, kind: Kind])[] = [
  ['@scan.pdf', 'application/pdf'],
  ['@scan.png', 'image/png'],
  ['@scan.txt', 'text/plain'],
  ['@scan.txt;type=Application/PDF', 'application/pdf'],
  ['@scan.txt;type=application/pdf;a=b', 'application/pdf'],
  ['@=scan.txt', 'string'],
  ['@:=scan.txt', 'number'],
];

/** Inputs as items, or as members of an inputs file. */
const value = fc.oneof(
  fc.constantFrom(...TEXTS).map(([text, kind]) => ({ item: `=${text}`, kind })),
  fc.constantFrom(...JSON_VALUES).map(([json, kind]) => ({ item: `:=${json}`, kind })),
  fc.constantFrom(...JSON_VALUES).map(([json, kind]) => ({ json, kind })),
  fc.constantFrom(...FILES).map(([item, kind]) => ({ item, kind })),
  fc.constant({ json: '{"$document": "scan.pdf"}', kind: 'application/pdf' }),
  fc.constant({ json: '[{"$document": "scan.pdf"}]', kind: 'array' }),
);
const parameter = fc.record({
  type: fc.constantFrom(...TYPES),
  isOptional: fc.boolean(),
  accept: fc.option(
    fc.constantFrom(['application/pdf'], ['IMAGE/*'], ['text/plain', 'image/png'], ['application/*']),
  ),
});
const some = <T>(values: fc.Arbitrary<T>, maxLength = 5) =>
  fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), values), { selector: ([name]) => name, maxLength });

/** Inputs, and a declaration that they match but for up to two parameters. */
const matching = fc.tuple(some(value), some(parameter, 2)).map(([inputs, others]) => {
  const declared = inputs.map(([name, { kind }]): [string, Declared] => [name, declarationOf(kind)]);
  return { inputs, parameters: [...new Map<string, Declared>([...declared, ...others])] };
});
const DATA_URIS = TEXTS.filter(([text]) => text.includes('data:'));
/** A text that is, or looks like, a document, for a document. */
const encoded = fc
  .record({ uri: fc.constantFrom(...DATA_URIS), isJson: fc.boolean() })
  .map(({ uri, isJson }) => {
    const [text, kind] = uri;
    const item = isJson ? `:=${JSON.stringify(text)}` : `=${text}`;
    const declared: Declared = { type: 'document', isOptional: true, accept: null };
    return {
      inputs: [['a', { item, kind }]] as [string, { item: string; kind: Kind }][],
      parameters: [['a', declared]] as [string, Declared][],
    };
  });
const unrelated = fc.record({ inputs: some(value), parameters: some(parameter) });

test('parameters: wfr, the sandbox and a model reject the same inputs, and wfr before anything is sent', async () => {
  const workflows: Workflow[] = [];
  const { env, clock, posts } = await startTestSandbox({ workflows });
  const config = writeTestConfig('{}', env);
  const cwd = folderWith({ 'scan.pdf': 'a scan', 'scan.png': '', 'scan.txt': '7' });
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(matching, encoded, unrelated), async ({ inputs, parameters }) => {
      const declaration = object(
        parameters.map(([name, { type, isOptional, accept }]) => {
          const isLimited = type === 'document' && accept !== null;
          return [name + (isOptional ? '?' : ''), JSON.stringify(isLimited ? { type, accept } : type)];
        }),
      );
      const workflow = `{"id": "${ID}", "parameters": ${declaration}}`;
      writeFileSync(config.path, `{"profiles": {"p": {"workflows": {"w": ${workflow}}}}}`);
      const rest = { versionName: 'v', steps: [{ name: 's', duration: '1s' }] };
      workflows.splice(0, 1, ...readWorkflows({ workflows: [{ ...JSON.parse(workflow), ...rest }] }));
      const file = inputs.flatMap(([name, one]): [string, string][] =>
        'json' in one ? [[name, one.json]] : [],
      );
      writeFileSync(`${cwd}/inputs.json`, object(file));
      const items = inputs.flatMap(([name, one]) =>
        'item' in one ? [name.replace('=', '\\=') + one.item] : [],
      );
      const run = (flags: readonly string[]) => {
        const args = [
          'run',
          '--profile',
          'p',
          'w',
          '-d',
          ...flags,
          '--inputs-file',
          'inputs.json',
          '--',
          ...items,
        ];
        return runCli(args, { env: config.env, clock, cwd });
      };
      const before = posts();
      const checked = await run([]);
      const sent = posts() - before;
      const unchecked = await run(['--no-check-parameters']);
      const expected = mismatches(new Map(parameters), new Map(inputs));
      const isAccepted = expected.length === 0;
      if (isAccepted) accepted++;
      expect({ exit: checked.exitCode, sent, unchecked: unchecked.exitCode }).toEqual({
        exit: isAccepted ? 0 : 2,
        sent: isAccepted ? 1 : 0,
        unchecked: isAccepted ? 0 : 5,
      });
      if (isAccepted) return;
      expect(namesIn(checked.stderr, isAboutInput)).toEqual(expected);
      expect(namesIn(unchecked.stderr, isAboutRejected)).toEqual(expected);
    }),
    { numRuns: 150 },
  );
  expect(accepted).toBeGreaterThan(15);
});

/** Returns a parameter that takes a value, except for null, which none takes. */
function declarationOf(kind: Kind): Declared {
  const isDocument = kind.includes('/');
  const type = isDocument ? 'document' : kind === 'malformed' || kind === 'null' ? 'string' : kind;
  return { type, isOptional: false, accept: isDocument ? [kind] : null };
}

/** Returns the JSON text of an object; members may be called __proto__. */
function object(members: readonly (readonly [name: string, json: string])[]): string {
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(', ')}}`;
}

interface Declared {
  type: string;
  isOptional: boolean;
  accept: readonly string[] | null;
}

/** Returns the names of the inputs that are missing, unknown, mistyped or not accepted: the rules, written once more. */
function mismatches(
  parameters: ReadonlyMap<string, Declared>,
  inputs: ReadonlyMap<string, { kind: Kind }>,
): string[] {
  const isWrong = (name: string) => {
    const [declared, given] = [parameters.get(name), inputs.get(name)];
    if (declared === undefined) return given !== undefined;
    if (given === undefined) return !declared.isOptional;
    const { kind } = given;
    const isDocument = kind.includes('/');
    if (declared.type === 'string') return !isDocument && kind !== 'string' && kind !== 'malformed';
    if (declared.type !== 'document') return kind !== declared.type;
    const patterns = (declared.accept ?? ['*/*']).map((one) => one.toLowerCase().replaceAll('*', '.*'));
    return !isDocument || !patterns.some((pattern) => new RegExp(`^${pattern}$`).test(kind));
  };
  return NAMES.filter(isWrong);
}

/** Returns the names that a line of stderr is about. */
function namesIn(stderr: string, isAbout: (line: string, name: string) => boolean): string[] {
  const lines = stderr.split('\n').map((line) => line.replace(/^(wfr: error: | {2})/, ''));
  return NAMES.filter((name) => lines.some((line) => isAbout(line, name)));
}

/** Returns whether a line of the sandbox's message is about an input. */
function isAboutRejected(line: string, name: string): boolean {
  const starts = [`missing input ${name} (`, `inputs.${name}: must be `, `unknown parameter "${name}"`];
  return starts.some((start) => line.includes(start));
}

function isAboutInput(line: string, name: string): boolean {
  const item = name.replace('=', '\\=');
  const starts = [`missing input ${name} (`, `inputs.json: ${name}: `, `${item}=`, `${item}:=`, `${item}@`];
  return starts.some((start) => line.startsWith(start));
}
