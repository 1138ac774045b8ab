/** Ends one call from outside, whether it is about to start, waits for its answer, or is being read. */
export class Cancellation {
  #call: Readonly<{ cancel: () => void }> | null = null;
  #isCancelled = false;

  add(call: Readonly<{ cancel: () => void }>): void {
    this.#call = call;
    if (this.#isCancelled) call.cancel();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#call?.cancel();
  }
}
