/** Whether a Tollgate gateway answers at an address. */
export async function isGateway(origin: string, patienceMs: number): Promise<boolean> {
  try {
    const response = await fetch(`${origin}/healthz`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    });
    await response.body?.cancel();
    return response.ok && response.headers.has('x-service-request-id');
  } catch {
    return false;
  }
}
