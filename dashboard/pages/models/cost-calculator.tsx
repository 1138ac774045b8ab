/** Calculates the exact cost of using a model. */
import { useState } from 'react';
import { amountOf } from '../../kit/amounts.ts';
import { Fact, Facts } from '../../kit/card.tsx';
import { Field, Input, Select } from '../../kit/field.tsx';
import { Money } from '../../kit/figures.tsx';
import type { ListedModel, Pricing } from './models.ts';
import {
  type Band,
  bandAt,
  type CachedTokens,
  type CacheMeter,
  cachedTokensOf,
  cacheMeters,
  costOfTokens,
  costOfUnits,
  pricedCacheMeters,
} from './pricing.ts';

export function CostCalculator({ model: { pricing } }: Readonly<{ model: ListedModel }>) {
  return (
    <div className="space-y-4">
      {pricing.billing_type === 'token' ? <TokenCosts pricing={pricing} /> : <UnitCosts pricing={pricing} />}
    </div>
  );
}

const maxCount = 1_000_000_000_000;

/** Null if it is not a count. Large counts may have spaces or commas between their digits. */
function countIn(text: string): number | null {
  const digits = text.replaceAll(/[\s,_]/g, '');
  return /^\d{1,13}$/.test(digits) && Number(digits) <= maxCount ? Number(digits) : null;
}

type CountFieldProps = Readonly<{
  label: string;
  text: string;
  /** What is wrong with a count that is one. */
  error?: string | null;
  onChange: (text: string) => void;
}>;

function CountField({ label, text, error = null, onChange }: CountFieldProps) {
  return (
    <Field label={label} error={countIn(text) === null ? 'Enter a whole number.' : error}>
      <Input
        inputMode="numeric"
        autoComplete="off"
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

const bandLabels = { peak: 'Peak', off_peak: 'Off-peak' } as const;
const cachedLabels: Readonly<Record<CacheMeter, string>> = {
  cache_read: 'Of the input, read from a cache',
  cache_write: 'Of the input, written to a cache',
  cache_write_long: 'Of the input, written to be kept longer',
};

/** Null if one of them is not a count. */
function cachedIn(texts: Readonly<Record<CacheMeter, string>>): CachedTokens | null {
  const counts = cacheMeters.map((meter) => [meter, countIn(texts[meter])] as const);
  if (counts.some(([, count]) => count === null)) return null;
  return Object.fromEntries(counts) as CachedTokens;
}

function TokenCosts({ pricing }: Readonly<{ pricing: Pricing }>) {
  const [inputText, setInputText] = useState('10000');
  const [outputText, setOutputText] = useState('1000');
  const [cachedTexts, setCachedTexts] = useState({
    cache_read: '0',
    cache_write: '0',
    cache_write_long: '0',
  });
  const [band, setBand] = useState<Band>('now');
  const [now] = useState(() => new Date());
  const meters = pricedCacheMeters(pricing);
  const inputTokens = countIn(inputText);
  const outputTokens = countIn(outputText);
  const cached = cachedIn(cachedTexts);
  const isTooMuch = cached !== null && inputTokens !== null && cachedTokensOf(cached) > inputTokens;
  const cost =
    inputTokens === null || outputTokens === null || cached === null || isTooMuch
      ? null
      : costOfTokens(pricing, { inputTokens, cached, outputTokens, band, now });
  return (
    <>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <CountField label="Input tokens" text={inputText} onChange={setInputText} />
        <CountField label="Output tokens" text={outputText} onChange={setOutputText} />
        {meters.map((meter) => (
          <CountField
            key={meter}
            label={cachedLabels[meter]}
            text={cachedTexts[meter]}
            error={isTooMuch && cachedTexts[meter] !== '0' ? 'More than the input tokens.' : null}
            onChange={(text) => setCachedTexts({ ...cachedTexts, [meter]: text })}
          />
        ))}
      </div>
      {pricing.time_bands !== undefined && (
        <BandField bands={pricing.time_bands} band={band} now={now} onChange={setBand} />
      )}
      <Facts>
        <Fact name="Input">
          <Exact units={cost?.input} />
        </Fact>
        <Fact name="Output">
          <Exact units={cost?.output} />
        </Fact>
        <Fact name="Total">
          <span data-testid="total" className="font-semibold">
            <Exact units={cost?.total} />
          </span>
        </Fact>
        {meters.length > 0 && (
          <Fact name="Saved by caches">
            <Exact units={cost?.saved} />
          </Fact>
        )}
      </Facts>
    </>
  );
}

type BandFieldProps = Readonly<{
  bands: NonNullable<Pricing['time_bands']>;
  band: Band;
  now: Date;
  onChange: (band: Band) => void;
}>;

function BandField({ bands, band, now, onChange }: BandFieldProps) {
  return (
    <Field label="Time of day" hint="The time at which the request is billed counts.">
      <Select
        value={band}
        options={[
          { value: 'now', label: `Now (${bandLabels[bandAt(bands, 'now', now)].toLowerCase()})` },
          { value: 'peak', label: bandLabels.peak },
          { value: 'off_peak', label: bandLabels.off_peak },
        ]}
        onChange={onChange}
      />
    </Field>
  );
}

function UnitCosts({ pricing }: Readonly<{ pricing: Pricing }>) {
  const tiers = Object.keys(pricing.tier_rates ?? {});
  const [countText, setCountText] = useState('1');
  const [tier, setTier] = useState(tiers[0] ?? null);
  const count = countIn(countText);
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <CountField
          label={pricing.billing_type === 'image' ? 'Images' : 'Seconds'}
          text={countText}
          onChange={setCountText}
        />
        {tier !== null && (
          <Field label="Size">
            <Select
              value={tier}
              options={tiers.map((name) => ({ value: name, label: name }))}
              onChange={setTier}
            />
          </Field>
        )}
      </div>
      <Facts>
        <Fact name="Total">
          <span data-testid="total" className="font-semibold">
            <Exact units={count === null ? undefined : costOfUnits(pricing, count, tier)} />
          </span>
        </Fact>
      </Facts>
    </>
  );
}

function Exact({ units }: Readonly<{ units: bigint | undefined }>) {
  return <Money amount={units === undefined ? null : amountOf(units)} isExact />;
}
