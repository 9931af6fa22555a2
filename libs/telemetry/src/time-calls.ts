/** A call of a store that has ended, well or not. */
export interface TimedCall {
  readonly op: string;
  readonly milliseconds: number;
}

/** The same object, whose asynchronous methods tell how long they took. */
export function timeCalls<T extends object>(target: T, onCall: (call: TimedCall) => void): T {
  const timed = new Map<string | symbol, unknown>();
  return new Proxy(target, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of);
      if (typeof value !== "function" || typeof name !== "string") return value;
      const known = timed.get(name);
      if (known !== undefined) return known;
      const method = async (...values: unknown[]): Promise<unknown> => {
        const begun = performance.now();
        try {
          return await (value as (...all: unknown[]) => Promise<unknown>).apply(of, values);
        } finally {
          onCall({ op: name, milliseconds: performance.now() - begun });
        }
      };
      timed.set(name, method);
      return method;
    },
  });
}
