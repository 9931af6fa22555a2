import { fieldText, NODE_FIELD, type NodeState } from "#core";

/** Characters of one token of English text, on the low side: batches are filled by tokens and must not be too large. */
const CHARACTERS_OF_A_TOKEN = 3.5;

/** Tokens of a field's text: counted for a node's text, estimated for an attribute; 0 if it has none. */
export function fieldTokens(state: Pick<NodeState, "attributes" | "text" | "tokens">, field: string): number {
  const text = fieldText(state, field) ?? "";
  if (text === "") return 0;
  return field === NODE_FIELD ? state.tokens : Math.ceil(text.length / CHARACTERS_OF_A_TOKEN);
}
