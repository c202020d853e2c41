/** Flags and the terminal -> how this command talks. */
import type { Context } from '../context.js';
import { Conversation } from '../view/conversation.js';
import { decidePresentation, type PresentationFlags } from '../view/presentation.js';

/** Throws UsageError. */
export function openConversation(flags: PresentationFlags, context: Context): Promise<Conversation> {
  return Conversation.open(decidePresentation(flags, context), context.clock, context.stderr);
}
