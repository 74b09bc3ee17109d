# SPDX-License-Identifier: BSD-2-Clause
"""Checks of a page in a browser: its layout in windows of several widths, and its messages."""

from __future__ import annotations

from collections.abc import Sequence

from bulkhead.paths import BUILD
from support.browser import Browser, Message

# The pictures are kept here, to be looked at.
PICTURES = BUILD / "pages"
_NARROW = 360  # pixels: a small telephone
_WIDTHS = (_NARROW, 481, 640, 761, 1001, 1280)
# Lists what does not fit: elements beyond the window, and elements whose content is wider than they
# are, which is cut or scrolls. Drawings have coordinates of their own.
_TOO_WIDE = """(() => {
  const found = [], root = document.documentElement;
  const name = e => `${e.localName}#${e.id}.${e.className} '${e.textContent.slice(0, 40)}'`;
  if (root.scrollWidth > innerWidth) found.push(`the page: ${root.scrollWidth}`);
  for (const e of document.body.querySelectorAll("*:not(svg *):not(.bar *)")) {
    if (!e.getClientRects().length) continue;
    const box = e.getBoundingClientRect();
    if (box.left < 0 || box.right > innerWidth + 1) found.push(`beyond the window: ${name(e)}`);
    if (getComputedStyle(e).display !== "inline" && e.scrollWidth > e.clientWidth + 1)
      found.push(`${e.scrollWidth} > ${e.clientWidth}: ${name(e)}`);
  }
  return found;
})()"""
# Returns the width of an image, 0 if it can't be loaded.
_LOAD_IMAGE = """address => new Promise(done => {
  const image = new Image();
  image.onload = image.onerror = () => done(image.width);
  image.src = address;
})"""
# The relative luminances of text and background, WCAG 2.1, 1.4.3: at least 4.5 to 1.
_CONTRASTS = """(() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.body.querySelectorAll("*:not(svg *):not(script):not(style)")) {
    const hasText = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!hasText || !e.getClientRects().length) continue;
    const two = [parse(getComputedStyle(e).color), behind(e)].map(luminance).sort((a, b) => b - a);
    const contrast = (two[0] + .05) / (two[1] + .05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)}: ${e.localName} '${e.textContent}'`);
  }
  return found;
})()"""


def check_layout(browser: Browser, name: str) -> None:
    """Check windows of several widths and both colour schemes, and keep pictures of them."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for width in _WIDTHS:
        browser.resize(width)
        too_wide = browser.value(_TOO_WIDE)
        assert not too_wide, f"{width} pixels: {too_wide}"
        if width == _NARROW:
            keep_picture(browser, f"{name}-narrow")
    colours = {}
    for scheme in ("dark", "light"):
        browser.prefer(scheme)
        colours[scheme] = browser.value("getComputedStyle(document.body).backgroundColor")
        contrasts = browser.value(_CONTRASTS)
        assert not contrasts, f"{scheme}: {contrasts}"
        keep_picture(browser, f"{name}-{scheme}")
    assert colours["dark"] != colours["light"]


def keep_picture(browser: Browser, name: str) -> None:
    """Write a picture to the folder of pictures, after the next frame."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
    browser.picture(PICTURES / f"{name}.png")


def check_icon(browser: Browser) -> None:
    """Check that the page brings its icon, so that no browser asks the server for one."""
    icon = browser.value("document.querySelector('link[rel=icon]').href")
    assert icon.startswith("data:")
    assert browser.call(_LOAD_IMAGE, icon) > 0


def without_failed_loads(messages: Sequence[Message], path: str) -> list[Message]:
    """Return the messages without those of the browser that a path of the server did not load."""
    return [
        each
        for each in messages
        if not (each.text.startswith("Failed to load resource") and each.url.endswith(path))
    ]
