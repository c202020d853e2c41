/** Modules without types of their own. */

/** A file as text; Vite, which runs the tests, and build.mjs understand it. */
declare module '*?raw' {
  const text: string;
  export default text;
}

/** cross-spawn has the signature of Node's own spawn. */
declare module 'cross-spawn' {
  export { spawn as default } from 'node:child_process';
}

/** The parts of undici that wfr is made of: they have no types of their own, and a third of the whole's start-up time. */

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';
  export default function request(
    this: Dispatcher,
    options: Omit<Dispatcher.RequestOptions, 'origin'>,
  ): Promise<Dispatcher.ResponseData>;
}

declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
