"""Pure. The hosts and addresses of the network that a client may make a server reach.

Sources: IANA's registries of special-purpose addresses (RFC 6890), RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380
(Teredo), RFC 5214 (ISATAP), and the addresses of clouds' metadata services.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

__all__ = ["Address", "Reach", "is_local_name", "is_public", "literal"]

Address = IPv4Address | IPv6Address

_GLOBAL_UNICAST = ip_network("2000::/3")
"""Outside of it there are no public hosts: mapped (``::ffff:0:0/96``) and NAT64 forms of IPv4 addresses, multicast."""
_REFUSED = tuple(
    map(
        ip_network,
        (
            "168.63.129.16/32",  # Azure's services for a virtual machine
            "192.0.0.0/24",  # protocol assignments; Oracle's metadata service
            "192.88.99.0/24",  # relays of 6to4
            "2001::/23",  # protocol assignments; Teredo holds IPv4 addresses
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: holds IPv4 addresses
            "3fff::/20",  # documentation
        ),
    )
)
"""Beside those that Python's `is_global` knows in every version."""
_ISATAP = (0x00005EFE, 0x02005EFE)
"""The third quarter of an address whose last one is an IPv4 address."""
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_NUMBER = re.compile(r"(.*\.)?(0x[0-9a-f]*|[0-9]+)\.?")
"""Hosts that C libraries and browsers read as an IPv4 address (WHATWG URL, "ends in a number")."""
_LOCAL = re.compile(r"[^.]+\.?|.*\.(localhost|local|localdomain|internal|intranet|lan|corp|home|svc|home\.arpa)\.?")
"""Names that public DNS has not, but that a machine or a private network may."""


def is_public(address: Address) -> bool:
    """Whether an address belongs to a host of the public internet."""
    if any(address in network for network in _REFUSED if network.version == address.version):
        return False
    if isinstance(address, IPv6Address) and (
        address not in _GLOBAL_UNICAST or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    ):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def literal(host: str) -> Address | None:
    """The address that a URL's host is, without brackets; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_local_name(host: str) -> bool:
    """Whether a host, by its form, leads to this machine or a private network: an address that is not public, also in
    forms that only some programs read as one, or a name outside of public DNS."""
    if (address := literal(host)) is not None:
        return not is_public(address)
    return bool(_NUMBER.fullmatch(host.lower()) or _LOCAL.fullmatch(host.lower()))


class Reach:
    """The hosts that may be reached: public ones, and those that are listed."""

    def __init__(self, listed: Collection[str]) -> None:
        """`listed`: names, addresses, and networks such as ``10.0.0.0/8``. Raises `ValueError`."""
        self._names: set[str] = set()
        self._networks = []
        for text in listed:
            try:
                self._networks.append(ip_network(text))
            except ValueError:
                if "/" in text or not _NAME.fullmatch(text.lower()) or _NUMBER.fullmatch(text.lower()):
                    raise ValueError(f"{text!r} is neither a host name nor a network such as '10.0.0.0/8'") from None
                self._names.add(text.lower())

    def lists(self, host: str) -> bool:
        """Whether a host is listed by its name, or its address."""
        address = literal(host)
        if address is None:
            return host.lower().rstrip(".") in self._names
        return self._listed(address)

    def allows(self, host: str, address: Address) -> bool:
        """Whether this address of a host may be connected to."""
        return is_public(address) or self.lists(host) or self._listed(address)

    def _listed(self, address: Address) -> bool:
        return any(address in network for network in self._networks if network.version == address.version)
