/** The inputs of all rows (`-i`), as a results file records them: they tell which one has changed, and store no value. */
import { createHmac, randomBytes } from 'node:crypto';

/** By name: 16 hexadecimal digits of salt, then 16 of the digest. */
export type RecordedInputs = Readonly<Record<string, string>>;

/** An input as the user wrote it. */
interface CommonInput {
  name: string;
  raw: string;
}

export function recordInputs(inputs: readonly CommonInput[]): RecordedInputs {
  return Object.fromEntries(
    inputs.map(({ name, raw }) => {
      const salt = randomBytes(8).toString('hex');
      return [name, salt + digest(raw, salt)];
    }),
  );
}

/** Returns how the inputs differ from the recorded ones, in a few words each. */
export function differentInputs(recorded: RecordedInputs, inputs: readonly CommonInput[]): string[] {
  const missing = Object.keys(recorded).filter((name) => !inputs.some((input) => input.name === name));
  return [
    ...inputs.flatMap(({ name, raw }) => {
      const known = Object.hasOwn(recorded, name) ? recorded[name] : undefined;
      if (known === undefined) return [`-i ${raw} is new`];
      return known.slice(16) === digest(raw, known.slice(0, 16)) ? [] : [`-i ${raw} has another value`];
    }),
    ...missing.map((name) => `-i ${name} is missing`),
  ];
}

function digest(raw: string, salt: string): string {
  return createHmac('sha256', Buffer.from(salt, 'hex')).update(raw).digest('hex').slice(0, 16);
}
