/** The certificate authorities that the operating system trusts. Read only for a server whose issuer Node does not know. */
import { promises } from 'node:fs';
import { join } from 'node:path';
import type { Context } from './context.js';

/** The bundles of Debian, Red Hat (two), SUSE (two) and Alpine; the first one that exists is read. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/var/lib/ca-certificates/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/**
 * Returns the certificates in PEM, those of SSL_CERT_FILE and SSL_CERT_DIR as OpenSSL reads them. What cannot be read is
 * left out, as OpenSSL does.
 */
export async function readSystemCertificates({
  env,
  platform,
}: Pick<Context, 'env' | 'platform'>): Promise<string[]> {
  const { SSL_CERT_FILE: file = '', SSL_CERT_DIR: folders = '' } = env;
  const hashed = await Promise.all(folders.split(platform === 'win32' ? ';' : ':').map(readHashed));
  // Each variable replaces one of two places, which have the same certificates in all these systems.
  const standard = file && folders ? [] : await readStore(platform);
  return [await read(file), ...hashed.flat(), ...standard].filter((pem) => pem.includes('-----BEGIN '));
}

async function readStore(platform: NodeJS.Platform): Promise<string[]> {
  if (platform === 'darwin' || platform === 'win32') {
    const { default: tls } = await import('node:tls');
    // Since Node 22.15.
    return 'getCACertificates' in tls ? (tls.getCACertificates as (type: string) => string[])('system') : [];
  }
  for (const path of BUNDLES) {
    const bundle = await read(path);
    if (bundle !== '') return [bundle];
  }
  return [];
}

/** OpenSSL reads only files whose name is the hash of a subject: 8 hexadecimal digits, a dot and a number. */
async function readHashed(folder: string): Promise<string[]> {
  const names = await promises.readdir(folder).catch(() => []);
  return Promise.all(
    names.filter((name) => /^[0-9a-f]{8}\.\d+$/.test(name)).map((name) => read(join(folder, name))),
  );
}

/** Reads a file; empty if it cannot be read, as without a name. */
function read(path: string): Promise<string> {
  return promises.readFile(path, 'latin1').catch(() => '');
}
