"""Driver. The pictures of the documentation, from those that the browser tests took last: ``make pictures``."""

from __future__ import annotations

from PIL import Image

from tests.browser.chromium import ARTIFACTS, ROOT

IMAGES = ROOT / "docs" / "images"
COLOURS = 128
"""As many as a page needs. A picture is a third as large with them."""


def main() -> None:
    for shown in sorted(IMAGES.glob("*.png")):
        taken = ARTIFACTS / shown.name
        if not taken.exists():
            continue
        with Image.open(taken) as picture:
            small = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
            small.save(shown, optimize=True)
        print(f"{shown.relative_to(ROOT)}: {shown.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
