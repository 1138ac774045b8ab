import type { Demo, DemoSignIn } from '../demo.ts';

/** What a person sees after `npm start`. `hasSandbox` is whether the catalogue has the sandbox's chat model. */
export function showWelcome(origin: string, demo: Demo | null, hasSandbox: boolean): void {
  process.stdout.write(formatWelcome(origin, demo, hasSandbox));
}

export function formatWelcome(origin: string, demo: Demo | null, hasSandbox: boolean): string {
  const lines = ['', 'Tollgate is running.', '', `Dashboard: ${origin}`];
  if (demo !== null) lines.push(...describeDemo(origin, demo, hasSandbox));
  return `${lines.join('\n')}\n\n`;
}

function describeDemo(origin: string, { accountId, key, signIn }: Demo, hasSandbox: boolean): string[] {
  return [
    ...(signIn === null ? [] : describeSignIn(signIn)),
    ...(key === null ? describeRevoked(origin, accountId) : describeCalls(origin, key, hasSandbox)),
  ];
}

function describeRevoked(origin: string, accountId: string): string[] {
  return [
    `API:       ${origin}/v1`,
    '  The demo key is revoked.',
    `  For a new one: npx tollgate key create --account ${accountId}`,
  ];
}

function describeSignIn({ email, password }: DemoSignIn): string[] {
  if (password === null)
    return [
      `  E-mail:   ${email}`,
      '  The password from the first start still works, unless you have changed it.',
      `  For a new one: npx tollgate user reset-link ${email}`,
    ];
  return [`  E-mail:   ${email}`, `  Password: ${password}   (shown only once)`];
}

/** The model of the shipped catalogue that works without a provider key. */
export const sandboxChat = 'sandbox-chat';

const tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

/** The first command works by itself; the others use the variables. */
function describeCalls(origin: string, key: string, hasSandbox: boolean): string[] {
  const access = { baseUrl: `${origin}/v1`, key };
  const hello = hasSandbox
    ? chatCurl(access, 'Hello')
    : `curl ${access.baseUrl}/models ${authorization(key)}`;
  return [
    '',
    'Call it from another terminal. OpenAI’s SDKs and most commands below read these variables:',
    '',
    `  export OPENAI_BASE_URL=${origin}/v1`,
    `  export OPENAI_API_KEY=${key}`,
    '',
    `  ${hello}`,
    ...(hasSandbox ? describeTricks() : []),
  ];
}

function describeTricks(): string[] {
  const trick = (title: string, content: string, more = {}) => [
    '',
    `  # ${title}`,
    `  ${chatCurl(fromVariables, content, more)}`,
  ];
  return [
    '',
    'The sandbox model obeys directives in [[…]]. Every request is listed in the dashboard, under Generations; open it for details.',
    ...trick('a tool call', 'What is the weather? [[tool get_weather]]', { tools: [tool] }),
    ...trick('a failure: every provider answers 503, and the gateway returns 502', 'Fail. [[status 503]]'),
    ...trick('a fallback: one provider fails, the next one answers', 'Fail over. [[fail-first 503]]'),
  ];
}

const fromVariables = { baseUrl: '$OPENAI_BASE_URL', key: '$OPENAI_API_KEY' };

function authorization(key: string): string {
  return `-H "Authorization: Bearer ${key}"`;
}

function chatCurl({ baseUrl, key }: typeof fromVariables, content: string, more = {}): string {
  const body = JSON.stringify({ model: sandboxChat, messages: [{ role: 'user', content }], ...more });
  return `curl ${baseUrl}/chat/completions ${authorization(key)} -H "Content-Type: application/json" -d '${body}'`;
}
