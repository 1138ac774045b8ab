/** Pictures from this computer, as texts that fit into a request. */
import type { ImageInput } from './conversation.ts';

export const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
const mostBytes = 5_000_000;
const mostImages = 3;

/** Null for one that can be sent. Together they stay below what the gateway takes as one request. */
export function imageProblem(
  file: Readonly<{ name: string; type: string; size: number }>,
  alreadyChosen: number,
): string | null {
  if (!imageTypes.some((type) => type === file.type))
    return `${file.name} is not a PNG, JPEG, WebP or GIF picture.`;
  if (file.size > mostBytes) return `${file.name} is larger than 5 MB.`;
  return alreadyChosen >= mostImages ? `A message takes at most ${mostImages} pictures here.` : null;
}

export async function readImage(file: File): Promise<ImageInput> {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, url: `${reader.result}` });
    reader.onerror = () => reject(new Error('The picture could not be read.'));
    reader.readAsDataURL(file);
  });
}
