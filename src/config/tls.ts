/** Reads the certificates that --cacert and a profile name. Loaded only where there is one. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { Context } from '../platform/context.js';
import { readHiddenLine } from '../platform/hidden-line.js';
import { errorCode } from '../platform/system-error.js';
import type { ClientCertificate } from '../service/connect.js';
import { type NamedBytes, readSettingFile, type ServiceSources } from './resolve-setting.js';

/** Reads the files; asks on a terminal for the passphrase of an encrypted key. Throws UsageError. */
export async function readTlsFiles(sources: ServiceSources) {
  const ca = await readSettingFile('caFile', sources);
  if (ca) findCertificates(ca);
  const cert = await readSettingFile('certFile', sources);
  // As with curl, one file may have both.
  const key = (await readSettingFile('keyFile', sources)) ?? cert;
  return { ca: ca?.bytes, clientCertificate: cert && key && (await unlock(cert, key, sources.context)) };
}

const CERTIFICATE =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** Returns the certificates in PEM. Throws UsageError if there is none, or one that cannot be read. */
function findCertificates({ bytes, name }: NamedBytes): X509Certificate[] {
  const texts = bytes.toString('latin1').match(CERTIFICATE) ?? [];
  if (texts.length === 0) throw new UsageError(`${name}: has no certificate in PEM`);
  try {
    return texts.map((text) => new X509Certificate(text));
  } catch (error) {
    throw new UsageError(`${name}: has a certificate that cannot be read (${errorCode(error)})`);
  }
}

/** Decrypts the key, if necessary, and compares it with the certificate. Throws UsageError. */
async function unlock(cert: NamedBytes, key: NamedBytes, context: Context): Promise<ClientCertificate> {
  const isEncrypted = key.bytes.includes('ENCRYPTED');
  const passphrase = isEncrypted ? await askForPassphrase(key, context) : undefined;
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey({ key: key.bytes, passphrase });
  } catch {
    throw new UsageError(`${key.name}: ${isEncrypted ? 'the passphrase is wrong' : 'has no private key'}`);
  }
  if (!findCertificates(cert)[0]?.checkPrivateKey(privateKey))
    throw new UsageError(`${key.name}: is not the key of ${cert.name}`);
  return { cert: cert.bytes, key: key.bytes, passphrase };
}

async function askForPassphrase({ name }: NamedBytes, context: Context): Promise<string> {
  if (!context.stdin.isTTY)
    throw new UsageError(`${name}: is encrypted, and there is no terminal to ask for its passphrase`);
  const passphrase = await readHiddenLine(`Passphrase of ${name}`, context);
  context.secrets.add(passphrase, '(the passphrase)');
  return passphrase;
}
