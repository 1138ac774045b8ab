/** What one client asks for next: a pure choice by chance, the same for the same seed. */
import { fallbackModel, networkModel, networkOnlyModel, plainModel, stubbornModel } from './catalog.ts';
import type { Random } from './random.ts';
import type { Tenant } from './tenants.ts';

export type RequestPlan = Readonly<{
  token: string;
  /** What is special about it, for the report. */
  kind: string;
  tenant: Tenant;
  streaming: boolean;
  /** Null: it stays to the end. */
  abortAfterMs: number | null;
  /** What the provider was told to say, so that the client knows its own answer. */
  answer: string;
  body: object;
}>;

type Fault = Readonly<{ kind: string; directives: string }>;

const faults: readonly [Fault, ...Fault[]] = [
  { kind: 'status', directives: '[[status 500]]' },
  { kind: 'status', directives: '[[status 429]]' },
  { kind: 'status', directives: '[[status 400]]' },
  { kind: 'cut', directives: '[[cut 3]]' },
  { kind: 'end', directives: '[[end 3]]' },
  { kind: 'no-usage', directives: '[[no-usage]]' },
  { kind: 'malformed', directives: '[[malformed 3]]' },
  { kind: 'close', directives: '[[close]]' },
  { kind: 'empty', directives: '[[empty]]' },
];

const outputLimit = 100;
const longWords = 50;

export function planRequest(token: string, random: Random): RequestPlan {
  const tenant = random.pick<Tenant>(['rich', 'rich', 'rich', 'rich', 'rich', 'rich', 'poor', 'limited']);
  const streaming = random.happens(0.5);
  const { kind, directives, words } = chooseKind(tenant, random);
  const answer = `${token}${' word'.repeat(words)}`;
  return {
    token,
    kind,
    tenant,
    streaming,
    abortAfterMs: random.happens(0.12) ? random.between(1, random.pick([20, 100, 600])) : null,
    answer,
    body: {
      model: chooseModel(random),
      messages: [{ role: 'user', content: `Tell me. [[say ${answer}]] ${directives}` }],
      // Without a limit the hold is far more than the small tenants have.
      ...(tenant !== 'rich' || random.happens(0.5) ? { max_tokens: outputLimit } : {}),
      ...(streaming ? { stream: true } : {}),
      ...(streaming && random.happens(0.5) ? { stream_options: { include_usage: true } } : {}),
    },
  };
}

function chooseModel(random: Random): string {
  const chance = random.next();
  if (chance < 0.1) return fallbackModel;
  if (chance < 0.2) return networkModel;
  if (chance < 0.3) return networkOnlyModel;
  if (chance < 0.45) return stubbornModel;
  return plainModel;
}

function chooseKind(tenant: Tenant, random: Random): Fault & { words: number } {
  // More than the hold was made for: only a balance can be overdrawn, so it is tried where there is little of it.
  if (tenant === 'poor' && random.happens(0.2))
    return { kind: 'overrun', directives: '[[usage 20 1500]]', words: 5 };
  const chance = random.next();
  if (chance < 0.2) return { ...random.pick(faults), words: 10 };
  if (chance < 0.3) return { kind: 'delay', directives: '[[delay 200]]', words: 5 };
  if (chance < 0.38) return { kind: 'long', directives: '[[chunk-delay 20]]', words: longWords };
  return { kind: 'plain', directives: '', words: random.between(1, 12) };
}
