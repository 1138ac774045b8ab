/** The settings that are sent with the conversation. */
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Field, Input, Select, TextArea } from '../../kit/field.tsx';
import type { ListedModel } from '../models/models.ts';
import {
  exampleTools,
  type ParameterForm,
  parseParameters,
  parseTools,
  responseFormats,
} from './settings.ts';

export type Settings = Readonly<{ system: string; parameters: ParameterForm; tools: string }>;

type SettingsPanelProps = Readonly<{
  settings: Settings;
  onChange: (settings: Settings) => void;
  model: ListedModel | undefined;
}>;

export function SettingsPanel({ settings, onChange, model }: SettingsPanelProps) {
  const change = (part: Partial<Settings>) => onChange({ ...settings, ...part });
  return (
    <Card title="Settings">
      <div className="space-y-5">
        <Field label="System message" isOptional>
          <TextArea
            rows={3}
            placeholder="How the model should behave."
            value={settings.system}
            onChange={(event) => change({ system: event.target.value })}
          />
        </Field>
        <ParameterFields
          form={settings.parameters}
          onChange={(parameters) => change({ parameters })}
          hasFormats={model?.capabilities.structured_output ?? true}
        />
        <ToolsField
          text={settings.tools}
          onChange={(tools) => change({ tools })}
          isSupported={model?.capabilities.function_calling ?? true}
        />
      </div>
    </Card>
  );
}

const numberFields = [
  { name: 'temperature', field: 'temperature', label: 'Temperature', placeholder: '0 to 2' },
  { name: 'max_tokens', field: 'maxTokens', label: 'Max tokens', placeholder: 'Default' },
  { name: 'top_p', field: 'topP', label: 'Top p', placeholder: '0 to 1' },
  { name: 'seed', field: 'seed', label: 'Seed', placeholder: 'None' },
] as const;

type ParameterFieldsProps = Readonly<{
  form: ParameterForm;
  onChange: (form: ParameterForm) => void;
  hasFormats: boolean;
}>;

function ParameterFields({ form, onChange, hasFormats }: ParameterFieldsProps) {
  const { problems } = parseParameters(form);
  const format = hasFormats ? form.responseFormat : 'text';
  return (
    <>
      <div className="grid grid-cols-2 gap-3">
        {numberFields.map(({ name, field, label, placeholder }) => (
          <Field key={name} label={label} error={problems[name]}>
            <Input
              inputMode="decimal"
              autoComplete="off"
              placeholder={placeholder}
              value={form[field]}
              onChange={(event) => onChange({ ...form, [field]: event.target.value })}
            />
          </Field>
        ))}
      </div>
      <Field label="Response format" hint={hasFormats ? undefined : 'This model only supports text.'}>
        <Select
          value={format}
          disabled={!hasFormats}
          options={responseFormats}
          onChange={(responseFormat) => onChange({ ...form, responseFormat })}
        />
      </Field>
      {format === 'json_schema' && (
        <Field label="JSON Schema" error={problems.response_format}>
          <TextArea
            isCode
            rows={8}
            value={form.schema}
            onChange={(event) => onChange({ ...form, schema: event.target.value })}
          />
        </Field>
      )}
    </>
  );
}

type ToolsFieldProps = Readonly<{ text: string; onChange: (text: string) => void; isSupported: boolean }>;

function ToolsField({ text, onChange, isSupported }: ToolsFieldProps) {
  const { tools, problem } = parseTools(text);
  if (!isSupported) return <p className="text-xs text-ink-faint">This model does not support tools.</p>;
  return (
    <Field
      label="Tools"
      isOptional
      hint={tools.length === 0 ? 'A JSON array of function definitions.' : `${tools.length} defined.`}
      error={problem}
      aside={
        text.trim() === '' ? (
          <Button size="small" variant="quiet" onClick={() => onChange(exampleTools)}>
            Insert example
          </Button>
        ) : undefined
      }
    >
      <TextArea
        isCode
        rows={text.trim() === '' ? 3 : 10}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}
