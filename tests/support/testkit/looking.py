"""What everybody must be able to see and use on a page, asked of the browser that shows it."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from selenium.webdriver import Chrome

PROBLEMS = r"""
const problems = [];
const say = (what, element) => problems.push(what + ': ' + element.outerHTML.slice(0, 120));
const all = (selector) => [...document.querySelectorAll(selector)];
const shown = (element) => element.checkVisibility() && element.getClientRects().length > 0;

if (document.documentElement.scrollWidth > window.innerWidth)
  problems.push('scrolls sideways: ' + document.documentElement.scrollWidth + ' > ' + window.innerWidth);
if (!document.documentElement.lang) problems.push('no language');
if (!document.title) problems.push('no title');
for (const landmark of ['header', 'main', 'footer'])
  if (all(landmark).length !== 1) problems.push('not one ' + landmark);
const skip = document.querySelector('body > a:first-of-type');
if (!skip || !document.querySelector(skip.getAttribute('href'))) problems.push('no skip link');

let level = 0;
for (const heading of all('h1, h2, h3, h4, h5, h6')) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) say('heading out of order', heading);
  level = next;
}
if (all('h1').length !== 1) problems.push('not one h1');

const ids = all('[id]').map((element) => element.id);
if (new Set(ids).size !== ids.length) problems.push('an id twice');
for (const element of all('[aria-describedby]'))
  for (const id of element.getAttribute('aria-describedby').split(/\s+/))
    if (!document.getElementById(id)) say('describes by nothing', element);
for (const field of all('input:not([type=hidden]), select, textarea'))
  if (![...field.labels].some((label) => label.innerText.trim())) say('no label', field);
for (const control of all('button, a[href], summary'))
  if (!control.innerText.trim() && shown(control)) say('no name', control);
for (const nav of all('nav')) if (!nav.getAttribute('aria-label')) say('no name', nav);
for (const error of all('[aria-invalid=true]')) if (!error.getAttribute('aria-describedby')) say('no reason', error);

const inText = (link) => link.tagName === 'A' && getComputedStyle(link).display === 'inline';
for (const target of all('a[href], button, select, textarea, summary, input:not([type=hidden])')) {
  if (!shown(target) || inText(target) || target.classList.contains('skip')) continue;
  const box = target.type === 'checkbox' ? target.labels[0].getBoundingClientRect() : target.getBoundingClientRect();
  if (box.height < 43.5 || box.width < 43.5) say('small target ' + box.width + 'x' + box.height, target);
}

const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const pixel = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = (colour) => {
  const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const [red, green, blue] = pixel(colour).map(part);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const behind = (element) => {
  for (let each = element; each; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    if (pixel(colour)[3] === 255) return colour;
  }
  return 'Canvas';
};
for (const element of all('body *')) {
  const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!shown(element) || !(text || 'value' in element)) continue;
  const style = getComputedStyle(element);
  const [one, other] = [light(style.color), light(behind(element))];
  const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (contrast < (large ? 3 : 4.5)) say('contrast ' + contrast.toFixed(2), element);
}
return problems;
"""
"""Criteria 1.3.1, 1.4.3, 1.4.10, 2.4.1, 2.5.5, 3.1.1, 3.3.2 and 4.1.2 of WCAG 2.2, as far as a program can tell."""


def problems(page: Chrome) -> list[str]:
    """Return what is wrong with the page shown."""
    return page.execute_script(PROBLEMS)


HEIGHT = 6_000
"""Of the screen: a whole page fits, so that nothing moves while a picture is taken or something is pressed."""


def set_width(page: Chrome, width: int) -> None:
    """Show pages as wide as that; a window of the browser would not be so narrow."""
    screen = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def set_dark(page: Chrome, *, dark: bool) -> None:
    """Have the browser prefer dark pages, or light ones."""
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def keep_picture(page: Chrome, path: Path) -> None:
    """Write the whole page as a PNG, to be looked at, where DISCREET_TEST_PICTURES is set.

    Nothing is checked by it, and on a busy machine Chromium's renderer without a GPU now and then never returns one.
    """
    if not os.environ.get("DISCREET_TEST_PICTURES"):
        return
    width, height = page.execute_script("return [window.innerWidth, document.body.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    taken = page.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
    path.write_bytes(base64.b64decode(taken["data"]))
