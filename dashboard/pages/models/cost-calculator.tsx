/** Calculates the exact cost of using a model. */
import { useState } from 'react';
import { amountOf } from '../../kit/amounts.ts';
import { Button } from '../../kit/button.tsx';
import { Fact, Facts } from '../../kit/card.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Field, Input, Select } from '../../kit/field.tsx';
import { Money } from '../../kit/figures.tsx';
import { PriceView } from './model-card.tsx';
import type { ListedModel, Pricing } from './models.ts';
import { type Band, bandAt, costOfTokens, costOfUnits } from './pricing.ts';

type CostCalculatorProps = Readonly<{ model: ListedModel; onClose: () => void }>;

export function CostCalculator({ model, onClose }: CostCalculatorProps) {
  const { pricing, name } = model;
  return (
    <Dialog
      title={`Cost of ${name}`}
      description="An estimate: requests are charged for what they actually use."
      onClose={onClose}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      {pricing.billing_type === 'token' ? <TokenCosts pricing={pricing} /> : <UnitCosts pricing={pricing} />}
      <PriceView name={name} pricing={pricing} />
    </Dialog>
  );
}

const maxCount = 1_000_000_000_000;

/** Null if it is not a count. Large counts may have spaces or commas between their digits. */
function countIn(text: string): number | null {
  const digits = text.replaceAll(/[\s,_]/g, '');
  return /^\d{1,13}$/.test(digits) && Number(digits) <= maxCount ? Number(digits) : null;
}

type CountFieldProps = Readonly<{ label: string; text: string; onChange: (text: string) => void }>;

function CountField({ label, text, onChange }: CountFieldProps) {
  return (
    <Field label={label} error={countIn(text) === null ? 'Enter a whole number.' : null}>
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

function TokenCosts({ pricing }: Readonly<{ pricing: Pricing }>) {
  const [inputText, setInputText] = useState('10000');
  const [outputText, setOutputText] = useState('1000');
  const [band, setBand] = useState<Band>('now');
  const [now] = useState(() => new Date());
  const inputTokens = countIn(inputText);
  const outputTokens = countIn(outputText);
  const cost =
    inputTokens === null || outputTokens === null
      ? null
      : costOfTokens(pricing, { inputTokens, outputTokens, band, now });
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <CountField label="Input tokens" text={inputText} onChange={setInputText} />
        <CountField label="Output tokens" text={outputText} onChange={setOutputText} />
      </div>
      {pricing.time_bands !== undefined && (
        <Field label="Time of day" hint="The time at which the request is billed counts.">
          <Select
            value={band}
            options={[
              {
                value: 'now',
                label: `Now (${bandLabels[bandAt(pricing.time_bands, 'now', now)].toLowerCase()})`,
              },
              { value: 'peak', label: bandLabels.peak },
              { value: 'off_peak', label: bandLabels.off_peak },
            ]}
            onChange={setBand}
          />
        </Field>
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
      </Facts>
    </>
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
