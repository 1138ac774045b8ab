/** Reads a new password: asked for on the terminal, from a file, or from the command line, which others can see. */
import { readFileSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { ReadStream, WriteStream } from 'node:tty';
import { OperatorError } from '../lib/operator-error.ts';
import { maxPassword, minPassword } from '../people/password.ts';
import { type Arguments, UsageError } from './arguments.ts';

export async function readPassword(words: Arguments, email: string): Promise<string> {
  const given = words.text('password');
  const file = words.text('password-file');
  if (given !== null && file !== null) throw new UsageError('Give --password-file or --password, not both.');
  if (file !== null)
    return checked(readPasswordFile(file), file === '-' ? 'The password' : `The password in ${file}`);
  if (given === null) return await askForPassword(email);
  process.stderr.write(
    'tollgate: --password is visible in process lists and shell histories. Use --password-file FILE, or leave it out to be asked.\n',
  );
  return checked(given, '--password');
}

function checked(password: string, what: string): string {
  if (isLongEnough(password)) return password;
  throw new UsageError(`${what} must have ${minPassword} to ${maxPassword} characters.`);
}

function isLongEnough({ length }: string): boolean {
  return length >= minPassword && length <= maxPassword;
}

/** Without the line break that editors and `echo` put at the end. */
function readPasswordFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    throw new OperatorError(`--password-file names "${file}", which cannot be read (${code}).`);
  }
}

/** Until it is long enough and typed the same way twice. */
async function askForPassword(email: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new UsageError(
      'Give the password with --password-file FILE, or - for standard input. On a terminal, you are asked for it.',
    );
  const prompt = openPrompt(process.stdin, process.stderr);
  try {
    for (;;) {
      const password = await prompt.askHidden(`Password for ${email}: `);
      if (!isLongEnough(password)) prompt.say(`It must have ${minPassword} to ${maxPassword} characters.`);
      else if ((await prompt.askHidden('Repeat the password: ')) === password) return password;
      else prompt.say('The passwords do not match.');
    }
  } finally {
    prompt.close();
  }
}

/** Asks on a terminal for what must not be shown while it is typed. */
type Prompt = Readonly<{
  askHidden: (question: string) => Promise<string>;
  say: (line: string) => void;
  close: () => void;
}>;

const ctrlC = '\u0003';
const ctrlD = '\u0004';
const ctrlU = '\u0015';
const erasers = ['\u007f', '\b'];

/** Reads in raw mode, in which the terminal echoes nothing and leaves the control keys to us. */
function openPrompt(input: ReadStream, output: Pick<WriteStream, 'write'>): Prompt {
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
