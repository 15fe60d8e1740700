"""Why a server could not be talked to, for people."""

from __future__ import annotations

import socket
import ssl


def why_unreachable(error: Exception) -> str | None:
    """Return the reason in words; None for an error that isn't the network's or the encryption's.

    Never the text of a library, which may hold the address with its password.
    """
    match error:
        case socket.gaierror():
            return "its host name can't be resolved"
        case TimeoutError():
            return "there was no answer in time"
        case ssl.SSLCertVerificationError():
            return f"its certificate isn't trusted ({error.verify_message}): see tls.ca"
        case ssl.SSLError():
            return f"no encrypted connection ({error.reason or 'TLS failed'})"
        case OSError():
            return error.strerror or type(error).__name__
    return None
