/** docs/bench.md: how to read the table, and the table of the last run that was written. */
import { contentChunks, pacedEveryMs } from './scenarios.ts';

export function page(text: string): string {
  return `# Benchmark

\`npm run bench\` makes the table below in one run of about five minutes, on the loopback address alone; \`-- --quick\`
takes about two and is rougher, \`-- --write\` puts the table here. \`bun bench/profile.ts\` shows where the
gateway's time goes.

- Every subject, the upstream and the load generator are processes of their own. The upstream and the load generator
  use raw sockets and bytes made beforehand, so that they are not what is measured.
- The bare proxy (\`bench/bare-proxy.ts\`) is the least that can be done on Bun: parse, forward, parse, answer; a stream
  is passed on as it is. The gateway is \`tollgate serve\` as it is shipped, with its embedded PostgreSQL, which makes a
  hold before and a settlement after each request.
- Before anything is measured, the bare proxy and the gateway answer at least 30,000 requests and 1,000 streams each, and
  go on until a second of them costs no less than the seconds before: until then the compiler takes more than the requests.
- Subjects take turns, round by round; the figures are medians over the rounds, ratios and differences medians over
  pairs of the same round.
- *CPU µs* is the time of the subject's own process for each request, chunk or pair, by the operating system's count,
  and *PostgreSQL µs* that of its database. The wait between two of them is not in it, so they matter more than what
  is done per second: all processes share the same cores.
- p50 and p99 are of the whole answer for JSON, of the first byte for streams, of a pair for the ledger.
- A stream has ${contentChunks} chunks of content and four more events. Unpaced, the upstream writes the next one in the next turn of
  its event loop, and a subject that is slower gets several in one read; ${pacedEveryMs} ms apart, each travels alone.
- Memory is resident memory with all streams open and dripping, beside what a warm process had before.
- Any status but 200, an error event, a stream without its end or with a wrong number of events is an error, and a run
  with an error is void, as is one whose charges are not as many as the answered requests.

## Last written run

${text}
`;
}
