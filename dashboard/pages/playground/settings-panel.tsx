/** Everything that goes with the conversation into a request. */
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Field, Input, Select, TextArea } from '../../kit/field.tsx';
import type { ListedModel } from '../models/models.ts';
import {
  exampleTools,
  type ParameterForm,
  parseParameters,
  parseTools,
  type ResponseFormat,
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

const formatLabels: Readonly<Record<ResponseFormat, string>> = {
  text: 'Text',
  json_object: 'JSON object',
  json_schema: 'JSON by a schema',
};

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
      <Field label="Response format" {...(hasFormats ? {} : { hint: 'This model answers with text only.' })}>
        <Select
          value={format}
          disabled={!hasFormats}
          onChange={(event) => {
            const chosen = responseFormats.find((candidate) => candidate === event.target.value);
            if (chosen !== undefined) onChange({ ...form, responseFormat: chosen });
          }}
        >
          {responseFormats.map((candidate) => (
            <option key={candidate} value={candidate}>
              {formatLabels[candidate]}
            </option>
          ))}
        </Select>
      </Field>
      {format === 'json_schema' && (
        <Field label="JSON Schema of the answer" error={problems.response_format}>
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
  if (!isSupported)
    return (
      <p className="text-xs text-ink-faint">This model calls no tools. Choose another one to define some.</p>
    );
  return (
    <Field
      label="Tools"
      isOptional
      hint={tools.length === 0 ? 'A list of function definitions, as JSON.' : `${tools.length} defined.`}
      error={problem}
      aside={
        text.trim() === '' ? (
          <Button size="small" variant="quiet" onClick={() => onChange(exampleTools)}>
            Insert an example
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
