/** Groups the reasons why runs did not succeed: messages that differ only in paths and numbers are one reason. */

export interface Reason {
  /** The outcome of the run, in a word or two. */
  outcome: string;
  /** The step that failed; empty if none did. */
  step: string;
  /** May have several lines. */
  message: string;
}

export interface ReasonGroup<Member> extends Reason {
  /** As `add` returns it. */
  id: number;
  /** How many members have the reason. */
  count: number;
  /** The first of them. */
  first: readonly [Member, ...Member[]];
}

/** Members that each group lists. */
const MAX_FIRST = 4;
/** Stands for a path or number that differs between the messages of a group. */
const DIFFERENCE = '…';

/** A message as its paths and numbers, and the text around them, which is one piece longer. */
interface Template {
  around: readonly string[];
  values: readonly string[];
}

interface Group<Member> extends Omit<ReasonGroup<Member>, 'message'> {
  template: Template;
  /** Whether a value of the template differs between the messages. */
  differs: boolean[];
  first: [Member, ...Member[]];
}

/** Reasons that are added one at a time, so that they need not be in memory together. */
export class ReasonGroups<Member> {
  readonly #groups = new Map<string, Group<Member>>();

  /** Reasons beyond `maxGroups` are one group, with the message `other reasons`. */
  constructor(private readonly maxGroups = Number.POSITIVE_INFINITY) {}

  /** Counts a member, and returns the id of its group. */
  add({ outcome, step, message }: Reason, member: Member): number {
    const template = parseTemplate(message);
    const key = JSON.stringify([outcome, step, template.around]);
    const group = this.#groups.get(key) ?? this.#create(key, { outcome, step, template }, member);
    for (const [index, value] of group.template.values.entries())
      group.differs[index] ||= value !== template.values[index];
    if (++group.count > 1 && group.first.length < MAX_FIRST) group.first.push(member);
    return group.id;
  }

  /** Returns the groups, the largest first. */
  bySize(): ReasonGroup<Member>[] {
    return [...this.#groups.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ template, differs, ...group }) => ({ ...group, message: formatMessage(template, differs) }));
  }

  #create(key: string, head: Pick<Group<Member>, 'outcome' | 'step' | 'template'>, member: Member) {
    const id = this.#groups.size;
    const isFull = id >= this.maxGroups;
    const others = isFull ? this.#groups.get(OTHER_KEY) : undefined;
    if (others !== undefined) return others;
    const group: Group<Member> = { ...(isFull ? OTHER : head), id, differs: [], count: 0, first: [member] };
    this.#groups.set(isFull ? OTHER_KEY : key, group);
    return group;
  }
}

/** The group of the reasons beyond the limit. */
const OTHER_KEY = '';
const OTHER = { outcome: '', step: '', template: { around: ['other reasons'], values: [] } };

/** Returns a message without the label of its row at the start of its lines, so that rows with one reason are grouped. */
export function withoutLabel(message: string, label: string | undefined): string {
  if (label === undefined) return message;
  return message
    .split('\n')
    .map((line) => (line.startsWith(`${label}: `) ? line.slice(label.length + 2) : line))
    .join('\n');
}

/** What ends a path: white space, quotes, brackets and a few marks. */
const NO_END = String.raw`[^\s"'<>()[\]{},;|=@]`;
/** Matches what may differ within a group: paths, names of files, hexadecimal ids, and numbers. */
const VALUE = new RegExp(
  [
    // A path, but no media type.
    String.raw`(?<!${NO_END})(?!(?:application|audio|font|image|model|text|video)/)(?=${NO_END}*[\\/])${NO_END}*[^\s"'<>()[\]{},;|=@.:]`,
    String.raw`(?<![\p{L}\p{N}_.-])[\p{L}\p{N}_.-]+\.[a-z][a-z\d]{1,4}(?![\p{L}\p{N}_.])`,
    String.raw`\b(?=[a-f-]{0,64}\d)[\da-f]{8}[\da-f-]*\b`,
    // A number, but no HTTP status: 404 and 503 are different reasons.
    String.raw`(?<!\d)(?!(?<=^|\(|\bHTTP |\bstatus |\bcode )[45]\d\d(?!\d))\d+(?:[.,:]\d+)*`,
  ].join('|'),
  'gimu',
);

function parseTemplate(message: string): Template {
  return { around: message.split(VALUE), values: message.match(VALUE) ?? [] };
}

function formatMessage({ around, values }: Template, differs: readonly boolean[]): string {
  const shown = values.map((value, index) => (differs[index] ? DIFFERENCE : value));
  return around.map((text, index) => text + (shown[index] ?? '')).join('');
}
