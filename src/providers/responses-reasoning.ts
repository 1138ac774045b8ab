/**
 * Reasoning in the Responses format: what a model thought comes as an item with an ID and opaque content. The vendor checks
 * that both belong together, so a signature is the two of them.
 */
import type { Signature } from './chat.ts';
import { arrayAt, type Fields, isObject, parseJson } from './wire.ts';

type Signed = Readonly<{ id: string; encrypted_content: string }>;

/** Null for an item that cannot be sent back: without its content, the vendor would look for it among what it stored. */
export function reasoningSignature(item: Fields, maker: string | undefined): Signature | null {
  const { id, encrypted_content: content } = item;
  if (typeof id !== 'string' || typeof content !== 'string' || content === '') return null;
  return { value: JSON.stringify([id, content]), madeBy: maker ?? '' };
}

/** Null for a signature that was not made above. */
export function readReasoningSignature({ value }: Signature): Signed | null {
  try {
    const [id, content] = parseJson(value) as unknown[];
    return typeof id === 'string' && typeof content === 'string' ? { id, encrypted_content: content } : null;
  } catch {
    return null;
  }
}

/** What separates the parts of a summary. */
export const betweenParts = '\n\n';

/** What an item shows: a summary, or with open models what was thought. */
export function reasoningText(item: Fields): string {
  const summary = textsIn(item, 'summary');
  return (summary.length > 0 ? summary : textsIn(item, 'content')).join(betweenParts);
}

function textsIn(item: Fields, name: string): readonly string[] {
  return arrayAt(item, name).flatMap((part) =>
    isObject(part) && typeof part.text === 'string' ? [part.text] : [],
  );
}
