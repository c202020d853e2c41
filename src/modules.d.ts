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

/** The part of undici that wfr is made of: it has no types of its own, and a third of the whole's start-up time. */
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
