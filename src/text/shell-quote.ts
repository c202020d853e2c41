/** Quotes command lines that users can paste into a shell. */

/** Returns a command line quoted for a POSIX shell; invisible characters use the `$'...'` of bash and zsh. */
export function shellCommand(args: readonly string[]): string {
  return args.map(quote).join(' ');
}

function quote(text: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  // Anything but printable ASCII could affect the terminal that shows it.
  if (/^[\x20-\x7e]+$/.test(text) && !text.includes('##[')) return `'${text.replaceAll("'", "'\\''")}'`;
  const bytes = [...Buffer.from(text)];
  return `$'${bytes.map((byte) => escapeByte(byte)).join('')}'`;
}

function escapeByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9 _@%+=:,./-]/.test(character) ? character : `\\x${byte.toString(16).padStart(2, '0')}`;
}
