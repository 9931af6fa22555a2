import type { Background } from "#jobs";
import type { ApartServices } from "#memory";
import type { Pressure } from "./pressure.js";

/** What processors and loops need where trees and vectors lie apart. */
export interface ApartRuntime {
  readonly services: ApartServices;
  /** What the processes share. */
  readonly background: Background;
  /** Of the models and stores that claims need. */
  readonly pressure: Pressure;
  /** Called when rows may have become free to claim. The loops listen. */
  rowsChanged: () => void;
}
