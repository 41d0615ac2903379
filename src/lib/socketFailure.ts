const untrusted =
  'this machine does not trust the authority that signed its certificate; set NODE_EXTRA_CA_CERTS to a file with that authority';
const noTls = 'it does not use TLS: should the address begin with http://';

/** Faults of an address, a certificate or a clock: waiting does not fix them. */
const settings: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: 'its certificate has expired, or the clock of this machine is wrong',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is wrong',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

const passing: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke off',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  ETIMEDOUT: 'the connection attempt timed out',
  EPIPE: 'the connection broke off',
};

/** The system's code of a failed connection as a fault in settings; null for any other. */
export function settingAtFault(code: string): string | null {
  return settings[code] ?? null;
}

/** The system's code of a failed connection in words that help; null for codes without any. */
export function socketWords(code: string): string | null {
  return settings[code] ?? passing[code] ?? null;
}
