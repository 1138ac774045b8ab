/** What a client that asks for a route that does not exist most likely meant. Pure. */
import { ApiError } from '../errors.ts';

type KnownRoute = Readonly<{ pattern: RegExp; methods: readonly string[] }>;
type Cure = Readonly<{ text: string; docs?: string }>;

/** From a table of methods by path, where `:name` stands for one segment and `*` for all that follow. */
export function knownRoutes(
  table: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): KnownRoute[] {
  return Object.entries(table).map(([path, methods]) => ({
    pattern: new RegExp(
      `^${path
        .split('/')
        .map((step) => (step.startsWith(':') ? '[^/]+' : step === '*' ? '.+' : RegExp.escape(step)))
        .join('/')}$`,
    ),
    methods: Object.keys(methods),
  }));
}

export function missingRoute(method: string, path: string, known: readonly KnownRoute[]): ApiError {
  const cure = cureFor(method, path, known);
  const asked = `${shown(method, maxMethod)} ${shown(path, maxPath)} does not exist`;
  return new ApiError('not_found', {
    message: cure === null || cure.text === '' ? `${asked}.` : `${asked}: ${cure.text}`,
    ...(cure?.docs === undefined ? {} : { docs: cure.docs }),
  });
}

const maxMethod = 20;
const maxPath = 120;

/** Both come from the client. */
function shown(text: string, max: number): string {
  const plain = text.replaceAll(/\p{Cc}/gu, ' ');
  return plain.length > max ? `${plain.slice(0, max).toWellFormed()}…` : plain.toWellFormed();
}

const baseUrl = 'clients#base-url';

function cureFor(method: string, path: string, known: readonly KnownRoute[]): Cure | null {
  const methods = methodsOf(path, known);
  // The route exists, but not what it was asked for.
  if (methods?.includes(method)) return null;
  if (methods !== null) return { text: `use ${methods.join(' or ')}.` };
  if (path.endsWith('/') && methodsOf(path.slice(0, -1), known) !== null)
    return { text: 'leave out the slash at the end.' };
  if (path === '/v1' || path === '/v1/')
    return {
      text: 'this is the base URL of the API, and your client has to add the path, such as /chat/completions.',
      docs: baseUrl,
    };
  if (path.startsWith('/v1/v1/') && methodsOf(path.slice(3), known) !== null)
    return {
      text: `use ${shown(path.slice(3), maxPath)}. Your client adds /v1 itself, so leave it out of the base URL.`,
      docs: baseUrl,
    };
  if (methodsOf(`/v1${path}`, known) !== null)
    return {
      text: `use /v1${shown(path, maxPath)}. In most clients the base URL has to end in /v1.`,
      docs: baseUrl,
    };
  return otherApi(path) ?? (path.startsWith('/v1/') ? { text: '', docs: baseUrl } : null);
}

function methodsOf(path: string, known: readonly KnownRoute[]): readonly string[] | null {
  return known.find(({ pattern }) => pattern.test(path))?.methods ?? null;
}

const chatInstead = 'use POST /v1/chat/completions.';

/** How paths begin in other APIs that clients may be set to use. */
const otherApis: readonly (readonly [start: string, text: string])[] = [
  [
    'responses',
    'nothing is stored here, so no response can be fetched, deleted, cancelled or compacted: send the whole conversation to ' +
      'POST /v1/responses.',
  ],
  ['completions', `the Completions API is not supported: ${chatInstead}`],
  ['messages/batches', 'batches of messages are not supported: use POST /v1/messages for each.'],
  ['embeddings', 'embeddings are not supported.'],
  ['audio', 'audio is not supported.'],
  ['realtime', 'the Realtime API is not supported.'],
  ['moderations', 'moderations are not supported.'],
  ['files', 'the Files API is not supported.'],
  ['batches', 'the Batch API is not supported.'],
  ['assistants', `the Assistants API is not supported: ${chatInstead}`],
  ['threads', `the Assistants API is not supported: ${chatInstead}`],
  ['images/edits', 'only POST /v1/images/generations generates images.'],
  ['images/variations', 'only POST /v1/images/generations generates images.'],
  ['videos', 'videos are listed with their prices, but cannot be generated here.'],
];

function otherApi(path: string): Cure | null {
  const docs = 'clients#other-apis';
  if (/^\/v1beta\//.test(path)) return { text: `Google's API is not supported: ${chatInstead}`, docs };
  if (/^\/api\/(?:chat|generate|tags|show|embed)$/.test(path))
    return { text: `Ollama's API is not supported: ${chatInstead}`, docs };
  const rest = path.replace(/^\/(?:v1\/)?/, '');
  const found = otherApis.find(([start]) => rest === start || rest.startsWith(`${start}/`));
  return found === undefined ? null : { text: found[1], docs };
}
