import type { Redis } from "ioredis";
import { jobKeys } from "../keys.js";
import type { JobSettings } from "../settings.js";
import { Lane, type LaneName, type LaneSettings } from "./lane.js";

/** Both lanes, over a connection of the caller's. */
export function openLanes(redis: Redis, settings: JobSettings): ReadonlyMap<LaneName, Lane> {
  const keys = jobKeys(settings.prefix);
  const lanes = Object.entries(settings.lanes) as [LaneName, LaneSettings][];
  return new Map(lanes.map(([name, lane]) => [name, new Lane({ redis, tag: keys.lane(name), settings: lane })]));
}
