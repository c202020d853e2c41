/** Reads a line from a terminal without showing it. */
import { InterruptedError } from '../errors.js';
import type { Context } from './context.js';

/**
 * Asks for `subject` and returns the line that is typed, empty at the end of input. The terminal shows what is typed again
 * before this function settles. Throws InterruptedError on Ctrl-C and on a signal.
 */
export async function readHiddenLine(
  subject: string,
  { stdin, stderr, onSignal }: Pick<Context, 'stdin' | 'stderr' | 'onSignal'>,
): Promise<string> {
  // Loaded only to ask.
  const { createInterface } = await import('node:readline');
  const prompt = `${subject} (not shown): `;
  // Without an output, it shows nothing.
  const lines = createInterface({ input: stdin, terminal: true, historySize: 0 });
  let stopListening = () => {};
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(''));
      // The terminal raises no signal while every key is read.
      lines.once('SIGINT', () => reject(new InterruptedError('SIGINT')));
      stopListening = onSignal((signal) => {
        reject(new InterruptedError(signal));
        // At once: the signal may end this process soon.
        lines.close();
      });
      // Node pauses it when the process is resumed after Ctrl-Z.
      lines.on('SIGCONT', () => {
        lines.resume();
        void stderr.write(prompt);
      });
      void stderr.write(prompt);
    });
  } finally {
    stopListening();
    lines.close();
    await stderr.write('\n');
  }
}
