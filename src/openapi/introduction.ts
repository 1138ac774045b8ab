/** What holds for every endpoint, in Markdown of the plainest kind: headings, paragraphs, lists, inline code. */
export const introduction = `
One key, one address, every model: requests are routed to upstream providers and billed to a prepaid balance. The same document for programs is at \`/openapi.json\`.

## Authentication

Send your API key with every request: \`Authorization: Bearer svc_sk_…\`. The examples on this page take it from the shell: \`export API_KEY=svc_sk_…\`. Keys belong on servers, never in browsers or apps. A key sees only the Generations that it made itself. It may be limited to some models, to requests per minute, and to an amount a month.

## Request IDs

Every answer has the header \`x-service-request-id\`; \`x-request-id\` holds the same for SDKs that read it. For an inference request it is also the ID of its Generation, under which \`GET /v1/generations/{request_id}\` tells what became of it and what it cost. Keep it: it is all that support needs.

## Errors and retries

Every refusal and failure has the body \`{"error": {"message", "type", "param", "code"}}\`. Depend on the status, \`type\`, \`code\` and \`param\`; \`message\` is for people. Parameters that are not supported are refused by name and never ignored.

- Retry \`429\`, \`502\`, \`503\` and \`504\` with growing pauses where the table says *yes*, and after the time in \`retry-after\` if there is one.
- \`x-should-retry: false\` says that the same request would fail again, or that usage should be looked at first.
- *Conditional* means: look the request up by its ID first, then decide.
- Other errors need a different request.

## Idempotency

A request with the header \`Idempotency-Key\` can be repeated without being carried out or charged twice. Use one key for each logical operation, and the same one for each retry of it.

## Rate limits

Inference requests count against the key's requests per minute; lookups and lists do not. The headers \`x-ratelimit-limit-requests\`, \`x-ratelimit-remaining-requests\` and \`x-ratelimit-reset-requests\` say where you stand.
`.trim();
