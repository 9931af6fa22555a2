/** The same asked of a store and by hand, over and over. */
export interface Comparison {
  readonly name: string;
  /** What is to be known of it. */
  readonly note?: string;
  /** Each answers its number of rows; those of one round are asked the same. */
  own(round: number): Promise<number>;
  byHand(round: number): Promise<number>;
}
