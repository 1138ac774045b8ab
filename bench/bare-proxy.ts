/** The least a proxy can do on Bun: parse, forward, parse, answer. The gateway's cost is given as a multiple of this. */
import { answerParent } from './child.ts';

const [port, upstreamPort] = process.argv.slice(2).map(Number);
const upstream = `http://127.0.0.1:${upstreamPort}/v1/chat/completions`;

async function forward(request: Request): Promise<Response> {
  const body = (await request.json()) as { stream?: boolean };
  const answer = await fetch(upstream, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: request.headers.get('authorization') ?? '',
    },
    body: JSON.stringify(body),
  });
  if (body.stream === true) {
    return new Response(answer.body, {
      status: answer.status,
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    });
  }
  return Response.json(await answer.json(), { status: answer.status });
}

Bun.serve({
  hostname: '127.0.0.1',
  port: port ?? 0,
  reusePort: false,
  idleTimeout: 120,
  development: false,
  routes: { '/v1/chat/completions': { POST: forward } },
  fetch: () => new Response(null, { status: 404 }),
});

answerParent(() => 'running');
