import { createHmac } from 'node:crypto';
import type { Auth } from './mapping.ts';
import { fillText, type Values } from './template.ts';

/** Header and query of a request that shows who asks. `nowMs`: since the epoch. */
export function authorize(
  auth: Auth,
  values: Values,
  nowMs: number,
): { headers: Record<string, string>; query: Record<string, string> } {
  const filled = (template: string): string => fillText(template, values) ?? '';
  switch (auth.type) {
    case 'none':
      return { headers: {}, query: {} };
    case 'bearer':
      return { headers: { authorization: `Bearer ${filled(auth.token)}` }, query: {} };
    case 'header':
      return { headers: { [auth.name.toLowerCase()]: filled(auth.value) }, query: {} };
    case 'query':
      return { headers: {}, query: { [auth.name]: filled(auth.value) } };
    case 'jwt-hs256': {
      const token = signedToken(filled(auth.issuer), filled(auth.secret), auth.seconds, Math.floor(nowMs / 1000));
      return { headers: { authorization: `Bearer ${token}` }, query: {} };
    }
  }
}

/** A clock that is a little ahead of theirs must not make the token invalid. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** RFC 7519 with HS256 (RFC 7515, appendix A.1). */
function signedToken(issuer: string, secret: string, seconds: number, now: number): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = { iss: issuer, exp: now + seconds, nbf: now - CLOCK_TOLERANCE_SECONDS };
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
