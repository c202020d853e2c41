/** Certificates for test services: `good` is trusted (127.0.0.1, localhost, service.test), the others are not. */
import { readFileSync } from 'node:fs';
import type { TlsOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../fixtures/tls/', import.meta.url);

export const CA_FILE = fileURLToPath(new URL('ca.pem', FOLDER));

export function certificate(name: 'good' | 'expired' | 'wrong-name' | 'self-signed'): TlsOptions {
  return {
    key: readFileSync(new URL(`${name}.key`, FOLDER)),
    cert: readFileSync(new URL(`${name}.pem`, FOLDER)),
  };
}
