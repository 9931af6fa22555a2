/** The members of an object that are not undefined: a schema may leave absent ones so, and a record may not have them. */
export function withoutUndefined<Value extends object>(
  value: Value,
): { [Name in keyof Value]?: Exclude<Value[Name], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}
