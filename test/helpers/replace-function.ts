/** Functions of Node's modules that a test replaces, such as those of a file system that fails. */
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

/** Replaces a function of a Node module until the test has finished, or the returned function is called. */
export function replaceFunction<Module extends object, Name extends keyof Module>(
  module: Module,
  name: Name,
  replaced: Module[Name],
): () => void {
  const original = module[name];
  module[name] = replaced;
  syncBuiltinESMExports();
  const restore = () => {
    module[name] = original;
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  return restore;
}
