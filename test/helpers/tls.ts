/** Certificates for test services: `good` is trusted (127.0.0.1, localhost, service.test), the others are not. `self-signed` is for 127.0.0.1, `self-signed-name` for service.test. */
import { readFileSync } from 'node:fs';
import type { TlsOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../fixtures/tls/', import.meta.url);

export const CERTIFICATES = fileURLToPath(FOLDER);
export const CA_FILE = fileURLToPath(new URL('ca.pem', FOLDER));

export function certificate(
  name: 'good' | 'expired' | 'wrong-name' | 'self-signed' | 'self-signed-name',
): TlsOptions {
  return {
    key: readFileSync(new URL(`${name}.key`, FOLDER)),
    cert: readFileSync(new URL(`${name}.pem`, FOLDER)),
  };
}
