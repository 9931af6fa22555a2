import { type Attributes, fieldText, NODE_FIELD } from "#core";

/** A field and what its text is read from: the node's text, or its attributes as JSON; null if neither is needed or there. */
export interface SourceColumns {
  readonly field: string;
  readonly source: string | null;
}

/** The text of a field; `""` if there is none. */
export function textOf({ field, source }: SourceColumns): string {
  if (source === null || field === NODE_FIELD) return source ?? "";
  return fieldText({ text: "", attributes: JSON.parse(source) as Attributes }, field) ?? "";
}
