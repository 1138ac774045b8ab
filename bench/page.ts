/** docs/bench.md: how to read the table, and the table of the last recorded run. */
import { contentChunks, pacedEveryMs } from './scenarios.ts';

export function page(text: string): string {
  return `# Benchmark

\`npm run bench\` produces the table below in one run of about five minutes, on the loopback interface only;
\`-- --quick\` takes about two and is less precise, \`-- --write\` writes the table here. \`bun bench/profile.ts\` shows
where the gateway's time goes.

- Every subject, the upstream and the load generator run in separate processes. The upstream and the load generator use
  raw sockets and prepared bytes, so that they do not dominate the measurement.
- The bare proxy (\`bench/bare-proxy.ts\`) is the minimum that can be done on Bun: parse, forward, parse, respond; a
  stream is passed on as it is. The gateway is \`tollgate serve\` as shipped, with its embedded PostgreSQL, with a hold
  before and a settlement after each request.
- Before anything is measured, the bare proxy and the gateway serve at least 30,000 requests and 1,000 streams each, and
  continue until a second of them costs no less than the seconds before: until then the JIT takes more time than the
  requests.
- Subjects take turns, round by round; figures are medians over the rounds, ratios and differences are medians over pairs
  of the same round.
- *CPU µs* is the time of the subject's own process per request, chunk or pair, as counted by the operating system, and
  *PostgreSQL µs* that of its database. They exclude waiting, so they say more than the rate per second: all processes
  share the same cores.
- p50 and p99 are latencies of the complete response for JSON, of the first byte for streams, of a pair for the ledger.
- A stream has ${contentChunks} chunks of content and four more events. Unpaced, the upstream writes the next one in the next turn of
  its event loop, and a slower subject gets several in one read; ${pacedEveryMs} ms apart, each arrives alone.
- Memory is resident memory with all streams open and dripping, compared with the warm, idle process.
- Any status other than 200, an error event, a stream without its end or with a wrong number of events is an error. A run
  with an error is void, as is one whose number of charges differs from the number of completed requests.

## Last recorded run

${text}
`;
}
