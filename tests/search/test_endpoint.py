from __future__ import annotations

import pytest

from localcrag.privacy.addresses import is_private
from localcrag.records.errors import EndpointRefused, SearchNotRunning
from localcrag.search import parse_endpoint, refuse_public

OWN = [
    ("http://127.0.0.1:8080", "loopback"),
    ("http://localhost:8080/searxng/", "localhost"),
    ("http://127.1", "short-loopback"),
    ("https://192.168.1.20", "rfc1918-192"),
    ("http://10.0.0.7:8888", "rfc1918-10"),
    ("http://172.31.255.254", "rfc1918-172-end"),
    ("http://169.254.3.4", "link-local"),
    ("http://[::1]:8080", "ipv6-loopback"),
    ("http://[fe80::1]", "ipv6-link-local"),
    ("http://[fd12:3456::1]", "ipv6-unique-local"),
    ("http://[::ffff:10.0.0.1]", "ipv4-in-ipv6"),
]
PUBLIC = [
    ("http://8.8.8.8", "public"),
    ("http://134744072", "public-as-one-number"),
    ("http://172.32.0.1", "just-beyond-rfc1918"),
    ("http://100.64.0.1", "carrier-nat"),
    ("http://0.0.0.0:8080", "unspecified"),
    ("http://192.0.2.1", "documentation-range"),
    ("http://[2001:4860:4860::8888]", "ipv6-public"),
    ("http://[::ffff:8.8.8.8]", "public-ipv4-in-ipv6"),
]
UNUSABLE = [
    ("localhost:8080", "does not begin with http", "no-scheme"),
    ("127.0.0.1:8080", "does not begin with http", "no-scheme-number"),
    ("ftp://127.0.0.1", "does not begin with http", "ftp"),
    ("", "does not begin with http", "empty"),
    ("http://", "does not name a computer", "no-host"),
    ("http:///search", "does not name a computer", "only-a-path"),
    ("http://127.0.0.1:port", "is not a valid address", "bad-port"),
    ("http://[::1", "is not a valid address", "bad-brackets"),
    ("http://xn--.com", "is not a valid address", "bad-punycode"),
    ("http://a..b", "is not a valid address", "empty-label"),
    (f"http://{'a' * 70}.lan", "is not a valid address", "long-label"),
    ("http://127.0.0.1:0", "has a port that is not between 1 and 65535", "port-zero"),
    ("http://127.0.0.1:65616", "has a port that is not between 1 and 65535", "port-too-high"),
    ("http://127.0.0.1/search?q=%s", "has something after", "with-a-query"),
    ("http://127.0.0.1/#top", "has something after", "with-a-fragment"),
]


@pytest.mark.parametrize("address", [pytest.param(address, id=name) for address, name in OWN])
def test_an_address_of_this_computer_or_a_private_network_is_allowed(address: str) -> None:
    refuse_public(parse_endpoint(address))


@pytest.mark.parametrize("address", [pytest.param(address, id=name) for address, name in PUBLIC])
def test_an_address_anywhere_else_is_refused_with_the_setting_that_allows_it(address: str) -> None:
    with pytest.raises(EndpointRefused, match="neither this computer nor in a private network") as caught:
        refuse_public(parse_endpoint(address))

    assert address in str(caught.value)
    assert "searxng_allow_public" in str(caught.value)


@pytest.mark.parametrize(
    ("address", "complaint"), [pytest.param(address, complaint, id=name) for address, complaint, name in UNUSABLE]
)
def test_what_is_no_address_of_a_server_is_refused_with_an_example(address: str, complaint: str) -> None:
    with pytest.raises(EndpointRefused, match=complaint) as caught:
        parse_endpoint(address)

    assert "http://127.0.0.1:8080" in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["http://anna:pass@word@127.0.0.1:port", "anna:pass@word@127.0.0.1", "ftp://anna:password@host", "http://u:pass@"],
)
def test_a_refused_address_is_shown_without_its_password(address: str) -> None:
    with pytest.raises(EndpointRefused) as caught:
        parse_endpoint(address)

    assert "pass" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_credentials_are_kept_but_appear_in_no_text_of_an_endpoint() -> None:
    endpoint = parse_endpoint("http://anna:s3cret@127.0.0.1:8080/")

    assert endpoint.credentials == ("anna", "s3cret")
    assert "s3cret" not in f"{endpoint} {endpoint!r} {endpoint.search_url('x')}"


def test_an_unknown_name_is_told_apart_from_a_public_one() -> None:
    with pytest.raises(SearchNotRunning, match=r"“searx\.invalid” is not known on your network"):
        refuse_public(parse_endpoint("http://searx.invalid:8080"))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://h", "http://h/search?q=a+b&format=json"),
        ("http://h/", "http://h/search?q=a+b&format=json"),
        ("https://h:444/searxng", "https://h:444/searxng/search?q=a+b&format=json"),
        ("http://h/a%2Fb%1a/", "http://h/a%2Fb%1a/search?q=a+b&format=json"),
        (" http://h/searxng/ ", "http://h/searxng/search?q=a+b&format=json"),
    ],
)
def test_the_search_path_is_added_to_the_endpoints_own(address: str, expected: str) -> None:
    assert str(parse_endpoint(address).search_url("a b")) == expected


def test_an_address_with_a_zone_is_judged_without_it() -> None:
    assert is_private("fe80::1%eth0")
