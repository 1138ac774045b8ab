import { Money } from '../../kit/figures.tsx';
import type { Pricing } from './models.ts';
import { priceTableOf } from './pricing.ts';

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
