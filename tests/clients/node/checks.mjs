/** What the scripts share: one line of JSON per check, as scripts/test-clients.ts reads it. */
export const {
  OPENAI_BASE_URL: baseURL,
  OPENAI_API_KEY: apiKey,
  MODEL,
  IMAGE_MODEL,
  MESSAGES_MODEL,
  RESPONSES_MODEL,
} = process.env;
export const hello = 'Hello';
/** The sandbox calls a tool when it is told to. */
export const weather = '[[tool get_weather]] How is the weather in Oslo?';
export const twoTools = '[[tools 2]] How is the weather in Oslo, and what time is it?';
export const reasonedWeather = `[[reasoning 20]] ${weather}`;
/** The check that scripts/test-clients.ts confirms with what the provider got. */
export const replay = 'reasoning sent back';
export const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** `run` returns when the client got what it asked for. A name that is no column is listed below the matrix. */
export async function check(name, run) {
  try {
    await run();
    report(name, { outcome: 'works' });
  } catch (error) {
    report(name, described(error));
  }
}

export function notOffered(...names) {
  for (const name of names) report(name, { outcome: 'not offered' });
}

export function expect(text, part) {
  if (!String(text).includes(part)) throw new Error(`expected ${part} in ${text}`);
}

/** The client has to throw an error from which its user learns the code. */
export async function expectError(run, code) {
  const error = await run().then(
    () => new Error('no error was thrown'),
    (thrown) => thrown,
  );
  if (described(error).code !== code) throw new Error(`expected ${code}, got ${error}`);
}

function report(name, fields) {
  process.stdout.write(`${JSON.stringify({ check: name, ...fields })}\n`);
}

/** For what this setup cannot show, whatever the gateway does. */
export class Untested extends Error {}

function bodyOf(error) {
  // The AI SDK keeps only what it knows of an error in Anthropic's format, and the whole of it as text.
  if (error.responseBody?.startsWith('{"type":"error"')) return JSON.parse(error.responseBody).error;
  return error.error?.error ?? error.error ?? error.data?.error ?? error;
}

/** The gateway's error inside whatever a framework wrapped it in. */
function described(thrown) {
  if (thrown instanceof Untested) return { outcome: 'untested', detail: thrown.message };
  for (let error = thrown; error; error = error.cause ?? error.lastError) {
    const body = bodyOf(error);
    const detail = String(error.message ?? error).slice(0, 300);
    if (/^[a-z]+(_[a-z]+)+$/.test(body.code ?? ''))
      return { outcome: 'refused', code: body.code, param: body.param ?? null, detail };
  }
  return { outcome: 'failed', detail: String(thrown?.stack ?? thrown).slice(0, 500) };
}
