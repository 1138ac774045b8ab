import { Calculator, ImageIcon, MessageSquareText } from 'lucide-react';
import { Badge } from '../../kit/badge.tsx';
import { Button, LinkButton } from '../../kit/button.tsx';
import { CopyButton } from '../../kit/copy-button.tsx';
import { Money } from '../../kit/figures.tsx';
import { formatCount, formatCountShort } from '../../kit/format-figures.ts';
import { ModelMark } from '../../kit/model-mark.tsx';
import { capabilities, capabilityLabels, type ListedModel, type Pricing } from './models.ts';
import { priceTableOf } from './pricing.ts';

type ModelCardProps = Readonly<{ model: ListedModel; onCalculate: () => void }>;

export function ModelCard({ model, onCalculate }: ModelCardProps) {
  const { id, name, maker, workload, endpoint, context_window: context, max_output_tokens: output } = model;
  const shown = capabilities.filter((capability) => model.capabilities[capability]);
  return (
    <article className="flex min-w-0 flex-col gap-3 rounded-md border border-line p-4">
      <header className="flex items-start justify-between gap-3">
        <div className="min-w-0">
          <h2 className="font-semibold wrap-anywhere">
            <ModelMark model={id} />
            {name}
          </h2>
          <p className="flex min-w-0 items-center gap-1 text-xs text-ink-faint">
            <code className="font-mono wrap-anywhere">{id}</code>
            <CopyButton text={id} label={`Copy model ID ${id}`} />
          </p>
        </div>
        <span className="flex flex-wrap justify-end gap-1.5">
          {endpoint === null && <Badge tone="warn">Not callable</Badge>}
          <Badge tone="accent">{workload}</Badge>
        </span>
      </header>
      {shown.length > 0 && (
        <p className="flex flex-wrap gap-1.5">
          {shown.map((capability) => (
            <Badge key={capability}>{capabilityLabels[capability]}</Badge>
          ))}
        </p>
      )}
      <dl className="grid grid-cols-3 gap-3 text-[0.8125rem]">
        <Figure name="Maker">{maker}</Figure>
        {context !== null && <Figure name="Context">{tokensOf(context)}</Figure>}
        {output !== null && <Figure name="Max output">{tokensOf(output)}</Figure>}
      </dl>
      <PriceView name={name} pricing={model.pricing} />
      {endpoint === null ? (
        <p className="mt-auto pt-1 text-xs text-ink-soft">{whyNotCallable(model)}</p>
      ) : (
        <CallableFooter model={model} endpoint={endpoint} onCalculate={onCalculate} />
      )}
    </article>
  );
}

export function whyNotCallable({ workload }: Pick<ListedModel, 'workload'>): string {
  return workload === 'video'
    ? 'This gateway has no endpoint for video yet. The model is listed for its price.'
    : 'None of its providers can serve it on this gateway. The operator has to change the catalogue.';
}

type CallableFooterProps = ModelCardProps & Readonly<{ endpoint: string }>;

function CallableFooter({ model: { id, name, workload }, endpoint, onCalculate }: CallableFooterProps) {
  return (
    <>
      <p className="text-xs text-ink-faint">
        Endpoint: <code className="font-mono wrap-anywhere">POST {endpoint}</code>
      </p>
      <footer className="mt-auto flex flex-wrap gap-2 pt-1">
        <Button
          size="small"
          icon={Calculator}
          onClick={onCalculate}
          aria-label={`Calculate the cost of ${name}`}
        >
          Calculate
        </Button>
        <LinkButton
          size="small"
          icon={workload === 'image' ? ImageIcon : MessageSquareText}
          to="/playground"
          search={{ model: id }}
          aria-label={`Try ${name}`}
        >
          Try
        </LinkButton>
      </footer>
    </>
  );
}

function Figure({ name, children }: Readonly<{ name: string; children: React.ReactNode }>) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-ink-faint">{name}</dt>
      <dd className="figures truncate">{children}</dd>
    </div>
  );
}

function tokensOf(count: number) {
  return <span title={`${formatCount(count)} tokens`}>{formatCountShort(count)}</span>;
}

const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The prices of a model with all tiers or hours, and with every digit: rates are not rounded. */
export function PriceView({ name, pricing }: Readonly<{ name: string; pricing: Pricing }>) {
  const { unit, lines } = priceTableOf(pricing, viewerZone, new Date());
  const hasTwo = lines.some(({ output }) => output !== null);
  return (
    <div>
      <table className="w-full text-left text-[0.8125rem]">
        <caption className="sr-only">{`Prices of ${name}`}</caption>
        <thead>
          <tr className="text-xs text-ink-faint">
            <th scope="col" className="py-1 pr-3 font-normal">
              {`USD ${unit}`}
            </th>
            <th scope="col" className="py-1 text-right font-normal">
              {hasTwo ? 'Input' : 'Price'}
            </th>
            {hasTwo && (
              <th scope="col" className="py-1 pl-4 text-right font-normal">
                Output
              </th>
            )}
          </tr>
        </thead>
        {lines.map(({ label, hint, input, output, cached }) => (
          <tbody key={label} className="border-t border-line">
            <tr className="align-baseline">
              <th scope="row" className="py-1.5 pr-3 font-normal">
                {label}
                {hint !== undefined && <span className="block text-xs text-ink-faint">{hint}</span>}
              </th>
              <td className="py-1.5 text-right">
                <Money amount={input} isExact className="font-medium" />
              </td>
              {hasTwo && (
                <td className="py-1.5 pl-4 text-right">
                  <Money amount={output} isExact className="font-medium" />
                </td>
              )}
            </tr>
            {cached.map(({ label: meter, price }) => (
              <tr key={meter} className="align-baseline text-xs text-ink-soft">
                <th scope="row" className="pr-3 pb-1.5 pl-3 font-normal">
                  {meter}
                </th>
                <td className="pb-1.5 text-right">
                  <Money amount={price} isExact />
                </td>
                {hasTwo && <td />}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
      <p className="mt-1.5 text-xs text-ink-faint">
        {[`Price list ${pricing.price_version}`, pricing.region, pricing.note].filter(Boolean).join(' · ')}
      </p>
    </div>
  );
}
