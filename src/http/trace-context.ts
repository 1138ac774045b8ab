/**
 * The W3C trace context of a request. A request without one starts a trace whose ID is the UUID of the request: whoever
 * has the one can look up the other. The IDs of its attempts' spans follow from the UUID too, so that none has to be
 * generated or stored.
 */
export type TraceContext = Readonly<{
  /** 32 hexadecimal digits. */
  traceId: string;
  /** The span of the caller, 16 hexadecimal digits; null at the start of a trace. */
  parentId: string | null;
  isSampled: boolean;
}>;

const form =
  /^(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<parentId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;
const maxLength = 512;

/** Null for an invalid header. Later versions may add fields at the end. */
export function readTraceparent(header: string | null): TraceContext | null {
  if (header === null || header.length > maxLength) return null;
  const { version, traceId = '', parentId = '', flags = '', rest } = form.exec(header)?.groups ?? {};
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return null;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceOf(requestUuid: string, header: string | null): TraceContext {
  return (
    readTraceparent(header) ?? {
      traceId: requestUuid.replaceAll('-', ''),
      parentId: null,
      isSampled: true,
    }
  );
}

/** The span of a request, and of its attempts from 1 on: the random part of the UUID, with the number in the first bits. */
export function spanIdOf(requestUuid: string, attempt = 0): string {
  const tail = requestUuid.replaceAll('-', '').slice(18);
  return `${(attempt & 0xff).toString(16).padStart(2, '0')}${tail}`;
}

export function traceparentOf({ traceId, isSampled }: TraceContext, spanId: string): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
