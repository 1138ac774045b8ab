import { curlOf } from '../../kit/code-samples.ts';

/** The command of the first steps: complete but for the key, which was told only once. */
export function firstRequest(apiOrigin: string, model: string): string {
  return curlOf(apiOrigin, { model, messages: [{ role: 'user', content: 'Say hello.' }] }, 'YOUR_KEY');
}
