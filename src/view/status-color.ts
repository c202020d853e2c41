/** The color of a run's status. */
import type { Paint, Style } from './style.js';

/** Returns how a status is colored: green and red for the two ends, yellow for a run in progress. */
export function statusPaint(status: string | undefined, style: Style): Paint {
  switch (status) {
    case 'FINISHED':
      return style.success;
    case 'FAILED':
      return style.error;
    case 'RUNNING':
      return style.warning;
    default:
      return style.dim;
  }
}
