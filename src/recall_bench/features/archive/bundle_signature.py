"""Signatures of bundles by SSH keys, made and checked by `ssh-keygen -Y`."""

import shutil
import subprocess
from pathlib import Path

from recall_bench.core.errors import UsageError

_NAMESPACE = "recall-bench"
_TIMEOUT_S = 60.0


def locate_signature(bundle: Path) -> Path:
    """The file that holds the signature of a bundle."""
    return bundle.with_name(f"{bundle.name}.sig")


def sign_bundle(bundle: Path, key: Path) -> Path:
    """Sign a bundle with an SSH key; return the file with the signature."""
    if not key.is_file():
        raise UsageError(f"--sign: there is no key {key}; name a private SSH key")
    signature = locate_signature(bundle)
    signature.unlink(missing_ok=True)
    # The terminal stays connected: ssh-keygen may ask for a passphrase.
    ended = _run_ssh_keygen(["sign", "-f", str(key), "-n", _NAMESPACE, str(bundle)])
    if ended.returncode or not signature.is_file():
        raise UsageError(f"--sign: ssh-keygen could not sign: {_quote_error(ended)}")
    return signature


def find_signer(bundle: Path, signers: Path) -> str | None:
    """Return who of the allowed signers signed a bundle; None if none of them did.

    UsageError if there is no signature, or the list of signers cannot be read.
    """
    signature = locate_signature(bundle)
    if not signature.is_file():
        raise UsageError(f"--signers: {bundle} has no signature {signature.name} beside it")
    if not signers.is_file():
        raise UsageError(
            f"--signers: there is no file {signers}; ssh-keygen(1) describes its format"
        )
    named = ["-s", str(signature), "-f", str(signers)]
    found = _run_ssh_keygen(["find-principals", *named])
    principals = found.stdout.decode(errors="replace").split("\n")[0].strip()
    if found.returncode or not principals:
        return None
    for who in principals.split(","):
        checked = _run_ssh_keygen(
            ["verify", *named, "-I", who, "-n", _NAMESPACE], content=bundle.read_bytes()
        )
        if checked.returncode == 0:
            return who
    return None


def _run_ssh_keygen(
    words: list[str], content: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise UsageError("signatures need ssh-keygen, which is part of OpenSSH; install it")
    try:
        return subprocess.run(  # noqa: S603 - a fixed program, and no shell
            [program, "-Y", *words],
            input=content,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError("ssh-keygen did not end within a minute; try again") from error


def _quote_error(ended: subprocess.CompletedProcess[bytes]) -> str:
    lines = ended.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with code {ended.returncode}"
