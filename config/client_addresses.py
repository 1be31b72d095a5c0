from ipaddress import ip_address

from django.conf import settings


def client_address(address: str, forwarded_for: str) -> str:
    """Return the client's address; only trusted proxies may report another one."""
    forwarded = forwarded_for.split(",")
    while forwarded and is_trusted_proxy(address):
        address = forwarded.pop().strip() or address
    return address


def is_trusted_proxy(address: str) -> bool:
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    return any(ip in network for network in settings.TRUSTED_PROXIES)
