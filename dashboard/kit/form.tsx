/** A form. If what was submitted is wrong, the first field to blame takes the focus: then it is in sight, and read out. */
import { type ComponentProps, useEffect, useRef } from 'react';

type FormProps = Omit<ComponentProps<'form'>, 'onSubmit' | 'onChange' | 'ref'> &
  Readonly<{ onSubmit: () => unknown }>;

export function Form({ onSubmit, ...rest }: FormProps) {
  const ref = useRef<HTMLFormElement>(null);
  const isAwaitingProblems = useRef(false);
  // The gateway may be what finds the problems, so they can appear in any later render.
  useEffect(() => {
    const wrong = ref.current?.querySelector<HTMLElement>(
      '[data-part="wrong"] :is(input, select, textarea, button)',
    );
    if (!isAwaitingProblems.current || !wrong) return;
    isAwaitingProblems.current = false;
    wrong.focus();
  });
  return (
    <form
      {...rest}
      ref={ref}
      onSubmit={(event) => {
        event.preventDefault();
        isAwaitingProblems.current = true;
        onSubmit();
      }}
      // Whoever types again is not interrupted.
      onChange={() => {
        isAwaitingProblems.current = false;
      }}
    />
  );
}
