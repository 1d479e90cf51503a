"""Checks what `make dist` built: both packages hold the documentation site, and nothing is larger than it should be.

python tools/check_dist.py dist
"""

import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

__all__ = ["faults", "main"]

MOST_SITE = 6_000_000
MOST_WHEEL = 60_000_000
"""Bytes."""

_SITE = "calm_resources/site/"


def _sizes(package: Path) -> dict[str, int]:
    """Bytes of every file of a wheel or sdist, by its name inside."""
    if package.suffix == ".whl":
        with ZipFile(package) as wheel:
            return {member.filename: member.file_size for member in wheel.infolist()}
    with tarfile.open(package) as sdist:
        return {member.name: member.size for member in sdist if member.isfile()}


def faults(folder: Path) -> list[str]:
    """What is wrong with the packages of a folder, a sentence each."""
    packages = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    found = []
    if sorted(path.suffix for path in packages) != [".gz", ".whl"]:
        return [
            f"{folder} should hold one wheel and one sdist, but holds {', '.join(p.name for p in packages) or 'none'}"
        ]
    for package in packages:
        sizes = _sizes(package)
        site = {name: size for name, size in sizes.items() if _SITE in name}
        total, packed = sum(site.values()), package.stat().st_size
        print(f"{package.name}: {packed / 1e6:.1f} MB, {len(sizes)} files; site {total / 1e6:.1f} MB")
        if not any(name.endswith(f"{_SITE}index.html") for name in site):
            found.append(f"{package.name} lacks the documentation site")
        if total > MOST_SITE:
            found.append(f"the site in {package.name} has {total / 1e6:.1f} MB; {MOST_SITE / 1e6:g} are the most")
        if package.suffix == ".whl" and packed > MOST_WHEEL:
            found.append(f"{package.name} has {packed / 1e6:.1f} MB; {MOST_WHEEL / 1e6:g} are the most")
    return found


def main(arguments: list[str]) -> int:
    """Print what is wrong; the exit status is 1 if anything is."""
    found = faults(Path(arguments[0] if arguments else "dist"))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
