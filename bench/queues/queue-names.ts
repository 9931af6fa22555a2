/** The bare queue that ours is compared with. */
export const RAW_QUEUE = "raw";
/** Its keys share a slot, as ours do. */
export const RAW_PREFIX = "{raw}";
