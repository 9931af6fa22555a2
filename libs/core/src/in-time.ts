/**
 * What the call answers, or rejects with what `late` gives once it has lasted for so many milliseconds. The call goes on by
 * itself then, and whatever becomes of it is nobody's.
 */
export async function inTime<T>(call: Promise<T>, milliseconds: number, late: () => Error): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(late());
  }, milliseconds);
  try {
    return await Promise.race([call, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
