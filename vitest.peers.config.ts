import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** The tests with real proxies, xmllint, tmux, shells, parallel and Chromium, which `npm test` leaves out: not every machine has them. */
export default defineConfig({
  test: {
    include: ['test/peers/**/*.peers.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Without it, a style sheet is read as empty, also where its text is asked for.
    css: true,
    // As in vitest.config.ts, and the certificate of an address that is not a loopback one: see tinyproxy.peers.ts.
    env: {
      NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('test/fixtures/tls/peers-ca.pem', import.meta.url)),
    },
  },
});
