/** Groups the reasons why runs did not succeed: messages that differ only in paths and numbers are one reason. */

interface Reason {
  /** The outcome of the run, in a word or two. */
  outcome: string;
  /** The step that failed; empty if none did. */
  step: string;
  /** May have several lines. */
  message: string;
}

export interface ReasonGroup<Member> extends Omit<Reason, 'message'> {
  /** Tells groups apart. */
  id: number;
  /** Of the message, as piecesOf returns them, with `…` where they differ within the group. */
  pieces: readonly string[];
  /** How many members have the reason. */
  count: number;
  /** The first of them. */
  first: [Member, ...Member[]];
}

/** Further reasons are one group: a service with a new reason for each run must not fill memory. */
const MAX_GROUPS = 1_000;
/** Stands for a path or number that differs between the messages of a group. */
const DIFFERENCE = '…';

/** The reason of the members beyond the limit of groups. */
const OTHERS: Reason = { outcome: '', step: '', message: 'other reasons' };

/**
 * Returns groups without reasons, which are added one at a time, so that they need not be in memory together. `maxFirst`: how
 * many members each group lists.
 */
export function createReasonGroups<Member>(maxFirst = 4) {
  const groups = new Map<string, ReasonGroup<Member>>();
  return {
    add,

    /** Returns the groups, the largest first. */
    bySize: (): ReasonGroup<Member>[] => [...groups.values()].sort((a, b) => b.count - a.count),
  };

  /** Counts so many members, of which one is given, and returns their group, which others may join. */
  function add(reason: Reason, member: Member, members = 1): ReasonGroup<Member> {
    const { outcome, step, message } = reason;
    const pieces = piecesOf(message);
    const key = JSON.stringify([outcome, step, pieces.filter((_, index) => index % 2 === 0)]);
    const id = groups.size;
    const known = groups.get(key);
    if (!known && id >= MAX_GROUPS && reason !== OTHERS) return add(OTHERS, member, members);
    const group = known ?? { id, outcome, step, pieces, count: 0, first: [member] };
    groups.set(key, group);
    group.pieces = group.pieces.map((piece, index) => (piece === pieces[index] ? piece : DIFFERENCE));
    group.count += members;
    if (known && group.first.length < maxFirst) group.first.push(member);
    return group;
  }
}

/** Returns the pieces of a message: every second one is a path or number. */
export function piecesOf(message: string): string[] {
  return message.split(VALUE);
}

/** What ends a path: white space, quotes, brackets and a few marks. */
const NO_END = String.raw`[^\s"'<>()[\]{},;|=@]`;
/** Matches what may differ within a group, or does: paths, names of files, hexadecimal ids, and numbers. */
const VALUE = new RegExp(
  `(${[
    DIFFERENCE,
    // The path or JSON of an input, which may have spaces, and any other path, but no media type.
    `(?<=@:?=?|:=)(?![:=]).{1,300}?(?=: )`,
    String.raw`(?<!${NO_END})(?!(?:application|audio|font|image|model|text|video)/)(?=${NO_END}*[\\/])${NO_END}*(?![.:])${NO_END}`,
    String.raw`(?<![\p{L}\p{N}_.-])[\p{L}\p{N}_.-]+\.[a-z][a-z\d]{1,4}(?![\p{L}\p{N}_.])`,
    String.raw`\b(?=[a-f-]{0,64}\d)[\da-f]{8}[\da-f-]*\b`,
    // A number, but no HTTP status: 404 and 503 are different reasons.
    String.raw`(?<!\d)(?!(?<=^|\(|\bHTTP |\bstatus |\bcode )[45]\d\d(?!\d))\d+(?:[.,:]\d+)*`,
  ].join('|')})`,
  'imu',
);
