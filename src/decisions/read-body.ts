/** The bytes of a request, counted as they come: what a client announces is no promise. */
import { DecisionError } from './errors.ts';

export const mostBodyBytes = 262_144;

export async function readBody(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get('content-length')) > mostBodyBytes)
    throw new DecisionError('request_too_large');
  try {
    return await readCounted(request.body);
  } catch (thrown) {
    if (thrown instanceof DecisionError) throw thrown;
    throw new DecisionError('invalid_json', {
      message: 'The request body could not be read to its end.',
      cause: thrown,
    });
  }
}

/** Leaving the loop cancels the stream, so nothing more of a body that is too large is taken in. */
async function readCounted(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new Bun.ArrayBufferSink();
  sink.start({ asUint8Array: true });
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > mostBodyBytes) throw new DecisionError('request_too_large');
    sink.write(chunk);
  }
  return sink.end() as Uint8Array<ArrayBuffer>;
}
