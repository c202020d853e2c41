/** cross-spawn has the signature of Node's own spawn, and no types. */
declare module 'cross-spawn' {
  export { spawn as default } from 'node:child_process';
}
