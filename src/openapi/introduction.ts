/** What applies to every endpoint, in simple Markdown: headings, paragraphs, lists, inline code. */
export const introduction = `
One key, one address, every model: requests are routed to upstream providers and billed to a prepaid balance. The same document for programs is at \`/openapi.json\`.

## Authentication

Send your API key with every request: \`Authorization: Bearer svc_sk_…\`. The examples on this page read it from the environment, as OpenAI's SDKs do: \`export OPENAI_API_KEY=svc_sk_…\`. The SDKs also read \`OPENAI_BASE_URL\`, which is this gateway's address with \`/v1\`. Keys belong on servers, never in browsers or apps. A key sees only the Generations that it made itself. It may be limited to some models, to a number of requests per minute, and to an amount per month.

## Request IDs

Every response has the header \`x-service-request-id\`; \`x-request-id\` has the same value for SDKs that read it. For an inference request it is also the ID of its Generation: \`GET /v1/generations/{request_id}\` returns its outcome and cost. Keep it: it is all that support needs.

## Errors and retries

Every error has the body \`{"error": {"message", "type", "param", "code"}}\`. Depend on the status, \`type\`, \`code\` and \`param\`; \`message\` is for people. Unsupported parameters are rejected by name and never ignored.

- Retry \`429\`, \`502\`, \`503\` and \`504\` with exponential backoff where the table says *yes*, and after the time in \`retry-after\` if there is one.
- \`x-should-retry: false\` means that the same request would fail again, or that you should check the usage first.
- *Conditional* means: look the request up by its ID first, then decide.
- Other errors need a different request.

## Idempotency

A request with the header \`Idempotency-Key\` can be retried without running or being charged twice. Use one key per logical operation, and the same one for each of its retries.

## Whom a request is for

The headers \`x-end-user\` and \`x-tags\` of an inference request are stored with its Generation, so that you can see later what one of your own users or teams did and what it cost. A non-streamed response has its exact cost in the header \`x-service-cost-usd\`.

## Rate limits

Inference requests count against the key's requests per minute; lookups and lists do not. The headers \`x-ratelimit-limit-requests\`, \`x-ratelimit-remaining-requests\` and \`x-ratelimit-reset-requests\` report the current state; \`x-ratelimit-limit-tokens\` and its siblings do so for a limit of tokens per minute, where there is one.
`.trim();
