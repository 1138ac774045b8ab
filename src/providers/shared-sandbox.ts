/** One sandbox for everything in this process, started when it is first needed, even when two need it at once. */
import { type SandboxProcess, startSandbox } from './sandbox-process.ts';

export type Sandbox = Readonly<{ url: () => Promise<string>; stop: () => Promise<void> }>;

export class SharedSandbox implements Sandbox {
  readonly #onEnded: () => void;
  #process: Promise<SandboxProcess> | null = null;

  constructor(onEnded: () => void) {
    this.#onEnded = onEnded;
  }

  readonly url = async (): Promise<string> => {
    this.#process ??= startSandbox(this.#onEnded).catch((error: unknown) => {
      this.#process = null;
      throw error;
    });
    return (await this.#process).baseUrl();
  };

  readonly stop = async (): Promise<void> => {
    const started = await this.#process?.catch(() => null);
    await started?.stop();
  };
}
