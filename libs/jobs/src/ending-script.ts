import { KEEP } from "./kept-script.js";
import { COUNT } from "./usage/count-script.js";
import { NOTIFY } from "./webhooks/notify-script.js";

/**
 * `endJobs(own, kind, state, budget, jobs)`: what an end brings besides the status itself, once for all `jobs` of a tenant and kind
 * that ended so. Answers the webhooks with something to deliver.
 */
export const ENDING = `${NOTIFY}${COUNT}${KEEP}
local function endJobs(own, kind, state, budget, jobs)
  countEnds(own, kind, state, #jobs)
  -- Before any of them is dropped.
  local told = notify(own, kind, state, jobs)
  keep(own, state, budget, jobs)
  return told
end
`;
