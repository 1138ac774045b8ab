/** Takes a request ID, as a customer sends it, and goes to that request whosever it is. */
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { Field, Input } from '../../../kit/field.tsx';
import { requestIdIn } from '../../generations/find-request.tsx';

export function FindRequest() {
  const [text, setText] = useState('');
  const [isRefused, setRefused] = useState(false);
  const navigate = useNavigate();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const id = requestIdIn(text);
    setRefused(id === null);
    if (id !== null) navigate({ to: '/operator/generations/$id', params: { id } }).catch(() => {});
  };
  return (
    <Card title="Look up a request" description="Of any account, by the ID that stands in its answer.">
      <search>
        <form onSubmit={submit} noValidate className="flex flex-wrap items-start gap-2">
          <Field
            label="Request ID"
            isLabelHidden
            error={isRefused ? 'A request ID is “req_” and 32 digits or letters from a to f.' : null}
            className="flex-1 basis-64"
          >
            <Input
              type="search"
              placeholder="Request ID (req_…)"
              autoComplete="off"
              spellCheck={false}
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setRefused(false);
              }}
            />
          </Field>
          <Button type="submit">Look it up</Button>
        </form>
      </search>
    </Card>
  );
}
