export type NamedFile = Readonly<{ name: string; bytes: Uint8Array<ArrayBuffer> }>;

/** A file whose name has a hash of its content, so that browsers can keep it forever. */
export async function hashedFile(name: string, path: string): Promise<NamedFile> {
  const bytes = await Bun.file(path).bytes();
  const [stem, ending] = name.split('.');
  return { name: `${stem}-${Bun.hash(bytes).toString(36)}.${ending}`, bytes };
}
