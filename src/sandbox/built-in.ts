/** The workflows of the sandbox without `--workflows`. */
import { declare } from '../parameters/declaration.js';
import { DEFAULT_PENDING_MS, type Workflow } from './workflow.js';

export const BUILT_IN_WORKFLOWS: readonly Workflow[] = [
  {
    id: '5b1f0c3e-6d0a-4c57-9d5e-0a6f1c2b3d4e',
    versionName: 'invoice v3',
    parameters: declare({ invoice: 'document', customer: 'string' }),
    pendingFor: DEFAULT_PENDING_MS,
    steps: [
      { name: 'Read document', duration: 900 },
      { name: 'Extract fields', duration: 1_200 },
      { name: 'Check totals', duration: 900 },
      { name: 'Write result', duration: 600 },
    ],
    output: {
      customer: '{{customer}}',
      document: {
        mediaType: '{{invoice.mediaType}}',
        bytes: '{{invoice.bytes}}',
        sha256: '{{invoice.sha256}}',
      },
    },
    failure: undefined,
  },
  {
    id: 'f7a1c2d3-0b4e-4f5a-8c6d-7e8f9a0b1c2d',
    versionName: 'failing v1',
    parameters: declare({ customer: 'string' }),
    pendingFor: DEFAULT_PENDING_MS,
    steps: [
      { name: 'Find customer', duration: 300 },
      { name: 'Check credit', duration: 300 },
      { name: 'Write result', duration: 300 },
    ],
    output: {},
    failure: { step: 'Check credit', message: 'The credit service does not know the customer.' },
  },
  {
    id: '51000000-2f3a-4b4c-9d5e-6f7a8b9c0d1e',
    versionName: 'slow v1',
    parameters: declare({ label: 'string' }),
    pendingFor: DEFAULT_PENDING_MS,
    steps: Array.from({ length: 10 }, (_, index) => ({ name: `Part ${index + 1}`, duration: 6_000 })),
    output: { label: '{{label}}' },
    failure: undefined,
  },
  {
    id: 'a6c4e2f0-1b3d-4f5e-8a7c-9d0b1c2e3f4a',
    versionName: 'archive v1',
    parameters: declare({ scan: 'document', title: 'string' }),
    pendingFor: DEFAULT_PENDING_MS,
    steps: [
      { name: 'Read document', duration: 600 },
      { name: 'Write copy', duration: 600 },
    ],
    output: { title: '{{title}}', copy: '{{scan}}', sha256: '{{scan.sha256}}' },
    failure: undefined,
  },
];
