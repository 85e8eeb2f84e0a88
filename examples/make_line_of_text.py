"""Draws the picture that the demo reads: `make_line_of_text.py "Hello" out.png [FONT.ttf]`, as a camera may see it.

Soft, slightly turned, unevenly lit and noisy; the same bytes for the same text, font and version of Pillow.
"""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
HEIGHT, MARGIN = 72, 56
FINE = 4  # drawn this much larger, so that turning it does not hurt
PAPER, INK = (226, 220, 205), (52, 48, 56)


def draw(text: str, font_file: str) -> Image.Image:
    """A picture of the text, gray."""
    random = np.random.default_rng(7)
    font = ImageFont.truetype(font_file, 34 * FINE)
    width = round(font.getlength(text) / FINE) + 2 * MARGIN
    page = Image.new("RGB", (width * FINE, HEIGHT * FINE), PAPER)
    ImageDraw.Draw(page).text((MARGIN * FINE, 13 * FINE), text, font=font, fill=INK)
    page = page.rotate(0.6, resample=Image.Resampling.BICUBIC, fillcolor=PAPER)
    page = page.resize((width, HEIGHT), Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(0.7))
    pixels = np.asarray(page).astype(np.float64)
    rows, columns = np.mgrid[0:HEIGHT, 0:width]
    light = 1 - 0.18 * columns / width + 0.05 * np.sin(rows / 23)
    pixels = pixels * light[..., None] + random.normal(0, 5, (HEIGHT, width, 1)) + random.normal(0, 2, pixels.shape)
    return Image.fromarray(pixels.mean(axis=2).clip(0, 255).astype(np.uint8))


if __name__ == "__main__":
    draw(sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else FONT).save(sys.argv[2], optimize=True)
