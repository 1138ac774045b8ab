/** Images in the words of the contract: its fields and no others. */
export function presentImages(createdSeconds: number, urls: readonly string[]) {
  return { created: createdSeconds, data: urls.map((url) => ({ url })) };
}
