import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Most of the time a test waits for processes and sockets; by itself, vitest leaves a machine of two cores one worker.
    maxWorkers: 2,
    // Without it, a style sheet is read as empty, also where its text is asked for.
    css: true,
    // Node reads this one only when a process starts: the certificates of the tests are signed by an authority of their own.
    env: { NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('test/fixtures/tls/ca.pem', import.meta.url)) },
  },
});
