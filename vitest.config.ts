/** The projects of the tests: `npx vitest run --project unit test/commands/run`. */
import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Node reads NODE_EXTRA_CA_CERTS only when a process starts; the tests' certificates have an authority of their own. */
const trusting = (authority: string) => ({
  NODE_EXTRA_CA_CERTS: fileURLToPath(new URL(`test/fixtures/tls/${authority}.pem`, import.meta.url)),
});

/** The tests create thousands of folders, which takes a tenth of the time in memory, if that has room and runs programs. */
function temporaryFiles(): string {
  if (process.env.TMPDIR !== undefined || process.platform !== 'linux') return tmpdir();
  if (!/^\S+ \/dev\/shm tmpfs (?!\S*noexec)rw\b/m.test(readFileSync('/proc/mounts', 'utf8'))) return tmpdir();
  const { bavail, bsize } = statfsSync('/dev/shm');
  return bavail * bsize > 4e9 ? '/dev/shm' : tmpdir();
}

export default defineConfig({
  test: {
    // Generous, for a busy machine: it ends only what hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Without it, vitest reads a style sheet as empty, even where its text is imported.
    css: true,
    setupFiles: ['test/helpers/setup.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          // Most of the time a test waits for processes and sockets; by default, a machine of two cores has one worker.
          maxWorkers: Number(process.env.WORKERS ?? 6),
          // wfr's modules keep no state, so the files of a worker share them: each loads them once.
          isolate: false,
          // On Windows, ora's spinner is ASCII outside of terminals that it knows.
          env: { ...trusting('ca'), TMPDIR: temporaryFiles(), WT_SESSION: 'tests' },
        },
      },
      {
        // Real proxies, xmllint, tmux, shells, parallel and Chromium: not every machine has them.
        extends: true,
        test: {
          name: 'peers',
          include: ['test/peers/**/*.peers.ts'],
          fileParallelism: false,
          env: trusting('peers-ca'),
        },
      },
      {
        extends: true,
        test: {
          name: 'soak',
          include: ['test/soak/*.test.ts'],
          fileParallelism: false,
          testTimeout: 3_600_000,
          env: { SOAK: '1' },
        },
      },
    ],
  },
});
