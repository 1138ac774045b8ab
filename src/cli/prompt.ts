/** Asks on a terminal for what must not be shown while it is typed. */
import { StringDecoder } from 'node:string_decoder';
import type { ReadStream, WriteStream } from 'node:tty';
import { OperatorError } from '../lib/operator-error.ts';

export type Prompt = Readonly<{
  askHidden: (question: string) => Promise<string>;
  say: (line: string) => void;
  close: () => void;
}>;

const ctrlC = '\u0003';
const ctrlD = '\u0004';
const ctrlU = '\u0015';
const erasers = ['\u007f', '\b'];

/** Reads in raw mode, in which the terminal echoes nothing and leaves the control keys to us. */
export function openPrompt(input: ReadStream, output: Pick<WriteStream, 'write'>): Prompt {
  const decoder = new StringDecoder('utf8');
  /** What was typed and not taken yet: a pasted text may answer two questions at once. */
  let typed = '';
  let wake = () => {};
  let isEnded = false;
  const onData = (bytes: Buffer) => {
    typed += decoder.write(bytes);
    wake();
  };
  const onEnd = () => {
    isEnded = true;
    wake();
  };
  input.setRawMode(true);
  input.on('data', onData).on('end', onEnd).resume();

  async function askHidden(question: string): Promise<string> {
    output.write(question);
    const answer: string[] = [];
    for (;;) {
      const [key] = typed;
      if (key === undefined) {
        if (isEnded) throw cancelled();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      typed = typed.slice(key.length);
      if (key === '\r' || key === '\n') break;
      if (key === ctrlC || key === ctrlD) throw cancelled();
      if (key === ctrlU) answer.length = 0;
      else if (erasers.includes(key)) answer.pop();
      else answer.push(key);
    }
    output.write('\n');
    return answer.join('');
  }

  function cancelled(): OperatorError {
    output.write('\n');
    return new OperatorError('Cancelled: nothing was changed.');
  }

  return {
    askHidden,
    say: (line) => {
      output.write(`${line}\n`);
    },
    close: () => {
      input.setRawMode(false);
      input.off('data', onData).off('end', onEnd).pause();
      input.unref?.();
    },
  };
}
