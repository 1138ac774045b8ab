/** One model: what it costs, how it is called, and how it serves this account. */
import { useParams } from '@tanstack/react-router';
import { ImageIcon, MessageSquareText } from 'lucide-react';
import { useAccount } from '../../api/session.ts';
import { Badge } from '../../kit/badge.tsx';
import { LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { CopyButton } from '../../kit/copy-button.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { ModelMark } from '../../kit/model-mark.tsx';
import { Page } from '../../kit/page.tsx';
import { Loaded, SkeletonLines } from '../../kit/states.tsx';
import { FiguresOverTime, ProblemsByCode, useViewOf } from '../requests/of-one-thing.tsx';
import { ScopeContext, useAccountScope } from '../requests/scope.ts';
import { TopKeys } from '../requests/top-groups.tsx';
import { ByProvider } from './by-provider.tsx';
import { CostCalculator } from './cost-calculator.tsx';
import { ModelCode } from './model-code.tsx';
import { capabilities, capabilityLabels, type ListedModel, useModels } from './models.ts';
import { PriceView } from './price-view.tsx';
import { whyNotCallable } from './why-not-callable.ts';

export function ModelPage() {
  const { id = '' } = useParams({ strict: false });
  const scope = useAccountScope();
  const { role } = useAccount();
  const models = useModels();
  const model = models.data?.data.find((one) => one.id === id);
  const title = model?.name ?? id;
  return (
    <ScopeContext value={scope}>
      <Page
        title={title}
        heading={
          <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
            <span>
              <ModelMark model={id} />
              {title}
            </span>
            {title === id && (
              <span className="-ml-2 inline-flex">
                <CopyButton text={id} label={`Copy model ID ${id}`} />
              </span>
            )}
            {model?.endpoint === null && <Badge tone="warn">Not callable</Badge>}
          </span>
        }
        description={<About id={id} model={model} />}
        back={{ to: '/models', label: 'Models' }}
        actions={
          // What is tried in the playground is paid for by the account.
          model === undefined || model.endpoint === null || role === 'operator' ? undefined : (
            <LinkButton
              icon={model.workload === 'image' ? ImageIcon : MessageSquareText}
              to="/playground"
              search={{ model: id }}
              aria-label={`Try ${title}`}
            >
              Try
            </LinkButton>
          )
        }
      >
        <Loaded
          query={models}
          skeleton={<SkeletonLines count={6} />}
          errorTitle="The model could not be loaded"
        >
          {() => (model === undefined ? <Missing /> : <Offer model={model} />)}
        </Loaded>
        <Service id={id} />
      </Page>
    </ScopeContext>
  );
}

function About({ id, model }: Readonly<{ id: string; model: ListedModel | undefined }>) {
  const { context_window: context = null, max_output_tokens: output = null } = model ?? {};
  const parts: readonly (string | null)[] = [
    model === undefined ? null : model.maker,
    context === null ? null : `${formatCount(context)} tokens of context`,
    output === null ? null : `up to ${formatCount(output)} of output`,
    ...capabilities
      .filter((capability) => model?.capabilities[capability])
      .map((capability) => capabilityLabels[capability].toLowerCase()),
  ];
  const text = parts.filter((part) => part !== null).join(' · ');
  // Many models are called what their ID is, and then the heading has it.
  if (model === undefined || model.name === id) return text;
  return (
    <>
      <code className="font-mono text-xs">{id}</code>
      <CopyButton text={id} label={`Copy model ID ${id}`} />· {text}
    </>
  );
}

function Missing() {
  return (
    <Callout tone="warn" title="This gateway does not offer the model">
      It is not in the catalogue, or none of its providers is configured. What was sent to it is shown below.
    </Callout>
  );
}

function Offer({ model }: Readonly<{ model: ListedModel }>) {
  return (
    <>
      {model.endpoint === null && <Callout tone="warn">{whyNotCallable(model)}</Callout>}
      <div className="grid items-start gap-8 lg:grid-cols-2">
        <div className="min-w-0 space-y-8">
          {/* As high as the head beside it, so that both rules are one. */}
          <Card title="Prices" className="lg:[&>header]:min-h-[2.5625rem]">
            <PriceView name={model.name} pricing={model.pricing} />
          </Card>
          <Card title="Calculator" description="An estimate: requests are charged for what they use">
            <CostCalculator model={model} />
          </Card>
        </div>
        {model.endpoint !== null && <ModelCode model={model} />}
      </div>
    </>
  );
}

/** Of the requests of this account. */
function Service({ id }: Readonly<{ id: string }>) {
  const view = useViewOf({ name: 'model', value: id });
  return (
    <>
      <FiguresOverTime view={view} />
      <ByProvider view={view} />
      <ProblemsByCode
        view={view}
        placeLink={(place) => (place === 'billing' || place === 'limits' ? { to: `/${place}` } : null)}
      />
      <TopKeys view={view} />
    </>
  );
}
