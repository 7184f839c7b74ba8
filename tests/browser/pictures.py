"""Driver. The pictures of the documentation, from those that the browser tests took last: ``make pictures``."""

from __future__ import annotations

from PIL import Image

from tests.browser.chromium import ARTIFACTS, ROOT

IMAGES = ROOT / "docs" / "images"
COLOURS = 128
"""As many as a page needs: a third of the bytes. The method keeps rare ones, such as a green tick."""


def main() -> None:
    for shown in sorted(IMAGES.glob("*.png")):
        taken = ARTIFACTS / shown.name
        if not taken.exists():
            continue
        with Image.open(taken) as picture:
            plain = picture.convert("RGB")
            small = plain.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            small.save(shown, optimize=True)
        print(f"{shown.relative_to(ROOT)}: {shown.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
