"""A tree of files, as its host lists it at one revision."""

import http.client
import re
from pathlib import PurePosixPath
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from recall_bench.datasets.sources import FileListing, SourceFile
from recall_bench.downloading.transfer import AddressFailed, open_url, parse_host
from recall_bench.errors import DownloadFailed, Malformed

_PAGES = 1_000
"""More than any tree has: a host whose pages go round in a circle is not followed for ever."""


class _LfsPointer(msgspec.Struct, kw_only=True):
    oid: str
    """The sha-256 of a large file's bytes."""


class _ListingEntry(msgspec.Struct, kw_only=True):
    type: str
    path: str
    size: int | None = None
    lfs: _LfsPointer | None = None


def fetch_listing(listing: FileListing) -> tuple[SourceFile, ...]:
    """Every file of the tree, in the order of names, with its digest where the host tells one.

    A digest the host tells proves that what arrives is what the host has, and no more: it is not
    a pin of ours. DownloadFailed if there is no list.
    """
    url: str | None = listing.url
    files: list[SourceFile] = []
    for _ in range(_PAGES):
        if url is None:
            return tuple(sorted(files, key=lambda file: file.name))
        entries, url = _fetch_page(url)
        files += [_parse_entry(listing, entry) for entry in entries if entry.type == "file"]
    raise DownloadFailed(f"the list of files at {parse_host(listing.url)} does not end")


def _fetch_page(url: str) -> tuple[list[_ListingEntry], str | None]:
    try:
        with open_url(url) as response:
            entries = msgspec.json.decode(response.read(), type=list[_ListingEntry])
            return entries, _find_next_page(url, response.headers.get("Link", ""))
    except (AddressFailed, http.client.HTTPException, OSError) as failure:
        raise DownloadFailed(
            f"the list of files could not be had: {parse_host(url)} {failure}; the same command "
            "tries again"
        ) from failure
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Malformed(url, f"is no list of files ({error})") from error


def _find_next_page(url: str, link: str) -> str | None:
    """The address of the next page, which is never another host's."""
    found = re.search(r'<([^>]+)>\s*;\s*rel="?next"?', link)
    if found is None:
        return None
    following: str = urljoin(url, found[1])
    if urlsplit(following)[:2] != urlsplit(url)[:2]:
        raise Malformed(url, f"goes on at another host ({parse_host(following)})")
    return following


def _parse_entry(listing: FileListing, entry: _ListingEntry) -> SourceFile:
    path = PurePosixPath(entry.path)
    # Backslashes and colons lead out of a folder on Windows.
    is_odd = path.is_absolute() or ".." in path.parts or re.search(r"[\\:]", entry.path)
    if is_odd or not path.is_relative_to(listing.folder):
        raise Malformed(listing.url, f"lists {entry.path!r}, which is not in {listing.folder}")
    return SourceFile(
        name=path.relative_to(listing.folder).as_posix(),
        urls=(f"{listing.place}/{quote(entry.path)}",),
        bytes=entry.size,
        sha256=entry.lfs.oid if entry.lfs is not None else None,
    )
