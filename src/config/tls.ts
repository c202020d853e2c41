/** Reads the certificates that --cacert and a profile name. Loaded only where there is one. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { dirname } from 'node:path';
import { UsageError } from '../errors.js';
import { FileError, readBytes } from '../inputs/files.js';
import type { Context } from '../platform/context.js';
import { resolvePath } from '../platform/files.js';
import { errorCode } from '../platform/system-error.js';
import type { ClientCertificate, TlsSettings } from '../service/trust.js';
import { formatSource } from './profile.js';
import type { RawSetting } from './resolve-setting.js';

/** The settings that name files, where they are set. */
export type TlsFiles = Readonly<Record<'caFile' | 'certFile' | 'keyFile', RawSetting | undefined>>;

/** Reads the files; asks on a terminal for the passphrase of an encrypted key. Throws UsageError. */
export async function readTlsFiles(
  { caFile, certFile, keyFile }: TlsFiles,
  context: Context,
): Promise<Pick<TlsSettings, 'ca' | 'clientCertificate'>> {
  const ca = caFile && (await readPem('caFile', caFile, context));
  if (ca !== undefined) findCertificates(ca);
  if (certFile === undefined) return { ca: ca?.pem };
  const cert = await readPem('certFile', certFile, context);
  findCertificates(cert);
  // As with curl, one file may have both.
  const key = keyFile === undefined ? cert : await readPem('keyFile', keyFile, context);
  return { ca: ca?.pem, clientCertificate: await unlock(cert, key, context) };
}

interface PemFile {
  /** The flag or the setting, its line and the path. */
  name: string;
  pem: Buffer;
}

async function readPem(setting: keyof TlsFiles, { text, source }: RawSetting, context: Context) {
  const isInProfile = source.kind === 'profile';
  const name = `${isInProfile ? `${setting} of ` : ''}${formatSource(source)} ${text}`;
  if (text === '-') throw new UsageError([`${name}: the path of a file is required`]);
  return readPemFile(name, text, isInProfile ? dirname(source.path) : context.cwd, context);
}

/** Reads a file that must be PEM; `name` is what messages begin with. Throws UsageError. */
export async function readPemFile(
  name: string,
  path: string,
  folder: string,
  context: Context,
): Promise<PemFile> {
  const pem = await readBytes(resolvePath(path, folder, context), { base: folder }, context).catch(
    (error) => {
      throw error instanceof FileError ? new UsageError([`${name}: ${error.message}`]) : error;
    },
  );
  if (pem.length === 0) throw new UsageError([`${name}: the file is empty`]);
  if (!pem.includes('-----BEGIN ')) {
    throw new UsageError([
      `${name}: is not PEM, which begins with -----BEGIN; convert it with: openssl x509 -inform der -in <file> -out <file>.pem`,
    ]);
  }
  return { name, pem };
}

const CERTIFICATE =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** Returns the certificates in PEM. Throws UsageError if there is none, or one that cannot be read. */
export function findCertificates({ pem, name }: PemFile): X509Certificate[] {
  try {
    const certificates = (pem.toString('latin1').match(CERTIFICATE) ?? []).map(
      (text) => new X509Certificate(text),
    );
    if (certificates.length > 0) return certificates;
  } catch (error) {
    throw new UsageError([`${name}: has a certificate that cannot be read (${errorCode(error)})`]);
  }
  throw new UsageError([`${name}: has no certificate`]);
}

/** Decrypts the key, if necessary, and compares it with the certificate. Throws UsageError. */
async function unlock(cert: PemFile, key: PemFile, context: Context): Promise<ClientCertificate> {
  const isEncrypted = key.pem.includes('ENCRYPTED');
  const passphrase = isEncrypted ? await askForPassphrase(key, context) : undefined;
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey({ key: key.pem, ...(isEncrypted && { passphrase }) });
  } catch {
    throw new UsageError([`${key.name}: ${isEncrypted ? 'the passphrase is wrong' : 'has no private key'}`]);
  }
  if (findCertificates(cert)[0]?.checkPrivateKey(privateKey) !== true)
    throw new UsageError([`${key.name}: is not the key of ${cert.name}`]);
  return { cert: cert.pem, key: key.pem, passphrase };
}

async function askForPassphrase({ name }: PemFile, context: Context): Promise<string> {
  if (context.stdin.isTTY !== true) {
    throw new UsageError([
      `${name}: is encrypted, and there is no terminal to ask for its passphrase; decrypt it with: openssl pkey -in <file> -out <file>`,
    ]);
  }
  const { readHiddenLine } = await import('../platform/hidden-line.js');
  const passphrase = await readHiddenLine(`Passphrase of ${name} (not shown): `, context);
  context.secrets.add(passphrase, '(the passphrase)');
  return passphrase;
}
