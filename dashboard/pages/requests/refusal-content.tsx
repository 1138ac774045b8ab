/** A request that was refused: what was needed, what was there, and the one thing to do. */
import type { Refusal } from '../../../src/console/request-contract.ts';
import { AnchorButton, LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { accountLink, type Destination, keyLink } from '../../links.ts';
import { AttributionFacts } from './attribution.tsx';
import { labelOfApi } from './filters.ts';
import { RawJson, WhoseFacts } from './generation-content.tsx';
import { type ExplainedRefusal, explainRefusal, type Place } from './refusal-fixes.ts';

export function RefusalContent({ refusal }: Readonly<{ refusal: Refusal }>) {
  const explained = explainRefusal(refusal);
  const { what, figures, todo } = explained;
  return (
    <div className="@container space-y-6 [&>:not(:first-child)]:max-w-3xl">
      <Callout
        tone="warn"
        title={what}
        actions={<FixLinks explained={explained} account={refusal.account} refusal={refusal} />}
      >
        <p>
          {figures !== null && <span className="figures font-medium text-ink">{figures}: </span>}
          {figures === null ? todo : lowerFirst(todo)}
        </p>
        <p className="mt-1 text-xs">
          Code <code className="font-mono">{refusal.error_code}</code>. It cost nothing.
        </p>
      </Callout>
      <RefusalCard refusal={refusal} />
      <RawJson label="Refusal as JSON" value={refusal} />
    </div>
  );
}

function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

type FixLinksProps = Readonly<{
  explained: ExplainedRefusal;
  /** For operators, who make changes on the page of the account. */
  account: Refusal['account'];
  refusal: Refusal;
}>;

const placeNames: Readonly<Record<Exclude<Place, 'docs'>, string>> = {
  billing: 'Go to billing',
  key: 'Go to the key',
  limits: 'Go to limits',
  models: 'See the models',
};

function FixLinks({ explained: { place, docs }, account, refusal }: FixLinksProps) {
  return (
    <>
      {account !== undefined ? (
        <LinkButton {...accountLink(account.id)} size="small">
          Go to the account
        </LinkButton>
      ) : (
        place !== 'docs' && (
          <LinkButton {...destinationOf(place, refusal)} size="small">
            {placeNames[place]}
          </LinkButton>
        )
      )}
      <AnchorButton href={`/docs/${docs}`} size="small">
        Read the docs
      </AnchorButton>
    </>
  );
}

function destinationOf(place: Exclude<Place, 'docs'>, { key }: Refusal): Destination {
  if (place === 'key') return keyLink(key.id);
  return { to: `/${place}` };
}

function RefusalCard({ refusal }: Readonly<{ refusal: Refusal }>) {
  const { api, attribution, param, retry_after_seconds: seconds, shortage } = refusal;
  return (
    <Card title="Request">
      <Facts>
        <WhoseFacts request={refusal} />
        {api !== null && <Fact name="API">{labelOfApi(api)}</Fact>}
        {attribution !== null && <AttributionFacts attribution={attribution} account={refusal.account} />}
        <Fact name="Refused">
          <Time at={refusal.at} style="exact" />
        </Fact>
        <Fact name="HTTP status">{refusal.http_status}</Fact>
        <Fact name="Message" isProse>
          {refusal.message}
        </Fact>
        {param !== null && (
          <Fact name="Parameter">
            <code className="font-mono text-[0.8125rem]">{param}</code>
          </Fact>
        )}
        {shortage?.fitting_max_tokens != null && (
          <Fact name="Output that would have fitted">{formatCount(shortage.fitting_max_tokens)} tokens</Fact>
        )}
        {seconds !== null && <Fact name="Try again after">{formatCount(seconds)} s</Fact>}
      </Facts>
    </Card>
  );
}
