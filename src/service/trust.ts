/** Which certificate authorities a connection trusts, and the client certificate that it shows. */

import type { SecureContext } from 'node:tls';
import { NetworkError } from './errors.js';

/** A certificate of ours and its private key, in PEM. */
export interface ClientCertificate {
  cert: Buffer;
  key: Buffer;
  passphrase: string | undefined;
}

export interface TlsSettings {
  /** Certificates in PEM to trust in addition to those of Node and of the system. */
  ca?: Buffer | undefined;
  /** Shown to the service, and not to a proxy. */
  clientCertificate?: ClientCertificate | undefined;
  /** Returns those that the system trusts, in PEM. */
  readSystemCertificates(): Promise<string[]>;
}

/** The codes of a chain that leads to no trusted certificate. Any other mistake is the same whoever is trusted. */
const UNKNOWN_ISSUER = /^(UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|.*SELF_SIGNED_CERT)/;

/** A store of certificates; an empty one trusts nobody, and undefined is Node's own, with NODE_EXTRA_CA_CERTS. */
type Store = readonly (string | Buffer)[] | undefined;

/**
 * Tries stores of trusted certificates one after the other, each in a connection of its own, until one has the issuer:
 * the user's, Node's, the system's. A later one is loaded only then, so most connections cost nothing more.
 */
export class Trust {
  readonly #stores: (() => Promise<Store>)[];
  readonly #contexts = new Map<string, Promise<SecureContext | undefined>>();
  /** The store that had the issuer of a host. */
  readonly #known = new Map<string, number>();

  constructor(private readonly settings: TlsSettings) {
    const { ca } = settings;
    this.#stores = [
      ...(ca === undefined ? [] : [async () => [ca]]),
      async () => undefined,
      () => settings.readSystemCertificates(),
    ];
  }

  /** Returns the first connection that `open` returns. Throws the error of the last store that was tried. */
  async connect<T>(
    host: string,
    isProxy: boolean,
    open: (secureContext: SecureContext | undefined) => Promise<T>,
  ): Promise<T> {
    const first = this.#known.get(host) ?? 0;
    for (let index = first; ; index++) {
      try {
        const opened = await open(await this.#context(index, isProxy));
        this.#known.set(host, index);
        return opened;
      } catch (error) {
        const isIssuerUnknown =
          error instanceof NetworkError && UNKNOWN_ISSUER.test(error.details.code ?? '');
        if (!isIssuerUnknown || index + 1 === this.#stores.length) throw error;
      }
    }
  }

  /** Returns the context of a store, which is made once: that of a system takes longer than a connection. */
  #context(index: number, isProxy: boolean): Promise<SecureContext | undefined> {
    const key = `${index} ${isProxy}`;
    const context = this.#contexts.get(key) ?? this.#createContext(index, isProxy);
    this.#contexts.set(key, context);
    return context;
  }

  async #createContext(index: number, isProxy: boolean): Promise<SecureContext | undefined> {
    const store = await this.#stores[index]?.();
    const own = isProxy ? undefined : this.settings.clientCertificate;
    if (store === undefined && own === undefined) return undefined;
    const { createSecureContext } = await import('node:tls');
    // As in curl, a trusted certificate need not be that of a root.
    return createSecureContext({ ...(store && { ca: [...store], allowPartialTrustChain: true }), ...own });
  }
}
