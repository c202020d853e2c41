/** `--report github`: where GitHub Actions looks for what a step has to say. */
import { randomUUID } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import {
  type AppendFile,
  DestinationError,
  type Opener,
  openAppendFile,
  type Report,
} from './destination.js';
import { formatStepOutput, getStepOutputs, MAX_SIZE, renderAnnotations, renderJobSummary } from './github.js';
import type { CommandResult } from './reported-run.js';

/** What the text of a file is made from: how it ended, and the bytes that the file already has. */
type TextOf = (ended: CommandResult, size: number, warn: (text: string) => Promise<void>) => Promise<string>;

/** The annotations, the job summary and the step's outputs. */
export function githubOpeners(context: Context): Opener[] {
  return [
    async () => annotationReport(context),
    () => fileReport('GITHUB_STEP_SUMMARY', summaryText, context),
    () => fileReport('GITHUB_OUTPUT', outputText, context),
  ];
}

/** On stderr: stdout carries the answer alone, and the runner reads commands from both. */
function annotationReport({ stderr }: Context): Report {
  return {
    name: '--report github',
    write: (ended) => stderr.write(renderAnnotations(ended)),
    discard: async () => {},
  };
}

async function fileReport(variable: string, textOf: TextOf, { env, stderr }: Context): Promise<Report> {
  const path = env[variable];
  if (!path) {
    throw new UsageError([`--report github: ${variable} is not set; it works in a step of GitHub Actions`]);
  }
  const name = `--report github (${variable} ${path})`;
  const file: AppendFile = await openAppendFile(path).catch((error) => {
    throw error instanceof DestinationError ? new UsageError([`${name}: ${error.message}`]) : error;
  });
  const warn = (text: string) => stderr.write(`warning: ${text}\n`);
  return {
    name,
    async write(ended) {
      const size = await file.size();
      const text = await textOf(ended, size, warn);
      // Whoever wrote before may have left the last line open.
      if (text !== '') await file.write([size > 0 ? `\n${text}` : text]);
    },
    discard: file.discard,
  };
}

const summaryText: TextOf = async (ended, size, warn) => {
  const text = renderJobSummary(ended, MAX_SIZE - size - 1);
  if (text === undefined) await warn('the job summary has no room for the runs: GitHub takes 1 MiB');
  return text ?? '';
};

const outputText: TextOf = async (ended, _size, warn) => {
  let text = '';
  for (const [name, value] of Object.entries(getStepOutputs(ended))) {
    // Nobody can have put a line into the value that is the same.
    if (value !== undefined) text += formatStepOutput(name, value, `wfr-${randomUUID()}`);
    else await warn(`the step output ${name} is left out: GitHub takes 1 MiB, two bytes for each character`);
  }
  return text;
};
