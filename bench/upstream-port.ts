/** Where a peer finds the upstream of the bench, unless `--upstream-port` names another port. */
export const defaultUpstreamPort = 9876;
