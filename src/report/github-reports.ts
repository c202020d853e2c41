/** `--report github`: writes annotations to stderr, and appends to the files of GitHub Actions. */
import { randomUUID } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { CommandResult } from '../outcome/error-data.js';
import type { Context } from '../platform/context.js';
import {
  type AppendFile,
  DestinationError,
  type Opener,
  openAppendFile,
  type Report,
} from './destination.js';
import { formatStepOutput, getStepOutputs, MAX_SIZE, renderAnnotations, renderJobSummary } from './github.js';

/** Renders the text for a file that already has `size` bytes. */
type RenderText = (
  result: CommandResult,
  size: number,
  warn: (text: string) => Promise<void>,
) => Promise<string>;

/** Returns the openers of the annotations, the job summary and the step outputs. */
export function githubOpeners(context: Context): Opener[] {
  return [
    async () => annotationReport(context),
    () => fileReport('GITHUB_STEP_SUMMARY', summaryText, context),
    () => fileReport('GITHUB_OUTPUT', outputText, context),
  ];
}

/** On stderr, because the runner reads commands from both streams and stdout carries only the output. */
function annotationReport({ stderr }: Context): Report {
  return {
    name: '--report github',
    write: (result) => stderr.write(renderAnnotations(result)),
    discard: async () => {},
  };
}

async function fileReport(variable: string, renderText: RenderText, context: Context): Promise<Report> {
  const { env, stderr, secrets } = context;
  const path = env[variable];
  if (!path) {
    throw new UsageError([
      `--report github: ${variable} is not set; this report works only in a step of GitHub Actions`,
    ]);
  }
  const name = `--report github (${variable} ${path})`;
  const file: AppendFile = await openAppendFile(path, context).catch((error) => {
    throw error instanceof DestinationError ? new UsageError([`${name}: ${error.message}`]) : error;
  });
  const warn = (text: string) => stderr.write(`warning: ${text}\n`);
  return {
    name,
    async write(result) {
      const size = await file.size();
      const text = await renderText(result, size, warn);
      // The last line of an earlier writer may lack its line feed.
      if (text !== '') await file.write([secrets.mask(size > 0 ? `\n${text}` : text)]);
    },
    discard: file.discard,
  };
}

const summaryText: RenderText = async (result, size, warn) => {
  const text = renderJobSummary(result, MAX_SIZE - size - 1);
  if (text === undefined) await warn('the job summary is full (1 MiB at most); it does not list the runs');
  return text ?? '';
};

const outputText: RenderText = async (result, _size, warn) => {
  let text = '';
  for (const [name, value] of Object.entries(getStepOutputs(result))) {
    // A random delimiter, so that no line of the value can equal it.
    if (value !== undefined) text += formatStepOutput(name, value, `wfr-${randomUUID()}`);
    else await warn(`the step output ${name} is omitted: it exceeds 1 MiB, counted as two bytes a character`);
  }
  return text;
};
