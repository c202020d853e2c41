import { UsageError } from '../errors.js';

/** A batch cannot go on with its results file, or its table: it is another's, or not what it was. */
export class BatchFileError extends UsageError {
  constructor(problem: string) {
    super([problem]);
  }
}
