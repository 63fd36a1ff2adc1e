"""Colours as style sheets write them → `#rrggbb`.

Hex, `rgb()`, `hsl()`, `hwb()`, `oklch()`, `oklab()` in their old and new spellings (CSS Color 4), names, and the bare
numbers that themes keep in variables to wrap them later: `222 47% 11%` for `hsl()`, `79 70 229` for `rgb()`.
"""

from __future__ import annotations

import colorsys
import math
import re
from typing import TypeAlias

_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$")
_CALL = re.compile(r"(rgba?|hsla?|hwb|oklch|oklab)\(([^()]{1,120})\)$")
_NUMBER = re.compile(r"(-?(?:\d{1,6}\.?\d{0,8}|\.\d{1,8}))(%|deg|turn|rad)?$")
_BARE_HSL = re.compile(r"-?\d{1,3}(?:\.\d+)?(?:deg)?[\s,]+\d{1,3}(?:\.\d+)?%[\s,]+\d{1,3}(?:\.\d+)?%(?:\s*/\s*[\d.]+%?)?$")
_BARE_RGB = re.compile(r"\d{1,3}\s*[\s,]\s*\d{1,3}\s*[\s,]\s*\d{1,3}$")
_FAINT = 0.5
_Number: TypeAlias = tuple[float, str]
_NAMES = {
    "black": "000000", "white": "ffffff", "red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00",
    "orange": "ffa500", "purple": "800080", "navy": "000080", "teal": "008080", "maroon": "800000", "olive": "808000",
    "gray": "808080", "grey": "808080", "silver": "c0c0c0", "lime": "00ff00", "aqua": "00ffff", "cyan": "00ffff",
    "fuchsia": "ff00ff", "magenta": "ff00ff", "crimson": "dc143c", "tomato": "ff6347", "coral": "ff7f50", "gold": "ffd700",
    "indigo": "4b0082", "violet": "ee82ee", "pink": "ffc0cb", "hotpink": "ff69b4", "salmon": "fa8072", "brown": "a52a2a",
    "steelblue": "4682b4", "royalblue": "4169e1", "dodgerblue": "1e90ff", "skyblue": "87ceeb", "slateblue": "6a5acd",
    "rebeccapurple": "663399", "seagreen": "2e8b57", "forestgreen": "228b22", "darkgreen": "006400", "darkblue": "00008b",
    "darkred": "8b0000", "firebrick": "b22222", "midnightblue": "191970", "turquoise": "40e0d0", "khaki": "f0e68c",
}  # fmt: skip
# The shades of Tailwind's palette that buttons and heroes are painted with.
_TAILWIND = {
    "red": ("ef4444", "dc2626", "b91c1c"), "orange": ("f97316", "ea580c", "c2410c"), "amber": ("f59e0b", "d97706", "b45309"),
    "yellow": ("eab308", "ca8a04", "a16207"), "lime": ("84cc16", "65a30d", "4d7c0f"), "green": ("22c55e", "16a34a", "15803d"),
    "emerald": ("10b981", "059669", "047857"), "teal": ("14b8a6", "0d9488", "0f766e"), "cyan": ("06b6d4", "0891b2", "0e7490"),
    "sky": ("0ea5e9", "0284c7", "0369a1"), "blue": ("3b82f6", "2563eb", "1d4ed8"), "indigo": ("6366f1", "4f46e5", "4338ca"),
    "violet": ("8b5cf6", "7c3aed", "6d28d9"), "purple": ("a855f7", "9333ea", "7e22ce"),
    "fuchsia": ("d946ef", "c026d3", "a21caf"), "pink": ("ec4899", "db2777", "be185d"), "rose": ("f43f5e", "e11d48", "be123c"),
}  # fmt: skip
_TAILWIND_CLASS = re.compile(r"bg-(?:([a-z]+)-([567])00|\[([^\]\s]{3,60})\])$")


def colour_of(text: str) -> str:
    """`#rrggbb` of an opaque colour; empty for what is none, and for what lets most of its background through."""
    plain = " ".join(text.lower().split())
    if found := _HEX.match(plain):
        return _of_hex(found[1])
    if found := _CALL.match(plain):
        return _of_call(found[1], found[2])
    if _BARE_HSL.match(plain):
        return _of_call("hsl", plain)
    if _BARE_RGB.match(plain):
        return _of_call("rgb", plain)
    return f"#{_NAMES[plain]}" if plain in _NAMES else ""


def tailwind_colour(classes: str) -> str:
    """What the background utilities among these classes paint: `bg-indigo-600`, `bg-[#4f46e5]`."""
    for word in classes.split()[:60]:
        if found := _TAILWIND_CLASS.match(word):
            if found[3]:
                return colour_of(found[3].replace("_", " "))
            if shades := _TAILWIND.get(found[1]):
                return f"#{shades[int(found[2]) - 5]}"
    return ""


def is_vivid(colour: str) -> bool:
    """Whether it is a colour rather than a shade of grey, near white or near black."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    _, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    return saturation > 0.15 and 0.08 < light < 0.94


def is_pale(colour: str) -> bool:
    """Whether it is white or next to it: paper, not paint."""
    return min(int(colour[at : at + 2], 16) for at in (1, 3, 5)) > 232


def _of_hex(digits: str) -> str:
    if len(digits) in {3, 4}:
        digits = "".join(digit * 2 for digit in digits)
    return "" if len(digits) == 8 and int(digits[6:], 16) < 255 * _FAINT else f"#{digits[:6]}"


def _of_call(kind: str, inside: str) -> str:
    body, _, alpha = inside.partition("/")
    parts = body.replace(",", " ").split()
    if not alpha and len(parts) == 4:
        alpha = parts.pop()
    numbers = [_number(part) for part in parts]
    if len(numbers) != 3 or None in numbers:
        return ""
    opacity = _number(alpha.strip()) if alpha.strip() else (1.0, "")
    if opacity is not None and (opacity[0] / 100 if opacity[1] == "%" else opacity[0]) < _FAINT:
        return ""
    first, second, third = [number for number in numbers if number is not None]
    if kind.startswith("rgb"):
        red, green, blue = [value / 100 if unit == "%" else value / 255 for value, unit in (first, second, third)]
    elif kind.startswith("hsl"):
        red, green, blue = colorsys.hls_to_rgb(_turns(first), min(1.0, third[0] / 100), min(1.0, second[0] / 100))
    elif kind == "hwb":
        red, green, blue = _of_hwb(_turns(first), second[0] / 100, third[0] / 100)
    else:
        red, green, blue = _of_oklab(kind, first, second, third)
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, part))):02x}" for part in (red, green, blue))


def _number(text: str) -> tuple[float, str] | None:
    if text == "none":
        return 0.0, ""
    found = _NUMBER.match(text)
    return (float(found[1]), found[2] or "") if found else None


def _turns(hue: tuple[float, str]) -> float:
    value, unit = hue
    turns = value if unit == "turn" else value / (2 * math.pi) if unit == "rad" else value / 360
    return turns % 1.0


def _of_hwb(hue: float, white: float, black: float) -> tuple[float, float, float]:
    if white + black >= 1:
        grey = white / (white + black)
        return grey, grey, grey
    red, green, blue = (part * (1 - white - black) + white for part in colorsys.hls_to_rgb(hue, 0.5, 1.0))
    return red, green, blue


def _of_oklab(kind: str, first: _Number, second: _Number, third: _Number) -> tuple[float, float, float]:
    """CSS Color 4 §10: OKLab over linear light to sRGB."""
    light = first[0] / 100 if first[1] == "%" else first[0]
    if kind == "oklch":
        chroma = second[0] / 100 * 0.4 if second[1] == "%" else second[0]
        angle = _turns(third) * 2 * math.pi
        a, b = chroma * math.cos(angle), chroma * math.sin(angle)
    else:
        a, b = (part[0] / 100 * 0.4 if part[1] == "%" else part[0] for part in (second, third))
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    red, green, blue = (_gamma(min(1.0, max(0.0, part))) for part in linear)
    return red, green, blue


def _gamma(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else float(1.055 * part ** (1 / 2.4) - 0.055)
