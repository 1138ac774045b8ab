/**
 * A body, counted as it comes: what a client announces is no promise. Leaving the loop cancels the stream, so nothing more
 * of a body that is too large is taken in.
 */
export async function readCounted(
  body: ReadableStream<Uint8Array> | null,
  mostBytes: number,
  tooLarge: () => Error,
): Promise<Uint8Array<ArrayBuffer>> {
  // One growing buffer, because a body that comes byte by byte would cost a hundredfold as a list of chunks.
  const sink = new Bun.ArrayBufferSink();
  sink.start({ asUint8Array: true });
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > mostBytes) throw tooLarge();
    sink.write(chunk);
  }
  return sink.end() as Uint8Array<ArrayBuffer>;
}
