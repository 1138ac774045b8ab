/** How long a node may be silent before it counts as dead. */
export const leaseMs = 10_000;
