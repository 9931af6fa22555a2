/** An object whose method calls are counted by name; everything else is the object's own. */
export function countCalls<T extends object>(target: T, counts: Map<string, number>): T {
  return new Proxy(target, {
    get: (object, property) => {
      const member: unknown = Reflect.get(object, property);
      if (typeof member !== "function") return member;
      return (...given: unknown[]): unknown => {
        const name = String(property);
        counts.set(name, (counts.get(name) ?? 0) + 1);
        return Reflect.apply(member, object, given) as unknown;
      };
    },
  });
}
